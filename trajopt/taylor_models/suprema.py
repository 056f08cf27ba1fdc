"""Least upper bounds, and integrals, over time by Taylor models of a graph on pieces that are divided.

A piece is divided while its bound is neither as sharp as asked nor below what is reached elsewhere. Into how
many parts follows from the order of the models: radii fall with length^order.

Integrals over time are enclosed on the same pieces.

Over a piece of length h the integral of a Taylor model is h sum_j c_j / (j + 1) over even j, to h r. The
integral of its absolute value is at least the sum of |integral of the polynomial| over parts of the piece,
less h r.

Taylor models are made of the leaves, q, v, t and so on, and of all quantities.

On every span of a motion a curve and its derivatives are polynomials in Bernstein form. Pieces are cut by
convex combinations (de Casteljau), and brought to powers of s in [-1, 1] at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np

from trajopt.base.arrays import Array, read_only
from trajopt.graph.graph import Graph
from trajopt.graph.quantities import TIME_LEAVES, SplineLeaf
from trajopt.splines.basis import Curve
from trajopt.splines.polynomial_bounds import Pieces, divide, pieces_of_group, upper_bound
from trajopt.splines.quadrature import SHARE, largest_errors
from trajopt.taylor_models.taylor_model import (
    EPS,
    FOUR_EPS,
    ORDER,
    UNDERFLOW,
    UPWARDS,
    TaylorModel,
    as_model,
    signed_products,
)

Model = list[Any]  # of TaylorModel or float, one per component


@dataclass(frozen=True, eq=False)
class LeafPieces:
    """Polynomial pieces of the leaves that are curves, and the leaves that are constant on a piece.

    start, end : seconds, (P,), for reports
    curves : leaf -> Bernstein coefficients (P, degree + 1, width); the time t is one of the leaves
    errors : leaf -> bounds of their rounding errors (P, width)
    constants : leaf -> values (P, width)
    """

    start: Array
    end: Array
    curves: Mapping[str, Array]
    errors: Mapping[str, Array]
    constants: Mapping[str, Array]

    def chosen(self, rows: Array) -> LeafPieces:
        """Chosen pieces as they are."""
        parts = (
            {leaf: values[rows] for leaf, values in of.items()}
            for of in (self.curves, self.errors, self.constants)
        )
        return LeafPieces(self.start[rows], self.end[rows], *parts)

    def part(self, chosen: Array, low: Array, high: Array) -> LeafPieces:
        """The parts [low, high] (fractions of their length) of chosen pieces, (P,) each."""
        share = np.clip((high - low) / np.maximum(1.0 - low, np.finfo(float).tiny), 0.0, 1.0)  # of the rest
        curves, errors = {}, {}
        for leaf, all_coefficients in self.curves.items():
            coefficients = all_coefficients[chosen]
            size = np.abs(coefficients).max(axis=1)
            # Two cuts of `degree` convex combinations each; fractions that are off by rounding move the
            # ends of a piece, by at most the slope times that.
            errors[leaf] = self.errors[leaf][chosen] + 16 * coefficients.shape[1] * EPS * size
            curves[leaf] = divide(divide(coefficients, low)[1], share)[0]
        start, length = self.start[chosen], (self.end - self.start)[chosen]
        constants = {leaf: values[chosen] for leaf, values in self.constants.items()}
        return LeafPieces(start + low * length, start + high * length, curves, errors, constants)

    def divided(self, chosen: Array, parts: Array) -> LeafPieces:
        """Chosen pieces, each cut evenly into its number of parts."""
        number = np.repeat(parts, parts)
        place = np.arange(number.size) - np.repeat(np.cumsum(parts) - parts, parts)
        return self.part(np.repeat(chosen, parts), place / number, (place + 1) / number)

    def models(self) -> dict[str, Model]:
        """Leaf -> one Taylor model per component, of polynomials in Bernstein form brought to powers."""
        found: dict[str, Model] = {}
        for leaf, coefficients in self.curves.items():
            degree = coefficients.shape[1] - 1
            matrix = _to_powers(degree)
            middle = coefficients[:, degree // 2]
            away = coefficients - middle[:, None]  # a constant is not converted: it has no rounding error
            powers = np.einsum("jk,pkw->jpw", matrix, away)
            rounding = (degree + 4) * EPS * np.einsum("jk,pkw->pw", np.abs(matrix), np.abs(away))
            powers[0] += middle
            radius = (
                self.errors[leaf] + rounding + EPS * np.abs(powers[0]) + np.abs(powers[ORDER:]).sum(axis=0)
            )
            radius = (radius * UPWARDS + UNDERFLOW).T.copy()
            powers = np.ascontiguousarray(np.moveaxis(powers[:ORDER], -1, 0))
            found[leaf] = list(map(TaylorModel, powers, radius))
        for leaf, values in self.constants.items():
            found[leaf] = [TaylorModel(row[None], np.zeros(row.size)) for row in values.T.copy()]
        return found


def leaf_pieces(
    curve: Curve,
    spline_leaves: Mapping[str, SplineLeaf],
    parameters: Mapping[str, Array],
    used: Iterable[str],
    first: float,
    last: float,
) -> LeafPieces:
    """The pieces of a motion within [first, last] seconds, one per span, with the leaves that are used.

    parameters : leaf -> value. Raises NotImplementedError for curves with other spans and for other leaves.
    """
    used = set(used)
    unknown = used - {*spline_leaves, *parameters, *TIME_LEAVES}
    if unknown:
        raise NotImplementedError(f"{', '.join(sorted(unknown))} have no pieces")
    known, _, _ = pieces_of_group(curve, 0, 0)
    arc = np.searchsorted(curve.starts, 0.5 * (known.start + known.end)) - 1
    curves, errors = {}, {}
    for leaf in used & spline_leaves.keys():
        spline = spline_leaves[leaf]
        pieces, rounding, place = pieces_of_group(curve, spline.curves.start, spline.order)
        if not np.array_equal(pieces.start, known.start):
            raise NotImplementedError(f"{leaf} has other breakpoints than q: there are no common pieces")
        own = slice(place, place + spline.width)
        curves[leaf] = pieces.coefficients[..., own]
        errors[leaf] = rounding[:, own]
    if "t" in used:
        curves["t"] = np.stack([known.start, known.end], axis=1)[..., None]
        errors["t"] = FOUR_EPS * known.end[:, None]
    arc_durations, count = curve.durations[arc], known.start.size
    single = {"duration": np.full((count, 1), curve.duration), "arc_duration": arc_durations[:, None]}
    single |= {leaf: np.broadcast_to(value, (count, np.size(value))) for leaf, value in parameters.items()}
    constants = {leaf: values for leaf, values in single.items() if leaf in used}
    whole = LeafPieces(known.start, known.end, curves, errors, constants)
    length = np.maximum(known.end - known.start, np.finfo(float).tiny)
    low, high = np.clip((np.array([[first], [last]]) - known.start) / length, 0.0, 1.0)
    if not low.any() and np.all(high == 1.0):
        return whole
    chosen = np.flatnonzero(high > low)
    return whole.part(chosen, low[chosen], high[chosen])


def graph_models(graph: Graph, pieces: LeafPieces) -> dict[str, Model]:
    """Every quantity of the graph on pieces of its leaves, by blocks that offer any arithmetic.

    Raises NotImplementedError where a block meets an operation that has no bound.
    """
    found = pieces.models()
    for block in graph.blocks:
        found.update(block.value_over(found, TaylorModel.constant))  # type: ignore[attr-defined]
    return found


@lru_cache
def _to_powers(degree: int) -> Array:
    """Matrix (degree + 1, degree + 1) from Bernstein coefficients on [-1, 1] to those of powers of s."""
    products, binomials = signed_products(degree)  # of ((1 + s) / 2)^k ((1 - s) / 2)^(degree - k)
    return read_only(np.ascontiguousarray((products * 0.5**degree).T * binomials))


MOST_PARTS = 8  # of a piece in one round
MOST_ROUNDS = 12
FIRST_PIECES = 32  # to begin with, at least: models on fewer take as long, and a second round as long again
MOST_PIECES = 5000  # on which models are evaluated in one search, if the spans are not more

Evaluation = Callable[[LeafPieces], Mapping[str, Model]]  # quantity -> one model per component


@dataclass(eq=False)
class Supremum:
    """The largest violation max(f - upper, lower - f) over time by a component f of a quantity.

    lower, upper : infinite where there is none
    reached : a violation that is reached at the `time`; the search raises it
    sharpness : by how much the bound may exceed what is reached
    allowed : once a larger violation is reached there will be no bound, and the search goes on only until
        none is larger by a twentieth, or the pieces are used up
    time : seconds
    value : no violation is larger; NaN where no bound was found
    """

    quantity: str
    component: int
    lower: float
    upper: float
    reached: float
    sharpness: float
    allowed: float
    time: float
    value: float = np.nan
    _settled: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)

    def unsettled(self, pieces: LeafPieces, model: TaylorModel | float, open_: Array, last: bool) -> Array:
        """Parts into which every open piece is to be divided, (P,); 0 where the bound is settled.

        Pieces that are settled are kept, in the last round all.
        """
        coefficients, radius = bernstein_form(model, pieces.start.size)
        ends = coefficients[:, [0, -1]]
        reached = np.maximum(ends - self.upper, self.lower - ends) - radius[:, None]
        self._raise(np.where(open_[:, None] & ~np.isnan(reached), reached, -np.inf), pieces)
        highest = np.maximum(coefficients.max(axis=1) - self.upper, self.lower - coefficients.min(axis=1))
        if self.reached <= self.allowed:
            sharpness, is_sharp = self.sharpness, 2.0 * radius <= self.sharpness
        else:  # what is reached inside a piece is seen when it is divided
            # A violation larger by less than a twentieth of the one reached is not searched for
            sharpness, is_sharp = max(self.sharpness, 0.05 * self.reached), False
        settled = is_sharp | (highest + radius <= self.reached + sharpness) | last
        kept = open_ & settled
        self._settled.append((pieces.start[kept], pieces.end[kept], coefficients[kept], radius[kept]))
        factor = (2.0 * radius / sharpness) ** (1.0 / ORDER)
        parts = np.clip(np.ceil(np.where(factor >= 1.0, factor, np.inf)), 2, MOST_PARTS).astype(int)
        return np.where(open_ & ~settled, parts, 0)

    def _raise(self, reached: Array, pieces: LeafPieces) -> None:
        """Take over a larger violation from the ends of the pieces, (P, 2)."""
        piece, side = np.unravel_index(int(np.argmax(reached)), reached.shape)
        if reached[piece, side] > self.reached:
            self.reached = float(reached[piece, side])
            self.time = float((pieces.end if side else pieces.start)[piece])

    def finish(self) -> None:
        """Set the value from all pieces that were kept."""
        start, end, coefficients, radius = map(np.concatenate, zip(*self._settled, strict=True))
        bounds = []
        for sign, bound in ((1.0, self.upper), (-1.0, -self.lower)):
            if np.isfinite(bound):
                found = upper_bound(Pieces(start, end, sign * coefficients + radius[:, None]))
                bounds.append(found.value - bound)
        value = np.max(bounds)  # NaN where one is
        known = np.abs([value, self.lower, self.upper])
        scale = known[np.isfinite(known)].max()
        self.value = float(value + FOUR_EPS * scale) if self.reached <= self.allowed else np.nan


def find_suprema(pieces: LeafPieces, evaluate: Evaluation, asked: Sequence[Supremum]) -> None:
    """Find all suprema over the pieces together; `evaluate` gives the models of quantities on pieces.

    Without pieces, on an interval that is too short to have one, none is found.
    """
    count, left = pieces.start.size, MOST_PIECES
    if not count:
        return
    if count < FIRST_PIECES:
        pieces = pieces.divided(np.arange(count), np.full(count, -(-FIRST_PIECES // count)))
    count = pieces.start.size
    open_ = [np.ones(count, dtype=bool) for _ in asked]
    with np.errstate(all="ignore"):  # what overflows has an infinite radius
        for number in range(MOST_ROUNDS):
            left -= pieces.start.size
            most = left // pieces.start.size
            last = number == MOST_ROUNDS - 1 or most < 2
            models = evaluate(pieces)
            wanted = np.array(
                [
                    supremum.unsettled(pieces, models[supremum.quantity][supremum.component], mine, last)
                    for supremum, mine in zip(asked, open_, strict=True)
                ]
            )
            parts = wanted.max(axis=0)
            # Models on as many pieces as at first take no longer than on fewer.
            parts = np.minimum(parts * max(count // max(int(parts.sum()), 1), 1), most)
            chosen = np.flatnonzero(parts)
            if not chosen.size:
                break
            open_ = [np.repeat(own[chosen] > 0, parts[chosen]) for own in wanted]
            pieces = pieces.divided(chosen, parts[chosen])
        for supremum in asked:
            supremum.finish()


def bernstein_form(model: TaylorModel | float, count: int) -> tuple[Array, Array]:
    """Bernstein coefficients (count, ORDER) of the polynomials of a model, and radii (count,)."""
    if not isinstance(model, TaylorModel):
        return np.full((count, ORDER), float(model)), np.zeros(count)
    coefficients, radius = model.bernstein
    return np.broadcast_to(coefficients.T, (count, ORDER)), np.broadcast_to(radius, (count,))


SMALLEST = UNDERFLOW / EPS  # above what underflow leaves of an integral that is zero
PARTS = 32  # of a piece; `least_size` falls short where the polynomial changes its sign within one of them


@dataclass(frozen=True, eq=False)
class EnclosedIntegral:
    """Integrals of the components of a quantity, (width,) each.

    value, error : the integral lies within value +- error; the error is infinite without a bound
    least_size : the integral of the absolute value is at least this
    """

    value: Array
    error: Array
    least_size: Array


def enclosed_integrals(
    pieces: LeafPieces, evaluate: Evaluation, quantity: str, sharpness: float, least: Array
) -> EnclosedIntegral:
    """The integral of every component of a quantity, and a lower bound of that of its absolute value.

    sharpness : error that is sought, of the larger one of `least_size` and `least` (width,); the error is
        larger where the pieces run out
    """
    value, error, size = np.zeros((3, least.size))
    if not pieces.start.size:
        return EnclosedIntegral(value, np.full(least.size, np.inf), size)
    left = 30_000  # models are evaluated, if the spans are not more
    with np.errstate(all="ignore"):  # what overflows has an infinite radius
        for number in range(MOST_ROUNDS):
            left -= pieces.start.size
            parts, parts_error, parts_size = _over_pieces(pieces, evaluate(pieces)[quantity])
            allowed = sharpness * np.maximum(np.maximum(least, SMALLEST), size + parts_size.sum(axis=1))
            reachable = allowed > error
            rough = largest_errors(parts_error[reachable], (allowed - error)[reachable])
            most = left // max(int(rough.sum()), 1)
            if number == MOST_ROUNDS - 1 or most < 2:
                rough[:] = False
            kept = parts[:, ~rough]
            value += kept.sum(axis=1)
            error += parts_error[:, ~rough].sum(axis=1) + (kept.shape[1] + 1) * EPS * np.abs(kept).sum(axis=1)
            size += parts_size[:, ~rough].sum(axis=1) * (1.0 - (kept.shape[1] + 1) * EPS)
            if not rough.any():
                break
            even = SHARE * (allowed - error)[:, None] / rough.sum()
            factor = np.max(parts_error / even, axis=0)[rough] ** (1.0 / ORDER)
            wanted = np.ceil(np.where(np.isfinite(factor), factor, MOST_PARTS))
            count = np.clip(wanted, 2, min(MOST_PARTS, most)).astype(int)
            pieces = pieces.divided(np.flatnonzero(rough), count)
        error += MOST_ROUNDS * EPS * np.abs(value)  # of the sums from round to round
        error = np.where(np.isfinite(error), error * UPWARDS, np.inf)
    return EnclosedIntegral(value, error, size * (1.0 - MOST_ROUNDS * EPS))


def _over_pieces(pieces: LeafPieces, models: Model) -> tuple[Array, Array, Array]:
    """The integrals over all pieces, how far they may be off, and least sizes, (width, P) each."""
    seconds = pieces.end - pieces.start
    rounding = FOUR_EPS * np.abs(pieces.end)  # of both ends
    found = [_mean(model, seconds.size) for model in models]
    mean, radius, bound, least = (np.array(each) for each in zip(*found, strict=True))
    away = rounding * bound + (ORDER + PARTS + 2) * EPS * bound * seconds
    error = radius * (seconds + rounding) + away
    size = np.maximum(least * seconds - error, 0.0)
    return mean * seconds, np.where(np.isfinite(error), error, np.inf), np.where(np.isfinite(size), size, 0.0)


def _mean(model: TaylorModel | float, count: int) -> tuple[Array, Array, Array, Array]:
    """Mean over each piece, radius, bound of absolute values, and least mean of |polynomial|, (P,) each."""
    model = as_model(model)
    terms = len(model.coefficients)
    mean = (1.0 / np.arange(1, terms + 1, 2)) @ model.coefficients[::2]
    least = np.abs(_means_of_powers()[:, :terms] @ model.coefficients).sum(axis=0)
    every = (mean, model.radius, model.size, least)
    mean, radius, size, least = (np.broadcast_to(each, (count,)) for each in every)
    return mean, radius, size + radius, least


@cache
def _means_of_powers() -> Array:
    """Half the integrals of s^j over even parts of [-1, 1], (PARTS, ORDER)."""
    powers = np.arange(1, ORDER + 1)
    return np.diff(np.linspace(-1.0, 1.0, PARTS + 1)[:, None] ** powers, axis=0) / (2.0 * powers)
