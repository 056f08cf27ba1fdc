"""Units of the curves of a solution, as far as its problem is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt.plot.bounds import QUANTITIES
from trajopt.plot.drawable import problem_of
from trajopt.problem.units import units_of_quantity

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

RATES = ("", "/s", "/s^2", "/s^3")


def joint_units(solution: SolutionData, order: int = 0) -> list[str]:
    """Units of positions, velocities, accelerations or jerks of all joints: "rad/s" or "m/s"."""
    problem, names = problem_of(solution), solution.joint_names
    if problem is None:
        return ["rad or m" if order == 0 else f"(rad or m){RATES[order]}"] * len(names)
    return units_of_quantity(problem, QUANTITIES[order], len(names))


def torque_units(solution: SolutionData) -> list[str]:
    """Units of torques and forces of the joints that have them."""
    return units_of_quantity(solution.problem, "tau", len(solution.driven_joints))
