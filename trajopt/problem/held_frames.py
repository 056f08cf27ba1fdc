"""Force curves, their loads on links and rows of frames held still, for contacts and loops.

A frame that is held has zero velocity at the collocation points; its place is stated once, at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arrays import Number
from trajopt.base.errors import OptionError
from trajopt.base.tolerances import BETWEEN
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.systems.controls import add_control
from trajopt.splines.node_sets import ArcNodes, Neighbours, NodeSet
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.graph.protocols import Term
    from trajopt.problem.problem import Problem

Wrench = Callable[[Any], list[Number]]  # (6,) of a node: [moment; force] about the world origin


def refuse_other_meshes(problem: Problem, what: str) -> None:
    if problem.trajectory.scheme is None:
        raise OptionError(
            f"{what} needs forces that its collocation points determine, not {problem.trajectory}: use "
            "the trajectory of a Schedule, or Trajectory.collocation(intervals, order)"
        )


def push_link(problem: Problem, link: str, wrench: Wrench, name: str) -> None:
    """Let a force of a contact or a loop act on a link, beside what acts there already."""
    problem.load(link, terms.term(name=f"{name} on {link}")(wrench))


def add_force_curve(
    problem: Problem,
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
    push = add_control(problem, None, curve, (low, np.inf), start, (None, continuous), unit)
    problem.extras[curve] = replace(problem.extras[curve], components=tuple(components), size=size)
    for arc in sorted(set(range(len(problem.trajectory.arcs))) - set(arcs)):
        hold_at_zero(problem, push, arc, f"no {curve}, arc {arc}")
    if continuous:
        _join(problem, curve, push, set(arcs))


def _join(problem: Problem, curve: str, push: Term, arcs: set[int]) -> None:
    """Make curves continuous where arcs meet; outside `arcs` they are zero."""
    for after in range(len(problem.trajectory.arcs) - 1):
        before, behind = after in arcs, after + 1 in arcs
        if before and behind:
            name = f"{curve} continuous after arc {after}"
            problem.subject_to(push, equals=0.0, over=Neighbours(after), name=name)
        elif before or behind:
            arc, part = (after, "end") if before else (after + 1, "start")
            name = f"{curve} is zero at the {part} of arc {arc}"
            problem.subject_to(push, equals=0.0, over=ArcNodes(arc, part), name=name)


def hold_at_zero(problem: Problem, term: Term, arc: int, name: str) -> None:
    problem.subject_to(term, equals=0.0, over=ArcNodes(arc, "whole"), name=name)


def hold_between_nodes(problem: Problem, gap: Term, tolerance: float, over: NodeSet, name: str) -> None:
    """Let reports check a gap that vanishes at the start and whose velocity does: it has no rows."""
    zero = np.zeros(problem.width_of_term(gap))
    scale = np.full_like(zero, tolerance / BETWEEN)
    problem.constraints.append(Constraint(gap, zero, zero, over, name, "implied", scale=scale))


def hold_from_the_start(problem: Problem, gap: Term, speed: Term, arc: int, closes: str, still: str) -> None:
    """State the gap where an arc starts, and zero velocity there unless it is a collocation point.

    closes, still : names of both constraints
    """
    problem.subject_to(gap, equals=0.0, over=ArcNodes(arc, "start"), name=closes)
    still_from_the_start(problem, speed, arc, still)


def still_from_the_start(problem: Problem, speed: Term, arc: int, still: str) -> None:
    start, whole = ArcNodes(arc, "start"), ArcNodes(arc, "whole")
    if not whole.carries_equations(problem.trajectory)[0]:
        problem.subject_to(speed, equals=0.0, over=start, name=still)
