"""The switching structure of an optimal motion: what is saturated when, and how it is corrected.

Between two switches every component of every limit is either saturated, at one side, or slack. A `Structure`
lists the switch times and what is saturated on each of the arcs between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, order=True)
class Saturation:
    """One component of one limit held at its upper (side = 1) or lower (side = -1) bound."""

    limit: int  # among the path limits of the problem
    component: int
    side: int

    @property
    def flipped(self) -> Saturation:
        """The same component at its other bound."""
        return Saturation(self.limit, self.component, -self.side)


@dataclass(frozen=True)
class Run:
    """A saturation and the seconds during which it lasts."""

    saturation: Saturation
    start: float
    end: float


@dataclass(frozen=True)
class Structure:
    """Switch times 0 = t_0 < ... < t_A and, for each of the A arcs, what is saturated there."""

    times: tuple[float, ...]
    saturated: tuple[frozenset[Saturation], ...]

    @staticmethod
    def of(runs: Iterable[Run], duration: float, gap: float) -> Structure:
        """The arcs between the ends of runs; ends nearer to each other than `gap` seconds are one switch."""
        runs = list(runs)
        ends = [time for run in runs for time in (run.start, run.end)]
        borders = _distinct([0.0, *ends, duration], gap)
        saturated = []
        for left, right in pairwise(borders):
            middle = 0.5 * (left + right)
            saturated.append(frozenset(run.saturation for run in runs if run.start < middle < run.end))
        return Structure(tuple(borders), tuple(saturated)).merged()

    @property
    def arc_count(self) -> int:
        return len(self.saturated)

    @property
    def durations(self) -> NDArray[np.float64]:
        return np.diff(self.times)

    def arc_at(self, time: float) -> int:
        """The arc that holds a time; the later one at a switch."""
        return int(np.clip(np.searchsorted(self.times, time, "right") - 1, 0, self.arc_count - 1))

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

    def replaced(self, arc: int, start: float, end: float, saturated: frozenset[Saturation]) -> Structure:
        """Other saturations between two times within one arc, which is split where need be."""
        left, right = self.times[arc], self.times[arc + 1]
        inner = [
            (left, start, self.saturated[arc]),
            (start, end, saturated),
            (end, right, self.saturated[arc]),
        ]
        pieces = [piece for piece in inner if piece[1] > piece[0]]
        times = (*self.times[:arc], *(piece[0] for piece in pieces), *self.times[arc + 1 :])
        states = (*self.saturated[:arc], *(piece[2] for piece in pieces), *self.saturated[arc + 1 :])
        return Structure(times, states).merged()

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
        return Structure(tuple(np.concatenate([[0.0], np.cumsum(durations)]).tolist()), self.saturated)


def _distinct(values: list[float], gap: float) -> list[float]:
    """Sorted, each group of near values at its mean; the first and the last stay where they are."""
    ordered = sorted(values)
    groups = [[ordered[0]]]
    for value in ordered[1:]:
        if value - groups[-1][0] > gap:
            groups.append([value])
        else:
            groups[-1].append(value)
    result = [sum(group) / len(group) for group in groups]
    result[0], result[-1] = ordered[0], ordered[-1] if len(result) > 1 else result[-1]
    return result
