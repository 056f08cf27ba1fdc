"""Bounds of a curve's derivatives over time by the Bernstein form of its pieces, and limits on control
points.

On every span a spline is a polynomial, sum_k b_k B_k(u) with u in [0, 1], and lies between the smallest and
the largest of its Bernstein coefficients b_k; b_0 and b_d are its values at the ends. Where that is not sharp
enough, the piece is cut in two and its coefficients follow by convex combinations (de Casteljau), until the
largest coefficient is no more than `GAP` above a value that the curve attains. The pieces on both sides of a
knot are bounded by themselves, so that a bound holds where a derivative jumps, too.

Control points of accelerations and jerks are weighted sums of their values at nodes.

On every span a derivative of a spline is a polynomial of degree p, sum_k b_k B_k(u) with the Bernstein
polynomials B_k on u in [0, 1], and lies between the smallest and the largest of its control points b_k. The
values at p + 1 nodes of the span determine them,

    b = V^-1 f,   V_(jk) = B_k(u_j),   f_j the values,

so that limits on them are rows like those at nodes, with constant weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.splines.basis import SAME_TIME, Curve, CurveGroup
from trajopt.splines.trajectory import Arc, Trajectory

GAP = 1e-13  # of the largest coefficient: how near the bound comes to a value that is attained
ROUNDING = 4.0 * np.finfo(float).eps  # of the largest coefficient, for each coefficient of a piece
MOST_CUTS = round(-np.log2(GAP))  # halvings; the gap falls at least two-fold with each


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomial pieces in Bernstein form.

    start, end : seconds, (pieces,)
    coefficients : (pieces, degree + 1), or (pieces, degree + 1, curves) of several at once
    """

    start: Array
    end: Array
    coefficients: Array

    def cut(self, fraction: Array) -> tuple[Pieces, Pieces]:
        """The pieces left and right of fractions (pieces,) of their length."""
        left, right = divide(self.coefficients, fraction)
        middle = self.start + (self.end - self.start) * fraction
        return Pieces(self.start, middle, left), Pieces(middle, self.end, right)

    def halves(self) -> Pieces:
        """Both halves of every piece: b_i of the left one is sum_j C(i, j) / 2^i b_j of the whole."""
        pieces, count = self.coefficients.shape
        middle = 0.5 * (self.start + self.end)
        start, end = np.stack([self.start, middle], axis=1), np.stack([middle, self.end], axis=1)
        both = (self.coefficients @ _halving(count)).reshape(2 * pieces, count)
        return Pieces(start.ravel(), end.ravel(), both)

    def within(self, first: float, last: float) -> Pieces:
        """The pieces, or parts of them, that lie in [first, last] seconds."""
        touched = (self.end >= first) & (self.start <= last)
        part = Pieces(self.start[touched], self.end[touched], self.coefficients[touched])
        length = np.maximum(part.end - part.start, np.finfo(float).tiny)
        before = np.clip((first - part.start) / length, 0.0, 1.0)
        part = part.cut(before)[1] if np.any(before > 0.0) else part
        length = np.maximum(part.end - part.start, np.finfo(float).tiny)
        inside = np.clip((last - part.start) / length, 0.0, 1.0)
        return part.cut(inside)[0] if np.any(inside < 1.0) else part

    def __getitem__(self, chosen: Array) -> Pieces:
        return Pieces(self.start[chosen], self.end[chosen], self.coefficients[chosen])


@dataclass(frozen=True)
class UpperBound:
    """A bound of a function from above, and where it comes nearest to it.

    value : no value of the function is larger
    attained : the largest value that was met, smaller than the bound by `GAP` of the coefficients at most
    time : seconds, of that value
    hull : the largest of the control points of all pieces, a bound without any cut
    """

    value: float
    attained: float
    time: float
    hull: float


def divide(coefficients: Array, fraction: Array) -> tuple[Array, Array]:
    """Bernstein coefficients (P, degree + 1, ...) of the parts left and right of fractions (P,) of pieces."""
    left, right, row = [], [], coefficients
    u = np.reshape(fraction, (-1, *[1] * (row.ndim - 1)))
    for _ in range(coefficients.shape[1]):
        left.append(row[:, 0])
        right.append(row[:, -1])
        row = (1.0 - u) * row[:, :-1] + u * row[:, 1:]
    return np.stack(left, axis=1), np.stack(right[::-1], axis=1)


def pieces_of(curve: Curve, column: int, order: int) -> Pieces:
    """The order-th derivative by time of one coordinate, as one piece per span."""
    pieces, _, place = pieces_of_group(curve, column, order)
    return Pieces(pieces.start, pieces.end, pieces.coefficients[..., place])


