"""Checks of what a problem is given: bounds and guesses, terms and their names, the dynamics.

Bounds and guesses become one number per component; terms and components have names of their own.

Of a dynamics attributes and their sizes are checked, see `docs/own_dynamics.md`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arguments import implements, numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import (
    InfeasibleBoundsError,
    NotFiniteError,
    OptionError,
    ProblemError,
    ShapeError,
)
from trajopt.graph.data import Data, DataBlock
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.graph import completed
from trajopt.graph.protocols import Block, Dynamics, NamedTerm, Term
from trajopt.graph.quantities import QuantityTable, is_parameter, no_term, term_of
from trajopt.solvers.solver import ENDLESS
from trajopt.splines.node_sets import END, PATH, ArcNodes, NodeSet, Over, no_cost, node_set
from trajopt.splines.trajectory import Trajectory
from trajopt.terms.term import ComponentTerm, Quantity, SliceTerm, StateTerm, operands_of

WIDEST = 10_000  # components of a parameter or an additional curve
TracedTerms = tuple[tuple[Term, tuple[Block, ...]], ...]  # the terms that compute one quantity, with blocks


def bound_of(
    value: ArrayLike | None, absent: float, width: int, label: str, names: Sequence[str] = ()
) -> Array:
    """A bound (width,), `absent` where it is None or beyond 1e20; ShapeError or NotFiniteError if it is none.

    value : of all components, or one each, None among them
    absent : -inf for a lower bound, inf for an upper one, a number for a finite value
    """
    array = numbers(filled(value, absent), f"a bound of '{label}'")
    if np.any(np.isnan(array)):
        raise NotFiniteError(f"a bound of '{label}' is NaN: use an infinity for a bound that is absent")
    if array.ndim > 1 or (array.ndim == 1 and array.size != width):
        whose = f" ({', '.join(names)})" if any(names) else ""
        raise ShapeError(
            f"numbers of shape {array.shape} are given for the {width} components{whose} of '{label}': give "
            "one for all, or one each"
        )
    wrong = -np.sign(absent) * array >= ENDLESS if np.isinf(absent) else np.isinf(array)
    if np.any(wrong):
        which = "lower" if absent < 0.0 else "upper"
        what = f"the {which} bound" if np.isinf(absent) else "an entry"
        raise NotFiniteError(
            f"{what} of '{label}' is {array[wrong].ravel()[0]}, which nothing can meet: "
            f"{'leave it out, or swap the two bounds' if np.isinf(absent) else 'give finite numbers'}"
        )
    if np.isinf(absent):
        array = np.where(np.sign(absent) * array >= ENDLESS, absent, array)
    return np.broadcast_to(array, (width,)).copy()


def filled(value: object, absent: float) -> Any:
    """A value, or a list, with `absent` in place of None."""
    if value is None:
        return absent
    if isinstance(value, list | tuple):
        return [absent if each is None else each for each in value]
    return value


def equal_to(value: ArrayLike, width: int, label: str, names: Sequence[str] = ()) -> Array:
    """A value (width,) that a term must have; NotFiniteError where it is NaN or infinite."""
    if not np.all(np.isfinite(numbers(value, f"the value of '{label}'"))):
        raise NotFiniteError(
            f"'{label}' has to equal {short_repr(value)}: give finite numbers; a free component is None "
            "in start_at and end_at, and has the bounds -inf and inf in subject_to"
        )
    return bound_of(value, 0.0, width, label, names)


def bounds_or_value(
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    equals: ArrayLike | None,
    width: int,
    label: str,
    names: Sequence[str] = (),
) -> tuple[Array, Array]:
    """Lower and upper bounds (width,) of a constraint from the arguments of `Problem.subject_to`.

    A component that is None has no bound.
    """
    if equals is not None and (lower is not None or upper is not None):
        raise OptionError(f"'{label}' has both equals and bounds: give one of them")
    if equals is not None:
        value = equal_to(filled(equals, 0.0), width, label, names)
        is_free = [equal is None for equal in equals] if isinstance(equals, list | tuple) else False
        return np.where(is_free, -np.inf, value), np.where(is_free, np.inf, value)
    low = bound_of(lower, -np.inf, width, label, names)
    high = bound_of(upper, np.inf, width, label, names)
    if np.any(low > high):
        worst = int(np.argmax(low > high))
        where = f" in component {names[worst]}" if names and names[worst] else ""
        raise InfeasibleBoundsError(
            f"'{label}' has lower bound {low[worst]} above upper bound {high[worst]}{where}: "
            "swap or widen them"
        )
    return low, high


def component_names(kind: str, name: str, components: object) -> tuple[str, ...]:
    """Names of the components of an unknown as a tuple; OptionError where they are no list of names."""
    is_list = isinstance(components, list | tuple)
    if not is_list or not all(isinstance(component, str) and component for component in components):
        raise OptionError(
            f"{kind} '{name}' has the components {short_repr(components)}: give a list of names such "
            "as ('x', 'y')"
        )
    return tuple(components)


def unknown(
    kind: str,
    name: str,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    guess: ArrayLike | None,
    width: int,
    named: int = 0,
) -> tuple[Array, Array, Array]:
    """Bounds and guess of an unknown, (width,) each; the guess is the middle of finite bounds.

    named : how many components have names, 0 where none has
    """
    arguments.check_count(f"the width of {kind} '{name}'", width, 1, WIDEST, ShapeError)
    label = f"{kind} '{name}'"
    written = filled(lower, -np.inf), filled(upper, np.inf), 0.0 if guess is None else guess
    parts = [numbers(part, f"a bound or the guess of {label}") for part in written]
    size = max(width, named, *(part.size for part in parts))
    if named not in (0, size):
        raise ShapeError(f"{label} has {size} components but {named} names: name each of them")
    if any(part.ndim > 1 or part.size not in (1, size) for part in parts):
        shapes = ", ".join(str(part.shape) for part in parts)
        raise ShapeError(f"{label} has bounds and guess of shapes {shapes}: give numbers or ({size},)")
    lower, upper, given = (np.broadcast_to(part, (size,)) for part in parts)
    low, high = bounds_or_value(lower, upper, None, size, f"{kind} {name}")
    if guess is None:
        return low, high, middle_of(low, high)
    return low, high, equal_to(given, size, f"the guess of {kind} {name}")


def middle_of(lower: Array, upper: Array) -> Array:
    """The middles of bounds (width,); zero, or the nearest value to it, where one is missing."""
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = np.clip(0.0, lower, upper)
    middle[bounded] = 0.5 * (lower[bounded] + upper[bounded])
    return middle


def index_of(name: Any, names: Sequence[str], kind: str = "joint") -> int:
    """The number of a coordinate by its name; UnknownNameError, with similar names, for another name."""
    arguments.check_known(kind, name, names)
    return list(names).index(name)


def refuse_again(name: str, kind: str, known: Mapping[str, object]) -> None:
    """OptionError where a name is known already."""
    arguments.name(name, f"the name of a {kind}")
    if name in known:
        raise OptionError(f"the problem has {kind} '{name}' already: give the second one another name")


def checked_blocks(
    term: Term,
    dynamics: Dynamics,
    table: QuantityTable,
    datasets: Iterable[Data],
    known: Mapping[str, TracedTerms],
) -> tuple[Block, ...]:
    """The blocks of a term, with those of its data; raises the errors of the checks below.

    known : quantity -> other terms that compute it, alone or as a part, and their blocks
    """
    if not implements(term, Term):
        raise no_term(term)
    blocks = tuple(completed(block) for block in term.blocks(table))
    check_names(blocks, known)
    wanted = {term.quantity}.union(*(block.inputs for block in blocks))
    for quantity in wanted:  # the dynamics raises its error for an unknown link or frame where it is named
        family, _, part = quantity.partition(":")
        if part and family in table.declared and table.declared[family].argument:
            dynamics.block((quantity,))
    return (*(DataBlock(data) for data in datasets if data.quantity in wanted), *blocks)


def check_names(blocks: tuple[Block, ...], known: Mapping[str, TracedTerms]) -> None:
    """Raise OptionError where a known term, or a part of one, has such a name and computes something else.

    Quantities are distinguished by their names: of two terms of one name only one would count.
    """
    for block in blocks:
        if not isinstance(block, ExpressionBlock):
            continue
        for output in block.outputs:
            for same in (each for _, theirs in known.get(output, ()) for each in theirs):
                if output in same.outputs and not block.equals(same):
                    name = term_of(output).removeprefix("term ")
                    raise OptionError(f"two different terms are called {name}: give each a name of its own")


def label_of(given: object, term: Any, ending: str = "") -> str:
    """The name under which reports list a cost or constraint: the given one, or the term's own."""
    if given is None or (isinstance(given, str) and not given):
        return f"{term.name}{ending}"
    return arguments.name(given, "name")


