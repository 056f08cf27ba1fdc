"""Gait of a body whose sides differ: a stride of two steps, with a limp or a load in one hand.

    minimize integral_0^2T  sum_i (m_i / s_i)^2 + w_power / P0 sum_i |m_i v_i|
                          + w_steady (H / g)^2 (|alpha_pelvis|^2 + |alpha_head|^2)
                          + w_rate (H / g) (|dA/dt|^2 + |dB/dt|^2) / (m g)^2  dt

over two steps of length L in T = L / speed each, the right leg leading the first one and the left leg the
second, after which posture and velocity are what they were, 2 L further on; with `cost="thesis"`

    minimize integral_0^2T sum_i (m_i / largest torque_i)^2 + smoothness sum_i a_i^2 dt.

All else is as in `gait`, letters included, whose mirrored step this stride repeats as long as both sides are
equal. Only the sums of both lengths and of both durations are given, unless contact is imposed.
"""

from __future__ import annotations

import trajopt
from problems.human.assessment.outputs import draw as draw
from problems.human.assessment.outputs import remarks as remarks
from problems.human.body.model import ACTIVE
from problems.human.body.person import Person, chosen_height
from problems.human.gait.formulation import PREDICTED_CONTACT, chosen_contact, formulation
from problems.human.gait.gait_problem import gait_problem
from problems.human.gait.gait_solver import imposed_gait_solver
from problems.human.gait.step import LIMIT_NODES, Step, warn_of_untested_speed
from problems.human.gait.step_limits import StepLimits
from problems.human.predicted.predicted_step import predicted_solver, predicted_step
from problems.human.predicted.stances import STRIDE, step_trajectory
from problems.human.predicted.tendons import achilles_tendons
from problems.recipe import recipe
from trajopt.base.errors import ProblemError


@recipe
def build(
    *,
    intervals: int | None = None,
    nodes_per_span: int = 7,
    speed: float = 1.2,
    step_length: float = 0.6,
    height: float | None = None,
    mass: float = 75.0,
    slope: float = 0.0,
    backpack: float = 0.0,
    hand_load: float = 0.0,
    knee_strength: float = 1.0,
    ankle_strength: float = 1.0,
    knee_stiffness: float = 0.0,
    foot_flat: float = 0.2,
    toe_off: float | None = None,
    heel_off: float = 0.65,
    foot_line: float | None = None,
    toe_out: float | None = None,
    contact_samples: int | None = None,
    knee_peak: float = 0.42,
    swing_knee: tuple[float, float] = (55.0, 65.0),
    contact_tolerance: float = 0.0,
    contact_drift: float = 5e-3,
    penetration: float = 5e-3,
    clearance: float | None = None,
    friction: float = 0.7,
    sole: float | None = None,
    contact: str | None = None,
    tendons: bool | None = None,
    cost: str = "sourced",
    power: float | None = None,
    steadiness: float | None = None,
    force_rate: float | None = None,
    springs: bool = True,
    smoothness: float | None = None,
    without: str = "",
    start: str | None = None,
) -> trajopt.Problem:
    """Two steps; speed in m/s, lengths in m, masses in kg, angles in degrees.

    intervals : of the spline of each step, three more control points
    backpack, hand_load : rigidly behind the upper thorax and in the right hand
    knee_strength, ankle_strength : part of the right leg's largest torques that is left
    knee_stiffness : N m/rad, added to the right knee about its angle of rest
    The other parameters are those of `gait`.
    """
    if not 0.0 <= knee_stiffness < float("inf"):
        raise ProblemError(f"the knee's stiffness is {knee_stiffness} N m/rad: give a number from 0")
    contact = chosen_contact(locals())
    height, own = chosen_height(height, mass), formulation(cost, contact)
    intervals = own.chosen_intervals(intervals)
    steps = Step(
        step_length, speed, height, mass, foot_flat, own.chosen("toe_off", toe_off), heel_off,
        own.chosen_foot_line(foot_line, height), own.chosen("toe_out", toe_out),
        intervals + 1 if contact_samples is None else contact_samples, knee_peak=knee_peak,
        split=own.split, last_on=own.last_on, limit_nodes=LIMIT_NODES,
    ).steps(2)  # fmt: skip
    warn_of_untested_speed(speed)
    strength = {"knee_r_flex": knee_strength, "ankle_r_dorsi": ankle_strength}
    person = Person(height, mass, backpack, hand_load, strength, slope)
    limits = StepLimits(
        contact_tolerance, contact_drift, penetration, friction, knee=swing_knee,
        clearance=own.chosen("clearance", clearance), sole=own.chosen("sole", sole),
    )  # fmt: skip
    weights = own.chosen_weights(power, steadiness, force_rate)
    if start is None:
        start = own.start if contact == PREDICTED_CONTACT else "measured"
    smoothness, stiffer = own.chosen("smoothness", smoothness), {"knee_r_flex": knee_stiffness}
    if contact == PREDICTED_CONTACT:
        problem = predicted_step(
            "gait_stride", person, steps, limits, constraints=own.constraints,
            mesh=step_trajectory(steps[0].duration, intervals, STRIDE), weights=weights,
            smoothness=smoothness, springs=springs, without=without, start=start,
            stances=STRIDE, stiffer=stiffer, tendons={} if tendons is False else achilles_tendons(person),
        )  # fmt: skip
        problem.recommend(predicted_solver(start, STRIDE, further=True), starts=own.starts)
        return problem
    problem = gait_problem(
        "gait_stride", person, steps, limits, moving=ACTIVE, intervals=intervals,
        nodes_per_span=nodes_per_span, springs=springs, stiffer=stiffer, without=without, start=start,
        smoothness=smoothness, cost=cost, weights=weights,
    )  # fmt: skip
    problem.recommend(imposed_gait_solver(steps, contact_drift, intervals), trajopt.LimitNodes())
    return problem
