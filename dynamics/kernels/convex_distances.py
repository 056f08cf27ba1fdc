"""Signed distances of two convex solids, by the points of both that are farthest in a direction.

With h(n) = max over x in A - B of n . x the signed distance is d = - min over |n| = 1 of h(n): apart, that of
the nearest points, which the algorithm of Gilbert, Johnson and Keerthi finds (IEEE J. Robotics and Automation
4, 1988); overlapping, minus the depth, of which a local minimum is found by refining portals (Snethen, Game
Programming Gems 7, 2008) from just behind the origin. Every n gives -h(n) <= d, and what is returned is such
a bound, a picometre below d where solids are apart.
"""

from __future__ import annotations

import math

from dynamics.kernels.compile import inlined, subroutine
from dynamics.kernels.distances import BOX, CYLINDER, HULL, clamped, turned
from dynamics.kernels.spatial_algebra import add, add_scaled, cross, dot, scale, sub

STEPS = 60  # of the search for nearest points, which curved solids approach by a factor at a time
APART = 1e-12  # m, between the bounds of a distance
TOUCHING = 1e-10  # m, below which nearest points give no normal
PORTALS = 60  # of a refinement
RESTARTS = 8  # of refinements, each along the normal that the last one found
BEHIND = 0.01  # of the depth: how far behind the origin they start


@inlined
def farthest(solid, n):
    """The point of a solid's core that is farthest along n; kind, size, axes, points and their span."""
    kind, size, axes, points, first, last = solid
    u0 = axes[0] * n[0] + axes[1] * n[1] + axes[2] * n[2]
    u1 = axes[3] * n[0] + axes[4] * n[1] + axes[5] * n[2]
    u2 = axes[6] * n[0] + axes[7] * n[1] + axes[8] * n[2]
    x, y, z = 0.0, 0.0, 0.0
    if kind == HULL:
        best, found = -math.inf, first
        for index in range(first, last):
            along = points[index, 0] * u0 + points[index, 1] * u1 + points[index, 2] * u2
            if along > best:
                best, found = along, index
        x, y, z = points[found, 0], points[found, 1], points[found, 2]
    elif kind == BOX:
        x, y, z = math.copysign(size[0], u0), math.copysign(size[1], u1), math.copysign(size[2], u2)
    elif kind == CYLINDER:
        rho = math.sqrt(u0 * u0 + u1 * u1)
        if rho > 0.0:
            x, y = size[0] * u0 / rho, size[0] * u1 / rho
        z = math.copysign(size[1], u2)
    else:
        z = math.copysign(size[0], u2)
    return add(turned(axes, (x, y, z)), (axes[9], axes[10], axes[11]))


@subroutine
def difference(one, other, n):
    """The point of A - B farthest along n, and those of A and B that it is made of."""
    a, b = farthest(one, n), farthest(other, scale(-1.0, n))
    return sub(a, b), a, b


@inlined
def origin_on_segment(a, b):
    """Shares of both ends in the point of a segment nearest to the origin."""
    along = sub(b, a)
    length = dot(along, along)
    t = clamped(-dot(a, along) / length) if length > 0.0 else 0.0
    return 1.0 - t, t


@subroutine
def origin_on_triangle(a, b, c):
    """Shares of the corners in the point of a triangle nearest to the origin; Ericson, 5.1.5."""
    ab, ac = sub(b, a), sub(c, a)
    d1, d2 = -dot(ab, a), -dot(ac, a)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    d3, d4 = -dot(ab, b), -dot(ac, b)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return 1.0 - t, t, 0.0
    d5, d6 = -dot(ab, c), -dot(ac, c)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return 1.0 - t, 0.0, t
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - t, t
    total = va + vb + vc
    return va / total, vb / total, vc / total


@inlined
def corner(simplex, row, first):
    return simplex[row, first], simplex[row, first + 1], simplex[row, first + 2]


@inlined
def keep_shares(simplex, shares, count):
    """Drop corners without a share; how many stay."""
    kept = 0
    for row in range(count):
        if shares[row] > 0.0:
            shares[kept] = shares[row]
            for column in range(9):
                simplex[kept, column] = simplex[row, column]
            kept += 1
    return kept


