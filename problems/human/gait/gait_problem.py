"""A problem of walking, put together: person, steps, what they cost and what they must satisfy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import trajopt
from problems.human.body.person import Person
from problems.human.gait.effort import effort, unrest
from problems.human.gait.initial_guess import guess
from problems.human.gait.step import Step
from problems.human.gait.step_constraints import DEMANDS, Demands, demand, walk
from trajopt.errors import OptionError


def rounds() -> trajopt.RowsInRounds:
    """What walks in three dimensions are solved with: few of their rows are active, and the regularisation of
    their indefinite Hessians decays faster than IPOPT's habit.
    """
    return trajopt.RowsInRounds(trajopt.Ipopt(tol=1e-6, options={"perturb_dec_fact": 0.1}))


def walker(
    name: str,
    person: Person,
    steps: Sequence[Step],
    demands: Demands,
    *,
    moving: Iterable[str],
    intervals: int,
    nodes_per_span: int,
    names: Iterable[str] = tuple(DEMANDS),
    springs: bool = True,
    stiffer: Mapping[str, float] = MappingProxyType({}),
    smoothness: float = 0.0,
    without: str = "",
    start: str = "measured",
) -> trajopt.Problem:
    """The problem of these steps; smoothness in s^4 weighs the squared accelerations of joints."""
    if not smoothness >= 0.0:
        raise OptionError(f"smoothness is {smoothness}: give a weight that is not negative, such as 1e-6")
    if demands.contact == 0.0 and steps[0].samples > intervals + 3:
        raise OptionError(
            f"standing points are held exactly at {steps[0].samples} times by curves of {intervals + 3} "
            "control points: give fewer contact_samples, more intervals or a contact_tolerance"
        )
    model = person.skeleton(moving)
    problem = trajopt.Problem(model, steps[0].trajectory(intervals, nodes_per_span), name=name)
    walk(problem, steps)
    problem.minimize(effort(model, springs, stiffer))
    if smoothness > 0.0:
        problem.minimize(unrest(model), smoothness)
    demand(problem, steps, demands, names, without)
    guess(problem, steps, start)
    return problem
