"""The balance of a robot on feet between nodes: what force and moment its motion needs beyond the ground's.

    [m; f] = d/dt [angular; linear momentum] - gravity - sum of the loads on links

about the centre of mass, from the base wrench of inverse dynamics: zero where the ground alone carries the
robot, whatever coordinates describe its base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.peaks_between_nodes import dense_samples
from trajopt.splines.node_sets import PATH
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

# Of a weight, and of a weight times the height, that may be missing. In simulations of measured motions
# Hicks et al., J. Biomech. Eng. 137(2), 020905 (2015), accept a residual force of 5 % of the external one,
# and a moment of 1 % of it times the height. Jumps of the gallery miss up to 1.3 %: `python -m
# benchmarks.legged`.
MOST = 0.05


@dataclass(frozen=True)
class BaseBalance:
    """The largest missing force and moment over all times sampled.

    force : in weights of the robot;  force_time : s
    moment : in weights times the height;  moment_time : s
    height : m, largest, of the centre of mass over the lowest foot
    """

    force: float
    force_time: float
    moment: float
    moment_time: float
    height: float

    @property
    def reason(self) -> str:
        """Reason why the motion fails; empty where it does not. A number that is none fails."""
        if self.force <= MOST and self.moment <= MOST:
            return ""
        return f"the ground does not carry the robot between nodes: {self}; {MOST:g} of each is allowed"

    def __str__(self) -> str:
        return (
            f"{self.force:.2g} weights of force are missing at t = {self.force_time:.6g} s, "
            f"{self.moment:.2g} weights times {self.height:.3g} m of moment at t = {self.moment_time:.6g} s"
        )


def base_balance(solution: SolutionData) -> BaseBalance | None:
    """The balance of a robot with contacts, no motor of whose base works; None of any other motion."""
    problem, dynamics = solution.problem, cast("Any", solution.problem.dynamics)
    contacts = getattr(problem, "contacts", {})
    base = getattr(dynamics, "floating_joints", ())
    if not contacts or not base or any(PATH not in problem.passive_joints.get(each, ()) for each in base):
        return None
    gravity, times = np.asarray(dynamics.gravity), dense_samples(solution).times
    weight = dynamics.total_mass * float(np.linalg.norm(gravity))
    centre, loads = terms.Quantity("centre_of_mass"), list(problem.loads.values())
    feet = [terms.position(frame) for frame in contacts]
    values = solution.values([terms.base_wrench, centre, *loads, *feet], times)
    wrench = values["base_wrench"] - sum(values[load.quantity] for load in loads)
    place, up = values["centre_of_mass"], -gravity / np.linalg.norm(gravity)
    lowest = np.min([values[foot.quantity] @ up for foot in feet], axis=0)
    height = float((place @ up - lowest).max())
    moment = wrench[:, :3] - np.cross(place, wrench[:, 3:])
    force, force_time = _largest(wrench[:, 3:] / weight, times)
    return BaseBalance(force, force_time, *_largest(moment / (weight * height), times), height)


def _largest(vectors: Array, times: Array) -> tuple[float, float]:
    """The largest length of vectors (k, 3), NaN where one is, and its time."""
    lengths = np.linalg.norm(vectors, axis=1)
    at = int(np.argmax(lengths))
    return float(lengths[at]), float(times[at])
