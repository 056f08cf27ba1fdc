"""Resolution of switching arcs: a higher degree for all, or some arcs cut into parts.

Within an arc a motion is analytic, and its Legendre coefficients fall geometrically: raising the degree by m
lowers what is missed between Gauss points by rate^m. How fast they fall is read off the accelerations. Where
no degree that is allowed suffices, or cutting takes fewer nodes, arcs are cut: on p parts of an arc
coefficients fall about p times as fast, so that degree d misses less by p^d (Liu, Hager and Rao, Optim.
Control Appl. Meth. 36, 2015, choose between the two by the same coefficients).

Violations between Gauss points gain, and their margins cost, a first-order change of the objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.certificates.arc_problem import AT_BORDER, BETWEEN, ArcRows, free_arcs
from trajopt.certificates.certificate_record import FirstOrderGain, impulses_by_component
from trajopt.certificates.switching_structure import ArcSettings, Structure
from trajopt.checks.violations import limit_ranges
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import bound_violation
from trajopt.splines.basis import BORDER_SIDE, Curve
from trajopt.splines.quadrature import gauss


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


def arc_gain(trial: Solution, problem: Problem, structure: Structure, settings: ArcSettings) -> ArcGain:
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


def _largest_by_arc(trial: Solution, limits: list[Constraint]) -> list[Array]:
    """Largest violation of each component of every limit on each arc, (arcs, width), not below zero.

    On arcs with equalities at Gauss points violations are largest at the arc's ends, which are looked at.
    """
    curve = trial.curve
    fractions = np.linspace(0.0, 1.0, 6 * curve.bases[0].degree)  # times per degree of an arc
    ends = curve.starts[1:] - BORDER_SIDE * curve.duration * (curve.starts[1:] < curve.duration)
    times = curve.starts[:-1, None] + (ends - curve.starts[:-1])[:, None] * fractions
    values = trial.values(list({limit.term.quantity: limit.term for limit in limits}.values()), times)
    found = []
    for limit in limits:
        violation = bound_violation(values[limit.term.quantity], limit.lower, limit.upper)
        found.append(np.maximum(violation, 0.0).max(axis=1))
    return found


FASTEST, SLOWEST = 1e-3, 0.8  # rates that are believed: rounding hides faster ones, slower ones ask for a cut


@dataclass(frozen=True)
class Resolution:
    """The degree of all arcs, and in how many equal parts each arc of the merged structure is cut."""

    degree: int
    parts: tuple[int, ...]


def finer(curve: Curve, parts: Sequence[int], highest: int, excess: Array) -> Resolution | None:
    """The cheapest change, counted in nodes, by which errors fall by `excess`; None where none is asked.

    parts : of each arc of the merged structure; the arcs of the curve are these parts
    excess : (parts,), by what factor the error of each part is above what it may be
    """
    degree, rates = curve.bases[0].degree, [coefficient_rate(curve, arc) for arc in range(len(curve.bases))]
    # Three times of what is to be gained, as rates are estimates
    wanted = np.where(excess > 1.0, 3.0 * excess, 1.0)
    if np.all(wanted == 1.0):
        return None
    raised = 2 * int(np.ceil(0.5 * float((np.log(wanted) / -np.log(rates)).max())))
    cuts = np.ceil(wanted ** (1.0 / (degree - 1))) * np.where(wanted > 1.0, 1.0, 0.0)
    owner = np.repeat(np.arange(len(parts)), parts)
    fresh = []
    for arc, count in enumerate(parts):
        most = float(cuts[owner == arc].max())
        # One part is cut in three at most
        fresh.append(count if most == 0.0 else int(min(np.ceil(count * max(most, 1.5)), 3 * count)))
    if degree + raised <= highest and raised * len(curve.bases) <= (sum(fresh) - sum(parts)) * (degree - 1):
        return Resolution(degree + raised, tuple(parts))
    return Resolution(degree, tuple(fresh))


def coefficient_rate(curve: Curve, arc: int) -> float:
    """Factor by which the Legendre coefficients of the accelerations on an arc fall from one to the next.

    The larger of the last two against the largest in the middle, in geometric mean, each joint relative to
    its largest acceleration; even and odd coefficients may vanish by symmetry.
    """
    basis, duration = curve.bases[arc], curve.durations[arc]
    count = basis.degree - 1
    points, weights = gauss(count)
    values = basis.evaluate(curve.control_points[arc], points, 2) / duration**2
    transform = np.polynomial.legendre.legvander(2.0 * points - 1.0, count - 1) * weights[:, None]
    coefficients = np.abs(transform.T @ values) * (2.0 * np.arange(count)[:, None] + 1.0)
    size = np.abs(values).max(axis=0)
    relative = (coefficients[:, size > 0.0] / size[size > 0.0]).max(axis=1, initial=0.0)
    middle = count // 2
    first, last = relative[middle - 1 : middle + 1].max(), relative[-2:].max()
    if not (first > 0.0 and last > 0.0):
        return FASTEST
    return float(np.clip((last / first) ** (1.0 / (count - 1 - middle)), FASTEST, SLOWEST))
