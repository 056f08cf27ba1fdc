"""Taylor models of terms over an interval of a solution's motion, where all their blocks offer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trajopt.checks.lines.statement_times import Interval
from trajopt.graph.keys import parameter_leaf
from trajopt.problem.problem_graph import graph_of
from trajopt.taylor_models.graph_models import can_be_enclosed, graph_models
from trajopt.taylor_models.leaf_pieces import LeafPieces, Model, leaf_pieces
from trajopt.taylor_models.suprema import Evaluation

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData


def term_models(
    solution: SolutionData, terms: list[Any], interval: Interval
) -> tuple[LeafPieces, Evaluation] | None:
    """The pieces of the motion, and what evaluates terms on pieces; None where they have no models.

    The evaluation raises NotImplementedError where a block meets an operation that has no bound.
    """
    problem = solution.as_built
    graph = graph_of(problem, terms)
    if not can_be_enclosed(graph):
        return None
    used = {name for block in graph.blocks for name in block.inputs} & graph.leaves.keys()
    used |= {term.quantity for term in terms} & graph.leaves.keys()
    parameters = {parameter_leaf(name): value for name, value in solution.parameters.items()}
    try:
        pieces = leaf_pieces(
            solution.curve, problem.spline_leaves, parameters, used, interval.first, interval.last
        )
    except NotImplementedError:
        return None

    def evaluate(some: LeafPieces) -> Mapping[str, Model]:
        return graph_models(graph, some.models())

    return pieces, evaluate
