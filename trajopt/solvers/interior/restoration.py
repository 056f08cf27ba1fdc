"""Restoration of feasibility: steps towards the rows where the filter takes no step of the solve itself.

    minimize sum |G - s|_1 + w / 2 |x - x_R|^2   within all limits

over the unknowns and slacks of `SlackProgram`, from the point x_R where the search stopped (Wachter and
Biegler, Math. Program. 106, 2006, section 3.3). With G - s = p - n and p, n >= 0, whose logarithms enter as
those of the gaps do, p and n follow from the distances r = G - s:

    p, n = (mu + sqrt(mu^2 + r^2) +- r) / 2,    which minimize  p + n - mu log p - mu log n  with  p - n = r.

So every row is met at every iterate, and the line search asks for less of

    sum of (p + n - mu log p - mu log n) + w / 2 |x - x_R|^2 - mu sum log t

alone. With lambda = 1 - mu / p and multipliers y of the rows, Newton's method has

    G dx - ds = F (y_new - lambda),    F = p / (1 - y) + n / (1 + y),

which adds F to the flexibility of a row and nothing to the matrix.
"""

from __future__ import annotations

import numpy as np

from trajopt.base.arguments import list_names
from trajopt.solvers.interior.line_search import LINEAR, SOLVED, SUPERLINEAR
from trajopt.solvers.interior.newton_step import NewtonStep, Shifts
from trajopt.solvers.interior.slack_program import Iterate, Multipliers, Point, SlackProgram
from trajopt.solvers.kkt import largest
from trajopt.solvers.solver import FEASIBILITY, SUM_ROUNDING

DECREASE = 1e-4  # of the slope along an accepted step;  no step is shorter than the square of it
AROUND = 1e3  # products of gaps and multipliers, times the barrier parameter, and its inverse


