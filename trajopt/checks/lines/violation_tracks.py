"""Violations over time, sampled, and their peaks between the samples by repeated narrowing of brackets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_times import Samples, trajectory_of
from trajopt.checks.equations.equation_scales import equation_scales
from trajopt.checks.violation import side_scales, zero_bounded
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.violation import side_violations
from trajopt.splines.trajectory import Trajectory

ROUNDS, POINTS = 3, 9  # each round narrows a bracket four-fold
PEAKS = 8  # highest local maxima of a component that are looked at


@dataclass(frozen=True)
class Peak:
    """The violation of one component that is largest for its scale; NaN where a value is."""

    violation: float
    time: float
    scale: float

    @property
    def relative(self) -> float:
        return self.violation / self.scale


def _peak(violation: float, time: float, scale: float) -> Peak:
    return Peak(float(np.maximum(violation, 0.0)), float(time), float(scale))


@dataclass(eq=False)
class Track:
    """Violations (K, width) of a constraint at times (K,), and the worst of every component.

    scale : (2, width) of the lower and the upper side
    fixed : the times are those at which the constraint is stated; no others are looked at
    """

    constraint: Constraint
    times: Array
    relative: Array
    scale: Array
    fixed: bool
    peaks: list[Peak]

    @staticmethod
    def of(constraint: Constraint, times: Array, values: Array, scale: Array, fixed: bool) -> Track:
        relative, own_scale, violation = _relative(constraint, values, scale)
        peaks = []
        for component in range(values.shape[1]):
            if times.size == 0:
                peaks.append(Peak(0.0, 0.0, float(scale[:, component].min())))
                continue
            worst = int(np.argmax(relative[:, component]))  # NaN is the largest
            peaks.append(_peak(violation[worst, component], times[worst], own_scale[worst, component]))
        return Track(constraint, times, relative, scale, fixed, peaks)

    def worst(self, component: int) -> Peak:
        return self.peaks[component]

    def brackets(self) -> list[Bracket]:
        """Local maxima that may exceed the highest sample: by no more than they differ from neighbours."""
        found: list[Bracket] = []
        if self.fixed or self.times.size < 3:
            return found
        for component in range(self.relative.shape[1]):
            track = self.relative[:, component]
            if not np.all(np.isfinite(track)):  # without bounds, or NaN already
                continue
            left, right = np.append(track[0], track[:-1]), np.append(track[1:], track[-1])
            peaks = np.flatnonzero((track >= left) & (track >= right))
            reach = track + np.maximum(track - left, track - right)
            wanted = peaks[(reach[peaks] >= track.max()) & (reach[peaks] > 0.0)]
            for peak in wanted[np.argsort(-reach[wanted])][:PEAKS]:
                low, high = max(peak - 1, 0), min(peak + 1, track.size - 1)
                found.append(Bracket(self, component, float(self.times[low]), float(self.times[high])))
        return found

    def update(self, component: int, times: Array, values: Array) -> int:
        """Take the worst of values (k, width) at times (k,) where it exceeds what is known; its place."""
        relative, own_scale, violation = _relative(self.constraint, values, self.scale)
        best = int(np.argmax(relative[:, component]))
        if not relative[best, component] <= self.peaks[component].relative:
            self.peaks[component] = _peak(violation[best, component], times[best], own_scale[best, component])
        return best


@dataclass
class Bracket:
    """Times between which a peak of one component of a track lies."""

    track: Track
    component: int
    low: float
    high: float

    @property
    def grid(self) -> Array:
        return np.linspace(self.low, self.high, POINTS)


def narrowed(solution: SolutionData, tracks: Sequence[Track]) -> None:
    """Look for the peaks of all tracks between their samples, with one evaluation of the motion per round."""
    brackets = [bracket for track in tracks for bracket in track.brackets()]
    if not brackets:
        return
    several: list[Any] = list(
        {b.track.constraint.term.quantity: b.track.constraint.term for b in brackets}.values()
    )
    for _ in range(ROUNDS):
        grids = np.array([bracket.grid for bracket in brackets])
        values = solution.values(several, grids)
        for number, bracket in enumerate(brackets):
            own = values[bracket.track.constraint.term.quantity][number]
            best = bracket.track.update(bracket.component, grids[number], own)
            bracket.low = float(grids[number, max(best - 1, 0)])
            bracket.high = float(grids[number, min(best + 1, POINTS - 1)])


def tracks(
    solution: SolutionData,
    stated: list[Constraint],
    nodes: Samples,
    dense: Samples,
) -> Iterator[tuple[Constraint, Track, Track | None]]:
    """Violations of every constraint at its nodes and, where it is meant between them, on the grid.

    Relative to the range of a limit, or to the scale of an equation.
    """
    several, trajectory = [constraint.term for constraint in stated], trajectory_of(solution)
    if not several:
        return
    at_nodes, between = solution.values(several, nodes.times), solution.values(several, dense.times)
    measured = [c for c in stated if np.any((c.lower == c.upper) | zero_bounded(c))]
    scales = equation_scales(solution, measured, nodes)
    for constraint in stated:
        quantity = constraint.term.quantity
        parts: list[Track | None] = []
        scale = side_scales(constraint, between[quantity][constraint.over.mask(dense)])
        if constraint in scales:
            size, equal = scales[constraint], constraint.lower == constraint.upper
            small = np.where(zero_bounded(constraint), np.minimum(size, scale), scale)
            scale = np.where(equal, size, small)
        for times, values in ((nodes, at_nodes[quantity]), (dense, between[quantity])):
            mask = constraint.over.mask(times)
            here, own = times.times[mask], values[mask]
            if constraint.over.is_difference:
                here, own = here[1:], np.diff(own, axis=0)
            if times is nodes:
                own = _at_carrying_nodes(trajectory, constraint, own)
            parts.append(Track.of(constraint, here, own, scale, fixed=times is nodes))
        at, dense_track = parts
        assert at is not None
        yield constraint, at, None if constraint.over.is_difference else dense_track


def _at_carrying_nodes(trajectory: Trajectory | None, constraint: Constraint, values: Array) -> Array:
    """The values at nodes, moved within the bounds at nodes that do not carry the constraint."""
    over = constraint.over
    if trajectory is None or not over.integrates or over.is_difference:
        return values
    if not len(values):  # a window may lie between two nodes
        return values
    held = constraint.held_at(trajectory)
    if len(held) != len(values):
        return values
    return np.where(held, values, np.clip(values, constraint.lower, constraint.upper))


def _relative(constraint: Constraint, values: Array, scale: Array) -> tuple[Array, Array, Array]:
    """The violation largest for its scale, that scale, and the violation itself, each (K, width).

    Negative where a limit holds with a margin; NaN where a value is, or where it is infinite.
    """
    with np.errstate(invalid="ignore"):
        lower, upper = side_violations(values, constraint.lower, constraint.upper)
        at_upper = ~(lower / scale[0] >= upper / scale[1])
    violation = np.where(at_upper, upper, lower)
    violation = np.where(np.isfinite(values), violation, np.nan)
    own = np.where(at_upper, scale[1], scale[0])
    return violation / own, own, violation
