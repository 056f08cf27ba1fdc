"""Sign check of the multipliers of velocities and positions at their limits, on boundary arcs.

Pontryagin's multiplier of v <= limit is a measure eta >= 0 in time, and so is that of q <= limit. On arcs,
v = limit is imposed by v = limit at the entry, with the multiplier sigma, and by a = 0 at Gauss points, with
the multiplier densities

    nu(t) = eta((t, exit]),        sigma = eta([entry, exit]),

so that sigma >= nu(t_1) >= nu(t_2) >= ... >= 0. q = limit is imposed by q = limit and v = 0 at the entry,
with the multipliers sigma and rho, and by a = 0 at Gauss points; integrating by parts once more,

    nu(t) = integral from t to the exit of (s - t) d eta(s),        rho = nu(entry),        sigma as before,

so that nu falls to zero with slopes -nu' = eta((t, exit]) that fall from sigma to zero, too (multipliers of
state constraints: Hartl, Sethi and Vickson, SIAM Rev. 37, 1995). Every increase is a part of eta with the
wrong sign, where the objective would fall by leaving the limit. A boundary arc of one joint covers all
neighbouring polynomial arcs on which it is at the same bound. Where it ends with the motion, in a state that
is given, the measure of that last instant is not determined, and only changes on the way are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.certificates.arc_problem import ArcRows, Part
from trajopt.certificates.switching_structure import Contradiction, Saturation, Structure
from trajopt.checks.violations import limit_ranges
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import limit_order
from trajopt.solution.solution import Solution
from trajopt.splines.quadrature import gauss


@dataclass(frozen=True)
class BoundaryArc:
    """Neighbouring arcs `first` to `last` of a structure, one velocity or position at its limit on all."""

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


def boundary_sign_check(
    trial: Solution, problem: Problem, structure: Structure
) -> tuple[int, tuple[Contradiction, ...]]:
    """Number of pairs of arc and velocity or position at its limit that were checked, and all wrong signs.

    trial : the solution on arcs with the multipliers of its own rows, before `read_back`
    The largest wrong sign comes first.
    """
    found: list[tuple[BoundaryArc, Array]] = []
    for index, limit in enumerate(problem.path_limits()):
        order = limit_order(problem, limit)
        if order not in (0, 1):
            continue
        for arc in boundary_arcs(structure, index):
            measure = _measure(trial, structure, arc, limit, order)
            if measure is not None:
                found.append((arc, measure))
    scale = max((abs(float(measure[0])) for _, measure in found), default=0.0) or 1.0
    wrong = []
    for arc, measure in found:
        impulse = float(np.maximum(np.diff(measure), 0.0).sum()) / scale
        window = structure.times[arc.first], structure.times[arc.last + 1]
        wrong.append(Contradiction(arc.first, arc.saturation, *window, impulse))
    checked = sum(arc.last - arc.first + 1 for arc, _ in found)
    return checked, tuple(sorted((w for w in wrong if w.impulse > 0.0), key=lambda each: -each.impulse))


def _measure(
    trial: Solution, structure: Structure, boundary: BoundaryArc, limit: Constraint, order: int
) -> Array | None:
    """Residuals that must fall to zero, sigma first, in objective per range of the limit; None without rows.

    Of a velocity nu at all Gauss points, of a position the slopes of -nu from point to point.
    """
    index, component = boundary.saturation.limit, boundary.saturation.component
    times, densities = [], []
    for arc in range(boundary.first, boundary.last + 1):
        rows = ArcRows(index, arc, "held").multipliers(trial.multipliers)
        if rows is None:
            return None
        points, weights = gauss(len(rows))
        times.append(structure.times[arc] + structure.durations[arc] * points)
        densities.append(rows[:, component] / weights / structure.durations[arc])
    nu, at = np.concatenate(densities), np.concatenate(times)
    if boundary.last < structure.arc_count - 1:  # else what the end asks for is held there, too
        nu, at = np.append(nu, 0.0), np.append(at, structure.times[boundary.last + 1])
    sigma = _entry(trial, boundary, "held at the start")
    if order == 0:
        rho = _entry(trial, boundary, "still at the start")
        nu, at = np.append(rho, nu), np.append([structure.times[boundary.first]] * rho.size, at)
        nu = -np.diff(nu) / np.diff(at)
        nu = np.append(nu, [0.0] * (boundary.last < structure.arc_count - 1))
    signed = boundary.saturation.side * np.append(sigma if sigma.size else nu[:1], nu)
    return signed * limit_ranges(limit)[component]


def _entry(trial: Solution, boundary: BoundaryArc, part: Part) -> Array:
    """The multiplier of what is held at the entry, (1,), or nothing where the motion's start gives it."""
    rows = ArcRows(boundary.saturation.limit, boundary.first, part).multipliers(trial.multipliers)
    return np.empty(0) if rows is None else rows[:1, boundary.saturation.component]
