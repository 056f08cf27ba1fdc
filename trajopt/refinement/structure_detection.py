"""The switching structure read off a cheap uniform solve: from multipliers first, from values else.

A limit on torques is saturated where its multipliers say that it holds the optimum back. That is sharper than
the torques themselves: a cubic spline ripples below a bang, and a torque that happens to touch its limit
where nothing is gained by it has no multiplier. Limits on velocities and positions, whose multipliers are
spread over control points, are read from the values, which a spline follows closely.

Time is counted in knot intervals here, so that a mesh that is fine at the switches is read as finely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.limit_order import limit_order
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.switching_structure import Run, Saturation, Structure
from trajopt.solution.violation import path_limits
from trajopt.splines.node_sets import PATH

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

FLOOR = 1e-3  # of the objective: multipliers below SIGNIFICANT times this hold nothing back
SIGNIFICANT = 1e-5  # of the largest multiplier; an interior-point solve leaves 1e-9 where a limit is slack
LONGEST_SWITCH = 6.0  # knot intervals between two bangs of opposite sign that a single switch may take
SAME_RUN = 2.6  # knot intervals between active nodes of one bang
TOUCH = 5e-3  # of the range between limits: how near a velocity or a position is to saturated
FINE_TOUCH = 5e-4  # the same where knots are fine at the switches
SHORTEST_TOUCH = 0.3  # knot intervals
NEAR_SWITCHES = 0.2  # knot intervals; switches of several joints nearer than this start as one
SAMPLES_PER_KNOT_INTERVAL = 24


@dataclass(frozen=True)
class Reading:
    """How to read a structure.

    regular : the integrand is strictly convex in the accelerations, so controls are continuous in time and
        leave one limit before they reach the other
    longest_switch : knot intervals; a longer pause between two bangs is a slack arc
    fine : knots are fine at the switches; an arc of a few of their intervals with joints left free is then
        one switch read as several, since costates of several joints vanish and come back together
    """

    regular: bool = False
    longest_switch: float = LONGEST_SWITCH
    fine: bool = False


@dataclass(frozen=True, eq=False)
class Clock:
    """Time in knot intervals: knot k is at k, between knots time runs evenly."""

    knot_times: NDArray[np.float64]

    @property
    def end(self) -> float:
        return float(self.knot_times.size - 1)

    def reading(self, seconds: ArrayLike) -> NDArray[np.float64]:
        return np.interp(np.asarray(seconds, dtype=float), self.knot_times, np.arange(self.knot_times.size))

    def seconds(self, reading: ArrayLike) -> NDArray[np.float64]:
        return np.interp(np.asarray(reading, dtype=float), np.arange(self.knot_times.size), self.knot_times)


def is_regular(solution: Solution) -> bool:
    """Whether the sum of the integrals' terms is strictly convex in a at some times of the motion.

    Second differences with unit steps, exact for the quadratics that efforts are.
    """
    problem = solution.problem
    costs = [c for c in problem.costs if c.over == PATH and c.term.quantity not in ("duration", "t")]
    if not costs:
        return False
    graph = graph_of(problem, [cost.term for cost in costs])
    leaves = solution.leaves(np.linspace(0.0, 1.0, 7)[1:-1] * solution.duration)
    n = problem.dynamics.n

    def integrand(change: NDArray) -> NDArray:
        values = graph.values(leaves | {"a": leaves["a"] + change})
        return sum((cost.weight * values[cost.term.quantity].sum(axis=1) for cost in costs), np.zeros(5))

    unit, base = np.eye(n), integrand(np.zeros(n))
    single = [integrand(e) for e in unit]
    hessian = np.empty((5, n, n))
    for i in range(n):
        for j in range(n):
            hessian[:, i, j] = integrand(unit[i] + unit[j]) - single[i] - single[j] + base
    smallest = np.linalg.eigvalsh(0.5 * (hessian + hessian.transpose(0, 2, 1)))
    return bool(np.all(smallest[:, 0] > 1e-9 * np.abs(smallest).max() + 1e-300))


def detect(solution: Solution, reading: Reading | None = None) -> Structure:
    """Runs of saturation of every component of every limit that an arc can hold."""
    reading = Reading(is_regular(solution)) if reading is None else reading
    clock = Clock(solution.knot_times)
    limits = path_limits(solution)
    orders = [limit_order(solution.problem, limit) for limit in limits]
    runs: list[Run] = []
    for index, limit in enumerate(limits):
        if orders[index] in (0, 1):
            runs += _touches(solution, index, limit, clock, reading)
    held = {
        c: [run for run in runs if run.saturation.component == c] for c in range(solution.problem.dynamics.n)
    }
    scale = max(_largest_multiplier(solution), FLOOR * abs(solution.objective))
    for index, limit in enumerate(limits):
        if orders[index] == 2:
            runs += _bangs(solution, index, limit, clock, reading, scale, held)
    found = Structure.of(runs, clock.end, NEAR_SWITCHES)
    if reading.fine:
        found = _without_short_free_arcs(found, solution.problem.dynamics.n)
    return Structure(tuple(clock.seconds(found.times).tolist()), found.saturated)


def _without_short_free_arcs(structure: Structure, n: int) -> Structure:
    """Times counted in knot intervals; the shortest arc goes first."""
    while structure.arc_count > 1:
        short = [
            (length, arc)
            for arc, (length, saturated) in enumerate(
                zip(structure.durations, structure.saturated, strict=True)
            )
            if len(saturated) < n and length < SAME_RUN
        ]
        if not short:
            break
        structure = structure.without(min(short)[1])
    return structure


# -- torques ----------------------------------------------------------------------------------------------


def _significance(solution: Solution, limit: Constraint) -> NDArray | None:
    """Multipliers in objective per range of the limit, (K, width); None where they are not one per node."""
    multipliers = solution.multipliers.get(limit.name)
    if multipliers is None or multipliers.shape != (solution.node_times.size, limit.lower.size):
        return None
    width = limit.upper - limit.lower
    return multipliers * np.where(np.isfinite(width), width, 1.0)


def _largest_multiplier(solution: Solution) -> float:
    found = [_significance(solution, limit) for limit in path_limits(solution)]
    return max(
        (float(np.abs(values).max(initial=0.0)) for values in found if values is not None), default=0.0
    )


def _bangs(
    solution: Solution,
    index: int,
    limit: Constraint,
    clock: Clock,
    reading: Reading,
    scale: float,
    held: Mapping[int, list[Run]],
) -> list[Run]:
    """Runs of one limit; `held` are the times at which a joint's motion is held and its torque follows."""
    significance = _significance(solution, limit)
    if significance is None or scale == 0.0:
        return []
    runs: list[Run] = []
    nodes = clock.reading(solution.node_times)
    follows = limit.term.quantity in ("tau", "a")
    for component in range(limit.lower.size):
        values = significance[:, component]
        blocked = held.get(component, []) if follows else []
        free = np.ones(values.size, dtype=bool)
        for run in blocked:
            free &= (nodes < run.start) | (nodes > run.end)
        active = np.flatnonzero(free & (np.abs(values) > SIGNIFICANT * scale))
        clusters = _clusters(nodes[active], np.sign(values[active]), SAME_RUN)
        pieces = [
            Piece(c[0], c[1], c[2])
            for i, c in enumerate(clusters)
            if not _is_lone(clusters, i, reading.longest_switch, blocked)
        ]
        pieces += [Piece(0, run.start, run.end, _speed(solution, run.saturation)) for run in blocked]
        pieces.sort(key=lambda piece: piece.start)
        _join(solution, limit, component, pieces, clock, reading)
        runs += [
            Run(Saturation(index, component, piece.side), piece.start, piece.end)
            for piece in pieces
            if piece.side and piece.end > piece.start
        ]
    return runs


