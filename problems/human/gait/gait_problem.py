"""The optimization problem of a gait: a person, steps, costs, constraints and an initial guess."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import trajopt
from problems.human.body.model import step_symmetry
from problems.human.body.person import Person
from problems.human.gait.effort import effort, minimize_accelerations
from problems.human.gait.force_rate import minimize_force_rate
from problems.human.gait.formulation import FORMULATIONS
from problems.human.gait.ground_reaction import LARGEST_OPPOSING
from problems.human.gait.initial_guess import set_initial_guess
from problems.human.gait.reach import check_reach
from problems.human.gait.sourced_cost import CostWeights, minimize_sourced_cost
from problems.human.gait.step import Step, reaction_on_foot
from problems.human.gait.step_constraints import subject_to_step_constraints
from problems.human.gait.step_limits import StepLimits
from trajopt.base.errors import OptionError


def gait_problem(
    name: str,
    person: Person,
    steps: Sequence[Step],
    limits: StepLimits,
    *,
    moving: Iterable[str],
    intervals: int,
    nodes_per_span: int,
    names: Iterable[str] | None = None,
    springs: bool = True,
    stiffer: Mapping[str, float] = MappingProxyType({}),
    smoothness: float = 0.0,
    without: str = "",
    start: str | None = "measured",
    cost: str = "sourced",
    weights: CostWeights | None = None,
    body: Any = None,
) -> trajopt.Problem:
    """The cost minimized over these steps; smoothness in s^4 weighs the squared joint accelerations.

    cost : "sourced", which takes `weights` (see `sourced_cost`), or "thesis", effort alone
    names : of the step constraints, by default those that belong to the cost
    start : as in `set_initial_guess`, or None for a guess that the caller gives
    body : a robot that walks instead of the skeleton of `person`, whose names it has (`own_skeleton`)
    """
    constraints = FORMULATIONS[cost].constraints if names is None else names
    if limits.contact == 0.0 and steps[0].samples > intervals + 3:
        raise OptionError(
            f"standing points are held exactly at {steps[0].samples} times by curves of {intervals + 3} "
            "control points: give fewer contact_samples, more intervals or a contact_tolerance"
        )
    if "foot placement" not in without:
        check_reach(steps[0])
    model = person.skeleton(moving) if body is None else body
    problem = trajopt.Problem(model, steps[0].trajectory(intervals, nodes_per_span), name=name)
    load_feet(problem, steps)
    subject_to_periodicity(problem, steps)
    if cost == "sourced":
        weights = weights or CostWeights()
        minimize_sourced_cost(problem, model, person, weights, springs, stiffer)
        if weights.force_rate > 0.0:
            minimize_force_rate(problem, steps, weights.force_rate)
    else:
        problem.minimize(effort(model, springs, stiffer, person.size))
    minimize_accelerations(problem, model, smoothness)
    subject_to_step_constraints(problem, steps, limits, constraints, without)
    if start is not None:
        set_initial_guess(problem, steps, start)
    return problem


def load_feet(problem: trajopt.Problem, steps: Sequence[Step]) -> None:
    """Apply the ground's reaction to both feet, as the steps share it."""
    for step in steps:
        opposing = step.reaction_split.opposing
        for name in opposing.parameters if opposing else ():
            problem.parameter(name, -LARGEST_OPPOSING, LARGEST_OPPOSING, guess=0.0)
    for side in "rl":
        problem.load(f"hindfoot_{side}", reaction_on_foot(side, steps))


def subject_to_periodicity(problem: trajopt.Problem, steps: Sequence[Step]) -> None:
    """Repeat posture and velocity: one step ends in its mirror image, (5.8), two steps as they began."""
    names, length = problem.dynamics.joint_names, len(steps) * steps[0].length
    signs, order, offset = step_symmetry(names, length)
    if len(steps) == 1:
        problem.subject_to_periodic(trajopt.q, signs, order=order, offset=offset, name="symmetry of posture")
        problem.subject_to_periodic(trajopt.v, signs, order=order, name="symmetry of velocity")
    else:
        problem.subject_to_periodic(trajopt.q, offset=offset, name="posture repeats")
        problem.subject_to_periodic(trajopt.v, name="velocity repeats")
