"""Warns of traced terms whose values or slopes jump near the motion that a solve starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trajopt.base.arrays import Array
from trajopt.base.errors import KinkWarning, warn_user
from trajopt.graph.any_arithmetic import Border
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.kinks import Kink, kink_of
from trajopt.graph.quantities import entry
from trajopt.problem.problem import ProblemData

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
