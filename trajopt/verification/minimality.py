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
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from trajopt.base.arrays import Array, finite_size
from trajopt.base.tolerances import AGREEMENT, HALF_OF_DIGITS, REPEATED, SAME_OPTIMUM
from trajopt.solution.answers import ZERO_COST
from trajopt.solution.solution import Answer
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.kkt import (
    ActiveSet,
    active_set,
    lagrangian_gradient,
    largest_violation,
    limit_distances,
    multipliers_of,
)
from trajopt.solvers.matrices import Triplets, sparse_hessian, sparse_jacobian
from trajopt.solvers.newton.newton import MOST_STEPS
from trajopt.solvers.newton.sparse_kkt import Patterns, SparseKkt
from trajopt.solvers.solver import DENSE, DEPENDENT, ROUNDING, WarmStart
from trajopt.transcription.linked_program import LinkedProgram
from trajopt.transcription.nlp import NLP

NOT_REBUILT = "whether the motion is a minimum was not looked at: its program cannot be built again"
LARGEST = 4000  # unknowns above which curvature is not looked at
RESTARTS = 30  # of Lanczos' method, at most
SHIFTS = 12  # powers of ten that are tried, from none on
DIRECTIONS = 3  # of most negative curvature that are followed
LENGTHS = 0.5 ** np.arange(0, 14, 2)  # of the ways along them, as parts of the largest unknown
FARTHER = 10.0 ** np.arange(1, 13, 2)  # of the same, where the objective may fall for ever by a small slope
LONGER = (2.0, 8.0)  # times the duration
HALVINGS = 60  # of a duration, at most
MEASURED = (1e-12, 1e-7)  # scaled objectives that are more than rounding, and that are enough
POWERS = (0.5, 12.0)  # p of an objective that falls like T^-p; that of squared accelerations is 3
FEWEST, STEADY = 3, 1.5  # halvings from which a power is read, and how much larger their largest one may be
SMALL = 1e-3  # scaled costs below, of motions that need not cost anything, do not measure the products
FALLING = 1e-2  # of all costs: what the objective must lose at them, and by the duration to first order
FOLLOWED = 8  # mixtures of directions without curvature, as many single unknowns, and unknowns off a bound
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
# Tolerance and iterations of a solver that goes on from the motion, or from it on halved spans, where one in
# 35 of the published problems takes more.
TIGHT, FURTHER = 1e-10, 100


@dataclass(frozen=True)
class Minimality:
    """The result of the search for better points near a motion.

    reason : why the motion is no minimum; empty where nothing says so
    note : what was not looked at, and why; empty where all was
    gain : sum of multiplier times distance over all limits, relative to all costs together or, where those
        are smaller, a thousandth of what they are scaled to; by what the objective changes when a solver goes
        on, where the sum is above what is allowed and this is less
    """

    reason: str = ""
    note: str = ""
    gain: float = 0.0


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
    if not nlp.has_hessian:
        return Minimality("", "curvature: not looked at, as a term has no second derivatives", gain)
    if nlp.variable_count > LARGEST:
        return Minimality("", f"curvature: not looked at, as there are more than {LARGEST} unknowns", gain)
    size = max(size, SMALL)
    reason = lower_by_a_step(nearby, size, allowed) or lower_on_both_sides(nearby, size)
    reason = reason or lower_off_limits(nearby, size)
    flat = [] if reason else _flat_directions(nearby)
    reason = reason or lower_where_flat(nearby, flat, size)
    return Minimality(reason, UNCURVED if flat and not reason else "", gain)


def _gain(nlp: NLP | LinkedProgram, point: WarmStart, size: float, allowed: float) -> float:
    """See `Minimality.gain`; size : of all costs together, scaled as the objective."""
    each = products(nlp, point)
    total = float(each.sum()) / size
    if not total > allowed:
        return total
    further = Ipopt(tol=TIGHT, max_iterations=FURTHER, options={"mu_init": float(each.max())})
    found = further.solve(nlp, point)
    if not found.converged or largest_violation(nlp, found.y, nlp.rows(found.y)) > AGREEMENT:
        return total
    return min(total, abs(nlp.objective(point.y) - nlp.objective(found.y)) / size)


