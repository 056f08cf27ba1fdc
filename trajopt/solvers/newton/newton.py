"""Newton's method on the optimality conditions, from a start whose active set is nearly that of the optimum.

Each step solves the quadratic program of sequential quadratic programming, with the exact Hessian of the
Lagrangian, by a parametric active-set method that starts from the active set of the step before. The first
step from the optimum of a program with other values is the tangential predictor: the optimum's derivative by
the values, times their change, with all changes of the active set on the way. Diehl, Bock, Schloeder et al.,
J. Process Control 12 (2002) 577, "initial value embedding".

Real-time iteration is so many steps of the method from the solution before, and no more.

Each is the step of sequential quadratic programming with the exact Hessian; from the optimum for another
state the first one is the derivative of the optimum by the state times its change, with the changes of active
limits on the way. Diehl, Bock and Schloeder, SIAM J. Control and Optimization 43 (2005) 1714.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from trajopt.solvers.kkt import (
    KKT,
    falls_for_ever,
    kkt_residuals_of,
    largest_violation,
    least_squares_multipliers,
    multipliers_of,
)
from trajopt.solvers.matrices import (
    Matrices,
    Matrix,
    independent_rows,
    largest_entry,
    row_lengths,
    shifted,
    sparse_steps_pay,
)
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.newton.quadratic_program import (
    QuadraticProgram,
    QuadraticSolution,
    kkt_of,
    minimum_by_homotopy,
)
from trajopt.solvers.solver import (
    DEPENDENT,
    FEASIBILITY,
    LITTLE,
    ROUNDING,
    Program,
    Result,
    Run,
    Status,
    WarmStart,
)

MOST_STEPS = 12
# Of the largest entry of the Hessian, added to its diagonal: the first one holds what the objective does not
# decide where it is, the others follow where the Lagrangian is concave in a direction on the way.
SHIFTS = (FEASIBILITY, 1e-4, 1e-2, 1.0)
# Of the error, what a step without a change of the active set may leave; more is due to a shift above the
# curvature of some direction, of which the next step takes so much. With the first shift 0.3 of a cart-pole's
# error was left each time, 0.85 of a trot's.
SLOW, LESS = 0.1, 1e-3
# Of the tolerance, unless rounding ends the steps before: they end quadratically, and rows of large gradients
# are scaled by as little as 1e-5.
FINER = 1e-3
# The steps are dense: most unknowns, and most entries of the matrix of all constraints, rows and bounds.
LARGEST = 1000
MOST_ENTRIES = 10 * LARGEST**2
# Steps with matrices that are known, which lower the error about as much as the step before did. So many may
# lead to the tolerance, twice as many with sparse factors: each takes a fifth of one that has to solve a
# quadratic program, and a tenth of one with sparse factors.
AGAIN = 2
# Changes of the active set after which an interior-point method has less to do, where one can go on: each
# takes a twentieth to a half of its step, and those to a new goal are a few, or more than half the unknowns.
FEW, PART = 20, 5


def few_changes(nlp: Program) -> int:
    """Changes of the active set that pay, whatever the machine: 20, or a fifth of the unknowns."""
    return max(FEW, nlp.variable_count // PART)


@dataclass(frozen=True)
class ActiveSetNewton:
    """Newton's method from a start near the optimum: the first solver of a `Fallback`.

    The conditions of an optimum are checked at `tol`. Along the active constraints whose multipliers are not
    zero, the Hessian of the Lagrangian must have no curvature below -1e-8 of its largest entry (or of 1 where
    that is larger), so that a saddle as flat as this passes. Constraints that depend on others of the active
    set are left out of it. For hundreds of unknowns, where derivatives are sparse for thousands.

    shift : the first of the multiples of the identity that are added to the Hessian; where a step without a
        change of the active set leaves more than a tenth of the error, a thousandth of it from there on
    finer : of `tol`: the KKT error down to which steps go on while each lowers it
    most_changes : of the active set in one homotopy; one that needs more ends where it is, or the steps if
        that is not far on its way. None: twice the unknowns
    matrices : those of the last program, which one whose entries stand at the same places shares; None: of
        each its own
    """

    tol: float
    shift: float = FEASIBILITY
    finer: float = 1.0
    most_changes: int | None = None
    matrices: list[Matrices] | None = field(default=None, repr=False, compare=False)

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool:
        """True if there are second derivatives and multipliers to begin with."""
        return start is not None and start.has_multipliers and nlp.has_hessian

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """The result of the steps, STEP_TOO_SMALL where they find no optimum and a solver has to go on.

        start : without multipliers, least squares over the constraints that it meets or violates give them
        """
        monitor = Monitor(nlp, start, run, feasibility=self.tol)
        with monitor.interruptible():
            iterates = self._iterates(nlp, monitor.start, lambda: monitor.stopped)
            result = iterates.solved(monitor)
        if self.matrices and not (iterates.matrices.is_sparse or sparse_steps_pay(nlp)):
            # Limits that depend on each other will do so in later solves of so small a program
            self.matrices[:] = [iterates.matrices]
        return result

    def _iterates(self, nlp: Program, at: WarmStart, stopped: Callable[[], bool]) -> NewtonIterates:
        if not at.has_multipliers:
            at = least_squares_multipliers(nlp, at.y, signed=False)
        kept, finest = self.matrices, self.finer * self.tol
        shared = kept[0] if kept and kept[0].fits(nlp) else None
        if shared is None:
            shared = Matrices(nlp, sparse_steps_pay(nlp, often=kept is not None))
            if kept is not None:
                kept[:] = [shared]
        return NewtonIterates(nlp, stopped, at, self.tol, finest, shared, self.shift, self.most_changes)


@dataclass(frozen=True)
class NewtonFromMotion(ActiveSetNewton):
    """Newton's method from the optimum of a program that lacked a few of the rows.

    Multipliers of the start are not used: least squares over the constraints that it meets or violates give
    them, and the steps follow the active set as the violated rows are pushed back to their limits.
    """

    shift: float = ROUNDING  # in a flat valley, of a curvature of 1e-9, a shift of 1e-6 makes short steps
    finer: float = FINER

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool:
        return dense_steps_fit(nlp)

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        return super().solve(nlp, WarmStart(nlp.start if start is None else start.y), run)


def dense_steps_fit(nlp: Program) -> bool:
    """True if a program has second derivatives, and is small enough for dense steps with all of its rows."""
    n = nlp.variable_count
    return nlp.has_hessian and n <= LARGEST and n * (n + nlp.row_count) <= MOST_ENTRIES


def active_sides(nlp: Program, multipliers: np.ndarray, tol: float) -> np.ndarray:
    """The active set by the multipliers of rows, then of bounds: -1, 0 or 1 for each, (m + n,).

    An interior-point method leaves small multipliers for all limits; equations are always active.
    """
    lower = np.concatenate([nlp.row_lower, nlp.lower])
    return active_sides_of(multipliers, lower, np.concatenate([nlp.row_upper, nlp.upper]), tol)


def active_sides_of(multipliers: np.ndarray, lower: np.ndarray, upper: np.ndarray, tol: float) -> np.ndarray:
    """The active set as in `active_sides`, from the limits of rows and bounds (m + n,)."""
    size = np.abs(multipliers)
    strong = size > np.sqrt(tol) * max(1.0, float(size.max(initial=0.0)))
    at_upper = strong & np.isfinite(upper) & (multipliers > 0.0)
    at_lower = strong & np.isfinite(lower) & (multipliers < 0.0)
    side = np.where(at_upper, 1, np.where(at_lower, -1, 0))
    side[(lower == upper) & (side == 0)] = 1
    return side


class Values(NamedTuple):
    """Values at y: f, its gradient g, the rows, and A = [J; I] of rows and bounds (m + n, n)."""

    f: float
    g: np.ndarray
    rows: np.ndarray
    A: Matrix


class NewtonIterates:
    """The iterates: unknowns y, multipliers and active sides of rows, then of bounds of the unknowns.

    Every step is a full one; `_is_near` and `_step` are what a method for other programs changes.
    """

    most_steps, steps, status = MOST_STEPS, "Newton steps", Status.CONVERGED

    def __init__(
        self,
        nlp: Program,
        stopped: Callable[[], bool],
        start: WarmStart,
        tol: float,
        finest: float,
        matrices: Matrices,
        shift: float = FEASIBILITY,
        most_changes: int | None = None,
    ) -> None:
        self.nlp, self.stopped, self.tol, self.finest = nlp, stopped, tol, finest
        self.matrices = matrices
        self.shift = shift
        self.most_changes = np.inf if most_changes is None else most_changes
        self.changes_left = self.most_changes  # of one homotopy
        n, m = nlp.variable_count, nlp.row_count
        self.lower = np.concatenate([nlp.row_lower, nlp.lower])
        self.upper = np.concatenate([nlp.row_upper, nlp.upper])
        self.y = np.array(start.y, dtype=float)
        rows, low, high = multipliers_of(nlp, start)
        self.multipliers = np.concatenate([rows, high - low])
        self.force = np.zeros(n)  # A' multipliers
        self.m, self.n = m, n
        self.error, self.rate = np.inf, np.inf  # of the last iterate, and the quotient of the last two errors
        self.program: QuadraticSolution | None = None  # the last that was solved
        self.repeated = False  # whether the last step was one with its matrices
        self.entries = start.hessian  # of the Hessian, for the next step; None: those of the point

    def solved(self, monitor: Monitor) -> Result:
        """The optimum, or the best iterate where the time limit, Ctrl-C or the callback ends the steps.

        STEP_TOO_SMALL where the steps do not lead to an optimum.
        """
        here = self.values()
        side, changes = active_sides(self.nlp, self.multipliers, self.finest), 0
        if not self.matrices.is_sparse:
            side = self._independent(here, side)
        for number in range(self.most_steps + 1):
            at = self.point()
            residuals = self.residuals(at, here)
            if not np.isfinite(residuals.error):
                break
            goes_on = monitor.iterate(number, at, here.rows, here.f, residuals.stationarity, np.nan)
            detail = f"{number} {self.steps}, {changes} changes of the active set"
            near = self._is_near(number, residuals)
            if near and self._is_minimum(here, side) and monitor.reason is not Status.INTERRUPTED:
                return monitor.result(self.status, replace(at, hessian=self.entries), number, detail)
            step = self._step(here, side, near) if goes_on else None
            if step is None and monitor.stopped:
                return monitor.result(Status.SOLVER_ERROR, None, number, detail)
            if step is None:
                break
            self.y, self.multipliers, side = self.y + step.d, step.multipliers, step.side
            here, changes = self.values(), changes + step.changes
        return monitor.result(Status.STEP_TOO_SMALL, None, 0, "")

    def _is_near(self, number: int, residuals: KKT) -> bool:
        """True if an iterate meets the tolerance, and further steps lower its error no more."""
        at_rounding = residuals.error >= self.error and not self.repeated
        self.rate, self.error = residuals.error / max(self.error, ROUNDING), residuals.error
        enough = self.error <= self.finest or at_rounding
        return number > 0 and self.error <= self.tol and enough

    def _step(self, here: Values, side: np.ndarray, near: bool) -> QuadraticSolution | None:
        """The next step; None where there is none, and at a point that is near and yet no minimum."""
        if near:
            return None
        again = 2 * AGAIN if self.matrices.is_sparse else AGAIN
        last, was_repeated = self.program, self.repeated
        self.repeated = last is not None and self.error * self.rate**again <= self.finest
        if self.repeated:
            return self._step_again(here)
        if last is not None and not (was_repeated or last.changes) and self.rate > SLOW:
            self.shift = max(self.shift * LESS, ROUNDING)
        self.program = self.full_step(here, side)
        if self.program is None and self.matrices.is_sparse and not self.is_spent:
            # Sparse factors do not bear constraints that depend on others, dense ones find them.
            self.matrices = Matrices(self.nlp, is_sparse=False)
            here = self.values()
            self.program = self.full_step(here, self._independent(here, side))
        return self.program

    def _step_again(self, here: Values) -> QuadraticSolution:
        """A step with the Hessian, the Jacobian and the active set of the last quadratic program."""
        last, values = self.program, np.concatenate([here.rows, self.y])
        assert last is not None
        of_lagrangian = here.g + self.force
        limits = np.where(last.side < 0, self.lower, self.upper)
        d, changed = last.step_of(-of_lagrangian, limits - values)
        return replace(last, d=d, multipliers=self.multipliers + changed, changes=0)

    def _independent(self, here: Values, side: np.ndarray) -> np.ndarray:
        """The active set without constraints that depend on others of it, which take over their multipliers.

        Two limits that are one and the same at a node are both active, and both have a multiplier.
        """
        active = np.flatnonzero(side)
        if not active.size:
            return side
        A = here.A[active]
        kept = independent_rows(A, DEPENDENT)
        if kept.size == active.size:
            return side
        force = A.T @ self.multipliers[active]
        found = np.zeros(side.size, dtype=side.dtype)
        found[active[kept]] = side[active[kept]]
        self.multipliers = np.where(side != 0, 0.0, self.multipliers)
        self.multipliers[active[kept]] = np.linalg.lstsq(A[kept].T, force, rcond=None)[0]
        # A limit that would have to pull is no start: of the forces on it, others of the set bear more.
        found[(found * self.multipliers < 0.0) & (self.lower != self.upper)] = 0
        return found

    def values(self) -> Values:
        nlp, y = self.nlp, self.y
        A = self.matrices.constraints(nlp.jacobian(y))
        return Values(float(nlp.objective(y)), np.asarray(nlp.gradient(y), dtype=float), nlp.rows(y), A)

    def residuals(self, at: WarmStart, here: Values) -> KKT:
        self.force = here.A.T @ self.multipliers
        of_rows = self.force - self.multipliers[self.m :]  # J' times those of the rows
        return kkt_residuals_of(self.nlp, at, here.rows, here.g + of_rows)

    def full_step(self, here: Values, side: np.ndarray, *, strict: bool = False) -> QuadraticSolution | None:
        """The step from an active set, with the least of some shifts of the Hessian that lets it pass.

        strict : whether it must be a strict minimum of its quadratic program, not a saddle. The way there
            begins at one, too: of 22 ways from saddles none ended at a minimum, after up to 285 changes
        """
        is_carried, best = self.entries is not None, None
        entries, self.entries = self.entries, None
        H = self.matrices.hessian(self._hessian() if entries is None else entries)
        at = np.concatenate([here.rows, self.y])
        patterns = self.matrices.patterns
        program = QuadraticProgram(H, here.g, here.A, self.lower - at, self.upper - at, patterns)
        size = largest_entry(H)
        for shift in sorted({self.shift, *SHIFTS}):
            convex = replace(program, H=shifted(H, shift * size))
            self.changes_left = self.most_changes
            found = minimum_by_homotopy(convex, self.multipliers, side, 2 * self.n, self._ends, strict)
            if found is not None and (found.is_strict or not strict):
                best = found if best is None or found.tau > best.tau else best
            if (best is not None and best.tau > 0.5) or self.is_spent:
                return best
        return self.full_step(here, side, strict=strict) if is_carried else best

    @property
    def is_spent(self) -> bool:
        """True where the last homotopy needs more changes of the active set than it may take."""
        return self.changes_left < 0 or self.stopped()

    def _ends(self) -> bool:
        """True where a homotopy ends, which asks before every change of the active set."""
        self.changes_left -= 1
        return self.is_spent

    def _is_minimum(self, here: Values, side: np.ndarray) -> bool:
        """True if H has no curvature below -DEPENDENT, relative, along the constraints that have multipliers.

        A limit that is met without a multiplier may be left, and the objective fall on the other side of it.
        """
        active, self.entries = np.flatnonzero(side), None
        force = np.abs(self.multipliers[active]) * row_lengths(here.A)[active]
        strong = force > self.finest * max(1.0, float(force.max(initial=0.0)))
        held = active[strong | (self.lower == self.upper)[active]]
        if len(held) >= self.n:  # a vertex: there is no direction along them
            return True
        self.entries = self._hessian()
        H, A = self.matrices.hessian(self.entries), here.A
        least = DEPENDENT * largest_entry(H)
        if kkt_of(shifted(H, least), A, held.tolist(), self.matrices.patterns).is_strict:
            return True
        if self.matrices.is_sparse:
            H, A = H.toarray(), A.toarray()
        Z = np.linalg.qr(A[held].T, mode="complete")[0][:, len(held) :]
        return lapack.dpotrf(Z.T @ H @ Z + least * np.eye(Z.shape[1]))[1] == 0

    def _hessian(self) -> np.ndarray:
        """The entries of the Hessian of the Lagrangian."""
        return self.nlp.hessian(self.y, self.multipliers[: self.m], 1.0)

    def point(self) -> WarmStart:
        bounds = self.multipliers[self.m :]
        return WarmStart(
            self.y, self.multipliers[: self.m], np.maximum(-bounds, 0.0), np.maximum(bounds, 0.0)
        )


FURTHER = 8  # steps after a large disturbance


@dataclass(frozen=True)
class RealTimeIteration(ActiveSetNewton):
    """The point to which some full steps lead, from an optimum that of other values to second order in these.

    Each is a strict minimum of its quadratic program: a step to a saddle leads away from the plan.

    steps : of Newton's method; fewer where the tolerance is met before, and more, up to `FURTHER` of them,
        as long as rows are violated by more than `worst` of their scale
    Its result is the last iterate, of status ITERATION_LIMIT where it is none within `tol`; STEP_FAILED where
    there is no step, TIME_LIMIT where the deadline passes.
    """

    steps: int = 1
    worst: float = np.inf

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        began, own = time.perf_counter(), Run() if run is None else run
        at = WarmStart(np.asarray(nlp.start, dtype=float)) if start is None else start.check(nlp)
        iterates = self._iterates(nlp, at, lambda: own.expired)
        here = iterates.values()
        known = all(np.isfinite(each).all() for each in (here.f, here.g, here.rows, nlp.jacobian(at.y)))
        if not (known and (iterates.lower <= iterates.upper).all()):
            Monitor(nlp, at, own, feasibility=self.tol)  # raises, and names what is wrong
        status, number, violation = self._stepped(iterates, here)
        point = iterates.point()
        y = np.minimum(np.maximum(point.y, nlp.lower), nlp.upper)
        if not np.array_equal(y, point.y):
            inside = largest_violation(nlp, y, nlp.rows(y))
            if inside <= max(violation, LITTLE * self.tol):
                point, violation = replace(point, y=y), inside
        if number and falls_for_ever(nlp, at, point.y):
            status = Status.DIVERGING
        multipliers, seconds = multipliers_of(nlp, point), time.perf_counter() - began
        return Result(status, point.y, *multipliers, nlp.objective(point.y), violation, number, seconds)

    def _stepped(self, iterates: NewtonIterates, here: Values) -> tuple[Status, int, float]:
        """The status after the steps, their number, and the largest violation of the last iterate."""
        nlp, number = iterates.nlp, 0
        # Inactive limits have no multipliers here; weak ones count as active: to add one later takes a solve
        side = active_sides(nlp, iterates.multipliers, self.tol**2)
        violation = largest_violation(nlp, iterates.y, here.rows)
        while number < self.steps or (violation > self.worst and number < self.steps + FURTHER):
            step = iterates.full_step(here, side, strict=True)
            if step is None or iterates.stopped():
                return Status.TIME_LIMIT if iterates.stopped() else Status.STEP_FAILED, number, violation
            iterates.y, iterates.multipliers, side = iterates.y + step.d, step.multipliers, step.side
            number, violation = number + 1, largest_violation(nlp, iterates.y, nlp.rows(iterates.y))
            if number >= self.steps and violation <= self.worst:
                break
            here = iterates.values()
            if iterates.residuals(iterates.point(), here).error <= self.tol:
                return Status.CONVERGED, number, violation
        return Status.ITERATION_LIMIT, number, violation
