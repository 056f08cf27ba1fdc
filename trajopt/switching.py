"""The switching structure of a time-optimal motion, read off a cheap uniform solve.

Between two switches every limit is either saturated, at one side, or slack. A `Structure` lists the switch
times and which limits are saturated on each of the arcs between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.excess import path_limits
from trajopt.problem import Constraint

if TYPE_CHECKING:
    from trajopt.solution import Solution

SATURATED = 0.12  # of the range between limits: a cubic spline ripples this far below a bang
SHORTEST_RUN = 1.6  # knot intervals; a shorter slack run between two bangs is the slope of a switch
SAMPLES_PER_KNOT_INTERVAL = 24


@dataclass(frozen=True)
class Saturation:
    """One component of one limit held at its upper (side = 1) or lower (side = -1) bound."""

    limit: int  # among the path limits of the problem
    component: int
    side: int


@dataclass(frozen=True)
class Structure:
    """Switch times 0 = t_0 < ... < t_A and, for each of the A arcs, what is saturated there."""

    times: tuple[float, ...]
    saturated: tuple[frozenset[Saturation], ...]

    @property
    def arc_count(self) -> int:
        return len(self.saturated)

    @property
    def durations(self) -> NDArray[np.float64]:
        return np.diff(self.times)

    def without(self, arc: int) -> Structure:
        """The structure in which one arc has collapsed; equal neighbours are merged."""
        times = list(self.times)
        middle = 0.5 * (times[arc] + times[arc + 1])
        if arc == 0:
            times = [times[0], *times[2:]]
        elif arc == self.arc_count - 1:
            times = [*times[:-2], times[-1]]
        else:
            times = [*times[:arc], middle, *times[arc + 2 :]]
        saturated = self.saturated[:arc] + self.saturated[arc + 1 :]
        return Structure(tuple(times), saturated).merged()

    def merged(self) -> Structure:
        """Neighbouring arcs with the same saturations made one."""
        times, saturated = [self.times[0]], []
        for index, state in enumerate(self.saturated):
            if saturated and saturated[-1] == state:
                times[-1] = self.times[index + 1]
            else:
                saturated.append(state)
                times.append(self.times[index + 1])
        return Structure(tuple(times), tuple(saturated))

    def with_times(self, durations: NDArray) -> Structure:
        """The same saturations on arcs of other durations."""
        return Structure(tuple(np.concatenate([[0.0], np.cumsum(durations)])), self.saturated)


def detect(solution: Solution) -> Structure:
    """Runs of saturation of every component, switches placed midway through the slope between two runs."""
    interval = float(np.diff(solution.knot_times).mean())
    count = SAMPLES_PER_KNOT_INTERVAL * (solution.knot_times.size - 1) + 1
    times = np.linspace(0.0, solution.duration, count)
    runs: list[tuple[Saturation | None, float, float]] = []
    for index, limit in enumerate(path_limits(solution)):
        values = solution.value(limit.term, times)
        for component in range(values.shape[1]):
            for side, start, end in _runs(limit, component, values[:, component], times, interval):
                if side:
                    runs.append((Saturation(index, component, side), start, end))
    borders = _distinct([0.0, solution.duration, *(e for _, s, t in runs for e in (s, t))], 0.25 * interval)
    saturated = []
    for left, right in pairwise(borders):
        middle = 0.5 * (left + right)
        saturated.append(frozenset(r for r, start, end in runs if r is not None and start < middle < end))
    return Structure(tuple(borders), tuple(saturated)).merged()


def _runs(limit: Constraint, component: int, values: NDArray, times: NDArray, interval: float):
    """(side, start, end) of one component; side 0 where the limit is slack."""
    lower, upper = limit.lower[component], limit.upper[component]
    if not (np.isfinite(lower) or np.isfinite(upper)):
        return [(0, times[0], times[-1])]
    both = np.isfinite(lower) and np.isfinite(upper)
    margin = SATURATED * (upper - lower if both else max(abs(values).max(), 1e-12))
    state = np.where(values >= upper - margin, 1, np.where(values <= lower + margin, -1, 0))
    edges = np.flatnonzero(np.diff(state)) + 1
    starts, ends = np.concatenate([[0], edges]), np.concatenate([edges, [state.size]])
    pieces = [
        [int(state[s]), times[s], times[min(e, times.size - 1)]] for s, e in zip(starts, ends, strict=True)
    ]
    return _closed(pieces, SHORTEST_RUN * interval)


def _closed(pieces: list[list], shortest: float) -> list[tuple[int, float, float]]:
    """Give every short slack piece to its neighbours, half to each."""
    kept: list[list] = []
    for index, (side, start, end) in enumerate(pieces):
        if side == 0 and end - start < shortest and len(pieces) > 1:
            middle = 0.5 * (start + end)
            if index == 0:
                pieces[1][1] = start
            elif index == len(pieces) - 1:
                kept[-1][2] = end
            else:
                kept[-1][2], pieces[index + 1][1] = middle, middle
        elif kept and kept[-1][0] == side:
            kept[-1][2] = end
        else:
            kept.append([side, start, end])
    return [(int(side), float(start), float(end)) for side, start, end in kept]


def _distinct(values: list[float], gap: float) -> list[float]:
    """Sorted, near ones made one; the first and the last stay where they are."""
    ordered = sorted(values)
    result = [ordered[0]]
    for value in ordered[1:]:
        if value - result[-1] > gap:
            result.append(value)
    result[-1] = ordered[-1] if len(result) > 1 else result[-1]
    return result
