"""SLSQP, Kraft's sequential quadratic programming (DFVLR-FB 88-28, 1988), as SciPy has it.

It needs no second derivatives and no sparse algebra: right for small problems and as a second opinion. Its
matrices are dense and its cost grows as n^3 per iteration; beyond a few hundred unknowns use `Ipopt`.

The exit modes by which SLSQP reports failure depend on rounding: at the same point it may end with mode 4, 8
or an error of its linear algebra. Its own convergence test may be met where steps get short: it counts where
the KKT error is at most 1e-2, or a looser tolerance was asked for. Counts and limits are taken from it; the
rest is computed at the returned point, by the table in `kkt.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trajopt.solvers.kkt import kkt_residuals, least_squares_multipliers, multipliers_of, status_of_point
from trajopt.solvers.matrices import dense_jacobian
from trajopt.solvers.monitor import Monitor, Refusal
from trajopt.solvers.run import SolverSettings
from trajopt.solvers.solver import FEASIBILITY, LITTLE, Program, Result, Run, Status, WarmStart

if TYPE_CHECKING:
    from scipy.optimize import NonlinearConstraint


# All exit modes of SLSQP; -1 and 1 ask for an evaluation and are final only when that was refused. Modes 2
# to 8 are ways of giving up, distinguished by the point.
_STATUSES = {
    -1: Status.INTERRUPTED,
    0: Status.CONVERGED,
    1: Status.INTERRUPTED,
    **dict.fromkeys(range(2, 9), Status.STEP_TOO_SMALL),
    9: Status.ITERATION_LIMIT,
}


@dataclass(frozen=True)
class Slsqp(SolverSettings):
    """The settings of one SLSQP run.

    tol             SLSQP stops when the change of the objective, or the step, falls below this and the summed
                    violation is below it too: no bound on the KKT error, which `kkt_residuals` gives
    max_iterations  iterations allowed
    time_limit      wall seconds allowed, None: no limit; checked at every evaluation
    feasibility     largest violation at which an iterate counts as feasible when the best one is chosen
    kkt_tol         largest scaled KKT error at which a run that ended otherwise counts as converged,
    acceptable_tol  and as `Status.ACCEPTABLE`: rounding can hide the optimum from SLSQP

    Raises OptionError on construction for a value out of range.
    """

    tol: float = 1e-10
    feasibility: float = FEASIBILITY
    kkt_tol: float = 1e-8
    acceptable_tol: float = 1e-6

    @staticmethod
    def version() -> str:
        """Version of SciPy, whose SLSQP this is."""
        import scipy

        return f"of scipy {scipy.__version__}"

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        import scipy.optimize  # noqa: F401  here, so that the clock of the solve starts after it

        monitor = self._monitor(nlp, start, run)
        with monitor.interruptible():
            result = _run(nlp, monitor, self.tol, self.max_iterations)
        # SciPy's own multipliers are those of the last quadratic model, one step old, without the bounds',
        # and absent before SciPy 1.16; least squares at the point itself leaves a smaller residual.
        answer = least_squares_multipliers(nlp, result.y)
        asked = result.status is Status.CONVERGED and self.tol <= LITTLE
        if asked and not kkt_residuals(nlp, answer).error <= LITTLE:
            early = "its steps got short far from the KKT conditions"
            result = replace(result, status=Status.STEP_TOO_SMALL, detail=early)
        of_rows, of_lower, of_upper = multipliers_of(nlp, answer)
        return replace(
            result,
            status=status_of_point(result, nlp, answer, self.feasibility, self.kkt_tol, self.acceptable_tol),
            row_multipliers=of_rows,
            lower_multipliers=of_lower,
            upper_multipliers=of_upper,
        )


def _run(nlp: Program, monitor: Monitor, tol: float, max_iterations: int) -> Result:
    from scipy.optimize import Bounds, minimize

    iterations, last = -1, np.clip(monitor.start.y, nlp.lower, nlp.upper)

    def each_iteration(y: np.ndarray) -> None:
        nonlocal iterations, last
        at, step = WarmStart(y.copy()), float(np.abs(y - last).max(initial=0.0))
        iterations, last = iterations + 1, at.y
        rows, objective = monitor.rows(y), monitor.objective(y)
        if not monitor.iterate(iterations, at, rows, objective, np.nan, step):
            raise Refusal

    try:
        each_iteration(last)
        found = minimize(
            monitor.objective,
            last,
            jac=monitor.gradient,
            method="SLSQP",
            bounds=Bounds(nlp.lower, nlp.upper),  # type: ignore[arg-type]
            constraints=_constraints(nlp, monitor),
            callback=each_iteration,
            options={"ftol": tol, "maxiter": max_iterations},
        )
    except Refusal:
        return monitor.result(Status.UNKNOWN, None, max(iterations, 0), "")
    status = _STATUSES.get(found.status, Status.UNKNOWN)
    return monitor.result(status, WarmStart(found.x), iterations, found.message)


def _constraints(nlp: Program, monitor: Monitor) -> list[NonlinearConstraint]:
    """Rows as SLSQP takes them: equations apart from limits."""
    from scipy.optimize import NonlinearConstraint

    def of_rows(kept: np.ndarray) -> NonlinearConstraint:
        return NonlinearConstraint(
            lambda y: monitor.rows(y)[kept],
            nlp.row_lower[kept],
            nlp.row_upper[kept],
            jac=lambda y: dense_jacobian(nlp, monitor.jacobian(y))[kept],
        )

    fixed = nlp.row_lower == nlp.row_upper
    limited = ~fixed & (np.isfinite(nlp.row_lower) | np.isfinite(nlp.row_upper))
    return [of_rows(kept) for kept in (fixed, limited) if kept.any()]
