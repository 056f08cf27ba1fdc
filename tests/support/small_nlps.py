"""Small nonlinear programs with known answers, written once as values and dense derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

INF = np.inf


@dataclass(frozen=True)
class DenseNLP:
    """A small program with full matrices; `curvature(y, multipliers, factor)` is the Lagrangian's Hessian."""

    start: np.ndarray
    objective: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    rows: Callable[[np.ndarray], np.ndarray]
    full_jacobian: Callable[[np.ndarray], np.ndarray]
    full_hessian: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
    row_lower: np.ndarray
    row_upper: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    has_hessian: bool = True
    solution: np.ndarray = field(default_factory=lambda: np.empty(0))
    multipliers: np.ndarray = field(default_factory=lambda: np.empty(0))  # of the rows

    @property
    def variable_count(self):
        return self.start.size

    @property
    def row_count(self):
        return self.row_lower.size

    @cached_property
    def jacobian_rows(self):
        return np.repeat(np.arange(self.row_count), self.variable_count)

    @cached_property
    def jacobian_columns(self):
        return np.tile(np.arange(self.variable_count), self.row_count)

    @cached_property
    def hessian_rows(self):
        return np.tril_indices(self.variable_count)[0]

    @cached_property
    def hessian_columns(self):
        return np.tril_indices(self.variable_count)[1]

    def jacobian(self, y):
        return self.full_jacobian(y).ravel()

    def hessian(self, y, row_multipliers, objective_factor):
        full = self.full_hessian(y, row_multipliers, objective_factor)
        return full[self.hessian_rows, self.hessian_columns]


def hs071() -> DenseNLP:
    """Hock and Schittkowski 71: one inequality, one equality, bounds; f* = 17.0140173."""

    def hessian(y, multipliers, factor):
        a, b, c, d = y
        of_objective = np.array(
            [[2 * d, d, d, 2 * a + b + c], [d, 0, 0, a], [d, 0, 0, a], [2 * a + b + c, a, a, 0]]
        )
        of_product = np.array(
            [
                [0, c * d, b * d, b * c],
                [c * d, 0, a * d, a * c],
                [b * d, a * d, 0, a * b],
                [b * c, a * c, a * b, 0],
            ]
        )
        return factor * of_objective + multipliers[0] * of_product + multipliers[1] * 2 * np.eye(4)

    return DenseNLP(
        start=np.array([1.0, 5.0, 5.0, 1.0]),
        objective=lambda y: y[0] * y[3] * (y[0] + y[1] + y[2]) + y[2],
        gradient=lambda y: np.array(
            [y[3] * (2 * y[0] + y[1] + y[2]), y[0] * y[3], y[0] * y[3] + 1, y[0] * (y[0] + y[1] + y[2])]
        ),
        rows=lambda y: np.array([np.prod(y), y @ y]),
        full_jacobian=lambda y: np.array([[np.prod(np.delete(y, i)) for i in range(4)], 2 * y]),
        full_hessian=hessian,
        row_lower=np.array([25.0, 40.0]),
        row_upper=np.array([INF, 40.0]),
        lower=np.ones(4),
        upper=np.full(4, 5.0),
        solution=np.array([1.0, 4.74299963, 3.82114998, 1.37940829]),
    )


def unconstrained(start, objective, gradient, hessian, **changes) -> DenseNLP:
    """A program without rows; bounds only where `changes` gives them."""
    n = len(start)
    nlp = DenseNLP(
        start=np.array(start, dtype=float),
        objective=objective,
        gradient=gradient,
        rows=lambda y: np.empty(0),
        full_jacobian=lambda y: np.empty((0, n)),
        full_hessian=lambda y, multipliers, factor: factor * hessian(y),
        row_lower=np.empty(0),
        row_upper=np.empty(0),
        lower=np.full(n, -INF),
        upper=np.full(n, INF),
    )
    return replace(nlp, **changes)


def rosenbrock() -> DenseNLP:
    """Rosenbrock's valley: no rows, no bounds, minimum 0 at (1, 1)."""
    return unconstrained(
        [-1.2, 1.0],
        lambda y: 100 * (y[1] - y[0] ** 2) ** 2 + (1 - y[0]) ** 2,
        lambda y: np.array([-400 * y[0] * (y[1] - y[0] ** 2) - 2 * (1 - y[0]), 200 * (y[1] - y[0] ** 2)]),
        lambda y: np.array([[1200 * y[0] ** 2 - 400 * y[1] + 2, -400 * y[0]], [-400 * y[0], 200.0]]),
        solution=np.ones(2),
    )


