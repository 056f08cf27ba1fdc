"""Walking in the sagittal plane with nine degrees of freedom: the small brother of `gait`.

    minimize integral_0^T sum_i (tau_i / largest torque_i)^2 dt

over one step of length L in T = L / speed, after which left and right have changed places. Pelvis (x, y,
tilt), hips, knees and ankles of the human skeleton; trunk, arms and toes are held rigidly. The ground's
reaction follows from the motion, is shared by the feet in double support and returns to them as loads.
"""

from __future__ import annotations

import trajopt
from problems.human import step as gait
from problems.human.model import SAGITTAL, skeleton
from problems.human.outputs import draw as draw
from problems.recipe import recipe


@recipe
def build(
    *,
    intervals: int = 5,
    nodes_per_span: int = 3,
    speed: float = 1.2,
    step_length: float = 0.6,
    height: float = 1.75,
    mass: float = 75.0,
    foot_flat: float = 0.2,
    toe_off: float = 0.24,
    heel_off: float = 0.6,
    contact_tolerance: float = 3e-3,
    penetration: float = 3e-3,
    friction: float = 0.7,
    swing_knee: tuple[float, float] = (55.0, 65.0),
    start: str = "measured",
) -> trajopt.Problem:
    """One step; speed in m/s, lengths in m, mass in kg, angles in degrees.

    foot_flat, toe_off, heel_off : events in parts of the step
    penetration : m, how deep foot points may sink where they are not held
    friction : coefficient of the ground
    swing_knee : bend of the swinging knee at mid-swing
    start : where the search starts, a "measured" walk or "standing" upright
    """
    model = skeleton(height, mass, SAGITTAL)
    step = gait.Step(
        step_length, speed, height, mass, foot_flat, toe_off, heel_off, line=None, toes_bend=False
    )
    trajectory = step.trajectory(intervals, nodes_per_span)
    problem = trajopt.Problem(model, trajectory, name="planar_walker")
    gait.walk(problem, step)
    problem.minimize(gait.effort(model))
    problem.subject_to_joint_limits()
    gait.stand(problem, step, contact_tolerance)
    gait.stay_above_ground(problem, penetration)
    gait.balance(problem, step, friction)
    gait.repeat_reaction(problem, step)
    gait.swing(problem, swing_knee)
    gait.guess(problem, step, start)
    return problem
