"""Terms whose value and derivatives a user's class computes with NumPy, without tracing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base import arguments
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.graph import completed
from trajopt.graph.keys import own_term, term_of
from trajopt.graph.protocols.block import Block, Pairs, SecondOrderBlock, Values
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
        if isinstance(self.block, SecondOrderBlock):
            return (SecondOrderOutput(self.block, self.output, self.quantity),)
        return (Output(self.block, self.output, self.quantity),)


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
    if chosen not in names:
        raise OptionError(f"{type(block).__name__} has no output '{chosen}': it has {', '.join(names)}")
    return BlockTerm(completed(block), chosen, name or chosen, arguments.unit(unit, "a block's term"))


class Output:
    """A block with one output of another block, under the name of the term."""

    def __init__(self, block: Block, output: str, target: str) -> None:
        self.block, self.output, self.target = block, output, target
        self.inputs = dict(block.inputs)
        self.outputs = {target: block.outputs[output]}

    def value(self, u: Mapping[str, Array]) -> Values:
        found = self.block.value(u)
        if self.output not in found:
            raise ShapeError(
                f"the block of {term_of(self.target)} gave {', '.join(found) or 'nothing'}: "
                f"its value must hold '{self.output}'"
            )
        return {self.target: found[self.output]}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return self._renamed(self.block.partials(u))

    def pattern(self) -> Pairs:
        return self._renamed(self.block.pattern())

    def _renamed(self, pairs: Pairs) -> Pairs:
        return {(self.target, name): part for (output, name), part in pairs.items() if output == self.output}


class SecondOrderOutput(Output):
    """An `Output` with second derivatives: adjoints of the other outputs are zero."""

    block: SecondOrderBlock

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        mine = adjoints[self.target]
        filled = {
            name: mine if name == self.output else np.zeros((mine.shape[0], width))
            for name, width in self.block.outputs.items()
        }
        return self.block.curvature(u, filled)

    def curvature_pattern(self) -> Pairs:
        return self.block.curvature_pattern()
