"""Sequential quadratic programming within a trust region, for programs with many limits of which few bind.

    minimize  f(y) + penalty * v(y),    v the sum of violations of rows,   lower <= y <= upper

Every step d minimizes a convex model within a box (`elastic_program`): gradient of f, rows to first order,
and the Lagrangian's Hessian without its negative eigenvalues. A step is taken where the function above falls
by a tenth of what the model promised. Where it falls by less than three quarters of that, rows are corrected
by what the step met at its end, and the model is solved again: limits that curve away would keep steps short.
The penalty grows where the least of that function is not feasible. Rows far from their limits cost little.

Source: Nocedal and Wright, Numerical Optimization (2006), algorithm 18.4 and section 18.3; Fletcher, Second
order corrections for non-differentiable optimization, Lecture Notes in Mathematics 912 (1982) 85.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from trajopt.base.arguments import check_positive
from trajopt.solvers.interior.line_search import CORRECTIONS
from trajopt.solvers.kkt import kkt_residuals_of, multipliers_of, status_of_point
from trajopt.solvers.matrices import MatrixPlaces, dense_jacobian, scattered
from trajopt.solvers.monitor import Monitor, Refusal
from trajopt.solvers.newton.quadratic_program import FAIR, GOOD, POOR
from trajopt.solvers.run import SolverSettings
from trajopt.solvers.sequential.elastic_program import ElasticProgram, ElasticStep
from trajopt.solvers.solver import FEASIBILITY, LITTLE, ROUNDING, Program, Result, Run, Status, WarmStart

POLISHING = 4  # steps whose gain is rounding
PENALTY, STEEPER, HIGHEST = 2.0, 10.0, 1e8  # at first, its growth, and where violations are given up


@dataclass(frozen=True)
class TrustRegionSqp(SolverSettings):
    """The settings of one run.

    tol             largest scaled KKT error at which the solve counts as converged
    max_iterations  steps allowed
    time_limit      wall seconds allowed, None: no limit; checked at every evaluation
    feasibility     largest violation at which an iterate counts as feasible when the best one is chosen
    radius          largest change of an unknown in the first step

    It needs second derivatives, and is made for a few hundred unknowns: its matrices are dense. Other ends
    than convergence are distinguished at the returned point (`status_of_point`), but for INFEASIBLE: with the
    highest penalty the function above is least where rows are violated, and |f'| is at most 1e-6 of it.
    Raises OptionError on construction.
    """

    tol: float = 1e-8
    max_iterations: int = 200
    feasibility: float = FEASIBILITY
    radius: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("radius", self.radius)

    @staticmethod
    def version() -> str:
        """Version of SciPy, whose LAPACK it uses; the method itself is a part of trajopt."""
        return f"own, LAPACK of scipy {version('scipy')}"

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        monitor = self._monitor(nlp, start, run, shorten=True)
        with monitor.interruptible(), np.errstate(over="ignore"):
            found = _SqpRun(monitor, self).result()
        answer = WarmStart(found.y, *multipliers_of(nlp, found))
        status = status_of_point(found, nlp, answer, self.feasibility, self.tol, self.tol)
        return replace(found, status=status)


class _Iterate(NamedTuple):
    """y, f, all rows, and the sum of their violations."""

    y: np.ndarray
    f: float
    rows: np.ndarray
    violation: float


class _SqpRun:
    """The iterates of one solve."""

    def __init__(self, monitor: Monitor, settings: TrustRegionSqp) -> None:
        self.monitor, self.settings, self.nlp = monitor, settings, monitor.nlp
        nlp = self.nlp
        self.lower, self.upper = np.asarray(nlp.lower), np.asarray(nlp.upper)
        self.row_lower, self.row_upper = np.asarray(nlp.row_lower), np.asarray(nlp.row_upper)
        self.free = np.flatnonzero(self.lower < self.upper)
        n = nlp.variable_count
        self._hessian = MatrixPlaces(nlp.hessian_rows, nlp.hessian_columns, (n, n))
        self.radius, self.penalty, self.length, self.polishing = settings.radius, PENALTY, np.nan, POLISHING
        self.ended = Status.STEP_TOO_SMALL

    def result(self) -> Result:
        """The optimum; INFEASIBLE where the violation is least, STEP_TOO_SMALL where no step is found."""
        monitor, number = self.monitor, 0
        try:
            at = self.evaluated(np.clip(monitor.start.y, self.lower, self.upper))
            model = _Model(self, at, WarmStart(at.y, *multipliers_of(self.nlp, monitor.start)))
            while self._goes_on(number, model):
                if model.kkt.error <= self.settings.tol:
                    return monitor.result(Status.CONVERGED, model.answer, number, "")
                if number == self.settings.max_iterations:
                    self.ended = Status.ITERATION_LIMIT
                    break
                stepped = self._step(model)
                if stepped is None:
                    break
                model, number = _Model(self, *stepped), number + 1
        except Refusal:
            pass  # the monitor knows why
        return monitor.result(self.ended, None, number, "")

    def _goes_on(self, number: int, model: _Model) -> bool:
        at, dual = model.at, model.kkt.stationarity
        return self.monitor.iterate(number, model.answer, at.rows, at.f, dual, self.length)

    def evaluated(self, y: np.ndarray) -> _Iterate:
        f, rows = float(self.monitor.objective(y)), np.array(self.monitor.rows(y))
        return _Iterate(y, f, rows, self.violation(rows))

    def violation(self, rows: np.ndarray) -> float:
        return float(np.maximum(np.maximum(self.row_lower - rows, rows - self.row_upper), 0.0).sum())

    def merit(self, at: _Iterate) -> float:
        return at.f + self.penalty * at.violation

    def hessian(self, answer: WarmStart) -> np.ndarray:
        """The Lagrangian's without its negative eigenvalues, by the unknowns that are free."""
        values = self.monitor.hessian(answer.y, multipliers_of(self.nlp, answer)[0], 1.0)
        lower = self._hessian.dense(values)[np.ix_(self.free, self.free)]
        eigenvalues, vectors = np.linalg.eigh(lower)  # which reads the lower triangle alone
        return (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T

    def _step(self, model: _Model) -> tuple[_Iterate, WarmStart] | None:
        """The next iterate with the model's multipliers; None where no box is small enough."""
        if not self.free.size:  # all unknowns are fixed: there is no step
            return None
        while self.radius > 1e-9:  # half of the box's side where no step is found
            tried = model.tried(self.radius)
            longest = float(np.abs(tried.step.d).max(initial=0.0))
            if tried.promised <= ROUNDING * max(1.0, abs(self.merit(model.at))):
                if self._is_least_violation(model):
                    self.ended = Status.INFEASIBLE
                    return None
                if model.at.violation <= self.settings.tol or self.penalty >= HIGHEST:
                    return self._polished(model, tried)
                self.penalty *= STEEPER
                continue
            if tried.ratio > POOR and tried.end is not None:
                self._resize(tried.ratio, longest)
                self.length = longest
                return tried.end, model.answer_of(tried)
            self.radius = 0.4 * min(self.radius, longest)
        return None

    def _is_least_violation(self, model: _Model) -> bool:
        """True if the point is a stationary point of infeasibility, for a model that promises nothing."""
        pull = float(np.abs(model.g[self.free]).max(initial=0.0))
        violated = self.penalty >= HIGHEST and model.at.violation > self.settings.feasibility
        return violated and pull <= FEASIBILITY * self.penalty

    def _polished(self, model: _Model, tried: _Tried) -> tuple[_Iterate, WarmStart] | None:
        """A step whose gain is rounding, a few times: it may still make the gradient smaller."""
        if tried.end is None or not self.polishing:
            return None
        self.polishing -= 1
        return tried.end, model.answer_of(tried)

    def _resize(self, ratio: float, longest: float) -> None:
        if ratio < FAIR:
            self.radius = 0.5 * longest
        elif ratio > GOOD and longest > 0.9 * self.radius:  # a longer step was held by the box
            self.radius *= 2.0


class _Tried(NamedTuple):
    """A step in a box, its end (None: not finite), what the model promised, and how much of it came."""

    radius: float
    step: ElasticStep
    end: _Iterate | None
    promised: float
    ratio: float


class _Model:
    """The quadratic model at an iterate."""

    def __init__(self, run: _SqpRun, at: _Iterate, answer: WarmStart) -> None:
        self.run, self.at, nlp = run, at, run.nlp
        self.g = np.array(run.monitor.gradient(at.y))
        self.J = dense_jacobian(nlp, run.monitor.jacobian(at.y))
        of_lagrangian = self.g + multipliers_of(nlp, answer)[0] @ self.J
        fixed = run.lower == run.upper  # whose multipliers are what is left of the gradient
        low = np.where(fixed, np.maximum(of_lagrangian, 0.0), multipliers_of(nlp, answer)[1])
        high = np.where(fixed, np.maximum(-of_lagrangian, 0.0), multipliers_of(nlp, answer)[2])
        self.answer = replace(answer, lower_multipliers=low, upper_multipliers=high)
        self.kkt = kkt_residuals_of(nlp, self.answer, at.rows, of_lagrangian)

    def tried(self, radius: float) -> _Tried:
        """The step within a box, corrected where its end is worse than the model says."""
        found = self._judged(radius, self.at.rows, None)
        for _ in range(CORRECTIONS):
            # Where the objective rises by ten times what was promised, the step is too long for a correction
            if found.end is None or not -10.0 < found.ratio < GOOD or found.promised <= 0.0:
                break
            moved = self.J @ (found.end.y - self.at.y)
            other = self._judged(radius, found.end.rows - moved, found.promised)
            if other.ratio <= found.ratio:
                break
            found = other
        return found

    def answer_of(self, tried: _Tried) -> WarmStart:
        """The end of a step with the multipliers of its model; those of the box alone are left out."""
        assert tried.end is not None
        run, free, step, y = self.run, self.run.free, tried.step, tried.end.y
        before = self.at.y[free]
        low = np.where(run.lower[free] - before >= -tried.radius, step.of_least, 0.0)
        high = np.where(run.upper[free] - before <= tried.radius, step.of_most, 0.0)
        n = len(y)
        return WarmStart(y, step.multipliers, scattered(low, free, n), scattered(high, free, n))

    def _program(self, radius: float, rows: np.ndarray) -> ElasticProgram:
        run, free = self.run, self.run.free
        y = self.at.y[free]
        least, most = np.maximum(run.lower[free] - y, -radius), np.minimum(run.upper[free] - y, radius)
        low, high = run.row_lower - rows, run.row_upper - rows
        return ElasticProgram(self.H, self.g[free], self.J_free, low, high, least, most, run.penalty)

    @cached_property
    def H(self) -> np.ndarray:
        return self.run.hessian(self.answer)

    @cached_property
    def J_free(self) -> np.ndarray:
        return np.ascontiguousarray(self.J[:, self.run.free])

    def _judged(self, radius: float, rows: np.ndarray, promised: float | None) -> _Tried:
        run, at, program = self.run, self.at, self._program(radius, rows)
        step = program.solved(LITTLE * run.settings.tol)
        if promised is None:
            fall = at.violation - run.violation(at.rows + program.A @ step.d)
            promised = run.penalty * fall - program.objective(step.d)
        y = at.y.copy()
        y[run.free] = np.clip(y[run.free] + step.d, run.lower[run.free], run.upper[run.free])
        try:
            end = run.evaluated(y)
        except Refusal:
            if run.monitor.reason is not None:
                raise
            return _Tried(radius, step, None, promised, -np.inf)
        gained = run.merit(at) - run.merit(end)
        return _Tried(radius, step, end, promised, gained / promised if promised > 0.0 else -np.inf)
