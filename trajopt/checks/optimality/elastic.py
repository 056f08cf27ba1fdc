"""Elastic relaxation of an NLP: every row and bound may be violated, and the sum of violations is minimized.

    minimize sum(s) + w/2 |y - y_start|^2
    subject to   row_lower - s_low <= g(y) <= row_upper + s_high,   s >= 0

with a small w that makes the minimizer unique.

Bounds on unknowns become rows, so that they can be violated too; only durations stay positive. Rows may
share a slack: it is then the smallest change of a whole limit, the same at all times.
"""

from __future__ import annotations

from collections.abc import Sequence

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

    shared : for each side of each constraint (rows, then bounds), the slack it uses, -1 for none; (2, m + n),
        the lower sides first. By default every side has its own.
    """

    def __init__(self, nlp: NLP | LinkedProgram, shared: NDArray | None = None) -> None:
        self.nlp, self.has_hessian = nlp, nlp.has_hessian
        self.m, self.n = nlp.row_count, nlp.variable_count
        self.bounds = np.stack(
            [np.concatenate([nlp.row_lower, nlp.lower]), np.concatenate([nlp.row_upper, nlp.upper])]
        )
        finite = np.isfinite(self.bounds)
        own = np.where(finite, np.cumsum(finite.ravel()).reshape(finite.shape) - 1, -1)
        self.shared = own if shared is None else np.where(finite, shared, -1)
        self.slack_count = int(self.shared.max(initial=-1)) + 1
        self._origin = np.array(nlp.start, dtype=float)
        places = [np.flatnonzero(finite[side]) for side in (0, 1)]
        self._kept = (places[0], places[1])
        low, high = self._kept
        self.variable_count, self.row_count = self.n + self.slack_count, low.size + high.size
        self.lower = np.concatenate([self._least_unknowns(), np.zeros(self.slack_count)])
        self.upper = np.full(self.variable_count, np.inf)
        # Lower sides, g + s >= lower, then upper sides, g - s <= upper.
        self.row_lower = np.concatenate([self.bounds[0][low], np.full(high.size, -np.inf)])
        self.row_upper = np.concatenate([np.full(low.size, np.inf), self.bounds[1][high]])
        self.hessian_rows = np.concatenate([nlp.hessian_rows, np.arange(self.n)])
        self.hessian_columns = np.concatenate([nlp.hessian_columns, np.arange(self.n)])
        self.jacobian_rows, self.jacobian_columns, self._takes, self._signs = self._structure()
        self.start = self.warm(self._origin).y

    def _least_unknowns(self) -> NDArray:
        """-inf, as the bounds of unknowns are rows here, but for durations: a part of their lower bound."""
        least, durations = np.full(self.n, -np.inf), self.nlp.durations
        least[durations] = SHORTEST * np.maximum(self.nlp.lower[durations], 0.0)
        return least

    def _structure(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Rows, columns, and for each entry the one of (jacobian of g, ones) it takes, with its sign."""
        nnz = self.nlp.jacobian_rows.size
        source_rows = np.concatenate([self.nlp.jacobian_rows, self.m + np.arange(self.n)])
        source_columns = np.concatenate([self.nlp.jacobian_columns, np.arange(self.n)])
        rows, columns, takes, signs = [], [], [], []
        offset = 0
        for side, sign in ((0, 1.0), (1, -1.0)):
            position = np.full(self.m + self.n, -1)
            position[self._kept[side]] = offset + np.arange(self._kept[side].size)
            entries = np.flatnonzero(position[source_rows] >= 0)
            rows.append(position[source_rows[entries]])
            columns.append(source_columns[entries])
            takes.append(entries)
            signs.append(np.ones(entries.size))
            slack = self.shared[side][self._kept[side]]
            has = np.flatnonzero(slack >= 0)
            rows.append(offset + has)
            columns.append(self.n + slack[has])
            takes.append(np.full(has.size, nnz + self.n))
            signs.append(np.full(has.size, sign))
            offset += self._kept[side].size
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(takes), np.concatenate(signs)

    # -- functions ----------------------------------------------------------------------------------------

    def objective(self, y: NDArray) -> float:
        away = y[: self.n] - self._origin
        return float(y[self.n :].sum() + 0.5 * TIE * away @ away)

    def gradient(self, y: NDArray) -> NDArray:
        return np.concatenate([TIE * (y[: self.n] - self._origin), np.ones(self.slack_count)])

    def rows(self, y: NDArray) -> NDArray:
        own = self._constraints(y[: self.n])
        parts = []
        for side, sign in ((0, 1.0), (1, -1.0)):
            slack = np.append(y[self.n :], 0.0)[self.shared[side][self._kept[side]]]
            parts.append(own[self._kept[side]] + sign * slack)
        return np.concatenate(parts)

    def jacobian(self, y: NDArray) -> NDArray:
        values = np.concatenate([self.nlp.jacobian(y[: self.n]), np.ones(self.n + 1)])
        return values[self._takes] * self._signs

    def hessian(self, y: NDArray, row_multipliers: NDArray, objective_factor: float) -> NDArray:
        full = np.zeros(self.m + self.n)
        split = self._kept[0].size
        full[self._kept[0]] += row_multipliers[:split]
        full[self._kept[1]] += row_multipliers[split:]
        own = self.nlp.hessian(y[: self.n], full[: self.m], 0.0)
        return np.concatenate([own, np.full(self.n, TIE * objective_factor)])

    # -- points -------------------------------------------------------------------------------------------

    def warm(self, y: NDArray) -> WarmStart:
        """A start at y with slacks just large enough."""
        slack = np.full(self.slack_count, MARGIN)
        over = self.violations(y)
        for side in (0, 1):
            has = self.shared[side] >= 0
            np.maximum.at(slack, self.shared[side][has], over[side][has] + MARGIN)
        return WarmStart(np.concatenate([y, slack]))

    def violations(self, y: NDArray) -> NDArray:
        """Violations of both sides of rows and bounds, (2, m + n), >= 0, scaled as the NLP."""
        return np.maximum(side_violations(self._constraints(y[: self.n]), *self.bounds), 0.0)

    def _constraints(self, y: NDArray) -> NDArray:
        return np.concatenate([self.nlp.rows(y), y])


def one_slack_for(elastic: Elastic, groups: Sequence[NDArray]) -> NDArray:
    """`shared` with one slack for each group of constraints (indices into rows, then bounds)."""
    shared = np.full(elastic.bounds.shape, -1)
    for number, group in enumerate(groups):
        shared[:, group] = number
    return shared
