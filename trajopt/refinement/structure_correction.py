"""Corrections of a switching structure after a solve on its arcs: what the multipliers and the limits say.

A multiplier of the wrong sign says that the limit should not be saturated there (Pontryagin: a torque sits
at the bound towards which the objective would fall). A slack limit that is overstepped on part of an arc
should be saturated there. An arc that collapses was no switching interval. One correction at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.limit_order import limit_order
from trajopt.refinement.arc_problem import free_arcs
from trajopt.solution.switching_structure import Saturation, Structure
from trajopt.solution.violation import Excess, path_limits
from trajopt.splines.gauss_rules import gauss

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

COLLAPSED = 1e-3  # of the whole duration: an arc shorter than this was no switching interval
ACTIVE = 1e-5  # of the objective: a multiplier of a slack limit above this holds the optimum back
IDLE = 1e-7  # of the largest impulse: a saturation with less holds nothing back
CONTRADICTED = 1e-4  # of the largest impulse of a multiplier over an arc: wrong signs below this are rounding
SETTLED = 1e-2  # the same where joints are free: settling their motion shifts multipliers by its weight
SAMPLES_PER_ARC = 400


@dataclass(frozen=True)
class Contradiction:
    """A stretch of an arc on which a saturated limit's multiplier has the sign of the other bound."""

    arc: int
    saturation: Saturation
    start: float  # seconds
    end: float
    impulse: float  # of the wrong sign, relative to the largest impulse over an arc


def contradictions(motion: Solution, structure: Structure) -> tuple[Contradiction, ...]:
    """Wrong signs of the multipliers of torques and accelerations held on arcs, the gravest first.

    The costate's density is the multiplier over weight and duration; its impulse over a stretch is the sum of
    the multipliers there.
    """
    found: list[tuple[float, int, Saturation, float, float]] = []
    largest = 0.0
    points = gauss(motion.problem.trajectory.arcs[0].basis.degree - 1)[0]
    edges = np.concatenate([[0.0], 0.5 * (points[1:] + points[:-1]), [1.0]])
    for index, limit in enumerate(path_limits(motion)):
        if limit_order(motion.problem, limit) != 2:
            continue
        multipliers = motion.multipliers[limit.name].reshape(structure.arc_count, -1, limit.lower.size)
        span = limit.upper - limit.lower
        multipliers = multipliers * np.where(np.isfinite(span), span, 1.0)
        for number, saturated in enumerate(structure.saturated):
            for s in (s for s in saturated if s.limit == index):
                signed = s.side * multipliers[number, :, s.component]
                largest = max(largest, float(np.abs(signed).sum()))
                start, seconds = structure.times[number], structure.durations[number]
                for first, last in _stretches(signed < 0.0):
                    window = (start + seconds * edges[first], start + seconds * edges[last])
                    found.append((-float(signed[first:last].sum()), number, s, *window))
    scale = max(largest, 1e-300)
    ordered = sorted(found, key=lambda entry: -entry[0])
    return tuple(Contradiction(n, s, start, end, size / scale) for size, n, s, start, end in ordered)


def without_idle(motion: Solution, structure: Structure) -> Structure:
    """The structure without saturations whose multipliers vanish: what they hold back costs nothing."""
    impulses: dict[tuple[int, Saturation], float] = {}
    for index, limit in enumerate(path_limits(motion)):
        if limit_order(motion.problem, limit) == 2:
            shape = (structure.arc_count, -1, limit.lower.size)
            span = limit.upper - limit.lower
            total = np.abs(motion.multipliers[limit.name].reshape(shape)).sum(axis=1)
            total *= np.where(np.isfinite(span), span, 1.0)
            for number, saturated in enumerate(structure.saturated):
                for s in (s for s in saturated if s.limit == index):
                    impulses[number, s] = float(total[number, s.component])
    least = IDLE * max(impulses.values(), default=0.0)
    idle = {key for key, impulse in impulses.items() if impulse < least}
    if not idle:
        return structure
    kept = tuple(
        frozenset(s for s in saturated if (number, s) not in idle)
        for number, saturated in enumerate(structure.saturated)
    )
    return Structure(structure.times, kept).merged()


