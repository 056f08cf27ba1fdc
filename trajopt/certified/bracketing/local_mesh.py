"""Splines of higher degree whose accelerations may jump at knots, and knots placed around single switches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.certified.bracketing.remaining_gain import RemainingGain
from trajopt.refinement.knots import multiplicity_of_new_knots, with_breakpoints
from trajopt.splines.basis import SplineBasis
from trajopt.splines.trajectory import Trajectory

NARROWEST = 1.0 / 16.0  # of a span: how near two knots around a switch are at least, half of it to the ends


def raised(trajectory: Trajectory, degree: int, regular: bool) -> Trajectory:
    """The same knots with a higher degree; on one arc.

    On bang arcs a cubic follows a torque at its bound only to h^2 in the knot distance h, degree d to
    h^(d - 1). Velocities are continuous, so that torques may switch at knots; where controls are continuous
    (`regular`) accelerations are too. Every span has as many Gauss points as new coefficients, and its ends.
    """
    arc = trajectory.arcs[0]
    points = arc.basis.breakpoints
    repeats = np.full(points.size - 2, degree - (2 if regular else 1))
    basis = SplineBasis.clamped(points, degree, repeats)
    finer = replace(arc, basis=basis, nodes_per_span=degree - 1, rule="gauss")
    return replace(trajectory, arcs=(finer,), extra_points=(), limit_points=())


def cut(trajectory: Trajectory, gain: RemainingGain, extra: Array, least: float, most: int) -> Trajectory:
    """The trajectory with knots around the switches, where a span's gain is above `least`.

    extra : (spans,), gains whose place within the span is not known
    most : spans that are cut, those with the largest gains
    """
    arc = trajectory.arcs[0]
    points, total = arc.basis.breakpoints, gain.by_span + extra
    chosen = np.argsort(total)[::-1][:most]
    fresh: list[float] = []
    for span in np.sort(chosen[total[chosen] > least]):
        length = points[span + 1] - points[span]
        fresh += (points[span] + length * _places(gain.parts[span], float(total[span]))).tolist()
    bases = [with_breakpoints(arc.basis, fresh, multiplicity_of_new_knots(arc))]
    return replace(trajectory, extra_points=(), limit_points=()).with_bases(bases)


def _places(parts: Array, total: float) -> Array:
    """Cuts of a span, from the gains of its parts (samples,): around their centre; halved if unknown."""
    known = float(parts.sum())
    if known < 0.5 * total:
        return np.array([0.5])
    fractions = (np.arange(parts.size) + 0.5) / parts.size
    centre = float(parts @ fractions) / known
    spread = np.sqrt(max(float(parts @ (fractions - centre) ** 2) / known, 0.0))
    width = max(spread, NARROWEST)
    places = np.array([centre - 0.5 * width, centre + 0.5 * width])
    return places[np.abs(places - 0.5) < 0.5 - 0.5 * NARROWEST]
