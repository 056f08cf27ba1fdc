"""Cubic and quintic segments between points of a joint trajectory, as ROS 2 controllers interpolate them.

With the values q0, v0, a0 and q1, v1, a1 of a joint at both ends of a segment of duration T, the position at
t seconds after its start is

    cubic     q0 + v0 t + c2 t^2 + c3 t^3                                           where a0, a1 are left out
    quintic   q0 + v0 t + a0 t^2 / 2 + c3 t^3 + c4 t^4 + c5 t^5

with the coefficients of Hermite's interpolation. Source: `interpolate_between_points` in trajectory.cpp of
joint_trajectory_controller, ros2_controllers.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from problems.moves.spline_path import SplinePath
from trajopt.base.arrays import Array

Segments = Literal["cubic", "quintic"]


def interpolant(segments: Segments, times: Array, q: Array, v: Array, a: Array) -> SplinePath:
    """The curve that a controller follows through points at times (k,); q, v, a : (k, n)."""
    powers = _cubic(times, q, v) if segments == "cubic" else _quintic(times, q, v, a)
    return SplinePath(times, np.stack(powers[::-1]), times)


def _cubic(times: Array, q: Array, v: Array) -> list[Array]:
    width = np.diff(times)[:, None]
    chord = np.diff(q, axis=0) / width - v[:-1]
    change = np.diff(v, axis=0)
    return [q[:-1], v[:-1], (3.0 * chord - change) / width, (change - 2.0 * chord) / width**2]


def _quintic(times: Array, q: Array, v: Array, a: Array) -> list[Array]:
    width = np.diff(times)[:, None]
    position = (np.diff(q, axis=0) - width * (v[:-1] + 0.5 * width * a[:-1])) / width**3  # what is missing at
    speed = (np.diff(v, axis=0) - width * a[:-1]) / width**2  # the end, of a motion that goes on with a0
    bend = np.diff(a, axis=0) / width
    return [
        q[:-1],
        v[:-1],
        0.5 * a[:-1],
        10.0 * position - 4.0 * speed + 0.5 * bend,
        (-15.0 * position + 7.0 * speed - bend) / width,
        (6.0 * position - 3.0 * speed + 0.5 * bend) / width**2,
    ]
