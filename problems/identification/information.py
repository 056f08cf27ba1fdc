"""The information of a motion about base parameters as the objective of a program, and its solver.

The criterion is a function of a sum over all nodes, not a sum of functions of nodes, which a cost of a
`trajopt.Problem` is. So the problem states limits and periodicity, and `InformationSolver` puts the criterion
in place of the objective of its nonlinear program, with the exact gradient by `dynamics.regressor_gradient`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dynamics
from problems.identification.criterion import Criterion, criterion_value
from trajopt.base.arrays import Array
from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import Program, ProgramValue, Result, Run, Solver, WarmStart
from trajopt.transcription.leaf_map import LeafMap

LEAVES = ("q", "v", "a")


@dataclass(frozen=True, eq=False)
class RegressorWeights:
    """The regressor of the parameters `base`, with torques weighted by (n,) 1 / noise^2.

    smoothing : rad/s or m/s, of Coulomb friction
    """

    model: dynamics.RigidBodyModel
    base: dynamics.BaseParameters
    torque_weights: Array
    smoothing: float

    def rows(self, q: Array, v: Array, a: Array) -> Array:
        """Y_b, (k, n, count)."""
        return self.base.regressor(dynamics.regressor(self.model, q, v, a, self.smoothing))

    def information(self, rows: Array, weights: Array) -> Array:
        """G, (count, count), of samples with weights (k,)."""
        root = np.sqrt(weights[:, None] * self.torque_weights)
        flat = (rows * root[..., None]).reshape(-1, self.base.count)
        return flat.T @ flat

    def value(
        self, criterion: Criterion, q: Array, v: Array, a: Array, weights: Array
    ) -> tuple[float, Array]:
        """The criterion and its gradient by q, v and a, (k, 3, n)."""
        rows = self.rows(q, v, a)
        value, by_G = criterion_value(criterion, self.information(rows, weights))
        by_rows = np.zeros((*rows.shape[:2], len(self.base.parameter_names)))
        scale = 2.0 * weights[:, None] * self.torque_weights
        by_rows[..., self.base.columns] = scale[..., None] * (rows @ by_G)
        return value, dynamics.regressor_gradient(self.model, q, v, a, by_rows, self.smoothing)


class ProgramInformation:
    """The criterion as a function of the unknowns y of a transcribed problem."""

    def __init__(self, nlp: Any, regressor: RegressorWeights, criterion: Criterion) -> None:
        self.regressor = regressor
        self.criterion: Criterion = criterion
        sizes = getattr(nlp, "unknown_sizes", None)
        own = getattr(nlp, "unscaled", None)
        if own is not None:  # a program whose unknowns were divided by their sizes
            nlp, sizes = own, own.unknown_sizes
        self.sizes = np.ones(nlp.variable_count) if own is None or sizes is None else sizes
        elimination = nlp.unknowns.elimination
        self.leaf_map = LeafMap.of(nlp.spline_map, elimination.N, LEAVES)
        self.offset = self.leaf_map.offset(elimination.c)
        self.used = nlp.unknowns.nodes.weight > 0.0
        self.weights = nlp.unknowns.nodes.weight[self.used]
        self._last: tuple[bytes, float, Array] | None = None

    def objective(self, y: Array) -> float:
        return self._at(y)[0]

    def gradient(self, y: Array) -> Array:
        return self._at(y)[1]

    def _at(self, y: Array) -> tuple[float, Array]:
        key = y.tobytes()
        if self._last is None or self._last[0] != key:
            value, gradient = self._computed(y)
            self._last = key, value, gradient
        return self._last[1], self._last[2]

    def _computed(self, y: Array) -> tuple[float, Array]:
        point = self.leaf_map.at(y * self.sizes, self.offset)
        motion = [np.ascontiguousarray(point.values[leaf][self.used]) for leaf in LEAVES]
        q, v, a = motion
        value, by_motion = self.regressor.value(self.criterion, q, v, a, self.weights)
        bar = np.zeros_like(point.z)
        for number, leaf in enumerate(LEAVES):
            bar[self.used, self.leaf_map.columns[leaf]] = by_motion[:, number]
        return value, self.leaf_map.gradient(point, bar) * self.sizes


@dataclass(frozen=True)
class InformationSolver:
    """A solver that minimizes a criterion of information in place of a problem's own cost, by L-BFGS.

    solver : which solves the changed program
    """

    solver: Solver
    regressor: RegressorWeights
    criterion: Criterion

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """The result of the changed program; objective and multipliers are those of the criterion."""
        information = ProgramInformation(nlp, self.regressor, self.criterion)
        changed = replace(
            ProgramValue.of(nlp),
            objective=information.objective,
            gradient=information.gradient,
            objective_scale=1.0,
            has_hessian=False,
            hessian_rows=np.empty(0, dtype=np.int64),
            hessian_columns=np.empty(0, dtype=np.int64),
        )
        return run_solver(self.solver, changed, start, run)
