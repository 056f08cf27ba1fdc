"""Excess of a motion over limits of its joints, and the places where it is largest."""

from __future__ import annotations

import numpy as np

from problems.moves.certificate import LimitLine
from trajopt.base.arrays import Array


def relative_excess(value: Array, lower: Array, upper: Array) -> Array:
    """Excess of values (..., n) over their limits, relative to `limit_size`; below zero within them."""
    size = limit_size(lower, upper)
    return np.maximum(value - upper, lower - value) / size


def limit_size(lower: Array, upper: Array) -> Array:
    """The smaller magnitude of both limits of each joint, zero left out, (n,); one where none is left."""
    sides = np.abs([lower, upper])
    size = np.where(sides > 0.0, sides, np.inf).min(axis=0)
    return np.where(np.isfinite(size), size, 1.0)


def with_peaks(values: Array) -> Array:
    """The largest of samples (segments, k, n) and of parabolas through three of them, (segments, n)."""
    before, here, after = values[:, :-2], values[:, 1:-1], values[:, 2:]
    bend = 2.0 * here - before - after
    is_peak = (bend > 0.0) & (np.abs(after - before) < 2.0 * bend)  # between the outer samples
    peak = here + np.where(is_peak, (after - before) ** 2 / (8.0 * np.where(is_peak, bend, 1.0)), 0.0)
    return np.maximum(values.max(axis=1), peak.max(axis=1))


def worst_line(
    name: str, joints: tuple[str, ...], excess: Array, times: Array, proved: bool = False
) -> LimitLine:
    """The line of the largest excess among (k, n) at times (k,)."""
    row, joint = np.unravel_index(int(np.argmax(excess)), excess.shape)
    found = float(excess[row, joint]), joints[joint], float(times[row])
    return LimitLine(name, "proved", *found) if proved else LimitLine(name, "sampled", *found, len(times))
