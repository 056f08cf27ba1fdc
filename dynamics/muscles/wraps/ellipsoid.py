"""A straight part of a path over an ellipsoid about the origin, in a plane, as OpenSim wraps it.

The plane goes through both ends and a point of the surface near the part ("hybrid", "midpoint" or "axial" say
which). In it the tangent points are found by damped least squares, to 1e-4 of the mean radius, and the length
between them is that of chords of about 1 mm. So lengths jump by micrometres where the number of chords
changes, and the curve is that of a section, not the shortest one. Facts from OpenSim's WrapEllipsoid (Loan),
whose numbers depend on these steps; sizes are scaled so that their mean is 1.
"""

from __future__ import annotations

import math

import numpy as np

from dynamics.kernels.compile import subroutine
from dynamics.kernels.spatial_algebra import add, add_scaled, cross, dot, scale, sub
from dynamics.muscles.wraps.cylinder import INSIDE, MANDATORY, NO_WRAP, sign, unit
from dynamics.muscles.wraps.nearest_on_ellipsoid import nearest_in_plane, nearest_on_ellipsoid

HYBRID, MIDPOINT, AXIAL = 0, 1, 2
ON_SURFACE = 1e-4  # of (x/a)^2 + (y/b)^2 + (z/c)^2 - 1
COLLINEAR = 1e-4  # of 1 - cos between the ways from the centre to both ends
FAN_ALONE, FAN_NOT = 0.7073, 0.9  # direction cosines between which the two ways to choose the plane blend
EDGE = 0.3  # of the part inside, near whose ends the point on an axis counts less
BLADES = 300
TANGENT = 1e-8  # sum of squared equations
STEPS, TRIALS = 50, 1000
CHORD, CHORDS = 1e-3, 499  # m


@subroutine
def by_sizes(p, a):
    return p[0] / a[0], p[1] / a[1], p[2] / a[2]


@subroutine
def with_entry(p, axis, value):
    x, y, z = p
    if axis == 0:
        x = value
    elif axis == 1:
        y = value
    else:
        z = value
    return x, y, z


@subroutine
def fan(r1, way, a):
    """The mean direction from the part inside to the nearest points of the surface."""
    total = (0.0, 0.0, 0.0)
    for i in range(1, BLADES - 1):
        p = add_scaled(r1, i / BLADES, way)
        total = add(total, unit(sub(nearest_on_ellipsoid(a, p), p)))
    return unit(total)


@subroutine
def plane_point(r1, r2, back, a, method):
    """A point of the surface for the plane, how much of it is the fan's, and where on the part it begins."""
    way = sub(r2, r1)
    middle = add_scaled(r1, 0.5, way)
    slopes = unit(back)
    axis = 0
    for i in range(1, 3):
        if abs(slopes[i]) > abs(slopes[axis]):
            axis = i
    steep, share = abs(slopes[axis]), -r1[axis] / way[axis]
    if method == MIDPOINT:
        return nearest_on_ellipsoid(a, middle), -1.0, share
    start = add_scaled(r1, share, way)
    on_axis = nearest_in_plane(a, start, axis)
    if method == AXIAL:
        return on_axis, -1.0, share
    if steep > FAN_ALONE:
        fade = 1.0
        if share < 0.0 or share > 1.0:
            fade = 0.0
        elif share < EDGE:
            fade = share / EDGE
        elif share > 1.0 - EDGE:
            fade = (1.0 - share) / EDGE
        if fade < 1.0:
            steep = FAN_ALONE + fade * (steep - FAN_ALONE)
    if steep >= FAN_NOT:
        return on_axis, -1.0, share
    by_fan = nearest_on_ellipsoid(a, add(middle, fan(r1, way, a)))
    if steep <= FAN_ALONE:
        return by_fan, 1.0, share
    blend = (steep - FAN_ALONE) / (FAN_NOT - FAN_ALONE)
    mixed = add(scale(blend, on_axis), scale(1.0 - blend, by_fan))
    return nearest_on_ellipsoid(a, mixed), 1.0 - blend, share


