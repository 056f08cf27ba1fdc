"""Elastic relaxation of an NLP: every row and bound may be violated, and the sum of violations is minimized.

    minimize sum(s) + w/2 |y - y_start|^2
    subject to   row_lower - s_low <= g(y) <= row_upper + s_high,   s >= 0

with a small w that makes the minimizer unique.

Bounds on unknowns become rows, so that they can be violated too; only durations stay positive. Rows may
share a slack: it is then the smallest change of a whole limit, the same at all times.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trajopt.solvers.optimality.kkt import side_violations
from trajopt.solvers.solver import WarmStart
from trajopt.transcription.links.linked_program import LinkedProgram
from trajopt.transcription.nlp import NLP

SHORTEST = 1e-3  # of a duration's lower bound: as far as the elastic problem may shorten it
MARGIN = 1e-2  # of slack beyond the violation at the start, so that the start lies in the interior
TIE = 1e-6  # w above


class Elastic:
    """The elastic relaxation of `nlp`, an NLP over (y, s).

    members : rows, then bounds, that share one slack, while all others are kept; by default every side of
        every row and bound has its own
    """

    def __init__(self, nlp: NLP | LinkedProgram, members: NDArray | None = None) -> None:
        self.nlp, self.has_hessian = nlp, nlp.has_hessian
        self.m, self.n = nlp.row_count, nlp.variable_count
        lower, upper = np.append(nlp.row_lower, nlp.lower), np.append(nlp.row_upper, nlp.upper)
        self.bounds = np.stack([lower, upper])
        finite = np.isfinite(self.bounds)
        # Rows here: lower sides, g + s >= lower, then upper sides, g - s <= upper.
        number = np.where(finite, np.cumsum(finite).reshape(finite.shape) - 1, -1)
        self.shared = number  # the slack of each side of each row and bound, -1 for none, (2, m + n)
        if members is not None:
            self.shared = np.full(finite.shape, -1)
            self.shared[:, members] = np.where(finite[:, members], 0, -1)
        self._side, self._of = np.nonzero(finite)
        self._slack, self._sign = self.shared[finite], 1.0 - 2.0 * self._side
        self.slack_count = int(self.shared.max(initial=-1)) + 1
        self._origin = np.array(nlp.start, dtype=float)
        self.variable_count, self.row_count = self.n + self.slack_count, self._of.size
        self.lower = np.concatenate([self._least_unknowns(), np.zeros(self.slack_count)])
        self.upper = np.full(self.variable_count, np.inf)
        self.row_lower = np.where(self._side == 0, self.bounds[finite], -np.inf)
        self.row_upper = np.where(self._side == 1, self.bounds[finite], np.inf)
        self.hessian_rows = np.concatenate([nlp.hessian_rows, np.arange(self.n)])
        self.hessian_columns = np.concatenate([nlp.hessian_columns, np.arange(self.n)])
        # Entries: those of the Jacobian of g and ones of y, for each side that is finite, then the slacks.
        rows = np.concatenate([nlp.jacobian_rows, self.m + np.arange(self.n)])
        columns = np.concatenate([nlp.jacobian_columns, np.arange(self.n)])
        side, self._takes = np.nonzero(number[:, rows] >= 0)
        self._has = np.flatnonzero(self._slack >= 0)
        self.jacobian_rows = np.append(number[side, rows[self._takes]], self._has)
        self.jacobian_columns = np.append(columns[self._takes], self.n + self._slack[self._has])
        self.start = self.warm(self._origin).y

    def _least_unknowns(self) -> NDArray:
        """-inf, as the bounds of unknowns are rows here, but for durations: a part of their lower bound."""
        least, durations = np.full(self.n, -np.inf), self.nlp.durations
        least[durations] = SHORTEST * np.maximum(self.nlp.lower[durations], 0.0)
        return least

    # -- functions ----------------------------------------------------------------------------------------

    def objective(self, y: NDArray) -> float:
        away = y[: self.n] - self._origin
        return float(y[self.n :].sum() + 0.5 * TIE * away @ away)

    def gradient(self, y: NDArray) -> NDArray:
        return np.concatenate([TIE * (y[: self.n] - self._origin), np.ones(self.slack_count)])

    def rows(self, y: NDArray) -> NDArray:
        slacks = np.append(y[self.n :], 0.0)[self._slack]
        return self._constraints(y[: self.n])[self._of] + self._sign * slacks

    def jacobian(self, y: NDArray) -> NDArray:
        values = np.append(self.nlp.jacobian(y[: self.n]), np.ones(self.n))
        return np.append(values[self._takes], self._sign[self._has])

    def hessian(self, y: NDArray, row_multipliers: NDArray, objective_factor: float) -> NDArray:
        full = np.bincount(self._of, row_multipliers, minlength=self.m + self.n)
        own = self.nlp.hessian(y[: self.n], full[: self.m], 0.0)
        return np.concatenate([own, np.full(self.n, TIE * objective_factor)])

    # -- points -------------------------------------------------------------------------------------------

    def warm(self, y: NDArray) -> WarmStart:
        """A start at y with slacks just large enough."""
        slack, has = np.full(self.slack_count, MARGIN), self.shared >= 0
        np.maximum.at(slack, self.shared[has], self.violations(y)[has] + MARGIN)
        return WarmStart(np.concatenate([y, slack]))

    def violations(self, y: NDArray) -> NDArray:
        """Violations of both sides of rows and bounds, (2, m + n), >= 0, scaled as the NLP."""
        return np.maximum(side_violations(self._constraints(y[: self.n]), *self.bounds), 0.0)

    def _constraints(self, y: NDArray) -> NDArray:
        return np.concatenate([self.nlp.rows(y), y])
