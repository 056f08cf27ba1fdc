"""Least upper bounds of violations over an interval of time, by Taylor models on pieces that are divided.

A piece is divided while its bound is neither as sharp as asked nor below what is reached elsewhere. Into how
many parts follows from the order of the models: radii fall with length^order.

Also here: enclosures of integrals over time, by Taylor models on pieces that are divided.

Over a piece of length h the integral of a Taylor model is h sum_j c_j / (j + 1) over even j, to h r. The
integral of its absolute value is at least the sum of |integral of the polynomial| over parts of the piece,
less h r.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from trajopt.base.arrays import Array
from trajopt.splines.polynomial_bounds import Pieces, upper_bound
from trajopt.splines.quadrature import SHARE, largest_errors
from trajopt.taylor_models.leaf_pieces import LeafPieces, Model
from trajopt.taylor_models.taylor_model import EPS, FOUR_EPS, ORDER, UNDERFLOW, UPWARDS, TaylorModel, as_model

MOST_PARTS = 8  # of a piece in one round
MOST_ROUNDS = 12
FIRST_PIECES = 32  # to begin with, at least: models on fewer take as long, and a second round as long again
OF_VIOLATION = 0.05  # of the largest violation reached: a larger one by less is not searched for
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
            sharpness, is_sharp = max(self.sharpness, OF_VIOLATION * self.reached), False
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


MOST_OF_INTEGRAL = 30_000  # on which models are evaluated, if the spans are not more
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
    left = MOST_OF_INTEGRAL
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
