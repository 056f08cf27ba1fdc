"""Limits and units of the curves of a solution, as far as its problem is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.plot.drawable import problem_of
from trajopt.problem.systems.robot_on_path import RobotOnPath
from trajopt.problem.units import units_of_quantity
from trajopt.splines.node_sets import PATH
from trajopt.terms.term import ComponentTerm, Quantity

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

QUANTITIES = ("q", "v", "a", "jerk")  # by their order
RATES = ("", "/s", "/s^2", "/s^3")  # units by the same order


def path_bounds(problem: Any, quantity: str, width: int) -> tuple[Array, Array]:
    """The largest lower and the smallest upper bound over the path; infinite where there is none."""
    lower, upper = np.full(width, -np.inf), np.full(width, np.inf)
    name = quantity.partition(":")[2]
    if name in problem.extras:
        lower, upper = problem.extras[name].lower, problem.extras[name].upper
    for constraint in problem.constraints:
        if constraint.term.quantity == quantity and constraint.over == PATH:
            lower, upper = np.maximum(lower, constraint.lower), np.minimum(upper, constraint.upper)
    return lower, upper


def joint_bounds(solution: SolutionData, order: int) -> tuple[Array, Array]:
    """Bounds of positions (order 0), velocities, accelerations or jerks of all joints, (n,) each.

    Those of the robot, or narrower ones that the problem states over the path; infinite where it is unknown.
    """
    count, problem = len(solution.joint_names), problem_of(solution)
    if problem is None:
        return np.full(count, -np.inf), np.full(count, np.inf)
    lower, upper = path_bounds(problem, QUANTITIES[order], count)
    limits = solution.limits
    if limits is not None and order < 2:
        own = (limits.q_lower, limits.q_upper) if order == 0 else (-limits.velocity, limits.velocity)
        lower, upper = np.maximum(lower, own[0]), np.minimum(upper, own[1])
    return lower, upper


def torque_bounds(solution: SolutionData) -> tuple[Array, Array]:
    """Torque limits of the joints that have torques: of the dynamics, or of the robot on a path."""
    dynamics = solution.problem.dynamics
    limits = dynamics.robot.limits if isinstance(dynamics, RobotOnPath) else solution.limits
    return limits.torque_lower, limits.torque_upper


def held_at_zero(solution: SolutionData) -> Array:
    """Which torques (n,) the problem holds at zero all the time: of joints without motors, of a free base.

    Between nodes a spline leaves a residual of such an equation, which is no torque that acts. The ends of
    arcs do not count, as they are single instants.
    """
    problem, names = solution.problem, solution.driven_joints
    nodes = problem.trajectory.nodes
    held = np.zeros((nodes.count, len(names)), dtype=bool)
    for joint, parts in problem.passive_joints.items():
        for part in parts if joint in names else ():
            held[part.nodes(problem.trajectory), names.index(joint)] = True
    for each in problem.constraints:
        zero = (each.lower == 0.0) & (each.upper == 0.0)
        if each.over.is_difference or not zero.any():
            continue
        if isinstance(each.term, ComponentTerm) and each.term.base == "tau":
            held[each.over.nodes(problem.trajectory), each.term.component] = True
        elif isinstance(each.term, Quantity) and each.term.quantity == "tau":
            held[np.ix_(each.over.nodes(problem.trajectory), zero)] = True
    return np.all(held[(nodes.s > 0.0) & (nodes.s < 1.0)], axis=0)


def joint_units(solution: SolutionData, order: int = 0) -> list[str]:
    """Units of positions, velocities, accelerations or jerks of all joints: "rad/s" or "m/s"."""
    problem, names = problem_of(solution), solution.joint_names
    if problem is None:
        return ["rad or m" if order == 0 else f"(rad or m){RATES[order]}"] * len(names)
    return units_of_quantity(problem, QUANTITIES[order], len(names))


def torque_units(solution: SolutionData) -> list[str]:
    """Units of torques and forces of the joints that have them."""
    return units_of_quantity(solution.problem, "tau", len(solution.driven_joints))
