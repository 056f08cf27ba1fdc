"""A straight part of a path over a cylinder, as OpenSim wraps it, so that lengths are those of its models.

The cylinder's axis is z. Seen along it the path touches the circle at the tangent points of both ends. How
far along the axis they are follows from a plane through both ends and the apex of the wrap; where several
surfaces share a path, the points then slide along the axis until the helix between them leaves both within
0.1 degree of the straight parts. A wrap that is alone keeps the plane, which is not quite the shortest path.
Facts from OpenSim's WrapCylinder (Loan).
"""

from __future__ import annotations

import math

from dynamics.kernels.compile import inlined, subroutine
from dynamics.kernels.spatial_algebra import add, cross, dot, scale, sub

NO_WRAP, INSIDE, WRAPPED, MANDATORY = 0, 1, 2, 3  # as a surface answers; WRAPPED: if no other part is better
ZERO = 2.220446049250313e-16  # m, below which a vector has no direction
PARALLEL = 2e-13  # squared sine between lines that do not cross
PIECE = 0.002  # m, of the helix whose first one is compared with the straight part
TANGENT = math.radians(0.1)
SLIDES = 100
REACH = 10.0  # m along the axis, within which the plane may cut
FLAT = 1e-5


@inlined
def sign(x):
    return 1 if x >= 0.0 else -1


@inlined
def unit(a):
    """A vector of length one, zero where it has no direction."""
    size = math.sqrt(dot(a, a))
    return scale(1.0 / size, a) if size >= ZERO else (0.0, 0.0, 0.0)


@subroutine
def angle(a, b):
    return math.acos(dot(a, b) / math.sqrt(dot(a, a) * dot(b, b)))


@subroutine
def tangent_points(p, radius):
    """Points in which tangents through a point touch the circle, at the point's height: left, right."""
    far = math.sqrt(p[0] * p[0] + p[1] * p[1])
    vx, vy = p[0] / far, p[1] / far
    along = radius * radius / far
    aside = math.sqrt(radius * radius - along * along)
    left = (along * vx - aside * vy, along * vy + aside * vx, p[2])
    right = (along * vx + aside * vy, along * vy - aside * vx, p[2])
    return left, right, far


@inlined
def crossing(p1, p2):
    """True if one point of the line is nearest to the axis, its share of the way p1 to p2, the point."""
    d = sub(p2, p1)
    across = d[0] * d[0] + d[1] * d[1]
    total = across + d[2] * d[2]
    if not across > PARALLEL * total:
        return False, 0.0, p1
    t = -(p1[0] * d[0] + p1[1] * d[1]) / across
    return True, t, add(p1, scale(t, d))


@inlined
def height(p1, normal, r):
    """True if the line along the axis through r cuts the plane through p1, and the height of the cut."""
    rise = 2.0 * REACH * normal[2]
    if abs(rise) < FLAT:
        return False, r[2]
    low = (r[0], r[1], r[2] - REACH)
    t = dot(sub(p1, low), normal) / rise
    return -FLAT <= t <= 1.0 + FLAT, low[2] + 2.0 * REACH * t


@inlined
def slid(p, r, w):
    """True if the helix from r towards w bends off the straight part from p; a better height of r."""
    before, after = unit(sub(r, p)), unit(sub(w, r))
    if abs(math.acos(before[2]) - math.acos(after[2])) > TANGENT:
        d = sub(w, p)
        across = d[0] * d[0] + d[1] * d[1]
        if across > 0.0:
            s = ((r[0] - p[0]) * d[0] + (r[1] - p[1]) * d[1]) / across
            return True, r[2] + 1.5 * (p[2] + s * d[2] - r[2])
        return True, r[2]
    return False, r[2]


@subroutine
def turned(r, by):
    """A point turned about the axis."""
    c, s = math.cos(by), math.sin(by)
    return c * r[0] - s * r[1], s * r[0] + c * r[1], r[2]


@subroutine
def helix(p1, p2, r1, r2, radius, long_way, alone):
    """Length of the helix between the tangent points, and these, slid along the axis if not alone."""
    slides = 0
    while True:
        rise = r2[2] - r1[2]
        turn = math.atan2(r1[0] * r2[1] - r1[1] * r2[0], r1[0] * r2[0] + r1[1] * r2[1])
        sense = 1.0
        if long_way:
            turn, sense = 2.0 * math.pi - turn, -1.0
        length = math.sqrt((radius * turn) ** 2 + rise * rise)
        pieces = int(length / PIECE)
        if alone or pieces < 2 or slides >= SLIDES:
            return length, r1, r2
        t = 1.0 / pieces
        w = turned(r1, sense * t * turn)
        changed, z1 = slid(p1, r1, (w[0], w[1], w[2] + t * rise))
        r1 = (r1[0], r1[1], z1)
        w = turned(r1, sense * (1.0 - t) * turn)
        changed_too, z2 = slid(p2, r2, (w[0], w[1], w[2] + (1.0 - t) * rise))
        r2 = (r2[0], r2[1], z2)
        if not (changed or changed_too):
            return length, r1, r2
        slides += 1


