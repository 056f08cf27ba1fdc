"""Signed distances of segments to solids, with the normal and the principal curvatures at the nearest point.

The signed distance s(x) of a point to a convex solid (below zero inside: minus the distance to the nearest
face) is convex, with gradient n, |n| = 1, and Hessian k_1 v_1 v_1' + k_2 v_2 v_2', v_2 = n x v_1. That of a
segment is min over t in [0, 1] of s(a + t (b - a)), where the slope n . (b - a), which rises with t, is zero.
Scalars throughout: which formula holds differs from node to node, and lanes would share little.
"""

from __future__ import annotations

import math

from dynamics.kernels.compile import inlined
from dynamics.kernels.spatial_algebra import add_scaled, cross, dot, scale, sub

# kinds of solids, as `PackedShapes` numbers them
SEGMENT, BOX, CYLINDER, HALF_SPACE, CLOUD, HULL = 0, 1, 2, 3, 4, 5
HALVINGS = 50  # of the interval of t, at most: to rounding


@inlined
def tangent(n):
    """A unit vector normal to n."""
    if abs(n[0]) < 0.6:
        size = math.sqrt(n[1] * n[1] + n[2] * n[2])
        return 0.0, n[2] / size, -n[1] / size
    size = math.sqrt(n[0] * n[0] + n[1] * n[1])
    return n[1] / size, -n[0] / size, 0.0


@inlined
def box_distance(h, p):
    """s, n, v_1, k_1, k_2 of a box with half sides h about the origin."""
    e = abs(p[0]) - h[0], abs(p[1]) - h[1], abs(p[2]) - h[2]
    side = math.copysign(1.0, p[0]), math.copysign(1.0, p[1]), math.copysign(1.0, p[2])
    c = max(e[0], 0.0), max(e[1], 0.0), max(e[2], 0.0)
    d = math.sqrt(dot(c, c))
    if d == 0.0:
        if e[0] >= e[1] and e[0] >= e[2]:
            return e[0], (side[0], 0.0, 0.0), (0.0, 1.0, 0.0), 0.0, 0.0
        if e[1] >= e[2]:
            return e[1], (0.0, side[1], 0.0), (0.0, 0.0, 1.0), 0.0, 0.0
        return e[2], (0.0, 0.0, side[2]), (1.0, 0.0, 0.0), 0.0, 0.0
    n = side[0] * c[0] / d, side[1] * c[1] / d, side[2] * c[2] / d
    outside = (c[0] > 0.0) + (c[1] > 0.0) + (c[2] > 0.0)
    if outside == 3:
        return d, n, tangent(n), 1.0 / d, 1.0 / d
    if outside == 2:  # beyond an edge: flat along it
        along = 1.0 * (c[0] == 0.0), 1.0 * (c[1] == 0.0), 1.0 * (c[2] == 0.0)
        return d, n, along, 0.0, 1.0 / d
    return d, n, tangent(n), 0.0, 0.0


@inlined
def cylinder_distance(radius, half, p):
    """s, n, v_1, k_1, k_2 of a cylinder with flat ends at z = -half and half."""
    rho = math.sqrt(p[0] * p[0] + p[1] * p[1])
    top, outwards = math.copysign(1.0, p[2]), (1.0, 0.0)
    if rho > 0.0:
        outwards = p[0] / rho, p[1] / rho
    beyond, above = rho - radius, abs(p[2]) - half
    if beyond > 0.0 and above > 0.0:  # beyond the rim
        d = math.sqrt(beyond * beyond + above * above)
        c = beyond / d
        n = c * outwards[0], c * outwards[1], top * above / d
        return d, n, (-outwards[1], outwards[0], 0.0), c / rho, 1.0 / d
    if above > beyond:
        return above, (0.0, 0.0, top), (1.0, 0.0, 0.0), 0.0, 0.0
    bend = 1.0 / rho if rho > 0.0 else 0.0
    return beyond, (outwards[0], outwards[1], 0.0), (0.0, 0.0, 1.0), 0.0, bend


@inlined
def solid_distance(kind, size, p):
    """s, n, v_1, k_1, k_2 of a box, cylinder or half-space in its own axes; size of a box: half sides."""
    if kind == BOX:
        return box_distance(size, p)
    if kind == CYLINDER:
        return cylinder_distance(size[0], size[1], p)
    return p[2], (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), 0.0, 0.0


