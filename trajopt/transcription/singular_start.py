"""A start at which a row has no slope, and one beside it.

Controls start amid their bounds, which for a vector of thrust is zero. There |T| has no slope, and |T|^2 the
slope zero: a lower limit of the thrust is violated, and no derivative says which way leads out of that. The
same holds of other unknown curves and other terms. Where such rows are found, these curves start elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trajopt.base.arrays import Array
from trajopt.problem.problem import ProblemData
from trajopt.transcription.bounds import Bounds, bound_violation
from trajopt.transcription.program_functions import ProgramFunctions
from trajopt.transcription.unknowns import Unknowns

ASIDE = 0.25  # of the width between its bounds, or of one unit: how far a curve starts from its guess
MOST_CURVES = 8  # that are moved one at a time


def beside_singular_point(
    problem: ProblemData,
    unknowns: Unknowns,
    functions: ProgramFunctions,
    row_bounds: Bounds,
    bounds: Bounds,
    start: Array,
) -> Array:
    """The start, or, where rows have no slope there, the one of several beside it with the fewest of them.

    Of those with as few it is the one that violates rows least.
    """
    stuck = _without_slope(functions, row_bounds, start)
    if not problem.extras or stuck == 0:
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


def _directions(problem: ProblemData) -> Iterator[Array]:
    """Steps of the additional curves (curves,): all of them, then one at a time, either way."""
    steps = [np.empty(0)]
    for name, curve in problem.extras.items():
        width = curve.upper - curve.lower
        moves = not curve.is_state and name not in problem.slacks
        steps.append(moves * ASIDE * np.where(np.isfinite(width), width, 1.0))
    step = np.concatenate(steps)
    places = np.flatnonzero(step)
    one_each = (np.where(np.arange(step.size) == place, step, 0.0) for place in places[:MOST_CURVES])
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
