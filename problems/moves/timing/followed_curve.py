"""Positions and their rates of joints that follow a curve in time, spline or interpolant."""

from __future__ import annotations

from typing import Any

from trajopt.base.arrays import Array


class FollowedCurve:
    """`curve(t, order)` of a motion as q, v, a and jerk, (..., n) at times (...,)."""

    curve: Any

    def q(self, t: Any) -> Array:
        """Positions, rad or m."""
        return self.curve(t)

    def v(self, t: Any) -> Array:
        """Velocities, rad/s or m/s."""
        return self.curve(t, 1)

    def a(self, t: Any) -> Array:
        """Accelerations, rad/s^2 or m/s^2; where they jump, those that begin there."""
        return self.curve(t, 2)

    def jerk(self, t: Any) -> Array:
        """Rates of the accelerations, rad/s^3 or m/s^3, the right limit where they jump."""
        return self.curve(t, 3)
