"""Warns of traced terms whose values or slopes jump near the motion that a solve starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.base.errors import KinkWarning, warn_user
from trajopt.graph.any_arithmetic import Border
from trajopt.graph.expression import ExpressionBlock, joined
from trajopt.graph.kinks import Kink, kink_of, sharp_root_of
from trajopt.graph.protocols.block import SymbolicBlock
from trajopt.graph.protocols.term import Term
from trajopt.graph.quantities import entry
from trajopt.problem.problem import ProblemData
from trajopt.terms.nonsmooth import SmoothedTerm, exact_of

ADVICE: Mapping[Border, str] = {
    "absolute value": "costs and upper bounds have trajopt.absolute(term), which is exact",
    "maximum or minimum": "costs and upper bounds have trajopt.maximum(term, ...), lower bounds "
    "trajopt.minimum(term, ...), which are exact",
    "comparison": "make the transition smooth (by np.tanh) or let phases (trajopt.Phases) meet there",
}


def warn_of_kinks(
    block: ExpressionBlock,
    values: Mapping[str, Array],
    problem: ProblemData,
    components: Callable[[str, int], list[str]],
) -> None:
    """KinkWarning where a kink or jump of a traced term is found beside a motion.

    values : of every quantity at the nodes of the motion
    """
    found = kink_of(block, values, given_quantities(problem))
    if found is not None:
        warn_user(_warning_of(block, found, components), KinkWarning)


def warn_of_sharp_roots(
    problem: ProblemData, values: Mapping[str, Array], components: Callable[[str, int], list[str]]
) -> None:
    """KinkWarning where a root in a cost or an upper bound turns within a small part of its range.

    values : of every quantity at the nodes of a motion
    """
    fixed = given_quantities(problem)
    for term in dict.fromkeys(_pressed_down(problem)):
        every = problem.blocks_of(term)
        blocks = [block for block in every if implements(block, SymbolicBlock)]
        if len(blocks) < len(every):
            continue
        widths = {name: width for block in blocks for name, width in block.inputs.items()}
        whole = joined(blocks, widths, {term.quantity})
        root = sharp_root_of(whole, values, fixed) if values.keys() >= whole.inputs.keys() else None
        if root is not None:
            at, column, value = root.where
            warn_user(
                f"'{term.name}': a root turns near {entry(at, column, whole.inputs[at], components)} = "
                f"{value:.4g}, where it is {root.least:.2g}, within a small part of its range, "
                f"{root.usual:.2g}: solvers may take a thousand iterations. Costs and upper bounds have "
                "trajopt.norm(term) and trajopt.absolute(term), which are exact; else smooth a root over a "
                "tenth of its range. If the motion stays away from there, ignore "
                "trajopt.base.errors.KinkWarning by warnings.simplefilter",
                KinkWarning,
            )


def _pressed_down(problem: ProblemData) -> Iterator[Term]:
    """Terms that are minimized or bounded from above alone, those smoothed on purpose left out."""
    stated = [cost.term for cost in problem.costs]
    stated += [
        each.term
        for each in (*problem.constraints, *problem.integrals)
        if np.any(np.isfinite(each.upper) & ~np.isfinite(each.lower))
    ]
    yield from (term for term in stated if exact_of(term) is term and not isinstance(term, SmoothedTerm))


def given_quantities(problem: ProblemData) -> set[str]:
    """Quantities of which no unknown is part: time and data, where all durations are fixed."""
    if problem.trajectory.has_free_duration:
        return set()
    return {"t", "time", "duration", *(data.quantity for data in problem.datasets.values())}


def _warning_of(block: ExpressionBlock, kink: Kink, components: Callable[[str, int], list[str]]) -> str:
    (output, i), (name, j), (at, column, value) = kink.entry, kink.by, kink.where
    what = "value" if kink.what == "value" else f"slope by {entry(name, j, block.inputs[name], components)}"
    return (
        f"{entry(output, i, block.outputs[output], components)}: its {what} jumps from {kink.before:.4g} to "
        f"{kink.after:.4g} at {entry(at, column, block.inputs[at], components)} = {value:.4g}, in "
        f"{'an' if kink.operation[0] == 'a' else 'a'} {kink.operation}. Solvers need continuous slopes: "
        f"{ADVICE[kink.operation]}. If the motion stays away from there, ignore "
        "trajopt.base.errors.KinkWarning by warnings.simplefilter"
    )
