"""Uniform time scaling: the same path, traversed more slowly until violated limits hold.

With q(t) replaced by q(t / k), k > 1, velocities fall by k, accelerations by k^2, and torques approach those
of standing still, tau = g + (tau - g) / k^2. States of rest stay at rest. The result is the optimum of no
program, but all its limits hold, its duration is k times the former one, and its costs are those of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trajopt.base.tolerances import CONTROL_POINT_ROUNDING, NOT_ZERO
from trajopt.certificates.limit_violations import largest_violations
from trajopt.certified.search_settings import DEFAULT, SearchSettings
from trajopt.solution.answers import costs_at, program_of
from trajopt.solution.solution import SolutionData
from trajopt.splines.node_sets import END, START


def time_scaled(
    solution: SolutionData, tolerance: float, settings: SearchSettings = DEFAULT
) -> SolutionData | None:
    """The slower motion, no violation of it above `tolerance`; None where time scaling does not help.

    Only between two states of rest, on one arc of free duration, for problems that minimize the duration too.
    """
    if not may_be_scaled(solution, settings.most_time_scaling):
        return None
    growth, slower, first = 0.0, solution, 0.0
    for _ in range(settings.time_scaling_attempts + 1):
        violations = largest_violations(slower)
        if growth and max(violation.value for violation in violations) <= tolerance:
            return slower
        # Torques fall by twice the growth of the duration, but for the part that carries gravity.
        largest = max((each.share for each in violations), default=0.0)
        first = first or largest
        more = settings.margin_factor * largest / max(first - largest, largest, NOT_ZERO)
        growth = growth * (1.0 + more) if growth else largest
        # Where no limit is exceeded, what fails is no limit over the path.
        if largest <= 0.0 or growth > settings.most_time_scaling:
            return None
        slower = _scaled(solution, 1.0 + growth)
    return None


def may_be_scaled(solution: SolutionData, most: float) -> bool:
    """True if the motion is one that may last longer by the part `most` of its duration."""
    problem = solution.problem
    ends = np.array([0.0, solution.duration])
    at_rest = np.abs(solution.v(ends)).max() <= CONTROL_POINT_ROUNDING
    room = all(arc.duration_bounds[1] > (1.0 + most) * solution.duration for arc in problem.trajectory.arcs)
    takes_time = any(cost.term.quantity == "duration" for cost in problem.costs)
    limits = solution.problem.path_limits()
    timeless = all(
        c in limits or (c.over in (START, END) and c.term.quantity in ("q", "v")) for c in problem.constraints
    )
    bare = not (problem.extras or problem.parameters or problem.periodicities or problem.integrals)
    return bool(at_rest and room and takes_time and timeless and bare and len(problem.trajectory.arcs) == 1)


def _scaled(solution: SolutionData, factor: float) -> SolutionData:
    """q(t / factor), without the solver's own point, which belongs to the faster motion."""
    curve = replace(solution.curve, durations=solution.curve.durations * factor)
    nlp: Any = program_of(solution.problem)
    costs = costs_at(nlp, nlp.unknowns.of(curve, solution.parameters))
    return replace(
        solution,
        curve=curve,
        node_times=solution.node_times * factor,
        cost_terms=costs,
        objective=sum(costs.values()),
        point=None,
    )
