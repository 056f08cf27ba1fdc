"""A faster path in a tube around another one: each joint leaves it by a spline with bounded coefficients.

    minimize T(d)   subject to   q = p(s) + d(s),   |d_j| <= tube_j,   d = 0 at both ends

T is the least time on p + d. A spline lies between the least and the greatest of its coefficients, so that
bounds of these hold for all s. T falls by L-BFGS; its slope follows from the multipliers
of the time's own search (envelope theorem): those of all limits times their derivatives by p and its first
three derivatives, times those of p by d. The optimum found is a local one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.moves.motion_limits import MotionLimits
from problems.moves.spline_path import SplinePath
from problems.moves.timing.limit_rows import PARTS, LimitRows
from problems.moves.timing.smooth_path import SmoothPath
from problems.moves.timing.smooth_speed import SmoothSpeed
from problems.moves.timing.speed_search import SpeedSearch, transferred
from problems.moves.timing.tube import Tube
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

DEGREE = 5
SHRINKS, INSIDE = 20, 1.0 - 1e-3  # of d, where a frame leaves its distance
SAMPLES = 400  # of the path, for slopes of frames
PER_PIECE, FEWEST, MOST = 3, 4, 120  # intervals of d on a piece of the path, and on all of it
SPANS = 150  # of the speed, in the search for d
FAR = 10.0  # of the time on the path: that of a path on which there is no motion
GAP = 1e-6  # of the time in every search
STEPS, LAST = 60, 3e-4  # of L-BFGS, and the part of the time gained that its last step gains
LITTLE = 1e-9  # of the time: what the whole tube would gain, by its slope, where there is nothing to gain


def faster_path(tube: Tube, limits: MotionLimits) -> SplinePath:
    """The path p + d of less time, within the tube.

    Joints that move a frame whose distance is limited leave the path by no more than alone would take the
    frame there; what all of them together exceed is removed by the same factor of d everywhere.
    """
    search = TubeSearch(tube.model, tube.path, limits, np.minimum(tube.joints, alone(tube)))
    unknowns = search.found()
    for _ in range(SHRINKS):
        moved = search.moved(unknowns)
        share = tube.share(moved)
        if share <= 1.0:
            return moved
        if np.isnan(share):
            break
        unknowns = unknowns * (INSIDE / share)
    return tube.path


def alone(tube: Tube) -> Array:
    """Amounts each joint may turn or slide until it takes a frame out of its distance, (n,), by slopes."""
    first, last = tube.path.breakpoints[[0, -1]]
    s = np.linspace(first, last, SAMPLES)
    found = np.full(tube.model.n, np.inf)
    for name, distance in tube.frames.items():
        quantity = f"position:{name}"
        slopes = tube.model.block([quantity]).partials({"q": tube.path(s)})[quantity, "q"]
        arm = np.linalg.norm(slopes, axis=1).max(axis=0)
        found = np.minimum(found, distance / np.maximum(arm, np.finfo(float).tiny))
    return found


@dataclass(eq=False)
class TubeSearch:
    """The search for d; it keeps the speed of the evaluation before, from which the next one starts."""

    model: RigidBodyModel
    path: SplinePath
    limits: MotionLimits
    tube: Array
    near: SmoothSpeed | None = None

    @cached_property
    def intervals(self) -> Array:
        """Ends of the polynomials of d: of parts of the path's pieces, or of several pieces each."""
        given = self.path.breakpoints
        pieces = len(given) - 1
        if pieces > MOST:
            return np.append(given[: -1 : -(-pieces // MOST)], given[-1])
        parts = min(max(PER_PIECE, -(-FEWEST // pieces)), max(MOST // pieces, 1))
        return np.append(np.linspace(given[:-1], given[1:], parts, endpoint=False, axis=1).ravel(), given[-1])

    @cached_property
    def breakpoints(self) -> Array:
        """Breakpoints of p + d."""
        return np.union1d(self.intervals, self.path.breakpoints)

    @cached_property
    def splines(self) -> Any:
        """All B-splines of d at once."""
        from scipy.interpolate import BSpline

        ends = np.repeat(self.intervals[[0, -1]][:, None], DEGREE, axis=1)
        knots = np.concatenate([ends[0], self.intervals, ends[1]])
        return BSpline(knots, np.eye(len(knots) - DEGREE - 1), DEGREE)

    @cached_property
    def room(self) -> tuple[Array, Array]:
        """Bounds of the coefficients of d, (count, n), of tube and joint ranges; zero at both ends."""
        own, count = self.model.limits, self.splines.c.shape[0]
        given = self.path.bernstein(self.breakpoints, 0)
        first = self.breakpoints[:-1].searchsorted(self.intervals[:-1])
        low = np.minimum.reduceat(given.min(axis=1), first)
        high = np.maximum.reduceat(given.max(axis=1), first)
        near = [slice(max(k - DEGREE, 0), k + 1) for k in range(count)]  # where B-spline k is not zero
        lower = np.array([np.maximum(-self.tube, own.q_lower - low[part].min(axis=0)) for part in near])
        upper = np.array([np.minimum(self.tube, own.q_upper - high[part].max(axis=0)) for part in near])
        lower[[0, -1]] = upper[[0, -1]] = 0.0
        return np.minimum(lower, 0.0), np.maximum(upper, 0.0)

    def found(self) -> Array:
        """The unknowns of the least time that was met."""
        from scipy.optimize import minimize

        bounds = np.stack([each.ravel() for each in self.room], axis=1) / self.unit[:, None]
        start = np.zeros(len(bounds))
        longest, slope = self.time_and_slope(start)
        scale = float(np.abs(slope).max())
        if scale <= LITTLE * longest:
            return start

        def gain(unknowns: Array) -> tuple[float, Array]:
            try:
                time, slope = self.time_and_slope(unknowns)
            except InfeasibleBoundsError:  # a pose at which the motors cannot hold the robot
                return FAR * longest / scale, np.zeros(unknowns.size)
            return (time - longest) / scale, slope / scale

        answer = minimize(
            gain,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": STEPS, "ftol": LAST},
        )
        return answer.x

    @cached_property
    def unit(self) -> Array:
        """Unit of the unknowns, coefficients of d in one row, (count * n,): the tube."""
        return np.tile(self.tube, len(self.room[0]))

    def moved(self, unknowns: Array) -> SplinePath:
        """p + d on the breakpoints of d."""
        d = (self.unit * unknowns).reshape(self.room[0].shape)
        start, degree = self.breakpoints[:-1], max(DEGREE, len(self.path.coefficients) - 1)
        powers = [
            (_derivative(self.path, start, k) + self.splines(start, k) @ d) / factorial(k)
            for k in range(degree, -1, -1)
        ]
        return SplinePath(self.breakpoints, np.array(powers), self.path.waypoints)

    def time_and_slope(self, unknowns: Array) -> tuple[float, Array]:
        """T and its derivatives by the unknowns."""
        rows = LimitRows(self.model, SmoothPath(self.moved(unknowns)), self.limits)
        knots = np.linspace(0.0, 1.0, SPANS + 1)
        bounds = rows.on(knots, {})
        unit = bounds.highest_constant
        search = SpeedSearch(knots, bounds.scaled(unit))
        y = np.full(len(knots) + 1, 0.5)
        best = search.optimum(y if self.near is None else transferred(search, self.near, y, unit), GAP)
        self.near = SmoothSpeed(knots, unit * best.y)
        x = best.x * unit
        slopes = rows.slopes(knots, x, best.multipliers / bounds.bound / np.sqrt(unit))
        s = rows.along.s(knots[:-1] + PARTS[:, None] * np.diff(knots)).ravel()
        parts = [self.splines(s, k).T @ slope.reshape(s.size, -1) for k, slope in enumerate(slopes)]
        return best.time / np.sqrt(unit), self.unit * np.sum(parts, axis=0).ravel()


def _derivative(path: SplinePath, s: Array, order: int) -> Array:
    return (
        path(s, order) if order < len(path.coefficients) else np.zeros((s.size, path.coefficients.shape[2]))
    )
