"""Sign check of the multipliers of velocities at their limits, on boundary arcs of velocity constraints.

Pontryagin's multiplier of v <= limit is a measure eta >= 0 in time. On arcs, v = limit is imposed by v =
limit at the entry, with the multiplier sigma, and by a = 0 at Gauss points, with the multiplier densities

    nu(t) = eta((t, exit]),        sigma = eta([entry, exit]),

so that sigma >= nu(t_1) >= nu(t_2) >= ... >= 0: every increase is a part of eta with the wrong sign, where
the objective would fall by going slower. A boundary arc of one joint covers all neighbouring polynomial arcs
on which its velocity is at the same bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.limit_order import limit_order
from trajopt.problem.problem import Problem
from trajopt.refinement.switching.arc_problem import ArcRows
from trajopt.solution.sign_check import Contradiction
from trajopt.solution.switching_structure import Saturation, Structure
from trajopt.splines.gauss_rules import gauss

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


@dataclass(frozen=True)
class BoundaryArc:
    """Neighbouring arcs `first` to `last` of a structure, with one velocity at its limit on all of them."""

    saturation: Saturation
    first: int
    last: int


def boundary_arcs(structure: Structure, limit: int) -> Iterator[BoundaryArc]:
    """All boundary arcs of one limit from entry to exit."""
    open_since: dict[Saturation, int] = {}
    for arc, saturated in enumerate((*structure.saturated, frozenset())):
        active = {s for s in saturated if s.limit == limit}
        for saturation in sorted(open_since.keys() - active):
            yield BoundaryArc(saturation, open_since.pop(saturation), arc - 1)
        for saturation in active - open_since.keys():
            open_since[saturation] = arc


def velocity_sign_check(
    trial: Solution, problem: Problem, structure: Structure
) -> tuple[int, tuple[Contradiction, ...]]:
    """Number of pairs of arc and velocity at its limit that were checked, and all wrong signs, largest first.

    trial : the solution on arcs with the multipliers of its own rows, before `read_back`
    """
    found: list[tuple[BoundaryArc, float, float]] = []
    checked = 0
    for index, limit in enumerate(problem.path_limits()):
        if limit_order(problem, limit) != 1:
            continue
        for arc in boundary_arcs(structure, index):
            measure = _measure(trial, structure, arc, limit)
            if measure is None:
                continue
            checked += arc.last - arc.first + 1
            rises = np.maximum(np.diff(measure), 0.0).sum()
            found.append((arc, float(measure[0]), float(rises)))
    scale = max((abs(mass) for _, mass, _ in found), default=0.0) or 1.0
    wrong = [
        Contradiction(
            arc.first,
            arc.saturation,
            structure.times[arc.first],
            structure.times[arc.last + 1],
            rises / scale,
        )
        for arc, _, rises in found
        if rises > 0.0
    ]
    return checked, tuple(sorted(wrong, key=lambda each: -each.impulse))


def _measure(
    trial: Solution, structure: Structure, boundary: BoundaryArc, limit: Constraint
) -> NDArray | None:
    """(sigma, nu at all Gauss points, 0) in objective per range of the limit; None where rows are missing."""
    index, component = boundary.saturation.limit, boundary.saturation.component
    width = limit.upper[component] - limit.lower[component]
    parts = []
    for arc in range(boundary.first, boundary.last + 1):
        rows = ArcRows(index, arc, "held").multipliers(trial.multipliers)
        if rows is None:
            return None
        parts.append(rows[:, component] / gauss(len(rows))[1] / structure.durations[arc])
    densities = np.concatenate(parts)
    entry = ArcRows(index, boundary.first, "held at the start").multipliers(trial.multipliers)
    sigma = densities[:1] if entry is None else entry[:1, component]
    signed = boundary.saturation.side * np.concatenate([sigma, densities, [0.0]])
    return signed * (width if np.isfinite(width) else 1.0)
