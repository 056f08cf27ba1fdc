"""A straight part of a path over a sphere about the origin: along the great circle through both ends.

Facts from OpenSim's WrapSphere (Loan). Where its wrap goes the long way round it counts the arc as negative;
here it has its length. A part that passes the centre has no plane, and OpenSim keeps what it found before;
here it is straight.
"""

from __future__ import annotations

import math

from dynamics.kernels.compile import subroutine
from dynamics.kernels.spatial_algebra import add, add_scaled, cross, dot, scale, sub
from dynamics.muscles.wraps.cylinder import INSIDE, MANDATORY, NO_WRAP, WRAPPED, sign, unit

CENTRAL = 1e-5  # sine between the part and the way to the centre


@subroutine
def tangent_points(p, normal, radius):
    """Points in which tangents through a point touch the sphere, in the plane of a normal."""
    far = math.sqrt(dot(p, p))
    inward = scale(-1.0 / far, p)
    aside = cross(normal, inward)
    opening = math.asin(radius / far)
    reach = far * math.cos(opening)
    along = add_scaled(p, reach * math.cos(opening), inward)
    shift = reach * math.sin(opening)
    return add_scaled(along, -shift, aside), add_scaled(along, shift, aside)


@subroutine
def sphere(p1, p2, radius, axis, side):
    """The wrap of a straight part p1 to p2: the answer, length on the surface, both tangent points."""
    nothing = (0.0, 0.0, 0.0)
    if dot(p1, p1) < radius * radius or dot(p2, p2) < radius * radius:
        return INSIDE, 0.0, nothing, nothing
    back = sub(p1, p2)
    a, half = dot(back, back), dot(p2, back)
    within = half * half - a * (dot(p2, p2) - radius * radius)
    if not within >= 0.0:
        return NO_WRAP, 0.0, nothing, nothing
    root = math.sqrt(within)
    if root >= -half or -half + root >= a:
        return NO_WRAP, 0.0, nothing, nothing
    across = cross(unit(back), unit(p2))
    if math.sqrt(dot(across, across)) < CENTRAL:
        return NO_WRAP, 0.0, nothing, nothing
    normal = unit(across)
    one1, other1 = tangent_points(p1, normal, radius)
    one2, other2 = tangent_points(p2, normal, radius)
    aa, ab = dot(one1, one2), dot(one1, other2)
    ba, bb = dot(other1, one2), dot(other1, other2)
    if aa > ab and aa > ba and aa > bb:
        r1, r2 = one1, one2
    elif ab > ba and ab > bb:
        r1, r2 = one1, other2
    elif ba > bb:
        r1, r2 = other1, one2
    else:
        r1, r2 = other1, other2
    answer, long_way = WRAPPED, False
    on1, on2 = sign(p1[axis]) == side, sign(p2[axis]) == side
    if side != 0 and (on1 or on2):
        answer = MANDATORY
    if side != 0 and not (on1 and on2):
        inward = scale(-1.0, add(p1, p2))
        first = dot(one1, inward) > dot(other1, inward)
        second = dot(one2, inward) > dot(other2, inward)
        r1, flipped1 = (one1, other1) if first else (other1, one1)
        r2, flipped2 = (one2, other2) if second else (other2, one2)
        if (r1[axis] - p1[axis] + r2[axis] - p2[axis]) * side < 0.0:
            r1, r2 = flipped1, flipped2
        out, on_way = add(r1, r2), add(sub(r1, p1), sub(r2, p2))
        long_way = dot(out, on_way) < 0.0
    angle = math.acos(min(1.0, dot(unit(r1), unit(r2))))
    if long_way:
        angle = 2.0 * math.pi - angle
    return answer, radius * angle, r1, r2
