"""Paths of joints q = p(s) as piecewise polynomials, and their derivatives in Bernstein form on a grid.

A polynomial sum_k b_k C(d, k) (1 - z)^(d - k) z^k with z in [0, 1] lies between the least and the greatest of
its Bernstein coefficients b_k; b_0 and b_d are its values at both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb, factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, NotFiniteError, OptionError, ProblemError, ShapeError
from trajopt.base.tolerances import AGREEMENT
from trajopt.problem.systems.joint_path import points_and_chords

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree
    from problems.moves.timing.end_states import EndStates

SHORTEST = 0.1  # of a neighbouring chord: the part of s that a shorter one takes
LOWEST_DEGREE = 3  # of the coefficients kept, so that a straight line has second derivatives, of zero


@dataclass(frozen=True, eq=False)
class SplinePath:
    """q = p(s) for s from the first breakpoint to the last, with a continuous first derivative.

    breakpoints : (pieces + 1,); coefficients : (degree + 1, pieces, n), of powers of s - s_i, highest first
    waypoints : (k,) values of s at the points that were given
    """

    breakpoints: Array
    coefficients: Array
    waypoints: Array

    @cached_property
    def _derivatives(self) -> list[Any]:
        from scipy.interpolate import PPoly

        curve = PPoly(self.coefficients, self.breakpoints)
        return [curve.derivative(order) for order in range(len(self.coefficients))]

    def __call__(self, s: Any, order: int = 0) -> Array:
        """d^order p / ds^order, (..., n); at a breakpoint that of the piece which begins there."""
        return self._derivatives[order](s)

    def at_ends(self, order: int = 0) -> Array:
        """d^order p / ds^order at both ends, (2, n)."""
        return self(self.breakpoints[[0, -1]], order)

    @property
    def length(self) -> float:
        """Difference of the coordinate s between both ends."""
        return float(self.breakpoints[-1] - self.breakpoints[0])

    def divided(self, places: Array) -> SplinePath:
        """The same path with breakpoints at places within it, too; those on one of its own are left out."""
        length, known = self.length, self.breakpoints
        apart = [place for place in places.tolist() if np.abs(known - place).min() > AGREEMENT * length]
        if not apart:
            return self
        breakpoints = np.sort(np.concatenate([known, apart]))
        orders = range(len(self.coefficients) - 1, -1, -1)
        powers = [self(breakpoints[:-1], order) / factorial(order) for order in orders]
        return SplinePath(breakpoints, np.array(powers), self.waypoints)

    def grid(self, count: int) -> Array:
        """About `count` segments within the pieces, at equal distances of the angle w of a cosine.

        s goes from end to end as (1 - cos w) / 2, so that segments shrink towards the ends as they do for a
        constant acceleration from rest, where s goes with the square of time.
        """
        first, last = self.breakpoints[[0, -1]]
        angles = np.arccos(np.clip(1.0 - 2.0 * (self.breakpoints - first) / (last - first), -1.0, 1.0))
        shares = np.ceil(count * np.diff(angles) / np.pi).astype(int)
        pieces = []
        for i, share in enumerate(shares.tolist()):
            inner = np.linspace(angles[i], angles[i + 1], share, endpoint=False)[1:]
            pieces += [self.breakpoints[i : i + 1], first + (last - first) * np.sin(0.5 * inner) ** 2]
        return np.concatenate([*pieces, self.breakpoints[-1:]])

    def bernstein(self, grid: Array, order: int) -> Array:
        """Coefficients (segments, degree - order + 1, n) of a derivative by s, on every segment of a grid."""
        degree = len(self.coefficients) - 1 - order
        width = np.diff(grid)[:, None]
        powers = np.stack(
            [self(grid[:-1], order + k) * (width**k / factorial(k)) for k in range(degree + 1)], axis=1
        )
        change = np.array(
            [[comb(k, j) / comb(degree, j) for j in range(degree + 1)] for k in range(degree + 1)]
        )
        return np.einsum("kj,sjn->skn", change, powers)


def path_of(
    model: KinematicTree,
    given: Any,
    smooth: bool = False,
    ends: EndStates | None = None,
) -> SplinePath:
    """The path of a model's joints through waypoints, or a spline of SciPy as it is; see `retime`.

    smooth : whether waypoints are joined by a spline of degree five, which bends least at ends at rest
    ends : speeds and accelerations, of which a path through waypoints takes directions and bends; None: free
    """
    names = model.joint_names
    if isinstance(given, np.ndarray | list | tuple):
        points, chords = points_and_chords(given, "waypoint", names)
        path = _through(points, _parameters(chords), model, smooth, ends)
    else:
        path = _of_spline(given, names)
    _check_smooth(path, names)
    _check_range(path, model)
    return path


def _parameters(chords: Array) -> Array:
    """s at waypoints (k,): the length of the chords, a short one at least `SHORTEST` of its neighbours.

    A spline cannot turn within a chord that is much shorter than those next to it: it made loops of any
    length around waypoints that nearly coincide. Over a wider part of s it changes slowly there instead.
    """
    width = np.diff(chords)
    for order in (1, -1):
        part = width[::order]  # a view
        for i in range(1, len(part)):
            part[i] = max(part[i], SHORTEST * part[i - 1])
    return chords if np.all(width == np.diff(chords)) else np.concatenate([[0.0], np.cumsum(width)])


def _through(
    points: Array, s: Array, model: KinematicTree, smooth: bool, ends: EndStates | None
) -> SplinePath:
    """The cubic spline with continuous second derivative through waypoints at s.

    Its ends have no knot next to them ("not-a-knot"), as in toppra's SplineInterpolator, or a
    direction. `smooth`: the spline of degree five whose third and fourth derivatives are zero at ends at
    rest, or whose first and second ones are those of a motion.
    """
    from scipy.interpolate import CubicSpline, make_interp_spline

    limits = model.limits
    outside = np.argwhere((points < limits.q_lower) | (points > limits.q_upper))
    if outside.size:
        row, joint = outside[0]
        raise InfeasibleBoundsError(
            f"waypoint {row}, joint {model.joint_names[joint]!r} is at {points[row, joint]:.6g}, outside its "
            f"limits {limits.q_lower[joint]:.6g} to {limits.q_upper[joint]:.6g} (rad or m, not degrees): "
            "move the waypoint"
        )
    directions = (None, None) if ends is None else ends.directions()
    if smooth and (
        len(points) > 2 or any(each is not None for each in directions)
    ):  # else a parabola has these ends, too
        zero, bends = np.zeros(points.shape[1]), np.zeros((2, 1)) if ends is None else ends.bends()
        sides = [
            [(3, zero), (4, zero)] if direction is None else [(1, direction), (2, bend + zero)]
            for direction, bend in zip(directions, bends, strict=True)
        ]
        return _of_spline(make_interp_spline(s, points, k=5, bc_type=sides), model.joint_names)
    cubic = ["not-a-knot" if direction is None else (1, direction) for direction in directions]
    return SplinePath(s, _raised(CubicSpline(s, points, bc_type=cubic).c), s)


def _of_spline(given: Any, names: tuple[str, ...]) -> SplinePath:
    from scipy.interpolate import BSpline, PPoly

    if isinstance(given, BSpline):
        breakpoints, degree = np.unique(given.t[given.k : len(given.t) - given.k]), given.k
        powers = [given(breakpoints[:-1], order) / factorial(order) for order in range(degree, -1, -1)]
        given = PPoly(np.array(powers), breakpoints)
    if not isinstance(given, PPoly):
        raise OptionError(
            f"the path is {short_repr(given)}: give waypoints (k, n), or a CubicSpline, PPoly or BSpline of "
            "SciPy"
        )
    if not np.all(np.diff(given.x) > 0.0):
        raise OptionError(f"the breakpoints of the path are {short_repr(given.x)}: give increasing ones")
    coefficients = given.c
    if coefficients.shape[2:] != (len(names),):
        raise ShapeError(
            f"a point of the path has shape {coefficients.shape[2:]}: expected ({len(names)},), a value per "
            f"joint ({', '.join(names)})"
        )
    if not np.all(np.isfinite(coefficients)):
        raise NotFiniteError("the coefficients of the path contain NaN or infinity: give finite numbers")
    return SplinePath(given.x, _raised(coefficients), given.x)


def _raised(coefficients: Array) -> Array:
    """The same polynomials with coefficients of zero in front, up to the lowest degree kept."""
    missing = max(LOWEST_DEGREE + 1 - len(coefficients), 0)
    return np.concatenate([np.zeros((missing, *coefficients.shape[1:])), coefficients])


def _check_smooth(path: SplinePath, names: tuple[str, ...]) -> None:
    """Raise ProblemError where the position or the direction of the path jumps."""
    for order, what in ((0, "position"), (1, "direction")):
        place = jump_of(path, order, names)
        if place:
            raise ProblemError(
                f"the {what} of the path jumps at {place}: a robot cannot follow it without a stop; give a "
                "path with a continuous first derivative, or two paths"
            )


def jump_of(path: SplinePath, order: int, names: tuple[str, ...], size: float = 0.0) -> str:
    """The place where a derivative by s jumps most, s and joint in words; empty if jumps are rounding alone.

    size : of the derivative, where its own largest value is less
    """
    pieces = path.bernstein(path.breakpoints, order)
    jump = np.abs(pieces[1:, 0] - pieces[:-1, -1])
    if not np.any(jump > AGREEMENT * max(np.abs(pieces).max(), size)):
        return ""
    row, joint = np.unravel_index(int(np.argmax(jump)), jump.shape)
    return f"s = {path.breakpoints[1 + row]:.6g}, joint {names[joint]!r}"


def _check_range(path: SplinePath, model: KinematicTree) -> None:
    """Raise InfeasibleBoundsError where a joint leaves its range between the waypoints."""
    limits = model.limits
    s = path.grid(8 * len(path.breakpoints))
    q = path(s)
    room = AGREEMENT * (1.0 + np.abs(q).max())
    excess = np.maximum(limits.q_lower - q, q - limits.q_upper)
    if not np.any(excess > room):
        return
    row, joint = np.unravel_index(int(np.argmax(excess)), excess.shape)
    before = max(int(np.searchsorted(path.waypoints, s[row], side="right")) - 1, 0)
    raise InfeasibleBoundsError(
        f"the path takes joint {model.joint_names[joint]!r} to {q[row, joint]:.6g} after waypoint {before}, "
        f"outside its limits {limits.q_lower[joint]:.6g} to {limits.q_upper[joint]:.6g}: add a waypoint there"
    )