def check_bounds_are_given(label: str, given: Sequence[object]) -> None:
    """OptionError where all bounds are None."""
    if all(each is None for each in given):
        raise OptionError(f"'{label}' has no bound: give lower=, upper= or equals=")


def check_components(term: Term, width: int) -> None:
    """Raise ShapeError where a term names its components, or their units, but not each of them once."""
    units, names = getattr(term, "unit", ""), term.components if implements(term, NamedTerm) else ()
    for given, what in ((units if isinstance(units, tuple) else (), "units"), (names, "names")):
        if given and len(given) != width:
            raise ShapeError(
                f"{term_of(term.quantity)} has {width} components but {len(given)} {what} "
                f"({', '.join(given)}): give one for each, or none"
            )


def check_hold(hold: str, label: str, has_hull: bool) -> None:
    """Raise OptionError for a way to hold a constraint that does not exist, or that it does not have."""
    arguments.check_choice("hold", hold, ("nodes", "hull"))
    if hold == "hull" and not has_hull:
        raise OptionError(
            f"'{label}': hold='hull' bounds control points, which q, v, a and jerk over the path have; "
            "others hold between nodes, too, by solve(problem, refine=trajopt.Certified(tol=1e-3))"
        )


def check_scale(scale: object, label: str, has_scale: bool) -> None:
    """Raise OptionError for a scale that is not above zero, or of an integral, which has its own."""
    arguments.check_positive(f"the scale of '{label}'", scale, optional=True)
    if scale is not None and not has_scale:
        raise OptionError(
            f"'{label}' is an integral, whose violations are compared with its bounds: no scale"
        )


