"""Terms that many problems share; each is a term like one's own, and each docstring states its equation.

Names are imported on first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# exported name -> module that defines it
_HOME = {
    "effort": "efforts",
    "power": "efforts",
    "mechanical_work": "efforts",
    "energy": "efforts",
    "smoothness": "efforts",
    "distance_to_data": "tracking",
    "position_error": "tracking",
    "orientation_error": "tracking",
    "frame_at": "tracking",
    "force_norm": "joint_forces",
    "moment_norm": "joint_forces",
    "sphere_clearance": "clearance",
    "capsule_clearance": "clearance",
    "self_clearance": "clearance",
    "manipulability": "manipulability",
    "limit_torque_rate": "torque_rates",
    "symmetric": "symmetry",
    "weighted": "weights",
    "pareto_front": "weights",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'trajopt.library' has no attribute {name!r}")
    return getattr(import_module(f"trajopt.library.{_HOME[name]}"), name)


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # The import system would put the file manipulability.py in the place of the function of that name.
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