@subroutine
def cylinder(p1, p2, radius, length, axis, side, alone):
    """The wrap of a straight part p1 to p2: the answer, length on the surface, both tangent points.

    axis, side : the half that the path may touch, side 0 for all;  alone : no other surface shares the path
    """
    nothing = (0.0, 0.0, 0.0)
    squared = radius * radius
    if p1[0] * p1[0] + p1[1] * p1[1] < squared or p2[0] * p2[0] + p2[1] * p2[1] < squared:
        return INSIDE, 0.0, nothing, nothing
    crosses, along, near = crossing(p1, p2)
    cuts = crosses and near[0] * near[0] + near[1] * near[1] < squared and 0.0 < along < 1.0
    answer = WRAPPED
    if side == 0:
        if not cuts:
            return NO_WRAP, 0.0, nothing, nothing
        answer = MANDATORY
    elif sign(p1[axis]) == side or sign(p2[axis]) == side:
        if cuts:
            answer = MANDATORY
        elif sign(p1[axis]) == sign(p2[axis]) or sign(near[axis]) == side:
            return NO_WRAP, 0.0, nothing, nothing
    left1, right1, far1 = tangent_points(p1, radius)
    left2, right2, far2 = tangent_points(p2, radius)
    far_side, long_way = False, False
    if side == 0:
        ll, lr = left1[0] * left2[0] + left1[1] * left2[1], left1[0] * right2[0] + left1[1] * right2[1]
        rl, rr = right1[0] * left2[0] + right1[1] * left2[1], right1[0] * right2[0] + right1[1] * right2[1]
        if ll > lr and ll > rl and ll > rr:
            r1, r2 = left1, left2
        elif lr > rl and lr > rr:
            r1, r2 = left1, right2
        elif rl > rr:
            r1, r2 = right1, left2
        else:
            r1, r2 = right1, right2
    else:
        wider = angle((left1[0], left1[1], 0.0), (right2[0], right2[1], 0.0)) > angle(
            (right1[0], right1[1], 0.0), (left2[0], left2[1], 0.0)
        )
        on_left, on_right = sign(left1[axis]) == side, sign(right1[axis]) == side
        left = on_left
        if on_left and on_right:
            left = sign(left2[axis]) != side
        elif not on_left and not on_right:
            if sign(left2[axis]) == side:
                left = False
            elif sign(right2[axis]) == side:
                left = True
            else:
                left = wider
        far_side = wider == left
        r1, r2 = (left1, right2) if left else (right1, left2)
        sx = r1[0] + r2[0]
        sy = r1[1] + r2[1]
        mx, my = sx - p1[0] - p2[0], sy - p1[1] - p2[1]
        long_way = sx * mx + sy * my < 0.0
    r1, r2 = heights(p1, p2, r1, r2, radius, far1 / (far1 + far2), far_side)
    half = 0.5 * length
    if abs(r1[2]) > half and abs(r2[2]) > half:
        return NO_WRAP, 0.0, nothing, nothing
    along, r1, r2 = helix(p1, p2, r1, r2, radius, long_way, alone)
    return answer, along, r1, r2


@subroutine
def heights(p1, p2, r1, r2, radius, share, far_side):
    """The tangent points at the heights where the plane through both ends and the apex cuts their lines."""
    middle = add(p1, scale(share, sub(p2, p1)))
    foot = (0.0, 0.0, middle[2])
    normal = unit(cross(unit(sub(p1, foot)), unit(sub(p2, foot))))
    out = unit((-normal[1], normal[0], 0.0))
    one = (radius * out[0], radius * out[1], middle[2])
    other = (-radius * out[0], -radius * out[1], middle[2])
    to_one, to_other = sub(middle, one), sub(middle, other)
    first_nearer = dot(to_one, to_one) < dot(to_other, to_other)
    apex = one if first_nearer != far_side else other
    normal = unit(cross(unit(sub(p1, apex)), unit(sub(p2, apex))))
    span = abs(p2[2] - p1[2])
    if abs(p2[2]) >= ZERO:  # OpenSim leaves the heights where the second end is at zero
        cuts, z = height(p1, normal, r1)
        if cuts and abs(z - p2[2]) < span:
            r1 = (r1[0], r1[1], z)
        cuts, z = height(p1, normal, r2)
        if cuts and abs(z - p1[2]) < span:
            r2 = (r2[0], r2[1], z)
    return r1, r2
