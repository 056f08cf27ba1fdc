"""`HeldFrames`: force curves, their loads on links and rows of frames held still, for contacts and loops.

A frame that is held has zero velocity at the collocation points; its place is stated once, at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.errors import OptionError
from trajopt.base.tolerances import BETWEEN
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import ProblemData
from trajopt.splines.node_sets import ArcNodes, Neighbours, NodeSet
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.graph.protocols import Term

Wrench = Callable[[Any], list[Any]]  # (6,) of a node: [moment; force] about the world origin


@dataclass(eq=False, repr=False)
class HeldFrames(ProblemData):
    """A problem whose links are held by unknown forces."""

    def _needs_collocation(self, what: str) -> None:
        if self.trajectory.scheme is None:
            raise OptionError(
                f"{what} needs forces that its collocation points determine, not {self.trajectory}: use "
                "the trajectory of a Schedule, or Trajectory.collocation(intervals, order)"
            )

    def _push_link(self, link: str, wrench: Wrench, name: str) -> None:
        """Let a force of a contact or a loop act on a link, beside what acts there already."""
        self.load(link, terms.term(name=f"{name} on {link}")(wrench))

    def _force_curve(
        self,
        curve: str,
        components: Sequence[str],
        arcs: Iterable[int],
        lower: float = -np.inf,
        guess: ArrayLike | None = None,
        unit: str = "",
        continuous: bool = False,
        size: float | None = None,
    ) -> None:
        """Add unknown curves with as many coefficients as collocation points, zero outside `arcs`.

        size : typical of their values, see `Unknown`
        continuous : in all arcs and from one to the next, and so zero where they begin and end inside
        """
        width = len(components)
        low = np.full(width, lower)
        start = None if guess is None else np.full(width, guess)
        push = self._control(None, curve, (low, np.inf), start, (None, continuous), unit)
        self.extras[curve] = replace(self.extras[curve], components=tuple(components), size=size)
        for arc in sorted(set(range(len(self.trajectory.arcs))) - set(arcs)):
            name = f"no {curve}, arc {arc}"
            self.subject_to(push, equals=0.0, over=ArcNodes(arc, "whole"), name=name)
        if continuous:
            self._join(curve, push, set(arcs))

    def _join(self, curve: str, push: Term, arcs: set[int]) -> None:
        """Make curves continuous where arcs meet; outside `arcs` they are zero."""
        for after in range(len(self.trajectory.arcs) - 1):
            before, behind = after in arcs, after + 1 in arcs
            if before and behind:
                name = f"{curve} continuous after arc {after}"
                self.subject_to(push, equals=0.0, over=Neighbours(after), name=name)
            elif before or behind:
                arc, part = (after, "end") if before else (after + 1, "start")
                name = f"{curve} is zero at the {part} of arc {arc}"
                self.subject_to(push, equals=0.0, over=ArcNodes(arc, part), name=name)

    def _hold_still(self, speed: Term, arc: int, name: str) -> None:
        self.subject_to(speed, equals=0.0, over=ArcNodes(arc, "whole"), name=name)

    def _hold_between_nodes(self, gap: Term, tolerance: float, over: NodeSet, name: str) -> None:
        """Let reports check a gap that vanishes at the start and whose velocity does: it has no rows."""
        zero = np.zeros(self.width_of_term(gap))
        scale = np.full_like(zero, tolerance / BETWEEN)
        self.constraints.append(Constraint(gap, zero, zero, over, name, "implied", scale=scale))

    def _hold_from_the_start(self, gap: Term, speed: Term, arc: int, closes: str, still: str) -> None:
        """State the gap where an arc starts, and zero velocity there unless it is a collocation point.

        closes, still : names of both constraints
        """
        self.subject_to(gap, equals=0.0, over=ArcNodes(arc, "start"), name=closes)
        self._still_from_the_start(speed, arc, still)

    def _still_from_the_start(self, speed: Term, arc: int, still: str) -> None:
        start, whole = ArcNodes(arc, "start"), ArcNodes(arc, "whole")
        if not whole.carries_equations(self.trajectory)[0]:
            self.subject_to(speed, equals=0.0, over=start, name=still)
