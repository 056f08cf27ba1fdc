"""The protocol of a refinement: what improves a solution by further solves."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from trajopt.base.arguments import check_instance
from trajopt.solvers.solver import Callback, Solver


@runtime_checkable
class Refinement(Protocol):
    """Makes a better `Solution` from a `Solution`, by further solves with the solver.

    A class whose `refine` also makes a better `PhasesSolution` from a `PhasesSolution` says so by a class
    attribute `takes_links` = True; one without that attribute is for single problems. One that leaves limits
    between nodes to `LimitNodes`, which then follows, says so by `holds_limits` = False; where these
    moved the motion both follow once more.
    """

    def refine(self, solution: Any, solver: Solver, progress: Callback | None = None) -> Any: ...


def check_refinement(refine: object, what: str) -> None:
    """Raise OptionError for an object that is neither None nor an instance with a method `refine`."""
    if refine is not None:
        check_instance(what, refine, Refinement, "an instance such as trajopt.Certified(tol=1e-6)")
