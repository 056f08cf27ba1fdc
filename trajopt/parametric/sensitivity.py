"""The derivative of an optimum by an input: of its motion, its duration, its parameters and its objective.

At an optimum (y, mu) with active constraints W, Hessian H of the Lagrangian L and Jacobian A_W, a change
dp of the input moves it by

    [H  A_W'] [dy  ]     [d/dp grad_y L       ]
    [A_W  0 ] [dmu ] = - [d/dp (g_W - limit_W)] dp

as long as the same constraints stay active (Fiacco, Introduction to Sensitivity and Stability Analysis in
Nonlinear Programming, 1983, theorem 2.4.4). The objective changes by dL/dp. What an input changes in the
program is linear in it, or goes by the constants c of x = N y + c, by which all is differentiated exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import EvaluationError, OptionError
from trajopt.parametric.input_table import input_table
from trajopt.parametric.inputs import DurationInput, Input, LimitInput
from trajopt.parametric.warm_start import warm_program
from trajopt.problem.independent_copy import independent_copy
from trajopt.problem.problem import ProblemData
from trajopt.solution.solution import SolutionData
from trajopt.solvers.newton.newton import active_sides
from trajopt.solvers.optimality.multipliers import dense_jacobian, least_squares_multipliers
from trajopt.solvers.solver import WarmStart
from trajopt.splines.curve import Curve, CurveGroup
from trajopt.transcription.leaf_map import LeafMap
from trajopt.transcription.nlp import NLP
from trajopt.transcription.program_functions import ProgramFunctions, program_maps
from trajopt.transcription.transcribe import ProgramStructure, ProgramValues, structure_of, values_of
from trajopt.transcription.unknowns import Layout

STEP = 1e-3  # of a number of the input, relative to 1 + its size: what is linear in it has no other error
# Of a duration T, relative to it: a jerk that is given at a fixed duration stands in its equation times T^3.
DURATION_STEP = 1e-5
ACTIVE = 1e-9  # tolerance by which multipliers are told from zero
DEPENDENT = 1e-9  # of the largest pivot: rows that are combinations of others
SINGULAR = 1e12  # condition of the system above which the derivative is not determined


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of an optimum by the m numbers of an input, one-sided where a limit is just reached.

    labels : (m,) of the input's numbers: component, and the side of a limit
    objective, duration : (m,)
    parameters : name -> (width, m)
    """

    keyword: str
    labels: tuple[str, ...]
    objective: NDArray[np.float64]
    duration: NDArray[np.float64]
    parameters: Mapping[str, NDArray[np.float64]]
    curves: tuple[Curve, ...]  # one per number: derivatives of control points, over a unit of time
    n: int

    def q(self, s: ArrayLike) -> NDArray[np.float64]:
        """Derivatives of positions at normalised times s (...,) of the motion, (..., n, m)."""
        return np.stack([curve.at_progress(s)[..., : self.n] for curve in self.curves], axis=-1)

    def __str__(self) -> str:
        rows = [f"d (objective, duration) / d {self.keyword}"]
        for label, objective, duration in zip(self.labels, self.objective, self.duration, strict=True):
            rows.append(f"  {label or self.keyword}: {objective:.6g}, {duration:.6g}")
        return "\n".join(rows)


def sensitivity(solution: SolutionData, name: str) -> Sensitivity:
    """See `Solution.sensitivity`."""
    if not solution.converged:
        raise OptionError(
            f"the solution of '{solution.name}' is not converged: there is no optimum to differentiate"
        )
    problem = solution.problem
    chosen = input_table(problem).find(name)
    rows = (chosen.number,) if isinstance(chosen, LimitInput) and chosen.unchanging.any() else ()
    if rows:
        chosen = input_table(problem, rows).find(name)
    structure = structure_of(problem, rows)
    values = values_of(structure, problem)
    nlp, start = warm_program(structure, values, problem, solution)
    point = start or least_squares_multipliers(nlp, nlp.start)
    system = _System(nlp, point)
    moved = [_change(chosen, problem, structure, nlp, i) for i in range(chosen.numbers(problem).size)]
    return _derivatives(chosen, structure, system, moved, len(solution.joint_names))