def products(nlp: NLP | LinkedProgram, point: WarmStart) -> Array:
    """|multiplier times distance| of every limit that exists, (limits,), in the scaled objective."""
    of_rows, of_lower, of_upper = multipliers_of(nlp, point)
    gaps = limit_distances(nlp, point.y, nlp.rows(point.y))
    sides = np.maximum(np.concatenate([-of_rows, of_rows, of_lower, of_upper]), 0.0)
    exists = np.isfinite(gaps)
    return np.abs(gaps[exists] * sides[exists])


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

    size, allowed : of all costs together, scaled as the objective, and the part of them that may be gained
    """
    factors = nearby.convex
    if factors is None:
        return ""
    nlp, y = nearby.nlp, nearby.point.y
    of_rows, *_ = multipliers_of(nlp, nearby.point)
    slope, step = lagrangian_gradient(nlp, y, of_rows)[nearby.free], np.zeros(y.size)
    step[nearby.free] = -factors.solve_along(slope / nearby.sharpest)
    if not -0.5 * float(slope @ step[nearby.free]) > allowed * size:
        return ""
    here = nlp.objective(y)
    for length in LENGTHS:
        moved = nearby.moved(y + length * step)
        if moved is not None and here - nlp.objective(moved) > allowed * size:
            return (
                "the motion is not optimal: one beside it meets every row and is lower by "
                f"{(here - nlp.objective(moved)) / size:.2g} of the costs, in a direction whose unknowns are "
                "much larger or smaller than others; give their curves a guess of the size that they need"
            )
    return ""


def lower_on_both_sides(nearby: NearbyPoints, size: float) -> str:
    """Reason against a minimum: both ways along a direction of negative curvature lower the objective.

    size : of all costs together, scaled as the objective
    """
    nlp, y = nearby.nlp, nearby.point.y
    here = nlp.objective(y)
    for direction in nearby.descents:
        step = np.zeros(y.size)
        step[nearby.free] = direction * nearby.extent / np.abs(direction).max()
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
        step = np.zeros(y.size)
        step[loose.free] = direction * nearby.extent / np.abs(direction).max()
        found = max(_fallen(loose, y, side * step, size) for side in (1.0, -1.0))
        if found:
            return OFF_LIMITS.format(found)
    return ""


def _fallen(nearby: NearbyPoints, y: Array, step: Array, size: float) -> float:
    """Part of all costs by which the objective falls along a step from y, at every length looked at.

    Zero where it rises, or falls by no more than the slope that the solve left.
    """
    nlp, slope = nearby.nlp, nearby.slope
    here = before = nlp.objective(y)
    for length in (*LENGTHS[::-1], *FARTHER):
        moved = nearby.moved(y + length * step)
        found = np.inf if moved is None else nlp.objective(moved)
        near = moved is not None and length <= 1.0
        first_order = 2.0 * abs(float(slope @ (moved - y))) if near else 0.0  # type: ignore[operator]
        if moved is None or not found <= before + AGREEMENT * size + first_order:
            return 0.0
        before = min(before, found)
        if here - found > (NOTICED if near else FALLING) * size + first_order:
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
        values, vectors = _curvatures(nearby)
        flat = vectors[:, np.abs(values) <= ROUNDING * largest]
        found += list((flat @ np.random.default_rng(0).standard_normal((flat.shape[1], FOLLOWED))).T)
    return [direction for direction in found if direction.any()]


def _curvatures(nearby: NearbyPoints) -> tuple[Array, Array]:
    """All curvatures along the active rows and their directions, (count,) and (count, count).

    Directions that leave the rows count with the largest entry of H, above those that are looked for.
    """
    one, largest = np.eye(nearby.free.size), np.abs(nearby.hessian.data).max(initial=0.0)
    along = nearby.projected(one)
    matrix = nearby.projected(nearby.hessian @ along) + (largest or 1.0) * (one - along)
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return values, vectors


def _descents(nearby: NearbyPoints) -> list[Array]:
    """Directions (count,) of negative curvature that keep the active rows, the most negative first."""
    H, count = nearby.hessian, nearby.free.size
    sharpest = np.abs(H.data).max(initial=0.0)
    if not 0.0 < sharpest < np.inf:  # products of two unknowns, u w, have no diagonal
        return []
    if count <= DENSE:
        values, vectors = _curvatures(nearby)
    else:
        values, vectors = _lowest(nearby, DEPENDENT * sharpest)
    largest = max(np.abs(values).max(initial=0.0), sharpest)
    lowest = np.argsort(values)[:DIRECTIONS]
    return [vectors[:, i] for i in lowest if values[i] < -DEPENDENT * largest]


def _lowest(nearby: NearbyPoints, flat: float) -> tuple[Array, Array]:
    """The lowest negative curvatures along the active rows and their directions, (k,) and (count, k).

    flat : curvatures above its negative count as none; k, at most `DIRECTIONS`, is 0 where all are above it,
        and where no shift that is tried makes the matrix positive definite

    The signs of the pivots show in how many directions along the rows H + shift 1 is negative (Sylvester); as
    many are looked for. The smallest shift at which there are none is found by powers of ten; the largest
    eigenvalues of the inverse of that matrix are then those of the lowest curvatures, well apart from all
    others, so that Lanczos' method finds them in few solves (spectral transformation: Ericsson and Ruhe,
    Mathematics of Computation 35, 1980, 1251).
    """
    count, negative = nearby.free.size, 0
    for shift in flat * 10.0 ** np.arange(SHIFTS):
        factors = nearby.shifted(shift)
        if factors.is_strict:
            break
        negative = negative or factors.negative
    else:
        return np.zeros(0), np.zeros((count, 0))
    if shift == flat:
        return np.zeros(0), np.zeros((count, 0))
    inverse = LinearOperator((count, count), matvec=factors.solve_along, dtype=float)  # type: ignore[call-arg]
    start = factors.solve_along(np.random.default_rng(0).standard_normal(count))
    try:
        found, vectors = eigsh(
            inverse, min(DIRECTIONS, negative), which="LA", v0=start, maxiter=RESTARTS, tol=1e-3
        )
    except ArpackNoConvergence as stopped:
        found, vectors = stopped.eigenvalues, stopped.eigenvectors
    return 1.0 / found - shift, vectors


class NearbyPoints:
    """The points near one with its multipliers that keep its active rows and bounds.

    With A the gradients of the active rows over the unknowns that are not at a bound, each of length one, the
    projection onto directions along which all of them stay and the least correction of a miss r follow from
    one factorization of

        | I   A'     | | x |   | v |
        | A  -delta  | | z | = | r |,

    delta a small number for rows that depend on each other. Active rows are all held, also those whose
    multiplier is zero: what is better among these points is better among all nearby.

    Vectors are over the unknowns not at a bound, `free`.
    """

    def __init__(self, nlp: NLP | LinkedProgram, point: WarmStart, active: ActiveSet | None = None) -> None:
        active = self._active = active or active_set(nlp, point.y)
        self.nlp, self.point = nlp, point
        self.free = np.flatnonzero(~(active.at_lower | active.at_upper))
        self._rows = np.flatnonzero(active.rows_at_lower | active.rows_at_upper)
        self._patterns: Patterns = {}
        self._values = np.where(active.rows_at_lower, nlp.row_lower, nlp.row_upper)[self._rows]

    def projected(self, v: Array) -> Array:
        """The part of v (count,) or (count, k) along which no active row changes."""
        return self._solve(v, np.zeros((self._rows.size, *v.shape[1:])))

    @cached_property
    def without_idle_limits(self) -> NearbyPoints | None:
        """The points nearby that may leave limits without a multiplier; None where there are none."""
        nlp, active = self.nlp, self._active
        rows, lower, upper = multipliers_of(nlp, self.point)
        least = HALF_OF_DIGITS * float(np.abs(nlp.gradient(self.point.y)).max(initial=0.0))
        equal, held = nlp.row_lower == nlp.row_upper, nlp.lower == nlp.upper
        kept = ActiveSet(
            rows_at_lower=active.rows_at_lower & ((-rows > least) | equal),
            rows_at_upper=active.rows_at_upper & ((rows > least) | equal),
            at_lower=active.at_lower & ((lower > least) | held),
            at_upper=active.at_upper & ((upper > least) | held),
        )
        same = all(map(np.array_equal, vars(kept).values(), vars(active).values()))
        return None if same else NearbyPoints(nlp, self.point, kept)

    @cached_property
    def slope(self) -> Array:
        """The gradient of the Lagrangian, that of bounds included, (n,): zero but for what the solve left."""
        of_rows, lower, upper = multipliers_of(self.nlp, self.point)
        return lagrangian_gradient(self.nlp, self.point.y, of_rows) - lower + upper

    @cached_property
    def extent(self) -> float:
        """Size of the largest unknown; where all are zero but for rounding, of the largest bound, or one."""
        largest = float(finite_size(np.concatenate([self.nlp.lower, self.nlp.upper]))) or 1.0
        size = float(np.abs(self.point.y).max())
        return size if size > ROUNDING * largest else largest

    @property
    def inward_steps(self) -> list[Array]:
        """Steps (n,) of unknowns off their bounds along which the Lagrangian without bounds falls, a few."""
        of_rows, *_ = multipliers_of(self.nlp, self.point)
        gradient = lagrangian_gradient(self.nlp, self.point.y, of_rows)
        falls = np.where(self._active.at_lower, -gradient, 0.0)
        falls = np.maximum(falls, np.where(self._active.at_upper, gradient, 0.0))
        falls[self._active.at_lower & self._active.at_upper] = 0.0
        steps = []
        for i in np.argsort(-falls)[:FOLLOWED]:
            if falls[i] > 0.0:
                steps.append(np.where(np.arange(falls.size) == i, -np.sign(gradient[i]), 0.0))
        return steps

    @cached_property
    def hessian(self) -> sparse.csr_array:
        """The Hessian of the Lagrangian over its largest entry, `sharpest`, (count, count).

        Beside gradients of length one a Hessian of 1e-19, of costs of 1e18, would be rounding.
        """
        return sparse.csr_array(self._curvature / (self.sharpest or 1.0))

    @cached_property
    def sharpest(self) -> float:
        """The largest second derivative of the Lagrangian; 0 where it is not finite."""
        largest = float(np.abs(self._curvature.data).max(initial=0.0))
        return largest if largest < np.inf else 0.0

    @cached_property
    def _curvature(self) -> sparse.csr_array:
        multipliers = self.point.row_multipliers
        assert multipliers is not None
        whole = sparse_hessian(self.nlp, self.nlp.hessian(self.point.y, multipliers, 1.0))
        return whole[self.free][:, self.free]

    @cached_property
    def descents(self) -> list[Array]:
        """Directions (count,) of negative curvature that keep the active rows, the most negative first."""
        return _descents(self)

    @cached_property
    def convex(self) -> SparseKkt | None:
        """Factors of the Hessian with the active rows where it is convex along them; else None."""
        if self.free.size == 0 or self.sharpest == 0.0:
            return None
        factors = self.shifted(DEPENDENT)
        return factors if factors.is_strict else None

    def shifted(self, shift: float) -> SparseKkt:
        """Factors of the Hessian plus shift times one with the active rows.

        They are strict where the sum is positive definite along these rows.
        """
        own, A = sparse.coo_array(self.hessian), sparse.coo_array(self._gradients[0])
        # The shift has entries of its own: a sum of matrices leaves out those where it cancels the Hessian,
        # and the pattern of one shift is that of all.
        diagonal = np.arange(self.free.size)
        rows, columns = np.concatenate([own.row, diagonal]), np.concatenate([own.col, diagonal])
        data = np.concatenate([own.data, np.full(diagonal.size, shift)])
        H, A = Triplets(rows, columns, data, own.shape), Triplets(A.row, A.col, A.data, A.shape)
        return SparseKkt(H, A, list(range(self._rows.size)), self._patterns, is_single=True)

    def moved(self, y: Array) -> Array | None:
        """The point near y, (n,), on the active rows, all of whose rows and bounds are met; or None."""
        best = y
        for _ in range(MOST_STEPS):  # they contract like the length of the way from the active rows
            best = np.clip(best, self.nlp.lower, self.nlp.upper)  # rows need not be defined beyond the bounds
            with np.errstate(over="ignore", invalid="ignore"):  # steps may run away
                miss = self.nlp.rows(best)[self._rows] - self._values
            if not np.all(np.isfinite(miss)):
                return None
            if np.abs(miss).max(initial=0.0) <= 0.1 * AGREEMENT:
                break
            best[self.free] -= self._solve(np.zeros(self.free.size), miss)
        return best if largest_violation(self.nlp, best, self.nlp.rows(best)) <= AGREEMENT else None

    @cached_property
    def _gradients(self) -> tuple[sparse.csr_array, Array]:
        """A, the gradients of the active rows at length one, and the lengths that they had."""
        whole = sparse_jacobian(self.nlp, self.nlp.jacobian(self.point.y))
        gradients = sparse.csr_array(whole[self._rows][:, self.free])
        squares = np.asarray(gradients.multiply(gradients).sum(axis=1)).ravel()
        lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        return sparse.csr_array(sparse.diags_array(1.0 / lengths) @ gradients), lengths

    @cached_property
    def _factors(self) -> tuple[Any, Array]:
        """The factorization above, and the lengths of the gradients of the active rows."""
        A, lengths = self._gradients
        delta = -REPEATED * sparse.identity(A.shape[0])
        matrix = sparse.block_array([[sparse.identity(A.shape[1]), A.T], [A, delta]], format="csc")
        return splu(matrix, permc_spec="MMD_AT_PLUS_A"), lengths  # a fifth of the entries of COLAMD's factors

    def _solve(self, v: Array, miss: Array) -> Array:
        """x for r the miss of every active row, (rows,) or (rows, k), over the length of its gradient."""
        factors, lengths = self._factors
        r = miss / lengths.reshape(-1, *[1] * (miss.ndim - 1))
        return factors.solve(np.concatenate([v, r]))[: self.free.size]
