"""The times at which a motion is checked, and the largest violations of bounds at and between them.

Every constraint over a part of the motion has an interval of seconds here, `interval_of`, and every check
that samples an interval takes its times from `sample_times`, as near to each other as a `Density` says: the
nodes, times between them, and both sides of every breakpoint. `search` finds local maxima of the samples and
narrows them between these. The lower and the upper side of every bounded component are searched by
themselves, in the unit of the component: what is found does not depend on what violations are compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import BSpline

from trajopt.base.arrays import Array, finite_size
from trajopt.base.tolerances import AGREEMENT
from trajopt.checks.line import Interval, Sides, Worst
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem_parts import START_TIME
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import side_violations
from trajopt.solvers.solver import ROUNDING
from trajopt.splines.basis import BORDER_SIDE, SAME_TIME, Curve
from trajopt.splines.node_sets import ArcNodes, Instants, MotionEnd, MotionSamples, NodeSet, TimeWindow

if TYPE_CHECKING:
    from trajopt.graph.protocols import Term

ROUNDS, POINTS = 3, 17  # each round narrows a bracket eight-fold, from two samples to 1/256 of one
MOST_PEAKS = 16  # of one side of a component that are narrowed: those that may reach highest
HALVINGS = 25  # of a step between samples: what still changes there is a jump
TOGETHER = 256  # peaks whose brackets are evaluated at once: terms may have hundreds of components


@dataclass(frozen=True)
class Density:
    """The density of the samples of an interval.

    between : times per interval between neighbouring nodes
    whole : evenly spaced times over the whole motion
    least : evenly spaced times over an interval, where it has fewer of these
    """

    between: int
    whole: int = 0
    least: int = 0

    def thinned(self, by: int) -> Density:
        """One of `by` times."""
        return Density(-(-self.between // by), -(-self.whole // by), self.least)


CHECK_DENSITY = Density(between=10, whole=2000, least=64)  # of reports, certificates and limit nodes
SEARCH_DENSITY = Density(between=8)  # of certified solutions, searched in every round


def interval_of(over: NodeSet, curve: Curve) -> Interval:
    """The times that a node set stands for, its ends from inside where a quantity may jump there."""
    T, side = curve.duration, BORDER_SIDE * curve.duration
    if isinstance(over, MotionEnd):
        time = 0.0 if over.end == "start" else T
        return Interval(time, time)
    if isinstance(over, TimeWindow):
        first, last = curve.time_at(np.array([over.first, over.last]) * len(curve.bases))
    elif isinstance(over, ArcNodes):
        start, end = curve.starts[over.arc : over.arc + 2]
        inside = SAME_TIME * (end - start)
        if isinstance(over.part, tuple):
            first, last = curve.time_at(over.arc + np.array(over.part))
        elif over.part == "start":
            first = last = start
        elif over.part == "end":
            first = last = end if end >= T else end - side
        elif over.part == "whole":
            first, last = start, end
        else:
            first, last = start + inside, end - inside
        if first == last:
            return Interval(float(first), float(last))
    elif isinstance(over, Instants):
        times = single_times(over, curve)
        return Interval(float(times[0]), float(times[-1]))
    else:
        first, last = 0.0, T
    first, last = first if first <= 0.0 else first + side, last if last >= T else last - side
    if not first < last:  # a window that is shorter than rounding
        first = last = 0.5 * (first + last)
    return Interval(float(first), float(last))


def mask_from_inside(over: NodeSet, here: MotionSamples, curve: Curve) -> Array:
    """Mask of the times (K,) in a set, without the other sides of breakpoints where it begins or ends."""
    mask = over.mask(here)
    if not isinstance(over, TimeWindow | ArcNodes) or not mask.any():  # of an arc that the motion lacks none
        return mask
    interval, beyond = interval_of(over, curve), 1.5 * BORDER_SIDE * curve.duration
    # Ends of an interval are one side within; a time on the other side of the breakpoint is two sides away
    return mask & (here.times > interval.first - beyond) & (here.times < interval.last + beyond)


def intervals_of(solution: Solution, constraints: Iterable[Constraint]) -> dict[Constraint, Interval]:
    """The constraints that are meant for all times of an interval of the motion, and that interval."""
    found = {}
    for constraint in constraints:
        if has_place(solution, constraint) and not (
            constraint.over.is_difference or isinstance(constraint.over, Instants)
        ):
            interval = interval_of(constraint.over, solution.curve)
            if interval.first < interval.last:
                found[constraint] = interval
    return found


def has_place(solution: Solution, constraint: Constraint) -> bool:
    """True if the arcs that a constraint names are arcs of the motion."""
    named = isinstance(constraint.over, ArcNodes | TimeWindow) or constraint.over.is_difference
    return not named or len(solution.problem.trajectory.arcs) == len(solution.curve.bases)


def single_times(over: NodeSet, curve: Curve) -> Array:
    """The times (k,) of a set of single instants; where a quantity may jump, from before."""
    if not isinstance(over, Instants):
        return np.array([interval_of(over, curve).first])
    times, side = np.array(over.times), BORDER_SIDE * curve.duration
    if over.clock == "progress":
        times = curve.time_at(times * len(curve.bases))
    inner = curve.knot_times[1:-1]
    jumps = np.any(np.abs(times[:, None] - inner) <= SAME_TIME * curve.duration, axis=1)
    return np.clip(times, 0.0, curve.duration) - side * jumps


def sample_times(solution: Solution, density: Density, interval: Interval | None = None) -> Array:
    """Times (K,) in an interval, the whole motion by default: nodes, times between, both sides of knots."""
    curve, nodes = solution.curve, np.unique(solution.node_times)
    T, knots = curve.duration, curve.knot_times
    rounding = max((2.0 * data.rounding for data in solution.problem.datasets.values()), default=0.0)
    # Tables may end "for ever" later, at 1e15 s: that leaves out a thousandth of an interval at most
    spans, knots = np.diff(knots), knots[1:-1]
    sides = np.minimum(rounding, 1e-3 * np.minimum(spans[:-1], spans[1:]))
    sides = np.maximum(BORDER_SIDE * T, sides)
    first, last = (0.0, T) if interval is None else (interval.first, interval.last)
    fractions = np.arange(density.between) / density.between
    between = (nodes[:-1, None] + np.diff(nodes)[:, None] * fractions).ravel()
    ends = np.array([first, last])
    every = [ends, between, nodes[-1:], knots - sides, knots + sides]
    # Intervals share the grid of the whole motion: their terms are evaluated together.
    every.append(np.linspace(0.0, T, density.whole + 1))
    if density.whole * (last - first) < density.least * T:
        every.append(np.linspace(first, last, density.least + 1))
    times = np.concatenate(every)
    times = np.unique(times[(times >= first) & (times <= last)])
    times = np.unique(np.concatenate([times, *_samples_of_data(solution, times)]))
    # Grids share times, equal but for rounding: one of a pair stands, or no peak lies between neighbours.
    times = times[np.append(True, np.diff(times) > 0.25 * BORDER_SIDE * T)]
    times[-1] = last
    # At a knot itself curves have the values of one side of it, and data in steps may have those of the other
    begun, ended = (np.searchsorted(knots + beside, times) for beside in (-0.5 * sides, 0.5 * sides))
    return times[begun == ended]


def _samples_of_data(solution: Solution, times: Array) -> Iterator[Array]:
    """The samples of tables that are farthest from the line between two neighbouring times.

    One above it and one below it, of every column: a pulse of a table may be shorter than any grid, and where
    the duration is free, no breakpoint is there.
    """
    for data in solution.problem.datasets.values():
        start, factor = solution.problem.start_time, 1.0
        if data.clock == "progress":
            start, factor = 0.0, 1.0 / solution.curve.duration
        elif start is None:
            start = float(solution.parameters[START_TIME][0])
        at = start + factor * times
        cell = np.searchsorted(at, data.times) - 1
        inside = (cell >= 0) & (data.times < at[-1])
        samples, cell = data.times[inside], cell[inside]
        ends, own = data.at(at), data.at(samples)
        share = ((samples - at[cell]) / (at[cell + 1] - at[cell]))[:, None]
        above = own - (1.0 - share) * ends[cell] - share * ends[cell + 1]
        for away in (above, -above):
            largest = np.zeros_like(ends)
            np.maximum.at(largest, cell, away)
            kept = (away > AGREEMENT * np.ptp(data.values, axis=0)) & (away == largest[cell])
            yield (samples[kept.any(axis=1)] - start) / factor


def dense_samples(solution: Solution) -> MotionSamples:
    """The times of checks over the whole motion."""
    return MotionSamples.at(solution.curve, sample_times(solution, CHECK_DENSITY))


def node_samples(solution: Solution) -> MotionSamples:
    """The nodes alone; of two at one time, each lies on its side of the breakpoint that they share."""
    curve, times, side = solution.curve, solution.node_times, BORDER_SIDE * solution.duration
    # Each border is the last node of one arc and the first of the next.
    firsts = 1 + np.searchsorted(times, curve.starts[1:-1] - 2.0 * side)
    arc = np.searchsorted(firsts, np.arange(times.size), side="right")
    pair = np.append((np.diff(times) <= side) & (np.diff(arc) == 0), False)
    apart = times + side * (np.roll(pair, 1).astype(float) - pair)
    nodes = MotionSamples.at(curve, apart, arc)
    last = np.where(arc == len(curve.bases) - 1, curve.starts[arc + 1], curve.starts[arc + 1] - side)
    return replace(nodes, times=np.clip(apart, curve.starts[arc], last))


def limits_over(constraint: Constraint, curve: Curve, times: Array) -> Array:
    """Lower and upper limits at any times, with their easing (2, *times.shape, width), else (2, width).

    Limits of control points ease as a curve that these limits themselves control.
    """
    stated, easing = np.stack([constraint.lower, constraint.upper]), constraint.easing
    if easing is None:
        return stated
    arc, flat = easing.arc, times.ravel()
    s = np.clip((flat - curve.starts[arc]) / curve.durations[arc], 0.0, 1.0)
    if constraint.hold == "hull" and constraint.term.quantity in ("q", "v"):
        basis, order = curve.bases[arc], "qv".index(constraint.term.quantity)
        points = basis.slope_greville if order else basis.greville
        knots = basis.knots[order : basis.knots.size - order]
        by = BSpline(knots, easing.at(arc, points), basis.degree - order, axis=1)(s)
    else:
        by = easing.at(arc, s)
    by = np.where((curve.arc_at(flat) == arc)[:, None], by, 0.0)
    return stated.reshape(2, *(1 for _ in times.shape), -1) + by.reshape(2, *times.shape, -1)


def violations_of_sides(bounds: Array, values: Array) -> Array:
    """lower - value and value - upper, (K, 2, width), of values (K, width): see `Worst`.

    bounds : as of `limits_over`
    """
    with np.errstate(invalid="ignore"):
        both = np.stack(side_violations(values, *bounds), axis=1)
    both = np.where(np.isfinite(values)[:, None], both, np.nan)
    return np.where(np.isfinite(bounds if bounds.ndim == 2 else bounds.swapaxes(0, 1)), both, -np.inf)


class Peaks:
    """The local maxima over time of every side's violation, each bracketed by the neighbouring samples.

    Between samples a peak is taken to exceed its own sample by less than that differs from its neighbours.
    Left out are peaks that can reach neither the highest sample of their side nor `above`, those that cannot
    reach `least`, a number or one for each side, and those of a side that is not violated and further from
    its bound than the other one. Of one side the `most` that may reach highest are kept; where it is None all
    of them, but those on a flat stretch that holds. A violation of which the second sample before or after it
    has less than half is the flank of a pulse as narrow as their step: samples do not say how high that is,
    and `least` leaves out only flanks that are rounding beside it.

    side : of every peak, its column in (2 width,), all lower sides first
    times, values : of every peak, (peaks,);  spacing : seconds, of the samples around it
    reach : the largest size of every component's finite values, (width,)
    resolution : seconds, the largest step between samples
    """

    def __init__(
        self,
        constraint: Constraint,
        curve: Curve,
        times: Array,
        values: Array,
        above: float = np.inf,
        most: int | None = MOST_PEAKS,
        least: Array | float = -np.inf,
    ) -> None:
        self.constraint = constraint
        self.reach = finite_size(values)
        self.resolution = float(np.diff(times).max(initial=0.0))
        bounds = limits_over(constraint, curve, times)
        violation = violations_of_sides(bounds, values).reshape(len(times), 2 * constraint.lower.size)
        self.side = np.empty(0, dtype=int)
        self.times = self.values = self.spacing = self._low = self._high = np.empty(0)
        self._worst = np.full(violation.shape[1], -np.inf), np.zeros(violation.shape[1])
        if not times.size:
            return
        highest = np.argmax(violation, axis=0)  # NaN is the largest
        self._worst = np.take_along_axis(violation, highest[None], axis=0)[0], times[highest]
        if most != 0:
            self._bracket(times, violation, above, most, least)

    def _bracket(
        self, times: Array, violation: Array, above: float, most: int | None, least: Array | float
    ) -> None:
        """Choose the peaks among the samples."""
        highest = self._worst[0]
        columns = np.flatnonzero(np.isfinite(highest))
        own, other = violation[:, columns], np.roll(highest, highest.size // 2)[columns]
        peak = np.ones(own.shape, dtype=bool)
        peak[1:] &= own[1:] >= own[:-1]
        peak[:-1] &= own[:-1] >= own[1:]
        place, column = np.nonzero(peak)
        before, after = np.maximum(place - 1, 0), np.minimum(place + 1, times.size - 1)
        height = own[place, column]
        reach = 2.0 * height - np.minimum(own[before, column], own[after, column])
        kept = (reach >= highest[columns][column]) | (reach > above)
        enough = np.broadcast_to(least, highest.shape)[columns][column]
        ends = np.maximum(place - 2, 0), np.minimum(place + 2, times.size - 1)
        beside = np.minimum(own[ends[0], column], own[ends[1], column])
        pulse = (np.abs(beside) <= 0.5 * height) & (height > ROUNDING * enough)
        kept &= (reach > enough) | pulse
        if most is None:  # of a distance beyond its reach every sample is as high as the next
            kept &= (reach > height) | (reach > 0.0)
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


Samples = dict[Constraint, tuple[Array, Array]]  # times (K,) and values (K, width) of every constraint


def sampled_constraints(solution: Solution, constraints: Sequence[Constraint], density: Density) -> Samples:
    """Every constraint at the times of its interval, with one evaluation of the motion for all."""
    if not constraints:
        return {}
    intervals = [interval_of(constraint.over, solution.curve) for constraint in constraints]
    times = {each: sample_times(solution, density, each) for each in set(intervals)}
    every = np.unique(np.concatenate(list(times.values())))
    values = solution.values(list({c.term.quantity: c.term for c in constraints}.values()), every)
    places = {interval: np.searchsorted(every, own) for interval, own in times.items()}
    return {
        constraint: (times[interval], values[constraint.term.quantity][places[interval]])
        for constraint, interval in zip(constraints, intervals, strict=True)
    }


def search(
    solution: Solution,
    constraints: Sequence[Constraint],
    density: Density,
    above: float = np.inf,
    most: int | None = MOST_PEAKS,
    samples: Samples | None = None,
    least: Mapping[Constraint, Array] | None = None,
) -> list[Peaks]:
    """The narrowed peaks of every constraint, over its interval of time; `above` and `most` as in `Peaks`.

    The brackets of one term are narrowed with one evaluation of the motion in each round.

    samples : of these constraints, where they are known
    least : for each side (2 width,) of some constraints, as in `Peaks`
    """
    known = sampled_constraints(solution, constraints, density) if samples is None else samples
    given = dict.fromkeys(constraints, -np.inf) | dict(least or {})
    found = [Peaks(each, solution.curve, *known[each], above, most, given[each]) for each in constraints]
    by_term: dict[str, list[Peaks]] = {}
    for peaks in found:
        if peaks.side.size:
            by_term.setdefault(peaks.constraint.term.quantity, []).append(peaks)
    for some in by_term.values():
        _narrow_together(solution, some)
    return found


def jump_within(
    solution: Solution, constraint: Constraint, component: int, time: float, least: float
) -> float | None:
    """Time of the largest jump of a component of a term in the interval between knots around a time, seconds.

    Curves are polynomials there: what jumps is a comparison, or data in steps. None where no jump is larger
    than `least`.
    """
    knots, side = solution.knot_times, BORDER_SIDE * solution.duration
    span = int(np.clip(np.searchsorted(knots, time) - 1, 0, knots.size - 2))
    grid = np.linspace(knots[span] + side, knots[span + 1] - side, 4 * POINTS)

    def at(times: Array) -> Array:
        return np.asarray(solution.value(constraint.term, times)[:, component])

    values = at(grid)
    low, high, here, there = grid[:-1], grid[1:], values[:-1], values[1:]
    for _ in range(HALVINGS):
        steep = np.abs(there - here) > least
        low, high, here, there = low[steep], high[steep], here[steep], there[steep]
        if not low.size:
            return None
        middle = 0.5 * (low + high)
        value = at(middle)
        first = np.abs(value - here) >= np.abs(there - value)
        low, high = np.where(first, low, middle), np.where(first, middle, high)
        here, there = np.where(first, here, value), np.where(first, value, there)
    change = np.abs(there - here)
    largest = int(np.argmax(change))
    return float(high[largest]) if change[largest] > least else None


def _narrow_together(solution: Solution, some: Sequence[Peaks]) -> None:
    """Narrow the brackets of the peaks of constraints of one term."""
    term, width = some[0].constraint.term, some[0].constraint.lower.size
    each = [(p.side, p._low, p._high, p.times, p.values) for p in some]
    side, low, high, times, values = map(np.concatenate, zip(*each, strict=True))
    ends = np.cumsum([p.side.size for p in some])[:-1]
    sign = np.where(side < width, -1.0, 1.0)[:, None]
    rows, along = np.arange(side.size), np.linspace(0.0, 1.0, POINTS)
    for _ in range(ROUNDS):
        grid = low[:, None] + (high - low)[:, None] * along
        found = _of_components(solution, term, grid, side % width)
        some_grids = zip(some, np.split(grid, ends), strict=True)
        bound = np.concatenate([_bounds_of_sides(solution, peaks, own) for peaks, own in some_grids])
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


def _bounds_of_sides(solution: Solution, peaks: Peaks, times: Array) -> Array:
    """(peaks, k) or (peaks, 1), the bound of the side of each peak at its times (peaks, k)."""
    limits = limits_over(peaks.constraint, solution.curve, times)
    if limits.ndim == 2:
        return np.broadcast_to(limits.ravel()[peaks.side][:, None], times.shape)
    upper, component = np.divmod(peaks.side, peaks.constraint.lower.size)
    return limits[upper, np.arange(upper.size), :, component]


def _of_components(solution: Solution, term: Term, times: Array, component: Array) -> Array:
    """(peaks, k), the component of a term that each peak names, at its times (peaks, k)."""
    found = []
    for first in range(0, len(times), TOGETHER):
        some = slice(first, first + TOGETHER)
        values = solution.value(term, times[some])
        found.append(values[np.arange(len(values)), :, component[some]])
    return np.concatenate(found)
