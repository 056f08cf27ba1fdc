"""Enclosures of integrals over time, by Taylor models on pieces that are divided.

Over a piece of length h the integral of a Taylor model is h sum_j c_j / (j + 1) over even j, to h r.
"""

from __future__ import annotations

import numpy as np

from trajopt.arrays import Array
from trajopt.enclosures.leaf_pieces import LeafPieces, Model
from trajopt.enclosures.suprema import MOST_PARTS, MOST_PIECES, MOST_ROUNDS, Evaluation
from trajopt.enclosures.taylor_model import EPS, ORDER, UPWARDS, TaylorModel

SHARE = 0.5  # of the error that is left: pieces whose errors sum up to less are not divided


def enclosed_integrals(
    pieces: LeafPieces, evaluate: Evaluation, quantity: str, sharpness: Array
) -> tuple[Array, Array]:
    """(value, error), (width,) each: the integral of every component lies within value +- error.

    sharpness : error that is sought, (width,); larger where the pieces run out, infinite without a bound
    """
    value, error = np.zeros(sharpness.size), np.zeros(sharpness.size)
    if not pieces.start.size:
        return value, np.full(sharpness.size, np.inf)
    left = MOST_PIECES
    with np.errstate(all="ignore"):  # what overflows has an infinite radius
        for number in range(MOST_ROUNDS):
            left -= pieces.start.size
            parts, parts_error = _over_pieces(pieces, evaluate(pieces)[quantity])
            rough = _rough(parts_error, sharpness - error)
            most = left // max(int(rough.sum()), 1)
            if number == MOST_ROUNDS - 1 or most < 2:
                rough[:] = False
            kept = parts[:, ~rough]
            value += kept.sum(axis=1)
            error += parts_error[:, ~rough].sum(axis=1) + (kept.shape[1] + 1) * EPS * np.abs(kept).sum(axis=1)
            if not rough.any():
                break
            even = SHARE * (sharpness - error)[:, None] / rough.sum()
            factor = np.max(parts_error / even, axis=0)[rough] ** (1.0 / ORDER)
            wanted = np.ceil(np.where(np.isfinite(factor), factor, MOST_PARTS))
            count = np.clip(wanted, 2, min(MOST_PARTS, most)).astype(int)
            pieces = pieces.divided(np.flatnonzero(rough), count)
        error += MOST_ROUNDS * EPS * np.abs(value)  # of the sums from round to round
    return value, np.where(np.isfinite(error), error * UPWARDS, np.inf)


def _rough(errors: Array, allowed: Array) -> Array:
    """Which pieces are to be divided, (P,).

    Those that are not, for every component, among the smallest errors (width, P) that add up to a share of
    what is `allowed`, (width,); none where all errors together are allowed, or no error is any more.
    """
    rough = np.zeros(errors.shape[1], dtype=bool)
    for of_component, most in zip(errors, allowed, strict=True):
        if most > 0.0 and not of_component.sum() <= most:
            order = np.argsort(of_component)
            rough[order[~(np.cumsum(of_component[order]) <= SHARE * most)]] = True
    return rough


def _over_pieces(pieces: LeafPieces, models: Model) -> tuple[Array, Array]:
    """The integrals over all pieces, and how far they may be off, (width, P) each."""
    seconds = pieces.end - pieces.start
    rounding = 4.0 * EPS * np.abs(pieces.end)  # of both ends
    found = [_mean(model, seconds.size) for model in models]
    mean, radius, size = (np.array(each) for each in zip(*found, strict=True))
    error = radius * (seconds + rounding) + rounding * size + (ORDER + 2) * EPS * size * seconds
    return mean * seconds, np.where(np.isfinite(error), error, np.inf)


def _mean(model: TaylorModel | float, count: int) -> tuple[Array, Array, Array]:
    """Mean over each piece, radius, and a bound of absolute values, (P,) each."""
    if not isinstance(model, TaylorModel):
        value = np.full(count, float(model))
        return value, np.zeros(count), np.abs(value)
    weights = 1.0 / np.arange(1, len(model.coefficients) + 1, 2)
    mean = weights @ model.coefficients[::2]
    every = (mean, model.radius, model.size)
    mean, radius, size = (np.broadcast_to(each, (count,)) for each in every)
    return mean, radius, size + radius
