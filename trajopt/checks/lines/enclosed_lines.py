"""Bounds of sampled statements for all times, by Taylor models, where every block of a term offers them.

Torques and joint wrenches, under loads too, poses and velocities of links and frames, momentum and energies
are bounded, and traced terms of them, of curves, time and parameters that are made of + - * /, powers, roots,
trigonometric and hyperbolic functions and their inverses, exp, log, |x|, min, max and comparisons. Everything
else keeps its sampled line: given data, blocks of NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trajopt.checks.lines.statement_line import StatementLine
from trajopt.checks.lines.statement_times import Interval
from trajopt.checks.lines.term_models import term_models
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.taylor_models.suprema import MOST_PIECES, Supremum, find_suprema

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

OF_TOLERANCE = 0.1  # by how much of it a bound may exceed what the statement reaches
OF_MARGIN = 1e-3  # the same, of the margin with which a limit holds
RAN_OUT = f"no bound on {MOST_PIECES} pieces"


@dataclass(frozen=True, eq=False)
class SampledLine:
    """A sampled line, and the component of a constraint over an interval that it is about."""

    line: StatementLine
    constraint: Constraint
    component: int
    interval: Interval


def enclosed(solution: SolutionData, sampled: Sequence[SampledLine]) -> list[StatementLine]:
    """The lines, those that hold with a bound instead of samples where one is found."""
    found = [each.line for each in sampled]
    together: dict[tuple[Interval, str], list[int]] = {}
    for place, each in enumerate(sampled):
        if each.line.holds:
            quantity = each.constraint.term.quantity
            together.setdefault((each.interval, quantity), []).append(place)
    for (interval, _), places in together.items():
        lines = _bounded(solution, [sampled[place] for place in places], interval)
        for place, line in zip(places, lines, strict=True):
            found[place] = line
    return found


def _bounded(solution: SolutionData, some: Sequence[SampledLine], interval: Interval) -> list[StatementLine]:
    """The lines of one term over one interval."""
    models = term_models(solution, [some[0].constraint.term], interval)
    if models is None:
        return [each.line for each in some]
    asked = [_supremum(each) for each in some]
    try:
        find_suprema(*models, asked)
    except NotImplementedError:
        return [each.line for each in some]
    return [_with_bound(each.line, supremum) for each, supremum in zip(some, asked, strict=True)]


def _supremum(each: SampledLine) -> Supremum:
    constraint, c, line = each.constraint, each.component, each.line
    lower, upper = float(constraint.lower[c]), float(constraint.upper[c])
    sharpness = max(OF_TOLERANCE * line.tolerance, -OF_MARGIN * line.value)
    return Supremum(
        constraint.term.quantity, c, lower, upper, line.value, sharpness, line.tolerance, time=line.time
    )


def _with_bound(line: StatementLine, supremum: Supremum) -> StatementLine:
    """The line with the bound; with a violation between samples that the search met; or as it was."""
    if supremum.reached > line.tolerance:
        return replace(line, value=supremum.reached, time=supremum.time)
    if supremum.value <= line.tolerance:
        value = max(supremum.value, line.value)  # samples carry the rounding errors of their evaluation
        return replace(line, value=value, time=supremum.time, evidence="enclosure", resolution=0.0)
    return replace(line, note=RAN_OUT)
