"""Terms whose value and derivatives a user's class computes with NumPy, without tracing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trajopt.base import arguments
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.graph import NamedBlock, completed
from trajopt.graph.protocols.block import Block
from trajopt.graph.quantities import own_term
from trajopt.terms.arithmetic import Arithmetic


@dataclass(frozen=True, eq=False)
class BlockTerm(Arithmetic):
    """One output of a user's block; see `block_term`."""

    block: Block
    output: str
    name: str
    unit: str = ""

    @property
    def quantity(self) -> str:
        return own_term(self.name)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        for quantity, width in self.block.inputs.items():
            if width_of(quantity) != width:
                raise ShapeError(
                    f"term '{self.name}' takes '{quantity}' with {width} components, "
                    f"the problem has {width_of(quantity)}: correct the block's inputs"
                )
        return (NamedBlock(self.block, outputs={self.output: self.quantity}),)


def block_term(block: Any, output: str | None = None, name: str | None = None, unit: str = "") -> BlockTerm:
    """Make a term of a block y = f(u): an object with inputs, outputs, value, partials, and optionally more.

        inputs, outputs    quantity -> width; inputs are quantities of the problem
        value(u)           {output: (K, m)} from u[input] (K, width), K nodes at once
        partials(u)        {(output, input): (K, m, width)}; a pair left out is zero
        curvature(u, w)    {(input, input'): (K, width, width')}, second derivatives of sum w . y with the
                           adjoints w {output: (K, m)}, each unordered pair of inputs once;
                           without it a solve falls back to L-BFGS, and says so
        pattern(), curvature_pattern()    where derivatives may differ from zero; full when left out

    All of it is checked by differences before the first solve. Raises OptionError for a block that lacks a
    part, or has several outputs of which none is chosen. `unit` is printed beside its values.
    """
    for part in ("inputs", "outputs", "value", "partials"):
        if not hasattr(block, part):
            raise OptionError(
                f"{type(block).__name__} has no `{part}`: a block needs inputs, outputs, value, partials"
            )
    names = list(block.outputs)
    if output is None and len(names) != 1:
        raise OptionError(
            f"{type(block).__name__} has the outputs {', '.join(names)}: choose one, output=..."
        )
    chosen = names[0] if output is None else output
    arguments.check_known(f"output of {type(block).__name__}", chosen, names, OptionError)
    return BlockTerm(completed(block), chosen, name or chosen, arguments.unit(unit, "a block's term"))
