"""A term of clearances whose rows follow the motion: at every node those pairs that are close to each other.

Every pair of shapes has the value min(d + relief, reach), d its signed distance. Pairs that are farther apart
than `reach` have the same value and no slope, so that they need no row: a node has a fixed number of rows,
which the pairs take that come within reach, and leave when they go. What the solver sees stays continuous, as
a pair enters and leaves at the value that free rows have; pairs keep their row meanwhile, and with it their
multiplier.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import trajopt
from trajopt.base.arrays import Array

if TYPE_CHECKING:
    from dynamics.quantities.clearances import Clearances

FREE = -1  # a row that no pair has


class ClearanceRows:
    """A block for `trajopt.block_term`: q -> the clearances of the `width` closest pairs at every node, m.

    reach : m, largest value; more pairs than rows within reach: the closest have them
    relief : (pairs,) m, from zero, that is added to the distances; None: nothing
    """

    derivatives_are_tested = True  # by differences, in the tests of `dynamics.Clearances`

    def __init__(self, clearances: Clearances, reach: float, width: int, relief: Array | None = None) -> None:
        self.clearances, self.reach = clearances, reach
        self.relief = np.zeros(len(clearances)) if relief is None else relief
        self.inputs: Mapping[str, int] = {"q": clearances.model.n}
        self.outputs: Mapping[str, int] = {"clearance": width}
        self._pairs: dict[int, Array] = {}  # number of nodes -> pairs of rows in the last call with so many
        self._last: tuple[Array, Array] | None = None  # q and distances (nodes, pairs) of the last call

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """min(d + relief, reach) of every row, (nodes, width)."""
        distances, pairs = self._assigned(u["q"])
        values = np.where(
            pairs == FREE, self.reach, np.take_along_axis(distances, np.maximum(pairs, 0), axis=1)
        )
        return {"clearance": values}

    def partials(self, u: Mapping[str, Array]) -> dict[tuple[str, str], Array]:
        """Slopes, (nodes, width, n), zero of free rows."""
        node, row, pair = self._taken(u["q"])
        slopes = np.zeros((len(u["q"]), self.outputs["clearance"], self.clearances.model.n))
        slopes[node, row] = self.clearances.derivatives(u["q"], node, pair)[1]
        return {("clearance", "q"): slopes}

    def curvature(
        self, u: Mapping[str, Array], adjoints: Mapping[str, Array]
    ) -> dict[tuple[str, str], Array]:
        """Second derivatives of the weighted sum of rows, (nodes, n, n)."""
        node, row, pair = self._taken(u["q"])
        weights = adjoints["clearance"][node, row]
        return {("q", "q"): self.clearances.curvature(u["q"], node, pair, weights)}

    def pattern(self) -> dict[tuple[str, str], Array]:
        """Every coordinate that moves a shape, for all rows."""
        return {("clearance", "q"): np.ones((self.outputs["clearance"], self.clearances.model.n), bool)}

    def curvature_pattern(self) -> dict[tuple[str, str], Array]:
        """All pairs of coordinates."""
        n = self.clearances.model.n
        return {("q", "q"): np.ones((n, n), bool)}

    def _taken(self, q: Array) -> tuple[Array, Array, Array]:
        """Node, row and pair of all rows that are taken at q."""
        distances, pairs = self._assigned(q)
        node, row = np.nonzero(pairs != FREE)
        pair = pairs[node, row]
        close = distances[node, pair] < self.reach
        return node[close], row[close], pair[close]

    def _assigned(self, q: Array) -> tuple[Array, Array]:
        """Distances (nodes, pairs) and the pair of every row (nodes, width); pairs keep their rows.

        A check at other times between two calls does not change them: multipliers belong to rows. Slopes
        and curvature are mostly asked for where the value was.
        """
        if self._last is not None and np.array_equal(self._last[0], q):
            return self._last[1], self._pairs[len(q)]
        distances = np.minimum(self.clearances.distances(q, self.reach) + self.relief, self.reach)
        pairs = self._pairs.get(len(q))
        if pairs is None:
            pairs = np.full((len(q), self.outputs["clearance"]), FREE)
        # Those within reach, the closest if they are too many
        close, width = distances < self.reach, self.outputs["clearance"]
        for node in np.flatnonzero(close.sum(axis=1) > width):
            close[node, np.argsort(distances[node], kind="stable")[width:]] = False
        self._pairs[len(q)] = rows_taken(pairs, close)
        self._last = q.copy(), distances
        return distances, self._pairs[len(q)]


def rows_taken(pairs: Array, wanted: Array) -> Array:
    """The pair of every row, (nodes, width), after a change.

    pairs : (nodes, width) before; wanted : (nodes, pairs) bool, at most `width` of a node. Those that stay
    keep their rows. A pair enters row (its number modulo width), or the next one that is free: so a program
    that is built again has mostly the same rows, to which multipliers belong.
    """
    node, width = np.arange(len(pairs))[:, None], pairs.shape[1]
    staying = (pairs != FREE) & wanted[node, pairs]  # FREE looks up the last pair, which is then left out
    taken = np.where(staying, pairs, FREE)
    entering = wanted.copy()
    entering[np.broadcast_to(node, pairs.shape)[staying], pairs[staying]] = False
    for at, pair in zip(*np.nonzero(entering), strict=True):
        free = np.flatnonzero(taken[at] == FREE)
        taken[at, free[np.argmin((free - pair) % width)]] = pair
    return taken


def clearance_term(clearances: Clearances, reach: float, width: int, relief: Array | None = None) -> Any:
    """The clearances of the closest pairs, m, as a term: `problem.subject_to(term, lower=0.002)`.

    reach : m; pairs within it have rows, at most `width` at a node. Above the bound, and by what a motion
    changes between two iterations, some centimetres. relief : as of `ClearanceRows`.
    """
    return trajopt.block_term(ClearanceRows(clearances, reach, width, relief), name="clearance", unit="m")
