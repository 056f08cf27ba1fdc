"""The table of all inputs of a problem, by the keywords under which `solve` takes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError, UnknownNameError, near_matches
from trajopt.graph.keys import SPLINE_LEAVES
from trajopt.parametric.inputs import (
    BoundsInput,
    DataInput,
    DurationInput,
    Input,
    LimitInput,
    WeightInput,
)
from trajopt.parametric.limit_pattern import LimitPattern
from trajopt.problem.independent_copy import independent_copy
from trajopt.problem.problem import ProblemData
from trajopt.transcription.linear_equations.linear_rows import linear_equations_among

ARGUMENTS = ("start", "solver", "progress")  # of `solve`, which inputs of these names are not
_AT_AN_END = re.compile(r"(\w+) at the (start|end)")


@dataclass(frozen=True, eq=False)
class InputTable:
    """The inputs of a problem, found by keyword or name; one that several inputs share is refused.

    declared : whether the user named them; else all that were found may change
    """

    inputs: tuple[Input, ...]
    declared: bool

    def __iter__(self) -> Iterator[Input]:
        return iter(self.inputs)

    def find(self, name: str) -> Input:
        """The input of this keyword, or of this name in the problem; UnknownNameError or OptionError."""
        found = [each for each in self.inputs if name in each.names]
        if len(found) > 1:
            raise OptionError(
                f"{len(found)} inputs are called {short_repr(name)}: give costs and constraints names"
            )
        if not found:
            known = [each.keyword for each in self.inputs]
            hint = " (trajopt.compile(problem, inputs=[...]) names what may change)" if self.declared else ""
            raise UnknownNameError(
                f"no input is called {short_repr(name)}{near_matches(name, known)}: there are "
                f"{', '.join(known) or 'none'}{hint}"
            )
        return found[0]

    def chosen(self, names: Sequence[str]) -> InputTable:
        """The inputs that the user named."""
        return InputTable(tuple(dict.fromkeys(self.find(name) for name in names)), declared=True)

    def applied(self, problem: ProblemData, values: Mapping[str, Any]) -> ProblemData:
        """A copy of the problem with these values; the problem stays as it is."""
        changed = independent_copy(problem)
        for name, value in values.items():
            self.find(name).put(changed, value)
        return changed

    def __str__(self) -> str:
        width = max((len(each.keyword) for each in self.inputs), default=0)
        by_name = {name: f"; give it by name, {{'{name}': ...}}" for name in ARGUMENTS}
        return "\n".join(
            f"{each.keyword:<{width}}  {each.form}{by_name.get(each.keyword, '')}" for each in self.inputs
        )


def input_table(problem: ProblemData, kept_as_rows: Collection[int] = ()) -> InputTable:
    """All inputs of a problem.

    kept_as_rows : numbers of constraints whose equations are rows of the program, so that all of them change
    """
    found: list[Input] = []
    for number, constraint in enumerate(problem.constraints):
        names = problem.component_names(constraint.term.quantity, constraint.lower.size)
        unchanging = np.zeros(constraint.lower.size, dtype=bool)
        if number not in kept_as_rows:
            unchanging = with_values_in_the_matrix(problem, number)
        found.append(_limits("constraints", number, constraint, names, unchanging))
    for number, integral in enumerate(problem.integrals):
        names = [str(i) for i in range(integral.lower.size)]
        found.append(_limits("integrals", number, integral, names, np.zeros(integral.lower.size, dtype=bool)))
    for table in ("parameters", "extras"):
        for name, unknown in getattr(problem, table).items():
            pattern = LimitPattern.of(unknown.lower, unknown.upper)
            found.append(BoundsInput(name, _identifier(name), table, pattern))
    bounds = np.array([arc.duration_bounds for arc in problem.trajectory.arcs]).T
    found.append(DurationInput("duration", "duration", LimitPattern.of(bounds[0], bounds[1])))
    for name, data in problem.datasets.items():
        found.append(DataInput(name, _identifier(name), data.width))
    for number, cost in enumerate(problem.costs):
        found.append(WeightInput(cost.name, f"weight_{_identifier(cost.name)}", number))
    return InputTable(tuple(found), declared=False)


def with_values_in_the_matrix(problem: ProblemData, number: int) -> np.ndarray:
    """Which components of a constraint are velocities, or zero accelerations, that free durations multiply.

    v T = B P has the velocity beside the duration; an acceleration is an equation where it is zero only.
    """
    constraint = problem.constraints[number]
    free = any(arc.duration_bounds[0] < arc.duration_bounds[1] for arc in problem.trajectory.arcs)
    equations = linear_equations_among(problem, constraint)
    rate = constraint.term.quantity in SPLINE_LEAVES[1:]
    return equations if free and rate else np.zeros_like(equations)


def _limits(table: str, number: int, stated: Any, names: Sequence[str], unchanging: np.ndarray) -> LimitInput:
    match = _AT_AN_END.fullmatch(stated.name)
    keyword = "_".join(match.groups()) if match else _identifier(stated.name)
    pattern = LimitPattern.of(stated.lower, stated.upper)
    return LimitInput(stated.name, keyword, table, number, tuple(names), pattern, unchanging)


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")
