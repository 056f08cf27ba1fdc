"""Estimates the objective that finer knots could gain, by span, and that violations between nodes gain.

An optimum under limits g(t) <= b with multiplier densities lambda(t) has, to first order,

    gain = integral of |lambda(t)| |b(t) - g(t)| dt

left to gain, the duality gap of the linearised problem (Frank and Wolfe, Naval Res. Logist. Q. 3, 1956):
lambda of a torque limit is the switching function, and the gain vanishes where the limit is held or lambda is
zero. The multipliers of a span determine the mean of lambda. Where a span is resolved, the limit being
active at all of its Gauss points, that is used; elsewhere lambda is the straight line between the means of
both neighbours, which crosses zero at a switch. Limits that hold by control points: `control_point_gain`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.certificates.limit_violations import limit_ranges
from trajopt.certified.bracketing.control_point_gain import gain_of_control_points
from trajopt.certified.search_settings import SearchSettings
from trajopt.checks.optimality.gain_indicator import times_in_spans
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import bound_violation


@dataclass(frozen=True, eq=False)
class RemainingGain:
    """Gains to first order, in units of the objective, of a spline on one arc.

    parts : (spans, samples), gain of equal parts of every span by limits that could be reached there, and by
        positions and velocities that control points keep from limits
    by_oversteps : what limits that are violated between nodes gain
    """

    parts: Array
    by_oversteps: float

    @property
    def by_span(self) -> Array:
        """(spans,)"""
        return self.parts.sum(axis=1)


def remaining_gain(solution: SolutionData, settings: SearchSettings) -> RemainingGain:
    """The gain of a solution on one arc; limits of accelerations and terms count as those of torques do."""
    edges = solution.curve.knot_times_of_arcs[0]
    lengths, count = np.diff(edges), settings.samples_per_span
    times = times_in_spans(edges, count)
    total, oversteps = np.zeros(times.shape), 0.0
    for limit in solution.problem.path_limits():
        multipliers = solution.multipliers.get(limit.name)
        if multipliers is None or multipliers.shape != (solution.node_times.size, limit.lower.size):
            continue
        values = solution.value(limit.term, times)
        density = _density(solution, limit, multipliers, times, settings)
        bound = np.where(density > 0.0, limit.upper, limit.lower)
        away = np.where(density != 0.0, bound, values) - values
        total += (np.abs(density) * np.abs(away)).sum(axis=2)
        beyond = np.maximum(bound_violation(values, limit.lower, limit.upper), 0.0).max(axis=1)
        oversteps += float((np.abs(density).max(axis=1) * beyond * lengths[:, None]).sum())
    return RemainingGain(
        total * (lengths[:, None] / count) + gain_of_control_points(solution, count), oversteps
    )


def _density(
    solution: SolutionData, limit: Constraint, multipliers: Array, times: Array, settings: SearchSettings
) -> Array:
    """Multipliers per second at times (spans, samples), (spans, samples, width)."""
    edges = solution.curve.knot_times_of_arcs[0]
    middles, lengths = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    nodes = solution.problem.trajectory.nodes
    mean = np.zeros((lengths.size, limit.lower.size))
    np.add.at(mean, nodes.span, multipliers)
    mean /= lengths[:, None]
    mean[np.abs(mean) <= settings.significant_density * np.abs(mean).max(initial=0.0)] = 0.0
    between = _from_neighbours(times, middles, mean)
    held = _held(solution, limit, multipliers, mean)
    return np.where(held[:, None, :], mean[:, None, :], between)


def _from_neighbours(times: Array, middles: Array, mean: Array) -> Array:
    """The straight line between the means of the spans before and after, at times (spans, samples)."""
    last = middles.size - 1
    if last < 1:
        return np.broadcast_to(mean[:, None, :], (*times.shape, mean.shape[1]))
    before, after = np.maximum(np.arange(last + 1) - 1, 0), np.minimum(np.arange(last + 1) + 1, last)
    share = (times - middles[before, None]) / (middles[after] - middles[before])[:, None]
    return mean[before, None] + share[:, :, None] * (mean[after] - mean[before])[:, None]


def _held(solution: SolutionData, limit: Constraint, multipliers: Array, mean: Array) -> Array:
    """Mask of the limits active at all weighted nodes of a span, on one side, (spans, width).

    Active: the multiplier, relative to the mean of the span, is larger than the distance relative to the
    range (strict complementarity).
    """
    nodes = solution.problem.trajectory.nodes
    values = solution.value(limit.term, solution.node_times)
    bound = np.where(mean[nodes.span] > 0.0, limit.upper, limit.lower)
    away = np.abs(np.where(mean[nodes.span] != 0.0, bound, np.inf) - values) / limit_ranges(limit)
    weight = nodes.weight[:, None] * solution.duration
    size = np.where(mean == 0.0, 1.0, mean)[nodes.span] * np.where(weight > 0.0, weight, 1.0)
    active = (multipliers / size > away) | (weight == 0.0)
    held = np.ones(mean.shape, dtype=bool)
    np.logical_and.at(held, nodes.span, active)
    return held & (mean != 0.0)