@subroutine
def tangent_equations(r, d, p, a, normal, offset, found):
    """Equations of a tangent point r: plane, surface, tangent plane through r and p; their squared sum."""
    n = (2.0 * r[0] / (a[0] * a[0]), 2.0 * r[1] / (a[1] * a[1]), 2.0 * r[2] / (a[2] * a[2]))
    s = by_sizes(r, a)
    found[0] = dot(normal, r) + offset
    found[1] = dot(s, s) - 1.0
    found[2] = dot(n, r) + d
    found[3] = dot(n, p) + d
    return found[0] ** 2 + found[1] ** 2 + found[2] ** 2 + found[3] ** 2


@subroutine
def solved(matrix, right, out):
    """Solve four equations of a positive definite matrix; it and the right side are overwritten."""
    for i in range(4):
        for j in range(i + 1, 4):
            share = matrix[j, i] / matrix[i, i]
            for c in range(i, 4):
                matrix[j, c] -= share * matrix[i, c]
            right[j] -= share * right[i]
    for i in range(3, -1, -1):
        total = right[i]
        for c in range(i + 1, 4):
            total -= matrix[i, c] * out[c]
        out[i] = total / matrix[i, i]


@subroutine
def tangent_point(r, p, a, normal, offset):
    """Move a point r of the plane on the surface until the line to p is tangent."""
    s = by_sizes(p, a)
    if abs(dot(s, s) - 1.0) < ON_SURFACE:
        return p
    jacobian, squares, matrix = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    errors, right, diagonal, step, slope = np.empty(4), np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    d = -2.0 * (r[0] * r[0] / a[0] ** 2 + r[1] * r[1] / a[1] ** 2 + r[2] * r[2] / a[2] ** 2)
    before = now = tangent_equations(r, d, p, a, normal, offset, errors)
    damping, steps = 0.01, 0
    while now > TANGENT and steps < STEPS:
        steps += 1
        for i in range(3):
            inverse = 1.0 / (a[i] * a[i])
            jacobian[i, 0] = normal[i]
            jacobian[i, 1] = 2.0 * r[i] * inverse
            jacobian[i, 2] = 4.0 * r[i] * inverse
            jacobian[i, 3] = 2.0 * p[i] * inverse
        jacobian[3, 0] = jacobian[3, 1] = 0.0
        jacobian[3, 2] = jacobian[3, 3] = 1.0
        steep = dot(unit(sub(p, r)), unit(p))
        gain = (1.0 - steep**100 if steep > 0.1 else 1.0) / 16.0
        for i in range(4):
            slope[i] = 0.0
            for j in range(4):
                slope[i] -= jacobian[i, j] * errors[j]
                squares[i, j] = 0.0
                for c in range(4):
                    squares[i, j] += jacobian[i, c] * jacobian[j, c]
            diagonal[i] = squares[i, i]
        trials = 0
        while now >= before and trials < TRIALS:
            for i in range(4):
                right[i] = slope[i]
                for j in range(4):
                    matrix[i, j] = squares[i, j]
                matrix[i, i] = diagonal[i] * (1.0 + damping)
            solved(matrix, right, step)
            for i in range(4):
                step[i] *= gain
            r = (r[0] + step[0], r[1] + step[1], r[2] + step[2])
            d += step[3]
            before = now
            now = tangent_equations(r, d, p, a, normal, offset, errors)
            damping *= 4.0
            trials += 1
        damping /= 8.0
        times, trials = 0.5, 0
        while now <= before and trials < TRIALS:
            times *= 2.0
            r = (r[0] + times * step[0], r[1] + times * step[1], r[2] + times * step[2])
            d += times * step[3]
            before = now
            now = tangent_equations(r, d, p, a, normal, offset, errors)
            trials += 1
        r = (r[0] - times * step[0], r[1] - times * step[1], r[2] - times * step[2])
        d -= times * step[3]
        before = now = tangent_equations(r, d, p, a, normal, offset, errors)
    return r


