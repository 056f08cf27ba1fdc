"""The problems of phases with their links: copies of quantities as parameters, links as constraints.

What links add to the problems (`Links`) is structure. Their limits, the weights of their costs, and the
bounds of the parameters that they take from other phases are values of the phases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, ShapeError
from trajopt.graph.quantities import PARAMETER, is_parameter, parameter_leaf
from trajopt.problem.costs_and_constraints import Constraint, Cost, Parameter
from trajopt.problem.links.link import Function, PhaseInstant, TermLink, place
from trajopt.problem.links.phases import TOTAL, Phases
from trajopt.problem.problem import ProblemData
from trajopt.problem.problem_graph import graph_of
from trajopt.splines.node_sets import END, NodeSet
from trajopt.terms import term as terms
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.leaf_map import SplineMap
from trajopt.transcription.links.link_bounds import refuse_links_out_of_bounds
from trajopt.transcription.links.linked_guesses import guess_curves_that_meet


@dataclass(frozen=True, eq=False)
class Copy:
    """A term (width,) at an instant, which a parameter of the same or another phase equals."""

    instant: PhaseInstant
    term: Any
    width: int


@dataclass(frozen=True, eq=False)
class Side:
    """Parameters, constraints and costs that links add to the problem of one phase.

    parameters : name -> the copy that it is, or the phase whose parameter it is
    constraints : with the number of the link whose limits they have, None where these are zero
    costs : with the number of the linked cost whose weight they have, None for that of the total duration
    """

    parameters: dict[str, Copy | int] = field(default_factory=dict)
    constraints: list[tuple[Constraint, int | None]] = field(default_factory=list)
    costs: list[tuple[Cost, int | None]] = field(default_factory=list)

    def equate(self, term: Any, parameter: str, width: int, over: NodeSet, name: str) -> None:
        """Add the equation that a term is a parameter."""
        zero = np.zeros(width)
        self.constraints.append((Constraint(term - terms.parameter(parameter), zero, zero, over, name), None))


@dataclass(frozen=True, eq=False)
class Links:
    """Structure that links add to the problems of all phases, whatever their values are.

    names : of the phases
    rows : name of a link -> the phase and the name of the constraint there whose multiplier it has
    """

    names: tuple[str, ...]
    sides: tuple[Side, ...]
    rows: dict[str, tuple[int, str]] = field(default_factory=dict)

    def problem(self, phases: Phases, k: int) -> ProblemData:
        """The problem of phase k with its side of the links; copies have no guess yet."""
        problem, side = phases.problems[k].independent_copy(), self.sides[k]
        for name, source in side.parameters.items():
            if isinstance(source, Copy):
                unbounded = np.full(source.width, np.inf)
                parameter = Parameter(name, -unbounded, unbounded, np.zeros(source.width))
            else:
                parameter = phases.problems[source].parameters[name]
            problem.parameters.setdefault(name, parameter)
        for constraint, link in side.constraints:
            limits: Any = constraint if link is None else phases.links[link]
            problem.constraints.append(replace(constraint, lower=limits.lower, upper=limits.upper))
        for cost, number in side.costs:
            weight = phases.duration_weight if number is None else phases.costs[number].weight
            problem.costs.append(replace(cost, weight=weight))
        return problem

    def define(
        self, instant: PhaseInstant, term: Any, width: int, name: str, like: Copy | None = None
    ) -> Copy:
        """The copy `name` in the instant's phase, with the equation that it is the term there.

        like : the copy of another phase that it is, too
        """
        side, own = self.sides[instant.phase], like or Copy(instant, term, width)
        if all(constraint.name != name for constraint, _ in side.constraints):
            side.parameters[name] = own
            side.equate(term, name, width, instant.over, name)
        return own

    def join(self, link: TermLink) -> None:
        """One parameter for the term at both instants."""
        name = f"{link.name} where {' and '.join(self._named(instant) for instant in link.instants)} meet"
        one, other = link.instants
        first = self.define(one, link.term, link.width, name)
        if one.phase == other.phase:
            self.sides[one.phase].equate(link.term, name, link.width, other.over, link.name)
        else:
            self.define(other, link.term, link.width, name, first)
        self.rows[link.name] = min(one.phase, other.phase), name

    def host(self, function: Function) -> tuple[int, Any, NodeSet]:
        """The phase that evaluates a function of instants, the function as a term of it, and where."""
        chosen = function.instants[function.host]
        inputs = {
            place(i, quantity): self._input(
                chosen, instant, quantity, function.block.inputs[place(i, quantity)]
            )
            for i, (instant, used) in enumerate(zip(function.instants, function.used, strict=True))
            for quantity in used
        }
        return chosen.phase, function.term(inputs), chosen.over

    def _input(self, chosen: PhaseInstant, instant: PhaseInstant, quantity: str, width: int) -> str:
        """The name of a quantity at an instant in the phase of the chosen one, which is the host."""
        if instant == chosen or (instant.phase == chosen.phase and is_parameter(quantity)):
            return quantity
        if is_parameter(quantity):
            name, source = quantity.removeprefix(PARAMETER), instant.phase
        else:
            name = f"{quantity} at {self._named(instant)}"
            source = self.define(instant, terms.Quantity(quantity), width, name)
        self.sides[chosen.phase].parameters.setdefault(name, source)
        return parameter_leaf(name)

    def _named(self, instant: PhaseInstant) -> str:
        return f"{instant.name} of {self.names[instant.phase]}"


@dataclass(frozen=True, eq=False)
class LinkedProblems:
    """Every phase's problem with its side of the links.

    shared : parameter -> the phases that have it, where there are several
    """

    phases: Phases
    problems: tuple[ProblemData, ...]
    links: Links
    shared: Mapping[str, tuple[int, ...]]


def links_of(phases: Phases) -> Links:
    """The structure that the links and the linked costs of phases add to their problems."""
    links = Links(phases.phase_names, tuple(Side() for _ in phases.problems))
    for number, link in enumerate(phases.links):
        if isinstance(link, TermLink):
            links.join(link)
            continue
        k, term, over = links.host(link.function)
        stated = Constraint(term, link.lower, link.upper, over, link.name)
        links.sides[k].constraints.append((stated, number))
        links.rows[link.name] = k, link.name
    for number, cost in enumerate(phases.costs):
        k, term, over = links.host(cost.function)
        links.sides[k].costs.append((Cost(term, cost.weight, over, cost.function.name), number))
    if phases.duration_weight:
        for side in links.sides:
            side.costs.append((Cost(terms.duration, phases.duration_weight, END, TOTAL), None))
    return links


def linked_problems(phases: Phases, links: Links | None = None, *, guessed: bool = True) -> LinkedProblems:
    """Copies of the phases' problems that have all links among their parameters, constraints and costs.

    links : of these phases, or of such that differ in values alone, where they are known already
    guessed : whether copies get guesses, and curves that links join
    Raises ShapeError for a parameter that has two widths, InfeasibleBoundsError for one without a value and
    for a link that the conditions of its phases contradict.
    """
    refuse_links_out_of_bounds(phases)
    links = links or links_of(phases)
    problems = tuple(links.problem(phases, k) for k in range(len(phases.problems)))
    if guessed:
        guess_curves_that_meet(phases, problems)
        _guess_copies(problems, links)
    return LinkedProblems(phases, problems, links, dict(_shared(phases, problems)))


def held(problem: ProblemData, values: Mapping[str, Array]) -> ProblemData:
    """A copy of a problem whose parameters of these names have these values, (width,) each."""
    other = problem.independent_copy()
    for name, value in values.items():
        other.parameters[name] = replace(other.parameters[name], lower=value, upper=value, guess=value)
    return other


def _shared(phases: Phases, problems: Sequence[ProblemData]) -> Iterator[tuple[str, tuple[int, ...]]]:
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
            sizes = ", ".join(f"{p.lower.size} in '{names[k]}'" for k, p in zip(having, parts, strict=True))
            raise ShapeError(
                f"parameter '{parameter}' is one unknown of several phases but has {sizes} components: "
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


def _guess_copies(problems: Sequence[ProblemData], links: Links) -> None:
    """Guess every copy by its term in the guess of its phase; zero where it is not finite there."""
    each = [item for side in links.sides for item in side.parameters.items()]
    for k, problem in enumerate(problems):
        own = {name: copy for name, copy in each if isinstance(copy, Copy) and copy.instant.phase == k}
        if not own:
            continue
        spline_map = SplineMap.of(problem)
        graph = graph_of(problem, list({copy.term.quantity: copy.term for copy in own.values()}.values()))
        x = first_guess(problem, spline_map.layout)
        with np.errstate(all="ignore"):
            values = graph.values(spline_map.leaf_values(x, set(graph.leaves)))
        for name, copy in own.items():
            found = values[copy.term.quantity][copy.instant.over.nodes(problem.trajectory)[0]]
            guess = np.nan_to_num(found, posinf=0.0, neginf=0.0)
            for other in problems:
                if name in other.parameters:
                    other.parameters[name] = replace(other.parameters[name], guess=guess)
