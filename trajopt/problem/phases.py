"""Phases: several problems solved as one, with links between their ends.

A link is a function of quantities at several instants, or a term that agrees at two of them.

A phase is transcribed without knowing the others. What a link needs of another phase stands in a copy: a
parameter z of either phase, with the equation quantity - z = 0 where the quantity is and z in its place where
it is used; that both phases have the same z is linear. Derivatives of links are then those of the phases.

The card of a notebook shows every phase, its coordinates and mesh, and all links.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arguments import (
    check_function,
    check_instance,
    is_listed,
    list_names,
    pluralize,
    short_repr,
)
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError, ShapeError, UnknownNameError
from trajopt.base.facts import Facts
from trajopt.graph.expression import ExpressionBlock, has_comparison, symbol
from trajopt.graph.protocols import Block, Term
from trajopt.graph.quantities import DeclaredQuantity, QuantityTable, own_term
from trajopt.graph.trace import trace_several
from trajopt.problem import input_checks
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.instant import Instant
from trajopt.problem.problem import Problem
from trajopt.problem.problem_parts import Refinement, checked_problem
from trajopt.solvers.run import check_solver
from trajopt.solvers.solver import Solver
from trajopt.splines.node_sets import NodeSet
from trajopt.splines.trajectory import Trajectory
from trajopt.terms.arithmetic import Arithmetic
from trajopt.terms.nonsmooth import refuse_kinks
from trajopt.terms.term import duration

if TYPE_CHECKING:
    from trajopt.graph.trace import NodeSymbols


TOTAL = "total duration"  # what reports call it


class Phases:
    """Several optimal control problems as one: the sum of their costs, and links between their instants.

        minimize    sum_i J_i(x_i, u_i, p_i, T_i) + linked costs
        subject to  all that each problem states,   lower <= g(x_i(a), x_j(b), p) <= upper

        both = trajopt.Phases(stance, flight)
        both.link(impact, stance.at("end"), flight.at("start"))
        solution = trajopt.solve(both)              # solution.phases[0] is a Solution of stance

    Every problem keeps its own dynamics, number of states, mesh, free or fixed duration and guess. Parameters
    of the same name are one unknown. Raises OptionError for no problem, or one that is given twice.
    """

    def __init__(self, *problems: Problem, name: str = "phases") -> None:
        self.problems: tuple[Problem, ...] = ()
        self.links: list[Link | TermLink] = []
        if not problems:
            raise OptionError("there are no phases: give problems, trajopt.Phases(stance, flight)")
        if any(isinstance(problem, list | tuple) for problem in problems):
            raise ShapeError("problems are given as a list: write trajopt.Phases(*problems)")
        self.problems = tuple(checked_problem(problem) for problem in problems)
        if len({id(problem) for problem in problems}) < len(problems):
            raise OptionError("a problem is given twice: build one for each phase")
        self.name = arguments.name(name, "the name of the phases")
        self.costs: list[LinkedCost] = []
        self.duration_weight = 0.0
        self.recipe: Recipe | None = None
        self.solver: Solver | None = None
        self.refinement: Refinement | None = None

    @property
    def parts(self) -> tuple[Problem, ...]:
        """The problems of all phases."""
        return self.problems

    @property
    def phase_names(self) -> tuple[str, ...]:
        """The problems' names, numbered where several have the same."""
        names = [problem.name for problem in self.problems]
        return tuple(
            name if names.count(name) == 1 else f"{name} {number}" for number, name in enumerate(names)
        )

    def link(
        self,
        what: Term | Callable[..., Number],
        *instants: Instant,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        equals: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        """Add g(node, node, ...) = 0, or lower <= g <= upper, or that a term is the same at two instants.

        what : a function with one argument per instant, traced once like a term, which returns a number or a
            list; or a term, `trajopt.q` or `trajopt.state("h")`, that both phases have
        instants : `problem.at("end")` and so on, of one phase, two or several
        Raises UnknownNameError for a quantity that a phase does not have, ShapeError for components or bounds
        that do not fit, OptionError for an instant of a foreign problem.
        """
        chosen, label = self._instants(instants), self._label(what, name)
        bounds = (lower, upper, equals)
        if isinstance(what, Term):
            if any(bound is not None for bound in bounds):
                raise OptionError(
                    f"'{label}' is to agree at two instants: give bounds with a function of both"
                )
            refuse_kinks(what, "a link")
            self.links.append(term_link_of(what, label, chosen, self))
            return
        function = function_of(what, label, chosen, self)
        wanted = (None, None, 0.0) if all(bound is None for bound in bounds) else bounds
        components = [str(i) for i in range(function.width)] if function.width > 1 else [""]
        low, high = input_checks.bounds_or_value(*wanted, function.width, label, components)
        self.links.append(Link(function, low, high))

    def minimize(
        self,
        what: Term | Callable[..., Number],
        *instants: Instant,
        weight: float = 1.0,
        name: str | None = None,
    ) -> None:
        """Add weight * g(node, node, ...) to the phases' own costs, or weight * `trajopt.duration` of all."""
        label = self._label(what, name)
        factor = arguments.number(weight, f"the weight of '{label}'")
        if what is duration and not instants:
            self.duration_weight += factor
            return
        function = function_of(what, label, self._instants(instants), self)
        self.costs.append(LinkedCost(function, factor))

    def subject_to(
        self,
        what: Term,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        equals: ArrayLike | None = None,
        name: str = TOTAL,
    ) -> None:
        """Bound the sum of all durations: what is `trajopt.duration`. All else is stated in its phase."""
        if what is not duration:
            raise OptionError(
                f"{short_repr(what)} belongs to a phase: call subject_to of its problem, or "
                "link(function, ...) for what depends on several"
            )
        ends = [problem.at("end") for problem in self.problems]
        self.link(_total, *ends, lower=lower, upper=upper, equals=equals, name=name)

    def recommend(self, solver: Solver) -> None:
        """Let `solve` use this solver unless another one is given."""
        check_solver(solver, "the recommended solver")
        self.solver = solver

    def on(self, *trajectories: Trajectory) -> Phases:
        """The same phases on other trajectories, one for each, without guesses; nothing is shared.

        Raises ShapeError for another number of trajectories, OptionError for one that fits no phase.
        """
        if len(trajectories) != len(self.problems):
            raise ShapeError(
                f"{len(trajectories)} trajectories are given for {len(self.problems)} phases "
                f"({', '.join(self.phase_names)}): give one for each"
            )
        pairs = zip(self.problems, trajectories, strict=True)
        return self.with_problems(tuple(problem.on(trajectory) for problem, trajectory in pairs))

    def independent_copy(self) -> Phases:
        """A copy of the phases and of their problems: what is added to it leaves these as they are."""
        return self.with_problems(tuple(problem.independent_copy() for problem in self.problems))

    def with_problems(self, problems: tuple[Problem, ...]) -> Phases:
        """The same links between other problems."""
        other = copy.copy(self)
        other.problems, other.links, other.costs = problems, self.links.copy(), self.costs.copy()
        return other

    def guess(self, solution: Any) -> None:
        """Start from a solution of such phases, which may be on other meshes or have other parameters.

        Raises ShapeError for a solution of another number of phases, or whose states are others.
        """
        parts = getattr(solution, "phases", None)
        if not is_listed(parts) or len(parts) != len(self.problems):
            raise ShapeError(
                f"{short_repr(solution)} is no solution of {len(self.problems)} phases: give a "
                "trajopt.PhasesSolution, or guess in each problem, problem.guess(...)"
            )
        for problem, part in zip(self.problems, parts, strict=True):
            problem.guess(part)

    def _instants(self, instants: tuple[Any, ...]) -> tuple[PhaseInstant, ...]:
        if not instants:
            raise OptionError("no instant is given: name them, first.at('end'), second.at('start')")
        found: list[PhaseInstant] = []
        for instant in instants:
            check_instance("an instant", instant, Instant, "problem.at('end')", ShapeError)
            phases = [k for k, problem in enumerate(self.problems) if problem is instant.problem]
            if not phases:
                raise OptionError(
                    f"{instant} of '{instant.problem.name}' belongs to none of these phases "
                    f"({', '.join(self.phase_names)}): give Phases the same problem"
                )
            found.append(PhaseInstant(phases[0], instant.over, str(instant)))
        return tuple(found)

    def _label(self, what: object, name: str | None) -> str:
        given = name
        if given is None:
            given = what.name if isinstance(what, Term) else getattr(what, "__name__", "link")
            given = "link" if given == "<lambda>" else given
        label, used = arguments.name(given, "name"), {link.name for link in self.links}
        used |= {cost.function.name for cost in self.costs}
        if label not in used:
            return label
        if name is not None:
            raise OptionError(f"two links are called '{label}': give each a name of its own")
        return next(f"{label} {i}" for i in range(2, len(used) + 3) if f"{label} {i}" not in used)

    def __repr__(self) -> str:
        return f"Phases({', '.join(self.phase_names)}; {arguments.pluralize(len(self.links), 'link')})"

    def _repr_html_(self) -> str:
        return phases_facts(self).html()


Asked = Problem | Phases  # what can be solved


def checked_asked(asked: Any) -> Any:
    """`asked` itself, a problem or phases; ShapeError for another object."""
    return asked if isinstance(asked, Phases) else checked_problem(asked)


def _total(*nodes: NodeSymbols) -> Number:
    """The sum of the durations of several phases."""
    return sum(node.duration for node in nodes)


@dataclass(frozen=True)
class PhaseInstant:
    """One node of the motion of a phase; name : "the end"."""

    phase: int
    over: NodeSet
    name: str


@dataclass(frozen=True, eq=False)
class LinkTerm(Arithmetic):
    """The term y = g(quantities at several instants) of one node; those of other instants are parameters."""

    name: str
    block: ExpressionBlock

    @property
    def quantity(self) -> str:
        return _key(self.name)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        return (self.block,)


@dataclass(frozen=True, eq=False)
class Function:
    """A function g of quantities at several instants; the block's inputs are named by `place`.

    used : the quantities of every instant
    """

    name: str
    instants: tuple[PhaseInstant, ...]
    used: tuple[tuple[str, ...], ...]
    block: ExpressionBlock

    @property
    def width(self) -> int:
        """Number of components."""
        return self.block.outputs[_key(self.name)]

    @property
    def host(self) -> int:
        """The instant whose phase evaluates the function: the last one whose quantities it uses."""
        return max(i for i, quantities in enumerate(self.used) if quantities)

    def term(self, inputs: Mapping[str, str]) -> LinkTerm:
        """The function as a term of the host's phase; inputs : place -> what stands there in that phase.

        What stands at two places, a parameter of two phases, is one input.
        """
        symbols = {name: symbol(name, self.block.inputs[place]) for place, name in inputs.items()}
        expressions = self.block.expressions({place: symbols[name] for place, name in inputs.items()})
        return LinkTerm(self.name, ExpressionBlock(symbols, expressions))

    def linear(self) -> tuple[dict[str, Array], Array] | None:
        """A (width, components) by place and b (width,) of g = sum A u + b; None where g is not linear."""
        if self.block.borders or self.block.curvature_pattern():
            return None
        zero = {name: np.zeros((1, width)) for name, width in self.block.inputs.items()}
        slopes = {source: slope[0] for (_, source), slope in self.block.partials(zero).items()}
        return slopes, self.block.value(zero)[_key(self.name)][0]

    def value(self, u: Mapping[str, Array], sizes: Mapping[str, Array]) -> tuple[Array, Array]:
        """g and the size of its terms, sum |dg/du| size(u), (width,) each; place -> value, (width,)."""
        columns = {name: np.reshape(u[name], (1, -1)) for name in self.block.inputs}
        slopes = self.block.partials(columns)
        of_terms = (np.abs(slope[0]) @ sizes[place] for (_, place), slope in slopes.items())
        return self.block.value(columns)[_key(self.name)][0], sum(of_terms, np.zeros(self.width))


def place(instant: int, quantity: str) -> str:
    """The input of a linked function for a quantity at one of its instants."""
    return f"{quantity} at {instant}"


@dataclass(frozen=True, eq=False)
class Link:
    """lower <= g(quantities at several instants) <= upper."""

    function: Function
    lower: Array
    upper: Array

    @property
    def name(self) -> str:
        return self.function.name


@dataclass(frozen=True, eq=False)
class TermLink:
    """A term that has the same value at two instants."""

    term: Term
    instants: tuple[PhaseInstant, PhaseInstant]
    name: str
    width: int


@dataclass(frozen=True, eq=False)
class LinkedCost:
    """weight * sum of g(quantities at several instants)."""

    function: Function
    weight: float


class _TableOfPhase(QuantityTable):
    """The quantities of a phase, whose name stands in errors."""

    def __init__(self, table: QuantityTable, phase: str) -> None:
        vars(self).update(vars(table))
        self._phase = phase

    def declaration(self, quantity: object) -> DeclaredQuantity:
        try:
            return super().declaration(quantity)
        except UnknownNameError as error:
            raise UnknownNameError(f"in phase '{self._phase}' {error}") from None


def _key(name: str) -> str:
    """The key of the value of a link or a linked cost, apart from those of terms of that name in a phase."""
    return own_term(f"link {name}")


def function_of(function: Any, name: str, instants: tuple[PhaseInstant, ...], phases: Phases) -> Function:
    """A function of the nodes at several instants of phases, traced."""
    check_function(f"link '{name}'", function, " per instant, lambda before, after: ..., or one term")
    tables = [
        _TableOfPhase(phases.problems[instant.phase].quantities, phases.phase_names[instant.phase])
        for instant in instants
    ]
    expression, used = trace_several(function, f"link '{name}'", tables)
    if has_comparison(expression):
        raise OptionError(
            f"link '{name}' returns a comparison, which is the number 0 or 1: return what is to be zero, "
            "before.x - after.x, or give bounds, lower=..., upper=..."
        )
    symbols = {
        place(i, quantity): column for i, columns in enumerate(used) for quantity, column in columns.items()
    }
    block = ExpressionBlock(symbols, {_key(name): expression})
    return Function(name, instants, tuple(tuple(columns) for columns in used), block)


def term_link_of(term: Term, name: str, instants: tuple[PhaseInstant, ...], phases: Phases) -> TermLink:
    """A term at two instants of phases; raises where one of these does not have it, or has another one."""
    if len(instants) != 2:
        raise OptionError(
            f"'{name}' is to agree at {len(instants)} instants: give two, first.at('end') and "
            "second.at('start')"
        )
    widths: list[int] = []
    components: list[list[str]] = []
    names = [phases.phase_names[instant.phase] for instant in instants]
    for instant, phase in zip(instants, names, strict=True):
        problem = phases.problems[instant.phase]
        try:
            widths.append(problem.width_of_term(term))
        except UnknownNameError as error:
            raise UnknownNameError(f"in phase '{phase}' {error}") from None
        components.append(problem.component_names(term.quantity, widths[-1]))
    if components[0] != components[1]:
        given = " and ".join(
            f"({', '.join(own) or width}) in '{phase}'"
            for own, width, phase in zip(components, widths, names, strict=True)
        )
        raise ShapeError(
            f"'{name}' has the components {given}: link what they have in common by a function, "
            "lambda before, after: [before.x - after.x]"
        )
    return TermLink(term, (instants[0], instants[1]), name, widths[0])


def phases_facts(phases: Any) -> Facts:
    """The problems of all phases, and their links."""
    links = [link.name for link in phases.links]
    each = zip(phases.phase_names, phases.problems, strict=True)
    rows = [
        (name, f"{list_names(problem.dynamics.joint_names)}; {problem.trajectory}") for name, problem in each
    ]
    count = pluralize(len(rows), "phase")
    return Facts(f"Phases '{phases.name}': {count}", [*rows, ("links", list_names(links) if links else "")])
