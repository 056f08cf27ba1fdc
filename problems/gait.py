"""Human gait in three dimensions, predicted from costs with sources, or from effort as in Barman's thesis.

    minimize integral_0^T  sum_i (m_i / s_i)^2 + w_power / P0 sum_i |m_i v_i|
                         + w_steady (H / g)^2 (|alpha_pelvis|^2 + |alpha_head|^2)
                         + w_rate (H / g) (|dA/dt|^2 + |dB/dt|^2) / (m g)^2  dt

over one step of length L in T = L / speed, after which left and right have changed places, mirrored. m_i is
what the muscles of joint i give, s_i their strength, alpha are angular accelerations, A and B the forces of
both legs, m the mass and H the height: `problems.human.gait.sourced_cost` and `force_rate` define every
letter. With `cost="thesis"`, Barman's chapter V, (5.1), and accelerations a_i of joints,

    minimize integral_0^T sum_i (m_i / largest torque_i)^2 + smoothness sum_i a_i^2 dt.

38 of the skeleton's 55 degrees of freedom move (neck, clavicles, wrists and half of the upper spine are held
rigidly). When feet touch and leave the ground, with which forces and where follows from the cost
(`problems.human.predicted.predicted_step`). With the thesis's cost contact is imposed: the ground's reaction
follows from the motion, is shared by the feet in double support and returns to them as loads, and each joint
has six control points, 228 unknowns, of which symmetry leaves 152.
"""

from __future__ import annotations

