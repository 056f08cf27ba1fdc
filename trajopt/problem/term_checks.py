"""Checks of a term where a problem first meets it: a name of its own, a name for each of its components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trajopt.arrays import Array
from trajopt.errors import OptionError, ShapeError
from trajopt.graph.block import Block, NamedTerm, Term
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.names import term_of
from trajopt.graph.quantity_table import QuantityTable
from trajopt.terms.state import StateTerm
from trajopt.terms.term import Quantity


def check_name(term: Term, blocks: tuple[Block, ...], known: Mapping[Any, tuple[Block, ...]]) -> None:
    """Raise OptionError where another known term of the same name computes something else.

    Quantities are told apart by their names: of two terms of one name only one would count.
    """
    for other, theirs in known.items():
        if other.quantity != term.quantity:
            continue
        for block, same in zip(blocks, theirs[-len(blocks) :], strict=False):
            if isinstance(block, ExpressionBlock) and not block.equals(same):
                raise OptionError(
                    f"two different terms are called '{term.name}': give each a name of its own"
                )


def check_components(term: Term, width: int) -> None:
    """Raise ShapeError where a term names its components, but not each of them once."""
    if isinstance(term, NamedTerm) and term.components and len(term.components) != width:
        raise ShapeError(
            f"{term_of(term.quantity)} has {width} components but {len(term.components)} names "
            f"({', '.join(term.components)}): name each of them"
        )


def on_whole_quantity(term: Any, low: Array, high: Array, table: QuantityTable) -> tuple[Any, Array, Array]:
    """Bounds of a state by its name as bounds of all states, linear in the unknowns; others as they are."""
    if not isinstance(term, StateTerm):
        return term, low, high
    quantity, component = table.aliases[term.name]
    own = np.arange(table(quantity)) == component
    return Quantity(quantity), np.where(own, low, -np.inf), np.where(own, high, np.inf)
