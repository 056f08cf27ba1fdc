"""Signs of the multipliers where velocities are held: an optimum may not gain by going slower.

Pontryagin's multiplier of v <= limit is a measure eta >= 0 in time. On arcs, v = limit is held by v = limit
at the start, with the multiplier sigma, and by a = 0 at Gauss points, with densities

    nu(t) = eta(after t),        sigma = eta of the whole stretch,

so that sigma >= nu(t_1) >= nu(t_2) >= ... >= 0: every increase is mass of the wrong sign. Stretches run over
all neighbouring arcs that hold the same joint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.limit_order import limit_order
from trajopt.problem.problem import Constraint, Problem
from trajopt.refinement.arc_problem import AT_START, HELD, of_arc
from trajopt.refinement.structure_correction import Contradiction
from trajopt.solution.switching_structure import Saturation, Structure
from trajopt.splines.gauss_rules import gauss

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


@dataclass(frozen=True)
class Stretch:
    """Neighbouring arcs first .. last on which one velocity is held."""

    saturation: Saturation
    first: int
    last: int


def stretches(structure: Structure, limit: int) -> Iterator[Stretch]:
    """All stretches of one limit, each as long as it can be."""
    open_since: dict[Saturation, int] = {}
    for arc, saturated in enumerate((*structure.saturated, frozenset())):
        held = {s for s in saturated if s.limit == limit}
        for saturation in sorted(open_since.keys() - held):
            yield Stretch(saturation, open_since.pop(saturation), arc - 1)
        for saturation in held - open_since.keys():
            open_since[saturation] = arc


def held_signs(
    trial: Solution, problem: Problem, structure: Structure
) -> tuple[int, tuple[Contradiction, ...]]:
    """How many pairs of arc and held velocity were checked, and where multipliers are wrong, gravest first.

    trial is the solve on arcs, with the multipliers of its own rows; impulses are relative to the largest.
    """
    found: list[tuple[Stretch, float, float]] = []
    checked = 0
    for index, limit in enumerate(problem.path_limits()):
        if limit_order(problem, limit) != 1:
            continue
        for stretch in stretches(structure, index):
            measure = _measure(trial, structure, stretch, limit)
            if measure is None:
                continue
            checked += stretch.last - stretch.first + 1
            rises = np.maximum(np.diff(measure), 0.0).sum()
            found.append((stretch, float(measure[0]), float(rises)))
    scale = max((abs(mass) for _, mass, _ in found), default=0.0) or 1.0
    wrong = [
        Contradiction(
            s.first, s.saturation, structure.times[s.first], structure.times[s.last + 1], rises / scale
        )
        for s, _, rises in found
        if rises > 0.0
    ]
    return checked, tuple(sorted(wrong, key=lambda each: -each.impulse))


def _measure(trial: Solution, structure: Structure, stretch: Stretch, limit: Constraint) -> NDArray | None:
    """sigma, nu at all Gauss points, 0: in objective per range of the limit; None where rows are missing."""
    index, component = stretch.saturation.limit, stretch.saturation.component
    width = limit.upper[component] - limit.lower[component]
    parts = []
    for arc in range(stretch.first, stretch.last + 1):
        rows = trial.multipliers.get(f"{of_arc(index, arc)} {HELD}")
        if rows is None:
            return None
        parts.append(rows[:, component] / gauss(len(rows))[1] / structure.durations[arc])
    densities = np.concatenate(parts)
    entry = trial.multipliers.get(f"{of_arc(index, stretch.first)} {AT_START}")
    sigma = densities[:1] if entry is None else entry[:1, component]
    signed = stretch.saturation.side * np.concatenate([sigma, densities, [0.0]])
    return signed * (width if np.isfinite(width) else 1.0)