def slow(seconds: float, pass_time: Callable[[float], None]) -> DenseNLP:
    """Rosenbrock's valley whose objective takes `seconds` to evaluate, of a clock that `pass_time` moves."""
    fast = rosenbrock()

    def objective(y):
        pass_time(seconds)
        return fast.objective(y)

    return replace(fast, objective=objective)


def unbounded() -> DenseNLP:
    """A straight line downhill: f = -y, without end."""
    return unconstrained([0.0], lambda y: -float(y[0]), lambda y: -np.ones(1), lambda y: np.zeros((1, 1)))


def sluggish() -> DenseNLP:
    """f = y^2 / 2 with a second derivative a thousand times too large: Newton steps gain 0.1 % each."""
    return unconstrained(
        [1.0], lambda y: float(y @ y) / 2, lambda y: y.copy(), lambda y: np.full((1, 1), 1000.0)
    )


def quadratic_with_rows(matrix, linear, rows, row_lower, row_upper, **changes) -> DenseNLP:
    """f = y' matrix y / 2 + linear' y with linear rows."""
    matrix, linear, rows = (np.array(part, dtype=float) for part in (matrix, linear, rows))
    nlp = DenseNLP(
        start=np.zeros(linear.size),
        objective=lambda y: float(y @ matrix @ y / 2 + linear @ y),
        gradient=lambda y: matrix @ y + linear,
        rows=lambda y: rows @ y,
        full_jacobian=lambda y: rows,
        full_hessian=lambda y, multipliers, factor: factor * matrix,
        row_lower=np.array(row_lower, dtype=float),
        row_upper=np.array(row_upper, dtype=float),
        lower=np.full(linear.size, -INF),
        upper=np.full(linear.size, INF),
    )
    return replace(nlp, **changes)


def equality_quadratic() -> DenseNLP:
    """Six unknowns, three equations; the answer and its multipliers solve one linear system."""
    random = np.random.default_rng(1)
    root = random.normal(size=(6, 6))
    matrix, linear = root @ root.T + np.eye(6), random.normal(size=6)
    rows, right = random.normal(size=(3, 6)), np.ones(3)
    system = np.block([[matrix, rows.T], [rows, np.zeros((3, 3))]])
    answer = np.linalg.solve(system, np.concatenate([-linear, right]))
    return quadratic_with_rows(
        matrix, linear, rows, right, right, solution=answer[:6], multipliers=answer[6:]
    )


def infeasible() -> DenseNLP:
    """The disc y'y <= 1 and the half plane sum(y) >= 3 do not meet."""
    return DenseNLP(
        start=np.array([0.7, 0.2]),
        objective=lambda y: float(y[0]),
        gradient=lambda y: np.array([1.0, 0.0]),
        rows=lambda y: np.array([y @ y, y.sum()]),
        full_jacobian=lambda y: np.array([2 * y, np.ones(2)]),
        full_hessian=lambda y, multipliers, factor: multipliers[0] * 2 * np.eye(2),
        row_lower=np.array([-INF, 3.0]),
        row_upper=np.array([1.0, INF]),
        lower=np.full(2, -INF),
        upper=np.full(2, INF),
    )


def violated(rows, slopes, curvature, limits, start) -> DenseNLP:
    """minimize sum(y) within +-10; `curvature(y, multipliers)` is that of the rows, limits (lower, upper)."""
    n = len(start)
    return DenseNLP(
        start=np.asarray(start, dtype=float),
        objective=lambda y: float(y.sum()),
        gradient=np.ones_like,
        rows=lambda y: np.atleast_1d(rows(y)),
        full_jacobian=lambda y: np.atleast_2d(slopes(y)),
        full_hessian=lambda y, multipliers, factor: curvature(y, multipliers) * np.eye(n),
        row_lower=np.atleast_1d(limits[0]).astype(float),
        row_upper=np.atleast_1d(limits[1]).astype(float),
        lower=np.full(n, -10.0),
        upper=np.full(n, 10.0),
    )


def failing(
    nlp: DenseNLP, kind: str, after: int, outcome: Callable[[], float], times: int = 10**9
) -> DenseNLP:
    """`nlp` whose function `kind`, after so many good calls, is multiplied so often by `outcome()`."""
    calls = []
    name = {"jacobian": "full_jacobian", "hessian": "full_hessian"}.get(kind, kind)
    original = getattr(nlp, name)

    def function(*arguments):
        calls.append(None)
        return (outcome() if after < len(calls) <= after + times else 1.0) * original(*arguments)

    return replace(nlp, **{name: function})
