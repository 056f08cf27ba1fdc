"""A straight part of a path through a torus about z: over a cylinder, where it comes nearest to the ring.

The path runs inside of the ring; the cylinder has the radius of the tube and lies along the ring's tangent at
its point nearest to the part. Facts from OpenSim's WrapTorus (Loan), which seeks that point by MINPACK's
least squares from both ends to 1e-4, so that its numbers hold that step.
"""

from __future__ import annotations

import math

from dynamics.kernels.compile import subroutine
from dynamics.kernels.spatial_algebra import add_scaled, cross, dot, rotate, rotate_back, sub
from dynamics.muscles.wraps.cylinder import NO_WRAP, WRAPPED, cylinder, sign, unit

LENGTH = 10000.0  # m of the cylinder
ENOUGH = 1e-4  # relative, of the equation and of the way
TRUST = 0.2  # first bound of a step
DIFFERENCE = 1.4901161193847656e-08  # relative, of forward differences
STEPS = 500


@subroutine
def slope_of_distance(u, p, n, ring):
    """Twice the derivative of the squared distance to the ring along a line, as OpenSim states it."""
    across, square = p[0] * n[0] + p[1] * n[1], n[0] * n[0] + n[1] * n[1]
    out = math.sqrt(u * u * square + 2.0 * across * u + p[0] * p[0] + p[1] * p[1])
    return 2.0 * dot(p, n) + 2.0 * u - 2.0 * ring * (2.0 * square * u + 2.0 * across) / out


@subroutine
def nearest_along(p, n, ring):
    """Way u along a line from p at which `slope_of_distance` is least in square, from u = 0 on.

    Levenberg and Marquardt's method of one unknown as in MINPACK's lmdif: with slope g, bound b and scale s a
    step is -f / g cut to b / s; the bound follows the ratio of actual to predicted reduction.
    """
    u, f = 0.0, slope_of_distance(0.0, p, n, ring)
    bound, scale, damping, first = 0.0, 0.0, 0.0, True
    calls = 1
    while calls < STEPS:
        h = DIFFERENCE * abs(u)
        if h == 0.0:
            h = DIFFERENCE
        g = (slope_of_distance(u + h, p, n, ring) - f) / h
        calls += 1
        if first:
            scale = abs(g) if g != 0.0 else 1.0
            bound = TRUST * scale * abs(u)
            if bound == 0.0:
                bound = TRUST
        if f == 0.0 or g == 0.0:
            return u
        scale = max(scale, abs(g))
        ratio = 0.0
        while ratio < 1e-4:
            step = -f / g
            size = scale * abs(step)
            if size - bound <= 0.1 * bound:
                damping = 0.0
            else:
                damping = marquardt(f, g, scale, bound, damping)
                step = -f * g / (g * g + damping * scale * scale)
                size = scale * abs(step)
            if first:
                bound = min(bound, size)
            trial = slope_of_distance(u + step, p, n, ring)
            calls += 1
            actual = 1.0 - (trial / f) ** 2 if 0.1 * abs(trial) < abs(f) else -1.0
            change = abs(g * step) / abs(f)
            pull = math.sqrt(damping) * size / abs(f)
            predicted = change * change + 2.0 * pull * pull
            direction = -(change * change + pull * pull)
            ratio = actual / predicted if predicted != 0.0 else 0.0
            if ratio <= 0.25:
                shrink = 0.5
                if actual < 0.0:
                    shrink = 0.5 * direction / (direction + 0.5 * actual)
                if 0.1 * abs(trial) >= abs(f) or shrink < 0.1:
                    shrink = 0.1
                bound = shrink * min(bound, 10.0 * size)
                damping /= shrink
            elif damping == 0.0 or ratio >= 0.75:
                bound = 2.0 * size
                damping *= 0.5
            where = scale * abs(u)
            if ratio >= 1e-4:
                u += step
                f = trial
                where = scale * abs(u)
                first = False
            small = abs(actual) <= ENOUGH and predicted <= ENOUGH and 0.5 * ratio <= 1.0
            if small or bound <= ENOUGH * where or calls >= STEPS:
                return u
    return u


@subroutine
def marquardt(f, g, scale, bound, damping):
    """The damping that gives the step the length of the bound to a tenth: MINPACK's lmpar of one unknown."""
    size = scale * abs(f / g)
    excess = size - bound
    lower = excess / bound * (g / scale) ** 2
    upper = abs(f * g) / scale / bound
    damping = min(max(damping, lower), upper)
    if damping == 0.0:
        damping = abs(f * g) / scale / size
    for _ in range(10):
        if damping == 0.0:
            damping = max(2.2250738585072014e-308, 1e-3 * upper)
        size = scale * abs(f * g) / (g * g + damping * scale * scale)
        last, excess = excess, size - bound
        if abs(excess) <= 0.1 * bound or (lower == 0.0 and excess <= last and last < 0.0):
            break
        change = excess / bound * (g * g + damping * scale * scale) / (scale * scale)
        if excess > 0.0:
            lower = max(lower, damping)
        elif excess < 0.0:
            upper = min(upper, damping)
        damping = max(lower, damping + change)
    return damping


@subroutine
def torus(p1, p2, tube, ring, axis, side, alone):
    """The wrap of a straight part p1 to p2: the answer, length on the surface, both tangent points."""
    nothing = (0.0, 0.0, 0.0)
    n = unit(sub(p2, p1))
    one = add_scaled(p1, nearest_along(p1, n, ring), n)
    back = sub((0.0, 0.0, 0.0), n)
    other = add_scaled(p2, nearest_along(p2, back, ring), back)
    nearer = ring_distance(one, ring) < ring_distance(other, ring)
    if side != 0:
        on_one, on_other = sign(one[axis]) == side, sign(other[axis]) == side
        if not on_one and not on_other:
            return NO_WRAP, 0.0, nothing, nothing
        if not (on_one and on_other):
            nearer = on_one
    point = one if nearer else other
    out = math.sqrt(point[0] * point[0] + point[1] * point[1])
    inward = (-point[0] / out, -point[1] / out, 0.0)
    centre = (-ring * inward[0], -ring * inward[1], 0.0)
    down = (0.0, 0.0, -1.0)
    axes = inward, down, cross(inward, down)
    a, b = rotate_back(axes, sub(p1, centre)), rotate_back(axes, sub(p2, centre))
    answer, length, r1, r2 = cylinder(a, b, tube, LENGTH, 0, 1, alone)
    if answer < WRAPPED:
        return WRAPPED, math.inf, nothing, nothing  # OpenSim answers so, and finds no better part
    r1, r2 = rotate(axes, r1), rotate(axes, r2)
    r1 = (r1[0] + centre[0], r1[1] + centre[1], r1[2])
    r2 = (r2[0] + centre[0], r2[1] + centre[1], r2[2])
    return WRAPPED, length, r1, r2


@subroutine
def ring_distance(p, ring):
    out = math.sqrt(p[0] * p[0] + p[1] * p[1]) - ring
    return out * out + p[2] * p[2]
