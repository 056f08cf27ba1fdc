"""The protocol of refinements: the argument of `solve(refine=...)`, which a problem may also recommend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from trajopt.base.arguments import implements, short_repr
from trajopt.base.errors import OptionError

if TYPE_CHECKING:
    from trajopt.solvers.solver import Callback, Solver


@runtime_checkable
class Refinement(Protocol):
    """Makes a better `Solution` from a `Solution`, by further solves with the solver.

    A class whose `refine` also makes a better `PhasesSolution` from a `PhasesSolution` says so by a class
    attribute `takes_links` = True; one without that attribute is for single problems.
    """

    def refine(self, solution: Any, solver: Solver, progress: Callback | None = None) -> Any: ...


def check_refinement(refine: Any, what: str) -> None:
    """Raise OptionError for an object that is neither None nor an instance with a method `refine`."""
    if refine is not None and (not implements(refine, Refinement) or isinstance(refine, type)):
        raise OptionError(
            f"{what} is {short_repr(refine)}: give an instance such as trajopt.Certified(tol=1e-6)"
        )
