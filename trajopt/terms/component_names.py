"""Names of the components of a term in reports: `term 'power', component knee`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from trajopt.base.arguments import implements
from trajopt.graph.protocols.block import Block
from trajopt.graph.protocols.term import NamedTerm, Term
from trajopt.graph.quantity_table import QuantityTable
from trajopt.terms.arithmetic import Combination, FunctionOf, Squared
from trajopt.terms.block_term import BlockTerm
from trajopt.terms.nonsmooth import Maximum
from trajopt.terms.smoothed_term import Slacked


def names_of_components(
    blocks: Mapping[Term, tuple[Block, ...]], table: QuantityTable, quantity: str, width: int
) -> list[str]:
    """Names (width,) of the components of a quantity in reports; a scalar's is empty.

    blocks : of all terms that are known, by term
    """
    term = next((term for term in blocks if term.quantity == quantity), None)
    labels = names_of_term(term, blocks[term], table) if term else ()
    labels = labels or table.components(quantity)
    if len(labels) == width:
        return list(labels)
    return [""] if width == 1 else [str(i) for i in range(width)]


def names_of_term(term: Term, blocks: Iterable[Block], table: QuantityTable) -> tuple[str, ...]:
    """Names of a term's components: its own, those of the term it is made of, or the joints' names.

    The joints give their names where there is one component for each, which depends on that joint alone.
    Empty where there are no names.
    """
    if implements(term, NamedTerm) and term.components:
        return tuple(term.components)
    if table.is_per_joint(term.quantity):
        return table.joint_names
    if isinstance(term, Squared | FunctionOf):
        return names_of_term(term.base, blocks, table)
    if isinstance(term, Slacked):
        return names_of_term(term.exact, blocks, table)
    if isinstance(term, Maximum):
        return names_of_term(term.pieces[0], blocks, table)
    if isinstance(term, Combination):
        return names_of_term(term.parts[0][1], blocks, table)
    block = next((block for block in blocks if term.quantity in block.outputs), None)
    if block is None or block.outputs[term.quantity] != len(table.joint_names):
        return table.components(term.quantity)
    # Blocks of users rarely give their sparsity: n components are then taken to be one per joint.
    named = isinstance(term, BlockTerm) or _one_joint_each(block, term.quantity, table)
    return table.joint_names if named else ()


def _one_joint_each(block: Block, quantity: str, table: QuantityTable) -> bool:
    """Whether component i of an output depends on joint i alone, as far as it depends on joints."""
    square = np.eye(block.outputs[quantity], dtype=bool)
    found = False
    for (output, source), pattern in block.pattern().items():
        if output == quantity and table.is_per_joint(source):
            if np.any(pattern & ~square):
                return False
            found = True
    return found
