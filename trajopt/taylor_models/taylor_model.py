"""Taylor models: a polynomial of one variable and a bound of the error, for many pieces of time at once.

A Taylor model of a function f on a piece of time, t = centre + s half-width with s in [-1, 1], is

    |f(s) - sum_j c_j s^j| <= r     for all s in [-1, 1],     j < order.

Sums, products and elementary functions of Taylor models are Taylor models: what a product has beyond the
order, what a series leaves out and every rounding error is added to r. A function with a corner, like |x|, is
followed exactly on pieces that lie on one side of it, and by a straight line and its distance on others; one
with a jump is anything between its two values there. Floating-point rounding is bounded beforehand: a result
of n operations on terms of absolute sum S is off by at most n eps S, with eps twice the unit roundoff.
Source: Makino and Berz, Taylor models and other validated functional inclusion methods, International Journal
of Pure and Applied Mathematics 4 (2003).

Elementary functions have Taylor series about a centre, with a bound of what is left out.

Each function takes the centre c (P,), a radius u >= |x - c| (P,) and the number of terms N, and returns
(terms, sizes, rest): f(x) = sum_m terms[m] (x - c)^m + e with |e| <= rest (P,), m < N. Terms are computed to
2 N eps of `sizes` (N, P). The rest is infinite where the function or its derivatives are not bounded; that of
Lagrange, sup |f^(N)| u^N / N!, it needs to be right to one part in 1e12.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from math import comb

import numpy as np

from trajopt.base.arrays import Array, Number, read_only
from trajopt.taylor_models import taylor_model as series

Series = tuple[Array, Array, Array]
SeriesFunction = Callable[[Array, Array, int], Series]

FOUR_EPS = 4.0 * np.finfo(float).eps
DISC = 1.4  # radius r below pi / 2 at which tan(r) / r^N is nearly least for N = 10 terms


def sine(centre: Array, radius: Array, count: int) -> Series:
    return _waves(np.sin(centre), np.cos(centre), radius, count)


def cosine(centre: Array, radius: Array, count: int) -> Series:
    return _waves(np.cos(centre), -np.sin(centre), radius, count)


def exponential(centre: Array, radius: Array, count: int) -> Series:
    terms = np.exp(centre) * _inverse_factorials(count)[:, None]
    return terms, terms, np.exp(centre + radius) * radius**count / math.factorial(count)


def logarithm(centre: Array, radius: Array, count: int) -> Series:
    least = _least(centre, radius)
    centre = np.where(least > 0.0, centre, 1.0)
    m = np.arange(1, count)[:, None]
    terms = np.concatenate([np.log(centre)[None], -((-1.0) ** m) / (m * centre**m)])
    rest = (radius / np.where(least > 0.0, least, 1.0)) ** count / count
    return terms, np.abs(terms), np.where(least > 0.0, rest, np.inf)


def reciprocal(centre: Array, radius: Array, count: int) -> Series:
    least = _least(np.abs(centre), radius)
    centre = np.where(least > 0.0, centre, 1.0)
    terms = (-1.0 / centre) ** np.arange(count)[:, None] / centre
    safe = np.where(least > 0.0, least, 1.0)
    return terms, np.abs(terms), np.where(least > 0.0, (radius / safe) ** count / safe, np.inf)


def real_power(exponent: float) -> SeriesFunction:
    """x^p for positive x and any p."""

    def series(centre: Array, radius: Array, count: int) -> Series:
        least = _least(centre, radius)
        inside = least > 0.0
        centre, least = np.where(inside, centre, 1.0), np.where(inside, least, 1.0)
        binomial = np.cumprod(np.append(1.0, (exponent - np.arange(count)) / np.arange(1, count + 1)))
        m = np.arange(count)[:, None]
        terms = binomial[:count, None] * centre**exponent / centre**m
        largest = np.maximum(least ** (exponent - count), (centre + radius) ** (exponent - count))
        rest = abs(binomial[count]) * largest * radius**count
        return terms, np.abs(terms), np.where(inside, rest, np.inf)

    return series


def arctangent(centre: Array, radius: Array, count: int) -> Series:
    """The m-th derivative over m! is cos(w)^m sin(m (w + pi / 2)) / m with w = atan(x)."""
    angle, m = np.arctan(centre), np.arange(1, count)[:, None]
    sizes = (1.0 / np.sqrt(1.0 + centre * centre)) ** m / m
    terms = sizes * np.sin(m * (angle + 0.5 * np.pi))
    nearest = np.maximum(_least(np.abs(centre), radius), 0.0)
    rest = (radius / np.sqrt(1.0 + nearest * nearest)) ** count / count
    first = angle[None]
    # Phases up to 3 count are off by as many roundings.
    return np.concatenate([first, terms]), np.concatenate([np.abs(first), 8.0 * sizes]), rest


def hyperbolic_tangent(centre: Array, radius: Array, count: int) -> Series:
    """tanh, whose terms follow one from the other by f' = 1 - f^2.

    In a disc of radius r from pi / 4 to pi / 2 about a real x, |f| <= tan r, so that by Cauchy's inequality
    no m-th derivative is above m! tan(r) / r^m.
    """
    terms, errors = np.zeros((count, centre.size)), np.zeros((count, centre.size))
    terms[0] = np.tanh(centre)
    errors[0] = FOUR_EPS * np.abs(terms[0])
    for k in range(count - 1):
        square = (terms[: k + 1] * terms[k::-1]).sum(axis=0)
        size = np.abs(terms[: k + 1] * terms[k::-1]).sum(axis=0) + (k == 0)
        carried = 2.0 * (np.abs(terms[: k + 1]) * errors[k::-1]).sum(axis=0)
        terms[k + 1] = ((k == 0) - square) / (k + 1)
        errors[k + 1] = (1.01 * carried + (k + 4) * FOUR_EPS * size) / (k + 1)
    sizes = np.maximum(errors / (count * 0.5 * FOUR_EPS), np.abs(terms))
    return terms, sizes, math.tan(DISC) * (radius / DISC) ** count


def _waves(value: Array, slope: Array, radius: Array, count: int) -> Series:
    """f'' = -f: a sine or a cosine, whose derivatives are all at most one."""
    inverse = _inverse_factorials(count)[:, None]
    m = np.arange(count)[:, None]
    terms = np.where(m % 2 == 0, value, slope) * np.where(m % 4 < 2, 1.0, -1.0) * inverse
    sizes = np.broadcast_to(inverse, terms.shape)
    return terms, sizes, radius**count / math.factorial(count)


def _least(centre: Array, radius: Array) -> Array:
    """A number that no |x| with |x - c| <= u falls below, for c > 0, rounding included."""
    return centre * (1.0 - FOUR_EPS) - radius * (1.0 + FOUR_EPS)


def _inverse_factorials(count: int) -> Array:
    return 1.0 / np.cumprod(np.maximum(np.arange(count), 1.0))


ORDER = 10  # coefficients kept
EPS = float(np.finfo(float).eps)
UPWARDS = 1.0 + 1e-12  # covers rounding in the computation of radii, which are sums of nonnegative terms
UNDERFLOW = float(np.finfo(float).tiny)  # more than is lost where products of small numbers become zero
QUARTER_TURN = 0.5 * np.pi  # to half an eps


class TaylorModel:
    """Polynomials with coefficients (terms, P), terms <= ORDER, and radii r (P,), of P pieces at once.

    Arithmetic with other Taylor models, of the same pieces or of one, and with floats taken as exact.
    A product with the float 0 is the float 0, so that structural zeros cost nothing.
    """

    __array_ufunc__ = None  # so that NumPy's numbers call the operators below

    def __init__(self, coefficients: Array, radius: Array, within: tuple[Array, Array] | None = None) -> None:
        """within : values (P,) below and above which there is none, where that is known otherwise."""
        self.coefficients, self.radius, self._within = coefficients, radius, within

    @staticmethod
    def constant(value: float) -> Number:
        """A number that is the same on all pieces; 0, 1 and -1 stay floats."""
        value = float(value)
        return value if value in (-1.0, 0.0, 1.0) else TaylorModel(np.array([[value]]), np.zeros(1))

    @cached_property
    def size(self) -> Array:
        """sum_j |c_j|, (P,): no value of the polynomial is larger."""
        return np.abs(self.coefficients).sum(axis=0)

    @cached_property
    def bernstein(self) -> tuple[Array, Array]:
        """Bernstein coefficients (ORDER, P) of the polynomials, and radii (P,), infinite where not known."""
        with np.errstate(all="ignore"):
            found = _from_powers(ORDER)[:, : len(self.coefficients)] @ self.coefficients
            radius = (self.radius + (ORDER + 2) * EPS * self.size) * UPWARDS
        return found, np.where(np.isfinite(radius), radius, np.inf)

    @cached_property
    def range(self) -> tuple[Array, Array]:
        """Numbers (P,) that no value is below, or above; infinite where nothing is known."""
        found, radius = self.bernstein
        with np.errstate(all="ignore"):
            low, high = found.min(axis=0) - radius, found.max(axis=0) + radius
            outwards = EPS * np.maximum(np.abs(low), np.abs(high))
        known = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(known, low - outwards, -np.inf), np.where(known, high + outwards, np.inf)
        if self._within is None:
            return low, high
        return np.maximum(low, self._within[0]), np.minimum(high, self._within[1])

    @cached_property
    def _ends(self) -> Array:
        """sum_{j >= i} |c_j| for every i, (terms, P)."""
        return np.cumsum(np.abs(self.coefficients[::-1]), axis=0)[::-1]

    # -- sums ---------------------------------------------------------------------------------------------

    def __add__(self, other: Number) -> Number:
        if not isinstance(other, TaylorModel):
            if other == 0.0:
                return self
            other = as_model(other)
        few, many = sorted((self.coefficients, other.coefficients), key=len)
        total = np.zeros((len(many), *np.broadcast_shapes(few.shape[1:], many.shape[1:])))
        total += many
        total[: len(few)] += few
        return _with_rounding(total, self.radius + other.radius)

    __radd__ = __add__

    def __neg__(self) -> TaylorModel:
        within = None if self._within is None else (-self._within[1], -self._within[0])
        return TaylorModel(-self.coefficients, self.radius, within)

    def __sub__(self, other: Number) -> Number:
        return self + -other

    def __rsub__(self, other: Number) -> Number:
        return -self + other

    # -- products -----------------------------------------------------------------------------------------

    def __mul__(self, other: Number) -> Number:
        if isinstance(other, TaylorModel):
            return self._times(other)
        factor = float(other)
        if factor == 0.0:
            bounded = np.isfinite(self.radius)  # else there may be no product
            radius = np.where(bounded, 0.0, np.inf)
            return 0.0 if bounded.all() else TaylorModel(np.zeros((1, radius.size)), radius)
        if factor == 1.0:
            return self
        if factor == -1.0:
            return -self
        return _with_rounding(factor * self.coefficients, abs(factor) * self.radius)

    __rmul__ = __mul__

    def _times(self, other: TaylorModel) -> TaylorModel:
        shorter = len(self.coefficients) <= len(other.coefficients)
        few, many = (self, other) if shorter else (other, self)
        a, b = few.coefficients, many.coefficients
        count = min(len(a) + len(b) - 1, ORDER)
        # a_i b_j stands in row i and column j, and with rows of one entry less in column i + j.
        every = np.zeros((len(a), len(a) + len(b), *np.broadcast_shapes(a.shape[1:], b.shape[1:])))
        np.multiply(a[:, None], b, out=every[:, : len(b)])
        shifted = every.reshape(-1, *every.shape[2:])[: -len(a)].reshape(len(a), -1, *every.shape[2:])
        product = shifted[:, :count].sum(axis=0)
        radius = few.size * many.radius + few.radius * (many.size + many.radius)
        radius = radius + (ORDER + 1) * EPS * few.size * many.size
        if len(a) + len(b) - 1 > ORDER:  # a_i meets all b_j with i + j >= ORDER
            first = ORDER + 1 - len(b)
            radius = radius + (np.abs(a[first:]) * many._ends[ORDER - first : ORDER - len(a) : -1]).sum(
                axis=0
            )
        return TaylorModel(product, radius * UPWARDS + UNDERFLOW)

    def __pow__(self, exponent: float) -> Number:
        """x^p by products for whole p, else by its series, for positive x."""
        if exponent != round(exponent) or abs(exponent) > ORDER:
            return self._composed(series.real_power(float(exponent)))
        if exponent < 0:
            return self.reciprocal() ** -exponent
        result: Number = 1.0
        for _ in range(int(exponent)):
            result = self * result
        return result

    def __truediv__(self, other: Number) -> Number:
        if isinstance(other, TaylorModel):
            return self * other.reciprocal()
        if other in (1.0, -1.0):
            return self * other
        return self * as_model(other).reciprocal()

    def __rtruediv__(self, other: Number) -> Number:
        return self.reciprocal() * other

    # -- elementary functions -----------------------------------------------------------------------------

    def reciprocal(self) -> TaylorModel:
        """1 / x; the radius is infinite on pieces where x may be zero."""
        return self._composed(series.reciprocal)

    def sin(self) -> TaylorModel:
        return self._composed(series.sine)

    def cos(self) -> TaylorModel:
        return self._composed(series.cosine)

    def exp(self) -> TaylorModel:
        return self._composed(series.exponential)

    def log(self) -> TaylorModel:
        return self._composed(series.logarithm)

    def sqrt(self) -> TaylorModel:
        return self**0.5

    def tanh(self) -> TaylorModel:
        return self._composed(series.hyperbolic_tangent)._at_most(1.0, self._known)

    def atan(self) -> TaylorModel:
        return self._composed(series.arctangent)._at_most(QUARTER_TURN, self._known)

    def atan2(self, x: Number) -> TaylorModel:
        """The angle of (x, self), anything where the pair may meet the half line x <= 0, self = 0."""
        x = as_model(x)
        with np.errstate(all="ignore"):
            right, above = (self / x).atan(), (x / self).atan()
        quarter = TaylorModel(np.array([[QUARTER_TURN]]), np.array([EPS]))
        unknown = TaylorModel(np.zeros((1, 1)), np.array([np.inf]))
        found = _chosen(self.range[0] > 0.0, quarter - above, unknown)
        found = _chosen(self.range[1] < 0.0, -quarter - above, found)
        found = _chosen(x.range[0] > 0.0, right, found)
        return found._at_most(2.0 * QUARTER_TURN, self._known & x._known)

    def angle(self, y: Number) -> TaylorModel:
        """atan2(y, self)."""
        return as_model(y).atan2(self)

    # -- corners and jumps --------------------------------------------------------------------------------

    def __abs__(self) -> TaylorModel:
        low, high = self.range
        with np.errstate(all="ignore"):
            across = self._convex((high + low) / (high - low), np.abs)
        return _chosen(low >= 0.0, self, _chosen(high <= 0.0, -self, across))

    def maximum(self, other: Number) -> TaylorModel:
        """The larger of both: other + max(self - other, 0) where they may cross.

        Of a quantity without a bound, such as at a pole, that of the other one is kept.
        """
        other = as_model(other)
        more = self - other
        low, high = more.range
        with np.errstate(all="ignore"):
            across = other + more._convex(high / (high - low), lambda x: np.maximum(x, 0.0))
            found = _chosen(low >= 0.0, self, _chosen(high <= 0.0, other, across))
            within = np.maximum(self.range[0], other.range[0]), np.maximum(self.range[1], other.range[1])
            half = 0.5 * (within[1] - within[0])
            interval = TaylorModel((within[0] + half)[None], half * UPWARDS + EPS * np.abs(within[0]))
        found = _chosen(np.isfinite(half) & ~(found.radius <= half), interval, found)
        return TaylorModel(found.coefficients, found.radius, within)

    def positive(self) -> TaylorModel:
        """1 where x > 0, else 0; either on pieces where that is not known."""
        low, high = self.range
        return _indicator(low > 0.0, high <= 0.0)

    def zero(self) -> TaylorModel:
        """1 where x = 0, else 0; either on pieces where that is not known."""
        low, high = self.range
        return _indicator((self.size == 0.0) & (self.radius == 0.0), (low > 0.0) | (high < 0.0))

    def _convex(self, slope: Array, function: Callable[[Array], Array]) -> TaylorModel:
        """A convex function whose only corner is f(0) = 0, as slope x + h +- h where 0 is inside.

        f(x) - slope x is convex: at least 0, its value at the corner, if the slope lies between those of
        both sides, and largest at an end.
        """
        low, high = self.range
        far = np.maximum(function(low) - slope * low, function(high) - slope * high)
        half = 0.5 * far + FOUR_EPS * np.maximum(np.abs(low), np.abs(high))
        line = _with_rounding(slope * self.coefficients, np.abs(slope) * self.radius)
        return line + TaylorModel(half[None], half * UPWARDS)

    def _at_most(self, size: float, known: Array) -> TaylorModel:
        """The model of a function |f| <= size, or all values between where that is less and x is `known`."""
        largest = np.where(known, size * UPWARDS, np.inf)
        whole = TaylorModel(np.zeros((1, largest.size)), largest)
        return _chosen(self.radius <= largest, self, whole)

    @property
    def _known(self) -> Array:
        """Mask of the points where every value of the model is a finite number, (P,)."""
        return np.isfinite(self.range[0])

    def _composed(self, function: series.SeriesFunction) -> TaylorModel:
        """f(x) by the Taylor series of f about c_0."""
        centre, powers = self.coefficients[0], self._powers
        away = (powers[0].size + self.radius) * UPWARDS
        with np.errstate(all="ignore"):  # what overflows has an infinite radius
            terms, sizes, rest = function(centre, away, ORDER)
            total = np.zeros((ORDER, centre.size))
            total[0] = terms[0]
            radius = rest + 3 * ORDER * EPS * sizes[0]
            for term, size, power in zip(terms[1:], sizes[1:], powers, strict=True):
                total[: len(power.coefficients)] += term * power.coefficients
                rounding = 3 * ORDER * EPS * size * (power.size + power.radius)
                radius = radius + np.abs(term) * power.radius + rounding
            radius = np.where(np.isfinite(radius), radius * UPWARDS + UNDERFLOW, np.inf)
        return TaylorModel(total, radius)

    @cached_property
    def _powers(self) -> list[TaylorModel]:
        """(x - c_0)^m for m = 1 ... ORDER - 1; sine and cosine of one angle share them."""
        away = self.coefficients.copy()
        away[0] = 0.0
        powers = [TaylorModel(away, self.radius)]
        while len(powers) < ORDER - 1:
            powers.append(powers[0]._times(powers[-1]))
        return powers


def _chosen(mask: Array, one: TaylorModel, other: TaylorModel) -> TaylorModel:
    """One model on the pieces of a mask (P,), another one elsewhere."""
    count = max(len(one.coefficients), len(other.coefficients))
    pieces = np.broadcast_shapes(mask.shape, one.radius.shape, other.radius.shape)
    both = np.zeros((2, count, *pieces))
    both[0, : len(one.coefficients)] = one.coefficients
    both[1, : len(other.coefficients)] = other.coefficients
    return TaylorModel(np.where(mask, both[0], both[1]), np.where(mask, one.radius, other.radius))


def _indicator(one: Array, zero: Array) -> TaylorModel:
    """1 on some pieces (P,), 0 on others, anything between elsewhere."""
    value = np.where(one, 1.0, np.where(zero, 0.0, 0.5))
    return TaylorModel(value[None], np.where(one | zero, 0.0, 0.5))


def as_model(value: Number) -> TaylorModel:
    """A Taylor model itself, or that of a number, on all pieces."""
    if isinstance(value, TaylorModel):
        return value
    return TaylorModel(np.array([[float(value)]]), np.zeros(1))


def _with_rounding(coefficients: Array, radius: Array) -> TaylorModel:
    """The model of coefficients that are each the rounded result of one operation."""
    model = TaylorModel(coefficients, radius)
    model.radius = (radius + EPS * model.size) * UPWARDS + UNDERFLOW
    return model


@lru_cache
def _from_powers(count: int) -> Array:
    """Matrix (count, count) from coefficients of powers of s to Bernstein coefficients on [-1, 1].

    The Bernstein coefficients of s^j are the elementary symmetric means of j of `count - 1` numbers -1 and 1:
    none is larger than one.
    """
    products, binomials = signed_products(count - 1)
    return read_only(products / binomials)


def signed_products(degree: int) -> tuple[Array, Array]:
    """Coefficients of (1 + z)^k (1 - z)^(degree - k) in row k, and binomial coefficients; all exact."""
    products = np.ones((degree + 1, 1))
    sign = np.where(np.arange(degree) < np.arange(degree + 1)[:, None], 1.0, -1.0)
    for factor in sign.T:
        products = np.pad(products, ((0, 0), (0, 1))) + factor[:, None] * np.pad(products, ((0, 0), (1, 0)))
    return products, np.array([comb(degree, k) for k in range(degree + 1)], dtype=float)
