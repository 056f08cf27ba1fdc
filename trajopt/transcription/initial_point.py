"""The starting point of a solve: a smooth curve between the boundary values, at a speed the limits allow.

The curve is the polynomial of lowest degree in normalised time with the boundary positions and velocities
(zero where none is given) and those accelerations that are given: 3 s^2 - 2 s^3 from rest to rest. A straight
line would have to start and stop within one span, with accelerations that grow with the number of spans.

A start at which a row has no slope is replaced by one beside it.

Controls start amid their bounds, which for a vector of thrust is zero. There |T| has no slope, and |T|^2 the
slope zero: a lower limit of the thrust is violated, and no derivative says which way leads out of that. The
same holds of other unknown curves and other terms. Where such rows are found, these curves start elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import NotFiniteError, ShapeError
from trajopt.graph.quantities import extra_leaf
from trajopt.problem.contacts.loop_poses import ClosedGuess
from trajopt.problem.guess import GuessedCurve
from trajopt.problem.problem import Problem
from trajopt.problem.systems.system import System
from trajopt.splines.basis import BORDER_SIDE
from trajopt.splines.node_sets import END, START, NodeSet
from trajopt.splines.trajectory import SHORTEST_DURATION
from trajopt.transcription.bounds import Bounds, LinearBlock, bound_violation
from trajopt.transcription.program_functions import ProgramFunctions
from trajopt.transcription.unknowns import CurvePlaces, Layout, Unknowns

LONGEST_TRIED, PER_DECADE = 1e5, 5  # seconds, and durations tried in every decade below
FALLBACK_DURATION = 1.0  # seconds, where no duration is better than another

EndValues = dict[tuple[str, NodeSet], Array]  # see `end_values`


def first_guess(
    problem: Problem, layout: Layout, duration: float | None = None, curve: GuessedCurve | None = None
) -> Array:
    """The x of the user's curve, or of a smooth one in joint space between the boundary values.

    layout : of the problem's unknowns
    duration : seconds of the whole motion where the user guesses none
    curve : in place of these curves
    """
    arcs = problem.trajectory.arcs
    wanted = np.full(len(arcs), (FALLBACK_DURATION if duration is None else duration) / len(arcs))
    if problem.guessed_durations is not None:
        wanted = problem.guessed_durations
    durations = np.clip(wanted, *problem.trajectory.duration_bounds)
    guessed = curve or problem.guessed_curve or smooth_curve(problem, float(durations.sum()))
    if problem.closures:
        guessed = ClosedGuess.of(problem, guessed)
    x, fixed = np.empty(layout.size), end_values(problem)
    x[layout.durations] = durations
    for group in layout.groups:
        for arc, points in enumerate(group.control_points(x)):
            points[:] = _control_points(problem, guessed, group, arc, fixed)
    for name, place in layout.parameters.items():
        x[place] = problem.parameters[name].guess
    return x


def _control_points(
    problem: Problem, guessed: GuessedCurve, group: CurvePlaces, arc: int, fixed: EndValues
) -> Array:
    """The guess of a group of curves on an arc, (count, curves); constants for those that it leaves out."""
    basis, arcs, n = group.bases[arc], len(problem.trajectory.arcs), problem.dynamics.n
    within = basis.greville if arcs == 1 else np.clip(basis.greville, BORDER_SIDE, 1.0 - BORDER_SIDE)
    along = (arc + within) / arcs
    unguessed = _extra_points(problem, along, fixed) if problem.extras else np.empty((along.size, 0))
    values = _guessed_values(guessed, along, n, n + unguessed.shape[1])
    mine = slice(group.first_curve, group.first_curve + group.curve_count)
    known = values[:, mine]
    points = basis.interpolate(known) if known.shape[1] else known
    missing = unguessed[:, max(values.shape[1], mine.start) - n : mine.stop - n]
    return np.concatenate([points, missing], axis=1)


def _extra_points(problem: Problem, along: Array, fixed: EndValues) -> Array:
    """Control points of additional curves without a guess, at normalised times (k,), (k, curves).

    They are constant; a state goes on a straight line from the value it starts with to the one it ends with.
    """
    found = []
    for name, extra in problem.extras.items():
        first = last = extra.guess
        if extra.is_state:
            free = np.full(extra.guess.size, np.nan)
            start, end = (fixed.get((extra_leaf(name), place), free) for place in (START, END))
            first = np.where(np.isnan(start), np.where(np.isnan(end), extra.guess, end), start)
            last = np.where(np.isnan(end), first, end)
        found.append(first + along[:, None] * (last - first))
    return np.concatenate(found, axis=1)


def _guessed_values(curve: GuessedCurve, at: Array, n: int, curves: int) -> Array:
    """The guess at normalised times (k,), (k, n) or, with the additional curves, (k, curves)."""
    values = np.asarray(curve(at), dtype=float)
    if values.shape not in ((at.size, n), (at.size, curves)):
        more = f", or ({at.size}, {curves}) with the additional curves" if curves > n else ""
        raise ShapeError(
            f"the guessed curve returned shape {values.shape} for {at.size} times: "
            f"it must give ({at.size}, {n}){more}"
        )
    if not np.all(np.isfinite(values)):
        raise NotFiniteError("the guessed curve contains NaN or infinity: let it give finite numbers")
    return values


def with_guessed_duration(
    problem: Problem,
    unknowns: Unknowns,
    y: Array,
    bounds: Bounds,
    functions: ProgramFunctions,
    row_bounds: Bounds,
    linear: LinearBlock,
) -> Array:
    """The guess at the shortest duration at which the rows are violated least, where durations are free.

    y : the guess at any duration, which is returned where the user guessed one, or none is free
    functions, row_bounds : of all rows;  linear : the first of them
    """
    places = unknowns.durations
    if problem.guessed_durations is not None or places.size == 0:
        return y
    y = bounds.clipped(y)

    arcs = problem.trajectory.arcs
    arc_of = unknowns.elimination.free[places] - unknowns.layout.durations.start
    # A velocity or an acceleration other than zero at an end: the curve by s changes with the duration.
    fixed = end_values(problem)
    rates = [value for (rate, end), value in fixed.items() if rate in ("v", "a") and end in (START, END)]
    same_curve = problem.guessed_curve is not None or not np.any(
        np.abs(np.concatenate([[0.0], *rates])) > 0.0
    )

    least, most = problem.trajectory.duration_bounds
    of_arcs, of_places = Bounds(least, most), Bounds(bounds.lower[places], bounds.upper[places])

    def trial(duration: float) -> Array:
        if not same_curve:
            x = first_guess(problem, unknowns.layout, duration)
            return bounds.clipped(unknowns.elimination.reduce(x))
        other = y.copy()
        other[places] = of_places.clipped(of_arcs.clipped(np.array(duration / len(arcs)))[arc_of])
        return other

    shortest, longest = least.sum(), most.sum()
    if shortest <= len(arcs) * SHORTEST_DURATION:  # not a given bound
        shortest = SHORTEST_DURATION
    duration = shortest_duration(
        lambda seconds: row_bounds.violation(functions.rows(trial(seconds))),
        float(shortest),
        float(longest),
        (lambda seconds: linear.bounds.violation(linear.A @ trial(seconds) + linear.b))
        if linear.b.size
        else None,
    )
    return trial(duration)


def shortest_duration(
    violation: Callable[[float], float],
    shortest: float,
    longest: float,
    of_linear: Callable[[float], float] | None = None,
) -> float:
    """The shortest duration, seconds, whose violation is zero, or nearly the least where none is.

    violation : duration -> the largest violation, NaN where it cannot be computed
    of_linear : that of some rows, which costs little: where it is not zero the others are not looked at,
        unless no duration is good
    Durations from 1e-4 to 1e5 s within the bounds are tried, five in every decade, then the interval before
    the first good one is halved. Where the violation only falls, however long the duration, as that of an
    equation without a time scale does, or nothing is violated, however short, one second is as good as any.
    """
    low, high = max(shortest, SHORTEST_DURATION), min(longest, LONGEST_TRIED)
    if low >= high:
        return float(np.clip(FALLBACK_DURATION, shortest, longest))
    known = cache(violation)
    of_linear = of_linear or (lambda seconds: 0.0)
    tried = np.geomspace(low, high, max(2, 1 + math.ceil(PER_DECADE * math.log10(high / low)))).tolist()
    good_ones = (i for i, each in enumerate(tried) if of_linear(each) == 0.0 and known(each) == 0.0)
    first, enough = next(good_ones, None), 0.0
    if first is None:
        values = np.array([known(each) for each in tried])
        # A duration counts as good whose violation is within this factor of the least one
        enough = 1.05 * np.where(np.isfinite(values), values, np.inf).min()
        if not np.isfinite(enough):
            return float(np.clip(FALLBACK_DURATION, shortest, longest))
        first = int(np.argmax(values <= enough))
    still_falling = first == len(tried) - 1 and enough > 0.0 and longest > LONGEST_TRIED
    if still_falling or (first == 0 and shortest <= SHORTEST_DURATION):
        return float(np.clip(FALLBACK_DURATION, shortest, longest))
    good = tried[first]
    if first == 0:
        return good
    bad = tried[first - 1]
    for _ in range(4):  # halvings, on a logarithmic scale, of the interval in which the guessed duration lies
        middle = math.sqrt(bad * good)
        is_good = of_linear(middle) <= enough and known(middle) <= enough
        good, bad = (middle, bad) if is_good else (good, middle)
    return good


def end_values(problem: Problem) -> EndValues:
    """(quantity, where) -> the values that equalities fix, NaN for a component that is free."""
    fixed: EndValues = {}
    for c in problem.constraints:
        if np.any(c.lower == c.upper):
            value = np.where(c.lower == c.upper, c.lower, np.nan)
            before = fixed.get((c.term.quantity, c.over), value)
            fixed[c.term.quantity, c.over] = np.where(np.isnan(value), before, value)
    return fixed


def fixed_ends(problem: Problem) -> tuple[Array, Array]:
    """q where the motion starts and where it ends, (n,) each, NaN for a component that is free."""
    fixed, free = end_values(problem), np.full(problem.dynamics.n, np.nan)
    return fixed.get(("q", START), free), fixed.get(("q", END), free)


def smooth_curve(problem: Problem, duration: float, ends: tuple[Array, Array] | None = None) -> GuessedCurve:
    """The polynomial of normalised time with the values that are fixed at both ends of the motion.

    ends : q at both, (n,) each, NaN for a free component, where more is known than `fixed_ends` says
    A free end stays at the other one, or amid the limits; velocities are zero where none are given. The
    states of first-order equations have no velocities to start with: theirs is a straight line.
    """
    n, limits = problem.dynamics.n, problem.dynamics.limits
    bounded = np.isfinite(limits.q_lower) & np.isfinite(limits.q_upper)
    middle = np.zeros(n)
    middle[bounded] = 0.5 * (limits.q_lower[bounded] + limits.q_upper[bounded])
    fixed, free = end_values(problem), np.full(n, np.nan)
    at_start, at_end = ends or (fixed.get(("q", START), free), fixed.get(("q", END), free))
    first = np.where(np.isnan(at_start), np.where(np.isnan(at_end), middle, at_end), at_start)
    last = np.where(np.isnan(at_end), first, at_end)
    conditions = [(0.0, 0, first), (1.0, 0, last)]
    for s, end in ((0.0, START), (1.0, END)) if not isinstance(problem.dynamics, System) else ():
        velocity = fixed.get(("v", end), free)
        conditions.append((s, 1, np.where(np.isnan(velocity), 0.0, duration * velocity)))
    for s, end in ((0.0, START), (1.0, END)):
        if not np.any(np.isnan(fixed.get(("a", end), free))):
            conditions.append((s, 2, duration**2 * fixed["a", end]))
    count = len(conditions)
    matrix, values = np.zeros((count, count)), np.empty((count, n))
    for row, (s, order, value) in enumerate(conditions):
        values[row] = value
        for k in range(order, count):  # d^order s^k / ds^order
            matrix[row, k] = math.perm(k, order) * s ** (k - order)
    coefficients = np.linalg.solve(matrix, values)
    return lambda s: np.vander(np.asarray(s, dtype=float), count, increasing=True) @ coefficients


def beside_singular_point(
    problem: Problem,
    unknowns: Unknowns,
    functions: ProgramFunctions,
    row_bounds: Bounds,
    bounds: Bounds,
    start: Array,
) -> Array:
    """The start, or, where rows have no slope there, the one of several beside it with the fewest of them.

    Of those with as few it is the one that violates rows least.
    """
    if not problem.extras:
        return start
    stuck = _without_slope(functions, row_bounds, start)
    if stuck == 0:
        return start

    def rank(y: Array) -> tuple[int, float]:
        violation = row_bounds.violation(functions.rows(y))
        return _without_slope(functions, row_bounds, y), violation if np.isfinite(violation) else np.inf

    x = unknowns.elimination.expand(start)
    moved = [
        bounds.clipped(unknowns.elimination.reduce(_shifted(x, unknowns, problem.dynamics.n, steps)))
        for steps in _directions(problem)
    ]
    ranks = [rank(y) for y in moved]
    best = min(range(len(moved)), key=ranks.__getitem__, default=None)
    return start if best is None or ranks[best][0] >= stuck else moved[best]


def _without_slope(functions: ProgramFunctions, row_bounds: Bounds, y: Array) -> int:
    """The number of rows, and costs, whose slope is not finite, and of violated rows that have none."""
    rows = functions.jacobian_rows
    with np.errstate(all="ignore"):
        violation = bound_violation(functions.rows(y), row_bounds.lower, row_bounds.upper)
        entries = np.abs(functions.jacobian(y))
        cost_is_finite = bool(np.isfinite(functions.gradient(y)).all())
    steepest = np.zeros(violation.size)
    np.maximum.at(steepest, rows, np.where(np.isfinite(entries), entries, np.inf))
    rows_without = np.isinf(steepest) | ((steepest == 0.0) & (violation > 0.0))
    return int(np.sum(rows_without)) + (not cost_is_finite)


def _directions(problem: Problem) -> Iterator[Array]:
    """Steps of the additional curves (curves,): all of them, then one at a time, either way."""
    steps = [np.empty(0)]
    for name, curve in problem.extras.items():
        width = curve.upper - curve.lower
        moves = not curve.is_state and name not in problem.slacks
        # A curve moves by a quarter of the width between its bounds, or of one unit
        steps.append(moves * 0.25 * np.where(np.isfinite(width), width, 1.0))
    step = np.concatenate(steps)
    places = np.flatnonzero(step)
    # The first eight curves are moved one at a time
    one_each = (np.where(np.arange(step.size) == place, step, 0.0) for place in places[:8])
    for direction in (step, *(one_each if places.size > 1 else ())):
        if np.any(direction):
            yield from (direction, -direction)


def _shifted(x: Array, unknowns: Unknowns, n: int, steps: Array) -> Array:
    """x with the steps (curves,) added to the control points of the curves behind the n joints."""
    moved, by_curve = x.copy(), np.concatenate([np.zeros(n), steps])
    for group in unknowns.layout.groups:
        own = slice(group.first_curve, group.first_curve + group.curve_count)
        for points in group.control_points(moved):
            points += by_curve[own]
    return moved
