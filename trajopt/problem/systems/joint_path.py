"""Geometric paths of a robot, q = p(s), with their derivatives by s: through points, of SciPy, or traced.

Enclosures of motions along a path need its piecewise polynomials in any arithmetic.

With breakpoints s_0 < ... < s_k and a polynomial p_i on each piece,

    p(s) = p_0(s_0) + sum_i (p_i(u_i) - p_i(s_i)) + sum_{i > 0} jump_i (s > s_i),

u_i being s clamped to [s_i, s_(i+1)], and not at all beyond both ends. Wherever s is known to lie on one side
of a breakpoint the clamped numbers are exact, and near it the error falls with the width of what is known.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np

from trajopt.base.arguments import numbers, short_repr
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError, TrajoptError
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.quantities import SPLINE_LEAVES
from trajopt.solvers.solver import ROUNDING
from trajopt.terms.nonsmooth import MOST_PIECES


@dataclass(frozen=True, eq=False)
class PiecewisePath:
    """p(s), (n,), by its breakpoints (k + 1,) and coefficients (degree + 1, k, n), lowest power first.

    The powers are those of s - s_i.
    """

    breakpoints: Array
    coefficients: Array

    @staticmethod
    def of_spline(spline: Any) -> PiecewisePath | None:
        """A BSpline or PPoly of SciPy with n columns; None for another object, or one with too many pieces.

        None too where it does not go on with its last pieces beyond its ends, as a periodic one does not.
        """
        from scipy.interpolate import BSpline, PPoly

        if isinstance(spline, BSpline):
            breakpoints, degree = np.unique(spline.t[spline.k : -spline.k or None]), spline.k
        elif isinstance(spline, PPoly):
            breakpoints, degree = spline.x, len(spline.c) - 1
        else:
            return None
        goes_on = not isinstance(spline.extrapolate, str) and bool(spline.extrapolate)
        if breakpoints.size - 1 > MOST_PIECES or not goes_on:
            return None
        # values at the left ends are those of the pieces that begin there
        rows = [spline(breakpoints[:-1], order) / factorial(order) for order in range(degree + 1)]
        coefficients = np.array(rows)
        return PiecewisePath(breakpoints, coefficients) if coefficients.ndim == 3 else None

    def derivative(self, order: int) -> PiecewisePath:
        """d^order p / ds^order."""
        found = self.coefficients
        for _ in range(order):
            found = found[1:] * np.arange(1, len(found))[:, None, None] if len(found) > 1 else 0.0 * found
        return PiecewisePath(self.breakpoints, found)

    def __call__(self, s: Number, number: Callable[[float], Number]) -> list[Number]:
        """p(s) as n numbers; s : a number with + - * and the methods maximum and positive."""
        count = self.coefficients.shape[1]
        total = [number(value) for value in self.coefficients[0, 0]]
        for i in range(count):
            above = self._increase(i, self._clamped(s, i, number), number)
            total = [one + other for one, other in zip(total, above, strict=True)]
            if i:
                total = self._with_jump(total, s, i, number)
        return total

    def _clamped(self, s: Number, i: int, number: Callable[[float], Number]) -> Number:
        """u_i - s_i."""
        x, width = s - number(self.breakpoints[i]), np.diff(self.breakpoints)[i]
        if i:
            x = x.maximum(0.0)
        if i + 1 < self.coefficients.shape[1]:
            x = -((-x).maximum(number(-width)))
        return x

    def _increase(self, i: int, x: Number, number: Callable[[float], Number]) -> list[Number]:
        """p_i(s_i + x) - p_i(s_i), by Horner's rule."""
        found: list[Number] = [0.0] * self.coefficients.shape[2]
        for row in self.coefficients[:0:-1, i]:
            found = [x * (one + number(value)) for one, value in zip(found, row, strict=True)]
        return found

    def _with_jump(
        self, total: list[Number], s: Number, i: int, number: Callable[[float], Number]
    ) -> list[Number]:
        width = self.breakpoints[i] - self.breakpoints[i - 1]
        terms = self.coefficients[:, i - 1] * width ** np.arange(len(self.coefficients))[:, None]
        jump = self.coefficients[0, i] - terms.sum(axis=0)
        if not np.any(np.abs(jump) > ROUNDING * np.abs(terms).max()):
            return total
        beyond = (s - number(self.breakpoints[i])).positive()
        return [one + number(size) * beyond for one, size in zip(total, jump, strict=True)]


# Of p: two in accelerations, two more in their second derivatives, as many as q, v, a and jerk; jerks of the
# joints need one more. A spline through points has one degree more, so that accelerations are smooth in s.
HIGHEST_PATH_DERIVATIVE = len(SPLINE_LEAVES)

InAnyArithmetic = Callable[[Number, int, Callable[[float], Number]], list[Number]]
PathLike = Array | list[Any] | tuple[Any, ...] | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class JointPath:
    """p(s), (n,), and its derivatives up to the fourth, of jerks to the fifth, for s in [first, last].

    function : (s (K,), order) -> (K, n)
    is_exact : whether the derivatives are known to be those of p; a user's own are checked before a solve
    in_any_arithmetic : (s, order, number) -> n numbers, see `AnyArithmeticBlock`; None where there is none
    """

    function: Callable[[Array, int], Array]
    first: float
    last: float
    is_exact: bool
    in_any_arithmetic: InAnyArithmetic | None = None

    def __call__(self, s: Array, order: int = 0) -> Array:
        return self.function(s, order)

    def over(self, s: Number, order: int, number: Callable[[float], Number]) -> list[Number]:
        """The derivative at a number s of any arithmetic; NotImplementedError where there is none."""
        if self.in_any_arithmetic is None:
            raise NotImplementedError(
                "the path is a function of NumPy alone, a spline of many pieces, or one that does not go on "
                "beyond its ends"
            )
        return self.in_any_arithmetic(s, order, number)


