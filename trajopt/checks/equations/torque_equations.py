"""Path equations on torques, tau_pole = 0 for instance, linearised by the torques: r = C tau + other forces.

The motion needs the residual r as a force that no motor supplies. Here are r, C, and the torques without
those that r asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_times import Samples
from trajopt.checks.equations.path_equations import path_equations
from trajopt.graph.chain_rule import ChainRule
from trajopt.graph.graph import Graph
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import ProblemData
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

REPEATED = 1e-10  # relative singular value below which equations on the torques repeat each other


@dataclass(frozen=True, eq=False)
class TorqueRows:
    """Torque equations, row by row, at times (K,).

    owners : constraint and component of every row, m of them
    residual : r = value - bound (K, m);  by_torque : C = dr/dtau (K, m, n);  holds : where, (K, m)
    """

    owners: tuple[tuple[Constraint, int], ...]
    residual: Array
    by_torque: Array
    holds: Array


def torque_equations(problem: ProblemData) -> list[Constraint]:
    """The path equations that contain torques directly: those that torques alone can satisfy."""
    return [c for c in path_equations(problem) if contains_torques(problem, c)]


def contains_torques(problem: ProblemData, constraint: Constraint) -> bool:
    """Whether a constraint contains torques directly.

    False where there is not one torque per coordinate, as of a robot on a path.
    """
    if problem.quantities.knows("tau") and problem.width_of("tau") != problem.dynamics.n:
        return False
    return "tau" in _inputs(problem, constraint.term)


def torque_rows(solution: SolutionData, equations: Sequence[Constraint], here: Samples) -> TorqueRows:
    """Residuals and derivatives of these equations at the given times."""
    problem, n, count = solution.problem, solution.problem.dynamics.n, here.times.size
    needed = sorted({name for c in equations for name in _inputs(problem, c.term)})
    u = solution.values([terms.Quantity(name) for name in needed], here.times)
    owners: list[tuple[Constraint, int]] = []
    residual, slopes, holds = [np.zeros((count, 0))], [np.zeros((count, 0, n))], [np.zeros((count, 0), bool)]
    for constraint in equations:
        equal = np.flatnonzero(constraint.lower == constraint.upper)
        value, slope = _by_torque(problem, constraint.term, u)
        owners += [(constraint, int(component)) for component in equal]
        residual.append(value[:, equal] - constraint.lower[equal])
        slopes.append(slope[:, equal])
        holds.append(np.repeat(constraint.over.mask(here)[:, None], equal.size, axis=1))
    r, C, where = (np.concatenate(parts, axis=1) for parts in (residual, slopes, holds))
    return TorqueRows(tuple(owners), r, C, where)


def torque_residual(solution: SolutionData, equations: Sequence[Constraint], times: Array) -> Array:
    """The least torques (K, n) without which all these equations hold at times (K,): C^+ r."""
    rows = torque_rows(solution, equations, Samples.at(solution.curve, times))
    C, r = rows.by_torque * rows.holds[:, :, None], rows.residual * rows.holds
    if not (np.all(np.isfinite(C)) and np.all(np.isfinite(r))):
        return np.full((times.size, solution.problem.dynamics.n), np.nan)
    return (np.linalg.pinv(C, rcond=REPEATED) @ r[:, :, None])[:, :, 0]


def _by_torque(problem: ProblemData, term: Any, u: dict[str, Array]) -> tuple[Array, Array]:
    """Value (K, width) and derivative by the torques (K, width, n) of a term, all else held fixed."""
    inputs = _inputs(problem, term)
    graph = Graph({name: u[name].shape[1] for name in inputs}, problem.blocks_of(term))
    values = graph.values({name: u[name] for name in inputs})
    chain = ChainRule(graph, [term.quantity], [], inputs)
    D = chain.jacobian(graph.partials(values), len(u["tau"]), np.dtype(float))
    return values[term.quantity], D[:, chain.rows[term.quantity], chain.columns["tau"]]


def _inputs(problem: ProblemData, term: Any) -> list[str]:
    """The quantities that a term's own blocks ask for, or the quantity that it is."""
    blocks = problem.blocks_of(term)
    made = _names(block.outputs for block in blocks)
    return sorted(_names(block.inputs for block in blocks) - made) if blocks else [term.quantity]


def _names(several: Iterable[Any]) -> set[str]:
    return {name for names in several for name in names}
