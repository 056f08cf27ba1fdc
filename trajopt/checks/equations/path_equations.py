"""Path equations of a solution: constraints value(t) = bound over a part of the motion, and their residuals.

A spline meets a nonlinear equation at its nodes only. Between them it leaves a residual r(t) = value - bound,
which the motion found needs as a disturbance: the torque at a joint without a motor, for instance. Residuals
of equations without torques are compared with the sum of what they add up, those of forces as
`residual_forces` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.chain_rule import ChainRule
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import ProblemData
from trajopt.problem.problem_graph import graph_of

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

AT_REST = 1e-12  # SI units: a scale below this is what rounding leaves of a motion at rest


def path_equations(problem: ProblemData) -> list[Constraint]:
    """The constraints that are equations, in some component, over the path, an arc or a window."""
    return [c for c in problem.constraints if holds_over_time(c) and np.any(c.lower == c.upper)]


def holds_over_time(constraint: Constraint) -> bool:
    """Whether a constraint is meant for all times of a part of the motion."""
    over = constraint.over
    return over.integrates and over.has_cost and not over.is_difference


def part_sums(solution: SolutionData, several: Sequence[Any], times: Array) -> dict[str, Array]:
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
