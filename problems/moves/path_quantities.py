"""Speeds, accelerations and torques on segments of a path, as affine functions of the squared path speed.

On a segment of width h, with x = s'^2 linear from x_i to y = x_(i+1), s'' = (y - x_i) / (2 h) is constant and

    v_j^2 = p_j'^2 x          a_j = p_j' s'' + p_j'' x          tau_j = A_j s'' + B_j x + C_j

are polynomials whose Bernstein coefficients are affine in (y, x_i); with friction tau_j is that of the motor.
Speed and acceleration are exact, A, B and C are interpolated by parabolas through both ends and the middle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from problems.moves.limit_excess import limit_size
from problems.moves.motion_limits import MotionLimits
from problems.moves.spline_path import SplinePath
from trajopt.base.arrays import Array
from trajopt.splines.polynomial_bounds import elevated

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

ROUNDING = 8.0 * float(np.finfo(float).eps)  # of the terms of a coefficient
LEAST_SPEED = 0.1  # s'^2 at an end of a segment, of that in its middle: the root is not linear at rest
SLOWEST = 1e-6  # of the highest rate that viscous friction allows: the root is not linear at rest
VALUES = np.array([[1.0, 0.0, 0.0], [-0.5, 2.0, -0.5], [0.0, 0.0, 1.0]])  # at 0, 1/2, 1 -> Bernstein


@dataclass(frozen=True, eq=False)
class SegmentQuantity:
    """Coefficients y x_(i+1) + x x_i + constant of every joint on every segment, and their limits.

    y, x, constant : (segments, degree + 1, n); lower, upper : (segments or 1, 1, n)
    """

    y: Array
    x: Array
    constant: Array
    lower: Array
    upper: Array

    def rows(self, at_ends: bool = False) -> Array:
        """(segments, count, 3) alpha, beta, gamma of alpha y + beta x <= gamma, for every finite limit.

        at_ends : of the values at both ends of a segment alone, which leaves what is between them unchecked
        """
        kept = slice(None, None, self.y.shape[1] - 1) if at_ends else slice(None)
        y, x, constant = self.y[:, kept], self.x[:, kept], self.constant[:, kept]
        found = []
        for sign, limit in ((1.0, self.upper), (-1.0, self.lower)):
            limited = np.any(np.isfinite(limit), axis=(0, 1))
            gamma = sign * (limit[..., limited] - constant[..., limited])
            row = np.stack([sign * y[..., limited], sign * x[..., limited], gamma], axis=-1)
            found.append(row.reshape(len(row), -1, 3))
        return np.concatenate(found, axis=1)

    def excess(self, speeds: Array) -> Array:
        """Excess of a coefficient over a limit, rounding included, (segments, n); below zero within.

        speeds : (segments + 1,) x at the grid points
        """
        y, x = speeds[1:, None, None], speeds[:-1, None, None]
        terms = self.y * y, self.x * x, self.constant
        value = terms[0] + terms[1] + terms[2]
        error = ROUNDING * (abs(terms[0]) + abs(terms[1]) + abs(terms[2]))
        return (np.maximum(value - self.upper, self.lower - value) + error).max(axis=1)

    def relative_excess(self, speeds: Array) -> Array:
        """The same relative to `limit_size`."""
        return self.excess(speeds) / limit_size(self.lower, self.upper)[:, 0]

    def slack(self) -> Array:
        """The least distance of the constants from the limits, (segments, n): what standing still leaves."""
        return np.minimum(self.upper - self.constant, self.constant - self.lower).min(axis=1)

    def narrowed(self, margin: Array) -> SegmentQuantity:
        """The quantity with limits narrower by margins (segments, n); rest keeps half of its slack."""
        amount = np.minimum(margin, 0.5 * np.maximum(self.slack(), 0.0))[:, None]
        return replace(self, lower=self.lower + amount, upper=self.upper - amount)


def squared_speed_on(path: SplinePath, grid: Array, limits: MotionLimits) -> SegmentQuantity:
    """p'^2 x <= velocity^2."""
    slope = path.bernstein(grid, 1)
    square = _product(slope, slope)
    zero = np.zeros((len(square), square.shape[1] + 1, square.shape[2]))
    y, x = _times_linear(square)
    bound = limits_on(grid, limits).velocity ** 2
    return SegmentQuantity(y, x, zero, np.full_like(bound, -np.inf), bound)


def acceleration_on(path: SplinePath, grid: Array, limits: MotionLimits) -> SegmentQuantity:
    """|p' s'' + p'' x| <= acceleration."""
    slope = path.bernstein(grid, 1)
    y, x = _of_motion(slope, path.bernstein(grid, 2), grid)
    bound = limits_on(grid, limits).acceleration
    return SegmentQuantity(y, x, np.zeros_like(y), -bound, bound)


def torque_on(model: RigidBodyModel, path: SplinePath, grid: Array, limits: MotionLimits) -> SegmentQuantity:
    """torque_lower <= A s'' + B x + C <= torque_upper, without viscous friction.

    Coulomb friction narrows the limits of every segment: it opposes the motion, and has either sign on a
    segment where the joint turns back.
    """
    from dynamics.algorithms.rnea import rnea

    q, slope, bend = (_at_three(path.bernstein(grid, order)) for order in range(3))
    zero = np.zeros_like(q)
    rest = rnea(model, q, zero, zero) + spring_torques(model, q)
    inertia = rnea(model, q, zero, slope) - rnea(model, q, zero, zero)
    coriolis = rnea(model, q, slope, bend) - rnea(model, q, zero, zero)
    a, b, c = (np.einsum("kj,sjn->skn", VALUES, value) for value in (inertia, coriolis, rest))
    y, x = _of_motion(a, b, grid)
    forwards, backwards = _directions(path.bernstein(grid, 1))
    coulomb = coulomb_friction(model)
    here = limits_on(grid, limits)
    lower = here.torque_lower + np.where(backwards, coulomb, -coulomb)[:, None]
    upper = here.torque_upper - np.where(forwards, coulomb, -coulomb)[:, None]
    return SegmentQuantity(y, x, elevated(c, y.shape[1]), lower, upper)


