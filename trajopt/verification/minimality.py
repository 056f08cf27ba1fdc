"""Check that a stationary motion is a minimum, and the gain that a loose tolerance has left.

A motion at which the gradient of the Lagrangian vanishes may be a maximum or a saddle: then some direction d
along which no active row changes has d' H d < 0, H being the Hessian of the Lagrangian. And an objective that
falls like a power of the duration has a gradient that vanishes as well, without a minimum anywhere. Both are
suspicions only, which rounding and rows that depend on each other may raise; what speaks against the motion
are points nearby that meet every row and have a lower objective: on both sides along d, or at longer
durations.

A limit with a multiplier from which the motion keeps a distance costs their product to first order. Solvers
hold every product below their tolerance, but there may be hundreds: with 1e-2 each, which is a KKT error of
1e-2, two links in minimum time took 43 % longer than they must. Limits that the optimum does not touch have
such products as well, and cost nothing: with thousands of them, as of a robot on legs, the sum says more than
there is to gain. Where it is above what is allowed, a solver goes on from the motion: the objective tells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AGREEMENT, SAME_OPTIMUM
from trajopt.solution.answers import ZERO_COST, costs_at
from trajopt.solution.journal import AS_LARGE, costs_less, is_above_rounding, is_far_below
from trajopt.solution.solution import Answer
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.kkt import (
    bound_violation,
    lagrangian_gradient,
    largest_violation,
    limit_distances,
    multipliers_of,
)
from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import DENSE, ROUNDING, Program, Run, StartKind, WarmStart
from trajopt.transcription.linked_program import LinkedProgram, placed_parts
from trajopt.transcription.nlp import NLP
from trajopt.verification.cost_jumps import lower_across_jumps
from trajopt.verification.nearby_points import FOLLOWED, NearbyPoints, curvatures

NOT_REBUILT = "whether the motion is a minimum was not looked at: its program cannot be built again"
LARGEST = 4000  # unknowns above which curvature is not looked at
LENGTHS = 0.5 ** np.arange(0, 14, 2)  # of the ways along them, as parts of the largest unknown
FARTHER = 10.0 ** np.arange(1, 13, 2)  # of the same, where the objective may fall for ever by a small slope
LONGER = (2.0, 8.0)  # times the duration
HALVINGS = 60  # of a duration, at most
MEASURED = (1e-12, 1e-7)  # scaled objectives that are more than rounding, and that are enough
POWERS = (0.5, 12.0)  # p of an objective that falls like T^-p; that of squared accelerations is 3
FEWEST, STEADY = 3, 1.5  # halvings from which a power is read, and how much larger their largest one may be
SMALL = 1e-3  # scaled costs below, of motions that need not cost anything, do not measure the products
FALLING = 1e-2  # of all costs: what the objective must lose at them, and by the duration to first order
NOTICED = 1e-4  # of all costs: what the objective must lose along them
UNCURVED = "no curvature along some directions, and no descent along those that were followed"
WITHOUT_CURVATURE = (
    "the motion is stationary but no minimum: along a direction without curvature every row is met and the "
    "objective falls, by {:.2g} of the costs so far; start from another guess, or look whether a cost has "
    "the wrong sign"
)
OFF_LIMITS = (
    "the motion is stationary but no minimum: away from limits that hold nothing back every row is met and "
    "the objective falls, by {:.2g} of the costs so far; start from another guess, away from the limits"
)
BESIDE_LOWER = (
    "the motion is not optimal: one beside it meets every row and is lower by {:.2g} of the costs, in a "
    "direction whose unknowns are much larger or smaller than others; give their curves a guess of the size "
    "that they need"
)
# Tolerance and iterations of a solver that goes on from the motion, or from it on halved spans, where one in
# 35 of the published problems takes more.
TIGHT, FURTHER = 1e-10, 100


@dataclass(frozen=True)
class Minimality:
    """The result of the search for better points near a motion.

    reason : why the motion is no minimum; empty where nothing says so
    note : what was not looked at, and why; empty where all was
    crossed : the jump at a knot across which optimality was looked at to first order alone; or empty
    gain : sum of multiplier times distance over all limits, relative to all costs together or, where those
        are smaller, a thousandth of what they are scaled to; by what the objective changes when a solver goes
        on, where the sum is above what is allowed and this is less
    """

    reason: str = ""
    note: str = ""
    gain: float = 0.0
    crossed: str = ""


def minimality(
    solution: Answer, nearby: NearbyPoints | None, allowed: float = 0.0, zero: float = 0.0
) -> Minimality:
    """Looks for better points near converged motions, None where their program is not known.

    allowed : gain up to which the sum of products is told as it is
    zero : least size of all costs together, of costs that are zero but for what solvers leave
    """
    if nearby is None:
        return Minimality(note=NOT_REBUILT)
    if not solution.converged:
        return Minimality()
    nlp, point = nearby.nlp, nearby.point
    size = nlp.objective_scale * max(solution.size_of_costs, zero)
    if not size < np.inf:
        return Minimality()
    is_zero = size <= ZERO_COST
    gain = 0.0 if is_zero else _gain(nlp, point, max(size, SMALL), allowed)
    reason = _faded(nlp, point) if is_zero else _longer(nearby, size)
    if reason or not any(program.objectives for program in nlp.programs):
        return Minimality(reason, "", gain)
    small = nlp.variable_count <= LARGEST
    reason, crossed = lower_across_jumps(nearby, max(size, SMALL), allowed) if small else ("", "")
    if reason:
        return Minimality(reason, "", gain)
    if not nlp.has_hessian:
        return Minimality("", "curvature: not looked at, as a term has no second derivatives", gain, crossed)
    if not small:
        return Minimality("", f"curvature: not looked at, as there are more than {LARGEST} unknowns", gain)
    reason = lower_by_a_step(nearby, size, allowed) or lower_by_a_solve(nearby)
    size = max(size, SMALL)
    reason = reason or lower_on_both_sides(nearby, size)
    reason = reason or lower_off_limits(nearby, size)
    flat = [] if reason else _flat_directions(nearby)
    reason = reason or lower_where_flat(nearby, flat, size)
    return Minimality(reason, UNCURVED if flat and not reason else "", gain, crossed)


def _gain(nlp: NLP | LinkedProgram, point: WarmStart, size: float, allowed: float) -> float:
    """See `Minimality.gain`; size : of all costs together, scaled as the objective."""
    each = np.abs(products(nlp, point, nlp.rows(point.y)))
    total = float(each.sum()) / size
    if not total > allowed:
        return total
    further = Ipopt(tol=TIGHT, max_iterations=FURTHER, options={"mu_init": float(each.max())})
    found = further.solve(nlp, point)
    if not found.converged or largest_violation(nlp, found.y, nlp.rows(found.y)) > AGREEMENT:
        return total
    return min(total, abs(nlp.objective(point.y) - nlp.objective(found.y)) / size)


def products(nlp: Program, point: WarmStart, rows: Array) -> Array:
    """Multiplier times distance of every limit that exists, (limits,), in the scaled objective.

    Negative where the limit is violated; rows : at the point
    """
    of_rows, of_lower, of_upper = multipliers_of(nlp, point)
    distances = limit_distances(nlp, point.y, rows)
    sides = np.maximum(np.concatenate([-of_rows, of_rows, of_lower, of_upper]), 0.0)
    exists = np.isfinite(distances)
    return distances[exists] * sides[exists]


def _longer(nearby: NearbyPoints, size: float) -> str:
    """Statement that the objective falls with the duration, here and at longer motions along the same way."""
    nlp, point = nearby.nlp, nearby.point
    y, places = point.y, nlp.durations
    if places.size == 0:
        return ""
    assert point.row_multipliers is not None
    gradient = lagrangian_gradient(nlp, y, point.row_multipliers)
    for own, sign in ((point.lower_multipliers, -1.0), (point.upper_multipliers, 1.0)):
        if own is not None:
            gradient = gradient + sign * own
    if not y[places] @ gradient[places] < -FALLING * size:
        return ""
    here, found = nlp.objective(y), []
    for factor in LONGER:
        longer = y.copy()
        longer[places] = np.minimum(factor * y[places], nlp.upper[places])
        moved = nearby.moved(longer)
        if moved is None or not nlp.objective(moved) < here - FALLING * size:
            break
        found.append((float(moved[places].sum() / y[places].sum()), float(nlp.objective(moved))))
    if not found:
        return ""
    factor, lower = found[-1]
    return (
        f"the objective still falls as the duration grows, {here / nlp.objective_scale:.6g} here and "
        f"{lower / nlp.objective_scale:.6g} at {factor:.3g} times the free durations with every row met: no "
        "minimum exists, or it lies beyond; bound the duration, or give it a cost"
    )


def _faded(nlp: NLP | LinkedProgram, point: WarmStart) -> str:
    """Statement that a vanishing objective fell like a power of the durations, which nothing bounds.

    Rounding hides the slope of such an objective, so the same way is gone in half the durations again and
    again, with every row met, and the power is read where the objective is `MEASURED`. A cost that is zero
    for a reason of its own, below some speed say, rises otherwise or not at all.
    """
    places = nlp.durations
    if places.size == 0 or np.any(np.isfinite(nlp.upper[places])):
        return ""
    found, here = [nlp.objective(point.y)], point
    while 0.0 < found[-1] < MEASURED[1] and len(found) <= HALVINGS:
        shorter = here.y.copy()
        shorter[places] = np.maximum(0.5 * here.y[places], nlp.lower[places])
        moved = NearbyPoints(nlp, here).moved(shorter)
        if moved is None or not nlp.objective(moved) > found[-1]:
            break
        here = replace(here, y=moved)
        found.append(nlp.objective(moved))
    steps = np.diff(np.log2(found)) if found[0] > 0.0 else np.zeros(0)
    powers = steps[np.array(found[:-1]) > MEASURED[0]]
    least, most = float(powers.min(initial=np.inf)), float(powers.max(initial=0.0))
    if powers.size < FEWEST or not POWERS[0] <= least <= most <= min(POWERS[1], STEADY * least):
        return ""
    part = here.y[places].sum() / point.y[places].sum()
    there, now = (f"{objective / nlp.objective_scale:.6g}" for objective in (found[-1], found[0]))
    return (
        f"the objective falls like the power -{np.median(powers):.2g} of the duration, {there} at {part:.3g} "
        f"times the free durations with every row met and {now} here, which is nothing: no minimum exists; "
        "bound the duration, or give it a cost"
    )


def lower_by_a_step(nearby: NearbyPoints, size: float, allowed: float) -> str:
    """Reason against a minimum: Newton's step along the active rows leads to a lower objective.

    Residuals of optimality are per unit of the unknowns: beside a state of 1e9 a slope by a control that has
    to be as large is below every tolerance. What the step gains has the unit of the objective alone.

    Costs below `SMALL` may be what a solve leaves of a motion at rest, whose optimum costs nothing, or small
    because a slope by a state of 1e-12 is large. They measure the gain where the motion beside costs more, or
    costs are left at the end of the step, where unknowns that change by more than is allowed make most of the
    gain, and where it is more than the rows buy by what they are missed by.

    size, allowed : of all costs together, scaled as the objective, and the part of them that may be gained
    """
    nlp, y = nearby.nlp, nearby.point.y
    of_rows, *_ = multipliers_of(nlp, nearby.point)
    slope = lagrangian_gradient(nlp, y, of_rows)
    here = nlp.objective(y)
    for step in nearby.newton_steps(slope):
        whole, bent = -0.5 * float(slope @ step), 0.5 * nearby.curvature_along(step)
        if not whole > allowed * size:
            continue
        for length in LENGTHS:
            moved = nearby.moved(y + length * step)
            if moved is None:
                continue
            lower, costs = here - nlp.objective(moved), _size_of_costs(nlp, moved)
            if max(size, costs) < SMALL:
                kept = max(costs - size, costs - (whole - lower))  # beside a rest nothing is
                changed = np.abs(moved - y) > allowed * np.maximum(np.abs(y), np.abs(moved))
                is_real = (
                    kept > allowed * lower > 0.0
                    and lower > _bought(nlp, of_rows, moved)
                    and -float(slope[changed] @ step[changed]) > whole
                    and bent > (1.0 - allowed) * whole  # else the shift holds the step back
                )
                costs = costs if is_real else SMALL
            costs = max(costs, size)
            if lower - _bought(nlp, of_rows, moved, AGREEMENT) > allowed * costs:
                return BESIDE_LOWER.format(lower / costs)
    return ""


def lower_by_a_solve(nearby: NearbyPoints) -> str:
    """Reason against a minimum: a solve that goes on with the costs as they are leads to a lower objective.

    Residuals of optimality are compared with the costs of the guess. Where these were 1e18, as x' = u - y was
    guessed with u = 0 and y of 1e9, a motion of 0.709 for 0.5 is stationary but for rounding.
    """
    nlp, point = nearby.nlp, nearby.point
    here = float(nlp.objective(point.y))
    if not (is_far_below(abs(here)) and is_above_rounding(nlp, point.y)):
        return ""
    finer, near = nlp.with_objective_times(AS_LARGE / abs(here)), Run(start_kind=StartKind.NEAR_START)
    found = run_solver(Ipopt(tol=TIGHT, max_iterations=FURTHER), finer, WarmStart(point.y), near)
    if (moved := nearby.moved(found.y)) is None:
        return ""
    bought = _bought(nlp, multipliers_of(nlp, point)[0], moved)
    if not costs_less(nlp, point.y, moved, bought):
        return ""
    return BESIDE_LOWER.format((here - float(nlp.objective(moved))) / abs(here))


def _bought(nlp: NLP | LinkedProgram, of_rows: Array, y: Array, above: float = 0.0) -> float:
    """Twice what the objective gains to first order by what the rows are missed by at y.

    of_rows : multipliers of the rows, (rows,)
    above : misses that count
    """
    missed = bound_violation(nlp.rows(y), nlp.row_lower, nlp.row_upper)
    return 2.0 * float(np.abs(of_rows) @ np.where(missed > above, missed, 0.0))


def _size_of_costs(program: NLP | LinkedProgram, y: Array) -> float:
    """The sum of the sizes of all costs, scaled as the objective."""
    return sum(
        share * nlp.objective_scale * sum(map(abs, costs_at(nlp, y[place]).values()))
        for nlp, place, _, share in placed_parts(program)
    )


def lower_on_both_sides(nearby: NearbyPoints, size: float) -> str:
    """Reason against a minimum: both ways along a direction of negative curvature lower the objective.

    size : of all costs together, scaled as the objective
    """
    nlp, y = nearby.nlp, nearby.point.y
    here = nlp.objective(y)
    for direction in nearby.descents:
        step = nearby.step_along(direction)
        for length in LENGTHS:
            sides = [nearby.moved(y + side * length * step) for side in (1.0, -1.0)]
            lower = [here - nlp.objective(moved) for moved in sides if moved is not None]
            if len(lower) == 2 and min(lower) > SAME_OPTIMUM * size:
                return (
                    "the motion is stationary but no minimum: motions beside it on both sides meet every row "
                    f"and are lower by {lower[0] / size:.2g} and {lower[1] / size:.2g} of the costs; start "
                    "from another guess, or look whether a cost has the wrong sign"
                )
    return ""


def lower_where_flat(nearby: NearbyPoints, flat: list[Array], size: float) -> str:
    """Reason against a minimum: the objective falls from the point along a direction without curvature.

    Unknowns at a bound are followed away from it where the Lagrangian, that of bounds left out, falls there.
    It falls from the point on, at every length that is looked at, and by more than the slope that the solve
    left: a^3 and -a^4 do at 0, a^4 and what many motions share do not. Where it falls on to 1e11
    times the size of the unknowns, the slope may be as small as what a solve leaves.

    size : of all costs together, scaled as the objective
    """
    y = nearby.moved(nearby.point.y)
    if y is None:
        return ""
    steps = nearby.inward_steps
    for direction in flat:
        step = np.zeros(y.size)
        step[nearby.free] = direction / np.abs(direction).max()
        steps += [step, -step]
    found = max((_fallen(nearby, y, step * nearby.extent, size) for step in steps), default=0.0)
    return WITHOUT_CURVATURE.format(found) if found else ""


def lower_off_limits(nearby: NearbyPoints, size: float) -> str:
    """Reason against a minimum: the objective falls from limits that are touched without a multiplier.

    They hold nothing back to first order, so that -x^2 is stationary at its limit x >= 0, or next to it.
    Directions of negative curvature that keep the other limits are followed on either side.

    size : of all costs together, scaled as the objective
    """
    loose = nearby.without_idle_limits or nearby
    if (y := nearby.moved(nearby.point.y)) is None:
        return ""
    for direction in loose.descents:
        step = loose.step_along(direction)
        found = max(_fallen(loose, y, side * step, size) for side in (1.0, -1.0))
        if found:
            return OFF_LIMITS.format(found)
    return ""


def _fallen(nearby: NearbyPoints, y: Array, step: Array, size: float) -> float:
    """Part of all costs by which the objective falls along a step from y, at every length looked at.

    Zero where it rises, or falls by no more than the slope that the solve left, and than the rows buy by what
    they are missed by: of a state of 1e-9 all of a change is below the tolerance of its rows.
    """
    nlp, slope = nearby.nlp, nearby.slope
    of_rows, *_ = multipliers_of(nlp, nearby.point)
    here = before = nlp.objective(y)
    for length in (*LENGTHS[::-1], *FARTHER):
        moved = nearby.moved(y + length * step)
        found = np.inf if moved is None else nlp.objective(moved)
        near = moved is not None and length <= 1.0
        first_order = 2.0 * abs(float(slope @ (moved - y))) if near else 0.0  # type: ignore[operator]
        if moved is None or not found <= before + AGREEMENT * size + first_order:
            return 0.0
        before = min(before, found)
        noticed = (NOTICED if near else FALLING) * size + first_order
        if here - found > noticed + _bought(nlp, of_rows, moved):
            return float((here - found) / size)
    return 0.0


def _flat_directions(nearby: NearbyPoints) -> list[Array]:
    """Directions (count,) that keep the active rows and have no curvature but rounding.

    Those of single unknowns, parameters first, that enter no second derivative; up to `DENSE` unknowns also
    mixtures of all such directions.
    """
    H, count = nearby.hessian, nearby.free.size
    if count == 0 or not np.all(np.isfinite(H.data)):
        return []
    largest, enters = np.abs(H.data).max(initial=0.0), np.zeros(count)
    np.maximum.at(enters, H.tocoo().coords[0], np.abs(H.tocoo().data))
    single = np.flatnonzero(enters <= ROUNDING * largest)[: -1 - FOLLOWED : -1]
    each = list(nearby.projected(np.eye(count)[:, single]).T) if single.size else []
    found = [d for d in each if d @ d > ROUNDING and abs(d @ (H @ d)) <= ROUNDING * largest * (d @ d)]
    if count <= DENSE:
        values, vectors = curvatures(nearby)
        flat = vectors[:, np.abs(values) <= ROUNDING * largest]
        found += list((flat @ np.random.default_rng(0).standard_normal((flat.shape[1], FOLLOWED))).T)
    return [direction for direction in found if direction.any()]
