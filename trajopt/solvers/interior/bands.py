"""Order by time of the unknowns of a Newton matrix, in which it is a band with an arrow.

Unknowns act on the spans of a motion from their first one to their last. In the order of first spans, rows
of constraints at nodes and second derivatives couple unknowns that are near each other: the matrix H + G' D G
is a band. Two kinds of unknowns and rows do not fit into it, and make its arrow: unknowns that act everywhere
(durations, parameters) or at both ends (mirrored, periodic motions), and rows over far spans (integrals,
periodicity, links of phases), which stay rows of the matrix. Wright, J. Optim. Theory Appl. 77 (1993) 161.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Bands:
    """The order of n unknowns and the shape of their band.

    order : (n,) the unknowns, those of the band by time, then those of the arrow
    inner : the number of those of the band
    half : half bandwidth: entries below the diagonal in a column of the band
    far : (rows,) mask of the rows that stay rows
    """

    order: np.ndarray
    inner: int
    half: int
    far: np.ndarray

    @property
    def arrow(self) -> int:
        """The number of unknowns of the arrow."""
        return self.order.size - self.inner

    @property
    def size(self) -> int:
        """The number of floats of the band with its arrow."""
        edge = self.arrow + int(self.far.sum())
        return self.inner * (self.half + 1 + edge) + edge**2


def bands_of(
    spans: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray, int],
    pairs: tuple[np.ndarray, np.ndarray],
) -> Bands:
    """The order of unknowns that act on these spans.

    spans : (n, 2) first and last span of every unknown, NaN for one that acts on none or everywhere
    rows : row and unknown of every entry of the constraints, (entries,) each, and the number of rows
    pairs : both unknowns of every entry of the Hessian, (entries,) each
    """
    first, last = spans.T
    nowhere = np.isnan(first)
    most = max(1.0, float(np.median((last - first)[~nowhere]))) if not nowhere.all() else 1.0
    in_arrow = nowhere | ~(last - first <= most)
    # A pair is far that is a span farther apart than most unknowns reach
    place, most = 0.5 * (first + last), most + 1.01
    far = _extents(rows, place, ~in_arrow) > most
    _cover(pairs, place, most, in_arrow)
    key = first + 0.5 * (last > first)
    order = np.lexsort((np.arange(key.size), np.where(in_arrow, np.inf, key)))
    inner = int(np.count_nonzero(~in_arrow))
    position = np.empty(order.size)
    position[order] = np.arange(order.size)
    of_rows = _extents(rows, position, ~in_arrow)[~far].max(initial=0.0)
    inside = ~(in_arrow[pairs[0]] | in_arrow[pairs[1]])
    of_pairs = np.abs(position[pairs[0]] - position[pairs[1]])[inside].max(initial=0.0)
    return Bands(order, inner, int(max(of_rows, of_pairs)), far)


def _extents(rows: tuple[np.ndarray, np.ndarray, int], place: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Largest difference of the places of the kept unknowns of every row, (rows,); 0 for one without any."""
    row, unknown, count = rows
    mine = kept[unknown]
    high, low = np.full(count, -np.inf), np.full(count, np.inf)
    np.maximum.at(high, row[mine], place[unknown[mine]])
    np.minimum.at(low, row[mine], place[unknown[mine]])
    return np.maximum(high - low, 0.0)


def _cover(
    pairs: tuple[np.ndarray, np.ndarray], place: np.ndarray, most: float, in_arrow: np.ndarray
) -> None:
    """Mark unknowns for the arrow until no pair of the others is farther apart than `most`."""
    one, other = pairs
    apart = np.flatnonzero(np.abs(place[one] - place[other]) > most)
    apart = apart[~(in_arrow[one[apart]] | in_arrow[other[apart]])]
    while apart.size:
        counts = np.bincount(np.concatenate([one[apart], other[apart]]), minlength=place.size)
        chosen = int(counts.argmax())
        in_arrow[chosen] = True
        apart = apart[(one[apart] != chosen) & (other[apart] != chosen)]