def pieces_of_group(curve: Curve, column: int, order: int) -> tuple[Pieces, Array, int]:
    """The same of all coordinates that share a basis with this one, and its place among them.

    Between both, bounds of the rounding errors of the coefficients, (pieces, coordinates).
    """
    known = curve.__dict__.setdefault("_pieces", {})  # a certificate asks for every coordinate in turn
    group, place = curve.group_of(column)
    key = column - place, order
    if key not in known:
        known[key] = _all_columns(curve, group, order)
    return (*known[key], place)


def _all_columns(curve: Curve, group: CurveGroup, order: int) -> tuple[Pieces, Array]:
    """The pieces of all coordinates of a group on all arcs, and bounds of their rounding errors."""
    start, end, coefficients, errors = [], [], [], []
    degree = max(max(basis.degree for basis in group.bases) - order, 0)
    for arc, first in enumerate(curve.starts[:-1].tolist()):
        part, error = _of_arc(group, arc, order, first, float(curve.durations[arc]))
        start.append(part.start)
        end.append(part.end)
        coefficients.append(elevated(part.coefficients, degree + 1))
        errors.append(np.broadcast_to(error, (part.start.size, group.n)))
    return Pieces(*map(np.concatenate, (start, end, coefficients))), np.concatenate(errors)


def upper_bound(pieces: Pieces) -> UpperBound:
    """The least upper bound of all pieces, rounding included; NaN where a coefficient is not finite."""
    size = float(np.abs(pieces.coefficients).max(initial=0.0))
    if not np.isfinite(size):
        bad = ~np.all(np.isfinite(pieces.coefficients), axis=1)
        return UpperBound(np.nan, np.nan, float(pieces.start[bad][0]), np.nan)
    rounding = ROUNDING * pieces.coefficients.shape[1] * size
    hull = float(pieces.coefficients.max()) + rounding
    best, when = -np.inf, 0.0
    for _ in range(MOST_CUTS):
        highest = pieces.coefficients.max(axis=1)
        ends = pieces.coefficients[:, [0, -1]]
        piece, side = np.unravel_index(int(np.argmax(ends)), ends.shape)
        if ends[piece, side] > best:
            best = float(ends[piece, side])
            when = float((pieces.end if side else pieces.start)[piece])
        value = float(highest.max())
        if value <= best + GAP * size:
            return UpperBound(max(value, best) + rounding, best, when, hull)
        pieces = pieces[highest > best + GAP * size].halves()
    return UpperBound(max(float(pieces.coefficients.max()), best) + rounding, best, when, hull)


@lru_cache
def _halving(count: int) -> Array:
    """Matrix (count, 2 count) from coefficients to those of both halves, exact up to degree 56."""
    left = np.array([[comb(i, j) * 0.5**i for i in range(count)] for j in range(count)])
    return np.concatenate([left, left[::-1, ::-1]], axis=1)


def jumping(pieces: Pieces, relative: float) -> Array:
    """Mask of the coordinates that jump at the start of every piece but the first, (pieces - 1, coordinates).

    relative : of the largest value: smaller jumps are rounding
    """
    jumps = np.abs(pieces.coefficients[1:, 0] - pieces.coefficients[:-1, -1])
    return jumps > relative * np.abs(pieces.coefficients[:, [0, -1]]).max(axis=(0, 1), initial=0.0)


def _of_arc(group: CurveGroup, arc: int, order: int, start: float, duration: float) -> tuple[Pieces, Array]:
    """The pieces of one arc, and bounds of the rounding errors of their coefficients, (coordinates,).

    Differences of control points are exact to rounding, those of first derivatives carry their errors on:
    e_(l+1) = 2 rate e_l + 4 eps |D_(l+1)|, rate the degree over the shortest distance of knots and the
    duration. One convex combination per degree leads from there to the Bernstein form.
    """
    basis, points = group.bases[arc], group.control_points[arc]
    knots, degree, error = basis.knots, basis.degree, np.zeros(group.n)
    for _ in range(order):
        if degree == 0:
            points = np.zeros_like(points)
            break
        width = knots[degree + 1 : -1] - knots[1 : -degree - 1]
        rate = degree / np.where(width > 0.0, width, np.inf) / duration
        knots, points, degree = knots[1:-1], rate[:, None] * np.diff(points, axis=0), degree - 1
        error = 2.0 * rate.max() * error + ROUNDING * np.abs(points).max(axis=0)
    error = error + (degree + 1) * ROUNDING * np.abs(points).max(axis=0)
    left, right = basis.breakpoints[:-1], basis.breakpoints[1:]
    if basis.span_count == 1:  # on one span B-splines are Bernstein polynomials
        coefficients = points[None]
    else:
        coefficients = _bernstein_coefficients(knots, points, degree, left, right)
    return Pieces(start + duration * left, start + duration * right, coefficients), error


