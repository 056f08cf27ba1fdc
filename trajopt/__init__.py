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
    "Problem": "problem.problem",
    "Trajectory": "splines.trajectory",
    "Arc": "splines.trajectory",
    "ArcNodes": "splines.node_sets",
    "SplineBasis": "splines.basis",
    "term": "terms.term",
    "Quantity": "terms.term",
    "ExpressionTerm": "terms.term",
    "Block": "graph.block",
    "Dynamics": "graph.block",
    "DeclaredQuantity": "graph.declared_quantities",
    "trace": "graph.trace",
    "Neighbours": "splines.node_sets",
    "block_term": "terms.block_term",
    "t": "terms.term",
    "duration": "terms.term",
    "q": "terms.term",
    "v": "terms.term",
    "a": "terms.term",
    "jerk": "terms.term",
    "tau": "terms.term",
    "base_wrench": "terms.term",
    "wrench": "terms.term",
    "position": "terms.term",
    "transcribe": "transcription.transcribe",
    "solve": "solve",
    "Ipopt": "solvers.ipopt",
    "Slsqp": "solvers.slsqp",
    "RowsInRounds": "solvers.rows_in_rounds",
    "Status": "solvers.solver",
    "Solution": "solution.solution",
    "Certified": "refinement.certified",
    "Refined": "refinement.refined",
    "diagnose": "verification.diagnosis",
    "multistart": "studies.multistart",
    "Checkpointed": "solvers.checkpoint",
    "switching_times": "refinement.shooting",
    "inverse_kinematics": "studies.inverse_kinematics",
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
