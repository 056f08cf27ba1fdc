"""The problem on the arcs of a switching structure: one polynomial arc of high degree between two switches.

Saturated limits are equalities at Gauss points (inequalities on arcs of free duration lead to other local
optima), inactive ones stay inequalities. With degree d an arc has d - 1 coefficients per joint left once its
start is continuous in position and velocity, and d - 1 Gauss points:

* order 2 (torques, accelerations): the limit's value at the Gauss points determines a saturated joint;
* order 1 (velocities): a = 0 at the Gauss points and v = limit at the arc's start. Both v = limit at the
  Gauss points and continuity of v would be one condition too many;
* order 0 (positions): a = 0 at the Gauss points, v = 0 and q = limit at the start.

In regular problems (continuous controls: an effort is minimized) the value of an inactive limit equals its
bound at the border to the arc where it is saturated. Without this equation the objective is cubic in the
switch time, and no second-order method converges. The same equation is asked for where one limit takes over
from another, a motor's power from its force, say: there the duration is largest in the switch time, as both
limits were violated on either side of it, and the equations alone lead away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arrays import Array, finite_size
from trajopt.certificates.switching_structure import ArcSettings, Saturation, Structure
from trajopt.checks.violations import limit_ranges
from trajopt.graph.protocols import Term
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import limit_order
from trajopt.solution.solution import Solution
from trajopt.splines.basis import SplineBasis
from trajopt.splines.node_sets import START, ArcNodes, Neighbours
from trajopt.splines.quadrature import gauss
from trajopt.splines.trajectory import SHORTEST_ARC, Arc, Trajectory
from trajopt.terms import term as terms
from trajopt.terms.arithmetic import Squared

FREE_JOINT_EFFORT = "effort of joints that the optimum leaves free"  # name of the added cost
BETWEEN = "between Gauss points"
AT_BORDER = "at a border"
Part = Literal["", "held", "held at the start", "still at the start"]


@dataclass(frozen=True)
class ArcRows:
    """One constraint on one arc of a limit of the problem that was asked; arcs and limits by number.

    part : the limit itself at the arc's nodes; the equations that keep a saturated component at it ("held");
        those that make the component start at it; or those that make a position at its limit start at rest
    """

    limit: int
    arc: int
    part: Part = ""

    @property
    def name(self) -> str:
        """The name of the constraint, unlike any other's."""
        return f"limit {self.limit} on arc {self.arc} {self.part}".rstrip()

    def multipliers(self, named: Mapping[str, Array]) -> Array | None:
        """Its multipliers (rows, width) among those of a solution; None where there are no such rows."""
        return named.get(self.name)


def arc_problem(
    problem: Problem,
    structure: Structure,
    motion: Solution,
    degree: int,
    settings: ArcSettings | None = None,
    shortest_arc: float = SHORTEST_ARC,
) -> Problem:
    """The problem on the arcs of a structure, with a motion as its guess whose times the structure refers to.

    shortest_arc : lower bound of every arc's duration, as a part of the motion's
    """
    settings = settings or ArcSettings()
    free = free_arcs(structure, problem.dynamics.n, settings.regular)
    shortest = shortest_arc * motion.duration
    arcs = problem.on(_arc_trajectory(problem, shortest, degree, free))
    limits = problem.path_limits()
    arcs.constraints = [constraint for constraint in arcs.constraints if constraint not in limits]
    for index, limit in enumerate(limits):
        _add_limit(arcs, structure, index, limit, motion, settings)
    _minimize_free_effort(arcs, motion, settings.effort_weight, free)
    shortest_sum, longest_sum = (sum(bounds) for bounds in problem.trajectory.duration_bounds)
    arcs.subject_to(terms.duration, shortest_sum, longest_sum, over="end", name="bounds of the duration")
    # Parts of one arc last equally long: where it is cut does not change the motion
    for number, (before, after) in enumerate(pairwise(structure.saturated)):
        if before == after:
            name = f"equal durations of arcs {number} and {number + 1}"
            arcs.subject_to(
                terms.Quantity("arc_duration"), equals=0.0, over=Neighbours(after=number), name=name
            )
    scale = motion.duration / structure.times[-1]
    arcs.guess(_along(motion, structure), duration=structure.durations * scale)
    return arcs


def read_back(trial: Solution, problem: Problem, structure: Structure) -> Solution:
    """A solution on arcs as a solution of `problem`, with one multiplier per limit and Gauss point."""
    asked = problem.on(trial.problem.trajectory)
    multipliers = multipliers_read_back(trial.multipliers, trial.problem, asked, structure)
    costs = {name: value for name, value in trial.cost_terms.items() if name != FREE_JOINT_EFFORT}
    return replace(
        trial,
        known_problem=asked,
        multipliers=multipliers,
        cost_terms=costs,
        objective=sum(costs.values()),
    )


