"""Phases: several problems solved as one, with links between their ends."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arguments import check_instance, short_repr
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.protocols.term import Term
from trajopt.problem import input_checks
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.instant import Instant
from trajopt.problem.links.link import Link, LinkedCost, PhaseInstant, TermLink, function_of, term_link_of
from trajopt.problem.links.phases_facts import phases_facts
from trajopt.problem.problem import ProblemData
from trajopt.problem.problem_parts import checked_problem
from trajopt.solvers.run import check_solver
from trajopt.solvers.solver import Solver
from trajopt.splines.trajectory import Trajectory
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

    def __init__(self, *problems: ProblemData, name: str = "phases") -> None:
        self.problems: tuple[ProblemData, ...] = ()
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

    @property
    def parts(self) -> tuple[ProblemData, ...]:
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
        what: Term | Callable[..., Any],
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
        what: Term | Callable[..., Any],
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

    def with_problems(self, problems: tuple[ProblemData, ...]) -> Phases:
        """The same links between other problems."""
        other = copy.copy(self)
        other.problems, other.links, other.costs = problems, self.links.copy(), self.costs.copy()
        return other

    def guess(self, solution: Any) -> None:
        """Start from a solution of such phases, which may be on other meshes or have other parameters.

        Raises ShapeError for a solution of another number of phases, or whose states are others.
        """
        parts = getattr(solution, "phases", None)
        if not isinstance(parts, tuple) or len(parts) != len(self.problems):
            raise ShapeError(
                f"{short_repr(solution)} is no solution of {len(self.problems)} phases: give a "
                "trajopt.PhasesSolution, or guess in each problem, problem.guess(...)"
            )
        for problem, part in zip(self.problems, parts, strict=True):
            problem.guess(part)

    def _instants(self, instants: tuple[Any, ...]) -> tuple[PhaseInstant, ...]:
        if not instants:
            raise OptionError("no instant is given: name them, first.at('end'), second.at('start')")
        found = []
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


Asked = ProblemData | Phases  # what can be solved


def checked_asked(asked: Any) -> Any:
    """`asked` itself, a problem or phases; ShapeError for another object."""
    return asked if isinstance(asked, Phases) else checked_problem(asked)


def _total(*nodes: NodeSymbols) -> Any:
    """The sum of the durations of several phases."""
    return sum(node.duration for node in nodes)
