"""The points near one with its multipliers that keep what is active there, and curvatures along them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, cg, eigsh, splu

from trajopt.base.arrays import Array, finite_size
from trajopt.base.tolerances import AGREEMENT, HALF_OF_DIGITS, NOT_ZERO, REPEATED
from trajopt.solvers.kkt import (
    ActiveSet,
    active_set,
    bound_violation,
    lagrangian_gradient,
    multipliers_of,
)
from trajopt.solvers.matrices import Triplets, sparse_hessian, sparse_jacobian
from trajopt.solvers.newton.newton import MOST_STEPS
from trajopt.solvers.newton.sparse_kkt import Patterns, SparseKkt
from trajopt.solvers.solver import DENSE, DEPENDENT, ROUNDING, WarmStart
from trajopt.transcription.linked_program import LinkedProgram
from trajopt.transcription.nlp import NLP

RESTARTS = 30  # of Lanczos' method, at most
SHIFTS = 12  # powers of ten that are tried, from none on
DIRECTIONS = 3  # of most negative curvature that are followed
ROUNDS = 20  # of the scaling of unknowns: each halves the powers of ten by which they are apart
FOLLOWED = 8  # mixtures of directions without curvature, as many single unknowns, and unknowns off a bound


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

    def step_along(self, direction: Array) -> Array:
        """The change of all unknowns along a direction of the free ones, as large as their `extent`."""
        step = np.zeros(self.point.y.size)
        step[self.free] = direction * self.extent / np.abs(direction).max()
        return step

    def descent(self, added: Array, all_stay: bool) -> float:
        """The largest descent along the active rows where a slope (n,) is added to that of the objective f,

            max -(f' + added) . d   with   J d = 0 in active rows,   |d_i| <= w_i,

        with w_i the size of an unknown, at least a hundredth of the largest: 0 where the rows hold the slope.
        Limits may be left inwards unless `all_stay`.
        """
        nlp, y, active = self.nlp, self.point.y, self._active
        w = np.abs(y) + 1e-2 * self.extent
        if not added.any():
            return 0.0
        A = sparse_jacobian(nlp, nlp.jacobian(y))[self._rows] @ sparse.diags_array(w)
        A = sparse.diags_array(1.0 / np.maximum(abs(A).max(axis=1).toarray().ravel(), NOT_ZERO)) @ A
        below, above = active.rows_at_lower[self._rows], active.rows_at_upper[self._rows]
        least = np.where(below | all_stay, 0.0, -np.inf)
        most = np.where(above | all_stay, 0.0, np.inf)
        lower = np.where(active.at_lower | (active.at_upper & all_stay), 0.0, -1.0)
        upper = np.where(active.at_upper | (active.at_lower & all_stay), 0.0, 1.0)
        slope, size = (nlp.gradient(y) + added) * w, float(np.abs(added * w).max())
        found = milp(slope / size, constraints=LinearConstraint(A, least, most), bounds=Bounds(lower, upper))
        return 0.0 if found.fun is None else max(-size * float(found.fun), 0.0)

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
        H, count = self.hessian, self.free.size
        sharpest = np.abs(H.data).max(initial=0.0)
        if not 0.0 < sharpest < np.inf:  # products of two unknowns, u w, have no diagonal
            return []
        flat = DEPENDENT * sharpest
        values, vectors = curvatures(self) if count <= DENSE else _lowest(self, flat)
        largest = max(np.abs(values).max(initial=0.0), sharpest)
        lowest = np.argsort(values)[:DIRECTIONS]
        return [vectors[:, i] for i in lowest if values[i] < -DEPENDENT * largest]

    @cached_property
    def convex(self) -> SparseKkt | None:
        """Factors of the Hessian with the active rows where it is convex along them; else None."""
        if self.free.size == 0 or self.sharpest == 0.0:
            return None
        factors = self.shifted(DEPENDENT)
        return factors if factors.is_strict else None

    def newton_steps(self, slope: Array) -> Iterator[Array]:
        """Newton's steps (n,) along the active rows from a slope (n,) of the Lagrangian, where it is convex.

        First the unknowns count as they are, then in units of their own: the shift that makes the Hessian
        definite along rows that depend on each other stands beside the curvature by every unknown.
        """
        if self.free.size == 0 or self.sharpest == 0.0:
            return
        in_units = self.shifted(DEPENDENT**0.5, self._units)  # pivots of less are not sure of their sign
        for factors, units in ((self.convex, np.ones(self.free.size)), (in_units, self._units)):
            if factors is not None and factors.is_strict:
                step = np.zeros(slope.size)
                step[self.free] = -units * factors.solve_along(units * slope[self.free] / self.sharpest)
                yield step

    def curvature_along(self, step: Array) -> float:
        """Curvature d'Hd along a step d (n,), with H the Hessian of the Lagrangian."""
        d = step[self.free]
        return float(self.sharpest * (d @ (self.hessian @ d)))

    @cached_property
    def _units(self) -> Array:
        """Units of the unknowns, (count,), in which none has small entries in the Hessian and the rows.

        The symmetric matrix of both is scaled to D M D, first with the least sum of squared logarithms of its
        entries, so that an unknown of 1e9 that rows of one tie to one of one counts as what it is (Curtis and
        Reid, On the automatic scaling of matrices for Gaussian elimination, 1972), then by the roots of the
        largest entries of its rows, again and again (Ruiz, A scaling algorithm to equilibrate both rows and
        columns norms in matrices, 2001).
        """
        A, count = self._gradients[0], self.free.size
        matrix = sparse.coo_array(sparse.block_array([[self.hessian, A.T], [A, None]]))
        matrix.eliminate_zeros()
        (rows, columns), sizes, n = matrix.coords, np.abs(matrix.data), matrix.shape[0]
        entries = np.bincount(rows, minlength=n)
        normal = sparse.csr_array((np.ones(rows.size), (rows, columns)), matrix.shape)
        normal += sparse.diags_array(np.maximum(entries, 1.0) * (1.0 + REPEATED))
        units = 2.0 ** cg(normal, -np.bincount(rows, np.log2(sizes), n), rtol=1e-3, maxiter=5 * ROUNDS)[0]
        for _ in range(ROUNDS):
            largest = np.zeros(n)
            np.maximum.at(largest, rows, sizes * units[rows] * units[columns])
            units /= np.sqrt(np.where(largest > 0.0, largest, 1.0))
        return units[:count]

    def shifted(self, shift: float, units: Array | None = None) -> SparseKkt:
        """Factors of the Hessian plus shift times one with the active rows.

        They are strict where the sum is positive definite along these rows.

        units : (count,), of the unknowns; left out one
        """
        own, A = sparse.coo_array(self.hessian), sparse.coo_array(self._gradients[0])
        if units is not None:
            own.data = own.data * units[own.row] * units[own.col]
            A.data = A.data * units[A.col]
            largest = np.zeros(A.shape[0])
            np.maximum.at(largest, A.row, np.abs(A.data))
            A.data = A.data / np.where(largest > 0.0, largest, 1.0)[A.row]
        # The shift has entries of its own: a sum of matrices leaves out those where it cancels the Hessian,
        # and the pattern of one shift is that of all.
        diagonal = np.arange(self.free.size)
        rows, columns = np.concatenate([own.row, diagonal]), np.concatenate([own.col, diagonal])
        data = np.concatenate([own.data, np.full(diagonal.size, shift)])
        H, A = Triplets(rows, columns, data, own.shape), Triplets(A.row, A.col, A.data, A.shape)
        return SparseKkt(H, A, list(range(self._rows.size)), self._patterns, is_single=True)

    def moved(self, y: Array) -> Array | None:
        """The point near y, (n,), on the active rows, all of whose rows and bounds are met; or None.

        Rows are met to 1e-9, or to rounding of what they are the sum of: a row of a state of 1e9 that counted
        as one of 1e-9 holds no better.
        """
        best, allowed = y, self._allowed(y)
        for _ in range(MOST_STEPS):  # they contract like the length of the way from the active rows
            best = np.clip(best, self.nlp.lower, self.nlp.upper)  # rows need not be defined beyond the bounds
            with np.errstate(over="ignore", invalid="ignore"):  # steps may run away
                miss = self.nlp.rows(best)[self._rows] - self._values
            if not np.all(np.isfinite(miss)):
                return None
            if np.all(np.abs(miss) <= 0.1 * allowed[self._rows]):
                break
            best[self.free] -= self._solve(np.zeros(self.free.size), miss)
        with np.errstate(over="ignore", invalid="ignore"):
            missed = bound_violation(self.nlp.rows(best), self.nlp.row_lower, self.nlp.row_upper)
        beyond = bound_violation(best, self.nlp.lower, self.nlp.upper)
        return best if np.all(missed <= allowed) and np.all(beyond <= AGREEMENT) else None

    def _allowed(self, y: Array) -> Array:
        """The largest misses of rows at y that count as none, (rows,)."""
        parts = self._slopes * np.abs(y)[self.nlp.jacobian_columns]
        return np.maximum(
            AGREEMENT, ROUNDING * np.bincount(self.nlp.jacobian_rows, parts, self.nlp.row_count)
        )

    @cached_property
    def _slopes(self) -> Array:
        return np.abs(self.nlp.jacobian(self.point.y))

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


def curvatures(nearby: NearbyPoints) -> tuple[Array, Array]:
    """All curvatures along the active rows and their directions, (count,) and (count, count).

    Directions that leave the rows count with the largest entry of H, above those that are looked for.
    """
    one, largest = np.eye(nearby.free.size), np.abs(nearby.hessian.data).max(initial=0.0)
    along = nearby.projected(one)
    matrix = nearby.projected(nearby.hessian @ along) + (largest or 1.0) * (one - along)
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return values, vectors


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
