"""Bounds of sampled statements for all times, by Taylor models, where every block of a term offers them.

Torques and joint wrenches of trees of revolute and prismatic joints are bounded, and traced terms of them, of
curves, time and parameters that are made of + - * /, powers, roots, sin, cos, tan, exp and log. Everything
else keeps its sampled line: torques under loads, positions of links, given data, blocks of NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trajopt.enclosures.graph_models import can_be_enclosed, graph_models
from trajopt.enclosures.leaf_pieces import LeafPieces, Model, leaf_pieces
from trajopt.enclosures.suprema import MOST_PIECES, Supremum, find_suprema
from trajopt.graph.leaves import parameter_leaf
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.statements.statement_line import StatementLine
from trajopt.solution.statements.statement_times import Interval

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

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


def enclosed(solution: Solution, sampled: Sequence[SampledLine]) -> list[StatementLine]:
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


def _bounded(solution: Solution, some: Sequence[SampledLine], interval: Interval) -> list[StatementLine]:
    """The lines of one term over one interval."""
    problem, term = solution.problem, some[0].constraint.term
    graph = graph_of(problem, [term])
    if not can_be_enclosed(graph):
        return [each.line for each in some]

    def evaluate(pieces: LeafPieces) -> Mapping[str, Model]:
        return graph_models(graph, pieces.models())

    asked = [_supremum(each) for each in some]
    used = {name for block in graph.blocks for name in block.inputs} & graph.leaves.keys()
    parameters = {parameter_leaf(name): value for name, value in solution.parameters.items()}
    try:
        pieces = leaf_pieces(
            solution.curve, problem.spline_leaves, parameters, used, interval.first, interval.last
        )
        find_suprema(pieces, evaluate, asked)
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
