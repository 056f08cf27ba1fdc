"""The search for the largest violations of bounds over time: local maxima of samples, narrowed between them.

The lower and the upper side of every bounded component are searched by themselves, in the unit of the
component: what is found does not depend on what violations are compared with. `limit_peaks` then compares
those of a problem's limits with the sizes of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_result import Sides, Worst
from trajopt.checks.check_times import (
    CHECK_DENSITY,
    Density,
    interval_of,
    intervals_of,
    node_samples,
    sample_times,
)
from trajopt.checks.scales import equation_scales
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import side_violations

ROUNDS, POINTS = 3, 17  # each round narrows a bracket eight-fold, from two samples to 1/256 of one
MOST_PEAKS = 16  # of one side of a component that are narrowed: those that may reach highest
TOGETHER = 256  # peaks whose brackets are evaluated at once: terms may have hundreds of components


def violations_of_sides(constraint: Constraint, values: Array) -> Array:
    """lower - value and value - upper, (K, 2, width), of values (K, width): see `Worst`."""
    bounds = np.stack([constraint.lower, constraint.upper])
    with np.errstate(invalid="ignore"):
        both = np.stack(side_violations(values, *bounds), axis=1)
    both = np.where(np.isfinite(values)[:, None], both, np.nan)
    return np.where(np.isfinite(bounds), both, -np.inf)


class Peaks:
    """The local maxima over time of every side's violation, each bracketed by the neighbouring samples.

    Between samples a peak is taken to exceed its own sample by less than that differs from its neighbours.
    Left out are peaks that can reach neither the highest sample of their side nor `above`, and those of a
    side that is not violated and further from its bound than the other one. Of one side the `most` that may
    reach highest are kept; where it is None all of them, but those on a flat stretch that holds.

    side : of every peak, its column in (2 width,), all lower sides first
    times, values : of every peak, (peaks,);  spacing : seconds, of the samples around it
    reach : the largest size of every component's finite values, (width,)
    resolution : seconds, the largest step between samples
    """

    def __init__(
        self,
        constraint: Constraint,
        times: Array,
        values: Array,
        above: float = np.inf,
        most: int | None = MOST_PEAKS,
    ) -> None:
        self.constraint = constraint
        self.reach = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=0, initial=0.0)
        self.resolution = float(np.diff(times).max(initial=0.0))
        violation = violations_of_sides(constraint, values).reshape(len(times), 2 * constraint.lower.size)
        self.side = np.empty(0, dtype=int)
        self.times = self.values = self.spacing = self._low = self._high = np.empty(0)
        self._worst = np.full(violation.shape[1], -np.inf), np.zeros(violation.shape[1])
        if not times.size:
            return
        highest = np.argmax(violation, axis=0)  # NaN is the largest
        self._worst = np.take_along_axis(violation, highest[None], axis=0)[0], times[highest]
        if most != 0:
            self._bracket(times, violation, above, most)

    def _bracket(self, times: Array, violation: Array, above: float, most: int | None) -> None:
        """Choose the peaks among the samples."""
        highest = self._worst[0]
        columns = np.flatnonzero(np.isfinite(highest))
        own, other = violation[:, columns], np.roll(highest, highest.size // 2)[columns]
        peak = np.ones(own.shape, dtype=bool)
        peak[1:] &= own[1:] >= own[:-1]
        peak[:-1] &= own[:-1] >= own[1:]
        place, column = np.nonzero(peak)
        before, after = np.maximum(place - 1, 0), np.minimum(place + 1, times.size - 1)
        reach = 2.0 * own[place, column] - np.minimum(own[before, column], own[after, column])
        kept = (reach >= highest[columns][column]) | (reach > above)
        if most is None:  # of a distance beyond its reach every sample is as high as the next
            kept &= (reach > own[place, column]) | (reach > 0.0)
        kept = np.flatnonzero(kept & ((reach > 0.0) | (reach >= other[column])))
        if most is not None and kept.size > most:
            order = np.lexsort((-reach[kept], column[kept]))
            rank = np.arange(order.size) - np.searchsorted(column[kept][order], column[kept][order])
            kept = np.sort(kept[order[rank < most]])
        place, before, after, column = place[kept], before[kept], after[kept], column[kept]
        self.side, self.times, self.values = columns[column], times[place], own[place, column]
        self._low, self._high = times[before], times[after]
        self.spacing = np.maximum(self.times - self._low, self._high - self.times)

    @property
    def highest(self) -> Array:
        """The largest violation that was found of the lower sides, then of the upper ones, (2 width,)."""
        return self._worst[0]

    def worst(self, component: int) -> Sides:
        """The largest violation of the lower and the upper side of a component."""
        values, times = self._worst
        upper = component + values.size // 2
        below = Worst(float(values[component]), float(times[component]))
        return below, Worst(float(values[upper]), float(times[upper]))

    def _raise(self, own_times: Array, own_values: Array) -> None:
        """Take narrowed peaks over, and the highest where they exceed the samples; NaN exceeds all."""
        self.times, self.values = own_times, own_values
        values, times = self._worst
        for peak in np.argsort(own_values, kind="stable"):  # NaN is the last
            if not own_values[peak] <= values[self.side[peak]]:
                values[self.side[peak]], times[self.side[peak]] = own_values[peak], own_times[peak]


def search(
    solution: SolutionData,
    constraints: Sequence[Constraint],
    density: Density,
    above: float = np.inf,
    most: int | None = MOST_PEAKS,
) -> list[Peaks]:
    """The narrowed peaks of every constraint, over its interval of time; `above` and `most` as in `Peaks`.

    All are sampled with one evaluation of the motion, and the brackets of one term are narrowed with one more
    in each round.
    """
    if not constraints:
        return []
    intervals = [interval_of(constraint.over, solution.curve) for constraint in constraints]
    times = {each: sample_times(solution, density, each) for each in set(intervals)}
    every = np.unique(np.concatenate(list(times.values())))
    values = solution.values(list({c.term.quantity: c.term for c in constraints}.values()), every)
    found = []
    for constraint, interval in zip(constraints, intervals, strict=True):
        own = values[constraint.term.quantity][np.searchsorted(every, times[interval])]
        found.append(Peaks(constraint, times[interval], own, above, most))
    by_term: dict[str, list[Peaks]] = {}
    for peaks in found:
        if peaks.side.size:
            by_term.setdefault(peaks.constraint.term.quantity, []).append(peaks)
    for some in by_term.values():
        _narrow_together(solution, some)
    return found


def _narrow_together(solution: SolutionData, some: Sequence[Peaks]) -> None:
    """Narrow the brackets of the peaks of constraints of one term."""
    term, width = some[0].constraint.term, some[0].constraint.lower.size
    each = [
        (
            p.side,
            np.append(p.constraint.lower, p.constraint.upper)[p.side],
            p._low,
            p._high,
            p.times,
            p.values,
        )
        for p in some
    ]
    side, bound, low, high, times, values = map(np.concatenate, zip(*each, strict=True))
    sign, bound = np.where(side < width, -1.0, 1.0)[:, None], bound[:, None]
    rows, along = np.arange(side.size), np.linspace(0.0, 1.0, POINTS)
    for _ in range(ROUNDS):
        grid = low[:, None] + (high - low)[:, None] * along
        found = _of_components(solution, term, grid, side % width)
        with np.errstate(invalid="ignore"):
            violation = np.where(np.isfinite(found), sign * (found - bound), np.nan)
        best = np.argmax(violation, axis=1)
        better = ~(violation[rows, best] <= values) & ~np.isnan(values)
        times = np.where(better, grid[rows, best], times)
        values = np.where(better, violation[rows, best], values)
        low, high = grid[rows, np.maximum(best - 1, 0)], grid[rows, np.minimum(best + 1, POINTS - 1)]
    first = 0
    for peaks in some:
        own = slice(first, first + peaks.side.size)
        peaks._raise(times[own], values[own])
        first = own.stop


def _of_components(solution: SolutionData, term: Any, times: Array, component: Array) -> Array:
    """(peaks, k), the component of a term that each peak names, at its times (peaks, k)."""
    found = []
    for first in range(0, len(times), TOGETHER):
        some = slice(first, first + TOGETHER)
        values = solution.value(term, times[some])
        found.append(values[np.arange(len(values)), :, component[some]])
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class LimitPeaks:
    """Local maxima of the violations of limits between nodes.

    times : seconds, (k,);  values : the violation in the unit of its limit, (k,)
    relative : the violation, relative to the size of its limit, (k,)
    spacing : seconds, of the samples around each, (k,)
    labels : the limit of each
    """

    times: Array
    values: Array
    relative: Array
    spacing: Array
    labels: tuple[str, ...] = ()

    @property
    def largest(self) -> float:
        """The largest violation, relative to its limit's size; 0 where all limits hold."""
        return float(self.relative.max(initial=0.0))

    @property
    def sentence(self) -> str:
        """Which limit is violated most, when and by how much."""
        worst = int(np.argmax(self.relative))
        return (
            f"{self.labels[worst]}: exceeded between nodes by {self.relative[worst]:.2%} of the limit at "
            f"t = {self.times[worst]:.6g} s"
        )

    def above(self, least: float) -> Array:
        """Times (m,) of the peaks above `least`, the highest of those that are neighbours."""
        found: list[float] = []
        for peak in np.argsort(-self.relative, kind="stable"):
            if self.relative[peak] <= least:
                break
            if np.abs(np.array(found) - self.times[peak]).min(initial=np.inf) > self.spacing[peak]:
                found.append(float(self.times[peak]))
        return np.sort(found)


