"""A parametric active-set method for a quadratic program whose active set is nearly known.

    minimize g' d + d' H d / 2   subject to   lower <= A d <= upper

Multipliers mu, positive at upper limits and negative at lower ones, and their active set W are taken for the
optimum of another program: with gradient -A' mu, limits that d = 0 meets where they are in W, and limits that
d = 0 does not violate elsewhere. A homotopy moves its data to those of the program, tau from 0 to 1. d and mu
are linear in tau between changes of the active set, where an inactive constraint meets its limit and is
added, or a multiplier becomes zero and its constraint is dropped. Limits that d = 0 violates begin beyond it:
if all of them began at d = 0, they would all be met at tau = 0, and changes of the active set there could
repeat without end. Best, "An algorithm for the solution of the parametric quadratic programming problem"
(1996); Ferreau, Bock and Diehl, Int. J. Robust Nonlinear Control 18 (2008) 816.

Each change of the active set changes the factors, by one row and column, of

    K = [H  A_W'; A_W  0]      H (n, n), A_W the rows of the active constraints

The first K is factorized, dense or sparse, and the Schur complement holds what changed since then.

A multiple of the identity damps Newton's steps; it changes by how well a step keeps its promise, as with
Levenberg and Marquardt: Nocedal and Wright, Numerical Optimization (2006), section 10.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lapack

from trajopt.solvers.matrices import Matrix, Triplets, largest_entry, row_lengths, scattered
from trajopt.solvers.newton.sparse_kkt import Patterns, SparseKkt
from trajopt.solvers.solver import (
    DEPENDENT,
    FEASIBILITY,
    FLAT,
    ROUNDING,
    SUM_ROUNDING,
)

ACCURATE = 10.0 * ROUNDING  # residual of a minimum: above, the inverse has lost too much by its updates
BLOCK = 64  # columns that LAPACK factorizes at a time
BEYOND = 0.01  # of what d = 0 violates a limit by: how far on the other side of d = 0 the limit begins


@dataclass(frozen=True)
class QuadraticProgram:
    """H (n, n), g (n,), A (m, n), lower and upper (m,), infinite where there is no limit.

    H and A are both arrays, or both `Triplets`, of which `patterns` are known.
    """

    H: Matrix
    g: np.ndarray
    A: Matrix
    lower: np.ndarray
    upper: np.ndarray
    patterns: Patterns = field(default_factory=dict)


@dataclass(frozen=True)
class QuadraticSolution:
    """The step d (n,), multipliers (m,), the side (m,) of each active limit, -1, 0 or 1.

    A minimum where H is positive definite along the active constraints, which is not asked of their first
    set: a homotopy without changes leads to a stationary point.

    tau : 1, or less where no step meets all constraints: the minimum of the program as it is there
    changes : of the active set on the way
    factors : of K for the active constraints, whose rows were divided by `lengths` (m,); None for steps that
        are not repeated
    """

    d: np.ndarray
    multipliers: np.ndarray
    side: np.ndarray
    tau: float
    changes: int
    factors: KktFactors | None = None
    lengths: np.ndarray | float = 1.0

    @property
    def is_strict(self) -> bool:
        """True if H is positive definite along the active constraints: a minimum, not a saddle."""
        return self.factors is not None and self.factors.first.is_strict

    def step_of(self, of_gradient: np.ndarray, of_limits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """d (n,) and the changes of all multipliers (m,) with H d + A' mu = of_gradient, A_W d = of_limits.

        of_limits : (m,), of which the active ones are read
        """
        assert self.factors is not None
        active, n = self.factors.active, self.d.size
        lengths = np.broadcast_to(self.lengths, self.multipliers.shape)[active]
        found = self.factors.solve(np.concatenate([of_gradient, of_limits[active] / lengths]))
        return found[:n], scattered(found[n:] / lengths, active, self.multipliers.size)


def minimum_by_homotopy(
    program: QuadraticProgram,
    multipliers: np.ndarray,
    side: np.ndarray,
    most_changes: int,
    stopped: Callable[[], bool] = lambda: False,
    strict: bool = False,
) -> QuadraticSolution | None:
    """The minimum that the homotopy from an active set and its multipliers reaches; None where it ends early.

    It ends where active constraints depend on each other, H is not positive definite along them, no step
    meets all constraints, the active set changes more than `most_changes` times, or where `stopped`, asked
    before every change, says so. Limits that depend on other active constraints are left out of these first
    where K is sparse; dense steps leave them out before, see `ActiveSetNewton`.

    strict : whether it has to begin where H is positive definite along the active constraints
    """
    size = np.maximum(row_lengths(program.A), ROUNDING)
    lower, upper = program.lower / size, program.upper / size
    unit = replace(program, A=program.A / size[:, None], lower=lower, upper=upper)
    active = np.flatnonzero(side).tolist()
    if len(active) > program.g.size:
        return None
    first = kkt_of(unit.H, unit.A, active, unit.patterns)
    if not first.is_solved_in_order:
        dependent = np.array(active, dtype=int)[first.dependent]
        limits = dependent[lower[dependent] < upper[dependent]]
        if limits.size:
            side = side.copy()
            side[limits] = 0
            active = np.flatnonzero(side).tolist()
            first = kkt_of(unit.H, unit.A, active, unit.patterns)
    if not first.exists or (strict and not first.is_strict):
        return None
    factors = KktFactors(first, program.g.size, active)
    found = _with_same_active(unit, side, factors)
    if found is None:
        try:
            found = _Homotopy(unit, multipliers * size, side, factors).followed(most_changes, stopped)
        except np.linalg.LinAlgError:  # the Schur complement is singular to rounding
            return None
    return None if found is None else replace(found, multipliers=found.multipliers / size, lengths=size)


def _with_same_active(
    program: QuadraticProgram, side: np.ndarray, factors: KktFactors
) -> QuadraticSolution | None:
    """The end of the homotopy where the active set need not change, by one solve; None where it must."""
    step = factors.solve(_data(program, side, factors.active))
    d = step[: program.g.size]
    mu, values = scattered(step[d.size :], factors.active, side.size), program.A @ d
    within = (values >= program.lower) & (values <= program.upper)
    pushes = (side * mu >= 0.0) | (program.lower == program.upper)
    if not np.where(side == 0, within, pushes).all():
        return None
    return QuadraticSolution(d, mu, side.copy(), 1.0, 0, factors)


def _data(program: QuadraticProgram, side: np.ndarray, active: list[int]) -> np.ndarray:
    """The right-hand side of the minimum: -g, and the limits that active constraints meet."""
    below = side[active] < 0
    return np.concatenate([-program.g, np.where(below, program.lower[active], program.upper[active])])


class _Homotopy:
    """d, multipliers and active set at tau, and the factors of K."""

    def __init__(
        self, program: QuadraticProgram, multipliers: np.ndarray, side: np.ndarray, factors: KktFactors
    ) -> None:
        self.program, self.tau, self.factors = program, 0.0, factors
        self.n = program.g.size
        self.side = side.copy()
        self.mu = np.where(side != 0, multipliers, 0.0)
        self.d = np.zeros(self.n)
        self.is_equation = program.lower == program.upper
        # At tau = 0 no limit is violated, and those in the active set are met.
        lower = np.where(side < 0, 0.0, np.minimum(program.lower, -BEYOND * program.lower))
        upper = np.where(side > 0, 0.0, np.maximum(program.upper, -BEYOND * program.upper))
        both = self.is_equation & (side != 0)
        lower[both] = upper[both] = 0.0
        #: limits minus A d, upper and lower, positive where they hold; how fast the limits themselves close
        self.gaps = np.array([upper, -lower])
        with np.errstate(invalid="ignore"):
            rates = np.array([upper - program.upper, program.lower - lower])
        self.rates = np.where(np.isfinite(rates), rates, 0.0)
        # The first K's solution for the data of tau = 1; d and mu move by it without the first mu
        self._goal = factors.solve(_data(program, side, factors.active))
        self._towards = self._goal.copy()
        self._towards[self.n :] -= self.mu[factors.active]

    def followed(self, most_changes: int, stopped: Callable[[], bool]) -> QuadraticSolution | None:
        """The minimum at tau = 1, or at the tau where the way ends; None where that is early."""
        changes = 0
        while changes <= most_changes and not stopped():
            event = self.advance()
            if event is None:
                return self.solution(changes)
            count = len(self.factors.active)
            if not self.change(*event):
                # At the end a limit that depends on others is met with them, where none was dropped for it
                if self.tau >= 1.0 - ROUNDING and len(self.factors.active) == count:
                    return self.solution(changes)
                break
            changes += 1
        return self._found(self.d, self.mu, self.tau, changes) if self.tau >= POOR else None

    def advance(self) -> tuple[int, int] | None:
        """Go on to tau = 1 (None), or to the next change: a constraint, and its side or 0 to drop it."""
        active = np.array(self.factors.active, dtype=int)
        side = self.side[active]
        step = self.factors.with_borders(self._towards, self._limit_rates())
        mu_rate, Ad_rate = step[self.n :], self.program.A @ step[: self.n]
        closing = self.rates.copy()
        closing[0] += Ad_rate
        closing[1] -= Ad_rate
        towards = closing > ROUNDING
        towards[:, active] = False
        length, event = 1.0 - self.tau, None
        if towards.any():
            lengths = np.full(closing.shape, np.inf)
            np.divide(np.maximum(self.gaps, 0.0), closing, out=lengths, where=towards)
            first = int(np.argmin(lengths))
            if lengths.flat[first] < length:
                at_lower, constraint = divmod(first, self.side.size)
                length, event = float(lengths.flat[first]), (constraint, -1 if at_lower else 1)
        falling = -side * mu_rate
        towards = np.flatnonzero((falling > ROUNDING) & ~self.is_equation[active])
        if towards.size:
            own = active[towards]
            lengths = np.maximum(side[towards] * self.mu[own], 0.0) / falling[towards]
            first = int(np.argmin(lengths))
            if lengths[first] < length:
                length, event = float(lengths[first]), (int(own[first]), 0)
        self.tau += length
        self.d += length * step[: self.n]
        self.gaps -= length * closing
        self.mu[active] += length * mu_rate
        return event

    def _limit_rates(self) -> np.ndarray:
        """Rates of the limits that the active constraints meet."""
        active = np.array(self.factors.active, dtype=int)
        return np.where(self.side[active] < 0, self.rates[1, active], -self.rates[0, active])

    def change(self, constraint: int, side: int) -> bool:
        """Add a constraint at a side of it, or drop it; False where that is not possible."""
        if side == 0:
            return self._drop(constraint)
        row = self.program.A[constraint]
        weights, independent = self._beside_active(row)
        if not independent:
            exchanged = self._exchange(side, weights, constraint)
            if not (exchanged and self._beside_active(row)[1]):
                return False
        self.factors.add(constraint, row)
        self.side[constraint] = side
        return True

    def _beside_active(self, row: np.ndarray) -> tuple[np.ndarray, bool]:
        """The active rows' weights in a row, and whether it is no combination of them.

        Beside n active rows it is one, however much of it an inverse that is not exact leaves over.
        """
        active = self.factors.active
        solved = self.factors.solve(row)
        weights = solved[self.n :]
        rest = row - self.program.A.T @ scattered(weights, active, self.side.size)
        bends = row @ solved[: self.n] > 0.0
        return weights, bool(len(active) < self.n and np.sqrt(rest @ rest) > DEPENDENT and bends)

    def _exchange(self, side: int, weights: np.ndarray, constraint: int) -> bool:
        """Drop an active constraint in favour of one that depends on them: row = sum_j weights_j row_j.

        The new multiplier grows at the cost of theirs until the first of them is zero.
        """
        active = np.array(self.factors.active, dtype=int)
        shrinking = side * weights * self.side[active]
        towards = np.flatnonzero((shrinking > DEPENDENT) & ~self.is_equation[active])
        if not towards.size:
            return False
        lengths = np.maximum(self.side[active[towards]] * self.mu[active[towards]], 0.0) / shrinking[towards]
        first = int(np.argmin(lengths))
        self.mu[active] -= float(lengths[first]) * side * weights
        self.mu[constraint] = float(lengths[first]) * side
        return self._drop(int(active[towards[first]]))

    def _drop(self, constraint: int) -> bool:
        place = self.factors.active.index(constraint)
        if self.factors.flexibility(place) >= -FLAT:
            return False  # H would not be positive definite along those that are left
        self.factors.drop(place)
        self.side[constraint], self.mu[constraint] = 0, 0.0
        return True

    def solution(self, changes: int) -> QuadraticSolution | None:
        """The minimum at tau = 1, solved once more for the active set that is left where that has changed.

        A strict minimum stays one: more constraints leave fewer directions, and `_drop` sees to the others.
        """
        if not changes:
            return self._found(self.d, self.mu, 1.0, changes)
        d, mu, error = self._solved()
        if not (self.factors.first.is_strict and error <= ACCURATE):
            program = self.program
            again = factorized(program.H, program.A, self.factors.active, program.patterns)
            if again is None:
                return None
            self.factors, self._goal = again, again.solve(_data(program, self.side, again.active))
            d, mu, error = self._solved()
        return self._found(d, scattered(mu, self.factors.active, self.side.size), 1.0, changes)

    def _found(self, d: np.ndarray, mu: np.ndarray, tau: float, changes: int) -> QuadraticSolution:
        return QuadraticSolution(d, mu, self.side, tau, changes, self.factors)

    def _solved(self) -> tuple[np.ndarray, np.ndarray, float]:
        """d and the multipliers of the active constraints at tau = 1, corrected where residuals are large.

        The third is the residual that is left, relative to the right-hand side or to 1.
        """
        program, active = self.program, np.array(self.factors.active, dtype=int)
        A, right = program.A[active], _data(program, self.side, self.factors.active)

        def rest(found: np.ndarray) -> np.ndarray:
            d, mu = found[: self.n], found[self.n :]
            return right - np.concatenate([program.H @ d + A.T @ mu, A @ d])

        found = self.factors.with_borders(self._goal, right[self.n :])
        left, size = rest(found), max(1.0, float(np.abs(right).max(initial=0.0)))
        if not np.abs(left).max(initial=0.0) <= ROUNDING * size:
            found = found + self.factors.solve(left)
            left = rest(found)
        return found[: self.n], found[self.n :], float(np.abs(left).max(initial=0.0)) / size


def factorized(H: Matrix, A: Matrix, active: list[int], patterns: Patterns) -> KktFactors | None:
    """The factors for active constraints of A (m, n); None where K is singular up to rounding."""
    first = kkt_of(H, A, active, patterns)
    return KktFactors(first, H.shape[0], active) if first.exists else None


def kkt_of(H: Matrix, A: Matrix, active: list[int], patterns: Patterns) -> DenseKkt | SparseKkt:
    """K for active constraints of A (m, n), by the kind of H."""
    return SparseKkt(H, A, active, patterns) if isinstance(H, Triplets) else DenseKkt(H, A[active])


class KktFactors:
    """The first K and the Schur complement of its changes.

    With borders V, one column for each change, the matrix is [K V; V' 0]: (row, 0) adds a constraint, the
    unit vector of its multiplier drops one (Gill, Murray, Saunders and Wright, SIAM J. Sci. Stat. Comput. 5,
    1984, 562).

    active : the constraints of K, in the order of its last rows
    first : the first K; its `is_strict` says whether H is positive definite along its constraints
    """

    def __init__(self, first: DenseKkt | SparseKkt, n: int, active: list[int]) -> None:
        self.first, self.n, self.active = first, n, list(active)
        size = n + len(active)
        self._solved: dict[bytes, np.ndarray] = {}  # by right-hand sides
        self._left = np.arange(size)  # places of unknowns and first constraints that are left
        self._set_borders(np.zeros((size, 0)), np.zeros((size, 0)), np.zeros(0, dtype=bool))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """K^-1 right; a right-hand side of n entries has zeros for the constraints."""
        if self.is_first and right.size == self._left.size:
            return self._by_first(right)
        first, of_added = np.zeros(len(self._borders)), right[self._left.size :]
        left = self._left[: right.size]
        first[left] = right[: left.size]
        found = self._by_first(first)
        return found if self.is_first else self._bordered(found, of_added)

    def with_borders(self, found: np.ndarray, of_active: np.ndarray) -> np.ndarray:
        """K^-1 of a right-hand side of which the first K's solution is `found`.

        of_active : the side's entries of active constraints. Those of added ones are read; one that was
            dropped may have any in the first K, where its multiplier is zero
        """
        return found if self.is_first else self._bordered(found, of_active[self._left.size - self.n :])

    def _bordered(self, found: np.ndarray, of_added: np.ndarray) -> np.ndarray:
        of_borders = np.zeros(self._of_added.size)
        if of_added.size:
            of_borders[self._of_added] = of_added
        z = np.linalg.solve(self._schur, self._borders.T @ found - of_borders)
        found = found - self._solved_borders @ z
        return np.concatenate([found[self._left], z[self._of_added]])

    def _by_first(self, right: np.ndarray) -> np.ndarray:
        """The solution with the first K; a change of the active set asks for the last ones again."""
        key = right.tobytes()
        found = self._solved.pop(key, None)
        self._solved[key] = self.first.solve(right) if found is None else found
        if len(self._solved) > 4:  # the data's solutions are kept, and those of the last changes
            self._solved.pop(next(iter(self._solved)))
        return self._solved[key]

    def flexibility(self, place: int) -> float:
        """The entry on the diagonal of K^-1 of an active constraint: negative where it may be dropped."""
        unit = np.zeros(self.n + len(self.active))
        unit[self.n + place] = 1.0
        return float(self.solve(unit)[self.n + place])

    def add(self, constraint: int, row: np.ndarray) -> None:
        """Add a constraint with this row of A."""
        self._border(np.concatenate([row, np.zeros(len(self._borders) - self.n)]), True)
        self.active.append(constraint)

    def drop(self, place: int) -> None:
        """Drop an active constraint."""
        self.active.pop(place)
        place += self.n
        if place < self._left.size:
            unit = np.zeros(len(self._borders))
            unit[self._left[place]] = 1.0
            self._border(unit, False)
            self._left = np.delete(self._left, place)
        else:
            border = np.flatnonzero(self._of_added)[place - self._left.size]
            every = (self._borders, self._solved_borders, self._of_added)
            self._set_borders(*(np.delete(each, border, axis=-1) for each in every))

    def _border(self, column: np.ndarray, adds: bool) -> None:
        self._set_borders(
            np.column_stack([self._borders, column]),
            np.column_stack([self._solved_borders, self._by_first(column)]),
            np.append(self._of_added, adds),
        )

    def _set_borders(self, borders: np.ndarray, solved: np.ndarray, of_added: np.ndarray) -> None:
        """V, K^-1 V, and which borders add a constraint; `is_first` is whether there are none."""
        self.is_first = not borders.shape[1]
        self._borders, self._solved_borders, self._of_added = borders, solved, of_added
        self._schur = borders.T @ solved


class DenseKkt:
    """K and its factors L D L', with exchanges of rows and columns (Bunch and Kaufman, Math. Comp. 31, 1977).

    D has blocks of one and two rows, those of two with one negative eigenvalue each; their signs show whether
    H is positive definite along the constraints (Sylvester). H is divided by its largest entry, if above 1.
    """

    dependent = np.zeros(0, dtype=int)  # `ActiveSetNewton` leaves out constraints that depend on others

    def __init__(self, H: np.ndarray, A: np.ndarray) -> None:
        n, k = len(H), len(A)
        self._n, self._size = n, largest_entry(H)
        self._K = np.zeros((n + k, n + k), order="F")
        self._K[:n, :n], self._K[n:, :n], self._K[:n, n:] = H / self._size, A, A.T
        found = lapack.dsytrf(self._K, lower=1, lwork=BLOCK * (n + k))
        self._factors, self._exchanges, singular = found
        single = self._exchanges > 0
        negative = np.count_nonzero(np.diagonal(self._factors)[single] < 0.0) + (n + k - single.sum()) // 2
        # With 1 in place of the norm of K: one over that of its inverse
        least = 0.0 if singular else lapack.dsycon(self._factors, self._exchanges, 1.0, lower=1)[0]
        self.exists = bool(least > 10.0 * SUM_ROUNDING)
        if self.exists:  # rounding may lift dependent rows of A above that, but no step gives them any values
            probe = np.append(np.zeros(n), np.cos(np.arange(k)))
            left = probe - self._K @ self._corrected(probe)
            self.exists = bool(np.abs(left).max() <= FEASIBILITY)
        self.is_strict = self.exists and int(negative) == k

    @property
    def is_solved_in_order(self) -> bool:
        return self.exists

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution, corrected by its residual once."""
        scaled = right.copy()
        scaled[: self._n] /= self._size
        found = self._corrected(scaled)
        found[self._n :] *= self._size
        return found

    def _corrected(self, right: np.ndarray) -> np.ndarray:
        """The solution with the divided H."""
        found = lapack.dsytrs(self._factors, self._exchanges, right, lower=1)[0]
        left = right - self._K @ found
        return found + lapack.dsytrs(self._factors, self._exchanges, left, lower=1)[0]


# Of the decrease that was promised, and of the way through a quadratic program: poor steps are not taken,
# after fair ones the next is as long, after good ones longer.
POOR, FAIR, GOOD = 0.1, 0.3, 0.75