def check_whole_arc(over: NodeSet, low: Array, high: Array, trajectory: Trajectory, label: str) -> None:
    """OptionError for an equation inside an arc that leaves out an end where the equations of motion hold."""
    if not isinstance(over, ArcNodes) or over.part != "inside" or not np.any(low == high):
        return
    nodes, whole = trajectory.nodes, replace(over, part="whole").nodes(trajectory)
    left_out = np.setdiff1d(whole, over.nodes(trajectory))
    if np.any(nodes.collocated[left_out] & (nodes.weight[left_out] > 0.0)):
        raise OptionError(
            f"'{label}' over {over} leaves out an end of the arc that is a collocation point, where the "
            f"equations of motion hold, too: forces may be missing there. Use ArcNodes({over.arc}, 'whole')"
        )


def on_whole_quantity(term: Term, low: Array, high: Array, table: QuantityTable) -> tuple[Term, Array, Array]:
    """Bounds of a state by its name as bounds of all states, linear in the unknowns; others as they are."""
    if not isinstance(term, StateTerm):
        return term, low, high
    quantity, component = table.aliases[term.name]
    width = table(quantity)
    own = slice(None) if component is None else np.atleast_1d(np.arange(width)[component])
    lower, upper = np.full(width, -np.inf), np.full(width, np.inf)
    lower[own], upper[own] = low, high
    return Quantity(quantity), lower, upper