def multipliers_read_back(
    named: Mapping[str, Array], arcs: Problem, asked: Problem, structure: Structure
) -> dict[str, Array]:
    """Multipliers by constraint of the problem on arcs as those of the problem that was asked.

    named : (rows, width) of every constraint of `arcs`
    """
    points, found = arcs.trajectory.arcs[0].basis.degree - 1, dict(named)
    for index, limit in enumerate(asked.path_limits()):
        rows = [ArcRows(index, number) for number in range(structure.arc_count)]
        parts = [row.multipliers(named) for row in rows]
        absent = np.zeros((points, limit.lower.size))
        found[limit.name] = np.concatenate([absent if part is None else part for part in parts])
    own = {c.name for c in arcs.constraints} - {c.name for c in asked.constraints}
    return {name: values for name, values in found.items() if name not in own}


def _arc_trajectory(problem: Problem, shortest: float, degree: int, free: tuple[bool, ...]) -> Trajectory:
    """Arcs with degree - 1 Gauss points; on arcs with free joints these are added to twice as many nodes."""
    longest = sum(arc.duration_bounds[1] for arc in problem.trajectory.arcs)
    basis, count = SplineBasis.uniform(1, degree), degree - 1
    points = tuple(gauss(count)[0].tolist())
    determined = Arc(basis, (shortest, longest), nodes_per_span=count, rule="gauss")
    arcs = tuple(replace(determined, nodes_per_span=2 * count) if one else determined for one in free)
    return Trajectory(arcs, continuity=1, extra_points=tuple(points if one else () for one in free))


def free_arcs(structure: Structure, n: int, regular: bool) -> tuple[bool, ...]:
    """On which arcs fewer limits are saturated than there are joints and no effort determines the rest."""
    return tuple(not regular and len(saturated) < n for saturated in structure.saturated)


def is_free(structure: Structure, n: int, regular: bool) -> bool:
    """True if some arc leaves a joint free."""
    return any(free_arcs(structure, n, regular))


def _minimize_free_effort(arcs: Problem, motion: Solution, part: float, free: tuple[bool, ...]) -> None:
    """Add a small cost that determines joints which the optimum leaves free: torques and velocities squared.

    Without it polynomials would use that freedom between Gauss points; with torques alone, velocities would
    reach their limits. Where the optimum is attained on a set of motions its value does not change: the
    weight is far below the slope of the objective itself.
    """
    for limit in motion.problem.path_limits() if any(free) else []:
        if limit_order(motion.problem, limit) in (1, 2):
            size = max(1.0, float(finite_size(np.concatenate([limit.lower, limit.upper]))))
            weight = part * abs(motion.objective) / (motion.duration * size**2)
            for number in np.flatnonzero(free):
                window = (number / len(free), (number + 1) / len(free))
                arcs.minimize(Squared(limit.term), weight=weight, over=window, name=FREE_JOINT_EFFORT)


def _add_limit(
    arcs: Problem,
    structure: Structure,
    index: int,
    limit: Constraint,
    motion: Solution,
    settings: ArcSettings,
) -> None:
    """Impose one path limit on all arcs."""
    order = limit_order(arcs, limit)
    margin, free_margin = settings.margins_of(index, limit)
    low, high = limit.lower + margin, limit.upper - margin
    for number, saturated in enumerate(structure.saturated):
        held = {s.component: s.side for s in saturated if s.limit == index}
        free = bool(arcs.trajectory.extra_points[number])
        where = "extra" if free else "inside"
        bound = {c: high[c] if side > 0 else low[c] for c, side in held.items()}
        extra = free_margin if free else 0.0
        lower, upper = low + extra, high - extra
        if len(saturated) >= arcs.dynamics.n:  # the arc is determined: a violation asks for another structure
            lower[:], upper[:] = -np.inf, np.inf
        for component, value in bound.items():
            if order == 2:
                lower[component] = upper[component] = value
            else:  # it follows from the rows below and would make them dependent
                lower[component], upper[component] = -np.inf, np.inf
        arcs.subject_to(
            limit.term, lower, upper, over=ArcNodes(number, where), name=ArcRows(index, number).name
        )
        if free:
            for component in held:
                lower[component], upper[component] = -np.inf, np.inf
            for part in ("start", "inside", "end"):
                met = [] if order == 2 else list(_met_at(structure, number, part, index))
                below, above = lower.copy(), upper.copy()
                below[met], above[met] = -np.inf, np.inf
                where_else = ArcNodes(number, part)
                arcs.subject_to(limit.term, below, above, over=where_else, name=f"{limit.name} {BETWEEN}")
        if order != 2 and held:
            fresh = {c: v for c, v in bound.items() if not _carried(arcs, structure, number, index, c)}
            still_at = ArcNodes(number, where)
            stays, starts = ArcRows(index, number, "held"), ArcRows(index, number, "held at the start")
            _equal(arcs, terms.a, dict.fromkeys(held, 0.0), still_at, stays.name)
            _equal(arcs, limit.term, fresh, ArcNodes(number, "start"), starts.name)
            if order == 0:
                still = dict.fromkeys(fresh, 0.0)
                at_rest = ArcRows(index, number, "still at the start").name
                _equal(arcs, terms.v, still, ArcNodes(number, "start"), at_rest)
    meeting = _borders(structure, index) if settings.regular else _handovers(arcs, structure, motion, index)
    for border, place in meeting:
        value = {s.component: high[s.component] if s.side > 0 else low[s.component] for s in border}
        term, asked = (limit.term, value) if order == 2 else (terms.a, dict.fromkeys(value, 0.0))
        _equal(arcs, term, asked, place, f"{limit.name} {AT_BORDER}")