def _clusters(times: NDArray, sides: NDArray, gap: float) -> list[tuple[int, float, float, int]]:
    """(side, first, last, count) of neighbouring active nodes on the same side."""
    found: list[tuple[int, float, float, int]] = []
    for time, side in zip(times, sides, strict=True):
        if found and found[-1][0] == side and time - found[-1][2] <= gap:
            found[-1] = (found[-1][0], found[-1][1], float(time), found[-1][3] + 1)
        else:
            found.append((int(side), float(time), float(time), 1))
    return found


def _is_lone(
    clusters: list[tuple[int, float, float, int]], index: int, gap: float, blocked: list[Run]
) -> bool:
    """A single active node far from every other says nothing about an arc."""
    _, first, last, count = clusters[index]
    before = [clusters[index - 1][2] if index else -np.inf, *(r.end for r in blocked if r.end <= first)]
    after = [clusters[index + 1][1] if index + 1 < len(clusters) else np.inf]
    after += [run.start for run in blocked if run.start >= last]
    return count == 1 and min(first - max(before), min(after) - last) > gap


@dataclass
class Piece:
    """A run in the making; side 0 is a stretch on which a joint is held, at a speed or in place."""

    side: int
    start: float
    end: float
    speed: float | None = None


def _join(
    solution: Solution,
    limit: Constraint,
    component: int,
    pieces: list[Piece],
    clock: Clock,
    reading: Reading,
) -> None:
    """Let runs meet at switches, or leave room for a slack arc."""

    def meeting(hold: Piece, bang: float, near: float) -> float:
        return _entry(solution, hold, component, clock, bang, near) if reading.fine else near

    for left, right in pairwise(pieces):
        gap = right.start - left.end
        direct = not reading.regular and gap <= reading.longest_switch
        if direct and left.side == 0:
            left.end = right.start = meeting(left, right.start, left.end)
        elif direct and right.side == 0:
            left.end = right.start = meeting(right, left.end, right.start)
        elif direct and left.side != right.side:
            crossing = _crossing(solution, limit, component, *clock.seconds([left.end, right.start]))
            left.end = right.start = float(clock.reading(crossing))
        elif gap > 1.2:
            left.end += 0.3 * (left.side != 0)
            right.start -= 0.3 * (right.side != 0)
        elif left.side * right.side < 0:  # continuous controls need time to cross
            middle = 0.5 * (left.end + right.start)
            left.end, right.start = middle - 0.3, middle + 0.3
    reach = 0.6 if reading.regular else SAME_RUN
    if pieces and pieces[0].side and pieces[0].start < reach:
        pieces[0].start = 0.0
    if pieces and pieces[-1].side and clock.end - pieces[-1].end < reach:
        pieces[-1].end = clock.end


