"""Peaks of limits between the nodes: where a motion leaves limits that its program holds at nodes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.peaks_between_nodes import (
    CHECK_DENSITY,
    Density,
    Peaks,
    intervals_of,
    node_samples,
    sampled_constraints,
    search,
)
from trajopt.checks.residual_forces import equation_scales
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import Solution


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
        """The limit that is violated most, with time and size."""
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
    solution: Solution,
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
    asked = filter(at_nodes_alone, solution.problem.constraints) if limits is None else limits
    stated = list(intervals_of(solution, asked))
    scaled = [limit for limit in stated if limit.needs_scale]
    scales = equation_scales(solution, scaled, node_samples(solution)) if scaled else {}
    samples = sampled_constraints(solution, stated, density)
    exceeded = [
        peaks.constraint
        for peaks in search(solution, stated, density, most=0, samples=samples)
        if np.any(_relative(peaks, peaks.highest, np.arange(peaks.highest.size), scales) > least)
    ]
    found, labels = [(np.empty(0),) * 4], []
    for peaks in search(solution, exceeded, density, above=0.0, most=None, samples=samples):
        relative = _relative(peaks, peaks.values, peaks.side, scales)
        own = relative > 0.0
        found.append((peaks.times[own], peaks.values[own], relative[own], peaks.spacing[own]))
        name, width = peaks.constraint.name, peaks.constraint.lower.size
        components = solution.problem.component_names(peaks.constraint.term.quantity, width)
        labels += [", ".join(filter(None, (name, components[side % width]))) for side in peaks.side[own]]
    times, values, relative, spacing = map(np.concatenate, zip(*found, strict=True))
    return LimitPeaks(times, values, relative, spacing, tuple(labels))


def at_nodes_alone(constraint: Constraint) -> bool:
    """True if it is a limit that the program holds at nodes, and not for all times by control points."""
    return bool(np.any(constraint.lower != constraint.upper)) and constraint.hold == "nodes"


def _relative(peaks: Peaks, values: Array, side: Array, scales: Mapping[Constraint, Array]) -> Array:
    """Violations of some sides of a constraint, relative to its sizes; 0 of those that are equations."""
    constraint = peaks.constraint
    limit = (constraint.lower != constraint.upper)[side % constraint.lower.size]
    sizes = constraint.side_scales(peaks.reach, scales.get(constraint)).ravel()[side]
    return np.where(limit, values / sizes, 0.0)
