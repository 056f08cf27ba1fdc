"""Corrections of a switching structure after a solve on its arcs, by multipliers and by violated limits.

* A multiplier of the wrong sign means that its limit is not active there (Pontryagin: a torque sits at the
  bound towards which the objective would fall).
* An inactive limit that is violated on part of an arc is active there.
* An arc whose duration goes to zero was no switching interval.

One correction is made at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trajopt.base.arrays import Array, runs
from trajopt.base.tolerances import NOT_ZERO
from trajopt.certificates.arc_problem import free_arcs
from trajopt.certificates.switching_structure import Contradiction, Saturation, Structure
from trajopt.certified.search_settings import SearchSettings
from trajopt.checks.line import Line
from trajopt.checks.violations import limit_ranges
from trajopt.graph.quantities import TORQUES
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem_graph import limit_order
from trajopt.solution.solution import Solution
from trajopt.splines.quadrature import gauss


def contradictions(motion: Solution, structure: Structure) -> tuple[Contradiction, ...]:
    """Wrong signs of the multipliers of torques and accelerations saturated on arcs, largest impulse first.

    The multiplier's density in time is the NLP multiplier over quadrature weight and duration; its impulse
    over an interval is the sum of the NLP multipliers there.
    """
    found: list[Contradiction] = []
    points = gauss(motion.problem.trajectory.arcs[0].basis.degree - 1)[0]
    edges = np.concatenate([[0.0], 0.5 * (points[1:] + points[:-1]), [1.0]])
    held = list(_held(motion, structure))
    scale = max([NOT_ZERO, *(float(np.abs(signed).sum()) for _, _, signed in held)])
    for number, s, signed in held:
        times = structure.times[number] + structure.durations[number] * edges
        for wrong in runs(signed < 0.0):
            impulse = -float(signed[wrong].sum()) / scale
            found.append(Contradiction(number, s, times[wrong.start], times[wrong.stop], impulse))
    return tuple(sorted(found, key=lambda each: -each.impulse))


def without_idle(motion: Solution, structure: Structure, settings: SearchSettings) -> Structure:
    """The structure without saturations whose multipliers vanish, the same object where there are none."""
    impulses = {(number, s): float(np.abs(signed).sum()) for number, s, signed in _held(motion, structure)}
    least = settings.idle * max(impulses.values(), default=0.0)
    idle = {key for key, impulse in impulses.items() if impulse < least}
    if not idle:
        return structure
    kept = tuple(
        frozenset(s for s in saturated if (number, s) not in idle)
        for number, saturated in enumerate(structure.saturated)
    )
    return Structure(structure.times, kept).merged()


def active_outside_structure(motion: Solution, structure: Structure, settings: SearchSettings) -> str:
    """The limit with multipliers on an arc where the structure has it inactive, in words; else nothing.

    The impulse over an arc, in objective per range of the limit, is compared with the objective.
    """
    for index, limit in enumerate(motion.problem.path_limits()):
        total = np.abs(_multipliers_per_range(motion, structure, limit)).sum(axis=1)
        for number, saturated in enumerate(structure.saturated):
            inside = {s.component for s in saturated if s.limit == index}
            for component in set(range(limit.lower.size)) - inside:
                if total[number, component] > settings.active * abs(motion.objective):
                    window = f"{structure.times[number]:.4f} to {structure.times[number + 1]:.4f} s"
                    return f"{limit.name}, inactive in the structure, are active from {window}"
    return ""


def corrected_signs(
    structure: Structure, wrong: Contradiction, regular: bool, settings: SearchSettings
) -> Structure:
    """The structure with the other bound, or none where controls are continuous, on the wrong interval."""
    saturated = structure.saturated[wrong.arc] - {wrong.saturation}
    if not regular:
        saturated |= {wrong.saturation.flipped}
    window = _snapped(structure, wrong.arc, wrong.start, wrong.end, settings.snapped)
    return structure.replaced(wrong.arc, *window, saturated)


def without_collapsed(structure: Structure, duration: float, shortest: float) -> Structure:
    """The structure without its shortest arc if that is below a part of the duration, else itself."""
    arc = int(np.argmin(structure.durations))
    if structure.arc_count > 1 and structure.durations[arc] < shortest * duration:
        return structure.without(arc)
    return structure


def corrected_violation(
    motion: Solution, structure: Structure, violation: Line, settings: SearchSettings
) -> Structure | None:
    """The structure with a violated component of a limit saturated where it is violated.

    None where no arc can hold that limit, or where the arc holds it already.
    """
    limits, arc = motion.problem.path_limits(), structure.arc_at(violation.time)
    index, component = _limit_and_component(limits, violation)
    limit = limits[index]
    if limit_order(motion.problem, limit) is None or _holds(structure, arc, index, component):
        return None
    before_end = np.nextafter(structure.times[arc + 1], 0.0)
    times = np.linspace(structure.times[arc], before_end, settings.samples_per_arc)
    value = motion.value(limit.term, np.minimum(times, motion.duration))[:, component]
    side = 1 if value.max() - limit.upper[component] > limit.lower[component] - value.min() else -1
    violated = value > limit.upper[component] if side > 0 else value < limit.lower[component]
    if not violated.any():
        return None
    first, last = times[np.flatnonzero(violated)[[0, -1]]]
    saturated = structure.saturated[arc] | {Saturation(index, component, side)}
    if limit.term.quantity in ("q", "v"):
        saturated -= {s for s in saturated if _follows(limits, s, component)}
    window = _snapped(structure, arc, first, last, settings.snapped)
    return structure.replaced(arc, *window, saturated)


def _limit_and_component(limits: Sequence[Constraint], violation: Line) -> tuple[int, int]:
    """The places of a violation's limit and component."""
    assert violation.place is not None
    return limits.index(violation.place.constraint), violation.place.component


