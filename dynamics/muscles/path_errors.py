"""The largest errors of polynomials of paths over their ranges, corners and edges included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynamics.muscles.path_polynomials import PathSurrogate

Array = np.ndarray
Exact = Callable[[Array], tuple[Array, Array]]
POSES = 2000  # of which half have most coordinates at an end of their range
ROUNDS, PROPOSALS = 14, 20  # of the search from the worst pose of a path
FIRST_STEP, SHRINKING = 0.2, 0.7  # of the range; the steps of one round in those of the round before
SEED = 1


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes (K, n) of poses, from `lower` to `upper`."""

    lower: Array
    upper: Array

    def poses(self, count: int, rng: np.random.Generator) -> tuple[Array, Boxes]:
        """(count, n) poses and the boxes they are from: half all over these, half on edges and corners."""
        rows = np.arange(count) * len(self.lower) // count
        own = Boxes(self.lower[rows], self.upper[rows])
        share = rng.uniform(size=own.lower.shape)
        share[::2] = np.clip(2.0 * share[::2] - 0.5, 0.0, 1.0)  # a quarter at each end
        return own.lower + (own.upper - own.lower) * share, own


def largest_errors(
    surrogate: PathSurrogate, exact: Callable[[tuple[str, ...]], Exact], boxes: Boxes
) -> tuple[Array, Array]:
    """(m,) m each, the largest errors of lengths and of moment arms that are found in the boxes.

    exact : names of p paths -> poses (K, n) -> their lengths (K, p) and moment arms (K, p, n)

    Every path is searched from the pose with its worst moment arm, and from that with its worst length, by
    random steps that shrink. A jump within less than a thousandth of the ranges may stay unseen.
    """
    rng = np.random.default_rng(SEED)
    q, own = boxes.poses(POSES, rng)
    found = errors_of(surrogate, exact(surrogate.names), q)
    largest = [each.max(axis=0, initial=0.0) for each in found]
    for path, name in enumerate(surrogate.names):
        alone, of_one = surrogate.only([name]), exact((name,))
        columns = alone.coordinates[0][alone.coordinates[0] >= 0]
        if not len(columns):
            continue
        rows = [int(each[:, path].argmax()) for each in found]  # for lengths, for moment arms
        best, low, high = q[rows], own.lower[rows], own.upper[rows]
        for round_ in range(ROUNDS):
            more = np.tile(best[:, None], (1, PROPOSALS, 1))
            step = FIRST_STEP * SHRINKING**round_ * (high - low)[:, None, columns]
            more[:, :, columns] += step * rng.uniform(-1.0, 1.0, (2, PROPOSALS, len(columns)))
            more = np.clip(more, low[:, None], high[:, None])
            errors = errors_of(alone, of_one, more.reshape(2 * PROPOSALS, -1))
            for kind, error in enumerate(errors):
                row = int(error[:, 0].argmax())
                if error[row, 0] > largest[kind][path]:
                    largest[kind][path] = error[row, 0]
                    group, place = divmod(row, PROPOSALS)
                    best[kind], low[kind], high[kind] = more[group, place], low[group], high[group]
    return largest[0], largest[1]


def errors_of(surrogate: PathSurrogate, exact: Exact, q: Array) -> tuple[Array, Array]:
    """(K, m) m each, how far lengths and the worst moment arm are off in poses (K, n)."""
    (lengths, arms), found = exact(q), surrogate.values(q)
    missed = np.abs(surrogate.among_all(found.first) + arms).max(axis=2, initial=0.0)
    return np.abs(found.lengths - lengths), missed