def _speed(solution: Solution, held: Saturation) -> float | None:
    """The velocity at which a joint is held, None where its position is."""
    limit = path_limits(solution)[held.limit]
    if limit.term.quantity != "v":
        return None
    return float((limit.upper if held.side > 0 else limit.lower)[held.component])


def _entry(solution: Solution, hold: Piece, component: int, clock: Clock, bang: float, near: float) -> float:
    """When a bang meets the speed that is held beside it, going on at its acceleration; else `near`.

    bang is where the bang is sure, near where the hold is: between them a spline rounds the corner off.
    """
    if hold.speed is None:
        return near
    time = float(clock.seconds(bang))
    rate = float(solution.a(time)[component])
    change = (hold.speed - float(solution.v(time)[component])) / rate if rate else 0.0
    low, high = sorted((bang, near))
    return float(np.clip(clock.reading(time + change), low, high))


def _crossing(solution: Solution, limit: Constraint, component: int, left: float, right: float) -> float:
    """When the value passes the middle between both limits."""
    times = np.linspace(left, right, 65)
    values = solution.value(limit.term, times)[:, component]
    middle = 0.5 * (limit.lower[component] + limit.upper[component])
    signs = np.sign(values - middle)
    crossings = np.flatnonzero(signs[1:] != signs[:-1])
    if not np.isfinite(middle) or crossings.size == 0:
        return 0.5 * (left + right)
    return float(0.5 * (times[crossings[0]] + times[crossings[-1] + 1]))


# -- velocities and positions -----------------------------------------------------------------------------


def _touches(solution: Solution, index: int, limit: Constraint, clock: Clock, reading: Reading) -> list[Run]:
    times = np.linspace(0.0, clock.end, SAMPLES_PER_KNOT_INTERVAL * int(clock.end) + 1)
    values = solution.value(limit.term, clock.seconds(times))
    runs = []
    for component in range(limit.lower.size):
        lower, upper = limit.lower[component], limit.upper[component]
        both = np.isfinite(lower) and np.isfinite(upper)
        margin = (FINE_TOUCH if reading.fine else TOUCH) * (
            upper - lower if both else max(np.ptp(values[:, component]), 1e-12)
        )
        at = np.where(values[:, component] >= upper - margin, 1, 0)
        at = np.where(values[:, component] <= lower + margin, -1, at)
        edges = np.concatenate([[0], np.flatnonzero(np.diff(at)) + 1, [at.size]])
        for first, last in pairwise(edges):
            start, end = times[first], times[min(last, times.size - 1)]
            if at[first] and end - start > SHORTEST_TOUCH:
                runs.append(Run(Saturation(index, component, int(at[first])), float(start), float(end)))
    return runs