def path_of(path: PathLike, over: object, joint_names: tuple[str, ...]) -> JointPath:
    """A path of these joints; see `on_path`, also for errors."""
    first, last = _range(over)
    if isinstance(path, np.ndarray | list | tuple):
        spline = _through(path, first, last, joint_names)
        found = JointPath(
            _derivatives_of(spline, len(joint_names)), first, last, True, _arithmetic_of(spline)
        )
    elif not callable(path) or isinstance(path, type):
        raise OptionError(
            f"the path is {short_repr(path)}: give points (k, n), a function of s, or a curve of SciPy"
        )
    elif _takes_order(path):
        own = _arithmetic_of(path)
        found = JointPath(lambda s, order: np.asarray(path(s, order), dtype=float), first, last, False, own)
    else:
        traced = _Traced(path)
        found = JointPath(traced.derivative, first, last, True, traced.in_any_arithmetic)
    _check(found, joint_names)
    return found


def _range(over: Any) -> tuple[float, float]:
    ends = numbers(over, "the range of s")
    if ends.shape != (2,) or not np.all(np.isfinite(ends)) or not ends[0] < ends[1]:
        raise OptionError(f"s runs over {short_repr(over)}: give two numbers in rising order: (0.0, 1.0)")
    return float(ends[0]), float(ends[1])


def _takes_order(path: Callable[..., object]) -> bool:
    """True if a callable takes (s, order), as curves of SciPy do, and not s alone."""
    try:
        parameters = inspect.signature(path).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return sum(parameter.kind in positional for parameter in parameters) > 1


def points_and_chords(given: Any, name: str, joint_names: tuple[str, ...]) -> tuple[Array, Array]:
    """Joint positions on a path, (k, n), and the length of the chords up to each, (k,).

    name : of one of them, for messages
    Raises ShapeError, NotFiniteError, or OptionError where two neighbours are the same.
    """
    points, n = numbers(given, f"{name}s"), len(joint_names)
    if points.ndim != 2 or points.shape[1] != n or len(points) < 2:
        raise ShapeError(
            f"{name}s have shape {points.shape}: give (k, {n}), at least two rows of joint positions "
            f"({', '.join(joint_names)})"
        )
    if not np.all(np.isfinite(points)):
        row, joint = np.argwhere(~np.isfinite(points))[0]
        raise NotFiniteError(
            f"{name} {row}, joint {joint_names[joint]!r} is {points[row, joint]}: give a finite number, not "
            "NaN or infinity"
        )
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if not np.all(chords > 0.0):
        row = int(np.argmin(chords))
        raise OptionError(f"{name}s {row} and {row + 1} are the same: leave one of them out")
    return points, np.concatenate([[0.0], np.cumsum(chords)])


def _through(points: Any, first: float, last: float, joint_names: tuple[str, ...]) -> Any:
    """The spline of degree five through points, its parameter in proportion to the chords between them."""
    from scipy.interpolate import make_interp_spline

    given, along = points_and_chords(points, "path point", joint_names)
    at = first + (last - first) * along / along[-1]
    return make_interp_spline(at, given, k=min(HIGHEST_PATH_DERIVATIVE + 1, len(given) - 1))


def _derivatives_of(spline: Any, n: int) -> Callable[[Array, int], Array]:
    return lambda s, order: spline(s, order) if order <= spline.k else np.zeros((len(s), n))


def _arithmetic_of(curve: Any) -> InAnyArithmetic | None:
    """A spline of SciPy as piecewise polynomials; None for any other curve."""
    pieces = PiecewisePath.of_spline(curve)
    if pieces is None:
        return None
    derivatives = [pieces.derivative(order) for order in range(HIGHEST_PATH_DERIVATIVE)]
    return lambda s, order, number: derivatives[order](s, number)


class _Traced:
    """A user's function of s, called once with a symbol; each derivative is a block of the one before."""

    def __init__(self, path: Callable[[Number], Number]) -> None:
        self.path = path

    @cached_property
    def _blocks(self) -> list[ExpressionBlock]:
        from trajopt.graph.trace import trace

        return [trace(lambda node: self.path(node.s), "the path", lambda name: 1)]

    def block(self, order: int) -> ExpressionBlock:
        """Block of the derivative of an order."""
        while len(self._blocks) <= order:
            self._blocks.append(self._blocks[-1].slope())
        return self._blocks[order]

    def derivative(self, s: Array, order: int) -> Array:
        return self.block(order).value({"s": s[:, None]})["the path"]

    def in_any_arithmetic(self, s: Number, order: int, number: Callable[[float], Number]) -> list[Number]:
        return self.block(order).value_over({"s": [s]}, number)["the path"]


def _check(path: JointPath, joint_names: tuple[str, ...]) -> None:
    """Every derivative has the shape of the joints and is finite within the range."""
    s = np.linspace(path.first, path.last, 5)
    for order in range(HIGHEST_PATH_DERIVATIVE + 1):
        try:
            found = np.asarray(path(s, order))
        except TrajoptError:
            raise
        except Exception as error:
            raise OptionError(f"the path failed at s = {s}, derivative {order}: {error}") from error
        if found.shape != (s.size, len(joint_names)):
            raise ShapeError(
                f"derivative {order} of the path has shape {found.shape} at {s.size} values of s: expected "
                f"({s.size}, {len(joint_names)}), one column per joint ({', '.join(joint_names)})"
            )
        if not np.all(np.isfinite(found)):
            raise NotFiniteError(f"derivative {order} of the path is not finite within [{s[0]}, {s[-1]}]")
