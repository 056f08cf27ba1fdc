"""The table of all inputs of a problem, by the keywords under which `solve` takes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arguments import short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, UnknownNameError, near_matches
from trajopt.graph.quantities import SPLINE_LEAVES
from trajopt.parametric.inputs import (
    UNKNOWNS,
    DataInput,
    DurationInput,
    Input,
    LimitInput,
    LimitPattern,
    PhaseInput,
    WeightInput,
)
from trajopt.problem.constraints.slacks import IntegralConstraint
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint, Parameter
from trajopt.problem.phases import TOTAL, Asked, Link, Phases
from trajopt.problem.problem import Problem
from trajopt.splines.node_sets import Instants
from trajopt.transcription.conditions import linear_equations_among

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
        found = found or [each for each in self.inputs if name in each.short_names]
        if len(found) > 1:
            keywords = list(dict.fromkeys(each.keyword for each in found))
            how = (
                f"name one, {', '.join(keywords)}"
                if len(keywords) > 1
                else "give costs and constraints names"
            )
            raise OptionError(f"{len(found)} inputs are called {short_repr(name)}: {how}")
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

    def applied(self, asked: Asked, values: Mapping[str, object]) -> Asked:
        """A copy of the problem, or of phases, with these values; `asked` stays as it is."""
        changed = asked.independent_copy()
        for name, value in values.items():
            self.find(name).put(changed, value)
        return changed

    def __str__(self) -> str:
        width = max((len(each.keyword) for each in self.inputs), default=0)
        by_name = {name: f"; give it by name, {{'{name}': ...}}" for name in ARGUMENTS}
        return "\n".join(
            f"{each.keyword:<{width}}  {each.form}{by_name.get(each.keyword, '')}" for each in self.inputs
        )


def input_table(asked: Asked, kept_as_rows: Sequence[Collection[int]] = ()) -> InputTable:
    """All inputs of a problem, or of phases.

    kept_as_rows : for every part, numbers of constraints whose equations are rows of the program, so that all
        of them change
    """
    rows = kept_as_rows or [()] * len(asked.parts)
    found = [_inputs_of(problem, kept) for problem, kept in zip(asked.parts, rows, strict=True)]
    inputs = _inputs_of_phases(asked, found) if isinstance(asked, Phases) else found[0]
    return InputTable(tuple(inputs), declared=False)


def rows_for(asked: Asked, inputs: Iterable[Input]) -> list[list[int]]:
    """Numbers of the constraints of every part that have to be rows so that these inputs can change."""
    rows: list[list[int]] = [[] for _ in asked.parts]
    for each in inputs:
        own, k = (each.own, each.phases[0]) if isinstance(each, PhaseInput) else (each, 0)
        if isinstance(own, LimitInput) and own.unchanging.any():
            rows[k].append(own.key)
    return rows


def _inputs_of_phases(phases: Phases, of_parts: Sequence[Sequence[Input]]) -> Iterator[Input]:
    """Inputs of every phase with its name; shared parameters, links and linked costs by their own names."""
    for k, (phase, inputs) in enumerate(zip(phases.phase_names, of_parts, strict=True)):
        for own in inputs:
            having = _phases_with(phases, own) or (k,)
            if len(having) == 1:
                name, keyword = f"{phase}: {own.name}", f"{_identifier(phase)}_{own.keyword}"
                yield PhaseInput(name, keyword, own, having)
            elif having[0] == k:
                yield PhaseInput(own.name, own.keyword, own, having)
    for number, link in enumerate(phases.links):
        if isinstance(link, Link):
            yield _limits("links", number, link)
    yield from (_weight(cost.function.name, number) for number, cost in enumerate(phases.costs))
    if phases.duration_weight:
        yield _weight(TOTAL, None)


def _phases_with(phases: Phases, own: Input) -> tuple[int, ...]:
    """The phases that share a parameter, where all give it the same bounds; none for any other input."""
    if not isinstance(own, LimitInput) or own.table != "parameters":
        return ()
    given = {k: p.parameters[own.name] for k, p in enumerate(phases.problems) if own.name in p.parameters}
    stated = {(*each.lower, *each.upper) for each in given.values()}
    return tuple(given) if len(stated) == 1 else ()


def _inputs_of(problem: Problem, kept_as_rows: Collection[int]) -> list[Input]:
    """The inputs of a problem, or of one phase."""
    found: list[Input] = []
    for number, constraint in enumerate(problem.constraints):
        if constraint.hold == "implied":  # its values are those of the equations from which it follows
            continue
        names = problem.component_names(constraint.term.quantity, constraint.lower.size)
        unchanging = None if number in kept_as_rows else with_values_in_the_matrix(problem, number)
        found.append(_limits("constraints", number, constraint, names, unchanging))
    found += [_limits("integrals", number, integral) for number, integral in enumerate(problem.integrals)]
    for table in UNKNOWNS:
        stated = {
            name: each for name, each in getattr(problem, table).items() if not _is_slack(problem, each)
        }
        found += [_limits(table, name, each) for name, each in stated.items()]
    bounds, arcs = problem.trajectory.duration_bounds, _numbered(len(problem.trajectory.arcs), "arc ")
    timed = (*problem.costs, *problem.constraints)  # by seconds, of which another duration makes other nodes
    if not any(isinstance(each.over, Instants) and each.over.clock == "seconds" for each in timed):
        found.append(DurationInput("duration", "duration", LimitPattern.of(*bounds), arcs))
    found += [DataInput(name, _identifier(name), dataset.width) for name, dataset in problem.datasets.items()]
    return found + [_weight(cost.name, number) for number, cost in enumerate(problem.costs)]


def _is_slack(problem: Problem, unknown: Parameter | AdditionalCurve) -> bool:
    """True for a curve or a parameter that stands for a term with kinks."""
    return unknown.name in problem.slacks or getattr(unknown, "is_slack", False)


def with_values_in_the_matrix(problem: Problem, number: int) -> Array:
    """Mask of the components that are velocities, or zero accelerations, and that free durations multiply.

    v T = B P has the velocity beside the duration; an acceleration is an equation where it is zero only.
    """
    constraint = problem.constraints[number]
    is_rate = constraint.term.quantity in SPLINE_LEAVES[1:]
    return linear_equations_among(problem, constraint) & (is_rate and problem.trajectory.has_free_duration)


def _limits(
    table: str,
    key: int | str,
    stated: Constraint | IntegralConstraint | Link | Parameter | AdditionalCurve,
    names: Sequence[str] = (),
    unchanging: Array | None = None,
) -> LimitInput:
    """The input of what stands in a table; its components are numbered where they have no names."""
    width, match = stated.lower.size, _AT_AN_END.fullmatch(stated.name)
    return LimitInput(
        stated.name,
        "_".join(match.groups()) if match else _identifier(stated.name),
        LimitPattern.of(stated.lower, stated.upper),
        tuple(names) or _numbered(width),
        table,
        key,
        np.zeros(width, dtype=bool) if unchanging is None else unchanging,
    )


def _weight(name: str, number: int | None) -> WeightInput:
    return WeightInput(name, f"weight_{_identifier(name)}", number)


def _numbered(width: int, what: str = "") -> tuple[str, ...]:
    """Names of components, empty where there is one."""
    return tuple(f"{what}{i}" for i in range(width)) if width > 1 else ("",)


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")
