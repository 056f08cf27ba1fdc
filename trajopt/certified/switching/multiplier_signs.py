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

Also here: first-order gain of violations between Gauss points on switching arcs, and the cost of their
margins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arrays import Array
from trajopt.certificates.arc_problem import AT_BORDER, BETWEEN, ArcRows, Part, free_arcs
from trajopt.certificates.certificate_lines import limit_ranges
from trajopt.certificates.certificate_record import FirstOrderGain, impulses_by_component
from trajopt.certificates.switching_structure import ArcSettings, Contradiction, Saturation, Structure
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.limit_order import limit_order
from trajopt.problem.problem import ProblemData
from trajopt.solution.solution import SolutionData
from trajopt.solvers.kkt import bound_violation
from trajopt.splines.basis import BORDER_SIDE
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
    trial: SolutionData, problem: ProblemData, structure: Structure
) -> tuple[int, tuple[Contradiction, ...]]:
    """Number of pairs of arc and velocity or position at its limit that were checked, and all wrong signs.

    trial : the solution on arcs with the multipliers of its own rows, before `read_back`
    The largest wrong sign comes first.
    """
    found: list[tuple[BoundaryArc, NDArray]] = []
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
    trial: SolutionData, structure: Structure, boundary: BoundaryArc, limit: Constraint, order: int
) -> NDArray | None:
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


def _entry(trial: SolutionData, boundary: BoundaryArc, part: Part) -> NDArray:
    """The multiplier of what is held at the entry, (1,), or nothing where the motion's start gives it."""
    rows = ArcRows(boundary.saturation.limit, boundary.first, part).multipliers(trial.multipliers)
    return np.empty(0) if rows is None else rows[:1, boundary.saturation.component]


SAMPLES = 6  # times per degree of an arc


@dataclass(frozen=True, eq=False)
class ArcGain:
    """Gains of oversteps, arc by arc, and costs of margins, in units of the objective and to first order.

    oversteps : (arcs,), sum of |multiplier| times the largest violation on the arc
    held : (arcs,), largest violation of a saturated limit on the arc, relative to the limit's range
    margins : of all arcs
    """

    oversteps: Array
    held: Array
    margins: float

    def relative(self, objective: float) -> FirstOrderGain:
        """Both sums as parts of the objective."""
        return FirstOrderGain.of(float(self.oversteps.sum()), self.margins, objective)


def arc_gain(
    trial: SolutionData, problem: ProblemData, structure: Structure, settings: ArcSettings
) -> ArcGain:
    """Gain by the multipliers of all rows that bound a limit, those of equalities at an arc's start included.

    trial : the solution on arcs with the multipliers of its own rows, before `read_back`
    settings : how limits were imposed; free margins where a limit is inactive on an arc with free joints
    """
    limits, count = problem.path_limits(), structure.arc_count
    oversteps, held, margins = np.zeros(count), np.zeros(count), 0.0
    free = free_arcs(structure, problem.dynamics.n, settings.regular)
    largest = _largest_by_arc(trial, limits)
    for index, limit in enumerate(limits):
        width, violations = limit.lower.size, largest[index]
        between = impulses_by_component(
            trial.multipliers, [f"{limit.name} {BETWEEN}", f"{limit.name} {AT_BORDER}"], width
        )
        margin, free_margin = settings.margins_of(index, limit)
        margins += float(between @ (margin + free_margin))
        for arc, saturated in enumerate(structure.saturated):
            names = [ArcRows(index, arc).name, ArcRows(index, arc, "held at the start").name]
            impulses = impulses_by_component(trial.multipliers, names, width)
            inside = np.isin(np.arange(width), [s.component for s in saturated if s.limit == index])
            oversteps[arc] += impulses @ violations[arc]
            margins += float(impulses @ (margin + free_margin * ~inside * free[arc]))
            relative = violations[arc] / limit_ranges(limit)
            held[arc] = max(held[arc], float(relative[inside].max(initial=0.0)))
        oversteps += between @ violations.max(axis=0) / count  # rows of all arcs in one
    return ArcGain(oversteps, held, margins)


def _largest_by_arc(trial: SolutionData, limits: list[Constraint]) -> list[Array]:
    """Largest violation of each component of every limit on each arc, (arcs, width), not below zero.

    On arcs with equalities at Gauss points violations are largest at the arc's ends, which are looked at.
    """
    curve = trial.curve
    fractions = np.linspace(0.0, 1.0, SAMPLES * curve.bases[0].degree)
    ends = curve.starts[1:] - BORDER_SIDE * curve.duration * (curve.starts[1:] < curve.duration)
    times = curve.starts[:-1, None] + (ends - curve.starts[:-1])[:, None] * fractions
    values = trial.values(list({limit.term.quantity: limit.term for limit in limits}.values()), times)
    found = []
    for limit in limits:
        violation = bound_violation(values[limit.term.quantity], limit.lower, limit.upper)
        found.append(np.maximum(violation, 0.0).max(axis=1))
    return found