@subroutine
def nearest_to_origin(simplex, shares, count):
    """Reduce a simplex to the face with its point nearest to the origin; how many corners stay, 0 inside."""
    if count == 1:
        shares[0] = 1.0
        return 1
    if count == 2:
        shares[0], shares[1] = origin_on_segment(corner(simplex, 0, 0), corner(simplex, 1, 0))
        return keep_shares(simplex, shares, 2)
    if count == 3:
        shares[0], shares[1], shares[2] = origin_on_triangle(
            corner(simplex, 0, 0), corner(simplex, 1, 0), corner(simplex, 2, 0)
        )
        return keep_shares(simplex, shares, 3)
    best, face, found = math.inf, -1, (0.0, 0.0, 0.0)
    for left in range(4):
        i, j, k = (left + 1) % 4, (left + 2) % 4, (left + 3) % 4
        a, b, c = corner(simplex, i, 0), corner(simplex, j, 0), corner(simplex, k, 0)
        normal = cross(sub(b, a), sub(c, a))
        height = dot(normal, sub(corner(simplex, left, 0), a))
        if -dot(normal, a) * height > 0.0 and abs(height) > 1e-14 * math.sqrt(dot(normal, normal)):
            continue  # the origin is on the side of the corner that is left out
        s = origin_on_triangle(a, b, c)
        p = add_scaled(add_scaled(scale(s[0], a), s[1], b), s[2], c)
        if dot(p, p) < best:
            best, face, found = dot(p, p), left, s
    if face < 0:
        return 0
    shares[face] = 0.0
    shares[(face + 1) % 4], shares[(face + 2) % 4], shares[(face + 3) % 4] = found
    return keep_shares(simplex, shares, 4)


@inlined
def mixed(simplex, shares, count, first):
    """The point with these shares, of A - B, A or B."""
    p = 0.0, 0.0, 0.0
    for row in range(count):
        p = add_scaled(p, shares[row], corner(simplex, row, first))
    return p


@inlined
def centre_of(solid):
    """A point inside a solid: the origin of its axes."""
    axes = solid[2]
    return axes[9], axes[10], axes[11]


@inlined
def reach_of(solid):
    """Radius of a ball about its origin that holds a core, of a box or cylinder at least."""
    kind, size, _, points, first, last = solid
    wide = math.sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2])
    if kind == HULL:
        for index in range(first, last):
            p = points[index, 0], points[index, 1], points[index, 2]
            wide = max(wide, math.sqrt(dot(p, p)))
    return wide


@subroutine
def convex_distance(one, other, reach, scratch):
    """d, x, y, n of two cores: distance, nearest points of both, and the normal from the other to the first.

    Where d is above `reach` it is only known that it is. scratch (6, 12) is written to, its last row is not.
    """
    simplex, shares = scratch, scratch[4]
    none, v, count = (0.0, 0.0, 0.0), sub(centre_of(one), centre_of(other)), 0
    if dot(v, v) == 0.0:
        v = 1.0, 0.0, 0.0
    best, high, x, y, n = -math.inf, math.inf, none, none, (0.0, 0.0, 1.0)
    for _ in range(STEPS):
        size = math.sqrt(dot(v, v))
        if size < TOUCHING:
            return overlap(one, other)
        w, a, b = difference(one, other, scale(-1.0, v))
        low = dot(v, w) / size
        if low > reach:
            return low, none, none, (0.0, 0.0, 1.0)
        if count > 0:
            high = min(high, size)
            if low > best:
                best, n = low, scale(1.0 / size, v)
                x, y = mixed(simplex, shares, count, 3), mixed(simplex, shares, count, 6)
        again = False
        for row in range(count):
            again |= simplex[row, 0] == w[0] and simplex[row, 1] == w[1] and simplex[row, 2] == w[2]
        if again or high - best <= APART:
            break
        for axis in range(3):
            simplex[count, axis], simplex[count, 3 + axis], simplex[count, 6 + axis] = (
                w[axis],
                a[axis],
                b[axis],
            )
        count = nearest_to_origin(simplex, shares, count + 1)
        if count == 0:
            return overlap(one, other)
        v = mixed(simplex, shares, count, 0)
    return (best, x, y, n) if best > 0.0 else overlap(one, other)