def _borders(structure: Structure, index: int) -> Iterator[tuple[list[Saturation], ArcNodes]]:
    """Limits that equal their bound at the end, or the start, of an arc on which they are inactive."""
    for number, (before, after) in enumerate(pairwise(structure.saturated)):
        for left, right, where in (
            (before, after, ArcNodes(number, "end")),
            (after, before, ArcNodes(number + 1, "start")),
        ):
            saturated = {(s.limit, s.component) for s in left}
            meets = [s for s in right if s.limit == index and (s.limit, s.component) not in saturated]
            if meets:
                yield meets, where


def _handovers(
    arcs: Problem, structure: Structure, motion: Solution, index: int
) -> Iterator[tuple[list[Saturation], ArcNodes]]:
    """Limits that take over from another one at the end of an arc, where they are at their bound already.

    A torque jumps from bound to bound at a switch. Where instead a limit of other components becomes the
    tighter one, accelerations are continuous.
    """
    limits, scale = motion.problem.path_limits(), motion.duration / structure.times[-1]
    limit, orders = limits[index], [limit_order(arcs, each) for each in limits]
    for number, (before, after) in enumerate(pairwise(structure.saturated)):
        leaving = {s for s in before - after if orders[s.limit] == 2}
        entering = [s for s in sorted(after - before) if s.limit == index and orders[index] == 2]
        entering = [s for s in entering if s.flipped not in leaving]
        if not leaving or not entering:
            continue
        # A tenth and a fifth of the arc before its end, where splines round off what happens
        before_end = structure.durations[number] * 0.1 * np.array([2.0, 1.0])
        times = scale * (structure.times[number + 1] - before_end)
        values = motion.value(limit.term, times)
        at_end = 2.0 * values[1] - values[0]
        # A limit's value within a twentieth of its range from a bound meets it without a jump
        near = 0.05 * limit_ranges(limit)
        met = [s for s in entering if abs(at_end[s.component] - s.bound(limits)) < near[s.component]]
        if met:
            yield met, ArcNodes(number, "end")


def _met_at(structure: Structure, number: int, part: str, index: int) -> set[int]:
    """Components of a limit that are saturated on the arc beside one end of this arc.

    An inequality there would have no interior, next to the equality of the neighbour.
    """
    other = {"start": number - 1, "end": number + 1}.get(part, -1)
    if not 0 <= other < structure.arc_count:
        return set()
    return {s.component for s in structure.saturated[other] if s.limit == index}


def _carried(arcs: Problem, structure: Structure, number: int, index: int, component: int) -> bool:
    """True if a saturated velocity or position is at its bound already where an arc starts."""
    if number:
        return any(s.limit == index and s.component == component for s in structure.saturated[number - 1])
    return any(
        c.over == START and c.term.quantity in ("q", "v") and np.all(c.lower == c.upper)
        for c in arcs.constraints
    )


def _equal(problem: Problem, term: Term, values: dict[int, float], over: ArcNodes, name: str) -> None:
    """Impose term = value for some components and nothing for the others."""
    if not values:
        return
    width = problem.width_of_term(term)
    lower, upper = np.full(width, -np.inf), np.full(width, np.inf)
    for component, value in values.items():
        lower[component] = upper[component] = value
    problem.subject_to(term, lower, upper, over=over, name=name)


def _along(motion: Solution, structure: Structure):
    """q of a motion as a function of progress in [0, 1], each arc of the structure taking an equal part."""
    times = np.array(structure.times) * (motion.duration / structure.times[-1])

    def curve(progress: ArrayLike) -> Array:
        along = np.asarray(progress, dtype=float) * structure.arc_count
        return motion.q(np.interp(along, np.arange(structure.arc_count + 1), times))

    return curve
