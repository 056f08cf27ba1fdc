"""Bounds of violations for all times by Taylor models, where every block of a term offers them.

Torques and joint wrenches, under loads too, poses and velocities of links and frames, momentum and energies
are bounded, and traced terms of them, of curves, time and parameters that are made of + - * /, powers, roots,
trigonometric and hyperbolic functions and their inverses, exp, log, |x|, min, max and comparisons. Of
everything else, given data and blocks of NumPy, there are only samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from trajopt.base.arguments import implements
from trajopt.checks.check_result import CheckResult, Interval
from trajopt.graph.protocols.block import AnyArithmeticBlock
from trajopt.graph.quantities import parameter_leaf
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.solution import SolutionData
from trajopt.taylor_models.leaf_pieces import LeafPieces, graph_models, leaf_pieces
from trajopt.taylor_models.suprema import Evaluation, Supremum, find_suprema

OF_TOLERANCE = 0.1  # by how much of it a bound may exceed what the motion reaches
OF_MARGIN = 1e-3  # the same, of the margin with which a limit holds; of the tolerance of an integral


def term_models(
    solution: SolutionData, terms: list[Any], interval: Interval
) -> tuple[LeafPieces, Evaluation] | None:
    """The pieces of the motion, and what evaluates terms on pieces; None where they have no models.

    The evaluation raises NotImplementedError where a block meets an operation that has no bound.
    """
    problem = solution.as_built
    graph = graph_of(problem, terms)
    if not all(implements(block, AnyArithmeticBlock) for block in graph.blocks):
        return None
    used = (graph.inputs | {term.quantity for term in terms}) & graph.leaves.keys()
    parameters = {parameter_leaf(name): value for name, value in solution.parameters.items()}
    try:
        pieces = leaf_pieces(
            solution.curve, problem.spline_leaves, parameters, used, interval.first, interval.last
        )
    except NotImplementedError:
        return None

    return pieces, partial(graph_models, graph)


def suprema(
    solution: SolutionData, results: Sequence[CheckResult], tolerances: Sequence[float]
) -> list[Supremum | None]:
    """The least upper bounds of violations that samples find within their tolerance; None of all others.

    A bound at or below the tolerance proves that no violation exceeds it at any time; where the search meets
    a larger violation between the samples, that is what is `reached`.
    """
    found: list[Supremum | None] = [None] * len(results)
    together: dict[tuple[Interval, str], list[int]] = {}
    for number, (result, tolerance) in enumerate(zip(results, tolerances, strict=True)):
        place = result.place if result.bound is None and not result.jumps else None
        if place is not None and result.worst.value <= tolerance:
            key = place.interval, place.constraint.term.quantity
            together.setdefault(key, []).append(number)
    for (interval, _), numbers in together.items():
        asked = [_supremum(results[number], tolerances[number]) for number in numbers]
        place = results[numbers[0]].place
        assert place is not None
        models = term_models(solution, [place.constraint.term], interval)
        if models is None:
            continue
        try:
            find_suprema(*models, asked)
        except NotImplementedError:
            continue
        for number, supremum in zip(numbers, asked, strict=True):
            found[number] = supremum
    return found


def _supremum(result: CheckResult, tolerance: float) -> Supremum:
    place, worst = result.place, result.worst
    assert place is not None
    sharpness = max(OF_TOLERANCE * tolerance, -OF_MARGIN * worst.value)
    quantity, component = place.constraint.term.quantity, place.component
    bounds = result.lower, result.upper
    return Supremum(quantity, component, *bounds, worst.value, sharpness, tolerance, time=worst.time)
