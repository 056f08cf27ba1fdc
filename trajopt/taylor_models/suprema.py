"""Least upper bounds of violations over an interval of time, by Taylor models on pieces that are divided.

A piece is divided while its bound is neither as sharp as asked nor below what is reached elsewhere. Into how
many parts follows from the order of the models: radii fall with length^order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trajopt.base.arrays import Array
from trajopt.splines.polynomial_bounds import Pieces, upper_bound
from trajopt.taylor_models.leaf_pieces import LeafPieces, Model
from trajopt.taylor_models.series import FOUR_EPS
from trajopt.taylor_models.taylor_model import ORDER, TaylorModel

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
