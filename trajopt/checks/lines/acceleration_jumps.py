"""Knots at which a term is infinite: one of the jerk where the acceleration jumps, one of the acceleration
(torques, say) where the velocity does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.lines.statement_times import interval_of
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem_graph import graph_of
from trajopt.splines.polynomial_bounds import jump_times

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

JUMP = 1e-6  # of the largest acceleration or velocity of a joint: smaller jumps are rounding


def acceleration_jumps(solution: SolutionData, constraint: Constraint, c: int) -> Array:
    """Times, inside the interval of a constraint, at which its component c is infinite for that reason.

    Empty where the component depends on neither jerk nor acceleration, or is stated for single times. At the
    border of two arcs velocities may jump, as an impact makes them: that is no torque.
    """
    if not constraint.over.integrates:
        return np.empty(0)
    curve, when, found = solution.curve, interval_of(constraint.over, solution.curve), [np.empty(0)]
    jerk, a = _joints(solution, constraint, c)
    found += [jump_times(curve, int(joint), 2, JUMP) for joint in np.flatnonzero(jerk)]
    for joint in np.flatnonzero(jerk | a):
        times = jump_times(curve, int(joint), 1, JUMP)
        found.append(times[~np.isin(times, curve.starts)])
    times = np.unique(np.concatenate(found))
    return times[(times > when.first) & (times < when.last)]


def _joints(solution: SolutionData, constraint: Constraint, c: int) -> tuple[Array, Array]:
    """On which joints' jerk, and on which accelerations, a component of a constraint depends, (n,) each."""
    problem, quantity = solution.problem, constraint.term.quantity
    n = problem.dynamics.n
    if quantity in problem.spline_leaves:
        one = np.arange(n) == c
        return one & (quantity == "jerk"), one & (quantity == "a")
    pattern = graph_of(problem, [constraint.term]).leaf_pattern(quantity)
    none = np.zeros((c + 1, n), dtype=bool)
    return np.asarray(pattern.get("jerk", none))[c], np.asarray(pattern.get("a", none))[c]
