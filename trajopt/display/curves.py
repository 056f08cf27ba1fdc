"""Components of quantities over a motion, with names, units and bounds: for figures, cards, pages, tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.graph.quantities import SPLINE_LEAVES, TORQUES, extra_leaf
from trajopt.problem.constraints.coordinate_bounds import sprung_joints
from trajopt.problem.systems.robot_on_path import RobotOnPath
from trajopt.problem.systems.system import System
from trajopt.solution.solution import SolutionData
from trajopt.splines.node_sets import PATH
from trajopt.terms.term import Quantity, components_read

if TYPE_CHECKING:
    from trajopt.problem.problem import ProblemData


@dataclass(frozen=True, eq=False)
class Component:
    """One component of a quantity over a motion: values (K,), unit ("" where none is known) and bounds."""

    name: str
    values: NDArray[np.float64]
    unit: str = ""
    lower: float = -np.inf
    upper: float = np.inf


def problem_of(solution: SolutionData) -> ProblemData | None:
    """The problem, or None for a loaded solution that cannot build it."""
    try:
        return solution.problem
    except TrajoptError:
        return None


def unknown_curves(problem: ProblemData) -> list[str]:
    """Names of the curves that the user added to a problem."""
    return [name for name in problem.extras if name not in problem.slacks]


def driving_torque(problem: ProblemData) -> str:
    """The quantity that the robot's torque limits hold for: "motor_torque" beside springs and dampers."""
    dynamics = problem.dynamics
    robot = dynamics.robot if isinstance(dynamics, RobotOnPath) else dynamics
    return "motor_torque" if sprung_joints(robot, problem.designs) else "tau"


def kinds_of(problem: ProblemData) -> dict[str, str]:
    """The quantities that describe a motion, each with what its components are, in words."""
    robot = {"q": "positions", "v": "velocities", "a": "accelerations"}
    kinds = {"q": "states"} if isinstance(problem.dynamics, System) else robot
    if problem.quantities.knows("tau"):
        kinds["tau"] = "torques and forces"
        if driving_torque(problem) == "motor_torque":
            kinds["motor_torque"] = "torques and forces of motors"
    return kinds | {extra_leaf(name): f"{name}, an unknown curve" for name in unknown_curves(problem)}


def curves_of(solution: SolutionData, quantities: Iterable[str], t: NDArray) -> dict[str, list[Component]]:
    """The components of every quantity at times t (K,); without the problem those of q, v, a and jerk."""
    problem = problem_of(solution)
    if problem is None:
        each = {quantity: getattr(solution, quantity)(t).T for quantity in quantities}
        return {quantity: list(map(Component, solution.joint_names, rows)) for quantity, rows in each.items()}
    values = solution.values([Quantity(quantity) for quantity in quantities], t)
    return {quantity: _of_quantity(problem, quantity, values[quantity]) for quantity in quantities}


def _of_quantity(problem: ProblemData, quantity: str, values: NDArray) -> list[Component]:
    width = values.shape[1]
    names, units = problem.figure_labels(quantity, width), problem.quantity_units(quantity, width)
    lower, upper = bounds_of(problem, quantity, width)
    return list(map(Component, names, values.T, units, lower.tolist(), upper.tolist()))


def bounds_of(problem: ProblemData, quantity: str, width: int) -> tuple[Array, Array]:
    """The narrowest bounds (width,) that the robot and the problem have over the path."""
    lower, upper = np.full(width, -np.inf), np.full(width, np.inf)
    limits = problem.dynamics.limits
    has_torques = problem.quantities.knows("tau")
    if has_torques and quantity in TORQUES and quantity == driving_torque(problem):
        limits = problem.dynamics.robot.limits if isinstance(problem.dynamics, RobotOnPath) else limits
        lower, upper = limits.torque_lower, limits.torque_upper
    elif quantity in SPLINE_LEAVES[:2] and limits is not None:
        lower, upper = (
            (limits.q_lower, limits.q_upper) if quantity == "q" else (-limits.velocity, limits.velocity)
        )
    for name in problem.extras:
        if quantity == extra_leaf(name):
            lower, upper = problem.extras[name].lower, problem.extras[name].upper
    for constraint in problem.constraints:
        if constraint.term.quantity == quantity and constraint.over == PATH:
            lower, upper = np.maximum(lower, constraint.lower), np.minimum(upper, constraint.upper)
    return lower, upper


def held_at_zero(solution: SolutionData) -> Array:
    """Mask of the torques (n,) held at zero throughout: of joints without motors, of a free base.

    Between nodes a spline leaves a residual of such an equation, which is no torque that acts. The ends of
    arcs do not count, as they are single instants.
    """
    problem, names = solution.problem, solution.driven_joints
    nodes = problem.trajectory.nodes
    held = np.zeros((nodes.count, len(names)), dtype=bool)
    for joint, parts in problem.passive_joints.items():
        for part in parts if joint in names else ():
            held[part.nodes(problem.trajectory), names.index(joint)] = True
    for constraint in problem.constraints:
        quantity, own = components_read(constraint.term, len(names))
        if quantity == "tau" and not constraint.over.is_difference:
            zero = (constraint.lower == 0.0) & (constraint.upper == 0.0)
            held[np.ix_(constraint.over.nodes(problem.trajectory), own[zero])] = True
    return np.all(held[(nodes.s > 0.0) & (nodes.s < 1.0)], axis=0)