def _bernstein_coefficients(knots: Array, points: Array, degree: int, left: Array, right: Array) -> Array:
    """The Bernstein coefficients of every span, (spans, degree + 1, coordinates).

    The k-th is the blossom at (left, ..., left, right, ..., right): the recursion of de Boor with k arguments
    at the right end of the span and the others at the left one; all weights are between zero and one.
    """
    k = np.arange(degree + 1)[:, None]
    last = np.searchsorted(knots, left, side="right") - 1  # of the knots at the span's left end
    local = points[last[:, None] - degree + np.arange(degree + 1)]
    row = np.broadcast_to(local, (degree + 1, *local.shape))
    for level in range(1, degree + 1):
        argument = np.where(k >= level, right, left)
        index = last[:, None] - degree + np.arange(level, degree + 1)
        low, high = knots[index], knots[index + degree + 1 - level]
        weight = ((argument[..., None] - low) / (high - low))[..., None]
        row = (1.0 - weight) * row[..., :-1, :] + weight * row[..., 1:, :]
    return np.moveaxis(row[..., 0, :], 0, 1)


def elevated(coefficients: Array, width: int) -> Array:
    """The same polynomials with `width` coefficients along the second axis."""
    while coefficients.shape[1] < width:
        d = coefficients.shape[1]
        share = (np.arange(1, d) / d)[:, None]
        inner = share * coefficients[:, :-1] + (1.0 - share) * coefficients[:, 1:]
        coefficients = np.concatenate([coefficients[:, :1], inner, coefficients[:, -1:]], axis=1)
    return coefficients


def control_point_rows(trajectory: Trajectory, order: int) -> sparse.csr_array:
    """The control points of a derivative of every span as a matrix times the values at all nodes, (rows, K).

    order : of the derivative, 2 of the acceleration and 3 of the jerk
    A control point that two spans share, as the derivative is continuous there, is one row. Raises
    OptionError where a span has too few nodes.
    """
    nodes, parts, columns = trajectory.nodes, [], []
    for index, arc in enumerate(trajectory.arcs):
        degree, breaks = max(arc.basis.degree - order, 0), arc.basis.breakpoints
        continuous = np.append(False, arc.basis.multiplicities < degree + 1)
        mine = np.flatnonzero(nodes.arc == index)
        first_span = nodes.span[mine[0]]
        for span, smooth in enumerate(continuous):
            points = _points(arc, degree, bool(smooth), bool(span and arc.shared_ends[span - 1]))
            s = breaks[span] + (breaks[span + 1] - breaks[span]) * points
            apart = np.where(nodes.span[mine] == first_span + span, 0.0, SAME_TIME)
            distances = np.abs(nodes.s[mine] - s[:, None]) + apart  # of two nodes at a breakpoint the own one
            weights = np.linalg.inv(bernstein(points, degree))[int(smooth) :]
            parts.append(weights)
            columns.append(np.broadcast_to(mine[distances.argmin(axis=1)], weights.shape))
    values, places = (np.concatenate([part.ravel() for part in each]) for each in (parts, columns))
    counts = np.concatenate([np.full(len(part), part.shape[1]) for part in parts])
    by_rows = values, places, np.append(0, np.cumsum(counts))
    return sparse.csr_array(by_rows, shape=(counts.size, nodes.count))


def bernstein(u: Array, degree: int) -> Array:
    """The Bernstein polynomials of a degree at u (k,), (k, degree + 1)."""
    k = np.arange(degree + 1)
    return np.array([comb(degree, i) for i in k]) * u[:, None] ** k * (1.0 - u[:, None]) ** (degree - k)


def _points(arc: Arc, degree: int, continuous: bool, shared: bool) -> Array:
    """Degree + 1 points of the span's rule, in [0, 1]; the left end only where its node has the span's value.

    continuous : whether the derivative is, at the left end;  shared : whether its node is one of both spans
    """
    points = arc.unit_rule[0]
    if shared and not continuous:
        points = points[1:]
    if points.size < degree + 1:
        raise OptionError(
            f"hold='hull' needs {degree + 1} nodes in every span of {arc.mesh}: give nodes_per_span="
            f"{arc.nodes_per_span + degree + 1 - points.size}, or hold='nodes'"
        )
    return points[np.unique(np.linspace(0, points.size - 1, degree + 1).round().astype(int))]
