"""A motion moved along the same path a little more slowly, until limits that it oversteps hold.

With q(t) replaced by q(t / k), velocities fall by k, accelerations by k^2, and torques towards those of
standing still, tau = g + (tau - g) / k^2. Rest stays rest. What is certified is then no optimum of any
program, but all limits hold, and the duration is k times the one before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trajopt.solution.violation import Excess, largest_excesses, path_limits, relative_excesses
from trajopt.splines.node_sets import END, START

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

MOST = 0.02  # of the duration: more asks for another motion, not for a slower one
ATTEMPTS = 10


def slowed(solution: Solution, tolerance: float) -> tuple[Solution, tuple[Excess, ...]] | None:
    """The slower motion and its excesses, none above tolerance; None where slowing does not help.

    For problems that minimize nothing but the duration, between two states of rest, on one free duration.
    """
    if not _may_be_slowed(solution):
        return None
    growth, excesses = 0.0, tuple(largest_excesses(solution))
    over = max(relative_excesses(solution, excesses), default=0.0)
    for _ in range(ATTEMPTS):
        growth = 2.0 * growth + max(
            over, 1e-9
        )  # torques fall by twice the growth, gravity's part of them not
        if growth > MOST:
            return None
        slow = _slower(solution, 1.0 + growth)
        excesses = tuple(largest_excesses(slow))
        if max((excess.value for excess in excesses), default=0.0) <= tolerance:
            return slow, excesses
        over = max(relative_excesses(slow, excesses))
    return None


def _may_be_slowed(solution: Solution) -> bool:
    problem = solution.problem
    ends = np.array([0.0, solution.duration])
    at_rest = np.abs(solution.v(ends)).max() <= 1e-9
    room = all(arc.duration_bounds[1] > (1.0 + MOST) * solution.duration for arc in problem.trajectory.arcs)
    only_time = all(cost.term.quantity == "duration" for cost in problem.costs)
    limits = path_limits(solution)
    timeless = all(
        c in limits or (c.over in (START, END) and c.term.quantity in ("q", "v")) for c in problem.constraints
    )
    bare = not (problem.extras or problem.parameters or problem.periodicities)
    return bool(at_rest and room and only_time and timeless and bare and len(problem.trajectory.arcs) == 1)


def _slower(solution: Solution, factor: float) -> Solution:
    curve = replace(solution.curve, durations=solution.curve.durations * factor)
    costs = {name: factor * value for name, value in solution.cost_terms.items()}
    return replace(
        solution,
        curve=curve,
        node_times=solution.node_times * factor,
        cost_terms=costs,
        objective=sum(costs.values()),
        point=None,
    )
