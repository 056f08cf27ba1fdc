"""Path equations of a solution: constraints value(t) = bound over a part of the motion, and their residuals.

A spline meets a nonlinear equation at its nodes only. Between them it leaves a residual r(t) = value - bound,
which the motion found needs as a disturbance: the torque at a joint without a motor, for instance. Here are
the scale r is compared with and the torques without those that r asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.arrays import Array
from trajopt.graph.chain_rule import ChainRule
from trajopt.graph.graph import Graph
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.check_times import Samples
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

AT_REST = 1e-12  # SI units: a scale below this is what rounding leaves of a motion at rest
REPEATED = 1e-10  # relative singular value below which equations on the torques repeat each other


def path_equations(problem: Problem) -> list[Constraint]:
    """The constraints that are equations, in some component, over the path, an arc or a window."""
    return [c for c in problem.constraints if holds_over_time(c) and np.any(c.lower == c.upper)]


def holds_over_time(constraint: Constraint) -> bool:
    """Whether a constraint is meant for all times of a part of the motion."""
    over = constraint.over
    return over.integrates and over.has_cost and not over.is_difference


def equation_scales(solution: Solution, several: Sequence[Any], times: Array) -> dict[str, Array]:
    """The scale (width,) of every term: the largest of `part_sums` over times."""
    return {name: scale_of(sums) for name, sums in part_sums(solution, several, times).items()}


def part_sums(solution: Solution, several: Sequence[Any], times: Array) -> dict[str, Array]:
    """sum_j |dy/dz_j| |z_j| of every term y at times (K,), (K, width); z are all leaves but t.

    Zero where it is not finite. A position counts by no more than its range over the times, so that a joint
    that starts some turns away has the same scale.
    """
    if not several:
        return {}
    graph = graph_of(solution.problem, several)
    z = solution.leaves(times)
    with np.errstate(all="ignore"):
        partials = graph.partials(graph.values(z))
        chain = ChainRule(graph, [term.quantity for term in several], [], list(graph.leaves))
        D = np.abs(chain.jacobian(partials, times.size, np.dtype(float)))
        sums = np.einsum(
            "krc,kc->kr", D, np.concatenate([_size(leaf, z[leaf]) for leaf in graph.leaves], axis=1)
        )
    finite = np.where(np.isfinite(sums), sums, 0.0)
    return {term.quantity: finite[:, chain.rows[term.quantity]] for term in several}


def _size(leaf: str, values: Array) -> Array:
    if leaf == "t":
        return np.zeros_like(values)
    return np.minimum(np.abs(values), np.ptp(values, axis=0)) if leaf == "q" else np.abs(values)


def scale_of(sums: Array) -> Array:
    """The largest of sums (K, width) over time, (width,).

    A component below a millionth of the largest one counts as that millionth, where rounding is; where all
    are below `AT_REST` they count as one unit.
    """
    scale = sums.max(axis=0, initial=0.0)
    largest = float(scale.max(initial=0.0))
    return np.maximum(scale, 1e-6 * largest) if largest > AT_REST else np.ones_like(scale)


def torque_equations(problem: Problem) -> list[Constraint]:
    """The path equations that contain torques directly: those that torques alone can satisfy."""
    return [c for c in path_equations(problem) if "tau" in _inputs(problem, c.term)]


def torque_residual(solution: Solution, equations: Sequence[Constraint], times: Array) -> Array:
    """The least torques (K, n) without which all these equations hold at times (K,): C^+ r, C = dr/dtau."""
    problem, n = solution.problem, solution.problem.dynamics.n
    needed = sorted({name for c in equations for name in _inputs(problem, c.term)})
    u = solution.values([terms.Quantity(name) for name in needed], times)
    here = Samples.at(solution.curve, times)
    rows, residuals = [np.zeros((times.size, 0, n))], [np.zeros((times.size, 0))]
    for constraint in equations:
        equal = np.flatnonzero(constraint.lower == constraint.upper)
        value, slope = _by_torque(problem, constraint.term, u)
        inside = constraint.over.mask(here)[:, None]
        rows.append(slope[:, equal] * inside[:, :, None])
        residuals.append((value[:, equal] - constraint.lower[equal]) * inside)
    C, r = np.concatenate(rows, axis=1), np.concatenate(residuals, axis=1)
    if not (np.all(np.isfinite(C)) and np.all(np.isfinite(r))):
        return np.full((times.size, n), np.nan)
    return (np.linalg.pinv(C, rcond=REPEATED) @ r[:, :, None])[:, :, 0]


def _by_torque(problem: Problem, term: Any, u: dict[str, Array]) -> tuple[Array, Array]:
    """Value (K, width) and derivative by the torques (K, width, n) of a term, all else held fixed."""
    inputs = _inputs(problem, term)
    graph = Graph({name: u[name].shape[1] for name in inputs}, problem.blocks_of(term))
    values = graph.values({name: u[name] for name in inputs})
    chain = ChainRule(graph, [term.quantity], [], inputs)
    D = chain.jacobian(graph.partials(values), len(u["tau"]), np.dtype(float))
    return values[term.quantity], D[:, chain.rows[term.quantity], chain.columns["tau"]]


def _inputs(problem: Problem, term: Any) -> list[str]:
    """The quantities that a term's own blocks ask for, or the quantity that it is."""
    blocks = problem.blocks_of(term)
    made = _names(block.outputs for block in blocks)
    return sorted(_names(block.inputs for block in blocks) - made) if blocks else [term.quantity]


def _names(several: Iterable[Any]) -> set[str]:
    return {name for names in several for name in names}
