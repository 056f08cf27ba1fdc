"""Human walking in three dimensions, predicted from effort alone: Barman's thesis, chapter V.

    minimize integral_0^T sum_i (tau_i / largest torque_i)^2 dt

over one step of length L in T = L / speed, after which left and right have changed places, mirrored. 38 of
the skeleton's 55 degrees of freedom move (neck, clavicles, wrists and half of the upper spine are held
rigidly). The ground's reaction follows from the motion, is shared by the feet in double support and returns
to them as loads. Six control points each, as in the thesis: 228 unknowns of which symmetry leaves 152.
"""

from __future__ import annotations

import trajopt
from problems.human import step as gait
from problems.human.model import ACTIVE, skeleton
from problems.human.outputs import draw as draw
from problems.recipe import recipe


@recipe
def build(
    *,
    intervals: int = 3,
    nodes_per_span: int = 9,
    speed: float = 1.2,
    step_length: float = 0.6,
    height: float = 1.75,
    mass: float = 75.0,
    foot_flat: float = 0.2,
    toe_off: float = 0.24,
    heel_off: float = 0.7,
    foot_line: float = 0.05,
    contact_tolerance: float = 5e-3,
    penetration: float = 5e-3,
    contact_samples: int = 4,
    friction: float = 0.7,
    swing_knee: tuple[float, float] = (55.0, 65.0),
    limited_torques: str = "legs",
    continuous_reaction: bool = True,
    start: str = "measured",
) -> trajopt.Problem:
    """One step; speed in m/s, lengths in m, mass in kg, angles in degrees.

    intervals : of the spline, three more control points
    foot_flat, toe_off, heel_off : events in parts of the step
    foot_line : distance of each foot from the plane of symmetry
    contact_tolerance : m, how closely standing foot points keep their places
    penetration : m, how deep foot points may sink where they are not held
    friction : coefficient of the ground
    swing_knee : bend of the swinging knee at mid-swing, Barman's thesis (5.9)
    contact_samples : times at which each standing point of the leading foot is held
    limited_torques : of "all" joints or the "legs"; the others use a fraction of theirs, at twice the rows
    continuous_reaction : whether the ground reaction ends the step as it began it, mirrored
    start : where the search starts, "standing" upright or a "measured" walk

    IPOPT wants the adaptive barrier here: Ipopt(tol=1e-4, options={"mu_strategy": "adaptive"}).
    """
    model = skeleton(height, mass, ACTIVE)
    events = (foot_flat, toe_off, heel_off)
    step = gait.Step(step_length, speed, height, mass, *events, foot_line, contact_samples)
    trajectory = step.trajectory(intervals, nodes_per_span)
    problem = trajopt.Problem(model, trajectory, name="gait")
    gait.walk(problem, step)
    problem.minimize(gait.effort(model))
    problem.subject_to_joint_limits(torque=False)
    gait.limit_torques(problem, limited_torques)
    gait.stand(problem, step, contact_tolerance)
    gait.stay_above_ground(problem, penetration)
    gait.balance(problem, step, friction)
    if continuous_reaction:
        gait.repeat_reaction(problem, step)
    gait.swing(problem, swing_knee)
    gait.guess(problem, step, start)
    return problem
