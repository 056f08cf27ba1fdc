"""Terms that many problems share; each is a term like one's own, and each docstring states its equation.

Names are imported on first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# exported name -> module of trajopt that defines it
_HOME = {
    "effort": "library.efforts",
    "power": "library.efforts",
    "mechanical_work": "library.efforts",
    "energy": "library.efforts",
    "smoothness": "library.efforts",
    "distance_to_data": "library.tracking",
    "position_error": "library.tracking",
    "orientation_error": "library.tracking",
    "frame_at": "library.tracking",
    "force_norm": "library.joint_forces",
    "moment_norm": "library.joint_forces",
    "sphere_clearance": "library.clearance",
    "capsule_clearance": "library.clearance",
    "self_clearance": "library.clearance",
    "manipulability": "library.manipulability",
    "limit_torque_rate": "library.torque_rates",
    "symmetric": "library.symmetry",
    "weighted": "library.weights",
    "pareto_front": "studies.pareto",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'trajopt.library' has no attribute {name!r}")
    return getattr(import_module(f"trajopt.{_HOME[name]}"), name)


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # The import system would put the file manipulability.py in the place of the function of that name.
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
