"""Knot insertion: the same motion on a spline with more knots, from which the next solve starts.

New breakpoints only enlarge the space of splines, so the old motion lies in the new space exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arrays import Array
from trajopt.base.errors import ShapeError
from trajopt.splines.basis import SplineBasis
from trajopt.splines.trajectory import Arc, Trajectory


def split(trajectory: Trajectory, marks: list[Array]) -> Trajectory:
    """The trajectory with every marked span halved; marks holds one boolean per span for every arc."""
    counts = [arc.basis.span_count for arc in trajectory.arcs]
    given = [np.asarray(mark, dtype=bool) for mark in marks]
    if [mark.shape for mark in given] != [(count,) for count in counts]:
        raise ShapeError(
            f"marks have shapes {[mark.shape for mark in given]} but the arcs have {counts} spans: "
            "give one boolean per span and arc"
        )
    bases = []
    for arc, mark in zip(trajectory.arcs, given, strict=True):
        points = arc.basis.breakpoints
        middles = 0.5 * (points[:-1] + points[1:])[mark]
        bases.append(with_breakpoints(arc.basis, middles, multiplicity_of_new_knots(arc)))
    return trajectory.with_bases(bases)


def multiplicity_of_new_knots(arc: Arc) -> int:
    """Multiplicity of a new knot of an arc: that of most of its interior knots.

    Equations of order m held at the nodes of a spline of degree d with continuity m - 1 take multiplicity
    d - m + 1, as many new coefficients per span as there are Gauss points (de Boor and Swartz, SIAM J.
    Numer. Anal. 10, 1973); other knots would leave equations and coefficients unequal in number. An arc of
    one span has no interior knot: there its Gauss points or collocation points are counted.
    """
    repeats = np.bincount(arc.basis.multiplicities)
    if repeats.size:
        return int(np.argmax(repeats))
    if arc.collocated:
        return arc.nodes_per_span
    return min(arc.nodes_per_span, arc.basis.degree - 1) if arc.rule == "gauss" else 1


def with_breakpoints(basis: SplineBasis, points: ArrayLike, multiplicity: int = 1) -> SplineBasis:
    """A basis with further breakpoints in (0, 1); its spline space contains the old one."""
    fresh = np.unique(np.asarray(points, dtype=float))
    if fresh.size and not (fresh[0] > 0.0 and fresh[-1] < 1.0):
        raise ShapeError(f"new breakpoints are {fresh}: normalised times lie between 0 and 1")
    known = dict(zip(basis.breakpoints[1:-1].tolist(), basis.multiplicities.tolist(), strict=True))
    every = known | {point: multiplicity for point in fresh.tolist() if point not in known}
    inner = sorted(every)
    return SplineBasis.of_any_degree([0.0, *inner, 1.0], basis.degree, [every[point] for point in inner])


def with_spans_halved(trajectory: Trajectory) -> Trajectory:
    """The trajectory with every span halved."""
    return split(trajectory, [np.ones(arc.basis.span_count, bool) for arc in trajectory.arcs])
