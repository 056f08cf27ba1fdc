"""Checks of what is to be drawn: a solution of one motion, whose problem may be unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError, SolutionFileError

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData


def check_solution(solution: Any) -> None:
    """OptionError for what is no solution of a problem; phases are drawn one by one."""
    from trajopt.solution.solution import SolutionData

    if phases_of(solution):
        raise OptionError(
            f"{solution.name} has phases: draw one of them, such as solution.phases[0], or states and "
            "controls of all by trajopt.plot.states(solution)"
        )
    if not isinstance(solution, SolutionData):
        raise OptionError(
            f"{short_repr(solution)} is no solution: give what trajopt.solve(problem) returned, or "
            "trajopt.Solution.load('solution.npz')"
        )


def phases_of(solution: Any) -> tuple[SolutionData, ...]:
    """The solutions of all phases of a `PhasesSolution`; none of anything else, such as a certificate."""
    from trajopt.solution.solution import SolutionData

    parts = getattr(solution, "phases", ())
    each = parts if isinstance(parts, tuple) else ()
    return each if all(isinstance(part, SolutionData) for part in each) else ()


def problem_of(solution: SolutionData) -> Any:
    """The problem, or None for a loaded solution that cannot build it."""
    try:
        return solution.problem
    except SolutionFileError:
        return None