@dataclass(frozen=True, eq=False)
class _Change:
    """What one number of an input changes per unit: c, the linear rows, all limits, the weights."""

    c: Array
    linear: sparse.csr_array
    b: Array
    row_limits: tuple[Array, Array]  # of all rows, scaled
    limits: tuple[Array, Array]  # of y
    weights: Array  # of the objectives


def _change(chosen: Input, problem: ProblemData, structure: ProgramStructure, nlp: NLP, i: int) -> _Change:
    numbers = chosen.numbers(problem)
    size = abs(float(numbers[i]))
    step = DURATION_STEP * size if isinstance(chosen, DurationInput) else STEP * (1.0 + size)
    sides: list[tuple[ProgramValues, tuple[Array, Array], Array]] = []
    for signed in (-step, step):
        other = independent_copy(problem)
        chosen.put_numbers(other, numbers + signed * (np.arange(numbers.size) == i))
        values = values_of(structure, other)
        weights = np.array([cost.weight for cost in other.costs])
        bounds = values.row_bounds(structure.groups).scaled(nlp.row_scale)
        sides.append((values, (bounds.lower, bounds.upper), weights))
    (low, low_rows, low_weights), (high, high_rows, high_weights) = sides
    width = 2.0 * step

    def slope(one: Array, other: Array) -> Array:
        with np.errstate(invalid="ignore"):  # limits that are absent
            return np.nan_to_num((other - one) / width, nan=0.0)

    return _Change(
        slope(low.unknowns.elimination.c, high.unknowns.elimination.c),
        (high.linear.A - low.linear.A) / width,
        slope(low.linear.b, high.linear.b),
        (slope(low_rows[0], high_rows[0]), slope(low_rows[1], high_rows[1])),
        (slope(low.bounds.lower, high.bounds.lower), slope(low.bounds.upper, high.bounds.upper)),
        slope(low_weights, high_weights),
    )


class _System:
    """The optimality conditions at a point, linearised for its active constraints."""

    def __init__(self, nlp: NLP, point: WarmStart) -> None:
        self.nlp, self.point, n = nlp, point, nlp.variable_count
        rows, low, high = point.row_multipliers, point.lower_multipliers, point.upper_multipliers
        assert rows is not None and low is not None and high is not None
        self.multipliers = np.concatenate([rows, high - low])
        self.side = active_sides(nlp, self.multipliers, ACTIVE)
        self.active = np.flatnonzero(self.side)
        A = np.concatenate([dense_jacobian(nlp, nlp.jacobian(point.y)), np.eye(n)])[self.active]
        independent = _independent(A)
        self.solved, A = self.active[independent], A[independent]
        H = np.zeros((n, n))
        np.add.at(H, (nlp.hessian_rows, nlp.hessian_columns), nlp.hessian(point.y, rows, 1.0))
        H += np.tril(H, -1).T
        self.K = np.block([[H, A.T], [A, np.zeros((len(A), len(A)))]])
        if not np.linalg.cond(self.K) < SINGULAR:
            raise EvaluationError(
                "the optimum is not strict, so that it has no derivative: add a cost that decides between "
                "motions that are equally good"
            )

    def step(self, stationarity: Array, constraints: Array) -> Array:
        """dy for the changes per unit of grad_y L (n,) and of g - limit for all rows and bounds (m + n,)."""
        right = -np.concatenate([stationarity, constraints[self.solved]])
        return np.linalg.solve(self.K, right)[: self.nlp.variable_count]


