"""Blocks under other names, and blocks written by users: what these may leave out is filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations_with_replacement, product
from types import MappingProxyType
from typing import Any

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.base.errors import ShapeError
from trajopt.graph.keys import term_of
from trajopt.graph.protocols.block import AnyArithmeticBlock, Block, Pairs, SecondOrderBlock, Values

AS_THEY_ARE: Mapping[str, str] = MappingProxyType({})


class NamedBlock:
    """A block with other names of its inputs and outputs, and full patterns where it states none.

    inputs : name of an input -> its name here, where that is another one
    outputs : the outputs that are kept -> their names here; empty: all, as they are
    Members that the block does not have, such as `curvature`, are None.
    """

    def __init__(
        self, block: Any, inputs: Mapping[str, str] = AS_THEY_ARE, outputs: Mapping[str, str] = AS_THEY_ARE
    ) -> None:
        self.block = block
        self._from = {name: inputs.get(name, name) for name in block.inputs}
        self._to = dict(outputs) or {name: name for name in block.outputs}
        self.inputs = {new: block.inputs[name] for name, new in self._from.items()}
        self.outputs = {new: block.outputs[name] for name, new in self._to.items()}
        self.derivatives_are_tested = bool(getattr(block, "derivatives_are_tested", False))
        if getattr(block, "curvature", None) is None:
            self.curvature = None  # type: ignore[assignment]
        if not implements(block, AnyArithmeticBlock):
            self.value_over = None  # type: ignore[assignment]

    def value(self, u: Mapping[str, Array]) -> Values:
        found = self.block.value(self._given(u))
        for name, new in self._to.items():
            if name not in found:
                raise ShapeError(
                    f"the block of {term_of(new)} gave {', '.join(found) or 'nothing'}: "
                    f"its value must hold '{name}'"
                )
        return {new: found[name] for name, new in self._to.items()}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        found = self.block.value_over(self._given(u), number)
        return {new: found[name] for name, new in self._to.items()}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return self._renamed(self.block.partials(self._given(u)), self._to)

    def pattern(self) -> Pairs:
        pairs = product(self.block.outputs.items(), self.block.inputs.items())
        return self._renamed(self._stated("pattern", pairs), self._to)

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        count = len(next(iter(adjoints.values())))
        every = {name: np.zeros((count, width)) for name, width in self.block.outputs.items()}
        every |= {name: adjoints[new] for name, new in self._to.items()}
        return self._renamed(self.block.curvature(self._given(u), every), self._from)

    def curvature_pattern(self) -> Pairs:
        pairs = combinations_with_replacement(self.block.inputs.items(), 2)
        return self._renamed(self._stated("curvature_pattern", pairs), self._from)

    def _stated(self, name: str, pairs: Iterable[tuple[tuple[str, int], tuple[str, int]]]) -> Pairs:
        """The pattern that the block states, else one that is full, of these names and widths."""
        stated = getattr(self.block, name, None)
        if stated is not None:
            return stated()
        return {(one, other): np.ones((rows, columns), bool) for (one, rows), (other, columns) in pairs}

    def _given(self, u: Mapping[str, Any]) -> dict[str, Any]:
        return {name: u[new] for name, new in self._from.items()}

    def _renamed(self, pairs: Pairs, first: Mapping[str, str]) -> Pairs:
        return {(first[one], self._from[other]): part for (one, other), part in pairs.items() if one in first}


def completed(block: Any) -> Block:
    """The block itself where it states its patterns, else the block with full ones.

    This is where blocks written by users enter: they may leave out `pattern` and `curvature_pattern`, and
    `curvature` may be missing or None. What is returned is a Block, and a SecondOrderBlock where the given
    one has a curvature.
    """
    protocol = Block if getattr(block, "curvature", None) is None else SecondOrderBlock
    return block if implements(block, protocol) else NamedBlock(block)