def active_slack(motion: Solution, structure: Structure) -> str:
    """A limit that holds the optimum back where the structure calls it slack, or nothing.

    Its multipliers are measured in objective per range of the limit, against the objective.
    """
    for index, limit in enumerate(path_limits(motion)):
        span = limit.upper - limit.lower
        shape = (structure.arc_count, -1, limit.lower.size)
        total = np.abs(motion.multipliers[limit.name].reshape(shape)).sum(axis=1)
        total *= np.where(np.isfinite(span), span, 1.0)
        for number, saturated in enumerate(structure.saturated):
            held = {s.component for s in saturated if s.limit == index}
            for component in set(range(limit.lower.size)) - held:
                if total[number, component] > ACTIVE * abs(motion.objective):
                    window = f"{structure.times[number]:.4f} to {structure.times[number + 1]:.4f} s"
                    return f"{limit.name}, slack in the structure, hold back the optimum from {window}"
    return ""


def corrected_signs(structure: Structure, wrong: Contradiction, regular: bool) -> Structure:
    """The other bound, or none where controls are continuous, on the contradicted stretch."""
    saturated = structure.saturated[wrong.arc] - {wrong.saturation}
    if not regular:
        saturated |= {wrong.saturation.flipped}
    return structure.replaced(wrong.arc, *_within(structure, wrong.arc, wrong.start, wrong.end), saturated)


def without_collapsed(structure: Structure, duration: float, shortest: float = COLLAPSED) -> Structure:
    """Structure without its shortest arc if that has collapsed, else the same structure."""
    arc = int(np.argmin(structure.durations))
    if structure.arc_count > 1 and structure.durations[arc] < shortest * duration:
        return structure.without(arc)
    return structure


def corrected_excess(motion: Solution, structure: Structure, worst: Excess) -> Structure | None:
    """The slack limit that is overstepped most, saturated where it is; None if it cannot be or is already."""
    limits = path_limits(motion)
    for index, limit in enumerate(limits):
        labels = motion.problem.component_names(limit.term.quantity, limit.lower.size)
        if limit.name != worst.name or worst.component not in labels:
            continue
        component = labels.index(worst.component)
        arc = structure.arc_at(worst.time)
        known = {(s.limit, s.component) for s in structure.saturated[arc]}
        if limit_order(motion.problem, limit) is None or (index, component) in known:
            return None
        times = np.linspace(
            structure.times[arc], np.nextafter(structure.times[arc + 1], 0.0), SAMPLES_PER_ARC
        )
        value = motion.value(limit.term, np.minimum(times, motion.duration))[:, component]
        side = 1 if value.max() - limit.upper[component] > limit.lower[component] - value.min() else -1
        over = value > limit.upper[component] if side > 0 else value < limit.lower[component]
        if not over.any():
            return None
        window = times[np.flatnonzero(over)[[0, -1]]]
        saturated = structure.saturated[arc] | {Saturation(index, component, side)}
        if limit.term.quantity in ("q", "v"):
            saturated -= {s for s in saturated if _follows(limits, s, component)}
        return structure.replaced(arc, *_within(structure, arc, *window), saturated)
    return None


def among_free_joints(
    motion: Solution, structure: Structure, excesses: Sequence[Excess], regular: bool
) -> list[bool]:
    """Which excesses, in the order of `largest_excesses`, are of slack limits on arcs with free joints."""
    free, found = free_arcs(structure, motion.problem.dynamics.n, regular), []
    every = iter(excesses)
    for index, limit in enumerate(path_limits(motion)):
        for component in range(limit.lower.size):
            arc = structure.arc_at(next(every).time)
            held = {(s.limit, s.component) for s in structure.saturated[arc]}
            found.append(free[arc] and (index, component) not in held)
    return found


def _follows(limits, saturation: Saturation, joint: int) -> bool:
    """Whether a saturation is of the torque of a joint whose motion is held."""
    return limits[saturation.limit].term.quantity in ("tau", "a") and saturation.component == joint


def _within(structure: Structure, arc: int, start: float, end: float) -> tuple[float, float]:
    """A window inside an arc, stretched to the arc's ends where these are near."""
    left, right = structure.times[arc], structure.times[arc + 1]
    near = 0.02 * (right - left)
    return (left if start - left < near else float(start)), (right if right - end < near else float(end))


def _stretches(mask: NDArray) -> list[tuple[int, int]]:
    """Half-open index ranges on which a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