def _independent(A: Array) -> Array:
    """Rows of A (m, n) of which the others are combinations.

    A limit that holds a polynomial at more nodes than it has coefficients is active more often than needed.
    """
    from scipy.linalg import qr

    if not A.size:
        return np.arange(len(A))
    R, order = qr(A.T, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    return np.sort(order[: int(np.sum(size > DEPENDENT * size[0]))])


def _derivatives(
    chosen: Input, structure: ProgramStructure, system: _System, moved: list[_Change], n: int
) -> Sensitivity:
    nlp, point = system.nlp, system.point
    layout, linear = nlp.unknowns.layout, nlp.linear.count
    rows = system.multipliers[: nlp.row_count]
    extended = _by_constants(structure, nlp, np.stack([change.c for change in moved], axis=1))
    y = np.concatenate([point.y, np.zeros(len(moved))])
    slope_of_objective = extended.gradient(y)[point.y.size :]
    J = (
        sparse.coo_array(
            (extended.jacobian(y), (extended.jacobian_rows, extended.jacobian_columns)),
            shape=(nlp.row_count - linear, y.size),
        )
        .tocsr()[:, point.y.size :]
        .toarray()
    )
    H = (
        sparse.coo_array(
            (
                extended.hessian(y, rows[linear:], 1.0),
                (extended.hessian_rows, extended.hessian_columns),
            ),
            shape=(y.size, y.size),
        )
        .tocsr()[point.y.size :, : point.y.size]
        .toarray()
    )
    objective, dx = [], []
    for i, change in enumerate(moved):
        scale = nlp.row_scale[:linear]
        of_linear = scale * (change.linear @ point.y + change.b)
        weighted = _weighted(structure, nlp, change.weights)
        stationarity = H[i] + change.linear.T @ (scale * rows[:linear]) + weighted.gradient(point.y)
        values = np.concatenate([of_linear, J[:, i], np.zeros(point.y.size)])
        limits = [np.concatenate(each) for each in zip(change.row_limits, change.limits, strict=True)]
        gap = values - np.where(system.side < 0, limits[0], limits[1])
        dx.append(nlp.unknowns.elimination.N @ system.step(stationarity, gap) + change.c)
        of_constraints = system.multipliers[system.active] @ gap[system.active]
        objective.append(
            (slope_of_objective[i] + weighted.objective(point.y) + of_constraints) / nlp.objective_scale
        )
    return Sensitivity(
        chosen.keyword,
        chosen.labels,
        np.array(objective),
        np.array([float(each[layout.durations].sum()) for each in dx]),
        {name: np.stack([each[place] for each in dx], axis=-1) for name, place in layout.parameters.items()},
        tuple(_curve(layout, each) for each in dx),
        n,
    )


def _by_constants(structure: ProgramStructure, nlp: NLP, C: Array) -> ProgramFunctions:
    """The functions of all rows but the linear ones, by y and p, where x = N y + c + C p."""
    solution, maps, linear = structure.solution, structure.maps, nlp.linear.count
    wider = sparse.csr_array(sparse.hstack([solution.N, sparse.csr_array(C)], format="csr"))
    leaf_map = LeafMap(structure.spline_map, wider, maps.leaf_map.leaves)
    extended = program_maps(maps.chain.graph, leaf_map, nlp.objectives, structure.groups, 0)
    none, chain = sparse.csr_array((0, wider.shape[1])), extended.chain.on(nlp.chain.graph)
    functions = extended.functions(chain, nlp.unknowns.elimination.c, nlp.objectives, none, np.zeros(0))
    return functions.scaled(nlp.row_scale[linear:], nlp.objective_scale)


def _weighted(structure: ProgramStructure, nlp: NLP, weights: Array) -> ProgramFunctions:
    """The functions with other weights of the objectives."""
    objectives = [replace(each, weight=float(w)) for each, w in zip(nlp.objectives, weights, strict=True)]
    linear, c = nlp.linear, nlp.unknowns.elimination.c
    functions = structure.maps.functions(nlp.chain, c, objectives, linear.A, linear.b)
    return functions.scaled(nlp.row_scale, nlp.objective_scale)


def _curve(layout: Layout, dx: Array) -> Curve:
    """Derivatives of control points as a curve over a unit of time for every arc."""
    joints, *apart = (CurveGroup(group.bases, group.control_points(dx)) for group in layout.groups)
    return Curve(joints.bases, joints.control_points, np.ones(len(joints.bases)), tuple(apart))