def is_constant(term: Term) -> bool:
    """True if a term is the duration, a parameter, or arithmetic of these: one value for the whole motion."""
    operands = operands_of(term)
    if operands:
        return all(map(is_constant, operands))
    quantity = term.base if isinstance(term, ComponentTerm | SliceTerm) else term.quantity
    return quantity == "duration" or is_parameter(quantity)


def part_of_cost(term: Term, over: Over | None) -> NodeSet:
    """The part of a motion over which a cost counts: all of it, or the end for a constant term, unless given.

    Raises OptionError where no cost is defined.
    """
    where = node_set(over) if over is not None else (END if is_constant(term) else PATH)
    if not where.has_cost:
        raise no_cost(where)
    return where


PARTS = {
    "n": "the number of coordinates",
    "joint_names": "their names in reports",
    "limits": "arrays q_lower, q_upper, velocity, torque_lower, torque_upper",
    "block": "block(outputs, loads=()), which makes the block that computes quantities",
}
DECLARED = ("width", "unit", "description", "components", "argument", "block", "changed_by_loads")
LIMITS = ("q_lower", "q_upper", "velocity", "torque_lower", "torque_upper")


def check_dynamics(dynamics: Any) -> None:
    """Raise ProblemError for an object that lacks a part, ShapeError for one of the wrong size."""
    called = type(dynamics).__name__
    if isinstance(dynamics, type):
        raise ProblemError(
            f"the dynamics is the class {dynamics.__name__} itself: make one, {dynamics.__name__}(...)"
        )
    if isinstance(dynamics, str | os.PathLike):
        raise ProblemError(
            f"the dynamics is {arguments.short_repr(dynamics)}: give dynamics.load_urdf(path) of a file"
        )
    if not hasattr(dynamics, "n") and hasattr(dynamics, "model"):
        raise ProblemError(f"the dynamics is a {called}: give its `model`")
    if isinstance(dynamics, Trajectory):
        raise ProblemError("the dynamics is a Trajectory: write trajopt.Problem(dynamics, trajectory)")
    for part, meaning in PARTS.items():
        if not hasattr(dynamics, part):
            raise ProblemError(f"the dynamics {called} has no `{part}`, {meaning}: see docs/own_dynamics.md")
    if len(dynamics.joint_names) != dynamics.n:
        names = ", ".join(map(str, dynamics.joint_names))
        raise ShapeError(f"the dynamics {called} has n = {dynamics.n} but the joint_names {names}: name each")
    for limit in LIMITS:
        if not hasattr(dynamics.limits, limit):
            raise ProblemError(
                f"the limits of {called} have no `{limit}`: infinite where there is none, ({dynamics.n},)"
            )
        shape = getattr(getattr(dynamics.limits, limit), "shape", None)
        if shape != (dynamics.n,):
            found = "no array" if shape is None else f"of shape {shape}"
            raise ShapeError(f"limits.{limit} of {called} is {found}: give an array of shape ({dynamics.n},)")
    _check_quantities(dynamics)


def check_link(dynamics: Any, link: object, width: int) -> None:
    """Let the dynamics raise its error for a link that can carry no load of this width.

    ShapeError for a load that is no wrench, OptionError for what is no name.
    """
    if width != 6:
        raise ShapeError(f"the load on '{link}' has {width} components: give [moment; force], six of them")
    arguments.name(link, "the link of a load")
    dynamics.block(("tau",), (link,))


def _check_quantities(dynamics: Any) -> None:
    """ProblemError where a declaration of the dynamics cannot be read."""
    declared, called = getattr(dynamics, "quantities", {}), type(dynamics).__name__
    if not isinstance(declared, Mapping):
        raise ProblemError(
            f"the quantities of {called} are a {type(declared).__name__}: give a dictionary, "
            "name -> trajopt.DeclaredQuantity(width, unit, description)"
        )
    for name, quantity in declared.items():
        missing = [part for part in DECLARED if not hasattr(quantity, part)]
        if missing:
            raise ProblemError(
                f"the quantity '{name}' of {called} has no `{missing[0]}`: "
                "use trajopt.DeclaredQuantity(width, unit, description)"
            )