def with_viscous_friction(
    quantity: SegmentQuantity, damping: Array, path: SplinePath, grid: Array, speeds: Array
) -> SegmentQuantity:
    """Torques with damping p' s', s' = sqrt(x) being linear in x about the profile `speeds`.

    sqrt(x) is r / 2 + x / (2 r) about r^2, exact there and larger elsewhere. r is at most the rate at which
    friction takes all that standing still leaves, so that it goes on being allowed.
    """
    left, right = speeds[:-1], speeds[1:]
    middle = 0.5 * (left + right)
    square = np.maximum(np.stack([left, middle, right], axis=1), LEAST_SPEED * middle[:, None])
    force = damping * _at_three(path.bernstein(grid, 1))
    slack = quantity.slack()[:, None]
    is_damped = (force != 0.0) & np.isfinite(slack)
    highest = slack / np.where(is_damped, np.abs(force), 1.0)
    r = np.where(is_damped, np.clip(np.sqrt(square)[..., None], SLOWEST * highest, highest), 1.0)
    b, c = (np.einsum("kj,sjn->skn", VALUES, value) for value in (force / (2.0 * r), 0.5 * force * r))
    y, x = _times_linear(b)
    return replace(
        quantity,
        y=quantity.y + y,
        x=quantity.x + x,
        constant=quantity.constant + elevated(c, y.shape[1]),
    )


def motor_torques(model: RigidBodyModel, q: Array, slope: Array, rate: Array, a: Array) -> Array:
    """rnea(q, v, a) + springs + viscous friction + Coulomb friction, (..., n) N m or N.

    slope : p', and rate : s', of v = p' s'. Coulomb friction has the sign of p', at both rests too.
    """
    from dynamics.algorithms.rnea import rnea

    v = slope * rate
    friction = viscous_friction(model) * v + coulomb_friction(model) * np.sign(slope)
    return rnea(model, q, v, a) + spring_torques(model, q) + friction


def viscous_friction(model: RigidBodyModel) -> Array:
    """(n,) N m s/rad or N s/m, the sum over the joints of each coordinate."""
    return _summed(model, [joint.ratio**2 * joint.damping for joint in model.joints])


def coulomb_friction(model: RigidBodyModel) -> Array:
    """(n,) N m or N, the sum over the joints of each coordinate."""
    return _summed(model, [abs(joint.ratio) * joint.friction for joint in model.joints])


def spring_torques(model: RigidBodyModel, q: Array) -> Array:
    """Torques that the joints' springs take from the motors, ratio k (ratio q + offset - rest), (..., n)."""
    stiffness = _summed(model, [j.ratio**2 * j.stiffness for j in model.joints])
    relaxed = _summed(model, [j.ratio * j.stiffness * (j.offset - j.rest) for j in model.joints])
    return stiffness * q + relaxed


def _summed(model: RigidBodyModel, values: list[float]) -> Array:
    return np.bincount(model.coordinate, weights=values, minlength=model.n)


def limits_on(grid: Array, limits: MotionLimits) -> MotionLimits:
    """The limits on every segment of a grid, of arrays (segments or 1, 1, n)."""
    here = limits.at(0.5 * (grid[1:] + grid[:-1]))
    return here.with_arrays(np.atleast_2d(each)[:, None] for each in here.arrays)


def _of_motion(of_second: Array, of_square: Array, grid: Array) -> tuple[Array, Array]:
    """of_second s'' + of_square x as factors of (y, x_i), both with the same number of coefficients."""
    y, x = _times_linear(of_square)
    count = max(of_second.shape[1], y.shape[1])
    second = elevated(of_second, count) / (2.0 * np.diff(grid)[:, None, None])
    return elevated(y, count) + second, elevated(x, count) - second


def _times_linear(coefficients: Array) -> tuple[Array, Array]:
    """A polynomial times z and times 1 - z."""
    degree = coefficients.shape[1]
    rising = (np.arange(degree + 1) / degree)[:, None]
    zero = np.zeros_like(coefficients[:, :1])
    before = np.concatenate([zero, coefficients], axis=1)
    after = np.concatenate([coefficients, zero], axis=1)
    return rising * before, (1.0 - rising) * after


def _product(one: Array, other: Array) -> Array:
    m, n = one.shape[1] - 1, other.shape[1] - 1
    found = np.zeros((one.shape[0], m + n + 1, one.shape[2]))
    for i in range(m + 1):
        for j in range(n + 1):
            found[:, i + j] += comb(m, i) * comb(n, j) / comb(m + n, i + j) * one[:, i] * other[:, j]
    return found


def _at_three(coefficients: Array) -> Array:
    """Values at both ends and in the middle of every segment."""
    degree = coefficients.shape[1] - 1
    weights = np.array([comb(degree, k) * 0.5**degree for k in range(degree + 1)])
    middle = np.einsum("k,skn->sn", weights, coefficients)
    return np.stack([coefficients[:, 0], middle, coefficients[:, -1]], axis=1)


def _directions(slope: Array) -> tuple[Array, Array]:
    """Masks of the joints that may move forwards, and backwards, on each segment, (segments, n)."""
    return np.any(slope > 0.0, axis=1), np.any(slope < 0.0, axis=1)
