"""Distances between robot and obstacles, and between parts of the robot, as smooth terms.

Capsules are segments between two frames of the robot, with a radius. Distances to segments are once
continuously differentiable: their second derivative jumps where the nearest point reaches an end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.library.tracking import vector_in_metres
from trajopt.terms.term import Capsule, ExpressionTerm

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols

SMOOTHING = 1e-6  # m; keeps the slope of a distance finite where two axes touch


def sphere_clearance(frame: str, centre: ArrayLike, radius: float, own_radius: float = 0.0) -> ExpressionTerm:
    """|p_frame - centre| - radius - own_radius, m: bound it from below by zero, or a margin."""
    arguments.name(frame, "the frame of a clearance")
    middle, reach = vector_in_metres(centre, "centre"), _radius(radius) + _radius(own_radius)

    def clearance(node: NodeSymbols) -> Expression:
        return _length(node.position(frame) - middle.tolist()) - reach

    place = tuple(middle.tolist())
    return ExpressionTerm(
        clearance, f"clearance of {frame}", unit="m", scene=Capsule(place, place, _radius(radius))
    )


def capsule_clearance(
    first: str, last: str, start: ArrayLike, end: ArrayLike, radius: float, own_radius: float = 0.0
) -> ExpressionTerm:
    """Distance of the segment between two frames to a fixed segment, less both radii, m.

    start and end (3,) m in world axes; equal ones make the obstacle a sphere. In the order of
    `sphere_clearance`: frames, obstacle, its radius, that of the robot.
    """
    a, b = vector_in_metres(start, "start"), vector_in_metres(end, "end")
    reach = _radius(own_radius) + _radius(radius)

    def clearance(node: NodeSymbols) -> Expression:
        p, q = node.position(first), node.position(last)
        here = 0.0 * p
        return _between(p, q, here + a.tolist(), here + b.tolist()) - reach

    obstacle = Capsule(tuple(a.tolist()), tuple(b.tolist()), _radius(radius))
    return ExpressionTerm(clearance, f"clearance of {first} to {last}", unit="m", scene=obstacle)


def self_clearance(
    one: tuple[str, str], other: tuple[str, str], radii: tuple[float, float]
) -> ExpressionTerm:
    """Distance of two capsules of the robot, each between two frames, m; for links that are no neighbours."""
    reach = _radius(radii[0]) + _radius(radii[1])

    def clearance(node: NodeSymbols) -> Expression:
        return _between(*(node.position(frame) for frame in (*one, *other))) - reach

    return ExpressionTerm(clearance, f"clearance of {one[0]}-{one[1]} and {other[0]}-{other[1]}", unit="m")


def _between(p1: Expression, q1: Expression, p2: Expression, q2: Expression) -> Expression:
    """Distance of two segments: clamp the nearest point of one axis, then of the other, then again.

    Ericson, Real-Time Collision Detection, 5.1.9. Nearly parallel segments divide by SMOOTHING squared.
    """
    d1, d2, r = q1 - p1, q2 - p2, p1 - p2
    tiny = SMOOTHING**2
    a, e, f = d1.T @ d1 + tiny, d2.T @ d2 + tiny, d2.T @ r
    b, c = d1.T @ d2, d1.T @ r
    s = _clamped((b * f - c * e) / (a * e - b * b + tiny))
    t = _clamped((b * s + f) / e)
    s = _clamped((b * t - c) / a)
    return _length(r + s * d1 - t * d2)


def _clamped(x: Expression) -> Expression:
    return x.fmax(0.0).fmin(1.0)


def _length(d: Expression) -> Expression:
    return (d.T @ d + SMOOTHING**2) ** 0.5


def _radius(radius: float) -> float:
    found = arguments.number(radius, "a radius in metres")
    arguments.check_positive("a radius in metres", found, or_zero=True)
    return found
