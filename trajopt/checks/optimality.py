"""Refinement indicator of a spline: the gain that finer knots in a span leave, by multipliers over time.

To first order, for every limit with the multiplier density lambda(t) (a dual weighted residual),

    gain of a span = integral of |lambda(t)| |value(t) - bound(t)| dt,

where bound(t) is the bound at which the sign of lambda says that the limit is active. The indicator is large
at switches, and where a spline ripples below an active limit.
"""

from __future__ import annotations

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import NOT_ZERO
from trajopt.checks.peaks_between_nodes import limits_over
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import bound_violation

SAMPLES_PER_SPAN = 16  # times at which the distance from a limit is averaged
SIGNIFICANT_DENSITY = 1e-5  # of the largest: below it a multiplier is one that an inactive limit is left with


def gains_of_limits(
    solution: Solution, samples: int = SAMPLES_PER_SPAN, significant: float = SIGNIFICANT_DENSITY
) -> list[Array]:
    """Gain in units of the objective, (spans,) for every arc; zeros where there are no path limits.

    samples : times per span
    significant : multipliers per second below this part of the largest are taken as zero
    """
    return [
        _gain_by_span(solution, edges, samples, significant) for edges in solution.curve.knot_times_of_arcs
    ]


def _gain_by_span(solution: Solution, edges: Array, samples: int, significant: float) -> Array:
    """Gain of every span between neighbouring edges in seconds, (spans,).

    A violated limit counts in addition, its violation relative to its range times the objective's share of
    the span: it may have no multiplier.
    """
    lengths, times = np.diff(edges), times_in_spans(edges, samples).T
    total = np.zeros(lengths.size)
    for limit in solution.problem.path_limits():
        values = solution.value(limit.term, times)
        width = limit.upper - limit.lower
        width = np.where(np.isfinite(width), np.maximum(width, NOT_ZERO), 1.0)
        lower, upper = limits_over(limit, solution.curve, times)
        violation = bound_violation(values, lower, upper) / width
        share = lengths / solution.duration * abs(solution.objective)
        total += share * np.maximum(violation, 0.0).mean(axis=0).sum(axis=1)
        multipliers = solution.multipliers.get(limit.name)
        if multipliers is not None and multipliers.shape[0] == solution.node_times.size:
            density = _density(multipliers, solution.node_times, edges, significant)
            bound = np.where(density > 0.0, upper, lower)
            deviation = np.where(density != 0.0, np.abs(values - bound), 0.0).mean(axis=0)
            total += (np.abs(density) * deviation).sum(axis=1) * lengths
    return total


def times_in_spans(edges: Array, samples: int) -> Array:
    """The middles of so many equal parts of every span between neighbouring edges, (spans, samples)."""
    return edges[:-1, None] + np.diff(edges)[:, None] * ((np.arange(samples) + 0.5) / samples)


def _density(multipliers: Array, times: Array, edges: Array, significant: float) -> Array:
    """Multipliers per second, (spans, width), each averaged over three spans.

    multipliers : (nodes, width), at these times
    """
    span = np.searchsorted(edges, times, side="right") - 1
    inside = (times >= edges[0]) & (times <= edges[-1])
    impulse = np.zeros((edges.size - 1, multipliers.shape[1]))
    np.add.at(impulse, np.clip(span[inside], 0, edges.size - 2), multipliers[inside])
    window, lengths = np.ones(3), np.diff(edges)
    summed = np.stack([np.convolve(column, window)[1:-1] for column in impulse.T], axis=1)
    density = summed / np.convolve(lengths, window)[1:-1, None]
    return np.where(np.abs(density) > significant * max(np.abs(density).max(), NOT_ZERO), density, 0.0)