@inlined
def swapped(first, second, turn):
    return (second, first) if turn else (first, second)


@subroutine
def exit_portal(one, other, inner):
    """The normal of A - B and three of its points where a ray from inside it through the origin leaves."""
    n = scale(-1.0, inner)
    p1 = difference(one, other, n)
    n = cross(p1[0], inner)
    if dot(n, n) <= 1e-30 * dot(p1[0], p1[0]) * dot(inner, inner):
        n = scale(-1.0 / math.sqrt(dot(inner, inner)), inner)
        return n, p1, p1, p1
    p2 = difference(one, other, n)
    n = cross(sub(p1[0], inner), sub(p2[0], inner))
    if dot(n, inner) > 0.0:
        p1, p2 = p2, p1
        n = scale(-1.0, n)
    p3 = difference(one, other, n)
    for _ in range(PORTALS):
        if dot(cross(p1[0], p3[0]), inner) < 0.0:
            p2 = p3
        elif dot(cross(p3[0], p2[0]), inner) < 0.0:
            p1 = p3
        else:
            break
        n = cross(sub(p1[0], inner), sub(p2[0], inner))
        p3 = difference(one, other, n)
    unit = scale(-1.0 / math.sqrt(dot(inner, inner)), inner)
    for _ in range(PORTALS):
        n = cross(sub(p2[0], p1[0]), sub(p3[0], p1[0]))
        size = math.sqrt(dot(n, n))
        if size <= 1e-30:
            break
        unit = scale(1.0 / size, n)
        p4 = difference(one, other, unit)
        if dot(sub(p4[0], p3[0]), unit) <= APART:
            break
        across = cross(p4[0], inner)
        if dot(p1[0], across) > 0.0:
            if dot(p2[0], across) > 0.0:
                p1 = p4
            else:
                p3 = p4
        elif dot(p3[0], across) > 0.0:
            p2 = p4
        else:
            p1 = p4
    return unit, p1, p2, p3


@subroutine
def overlap(one, other):
    """d, x, y, n as of `convex_distance` of cores that overlap: minus a local minimum of the depth."""
    inner = sub(centre_of(one), centre_of(other))
    if dot(inner, inner) < 1e-16:
        inner = 1e-6, 2e-6, 3e-6
    n, p1, p2, p3 = exit_portal(one, other, inner)
    best = dot(difference(one, other, n)[0], n)
    least, along = best, n
    for solid in (one, other):  # faces of boxes, ends of cylinders
        axes = solid[2]
        for first in (0, 3, 6):
            for side in (-1.0, 1.0):
                unit = side * axes[first], side * axes[first + 1], side * axes[first + 2]
                depth = dot(difference(one, other, unit)[0], unit)
                if depth < least - APART:
                    least, along = depth, unit
    for _ in range(RESTARTS):
        if least <= TOUCHING:
            break
        inner = scale(-BEHIND * least, along)
        unit, q1, q2, q3 = exit_portal(one, other, inner)
        depth = dot(difference(one, other, unit)[0], unit)
        if depth >= best - APART:
            break
        best, n, p1, p2, p3 = depth, unit, q1, q2, q3
        least, along = depth, unit
    # Shares of the portal's corners in the foot of the origin on its plane: x - y is along n.
    u, w = sub(p2[0], p1[0]), sub(p3[0], p1[0])
    uu, uw, ww = dot(u, u), dot(u, w), dot(w, w)
    ru, rw, plane = -dot(u, p1[0]), -dot(w, p1[0]), uu * ww - uw * uw
    s = t = 0.0
    if plane > 1e-12 * uu * ww:
        s, t = (ww * ru - uw * rw) / plane, (uu * rw - uw * ru) / plane
    elif uu + ww > 0.0:
        s = ru / uu if uu >= ww else 0.0
        t = rw / ww if uu < ww else 0.0
    x = add_scaled(add_scaled(scale(1.0 - s - t, p1[1]), s, p2[1]), t, p3[1])
    y = add_scaled(add_scaled(scale(1.0 - s - t, p1[2]), s, p2[2]), t, p3[2])
    return -best, x, y, scale(-1.0, n)
