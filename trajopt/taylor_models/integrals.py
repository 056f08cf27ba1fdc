"""Enclosures of integrals over time, by Taylor models on pieces that are divided.

Over a piece of length h the integral of a Taylor model is h sum_j c_j / (j + 1) over even j, to h r. The
integral of its absolute value is at least the sum of |integral of the polynomial| over parts of the piece,
less h r.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from trajopt.base.arrays import Array
from trajopt.splines.adaptive_quadrature import SHARE, largest_errors
from trajopt.taylor_models.leaf_pieces import LeafPieces, Model
from trajopt.taylor_models.series import FOUR_EPS
from trajopt.taylor_models.suprema import MOST_PARTS, MOST_ROUNDS, Evaluation
from trajopt.taylor_models.taylor_model import EPS, ORDER, UNDERFLOW, UPWARDS, TaylorModel, as_model

MOST_PIECES = 30_000  # on which models are evaluated, if the spans are not more
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
    left = MOST_PIECES
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
