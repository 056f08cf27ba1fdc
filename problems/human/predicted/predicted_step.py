"""The optimization problem of a step whose contact is predicted: `contact="predicted"` of `gait`, and a run.

    minimize  integral_0^T  effort + power + steadiness of `sourced_cost`
                          + w_rate (H / g) (|dA/dt|^2 + |dB/dt|^2) / (m g)^2 + smoothness sum_i a_i^2  dt
    subject to  the six forces and moments that would hold the pelvis are zero
                standing points are still, others above the ground       `stances`
                their forces are inside the friction cone, A and B their sums, right and left
                the step ends in its mirror image, T = L / speed; a stride as it began

Times of foot-flat, toe-off and heel-off, how the feet share the load and where pressure acts follow from the
cost. Imposed are speed and step length, the order of the events, how far apart feet stand and which way they
point. The motion is a piecewise polynomial of degree three, its equations hold at collocation points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import trajopt
from problems.human.body.model import ACTIVE
from problems.human.body.person import Person
from problems.human.gait.effort import minimize_accelerations
from problems.human.gait.gait_problem import subject_to_periodicity
from problems.human.gait.gait_solver import FURTHER, MARGIN, NEAR, PATIENCE, GaitSolver
from problems.human.gait.initial_guess import Start, set_initial_guess
from problems.human.gait.reach import check_reach
from problems.human.gait.sourced_cost import CostWeights, minimize_sourced_cost, muscle_torques
from problems.human.gait.step import Step
from problems.human.gait.step_constraints import subject_to_step_constraints
from problems.human.gait.step_limits import StepLimits
from problems.human.predicted.feet import with_ball_edges, with_strong_plantarflexors
from problems.human.predicted.solved_walk import WALKS, Stored, guess_solved_walk
from problems.human.predicted.stances import (
    FOOT_FLAT,
    GUESSED,
    STANCES,
    Stances,
    feet_that_stand,
    phase_names,
    stand_on_points,
)
from problems.human.predicted.tendons import stretch_tendons
from trajopt.base.arguments import check_choice

SOLVED = "solved"  # the start from the stored walk
STARTS = (SOLVED, "measured", "standing")
# From the stored walks steps of 0.5 to 2 m/s, on slopes of 20 %, with 20 kg on the back and of persons of 20
# to 120 kg take 15 to 52 iterations; a search for one that cannot be walked may go on for thousands.
MOST_ITERATIONS = 200
ALL_ROWS = 1e9  # margin within which every row enters the first round


def predicted_step(
    name: str,
    person: Person,
    steps: Sequence[Step],
    limits: StepLimits,
    *,
    constraints: Sequence[str],
    mesh: trajopt.Trajectory,
    weights: CostWeights,
    smoothness: float,
    springs: bool = True,
    without: str = "",
    start: str | Start = SOLVED,
    stored: Stored = WALKS,
    stances: Stances = STANCES,
    parts: Sequence[float] = GUESSED,
    tendons: Mapping[str, float] = MappingProxyType({}),
    stiffer: Mapping[str, float] = MappingProxyType({}),
    body: Any = None,
) -> trajopt.Problem:
    """One step, or a stride of two.

    limits : friction, half the width of the sole at the ball, and those of posture
    mesh : of the arcs, `step_trajectory` or `run_trajectory`;  smoothness : s^4
    constraints : names of the step constraints that are stated beside contact
    start : the stored walk that was "solved", a "measured" gait, "standing" upright, or a step given
    stored : the steps that were solved before, file -> speed, step length
    body : a robot that walks instead of the skeleton of `person`, whose names it has (`own_skeleton`)
    stances, parts : the points that stand, arc by arc, and the parts of the step that arcs take at first
    tendons : joint -> stiffness in N m/rad of the tendon on which its muscles pull
    """
    step, whole = steps[0], len(steps) * steps[0].duration
    if isinstance(start, str):
        check_choice("start", start, STARTS)
    if any(feet_that_stand(points) == {"r", "l"} for points in stances):
        check_reach(step)
    body = with_ball_edges(person.skeleton(ACTIVE), limits.sole) if body is None else body
    model = with_strong_plantarflexors(body)
    problem = trajopt.Problem(model, mesh, name=name)
    stand_on_points(problem, limits.friction, step.duration, stances)
    for each in steps:
        place_feet(problem, each, each.number * len(stances) // len(steps))
    problem.passive(*model.floating_joints)
    problem.subject_to(trajopt.duration, equals=whole, name="duration of the step")
    subject_to_periodicity(problem, steps)
    subject_to_step_constraints(problem, steps, limits, constraints, without)
    stretching = stretch_tendons(problem, muscle_torques(model, person, springs, stiffer), tendons)
    minimize_sourced_cost(problem, model, person, weights, springs, stiffer, stretching)
    if weights.force_rate > 0.0:
        own = weights.force_rate * step.height / float(np.linalg.norm(model.gravity))
        problem.minimize(rate_of_leg_forces(problem, step.weight), own)
    minimize_accelerations(problem, model, smoothness)
    if start == SOLVED:
        guess_solved_walk(problem, steps, stored)
    else:
        set_initial_guess(problem, steps, start, parts)
    return problem


def predicted_solver(start: str, stances: Stances = STANCES, further: bool = False) -> GaitSolver:
    """IPOPT; from the solved walk with a small barrier, left where it is, and with the rows that are near.

    stances : the points that stand, arc by arc, from which the message for a step that is not found tells
        its phases
    further : the motion may be further away from it, as a stride of different sides or a run is
    """
    phases = tuple((name, None) for name in phase_names(stances))
    if start != SOLVED:
        return GaitSolver(trajopt.Ipopt(tol=1e-6), margin=ALL_ROWS, coarse=0.0, phases=phases)
    if further:
        return GaitSolver(trajopt.Ipopt(tol=1e-6, options=FURTHER), margin=MARGIN, coarse=0.0, phases=phases)
    ipopt = trajopt.Ipopt(tol=1e-6, options=NEAR, max_iterations=MOST_ITERATIONS)
    return GaitSolver(ipopt, margin=MARGIN, coarse=0.0, patience=PATIENCE, phases=phases)


def place_feet(problem: trajopt.Problem, step: Step, first: int) -> None:
    """The heel strikes on its line, and the ball lands so that the foot points outward as people's do.

    first : arc of the step; how far ahead the heel lands is free in a second step
    """
    points = [f"{kind}_{step.leads}" for kind in ("heel", "ball")]
    (x, line), (_, outward) = map(step.place, points)
    heel = None if step.number else x, line
    for point, (x, z), arc in zip(points, (heel, (None, outward)), (first, first + FOOT_FLAT), strict=True):
        place = np.array([np.nan if x is None else x, np.nan, np.nan if z is None else z])
        lower, upper = (np.nan_to_num(place, nan=free) for free in (-np.inf, np.inf))
        over = trajopt.ArcNodes(arc, "start")
        problem.subject_to(trajopt.position(point), lower, upper, over=over, name=f"{point} is placed")


def rate_of_leg_forces(problem: trajopt.Problem, weight: float) -> trajopt.ExpressionTerm:
    """|dA/dt|^2 + |dB/dt|^2 of both feet's forces in body weights, 1/s^2."""
    feet = [
        [one.force_rate for point, one in problem.contacts.items() if point.endswith(side) and one.arcs]
        for side in ("_r", "_l")
    ]

    def rates(node: Any) -> Any:
        total = 0.0
        for foot in feet:
            each = [rate.function(node) for rate in foot]
            total += sum((sum(rate[i] for rate in each) / weight) ** 2 for i in range(3))
        return total

    return trajopt.ExpressionTerm(rates, "rate of leg forces")