@inlined
def nearest_to_solid(kind, size, a, b):
    """t of the point of the segment from a to b nearest to, or deepest in, a solid in its own axes."""
    along = sub(b, a)
    if dot(along, along) == 0.0 or dot(solid_distance(kind, size, a)[1], along) >= 0.0:
        return 0.0
    if dot(solid_distance(kind, size, b)[1], along) <= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        if dot(solid_distance(kind, size, add_scaled(a, t, along))[1], along) < 0.0:
            low = t
        else:
            high = t
    return 0.5 * (low + high)


@inlined
def clamped(x):
    if x < 0.0:
        return 0.0
    return 1.0 if x > 1.0 else x


@inlined
def nearest_of_segments(a, b, c, d):
    """t and u of the nearest points a + t (b - a) and c + u (d - c); Ericson, Collision Detection, 5.1.9."""
    one, other, apart = sub(b, a), sub(d, c), sub(a, c)
    aa, ee, f = dot(one, one), dot(other, other), dot(other, apart)
    if aa == 0.0:
        return 0.0, clamped(f / ee) if ee > 0.0 else 0.0
    cc = dot(one, apart)
    if ee == 0.0:
        return clamped(-cc / aa), 0.0
    bb = dot(one, other)
    parallel = aa * ee - bb * bb
    t = clamped((bb * f - cc * ee) / parallel) if parallel > 0.0 else 0.0
    u = (bb * t + f) / ee
    if u < 0.0:
        return clamped(-cc / aa), 0.0
    if u > 1.0:
        return clamped((bb - cc) / aa), 1.0
    return t, u


@inlined
def points_apart(p, c, u, axis):
    """s, n, v_1, k_1, k_2 of a point p and the point c of a segment along `axis`, flat where u slides."""
    apart = sub(p, c)
    d = math.sqrt(dot(apart, apart))
    if d == 0.0:
        return 0.0, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), 0.0, 0.0
    n = scale(1.0 / d, apart)
    if 0.0 < u < 1.0:
        return d, n, scale(1.0 / math.sqrt(dot(axis, axis)), axis), 0.0, 1.0 / d
    return d, n, tangent(n), 1.0 / d, 1.0 / d


@inlined
def into(axes, p):
    """A point in the axes whose columns and origin are the twelve numbers `axes`."""
    q = p[0] - axes[9], p[1] - axes[10], p[2] - axes[11]
    return (
        axes[0] * q[0] + axes[1] * q[1] + axes[2] * q[2],
        axes[3] * q[0] + axes[4] * q[1] + axes[5] * q[2],
        axes[6] * q[0] + axes[7] * q[1] + axes[8] * q[2],
    )


@inlined
def turned(axes, v):
    """A vector given in those axes, in the outer ones."""
    return (
        axes[0] * v[0] + axes[3] * v[1] + axes[6] * v[2],
        axes[1] * v[0] + axes[4] * v[1] + axes[7] * v[2],
        axes[2] * v[0] + axes[5] * v[1] + axes[8] * v[2],
    )


@inlined
def segment_to_solid(kind, size, axes, a, b):
    """s, t, n, v_1, k_1, k_2 of a segment and a solid with a pose, n and v_1 in outer axes."""
    p, q = into(axes, a), into(axes, b)
    t = nearest_to_solid(kind, size, p, q)
    s, n, v, k1, k2 = solid_distance(kind, size, add_scaled(p, t, sub(q, p)))
    return s, t, turned(axes, n), turned(axes, v), k1, k2


@inlined
def segment_to_segment(a, b, c, d):
    """s, t, u, n, v_1, k_1, k_2 of two segments, n towards the first."""
    t, u = nearest_of_segments(a, b, c, d)
    along, axis = sub(b, a), sub(d, c)
    s, n, v, k1, k2 = points_apart(add_scaled(a, t, along), add_scaled(c, u, axis), u, axis)
    if s == 0.0:  # the axes meet: apart, fastest, along their common normal
        n = cross(along, axis)
        size = math.sqrt(dot(n, n))
        n = scale(1.0 / size, n) if size > 0.0 else (0.0, 0.0, 1.0)
    return s, t, u, n, v, k1, k2


@inlined
def segment_to_points(points, first, last, a, b):
    """Index of the point of points[first:last] nearest to a segment, and t there."""
    along = sub(b, a)
    length, best, found, where = dot(along, along), math.inf, first, 0.0
    for index in range(first, last):
        p = points[index, 0], points[index, 1], points[index, 2]
        apart = sub(p, a)
        t = clamped(dot(apart, along) / length) if length > 0.0 else 0.0
        rest = sub(apart, scale(t, along))
        if dot(rest, rest) < best:
            best, found, where = dot(rest, rest), index, t
    return found, where
