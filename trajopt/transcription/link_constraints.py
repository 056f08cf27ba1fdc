"""The problems of phases with their links: copies of quantities as parameters, links as constraints.

What links add to the problems (`Links`) is structure. Their limits, the weights of their costs, and the
bounds of the parameters that they take from other phases are values of the phases.

Links that no motion can meet are detected before the solve: their sides leave the bounds of the link.

Boundary values and limits of states, bounds of controls and parameters give an interval for every quantity
at an instant. A link that is affine in them, g = g(0) + J u, then lies in an interval as well; any other is
looked at where all that it depends on is fixed.

Phases whose ends are fixed nowhere but by links get first guesses from where other phases start and end.

Between the values that are fixed, q changes alike in all phases. A phase by itself would stay at the only
value that it knows, and its first duration would be that of a motion that goes nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, ShapeError
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.protocols import Term
from trajopt.graph.quantities import PARAMETER, extra_leaf, is_parameter, parameter_leaf
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint, Cost, Parameter
from trajopt.problem.phases import TOTAL, Function, Link, PhaseInstant, Phases, TermLink, place
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.solvers.solver import ROUNDING
from trajopt.splines.node_sets import END, PATH, START, NodeSet
from trajopt.terms import term as terms
from trajopt.transcription.initial_point import FALLBACK_DURATION, first_guess, fixed_ends, smooth_curve
from trajopt.transcription.leaf_map import SplineMap
from trajopt.transcription.unknowns import LARGE


@dataclass(frozen=True, eq=False)
class Copy:
    """A term (width,) at an instant, which a parameter of the same or another phase equals."""

    instant: PhaseInstant
    term: Term
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

    def equate(self, term: Term, parameter: str, width: int, over: NodeSet, name: str) -> None:
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

    def problem(self, phases: Phases, k: int) -> Problem:
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
        self, instant: PhaseInstant, term: Term, width: int, name: str, like: Copy | None = None
    ) -> Copy:
        """The copy `name` in the instant's phase, with the equation that it is the term there.

        like : the copy of another phase that it is, too
        """
        side, own = self.sides[instant.phase], like or Copy(instant, term, width)
        if all(constraint.name != name for constraint, _ in side.constraints):
            side.parameters[name] = own
            side.equate(term, name, width, instant.over, name)
        return own

    def join(self, link: TermLink, label: str) -> None:
        """One parameter for the term at both instants; label : of the second equation in a single phase."""
        name = f"{link.name} where {' and '.join(self._named(instant) for instant in link.instants)} meet"
        one, other = link.instants
        first = self.define(one, link.term, link.width, name)
        if one.phase == other.phase:
            self.sides[one.phase].equate(link.term, name, link.width, other.over, label)
        else:
            self.define(other, link.term, link.width, name, first)
        self.rows[link.name] = min(one.phase, other.phase), name

    def host(self, function: Function) -> tuple[int, Term, NodeSet]:
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
    problems: tuple[Problem, ...]
    links: Links
    shared: Mapping[str, tuple[int, ...]]


def links_of(phases: Phases) -> Links:
    """The structure that the links and the linked costs of phases add to their problems."""
    links = Links(phases.phase_names, tuple(Side() for _ in phases.problems))
    for number, link in enumerate(phases.links):
        if isinstance(link, TermLink):
            links.join(link, _label(phases, link.instants[0].phase, link.name))
            continue
        k, term, over = links.host(link.function)
        name = _label(phases, k, link.name)
        links.sides[k].constraints.append((Constraint(term, link.lower, link.upper, over, name), number))
        links.rows[link.name] = k, name
    for number, cost in enumerate(phases.costs):
        k, term, over = links.host(cost.function)
        links.sides[k].costs.append((Cost(term, cost.weight, over, cost.function.name), number))
    if phases.duration_weight:
        for side in links.sides:
            side.costs.append((Cost(terms.duration, phases.duration_weight, END, TOTAL), None))
    return links


def _label(phases: Phases, k: int, name: str) -> str:
    """The name of a link among the constraints of phase k, whose multipliers are told apart by names."""
    taken = any(constraint.name == name for constraint in phases.problems[k].constraints)
    return f"link {name}" if taken else name


def linked_problems(phases: Phases, links: Links | None = None, *, guessed: bool = True) -> LinkedProblems:
    """Copies of the phases' problems that have all links among their parameters, constraints and costs.

    links : of these phases, or of such that differ in values alone, where they are known already
    guessed : whether copies get guesses, and curves that links join
    Raises ShapeError for a parameter that has two widths, InfeasibleBoundsError for one without a value and
    for a link that the conditions of its phases contradict.
    """
    for link in phases.links:
        if isinstance(link, TermLink):
            first, second = (
                _interval(phases, instant, link.term.quantity, link.width) for instant in link.instants
            )
            _refuse(phases, link, link.instants, first, second, "in the first and")
        else:
            wanted = np.stack([link.lower, link.upper])
            _refuse(phases, link, link.function.instants, _range(phases, link), wanted, "but has to be")
    links = links or links_of(phases)
    problems = tuple(links.problem(phases, k) for k in range(len(phases.problems)))
    if guessed:
        guess_curves_that_meet(phases, problems)
        _guess_copies(problems, links)
    return LinkedProblems(phases, problems, links, dict(_shared(phases, problems)))


def held(problem: Problem, values: Mapping[str, Array]) -> Problem:
    """A copy of a problem whose parameters of these names have these values, (width,) each."""
    other = problem.independent_copy()
    for name, value in values.items():
        other.parameters[name] = replace(other.parameters[name], lower=value, upper=value, guess=value)
    return other


def _shared(phases: Phases, problems: Sequence[Problem]) -> Iterator[tuple[str, tuple[int, ...]]]:
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


def _guess_copies(problems: Sequence[Problem], links: Links) -> None:
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


def _refuse(
    phases: Phases,
    link: Link | TermLink,
    instants: Iterable[PhaseInstant],
    found: Array,
    wanted: Array,
    relation: str,
) -> None:
    size = 1.0 + np.nan_to_num(np.abs(np.concatenate([found, wanted])), posinf=0.0).max(axis=0)
    apart = (found[0] > wanted[1] + AGREEMENT * size) | (found[1] < wanted[0] - AGREEMENT * size)
    crossed = (found[0] > found[1]) | (wanted[0] > wanted[1])  # what contradicts itself is reported elsewhere
    for i in np.flatnonzero(apart & ~crossed)[:1]:
        names = dict.fromkeys(f"'{phases.phase_names[instant.phase]}'" for instant in instants)
        which = f", component {i}," if found.shape[1] > 1 else ""
        here, there = _interval_text(*found[:, i]), _interval_text(*wanted[:, i])
        raise InfeasibleBoundsError(
            f"phases {' and '.join(names)} cannot meet: '{link.name}'{which} is {here} {relation} {there}"
            f"{' in the second' * isinstance(link, TermLink)}, by boundary values and bounds: free one of "
            "them, None among the boundary values, or drop the link"
        )


def _interval_text(low: float, high: float) -> str:
    return f"{low:.6g}" if low == high else f"between {low:.6g} and {high:.6g}"


def _range(phases: Phases, link: Link) -> Array:
    """Least and greatest values (2, width) of a link's function; infinite where they are not known."""
    function, block = link.function, link.function.block
    intervals = {
        place(i, quantity): _interval(phases, instant, quantity, block.inputs[place(i, quantity)])
        for i, (instant, used) in enumerate(zip(function.instants, function.used, strict=True))
        for quantity in used
    }
    unknown = np.stack([np.full(function.width, -np.inf), np.full(function.width, np.inf)])
    fixed = all(np.all(interval[0] == interval[1]) for interval in intervals.values())
    if block.curvature_pattern() and not fixed:
        return unknown
    at = {
        name: (interval[:1] if fixed else np.zeros((1, interval.shape[1])))
        for name, interval in intervals.items()
    }
    (value,) = block.value(at).values()
    found = np.concatenate([value, value])
    if fixed:
        return found
    for (_, name), part in block.partials(at).items():
        low, high = intervals[name]
        slope = part[0]
        with np.errstate(invalid="ignore"):
            ends = np.where(slope != 0.0, np.stack([slope * low, slope * high]), 0.0)
        found += np.stack([ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)])
    return found