@subroutine
def section(r1, r2, a, normal, offset, factor, long_way):
    """Length of chords between two points along the section, its second point and its last but one; count."""
    apart = sub(r1, r2)
    straight = math.sqrt(dot(apart, apart))
    if straight / factor < CHORD:
        return straight, r2, r1, 1
    count = min(int(straight / factor / CHORD), CHORDS)
    steepest = 0
    for i in range(1, 3):
        if abs(normal[i]) > abs(normal[steepest]):
            steepest = i
    centre = with_entry((0.0, 0.0, 0.0), steepest, -offset / normal[steepest])
    out1, out2 = unit(sub(r1, centre)), unit(sub(r2, centre))
    turn = math.acos(dot(out1, out2))
    if long_way:
        turn -= 2.0 * math.pi
    aside = cross(unit(cross(out1, out2)), out1)
    begin = by_sizes(centre, a)
    last, length, second, last_but_one = r1, 0.0, r2, r1
    for i in range(1, count + 1):
        point = r2
        if i < count:
            angle = i * (turn / count)
            way = add(scale(math.cos(angle), out1), scale(math.sin(angle), aside))
            f = by_sizes(way, a)
            aa, bb, cc = dot(f, f), 2.0 * dot(f, begin), dot(begin, begin) - 1.0
            point = add_scaled(centre, (-bb + math.sqrt(bb * bb - 4.0 * aa * cc)) / (2.0 * aa), way)
        d = sub(point, last)
        length += math.sqrt(dot(d, d))
        if i == 1:
            second = point
        if i == count - 1:
            last_but_one = point
        last = point
    return length, second, last_but_one, count


@subroutine
def ellipsoid(p1, p2, sizes, axis, side, method):
    """The wrap of a straight part p1 to p2: the answer, length on the surface, both tangent points."""
    nothing = (0.0, 0.0, 0.0)
    factor = 3.0 / (sizes[0] + sizes[1] + sizes[2])
    a = scale(factor, sizes)
    p1, p2 = scale(factor, p1), scale(factor, p2)
    s1, s2 = by_sizes(p1, a), by_sizes(p2, a)
    if dot(s1, s1) - 1.0 < -ON_SURFACE or dot(s2, s2) - 1.0 < -ON_SURFACE:
        return INSIDE, 0.0, nothing, nothing
    if abs(dot(unit(p1), unit(p2)) - 1.0) < COLLINEAR:
        return NO_WRAP, 0.0, nothing, nothing
    back = sub(p1, p2)
    f = by_sizes(back, a)
    aa, bb, cc = dot(f, f), 2.0 * dot(f, s2), dot(s2, s2) - 1.0
    within = bb * bb - 4.0 * aa * cc
    if within < 0.0:
        return NO_WRAP, 0.0, nothing, nothing
    l1, l2 = (-bb + math.sqrt(within)) / (2.0 * aa), (-bb - math.sqrt(within)) / (2.0 * aa)
    if not (0.0 < l1 < 1.0 and 0.0 < l2 < 1.0):
        return NO_WRAP, 0.0, nothing, nothing
    r1, r2 = add_scaled(p2, l1, back), add_scaled(p2, l2, back)
    c, of_fan, share = plane_point(r1, r2, back, a, method)
    if method != AXIAL or 0.0 < share < 1.0:
        r1 = r2 = c
    if side != 0 and sign(c[axis]) != side:
        r1 = r2 = c = with_entry(c, axis, -c[axis])
        if of_fan > 0.0:
            c = nearest_on_ellipsoid(a, with_entry(c, axis, c[axis] * (1.0 - of_fan)))
    normal = unit(cross(back, sub(p1, c)))
    offset = -dot(normal, c)
    r1 = tangent_point(r1, p1, a, normal, offset)
    r2 = tangent_point(r2, p2, a, normal, offset)
    length, second, last_but_one, count = section(r1, r2, a, normal, offset, factor, False)
    if side != 0 and count > 1:
        forward = dot(sub(p1, r1), sub(second, r1)), dot(sub(p2, r2), sub(last_but_one, r2))
        if forward[0] > 0.0 or forward[1] > 0.0:
            length, _, _, _ = section(r1, r2, a, normal, offset, factor, True)
    return MANDATORY, length / factor, scale(1.0 / factor, r1), scale(1.0 / factor, r2)
