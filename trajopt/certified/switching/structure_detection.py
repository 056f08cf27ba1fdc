"""Detection of the switching structure of a spline solution: the arcs between all entry and exit times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trajopt.base.tolerances import NOT_ZERO
from trajopt.certificates.limit_violations import limit_ranges
from trajopt.certificates.switching_structure import ActiveInterval, Structure
from trajopt.certified.search_settings import DEFAULT, SearchSettings
from trajopt.certified.switching.active_intervals import (
    DetectionOptions,
    KnotCoordinate,
    LimitDetection,
    largest_multiplier,
)
from trajopt.problem.limit_order import limit_order
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.solution import SolutionData
from trajopt.splines.node_sets import PATH


def is_regular(solution: SolutionData, settings: SearchSettings = DEFAULT) -> bool:
    """True if the optimal controls are continuous: the integrand is strictly convex in a along the motion.

    The Hessian of the integral costs with respect to a is taken at five times by second differences with unit
    steps, which are exact for quadratic efforts.
    """
    problem = solution.problem
    costs = [c for c in problem.costs if c.over == PATH and c.term.quantity not in ("duration", "t")]
    if not costs:
        return False
    graph = graph_of(problem, [cost.term for cost in costs])
    times = np.linspace(0.0, 1.0, 7)[1:-1] * solution.duration
    leaves, n = solution.leaves(times), problem.dynamics.n

    def integrand(change: NDArray) -> NDArray:
        values = graph.values(leaves | {"a": leaves["a"] + change})
        return np.sum([cost.weight * values[cost.term.quantity].sum(axis=1) for cost in costs], axis=0)

    unit, base = np.eye(n), integrand(np.zeros(n))
    single = [integrand(e) for e in unit]
    hessian = np.empty((times.size, n, n))
    for i in range(n):
        for j in range(n):
            hessian[:, i, j] = integrand(unit[i] + unit[j]) - single[i] - single[j] + base
    smallest = np.linalg.eigvalsh(0.5 * (hessian + hessian.transpose(0, 2, 1)))
    return bool(np.all(smallest[:, 0] > settings.convexity * np.abs(smallest).max() + NOT_ZERO))


def detect(
    solution: SolutionData, options: DetectionOptions | None = None, settings: SearchSettings = DEFAULT
) -> Structure:
    """The switching structure of a spline solution, of all limits that an arc can hold."""
    if options is None:
        options = DetectionOptions(is_regular(solution, settings), settings.longest_switch)
    coordinate, problem = KnotCoordinate(solution.knot_times), solution.problem
    boundary: list[ActiveInterval] = []
    torques: list[LimitDetection] = []
    for index, limit in enumerate(problem.path_limits()):
        detection = LimitDetection(solution, index, coordinate, options, settings)
        order = limit_order(problem, limit)
        if order == 2:
            torques.append(detection)
        elif order is not None:
            boundary += detection.boundary_intervals()
    scale = max(largest_multiplier(solution), settings.multiplier_floor * abs(solution.objective))
    bangs = [bang for detection in torques for bang in detection.bang_intervals(scale, boundary)]
    structure = Structure.of([*boundary, *bangs], coordinate.end, settings.merged_switches)
    if options.fine:
        structure = _without_short_free_arcs(structure, problem.dynamics.n, settings.longest_gap)
    return Structure(tuple(coordinate.seconds(structure.times).tolist()), structure.saturated)


def fits_ends(solution: SolutionData, structure: Structure, margin: float) -> bool:
    """True if the velocities and positions held by the first and the last arc are those at the ends.

    margin : of a limit's range
    """
    limits = solution.problem.path_limits()
    for time, held in ((0.0, structure.saturated[0]), (solution.duration, structure.saturated[-1])):
        for each in held:
            limit = limits[each.limit]
            away = abs(float(solution.value(limit.term, time)[each.component]) - each.bound(limits))
            state = limit_order(solution.problem, limit) in (0, 1)
            if state and away > margin * limit_ranges(limit)[each.component]:
                return False
    return True


def _without_short_free_arcs(structure: Structure, n: int, shortest: float) -> Structure:
    """Remove arcs with free joints that are shorter than some knot intervals, the shortest first."""
    while structure.arc_count > 1:
        short = [
            (length, arc)
            for arc, (length, saturated) in enumerate(
                zip(structure.durations, structure.saturated, strict=True)
            )
            if len(saturated) < n and length < shortest
        ]
        if not short:
            break
        structure = structure.without(min(short)[1])
    return structure
