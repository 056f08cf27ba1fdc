"""Elastic relaxation of an NLP: every row and bound may be violated, and the sum of violations is minimized.

    minimize sum(w s)   subject to   row_lower - s_low <= g(y) <= row_upper + s_high,   s >= 0

Bounds on unknowns become rows, so that they can be violated too; only durations stay positive. Rows may
share a slack: it is then the smallest change of a whole limit, the same at all times.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajopt.solvers.solver import WarmStart
from trajopt.solvers.violation import side_violations
from trajopt.transcription.nlp import NLP

SHORTEST = 1e-3  # of a duration's lower bound: as far as the elastic problem may shorten it
HIGHEST_START = 1e-2  # slack beyond the violation at the start, so that it lies inside
TIE = 1e-6  # weight of moving away from the start: makes the answer unique


class Elastic:
    """An NLP over (y, slacks), made of another one.

    shared : for each side of each constraint (rows, then bounds), the slack it uses, -1 for none; (2, m + n),
        the lower sides first. By default every side has its own.
    """

    has_hessian: bool

    def __init__(self, nlp: NLP, shared: NDArray | None = None) -> None:
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

    # -- sizes and structure ------------------------------------------------------------------------------

    @property
    def variable_count(self) -> int:
        return self.n + self.slack_count

    @property
    def row_count(self) -> int:
        return self._kept[0].size + self._kept[1].size

    @cached_property
    def lower(self) -> NDArray:
        own, durations = np.full(self.n, -np.inf), self.nlp.unknowns.durations
        own[durations] = SHORTEST * np.maximum(self.nlp.lower[durations], 0.0)
        return np.concatenate([own, np.zeros(self.slack_count)])

    @cached_property
    def upper(self) -> NDArray:
        return np.full(self.variable_count, np.inf)

    @cached_property
    def row_lower(self) -> NDArray:
        """Lower sides, g + s >= lower, then upper sides, g - s <= upper."""
        return np.concatenate([self.bounds[0][self._kept[0]], np.full(self._kept[1].size, -np.inf)])

    @cached_property
    def row_upper(self) -> NDArray:
        return np.concatenate([np.full(self._kept[0].size, np.inf), self.bounds[1][self._kept[1]]])

    @cached_property
    def start(self) -> NDArray:
        return self.warm(self._origin).y

    @property
    def jacobian_rows(self) -> NDArray:
        return self._structure[0]

    @property
    def jacobian_columns(self) -> NDArray:
        return self._structure[1]

    @cached_property
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

    @cached_property
    def hessian_rows(self) -> NDArray:
        return np.concatenate([self.nlp.hessian_rows, np.arange(self.n)])

    @cached_property
    def hessian_columns(self) -> NDArray:
        return np.concatenate([self.nlp.hessian_columns, np.arange(self.n)])

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
        _, _, takes, signs = self._structure
        values = np.concatenate([self.nlp.jacobian(y[: self.n]), np.ones(self.n + 1)])
        return values[takes] * signs

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
        slack = np.full(self.slack_count, HIGHEST_START)
        over = self.violations(y)
        for side in (0, 1):
            has = self.shared[side] >= 0
            np.maximum.at(slack, self.shared[side][has], over[side][has] + HIGHEST_START)
        return WarmStart(np.concatenate([y, slack]))

    def violations(self, y: NDArray) -> NDArray:
        """By how much each side of rows and bounds is violated, (2, m + n), >= 0, scaled as the NLP."""
        return np.maximum(side_violations(self._constraints(y[: self.n]), *self.bounds), 0.0)

    def _constraints(self, y: NDArray) -> NDArray:
        return np.concatenate([self.nlp.rows(y), y])


def one_slack_for(elastic: Elastic, groups: Sequence[NDArray]) -> NDArray:
    """`shared` with one slack for each group of constraints (indices into rows, then bounds)."""
    shared = np.full(elastic.bounds.shape, -1)
    for number, group in enumerate(groups):
        shared[:, group] = number
    return shared