def _interval(phases: Phases, instant: PhaseInstant, quantity: str, width: int) -> Array:
    """Least and greatest values (2, width) of a quantity that the conditions at an instant leave."""
    problem = phases.problems[instant.phase]
    low, high = np.full(width, -np.inf), np.full(width, np.inf)
    bounds: list[Constraint | AdditionalCurve | Parameter] = [
        constraint
        for constraint in problem.constraints
        if constraint.term.quantity == quantity
        and (constraint.over == instant.over or (constraint.over == PATH and constraint.continuous))
    ]
    bounds += [extra for name, extra in problem.extras.items() if extra_leaf(name) == quantity]
    bounds += [given for name, given in problem.parameters.items() if parameter_leaf(name) == quantity]
    for bound in bounds:
        low, high = np.maximum(low, bound.lower), np.minimum(high, bound.upper)
    return np.stack([low, high])


__all__ = ["guess_curves_that_meet", "values_between"]

ENDS = (START, END)


def guess_curves_that_meet(phases: Phases, problems: Sequence[Problem]) -> None:
    """Guess a curve in problems without one whose free ends are linked to others by linear equations of q.

    problems : of the phases, copies that may change
    """
    widths = [problem.dynamics.n for problem in problems]
    points = _Points(phases, widths)
    links = [each for link in phases.links if (each := points.equations(link)) is not None]
    if not links:
        return
    fixed = np.concatenate([np.concatenate(fixed_ends(problem)) for problem in problems])
    found = values_between(fixed, widths, *(np.concatenate(each) for each in zip(*links, strict=True)))
    for k, problem in enumerate(problems):
        first, last = (found[points.place(k, end)] for end in (0, 1))
        more = ~np.isnan((first, last)) & np.isnan(fixed_ends(problem))
        if problem.guessed_curve is None and more.any():
            problem.guessed_curve = smooth_curve(problem, FALLBACK_DURATION, (first, last))


