"""The covariance of parameters that were fitted to measurements by a sum of squared residuals.

With S the objective, a sum of squares of m independent residuals of one variance, minimized over all n
unknowns that the constraints leave free, and K the matrix of the optimality conditions at the fit,

    C = 2 s^2 (K^-1)_pp,        s^2 = S / (m - n)

is the covariance of the parameters p: (K^-1)_pp is the inverse of the Hessian of S by p along all motions
that meet the constraints, the reduced Hessian, exact, curvature of the residuals included. For a linear model
y = X p it is s^2 (X'X)^-1. Bard, Nonlinear Parameter Estimation, 1974, chapter 7; the inverse from the KKT
matrix: Lopez-Negrete and Biegler, Computers and Chemical Engineering 37, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from trajopt.base.arguments import check_count, number, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import EvaluationError, OptionError
from trajopt.parametric.input_table import rows_for
from trajopt.parametric.optimality_system import OptimalitySystem, check_converged, system_at
from trajopt.solution.solution import Answer
from trajopt.solvers.solver import ROUNDING
from trajopt.transcription.linked_program import AskedStructure


@dataclass(frozen=True, eq=False)
class Covariance:
    """The covariance of P fitted numbers, to first order in the errors of the measurements.

    labels, values, matrix : (P,), (P,), (P, P);   variance : s^2 of a residual
    freedom : m - n, degrees of freedom of an estimated variance; None where the variance was given
    A number that a bound holds has no variance, and the others are as if it were known.
    """

    labels: tuple[str, ...]
    values: NDArray[np.float64]
    matrix: NDArray[np.float64]
    variance: float
    freedom: int | None

    @property
    def deviations(self) -> NDArray[np.float64]:
        """Standard deviations, (P,)."""
        return np.sqrt(np.diag(self.matrix))

    @property
    def correlation(self) -> NDArray[np.float64]:
        """C_ij / sqrt(C_ii C_jj), (P, P); zero where one has no variance."""
        size = np.outer(self.deviations, self.deviations)
        return np.divide(self.matrix, size, out=np.zeros_like(size), where=size > 0.0)

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """Two-sided confidence intervals of each number, (P, 2): p -+ t sqrt(C_ii).

        t : the quantile of Student's distribution of m - n degrees of freedom, of the normal one where the
            variance was given
        """
        if not isinstance(level, float) or not 0.0 < level < 1.0:
            raise OptionError(f"level is {short_repr(level)}: give a number between 0 and 1, such as 0.95")
        side = 0.5 * (1.0 + level)
        quantile = ndtri(side) if self.freedom is None else stdtrit(self.freedom, side)
        return self.values[:, None] + quantile * self.deviations[:, None] * np.array([-1.0, 1.0])

    def __str__(self) -> str:
        width = max(map(len, (*self.labels, "parameter")))
        rows = [f"{'parameter':<{width}}  {'value':>12}  {'deviation':>12}  95 % interval"]
        each = zip(self.labels, self.values, self.deviations, self.intervals(), strict=True)
        for label, value, deviation, (low, high) in each:
            rows.append(f"{label:<{width}}  {value:>12.6g}  {deviation:>12.3g}  {low:.6g} to {high:.6g}")
        return "\n".join(rows)


def covariance(solution: Answer, measurements: int | None, variance: float | None) -> Covariance:
    """See `Solution.covariance`."""
    check_converged(solution)
    asked, parts = solution.asked, solution.asked.parts
    costs = [cost for problem in parts for cost in problem.costs]
    integrals = [cost.name for cost in costs if cost.over.integrates]
    if integrals or not costs:
        what = f"'{integrals[0]}' is an integral" if integrals else "it has no cost"
        raise OptionError(
            f"the objective of '{solution.name}' is no sum of squared residuals, as {what}: minimize squares "
            "over times of measurements, over=[t1, t2]"
        )
    if (measurements is None) == (variance is None):
        raise OptionError(
            "give either how many numbers were measured, measurements=40, from which and the residuals their "
            "variance is estimated, or variance=, 1.0 where residuals are divided by their deviations"
        )
    system = system_at(AskedStructure.of(asked, rows_for(asked, [])), solution)
    labels, values, rows = _parameters(system, solution)
    freedom = None
    if measurements is not None:
        check_count("measurements", measurements, 1, np.iinfo(np.int64).max)
        freedom = measurements - system.freedom
        if freedom < 1:
            raise OptionError(
                f"{measurements} measurements for {system.freedom} free unknowns leave none from which their "
                "variance could be estimated: give variance="
            )
        variance = sum(part.objective for part in solution.parts) / freedom
    residual = number(variance, "the variance")
    if residual < 0.0:
        raise OptionError(
            f"the variance of a residual is {residual:.6g}: minimize squares, or give variance= of at least 0"
        )
    inverse = rows @ system.step(-rows.T, np.zeros((system.multipliers.size, len(rows))))[0]
    size = np.sum((rows * system.factors[: rows.shape[1]]) ** 2, axis=1)
    inverse = _semidefinite(0.5 * (inverse + inverse.T), size)
    matrix = residual * 2.0 * system.nlp.objective_scale * inverse
    return Covariance(labels, values, matrix, residual, freedom)


def _semidefinite(inverse: Array, size: Array) -> Array:
    """The inverse (P, P), zero for numbers that a bound holds and whose variance rounding made negative.

    size : of each diagonal entry by the scales of the unknowns, (P,)
    """
    if np.any(np.diag(inverse) < -ROUNDING * size):
        raise EvaluationError(
            "the fit is no minimum: an objective that falls along a parameter gives no covariance"
        )
    free = np.diag(inverse) > 0.0
    return np.where(np.outer(free, free), inverse, 0.0)


def _parameters(system: OptimalitySystem, solution: Answer) -> tuple[tuple[str, ...], Array, Array]:
    """Labels and values of the numbers of all parameters, and their derivatives by y, (P, variables)."""
    labels, values, rows = [], [], []
    for (nlp, place, _, _), part, problem in zip(
        system.parts, solution.parts, solution.asked.parts, strict=True
    ):
        for name, parameter in problem.parameters.items():
            width = parameter.lower.size
            own = [name] if width == 1 else [f"{name} {i}" for i in range(width)]
            if parameter.is_slack or own[0] in labels:
                continue
            wide = np.zeros((width, system.nlp.variable_count))
            wide[:, place] = nlp.unknowns.elimination.N[nlp.unknowns.layout.parameters[name]].toarray()
            labels += own
            values.append(part.parameters[name])
            rows.append(wide)
    if not labels:
        raise OptionError(f"'{solution.name}' has no parameters: problem.parameter('k') adds one")
    return tuple(labels), np.concatenate(values), np.concatenate(rows)
