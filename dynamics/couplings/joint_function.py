"""Functions of one coordinate by which a joint follows it: piecewise polynomials, one inside the other.

Values and derivatives, up to the fourth for curvature of inverse dynamics, come from one Taylor expansion,

    f(q + h) = sum_k c_k h^k,    f^(k)(q) = k! c_k,

and that of f(g(q)) is the expansion of f about g(q) with that of g put in. At a breakpoint the piece behind
it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from dynamics.arguments import real_array
from dynamics.errors import CouplingError
from dynamics.model.array_field import ArrayField

Array = np.ndarray
CLOSE = 0.005  # of the range of a spline's values, how far its smoothed one may be off
OUTSIDE = 12  # places on each straight line beyond a spline, over which a bend of its end fades


@dataclass(frozen=True, eq=False)
class Pieces:
    """A piecewise polynomial: sum_k coefficients[k, i] (x - breaks[i])^k from breaks[i] to breaks[i + 1].

    breaks : (m,) increasing, where pieces begin; the first one also goes on below, the last one above
    coefficients : (powers, m), constants first

    Raises CouplingError for breaks that do not increase, or shapes that do not agree.
    """

    breaks: ArrayField
    coefficients: ArrayField

    def __post_init__(self) -> None:
        breaks, coefficients = (
            real_array(x, "a piecewise polynomial") for x in (self.breaks, self.coefficients)
        )
        finite = np.all(np.isfinite(breaks)) and np.all(np.isfinite(coefficients))
        fit = breaks.ndim == 1 and coefficients.shape[1:] == breaks.shape
        if not (fit and coefficients.size and finite):
            raise CouplingError(
                f"a piecewise polynomial has breaks of shape {breaks.shape} and coefficients of shape "
                f"{coefficients.shape}; give finite ones of shapes (m,) and (powers, m)"
            )
        if np.any(np.diff(breaks) <= 0.0):
            raise CouplingError(f"a piecewise polynomial has breaks {breaks.tolist()}, which must increase")
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "coefficients", coefficients)

    @property
    def is_affine(self) -> bool:
        """True if all pieces are one straight line."""
        return self.breaks.size == 1 and not self.coefficients[2:].any()

    @property
    def smoothed(self) -> Pieces:
        """A spline of degree five with four continuous derivatives, for one of cubic pieces; else itself.

        It has the same values at the breaks and half way between, and at more places until it differs by at
        most `CLOSE` of the range of values; splines that no 64 places a piece follow so closely stay as they
        are. Beyond the outer points, where a cubic spline goes on as a straight line and its second
        derivative jumps, it has the values of that line at `OUTSIDE` places, at the last no second and third
        derivative, and goes on straight.
        """
        if self.coefficients.shape[0] != 4 or self.breaks.size < 4:
            return self
        from scipy.interpolate import make_interp_spline  # a third of a second

        straight, away = [(2, 0.0), (3, 0.0)], np.arange(1, OUTSIDE + 1)
        for parts in (2, 4, 8, 16, 32, 64):
            inner = _divided(self.breaks[1:], parts)
            h = inner[1] - inner[0], inner[-1] - inner[-2]
            x = np.concatenate([inner[0] - h[0] * away[::-1], inner, inner[-1] + h[1] * away])
            between = _divided(x, 4)
            spline = make_interp_spline(x, self.expansion(x, 0)[0], 5, bc_type=(straight, straight))
            off = np.abs(spline(between) - self.expansion(between, 0)[0]).max()
            if off <= CLOSE * np.ptp(self.expansion(inner, 0)[0]):
                break
        else:
            return self
        rows = np.array([spline(x, k) / factorial(k) for k in range(6)])
        rows[2:, -1] = 0.0
        before = np.array([rows[0, 0] - rows[1, 0] * h[0], rows[1, 0], *np.zeros(4)])
        return Pieces(np.array([x[0] - h[0], *x]), np.column_stack([before, rows]))

    def expansion(self, x: Array, order: int) -> Array:
        """(order + 1, ...) Taylor coefficients about x, real or complex."""
        piece = np.maximum(np.searchsorted(self.breaks, np.real(x), side="right") - 1, 0)
        rows = [self.coefficients[k][piece].astype(x.dtype) for k in range(len(self.coefficients))]
        rows += [np.zeros_like(x)] * (order + 1 - len(rows))
        h = x - self.breaks[piece]
        for k in range(min(order + 1, len(self.coefficients))):  # Horner's rule, once for each order
            for i in range(len(self.coefficients) - 2, k - 1, -1):
                rows[i] = rows[i] + h * rows[i + 1]
        return np.array(rows[: order + 1])


@dataclass(frozen=True, eq=False)
class JointFunction:
    """The displacement of a joint as a function of one coordinate: `parts` applied one after the other."""

    parts: tuple[Pieces, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts or not all(isinstance(part, Pieces) for part in self.parts):
            raise CouplingError("a joint's function has no parts: give one piecewise polynomial or several")

    @property
    def is_affine(self) -> bool:
        """True if it is a straight line."""
        return all(part.is_affine for part in self.parts)

    def of(self, inner: JointFunction) -> JointFunction:
        """self(inner(q))."""
        return JointFunction((*inner.parts, *self.parts))

    def expansion(self, q: Array, order: int) -> Array:
        """(order + 1, ...) Taylor coefficients about q."""
        found = self.parts[0].expansion(q, order)
        for part in self.parts[1:]:
            found = composed(part.expansion(found[0], order), found)
        return found

    @property
    def smoothed(self) -> JointFunction:
        """Nearly the same with four continuous derivatives: splines of degree five in place of cubic ones."""
        return JointFunction(tuple(part.smoothed for part in self.parts))

    def derivatives(self, q: Array, order: int) -> Array:
        """(order + 1, ...): the function and its derivatives."""
        found = self.expansion(np.asarray(q), order)
        return found * np.array([factorial(k) for k in range(order + 1)]).reshape(-1, *[1] * np.ndim(q))

    def __call__(self, q: Array) -> Array:
        """The displacement, of q of any shape."""
        return self.expansion(np.asarray(q, dtype=float), 0)[0]


def _divided(points: Array, parts: int) -> Array:
    """Points that divide every piece between given ones into equal parts, (pieces * parts + 1,)."""
    return np.interp(np.arange(parts * (len(points) - 1) + 1) / parts, np.arange(len(points)), points)


def composed(outer: Array, inner: Array) -> Array:
    """Taylor coefficients of f(g), of those of f about g(q) and of g about q, by Horner's rule."""
    found = np.zeros_like(inner)
    for coefficient in outer[::-1]:
        product = np.zeros_like(found)
        for i in range(1, len(inner)):  # a change of g has no constant part
            product[i:] += inner[i] * found[: len(found) - i]
        found = product
        found[0] = coefficient
    return found


