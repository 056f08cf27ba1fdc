"""The problems of phases with their links: copies of quantities as parameters, links as constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, ShapeError
from trajopt.graph.keys import parameter_leaf
from trajopt.problem.costs_and_constraints import Constraint, Cost, Parameter
from trajopt.problem.independent_copy import independent_copy
from trajopt.problem.instant import Instant
from trajopt.problem.links.link import Function, TermLink, place
from trajopt.problem.links.phases import Phases
from trajopt.problem.problem import ProblemData
from trajopt.problem.problem_graph import graph_of
from trajopt.terms import term as terms
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.leaf_map import SplineMap
from trajopt.transcription.links.link_bounds import refuse_links_out_of_bounds
from trajopt.transcription.links.linked_guesses import guess_curves_that_meet

PARAMETER = "parameter:"


@dataclass(frozen=True, eq=False)
class LinkedProblems:
    """Every phase's problem with its side of the links.

    copies : names of the parameters that are copies, by phase: those that an equation there defines
    shared : parameter -> the phases that have it, where there are several
    term_links : name of a link of a term -> the copy that both phases define
    hosts : name of another link -> the phase among whose constraints it is
    """

    problems: tuple[ProblemData, ...]
    copies: tuple[frozenset[str], ...]
    shared: Mapping[str, tuple[int, ...]]
    term_links: Mapping[str, str]
    hosts: Mapping[str, int]


@dataclass
class _Linking:
    """Problems under construction."""

    phases: Phases
    problems: list[ProblemData]
    copies: list[set[str]]
    term_links: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, int] = field(default_factory=dict)

    def define(self, instant: Instant, term: Any, name: str, guess: Array | None = None) -> Parameter:
        """The parameter `name` of the instant's phase, with the equation that it is the term there."""
        k = self.phases.number_of(instant)
        problem = self.problems[k]
        if name not in self.copies[k]:
            value = _value_at(problem, term, instant) if guess is None else guess
            unbounded = np.full(value.size, np.inf)
            problem.parameters[name] = Parameter(name, -unbounded, unbounded, value)
            zero = np.zeros(value.size)
            gap = term - terms.parameter(name)
            problem.constraints.append(Constraint(gap, zero, zero, instant.over, name))
            self.copies[k].add(name)
        return problem.parameters[name]

    def join(self, link: TermLink) -> None:
        """One parameter for the term at both instants."""
        name = f"{link.name} where {' and '.join(self._named(each) for each in link.instants)} meet"
        first = self.define(link.instants[0], link.term, name)
        if self.phases.number_of(link.instants[1]) == self.phases.number_of(link.instants[0]):
            problem = self.problems[self.phases.number_of(link.instants[1])]
            zero = np.zeros(link.width)
            gap = link.term - terms.parameter(name)
            problem.constraints.append(Constraint(gap, zero, zero, link.instants[1].over, link.name))
        else:
            self.define(link.instants[1], link.term, name, first.guess)
        self.term_links[link.name] = name

    def host(self, function: Function) -> tuple[int, Any]:
        """The phase that evaluates a function of several instants, and the function as a term of it."""
        chosen = function.instants[function.host]
        k = self.phases.number_of(chosen)
        inputs = {
            place(i, quantity): self._input(k, chosen, instant, quantity)
            for i, (instant, used) in enumerate(zip(function.instants, function.used, strict=True))
            for quantity in used
        }
        return k, function.term(inputs)

    def _input(self, host: int, chosen: Instant, instant: Instant, quantity: str) -> str:
        """What a quantity at an instant is called in the host's phase."""
        k = self.phases.number_of(instant)
        if instant is chosen or (k == host and quantity.startswith(PARAMETER)):
            return quantity
        if quantity.startswith(PARAMETER):
            name = quantity.removeprefix(PARAMETER)
            parameter = self.problems[k].parameters[name]
        else:
            name = f"{quantity} at {self._named(instant)}"
            parameter = self.define(instant, terms.Quantity(quantity), name)
        self.problems[host].parameters.setdefault(name, parameter)
        return parameter_leaf(name)

    def _named(self, instant: Instant) -> str:
        return f"{instant} of {self.phases.phase_names[self.phases.number_of(instant)]}"


