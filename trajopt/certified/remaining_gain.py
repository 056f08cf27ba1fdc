"""Estimates the objective that finer knots could gain, by span, and that violations between nodes gain.

An optimum under limits g(t) <= b with multiplier densities lambda(t) has, to first order,

    gain = integral of |lambda(t)| |b(t) - g(t)| dt

left to gain, the duality gap of the linearised problem (Frank and Wolfe, Naval Res. Logist. Q. 3, 1956):
lambda of a torque limit is the switching function, and the gain vanishes where the limit is held or lambda is
zero. The multipliers of a span determine the mean of lambda. Where a span is resolved, the limit being
active at all of its Gauss points, that is used; elsewhere lambda is the straight line between the means of
both neighbours, which crosses zero at a switch. Limits that hold by control points: `control_point_gain`.

Limits on control points leave a first-order gain: the curve keeps away from them, its points do not.

The control points of a position or a velocity bound the curve for all t, but near a control point that is at
the limit the curve itself is below it by O(h^2) in the knot distance h. Finer knots set that free: to first
order the gain is the sum of |multiplier| times distance of the curve from its limit at the Greville abscissa,
where the control point has most influence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.certified.search_settings import SearchSettings
from trajopt.checks.optimality import SIGNIFICANT_DENSITY, times_in_spans
from trajopt.checks.violations import limit_ranges
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import bound_violation
from trajopt.solvers.solver import FEASIBILITY
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import transcribe
from trajopt.transcription.unknowns import RowLabel, UnknownLabel, UnknownLabels


@dataclass(frozen=True)
class HeldPoint:
    """A control point of a curve at its limit.

    order : 0 of a position, 1 of a velocity
    bound : of the limit, in its unit
    multiplier : in units of the objective per unit of the limit, not negative
    """

    order: int
    joint: int
    point: int
    bound: float
    multiplier: float


def gain_of_control_points(solution: Solution, parts: int = 1) -> Array:
    """Gain by limits on control points of one arc, in units of the objective, (spans, parts of a span)."""
    edges, curve = solution.curve.knot_times_of_arcs[0], solution.curve
    found = np.zeros((edges.size - 1, parts))
    point, scaling = solution.point, solution.scaling
    if point is None or scaling is None or not point.has_multipliers:
        return found
    every = list(_held_points(solution, transcribe(solution.problem)))
    basis = curve.bases[0]
    curves = ((solution.q, basis.greville), (solution.v, basis.slope_greville))
    for order, (motion, abscissae) in enumerate(curves):
        held = [each for each in every if each.order == order]
        at = curve.duration * abscissae[[each.point for each in held]]
        values = motion(at)[np.arange(len(held)), [each.joint for each in held]]
        gains = [each.multiplier for each in held] * np.abs([each.bound for each in held] - values)
        span = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, edges.size - 2)
        share = (at - edges[span]) / (edges[span + 1] - edges[span])
        np.add.at(found, (span, np.minimum((parts * share).astype(int), parts - 1)), gains)
    return found


def _held_points(solution: Solution, nlp: NLP) -> Iterator[HeldPoint]:
    """Control points that have a multiplier: by bounds of unknowns, and by linear rows."""
    point, scaling, joints = solution.point, solution.scaling, list(solution.joint_names)
    assert point is not None and scaling is not None and point.row_multipliers is not None
    assert point.lower_multipliers is not None and point.upper_multipliers is not None
    limits = {limit.name: limit for limit in solution.problem.path_limits() if limit.hold == "hull"}
    rows = point.row_multipliers[: nlp.linear.count] * scaling.rows[: nlp.linear.count]
    bounds = point.upper_multipliers - point.lower_multipliers
    free, named = nlp.unknowns.elimination.free, UnknownLabels(solution.problem, nlp.unknowns.layout)
    tight, held = _significant(rows), _significant(bounds)
    labels = [nlp.linear.labels[i] for i in tight] + [named.label(int(free[i])) for i in held]
    known = np.append(rows[tight], bounds[held]) / scaling.objective
    for multiplier, label in zip(known, labels, strict=True):
        if not isinstance(label, RowLabel):
            yield from _held_unknown(solution, limits.values(), label, float(multiplier))
        elif label.control_point is not None and label.constraint in limits:
            limit, joint = limits[label.constraint], joints.index(label.component)
            bound = float((limit.upper if label.side == "upper" else limit.lower)[joint])
            size = abs(float(multiplier)) * solution.duration  # a row is velocity minus limit, times duration
            yield HeldPoint(1, joint, label.control_point, bound, size)


def _significant(multipliers: Array) -> Array:
    """The places of those that are not what an interior-point solve leaves of inactive limits."""
    sizes = np.abs(multipliers)
    return np.flatnonzero(sizes > SIGNIFICANT_DENSITY * sizes.max(initial=0.0))


def _held_unknown(
    solution: Solution, limits: Iterable[Constraint], label: UnknownLabel, multiplier: float
) -> Iterator[HeldPoint]:
    """The limit that bounds a control point of a position: its own, or one of the velocities beside it.

    multiplier : in units of the objective, positive where the control point may not be larger
    """
    if label.kind != "control point" or label.name not in solution.joint_names:
        return
    joint, place, basis = solution.joint_names.index(label.name), label.control_point, solution.curve.bases[0]
    positions = solution.curve.control_points[0][:, joint]
    seconds = basis.slope_widths * solution.duration / basis.degree
    velocities = np.diff(positions) / seconds
    for limit in limits:
        sides = (limit.lower[joint], limit.upper[joint])
        if limit.term.quantity == "q" and _at(positions[place], sides[multiplier > 0.0]):
            yield HeldPoint(0, joint, place, float(sides[multiplier > 0.0]), abs(multiplier))
        for point, side in ((place - 1, multiplier > 0.0), (place, multiplier < 0.0)):
            beside = limit.term.quantity == "v" and 0 <= point < velocities.size
            if beside and _at(velocities[point], sides[side]):
                size = abs(multiplier) * float(seconds[point])
                yield HeldPoint(1, joint, point, float(sides[side]), size)


def _at(value: float, bound: float) -> bool:
    """True if a control point is at its bound."""
    return bool(abs(value - bound) <= FEASIBILITY * max(1.0, abs(bound)))


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


def remaining_gain(solution: Solution, settings: SearchSettings) -> RemainingGain:
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
    solution: Solution, limit: Constraint, multipliers: Array, times: Array, settings: SearchSettings
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


def _held(solution: Solution, limit: Constraint, multipliers: Array, mean: Array) -> Array:
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