def of_free_joints(
    motion: Solution, structure: Structure, violations: Sequence[Line], regular: bool
) -> list[bool]:
    """Mask of the `largest_violations` of inactive limits on arcs with free joints, in their order."""
    free = free_arcs(structure, motion.problem.dynamics.n, regular)
    arcs = [structure.arc_at(violation.time) for violation in violations]
    limits = motion.problem.path_limits()
    components = (_limit_and_component(limits, violation) for violation in violations)
    each = zip(arcs, components, strict=True)
    return [free[arc] and not _holds(structure, arc, *component) for arc, component in each]


def _holds(structure: Structure, arc: int, limit: int, component: int) -> bool:
    """True if a component of a limit is saturated on an arc."""
    return any((s.limit, s.component) == (limit, component) for s in structure.saturated[arc])


def _held(motion: Solution, structure: Structure) -> Iterator[tuple[int, Saturation, Array]]:
    """Arc, saturation and signed multipliers (Gauss points,) of all saturated torques and accelerations."""
    for index, limit in enumerate(motion.problem.path_limits()):
        if limit_order(motion.problem, limit) != 2:
            continue
        multipliers = _multipliers_per_range(motion, structure, limit)
        for number, saturated in enumerate(structure.saturated):
            for s in (s for s in saturated if s.limit == index):
                yield number, s, s.side * multipliers[number, :, s.component]


def _multipliers_per_range(motion: Solution, structure: Structure, limit: Constraint) -> Array:
    """Multipliers in objective per range of the limit, (arcs, Gauss points, width)."""
    multipliers = motion.multipliers[limit.name].reshape(structure.arc_count, -1, limit.lower.size)
    return multipliers * limit_ranges(limit)


def _follows(limits: Sequence[Constraint], saturation: Saturation, joint: int) -> bool:
    """True if a saturation is of the torque or acceleration of one joint."""
    return limits[saturation.limit].term.quantity in (*TORQUES, "a") and saturation.component == joint


def _snapped(structure: Structure, arc: int, start: float, end: float, part: float) -> tuple[float, float]:
    """An interval inside an arc, extended to the arc's ends where these are within a part of its duration."""
    left, right = structure.times[arc], structure.times[arc + 1]
    near = part * (right - left)
    return (left if start - left < near else float(start)), (right if right - end < near else float(end))
