"""First-order gain left by limits on control points: the curve keeps away from them, its points do not.

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
from trajopt.checks.optimality.gain_indicator import SIGNIFICANT_DENSITY
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.solvers.solver_constants import FEASIBILITY
from trajopt.splines.basis import SplineBasis
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


def gain_of_control_points(solution: SolutionData, parts: int = 1) -> Array:
    """Gain by limits on control points of one arc, in units of the objective, (spans, parts of a span)."""
    edges, curve = solution.curve.knot_times_of_arcs[0], solution.curve
    found = np.zeros((edges.size - 1, parts))
    point, scaling = solution.point, solution.scaling
    if point is None or scaling is None or not point.has_multipliers:
        return found
    every = list(_held_points(solution, transcribe(solution.problem)))
    for order, motion in enumerate((solution.q, solution.v)):
        held = [each for each in every if each.order == order]
        at = curve.duration * greville(curve.bases[0], order)[[each.point for each in held]]
        values = motion(at)[np.arange(len(held)), [each.joint for each in held]]
        gains = [each.multiplier for each in held] * np.abs([each.bound for each in held] - values)
        span = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, edges.size - 2)
        share = (at - edges[span]) / (edges[span + 1] - edges[span])
        np.add.at(found, (span, np.minimum((parts * share).astype(int), parts - 1)), gains)
    return found


def greville(basis: SplineBasis, order: int) -> Array:
    """Times at which control points of a derivative have most influence, normalised, (count - order,)."""
    if order == 0:
        return basis.greville
    degree = basis.degree - 1
    window = np.lib.stride_tricks.sliding_window_view(basis.knots[2:-2], degree)
    return window.mean(axis=1)


def _held_points(solution: SolutionData, nlp: NLP) -> Iterator[HeldPoint]:
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
    solution: SolutionData, limits: Iterable[Constraint], label: UnknownLabel, multiplier: float
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
