"""Knots at which the acceleration jumps, so that a term that depends on the jerk is infinite there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.arrays import Array
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.statements.statement_times import interval_of
from trajopt.splines.polynomial_bounds import jump_times

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

JUMP = 1e-6  # of the largest acceleration of a joint: smaller jumps are rounding


def acceleration_jumps(solution: Solution, constraint: Constraint, c: int) -> Array:
    """Times, inside the interval of a constraint, at which its component c is infinite for that reason.

    Empty where the component does not depend on the jerk, or is stated for single times.
    """
    joints = _jerk_joints(solution, constraint, c)
    if not joints.any() or not constraint.over.integrates:
        return np.empty(0)
    when = interval_of(constraint.over, solution.curve)
    several = [jump_times(solution.curve, int(joint), 2, JUMP) for joint in np.flatnonzero(joints)]
    times = np.unique(np.concatenate(several))
    return times[(times > when.first) & (times < when.last)]


def _jerk_joints(solution: Solution, constraint: Constraint, c: int) -> Array:
    """Which joints' jerk a component of a constraint depends on, (n,)."""
    problem, quantity = solution.problem, constraint.term.quantity
    n = problem.dynamics.n
    if quantity in problem.spline_leaves:
        return (quantity == "jerk") & (np.arange(n) == c)
    pattern = graph_of(problem, [constraint.term]).jacobian_pattern.get(quantity, {})
    return np.asarray(pattern["jerk"])[c] if "jerk" in pattern else np.zeros(n, dtype=bool)
