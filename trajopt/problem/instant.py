"""One instant of a problem's motion, at which phases are linked: its start, its end, or that of an arc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trajopt.base.errors import OptionError
from trajopt.splines.node_sets import ArcNodes, MotionEnd, NodeSet, node_set


@dataclass(frozen=True, eq=False)
class Instant:
    """A problem and one node of its motion; `Problem.at` makes it, `Phases.link` takes it."""

    problem: Any
    over: NodeSet

    def __str__(self) -> str:
        if isinstance(self.over, ArcNodes):
            return f"the {self.over.part} of arc {self.over.arc}"
        return f"the {self.over.written}"


def instant_of(problem: Any, over: Any) -> Instant:
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
