"""First-order gain of violations between Gauss points on switching arcs, and the cost of their margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.certificates.arc_problem import AT_BORDER, BETWEEN, ArcRows, free_arcs
from trajopt.certificates.first_order_gain import FirstOrderGain, impulses_by_component
from trajopt.certificates.limit_violations import limit_ranges
from trajopt.certificates.switching_structure import ArcSettings, Structure
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import ProblemData
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import bound_violation
from trajopt.splines.basis import BORDER_SIDE

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
