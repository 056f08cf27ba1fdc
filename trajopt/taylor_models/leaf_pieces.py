"""Taylor models of a graph on pieces of time: of its leaves, q, v, t and so on, and all quantities.

On every span of a motion a curve and its derivatives are polynomials in Bernstein form. Pieces are cut by
convex combinations (de Casteljau), and brought to powers of s in [-1, 1] at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.content_cache import read_only
from trajopt.graph.graph import Graph
from trajopt.graph.quantities import TIME_LEAVES, SplineLeaf
from trajopt.splines.curve import Curve
from trajopt.splines.polynomial_bounds import divide, pieces_of_group
from trajopt.taylor_models.taylor_model import (
    EPS,
    FOUR_EPS,
    ORDER,
    UNDERFLOW,
    UPWARDS,
    TaylorModel,
    signed_products,
)

Model = list  # of TaylorModel or float, one per component


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
