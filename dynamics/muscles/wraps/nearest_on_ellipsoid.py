"""The point of an ellipsoid, or of an ellipse, nearest to a given point: Newton's method on the multiplier.

    x_i = a_i^2 p_i / (t + a_i^2),   sum (x_i / a_i)^2 = 1

Hart, Distance to an ellipsoid, Graphics Gems IV, 1994. Points near a plane or an axis of symmetry are apart,
as the method is not stable there.
"""

from __future__ import annotations

import math

from dynamics.kernels.compile import subroutine

STEPS = 64
ENOUGH = 1e-9  # of the equation without denominators, of an ellipsoid with sizes near 1
NEAR_PLANE = 2e-13


@subroutine
def nearest_on_ellipse(a, b, u, v):
    """The point of an ellipse with half axes a and b nearest to (u, v)."""
    near_u, near_v = abs(u) <= NEAR_PLANE, abs(v) <= NEAR_PLANE
    if near_u and near_v:
        if a < b:
            return (-a if u < 0.0 else a), v
        return u, (-b if v < 0.0 else b)
    if near_u:
        if a >= b or abs(v) >= b - a * a / b:
            return u, (b if v >= 0.0 else -b)
        y = b * b * v / (b * b - a * a)
        return a * math.sqrt(abs(1.0 - (y / b) ** 2)), y
    if near_v:
        if b >= a or abs(u) >= a - b * b / a:
            return (a if u >= 0.0 else -a), v
        x = a * a * u / (a * a - b * b)
        return x, b * math.sqrt(abs(1.0 - (x / a) ** 2))
    a2, b2 = a * a, b * b
    au, bv = a2 * u * u, b2 * v * v
    inside = (u / a) * (u / a) + (v / b) * (v / b) < 1.0
    t = 0.0 if inside else max(a, b) * math.sqrt(u * u + v * v)
    p, q = t + a2, t + b2
    for _ in range(STEPS):
        p, q = t + a2, t + b2
        f = p * p * q * q - au * q * q - bv * p * p
        if abs(f) < ENOUGH:
            break
        t -= f / (2.0 * (p * q * (p + q) - au * q - bv * p))
    return a2 * u / p, b2 * v / q


@subroutine
def nearest_in_plane(a, point, axis):
    """The nearest point of the section across an axis through the centre, at the point's place on it."""
    u, v, w = point
    if axis == 0:
        y, z = nearest_on_ellipse(a[1], a[2], v, w)
        return u, y, z
    if axis == 1:
        z, x = nearest_on_ellipse(a[2], a[0], w, u)
        return x, v, z
    x, y = nearest_on_ellipse(a[0], a[1], u, v)
    return x, y, w


@subroutine
def nearest_on_ellipsoid(a, point):
    """The point of an ellipsoid with half axes a nearest to a point."""
    u, v, w = point
    plane, smallest = -1, math.inf
    for i in range(3):
        others = a[0] + a[1] + a[2] - a[i]
        if abs(point[i]) <= NEAR_PLANE and others < smallest:
            plane, smallest = i, others
    if plane >= 0:
        return nearest_in_plane(a, point, plane)
    a2, b2, c2 = a[0] * a[0], a[1] * a[1], a[2] * a[2]
    au, bv, cw = a2 * u * u, b2 * v * v, c2 * w * w
    inside = (u / a[0]) ** 2 + (v / a[1]) ** 2 + (w / a[2]) ** 2 < 1.0
    t = 0.0 if inside else max(a[0], a[1], a[2]) * math.sqrt(u * u + v * v + w * w)
    p, q, r = t + a2, t + b2, t + c2
    for _ in range(STEPS):
        p, q, r = t + a2, t + b2, t + c2
        p2, q2, r2 = p * p, q * q, r * r
        f = p2 * q2 * r2 - au * q2 * r2 - bv * p2 * r2 - cw * p2 * q2
        if abs(f) < ENOUGH:
            break
        pq, pr, qr = p * q, p * r, q * r
        slope = p * q * r * (qr + pr + pq) - au * qr * (q + r) - bv * pr * (p + r) - cw * pq * (p + q)
        t -= f / (2.0 * slope)
    return a2 * u / p, b2 * v / q, c2 * w / r
