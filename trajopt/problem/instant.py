"""One instant of a problem's motion, at which phases are linked: its start, its end, or that of an arc.

The start of the motion in seconds is set here, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trajopt.base import arguments
from trajopt.base.errors import OptionError
from trajopt.problem.problem_parts import START_TIME, all_or_nothing, at_breakpoints
from trajopt.splines.node_sets import ArcNodes, MotionEnd, NodeSet, node_set

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Instant:
    """A problem and one node of its motion; `Problem.at` makes it, `Phases.link` takes it."""

    problem: Problem
    over: NodeSet

    def __str__(self) -> str:
        if isinstance(self.over, ArcNodes):
            return f"the {self.over.part} of arc {self.over.arc}"
        return f"the {self.over.written}"


def instant_of(problem: Problem, over: object) -> Instant:
    """The instant that users mean by `over`; OptionError where it is not one node."""
    chosen = node_set(over)
    one = isinstance(chosen, MotionEnd) or (isinstance(chosen, ArcNodes) and chosen.part in ("start", "end"))
    if not one:
        raise OptionError(
            f"at({over!r}) is not one instant: give 'start', 'end', ArcNodes(arc, 'start') or "
            "ArcNodes(arc, 'end')"
        )
    chosen.nodes(problem.trajectory)  # an arc that is not there is reported here
    return Instant(problem, chosen)


def set_start_time(problem: Problem, time: object) -> None:
    """Let the motion start at a time in seconds, or at a free one between two; see `Problem.start_at`."""
    given = arguments.numbers(time, "the start time")
    with all_or_nothing(problem):
        if given.ndim == 0:
            problem.start_time = float(arguments.finite_numbers(time, "the start time"))
        elif given.shape == (2,):
            problem.start_time = None
            problem.parameter(START_TIME, *given, unit="s")
        else:
            written = arguments.short_repr(time)
            raise OptionError(f"the start time is {written}: give seconds, or (earliest, latest)")
        problem.trajectory = at_breakpoints(problem, problem.trajectory)