class Restoration:
    """The steps from one iterate of a solve.

    barrier : mu
    conflict : what limits are in conflict, where the violation is least and not zero; else ""
    length : largest change of an unknown in the last step
    """

    def __init__(self, program: SlackProgram, at: Iterate, barrier: float, tol: float) -> None:
        self.program, self.tol, self.shifts = program, tol, Shifts()
        self.origin, self.violation = at.point.x, at.point.violation
        self.is_soft = np.ones(program.layout.row_count, dtype=bool)
        self.is_soft[program.rows.size : program.slack_count] = False  # slacks of unknowns are the unknowns
        self.least = 0.1 * tol
        # A thousandth of the solve's barrier parameter and of the largest distance
        self.barrier = max(1e-3 * max(barrier, largest(at.point.apart)), self.least)
        self.conflict, self.length = "", np.nan
        self._is_settled = False  # the last step decreased the sum by what rounding leaves

    def begun(self, at: Iterate) -> Iterate:
        """The iterate with first multipliers of the restoration."""
        z, none = np.minimum(1.0, self.barrier / at.point.t), np.zeros(self.program.equations.size)
        y = np.concatenate([-self.program.by_slack(self.program.sign * z), none])
        return at._replace(multipliers=Multipliers(self._near_parts(y, at.point), z))

    def has_restored(self, point: Point) -> bool:
        """True if a point is less violated than the first one by a tenth."""
        return point.violation <= 0.9 * self.violation

    def step(self, at: Iterate) -> Iterate | None:
        """The next iterate; None where the least violation is reached, or no step is found."""
        if not self._lowered(at):
            if at.point.violation > SOLVED * self.tol and self._error(at) <= FEASIBILITY:
                self.conflict = self._named_conflict(at)
            return None
        (p, n), y, barrier = self._parts(at.point), at.multipliers.y, self.barrier
        of_rows = np.where(self.is_soft, 1.0 - barrier / p, 0.0)
        soft = np.where(self.is_soft, p / (1.0 - y) + n / (1.0 + y), 0.0)
        of_unknowns = self._weight * (at.point.x - self.origin)
        aimed = at._replace(slopes=at.slopes._replace(g=of_unknowns))
        newton = NewtonStep(self.program, aimed, barrier, self.shifts, soft, self._weight)
        if newton.system.shift is None:
            return None
        step = newton.direction(barrier, of_rows * soft)
        slope = float(of_unknowns @ step.dx + of_rows @ (soft * (step.y - of_rows)))
        slope -= barrier * float((step.dt / at.point.t).sum())
        length, of_z = newton.lengths(step)
        value = self._value(at.point)
        rounding = SUM_ROUNDING * abs(value)
        while length > DECREASE**2:
            point = self.program.trial(at.point.x + length * step.dx, at.point.s + length * step.ds)
            found = np.inf if point is None else self._value(point)
            if point is not None and found <= value + DECREASE * length * slope + rounding:
                self._is_settled = found >= value - rounding
                self.length = largest(point.x - at.point.x)
                around = barrier / point.t
                z = np.clip(at.multipliers.z + of_z * step.dz, around / AROUND, around * AROUND)
                y = self._near_parts(y + length * (step.y - y), point)
                return Iterate(point, self.program.slopes(point.x), Multipliers(y, z))
            length *= 0.5
        return None

    def _named_conflict(self, at: Iterate) -> str:
        """Constraints, rows or unknowns whose limits hold each other off: those with large multipliers."""
        program, y, count = self.program, np.abs(at.multipliers.y), self.program.rows.size
        labels = getattr(program.nlp, "row_labels", None)
        y[:count] *= program.factors
        # Rows are named whose multipliers exceed a thousandth of the largest
        strong = y > 1e-3 * y.max()
        rows = [*program.rows[strong[:count]], *program.equations[strong[program.slack_count :]]]
        unknowns = program.free[program.bounded[strong[count : program.slack_count]]]
        names = [f"row {row}" if labels is None else labels[row].constraint for row in sorted(rows)]
        names += [f"unknown {unknown}" for unknown in sorted(unknowns)]
        return f"in conflict by {at.point.violation:.3g}: {list_names(dict.fromkeys(names))}"

    @property
    def _weight(self) -> float:
        return 0.03 * float(np.sqrt(self.barrier))  # w

    def _lowered(self, at: Iterate) -> bool:
        """Lower the barrier parameter while it is solved for; False where the least one is."""
        while self._is_settled or self._error(at) <= SOLVED * self.barrier:
            if self.barrier <= self.least:
                return False
            self.barrier = max(self.least, min(LINEAR * self.barrier, self.barrier**SUPERLINEAR))
            self._is_settled = False
        return True

    def _parts(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """p and n of the rows."""
        r, mu = point.apart, self.barrier
        lower = 0.5 * mu * (1.0 + mu / (np.hypot(mu, r) + np.abs(r)))
        upper = lower + np.abs(r)
        return np.where(r > 0.0, upper, lower), np.where(r > 0.0, lower, upper)

    def _near_parts(self, y: np.ndarray, point: Point) -> np.ndarray:
        """Multipliers of soft rows, kept so that (1 - y) p and (1 + y) n stay near the barrier parameter."""
        p, n = self._parts(point)
        least = self.barrier / AROUND
        return np.where(self.is_soft, np.clip(y, least / n - 1.0, 1.0 - least / p), y)

    def _value(self, point: Point) -> float:
        p, n = (part[self.is_soft] for part in self._parts(point))
        moved = point.x - self.origin
        total = float((p + n).sum()) + 0.5 * self._weight * float(moved @ moved)
        return total - self.barrier * float(np.log(p).sum() + np.log(n).sum() + np.log(point.t).sum())

    def _error(self, at: Iterate) -> float:
        """The largest residual of the conditions of an optimum of the restoration."""
        program, (point, slopes, (y, z)) = self.program, at
        p, n = self._parts(point)
        products = np.concatenate([(1.0 - y) * p, (1.0 + y) * n])[np.tile(self.is_soft, 2)]
        slopes = slopes._replace(g=self._weight * (point.x - self.origin))
        return max(
            largest(program.lagrangian_gradient(slopes, y)),
            largest(y[: program.slack_count] + program.by_slack(program.sign * z)),
            largest(point.t * z - self.barrier),
            largest(products - self.barrier),
        )
