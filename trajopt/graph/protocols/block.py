"""Protocols of blocks: functions of named inputs, evaluated at all nodes at once, with exact derivatives.

Any object with these attributes will do; nothing needs to be inherited. What a block may offer beyond first
derivatives are protocols of their own (`SecondOrderBlock`, `SymbolicBlock` ...).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from trajopt.base.arrays import Array

Values = dict[str, Array]  # quantity -> (K, width)
Pairs = dict[tuple[str, str], Array]  # (output, input) or (input, input) -> (K, rows, columns)


@runtime_checkable
class Block(Protocol):
    """A function y = f(u) of named inputs, evaluated at K nodes at once, with exact first derivatives.

    A block with an attribute `derivatives_are_tested` that is True is not checked before a solve.
    """

    @property
    def inputs(self) -> Mapping[str, int]:
        """Input quantity -> width."""
        ...

    @property
    def outputs(self) -> Mapping[str, int]:
        """Output quantity -> width."""
        ...

    def value(self, u: Mapping[str, Array]) -> Values:
        """y, each output (K, m)."""
        ...

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """dy / du by the direct inputs, (K, m, m_u); a pair left out is structurally zero."""
        ...

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`, boolean (m, m_u)."""
        ...


@runtime_checkable
class SecondOrderBlock(Block, Protocol):
    """A block that also gives second derivatives; where one block does not, solvers fall back to L-BFGS."""

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d^2 sum(adjoint . y) / du dw, (K, m_u, m_w), each unordered pair of inputs once.

        adjoints : output -> (K, m), the derivative of a scalar (the Lagrangian) by that output
        """
        ...

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`, boolean (m_u, m_w)."""
        ...


@runtime_checkable
class SymbolicBlock(SecondOrderBlock, Protocol):
    """A block that can also be evaluated on CasADi symbols, so that `graph.fused` may join it with others."""

    def expressions(self, u: Mapping[str, Any]) -> dict[str, Any]:
        """y as expressions, columns of m, of the symbols u, columns of m_u."""
        ...


@runtime_checkable
class AnyArithmeticBlock(Block, Protocol):
    """A block that can also be evaluated on numbers of any arithmetic: Taylor models, for bounds over time.

    Numbers have + - * / and the methods sin, cos, exp ...; floats may be among them. What a block computes
    here is what `value` computes, for the real numbers that these stand for.
    """

    def value_over(
        self, u: Mapping[str, Sequence[Any]], number: Callable[[float], Any]
    ) -> dict[str, list[Any]]:
        """y, one number per component, of the inputs u; `number` makes a number of a constant.

        Raises NotImplementedError where an operation is not offered: the caller has no bound then.
        """
        ...
