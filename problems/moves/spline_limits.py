"""Limits of a motion that is a spline: derivatives and distances for all times, or distances at samples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from problems.moves.certificate import TOLERANCE, LimitLine
from problems.moves.contact_proof import least_clearance_bound
from problems.moves.limit_excess import relative_excess
from problems.moves.motion_limits import ORDERS, MotionLimits
from problems.moves.obstacles import RATE, REACH
from trajopt.base.arrays import Array
from trajopt.display.curves import times_at_rate
from trajopt.splines.basis import Curve
from trajopt.splines.polynomial_bounds import Pieces, pieces_of, upper_bound

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree
    from dynamics.quantities.clearances import Clearances

JOINED = 3  # q, v and a


def proved_lines(curve: Curve, model: KinematicTree, limits: MotionLimits) -> list[LimitLine]:
    """The largest excess for all times of position, speed, acceleration and jerk, of those with a limit."""
    bounds, found = limits.by_name((model.limits.q_lower, model.limits.q_upper)), []
    for order, name in enumerate(ORDERS):
        if name in bounds:
            lower, upper = (np.broadcast_to(end, (model.n,)) for end in bounds[name])
            found.append(_proved(name, tuple(model.joint_names), curve, order, lower, upper))
    return found


def _proved(
    name: str, joints: tuple[str, ...], curve: Curve, order: int, lower: Array, upper: Array
) -> LimitLine:
    highest, lowest, times = [], [], []
    for joint in range(len(joints)):
        pieces = pieces_of(curve, joint, order)
        up = upper_bound(pieces)
        down = upper_bound(Pieces(pieces.start, pieces.end, -pieces.coefficients))
        highest.append(up.value)
        lowest.append(-down.value)
        times.append((up.time, down.time))
    excess = relative_excess(np.array([lowest, highest]), lower, upper)
    row, joint = np.unravel_index(int(np.argmax(excess)), excess.shape)
    found = float(excess[row, joint]), joints[joint], float(times[joint][1 - row])
    return LimitLine(name, "proved", *found)


def joined(curve: Curve) -> Curve:
    """The curve with equal q, v and a on both sides of every border between arcs: the mean of both.

    An optimum of a solver meets its equations within a tolerance; only the three control points next to a
    border are moved. Jumps that are no rounding show as jerks.
    """
    points = [np.array(control_point) for control_point in curve.control_points]
    for k in range(len(points) - 1):
        sides = [(k, 1.0, slice(-JOINED, None)), (k + 1, 0.0, slice(0, JOINED))]
        ends = [_derivatives(curve, arc, points[arc], s) for arc, s, _ in sides]
        for (arc, s, near), end in zip(sides, ends, strict=True):
            rows = _derivatives(curve, arc, np.eye(len(points[arc]))[:, near], s)
            points[arc][near] += np.linalg.solve(rows, 0.5 * (ends[0] + ends[1]) - end)
    return replace(curve, control_points=tuple(points))


def _derivatives(curve: Curve, arc: int, points: Array, s: float) -> Array:
    """q, v and a (3, n) of control points at an end of an arc."""
    basis, duration = curve.bases[arc], curve.durations[arc]
    return np.stack([basis.evaluate(points, s, order) / duration**order for order in range(JOINED)])


def clearance_line(clearances: Clearances, curve: Curve, clearance: float, start: float = 0.0) -> LimitLine:
    """The least clearance of a spline for all times; where that proves nothing, `sampled_clearance`."""
    bound = least_clearance_bound(clearances, curve, clearance - TOLERANCE)
    if not bound.proved:
        return sampled_clearance(clearances, curve, clearance, start)
    seen = f"no distance below {1e3 * bound.nearest:.4g} mm at {bound.spans} times"
    excess, note = clearance - bound.value, f"{seen}; {clearances.coverage}"
    return LimitLine("clearance", "proved", excess, bound.pair, start + bound.time, note=note)


def sampled_clearance(
    clearances: Clearances, curve: Curve, clearance: float, start: float = 0.0
) -> LimitLine:
    """The least clearance of a spline at 1 kHz; its excess in m; the spline begins at `start`, s."""
    t = times_at_rate(curve.duration, RATE)
    distances = clearances.distances(curve(t), REACH)
    row, pair = np.unravel_index(int(np.argmin(distances)), distances.shape)
    excess, name = clearance - float(distances[row, pair]), clearances.pair_name(int(pair))
    return LimitLine("clearance", "sampled", excess, name, start + float(t[row]), len(t), clearances.coverage)
