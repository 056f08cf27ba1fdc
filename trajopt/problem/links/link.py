"""Links between phases: functions of quantities at several instants, and terms that agree at two of them.

A phase is transcribed without knowing the others. What a link needs of another phase stands in a copy: a
parameter z of either phase, with the equation quantity - z = 0 where the quantity is and z in its place where
it is used; that both phases have the same z is linear. Derivatives of links are then those of the phases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.arguments import check_function
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError, UnknownNameError
from trajopt.graph.expression import ExpressionBlock, has_comparison, symbol
from trajopt.graph.protocols.block import Block
from trajopt.graph.protocols.term import Term
from trajopt.graph.quantities import DeclaredQuantity, QuantityTable, own_term
from trajopt.graph.trace import trace_several
from trajopt.splines.node_sets import NodeSet
from trajopt.terms.arithmetic import Arithmetic


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
        return own_term(self.name)

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
        return self.block.outputs[own_term(self.name)]

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
        return slopes, self.block.value(zero)[own_term(self.name)][0]

    def value(self, u: Mapping[str, Array], sizes: Mapping[str, Array]) -> tuple[Array, Array]:
        """g and the size of its terms, sum |dg/du| size(u), (width,) each; place -> value, (width,)."""
        columns = {name: np.reshape(u[name], (1, -1)) for name in self.block.inputs}
        slopes = self.block.partials(columns)
        of_terms = (np.abs(slope[0]) @ sizes[place] for (_, place), slope in slopes.items())
        return self.block.value(columns)[own_term(self.name)][0], sum(of_terms, np.zeros(self.width))


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

    def declaration(self, quantity: str) -> DeclaredQuantity:
        try:
            return super().declaration(quantity)
        except UnknownNameError as error:
            raise UnknownNameError(f"in phase '{self._phase}' {error}") from None


def function_of(function: Any, name: str, instants: tuple[PhaseInstant, ...], phases: Any) -> Function:
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
    block = ExpressionBlock(symbols, {own_term(name): expression})
    return Function(name, instants, tuple(tuple(columns) for columns in used), block)


def term_link_of(term: Term, name: str, instants: tuple[PhaseInstant, ...], phases: Any) -> TermLink:
    """A term at two instants of phases; raises where one of these does not have it, or has another one."""
    if len(instants) != 2:
        raise OptionError(
            f"'{name}' is to agree at {len(instants)} instants: give two, first.at('end') and "
            "second.at('start')"
        )
    widths, components = [], []
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
