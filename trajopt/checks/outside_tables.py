"""Tables and data of a problem that its solution reads beyond their ends, where they are only continued."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trajopt.checks.peaks_between_nodes import node_samples
from trajopt.graph.data import DataBlock
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.protocols import Block
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.solution import SolutionData
from trajopt.solvers.solver import FEASIBILITY


def outside_tables(solution: SolutionData) -> list[str]:
    """One sentence for every table or data that costs and constraints read beyond its ends, by how much.

    They are read at the nodes. Less than a millionth of the range, by which bounds may be exceeded, does not
    count. Tables are those of `casadi.interpolant(name, "bspline", ...)`.
    """
    problem, worst = solution.problem, dict[str, tuple[float, str]]()
    stated = [(each.term, each.over) for each in (*problem.costs, *problem.constraints, *problem.integrals)]
    read = [(block, over) for term, over in stated for block in _reading(problem.blocks_of(term))]
    if not read:
        return []
    graph = graph_of(problem, {term.quantity: term for term, _ in stated}.values())
    values, samples = graph.values(solution.leaves(solution.node_times)), node_samples(solution)
    for block, over in read:
        at = over.mask(samples)
        goes_on = "it is constant" if isinstance(block, DataBlock) else "its tangent goes on"
        for table, i, (first, last), x in block.table_arguments(values):
            beyond = np.where(at, np.maximum(first - x, x - last), -np.inf)
            k = int(np.argmax(beyond))
            if beyond[k] <= max(FEASIBILITY * (last - first), worst.get(table, (0.0, ""))[0]):
                continue
            which = table if i is None else f"{table}, argument {i + 1},"
            time = solution.node_times[k]
            worst[table] = (
                float(beyond[k]),
                (
                    f"{which} covers {first:.4g} to {last:.4g} and is read at {x[k]:.4g} (t = {time:.4g} s), "
                    f"{beyond[k]:.4g} outside: {goes_on} there"
                ),
            )
    return [text for _, text in worst.values()]


def _reading(blocks: Sequence[Block]) -> Iterator[DataBlock | ExpressionBlock]:
    """The blocks that read tables or data."""
    for block in blocks:
        if isinstance(block, DataBlock) or (isinstance(block, ExpressionBlock) and block.has_tables):
            yield block
