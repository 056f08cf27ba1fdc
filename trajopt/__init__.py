"""Gradient-based trajectory optimization: splines, exact first and second derivatives, checked answers.

Names are imported on first use, so that `import trajopt` stays below a tenth of a second.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# exported name -> module that defines it
_HOME = {
    "Problem": "problem",
    "Trajectory": "trajectory",
    "Arc": "trajectory",
    "ArcNodes": "use",
    "SplineBasis": "bspline",
    "term": "terms",
    "Quantity": "terms",
    "block_term": "block_term",
    "t": "terms",
    "duration": "terms",
    "q": "terms",
    "v": "terms",
    "a": "terms",
    "jerk": "terms",
    "tau": "terms",
    "base_wrench": "terms",
    "wrench": "terms",
    "position": "terms",
    "transcribe": "transcription",
    "solve": "solve",
    "Ipopt": "ipopt",
    "Slsqp": "slsqp",
    "RowsInRounds": "rounds",
    "Status": "solver",
    "Solution": "solution",
    "Certified": "certified",
    "Refined": "refinement",
    "diagnose": "diagnosis",
    "multistart": "multistart",
    "Checkpointed": "checkpoint",
    "switching_times": "switching_time",
    "inverse_kinematics": "warm_start",
    "TrajoptError": "errors",
}

__all__ = [*_HOME, "library", "plot", "report"]


def __getattr__(name: str) -> Any:
    if name in ("library", "plot", "report"):
        return import_module(f"trajopt.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'trajopt' has no attribute {name!r}")
    value = getattr(import_module(f"trajopt.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds every submodule to its name in the package: the file solve.py would hide
        # the function solve as soon as anything imports it.
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