def linked_problems(phases: Phases) -> LinkedProblems:
    """Copies of the phases' problems that have all links among their parameters, constraints and costs.

    Raises ShapeError for a parameter that has two widths, InfeasibleBoundsError for one without a value and
    for a link that the conditions of its phases contradict.
    """
    refuse_links_out_of_bounds(phases)
    linking = _Linking(
        phases, [independent_copy(each) for each in phases.problems], [set() for _ in phases.problems]
    )
    guess_curves_that_meet(phases, linking.problems)
    for link in phases.links:
        if isinstance(link, TermLink):
            linking.join(link)
            continue
        k, term = linking.host(link.function)
        over = link.function.instants[link.function.host].over
        linking.problems[k].constraints.append(Constraint(term, link.lower, link.upper, over, link.name))
        linking.hosts[link.name] = k
    for cost in phases.costs:
        k, term = linking.host(cost.function)
        over = cost.function.instants[cost.function.host].over
        linking.problems[k].costs.append(Cost(term, cost.weight, over, cost.function.name))
    if phases.duration_weight:
        for problem in linking.problems:
            problem.minimize(terms.duration, phases.duration_weight, name="total duration")
    return LinkedProblems(
        tuple(linking.problems),
        tuple(frozenset(names) for names in linking.copies),
        dict(_shared(phases, linking.problems)),
        linking.term_links,
        linking.hosts,
    )


def held(problem: ProblemData, values: Mapping[str, Array]) -> ProblemData:
    """A copy of a problem whose parameters of these names have these values, (width,) each."""
    other = independent_copy(problem)
    for name, value in values.items():
        other.parameters[name] = replace(other.parameters[name], lower=value, upper=value, guess=value)
    return other


def _shared(phases: Phases, problems: list[ProblemData]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Parameters that several phases have, and which; slacks of the same name stand for different values."""
    names = phases.phase_names
    own = [
        {name: given for name, given in problem.parameters.items() if not given.is_slack}
        for problem in problems
    ]
    for parameter in dict.fromkeys(name for given in own for name in given):
        having = tuple(k for k, given in enumerate(own) if parameter in given)
        parts = [own[k][parameter] for k in having]
        widths = {part.lower.size for part in parts}
        if len(widths) > 1:
            told = ", ".join(f"{p.lower.size} in '{names[k]}'" for k, p in zip(having, parts, strict=True))
            raise ShapeError(
                f"parameter '{parameter}' is one unknown of several phases but has {told} components: "
                "give it one width, or other names"
            )
        lower, upper = np.max([p.lower for p in parts], axis=0), np.min([p.upper for p in parts], axis=0)
        if np.any(lower > upper):
            raise InfeasibleBoundsError(
                f"parameter '{parameter}' is one unknown of {', '.join(names[k] for k in having)}, whose "
                f"bounds leave it no value: at least {lower} and at most {upper}; widen them, or give the "
                "parameters names of their own"
            )
        if len(having) > 1:
            yield parameter, having


def _value_at(problem: ProblemData, term: Any, instant: Instant) -> Array:
    """The value of a term at an instant of the guess; zero where it is not finite there."""
    spline_map = SplineMap.of(problem)
    graph = graph_of(problem, [term])
    x = spline_map.layout.vector(*first_guess(problem, layout=spline_map.layout))
    with np.errstate(all="ignore"):
        values = graph.values(spline_map.leaf_values(x, set(graph.leaves)))[term.quantity]
    return np.nan_to_num(values[instant.over.nodes(problem.trajectory)[0]], posinf=0.0, neginf=0.0)
