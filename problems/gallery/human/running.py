"""A person runs: one step from the strike of the right heel through flight to that of the left one.

    minimize  integral_0^T  sum_i (m_i / s_i)^2 + w_power / P0 sum_i |m_i u_i| + w_steady ... + w_rate ...
                          + smoothness sum_i a_i^2  dt
    subject to  what `contact="predicted"` of `gait` asks of a walk, with a flight in place of double support

after which left and right have changed places, mirrored, a step length further on. When the foot is flat,
when its heel rises and when it leaves the ground, with what forces, and how long the flight takes follow from
the cost, whose letters and terms are those of the walk (`gait`). The rate u_i at which muscles work is that
of the joint, at the ankle less what the Achilles tendon stretches and recoils
(`problems.human.predicted.tendons`). No published optimum: docs/running.md compares with people.
"""

from __future__ import annotations

import trajopt
from problems.human.assessment.running import draw as draw
from problems.human.assessment.running import remarks as remarks
from problems.human.body.own_model import person_and_body
from problems.human.gait.formulation import PREDICTED
from problems.human.gait.sourced_cost import CostWeights
from problems.human.gait.step import Step
from problems.human.gait.step_limits import StepLimits
from problems.human.motions.tracking import track_motion
from problems.human.predicted.predicted_step import SOLVED, predicted_solver, predicted_step
from problems.human.predicted.running_guess import running_guess
from problems.human.predicted.solved_walk import RUNS
from problems.human.predicted.stances import RUN, run_trajectory
from problems.human.predicted.tendons import achilles_tendons
from problems.recipe import recipe
from trajopt.base.arguments import check_choice

DRAWN = "drawn"  # the start by hand
STEP_RATE = 2.77  # 1/s: 83 strides a minute, at which heart rates are lowest (van Oeveren et al. 2017)
OF_A_RUN = ("arm-leg coupling",)  # limits beside those of the walk
PARTS = (0.12, 0.25, 0.37, 0.26)  # of the step, which the arcs take where the search starts


@recipe
def build(
    *,
    intervals: int = 3,
    speed: float = 3.0,
    step_length: float | None = None,
    height: float | None = None,
    mass: float = 75.0,
    slope: float = 0.0,
    backpack: float = 0.0,
    foot_line: float = 0.03,
    toe_out: float = 7.0,
    friction: float = 0.7,
    tendons: bool = True,
    power: float = 9.0,
    steadiness: float = 0.07,
    force_rate: float = 0.002,
    smoothness: float = 3.2e-6,
    start: str = SOLVED,
    without: str = "",
    track: str = "",
    track_window: tuple[float, float] | None = None,
    track_weight: float = 10.0,
    track_names: str = "",
    track_model: str = "",
    model: str = "",
) -> trajopt.Problem:
    """One step; speed in m/s, lengths in m, mass in kg, angles in degrees.

    intervals : of the mesh in each of the four arcs
    step_length : None for that of 83 strides a minute, 1.08 m at 3 m/s
    foot_line : distance of each heel from the plane of symmetry
    tendons : whether muscles of the ankle pull on a tendon that stretches
    power, steadiness, force_rate, smoothness : weights of the cost, without unit and s^4
    start : "solved", from the stored run that is nearest, or "drawn", from angles written by hand, with three
        Radau points in an interval in place of four Gauss points
    The other parameters are those of `gait`.
    """
    check_choice("start", start, (SOLVED, DRAWN))
    person, body = person_and_body(model, height, mass, backpack, slope)
    length = speed / STEP_RATE if step_length is None else step_length
    step = Step(length, speed, person.height, person.mass, line=foot_line, toe_out=toe_out)
    mesh = run_trajectory(step.duration, intervals, start == DRAWN)
    problem = predicted_step(
        "running", person, (step,), StepLimits(friction=friction, sole=PREDICTED.sole),
        constraints=(*PREDICTED.constraints, *OF_A_RUN), mesh=mesh,
        weights=CostWeights(power, steadiness, force_rate), smoothness=smoothness, without=without,
        start=running_guess if start == DRAWN else start, stored=RUNS, stances=RUN, parts=PARTS,
        tendons=achilles_tendons(person) if tendons else {}, body=body,
    )  # fmt: skip
    if track:
        track_motion(problem, track, track_window, track_weight, track_names, track_model or model)
    problem.recommend(predicted_solver(start, RUN, further=True))
    return problem