def values_between(fixed: Array, widths: Sequence[int], A: Array, b: Array) -> Array:
    """Values z where phases start and end that meet A z = b, with the least sum of squared changes of phases.

    fixed : z, of one phase after the other, where it starts and where it ends, NaN where free
    widths : of the phases, 2 sum(widths) = z.size
    returned : z, NaN in components that neither the fixed values nor the equations decide
    """
    given, largest = ~np.isnan(fixed), np.abs(A).max(axis=1, initial=0.0)
    scale = np.where(largest > 0.0, largest, 1.0)  # units of an equation decide nothing
    A, b = A / scale[:, None], b / scale
    equations = np.concatenate([np.eye(fixed.size)[given], A])
    right = np.concatenate([fixed[given], b])
    changes = np.zeros((sum(widths), fixed.size))
    row = 0
    for width in widths:
        own = np.arange(row, row + width)
        changes[own, row + own], changes[own, row + width + own] = -1.0, 1.0
        row += width
    # Coordinates that no link mixes are solved for apart.
    mixed = csr_array(np.concatenate([changes, equations]) != 0.0).astype(int)
    _, coordinate = connected_components(mixed.T @ mixed, directed=False)
    z = np.empty(fixed.size)
    for chosen in (coordinate == each for each in range(coordinate.max() + 1)):
        rows = equations[:, chosen].any(axis=1)
        mine = changes[:, chosen].any(axis=1)
        z[chosen] = _least_changes(changes[mine][:, chosen], equations[rows][:, chosen], right[rows])
    return z


def _least_changes(changes: Array, equations: Array, right: Array) -> Array:
    """z that meets equations @ z = right with the least |changes @ z|, NaN where both leave it open."""
    units = _units(np.concatenate([changes, equations]))
    changes, equations = changes * units, equations * units
    largest = np.abs(equations).max(axis=1, initial=0.0)
    largest[largest == 0.0] = 1.0
    changes, equations = changes / np.abs(changes).max(axis=1)[:, None], equations / largest[:, None]
    _, sizes, directions = np.linalg.svd(np.concatenate([changes, equations]))
    undecided = directions[np.count_nonzero(sizes > AGREEMENT * sizes.max()) :]
    zero = np.zeros((len(equations),) * 2)
    conditions = np.block([[changes.T @ changes, equations.T], [equations, zero]])
    count = changes.shape[1]
    z = np.linalg.lstsq(conditions, np.concatenate([np.zeros(count), right / largest]))[0][:count]
    z[np.abs(z) <= ROUNDING * np.abs(z).max(initial=0.0)] = 0.0  # beside 1e9 they would count as large
    z[np.any(np.abs(undecided) > AGREEMENT, axis=0)] = np.nan
    return units * z


def _units(A: Array) -> Array:
    """Units of z, (count,), in which entries of every row of A are most alike; ones if these are about one.

    A state of 1e9 that a link ties to one of one changes alike where it changes by as many of its units.
    """
    enters = A != 0.0
    logs = np.log2(np.abs(A, where=enters, out=np.ones(A.shape)))
    apart = enters[:, :, None] & enters[:, None, :]
    row, one, other = np.nonzero(np.triu(apart, 1))
    differences = np.eye(A.shape[1])[one] - np.eye(A.shape[1])[other]
    powers = np.linalg.lstsq(differences, logs[row, other] - logs[row, one])[0]
    return 2.0 ** (powers if np.ptp(powers) > np.log2(LARGE) else np.zeros(powers.size))


class _Points:
    """The places of q at the starts and ends of phases in one vector, and links as equations in it."""

    def __init__(self, phases: Phases, widths: Sequence[int]) -> None:
        self.phases, self.widths = phases, widths
        self.before = np.cumsum([0, *widths]).tolist()

    def place(self, k: int, end: int) -> slice:
        """Slice of q of phase k at its start (0) or its end (1)."""
        first = 2 * self.before[k] + end * self.widths[k]
        return slice(first, first + self.widths[k])

    def equations(self, link: Link | TermLink) -> tuple[Array, Array] | None:
        """A and b of A z = b that a link says, None where it says something else.

        It says such equations where it is linear in q at starts and ends, and its value is given.
        """
        if isinstance(link, TermLink):
            instants, right, is_linear = link.instants, np.zeros(link.width), link.term.quantity == "q"
            slopes = [np.eye(link.width), -np.eye(link.width)]
        else:
            instants, of_q = link.function.instants, all(set(used) <= {"q"} for used in link.function.used)
            is_value = of_q and np.array_equal(link.lower, link.upper)
            parts, constant = (link.function.linear() if is_value else None) or ({}, 0.0)
            slopes, is_linear = [parts.get(place(i, "q"), 0.0) for i in range(len(instants))], bool(parts)
            right = link.lower - constant
        if not is_linear or any(instant.over not in ENDS for instant in instants):
            return None
        A = np.zeros((right.size, 2 * self.before[-1]))
        for instant, slope in zip(instants, slopes, strict=True):
            A[:, self.place(instant.phase, ENDS.index(instant.over))] += slope
        return A, right
