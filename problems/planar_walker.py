"""Human gait in the sagittal plane with nine degrees of freedom: a small version of `gait`.

    minimize integral_0^T sum_i (muscle torque_i / largest torque_i)^2 dt

over one step of length L in T = L / speed, after which left and right have changed places. Pelvis (x, y,
tilt), hips, knees and ankles of the human skeleton; trunk, arms and toes are held rigidly. The ground's
reaction follows from the motion, is shared by the feet in double support and returns to them as loads.
"""

from __future__ import annotations

import trajopt
from problems.human.assessment.outputs import draw as draw
from problems.human.body.model import SAGITTAL
from problems.human.body.person import Person
from problems.human.gait.gait_problem import gait_problem
from problems.human.gait.step import Step
from problems.human.gait.step_limits import StepLimits
from problems.recipe import recipe

# Parts of the step at which the default step would leave limits of its feet between the other nodes.
LIMIT_NODES = (0.066, 0.19, 0.265, 0.515, 0.5825, 0.91)
CONSTRAINTS = (
    "joint limits", "torque limits", "foot placement", "penetration", "balance", "pressure", "push",
    "knee clearance", "heel strike", "continuous reaction",
)  # fmt: skip


@recipe
def build(
    *,
    intervals: int = 5,
    nodes_per_span: int = 4,
    speed: float = 1.2,
    step_length: float = 0.6,
    height: float = 1.75,
    mass: float = 75.0,
    foot_flat: float = 0.2,
    toe_off: float = 0.24,
    heel_off: float = 0.6,
    knee_peak: float = 0.42,
    swing_knee: tuple[float, float] = (55.0, 65.0),
    contact_tolerance: float = 0.0,
    contact_drift: float = 5e-3,
    penetration: float = 3e-3,
    friction: float = 0.7,
    springs: bool = True,
    without: str = "",
    start: str = "measured",
) -> trajopt.Problem:
    """One step; speed in m/s, lengths in m, mass in kg, angles in degrees.

    foot_flat, toe_off, heel_off, knee_peak : events in parts of the step
    swing_knee : bend of the swinging knee at its peak
    contact_tolerance : m, how closely standing foot points are at their places when they are held
    contact_drift : m, how far from their places they may be in between
    penetration : m, how deep foot points may sink where they are not held
    friction : coefficient of the ground
    springs : whether passive stiffness takes its part of each torque
    without : step constraints to leave out, names of CONSTRAINTS with commas between
    start : where the search starts, a "measured" gait or "standing" upright
    """
    step = Step(
        step_length, speed, height, mass, foot_flat, toe_off, heel_off,
        line=None, toes_bend=False, knee_peak=knee_peak, limit_nodes=LIMIT_NODES,
    )  # fmt: skip
    return gait_problem(
        "planar_walker", Person(height, mass), (step,),
        StepLimits(contact_tolerance, contact_drift, penetration, friction, knee=swing_knee),
        moving=SAGITTAL, intervals=intervals, nodes_per_span=nodes_per_span, names=CONSTRAINTS,
        springs=springs, without=without, start=start, cost="thesis",
    )  # fmt: skip