import trajopt
from problems.human.assessment.outputs import draw as draw
from problems.human.assessment.outputs import remarks as remarks
from problems.human.body.model import ACTIVE
from problems.human.body.own_model import person_and_body
from problems.human.gait.formulation import DEFAULT, PREDICTED_CONTACT, chosen_contact, formulation
from problems.human.gait.gait_problem import gait_problem
from problems.human.gait.gait_solver import PATIENCE, imposed_gait_solver
from problems.human.gait.step import LIMIT_NODES, Step, warn_of_untested_speed
from problems.human.gait.step_limits import StepLimits
from problems.human.motions.tracking import track_motion
from problems.human.predicted.predicted_step import SOLVED, predicted_solver, predicted_step
from problems.human.predicted.solved_walk import IMPOSED, guess_solved_walk
from problems.human.predicted.stances import step_trajectory
from problems.human.predicted.tendons import achilles_tendons
from problems.recipe import defaults_of, recipe


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
    foot_flat: float = 0.2,
    toe_off: float | None = None,
    heel_off: float = 0.65,
    foot_line: float | None = None,
    toe_out: float | None = None,
    contact_samples: int | None = None,
    split: str | None = None,
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
    track: str = "",
    track_window: tuple[float, float] | None = None,
    track_weight: float = 10.0,
    track_names: str = "",
    track_model: str = "",
    model: str = "",
    muscles: bool = False,
) -> trajopt.Problem:
    """One step; speed in m/s, lengths in m, masses in kg, angles in degrees.

    intervals : of the mesh from foot-flat to heel-off, the longest arc, fewer in shorter ones; 4 for None.
        With imposed contact those of the spline, which has three more control points
    height : 1.1 to 2.0, or None for the one that keeps the proportions of 1.75 m and 75 kg at this mass
    mass : 20 to 130, of the body alone
    slope : m that the ground rises in every metre; lengths, speed and all results are in axes of the ground
    backpack : rigidly behind the upper thorax
    foot_line : distance of each heel from the plane of symmetry, None for half the step width of people
    toe_out : angle by which standing feet point outward
    contact : "predicted", where the times of foot-flat, toe-off and heel-off, the forces on both feet and
        where they act follow from the cost, or "imposed", where the parameters below say them; None for
        predicted contact with the cost with sources and imposed contact with the thesis's. Imposed contact
        with the cost with sources warns
    foot_flat, toe_off, heel_off, knee_peak : events in parts of the step. These and the parameters down to
        nodes_per_span are of imposed contact alone, and predicted contact refuses them
    contact_samples : times at which each standing point of the leading foot is held, one more than intervals
        unless given
    split : how the feet share the reaction, by "time", by time and with an "opposing" force that the cost
        decides, by the "ratio" of distances, or at "one place"
    swing_knee : bend of the swinging knee at its peak, Barman's thesis (5.9)
    contact_tolerance : m, how closely standing foot points are at their places when they are held
    contact_drift : m, how far from their places they may be in between
    penetration : m, how deep foot points may sink where they are not held
    clearance : m, how high ball and toe of the swinging foot pass over the ground in the middle of swing
    nodes_per_span : of the spline, at which terms are evaluated
    friction : coefficient of the ground
    sole : m, half the width of a standing foot's sole, whose edges are level with its middle within
        contact_drift while the ball stands; 0 for a foot that can roll about the line from heel to toe
    cost : "sourced", whose terms have sources and which demands no posture, or "thesis", effort alone, with
        demands on posture. With the thesis's cost, and with imposed contact and sources, intervals, toe_off,
        toe_out, sole, clearance, smoothness and split left at None are 3 and 5, 0.24 and 0.28, 0 and
        7 degrees, 0 and 0.04 m, 0 and 0.015 m, 1e-6 s^4 and 0, "time" and "opposing"; foot_line is 0.05 and
        0.06 m for a height of 1.75 m. Predicted contact has the smoothness 3.2e-6 s^4
    tendons : with predicted contact, whether muscles of the ankle pull on a tendon that stretches, as in
        `running`; None for True, and with imposed contact for False
    power, steadiness, force_rate : weights in the sourced cost, without unit; None for 4.5, 0.07, 0.03, and
        3, 0.07, 0.015 with imposed contact
    springs : whether passive stiffness and damping take their part of each torque
    smoothness : s^4, weight of squared accelerations of joints
    without : step constraints to leave out, names of problems.human.gait.step_constraints with commas
        between; predicted contact has joint limits, torque limits, self-avoidance and arms beside trunk alone
    start : where the search starts, "standing" upright, a "measured" gait, by default with the thesis's cost,
        or a walk that was "solved" before, the nearest of six, by default and only with the sourced cost.
        From the others two starts are solved, and the lower optimum is the answer
    track : a file of measured angles (.mot, .sto, .csv), or of markers (.trc), which the walk also keeps
        near, beside the cost; its step is between track_window, s, the strikes of the right and of the left
        heel. track_weight and track_names, a table of names, as in `problems.human.motions.tracking`
    track_model : the .osim whose markers or angles, with its signs, the file has, where it is not `model`
    model : a person's own model, a .osim file, whose mass it then has; height, 1.75 for None, is that by
        which soles, strengths and the initial guess are chosen
    muscles : whether the muscles of `model` drive the walk, with rigid tendons, in the sagittal plane, as in
        `problems.human.muscles.walk`; pelvis, trunk, hips, knees and ankles move, other coordinates are held.
        It takes speed, step_length, friction, steadiness, force_rate, smoothness, and intervals, 8 for None,
        and refuses the others
    """
    given = dict(locals())
    if muscles:  # whose modules take 1.5 s to import
        from problems.human.muscles.gait_by_muscles import gait_by_muscles

        return gait_by_muscles(given, defaults_of(build))
    contact = chosen_contact(given)
    person, body = person_and_body(model, height, mass, backpack, slope)
    height, mass, own = person.height, person.mass, formulation(cost, contact)
    intervals = own.chosen_intervals(intervals)
    step = Step(
        step_length, speed, height, mass, foot_flat, own.chosen("toe_off", toe_off), heel_off,
        own.chosen_foot_line(foot_line, height), own.chosen("toe_out", toe_out),
        intervals + 1 if contact_samples is None else contact_samples, knee_peak=knee_peak,
        split=own.split if split is None else split,
        last_on=own.last_on, limit_nodes=LIMIT_NODES,
    )  # fmt: skip
    warn_of_untested_speed(speed)
    limits = StepLimits(
        contact_tolerance, contact_drift, penetration, friction, knee=swing_knee,
        clearance=own.chosen("clearance", clearance), sole=own.chosen("sole", sole),
    )  # fmt: skip
    weights = own.chosen_weights(power, steadiness, force_rate)
    smoothness = own.chosen("smoothness", smoothness)
    start = own.start if start is None else start
    if contact == PREDICTED_CONTACT:
        problem = predicted_step(
            "gait", person, (step,), limits, constraints=own.constraints,
            mesh=step_trajectory(step.duration, intervals), weights=weights,
            smoothness=smoothness, springs=springs, without=without, start=start,
            tendons={} if tendons is False else achilles_tendons(person), body=body,
        )  # fmt: skip
        if track:
            track_motion(problem, track, track_window, track_weight, track_names, track_model or model)
        problem.recommend(predicted_solver(start), starts=1 if start == SOLVED else own.starts)
        return problem
    near = start == SOLVED and cost == DEFAULT
    problem = gait_problem(
        "gait", person, (step,), limits,
        moving=ACTIVE, intervals=intervals, nodes_per_span=nodes_per_span, springs=springs,
        smoothness=smoothness, without=without, start=None if near else start, cost=cost, weights=weights,
        body=body,
    )  # fmt: skip
    if near:
        guess_solved_walk(problem, (step,), IMPOSED)
    if track:
        track_motion(problem, track, track_window, track_weight, track_names, track_model or model)
    solver = imposed_gait_solver((step,), contact_drift, intervals, near)
    # Several where each takes seconds, and the first is not the best of several already.
    starts = own.starts if solver.patience == PATIENCE and not near else 1
    problem.recommend(solver, trajopt.LimitNodes(), starts)
    return problem
