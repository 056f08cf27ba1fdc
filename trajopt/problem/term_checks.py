"""Checks of a term where a problem first meets it: a name of its own, a name for each of its components."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trajopt.base import arguments
from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.data import Data, DataBlock
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.graph import completed
from trajopt.graph.protocols.block import Block
from trajopt.graph.protocols.dynamics import Dynamics
from trajopt.graph.protocols.term import NamedTerm, Term
from trajopt.graph.quantities import QuantityTable, is_parameter, no_term, term_of
from trajopt.splines.node_sets import END, PATH, ArcNodes, NodeSet, Over, no_cost, node_set
from trajopt.splines.trajectory import Trajectory
from trajopt.terms.term import ComponentTerm, Quantity, SliceTerm, StateTerm, operands_of


def checked_blocks(
    term: Term,
    dynamics: Dynamics,
    table: QuantityTable,
    datasets: Iterable[Data],
    known: Iterable[tuple[Any, tuple[Block, ...]]],
) -> tuple[Block, ...]:
    """The blocks of a term, with those of its data; raises the errors of the checks below.

    known : other terms of the same quantity, and their blocks
    """
    if not implements(term, Term):
        raise no_term(term)
    blocks = tuple(completed(block) for block in term.blocks(table))
    check_name(term, blocks, known)
    wanted = {term.quantity}.union(*(block.inputs for block in blocks))
    for quantity in wanted:  # the dynamics raises its error for an unknown link or frame where it is named
        family, _, part = quantity.partition(":")
        if part and family in table.declared and table.declared[family].argument:
            dynamics.block((quantity,))
    return (*(DataBlock(data) for data in datasets if data.quantity in wanted), *blocks)


def check_name(term: Term, blocks: tuple[Block, ...], known: Iterable[tuple[Any, tuple[Block, ...]]]) -> None:
    """Raise OptionError where another known term of the same quantity computes something else.

    Quantities are distinguished by their names: of two terms of one name only one would count.
    """
    for _, theirs in known:
        for block, same in zip(blocks, theirs[-len(blocks) :], strict=False):
            if isinstance(block, ExpressionBlock) and not block.equals(same):
                raise OptionError(
                    f"two different terms are called '{term.name}': give each a name of its own"
                )


def label_of(given: object, term: Any, ending: str = "") -> str:
    """The name under which reports list a cost or constraint: the given one, or the term's own."""
    if given is None or (isinstance(given, str) and not given):
        return f"{term.name}{ending}"
    return arguments.name(given, "name")


def check_bounds_are_given(label: str, given: Sequence[Any]) -> None:
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