def limit_peaks(
    solution: SolutionData,
    least: float = 0.0,
    density: Density = CHECK_DENSITY,
    limits: Sequence[Constraint] | None = None,
) -> LimitPeaks:
    """The finite peaks of limits where these are violated.

    limits : inequalities over intervals of time; by default all that the program holds at nodes: those that
        it holds for all times, by control points, are left out
    least : relative to a limit's size; a limit of which no sample exceeds that is not searched for peaks
        between samples
    """
    asked = filter(_at_nodes_alone, solution.problem.constraints) if limits is None else limits
    stated = list(intervals_of(solution, asked))
    scaled = [limit for limit in stated if limit.needs_scale]
    scales = equation_scales(solution, scaled, node_samples(solution)) if scaled else {}
    exceeded = [
        peaks.constraint
        for peaks in search(solution, stated, density, most=0)
        if np.any(_relative(peaks, peaks.highest, np.arange(peaks.highest.size), scales) > least)
    ]
    found, labels = [(np.empty(0),) * 4], []
    for peaks in search(solution, exceeded, density, above=0.0, most=None):
        relative = _relative(peaks, peaks.values, peaks.side, scales)
        own = relative > 0.0
        found.append((peaks.times[own], peaks.values[own], relative[own], peaks.spacing[own]))
        name, width = peaks.constraint.name, peaks.constraint.lower.size
        components = solution.problem.component_names(peaks.constraint.term.quantity, width)
        labels += [", ".join(filter(None, (name, components[side % width]))) for side in peaks.side[own]]
    times, values, relative, spacing = map(np.concatenate, zip(*found, strict=True))
    return LimitPeaks(times, values, relative, spacing, tuple(labels))


def _at_nodes_alone(constraint: Constraint) -> bool:
    """Whether it is a limit that the program holds at nodes, and not for all times by control points."""
    return bool(np.any(constraint.lower != constraint.upper)) and constraint.hold == "nodes"


def _relative(peaks: Peaks, values: Array, side: Array, scales: Mapping[Constraint, Array]) -> Array:
    """Violations of some sides of a constraint, relative to its sizes; 0 of those that are equations."""
    constraint = peaks.constraint
    limit = (constraint.lower != constraint.upper)[side % constraint.lower.size]
    sizes = constraint.side_scales(peaks.reach, scales.get(constraint)).ravel()[side]
    return np.where(limit, values / sizes, 0.0)