def polynomial(coefficients: Sequence[float] | Array) -> JointFunction:
    """sum_k coefficients[k] q^k, constants first."""
    powers = real_array(coefficients, "the coefficients of a polynomial").reshape(-1, 1)
    return JointFunction((Pieces(np.zeros(1), powers),))


def piecewise_linear(x: Sequence[float] | Array, y: Sequence[float] | Array) -> JointFunction:
    """Straight lines between points (m,), of which two or more are given; the outer ones go on."""
    x, y = points(x, y)
    slopes = np.diff(y) / np.diff(x)
    return JointFunction((Pieces(x[:-1], np.array([y[:-1], slopes])),))


def fitted_cubics(x: Sequence[float] | Array, y: Sequence[float] | Array) -> JointFunction:
    """OpenSim's SimmSpline: the cubic spline through points (m,), with straight lines beyond both ends.

    The third derivative of an end's piece is that of the cubic through the four points there, zero where
    there are only three: Forsythe, Malcolm and Moler, Computer Methods for Mathematical Computations,
    section 4.4. With the second derivatives m_i at the points, h_i and d_i widths and slopes between them,

        h_(i-1) m_(i-1) + 2 (h_(i-1) + h_i) m_i + h_i m_(i+1) = 6 (d_i - d_(i-1)).
    """
    x, y = points(x, y)
    if len(x) == 2:
        return piecewise_linear(x, y)
    h, d = np.diff(x), np.diff(y) / np.diff(x)
    matrix, right = np.zeros((len(x), len(x))), np.zeros(len(x))
    for i in range(1, len(x) - 1):
        matrix[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
        right[i] = 6.0 * (d[i] - d[i - 1])
    matrix[0, :2], matrix[-1, -2:] = (-1.0, 1.0), (-1.0, 1.0)
    if len(x) > 3:
        right[0] = 6.0 * h[0] * third_difference(x[:4], y[:4])
        right[-1] = 6.0 * h[-1] * third_difference(x[-4:], y[-4:])
    m = np.linalg.solve(matrix, right)
    slopes = d - h * (2.0 * m[:-1] + m[1:]) / 6.0
    last = slopes[-1] + 0.5 * h[-1] * (m[-2] + m[-1])
    breaks = np.array([x[0] - h[0], *x])  # one piece more at both ends, which is straight
    zero = np.zeros(1)
    rows = [
        np.concatenate([[y[0] - slopes[0] * h[0]], y[:-1], [y[-1]]]),
        np.concatenate([[slopes[0]], slopes, [last]]),
        np.concatenate([zero, 0.5 * m[:-1], zero]),
        np.concatenate([zero, np.diff(m) / (6.0 * h), zero]),
    ]
    return JointFunction((Pieces(breaks, np.array(rows)),))


def points(x: Sequence[float] | Array, y: Sequence[float] | Array) -> tuple[Array, Array]:
    """Points of a function as arrays (m,), sorted as they are; CouplingError for fewer than two."""
    x, y = real_array(x, "x of a function"), real_array(y, "y of a function")
    if x.ndim != 1 or x.shape != y.shape or x.size < 2:
        raise CouplingError(
            f"a function has x of shape {x.shape} and y of shape {y.shape}; give as many of both, two or more"
        )
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y)) and np.all(np.diff(x) > 0.0)):
        raise CouplingError(f"a function has x = {x.tolist()}; they must increase, and all must be finite")
    return x, y


def third_difference(x: Array, y: Array) -> float:
    """The divided difference of four points: the leading coefficient of the cubic through them."""
    found = y
    for order in range(1, 4):
        found = np.diff(found) / (x[order:] - x[:-order])
    return float(found[0])
