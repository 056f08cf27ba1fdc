"""Residuals of rates as changes of states by interval: r = x' - f(x, u, t) integrated over time.

A control that jumps inside an interval is met by one polynomial, and a state by another: with f a square of
the control, x' cannot follow, and |r| there is a part of the jump however short the interval is. Its integral
is not: collocation makes that over the whole interval vanish to a high order, and within the interval it
falls with the length h. To first order in h the state that starts on the motion, and is led by the controls
over one interval, leaves the motion by e(t) = - integral of r. Of every interval and component the largest
counts of

    mean     |integral of r over the interval| / (h scale): a force that is missing for a while
    inside   the sum over all intervals of max |e| / (T scale), in proportion to max |e| in the interval
    rest     |r - p| / scale, with p the polynomial through r at Gauss' points: a spike or a pulse

with `scale` that of the equation, the largest sum of its parts. Each is at most max |r| / scale.
"""

from __future__ import annotations

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import NOT_ZERO
from trajopt.checks.path_equations import quadrature
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.splines.adaptive_quadrature import GAUSS_POINTS
from trajopt.splines.basis import BORDER_SIDE
from trajopt.splines.gauss_rules import gauss
from trajopt.splines.lagrange import lagrange_polynomials


def interval_errors(
    solution: SolutionData, constraint: Constraint, scale: Array, times: Array, values: Array
) -> Array:
    """The relative errors above of every interval between knots, (intervals, width).

    times, values : (K,) in rising order and (K, width), at which r is compared with its polynomial
    """
    knots = solution.knot_times
    lengths, (points, weights) = np.diff(knots), gauss(GAUSS_POINTS)
    gauss_times, *_ = quadrature(solution)
    r = solution.value(constraint.term, gauss_times).reshape(lengths.size, GAUSS_POINTS, -1)
    r = r - constraint.lower
    mean = np.abs(np.einsum("i,kic->kc", weights, r))
    inside = lengths[:, None] * np.abs(np.einsum("ji,kic->kjc", _running_integrals(), r)).max(axis=1)
    interval = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, lengths.size - 1)
    s = (times - knots[interval]) / lengths[interval]
    apart = np.abs(values - constraint.lower - _interpolated(points, r, s, interval))
    at_knot = (
        np.abs(times[:, None] - knots[interval[:, None] + [0, 1]]) < 0.5 * BORDER_SIDE * solution.duration
    )
    apart[at_knot.any(axis=1)] = 0.0  # of either side: controls jump there
    rest = np.zeros_like(mean)
    np.maximum.at(rest, interval, apart)
    total, largest = inside.sum(axis=0) / solution.duration, inside.max(axis=0)
    shares = total * inside / np.maximum(largest, NOT_ZERO)
    worst: Array = np.maximum(np.maximum(mean, rest), shares) / scale
    return worst


def _running_integrals() -> Array:
    """(m, GAUSS_POINTS): from 0 to m places in (0, 1] of the polynomials through one at Gauss' points."""
    points, weights = gauss(GAUSS_POINTS)
    ends = np.linspace(0.0, 1.0, 2 * GAUSS_POINTS + 1)[1:]
    return np.array([end * weights @ lagrange_polynomials(points, end * points) for end in ends])


def _interpolated(points: Array, r: Array, s: Array, interval: Array) -> Array:
    """The polynomials through r (intervals, points, width) at s (K,) of their intervals, (K, width)."""
    found: Array = np.einsum("ki,kic->kc", lagrange_polynomials(points, s), r[interval])
    return found
