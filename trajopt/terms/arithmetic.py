"""Arithmetic of terms: sums, differences, multiples and squares of terms are terms again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from trajopt.arguments import numbers, shown
from trajopt.arrays import Array
from trajopt.errors import OptionError, ShapeError
from trajopt.graph.block import Block, Term
from trajopt.graph.elementary import Square, WeightedSum


class Arithmetic:
    """Base class that gives a term the operators + - * / and ** 2."""

    __array_ufunc__ = None  # so that NumPy arrays and numbers call the term's own operators

    def __pow__(self, exponent: int) -> Squared:
        return squared(self, exponent)

    def __mul__(self, factor: Any) -> Combination:
        return Combination(((_factor(factor), self),))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Combination:
        values = np.asarray(_factor(divisor))
        if np.any(values == 0.0):
            raise OptionError(f"a term was divided by {divisor}: give numbers other than zero")
        return self * (1.0 / values)

    def __neg__(self) -> Combination:
        return self * -1.0

    def __add__(self, other: Any) -> Combination:
        return Combination((*_parts(self), *_parts(other)))

    def __sub__(self, other: Any) -> Combination:
        return self + other * -1.0


Documented = TypeVar("Documented", bound=Arithmetic)


def documented(term: Documented, text: str) -> Documented:
    """The term itself, with a docstring of its own that `help` prints in place of its class's."""
    object.__setattr__(term, "__doc__", text)
    return term


@dataclass(frozen=True)
class Combination(Arithmetic):
    """y = sum_i factor_i * term_i, terms of one width m; a factor is a number or one per component, (m,)."""

    parts: tuple[tuple[float | tuple[float, ...], Any], ...]

    @property
    def name(self) -> str:
        return " + ".join(f"{_spelled(factor)}{term.name}" for factor, term in self.parts)

    @property
    def quantity(self) -> str:
        return "+".join(f"{factor}*({term.quantity})" for factor, term in self.parts)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        inner: dict[str, Block] = {}
        sources: dict[str, Array] = {}
        for factor, term in self.parts:
            for block in term.blocks(width_of):
                inner.setdefault(next(iter(block.outputs)), block)
            offered = {name: size for block in inner.values() for name, size in block.outputs.items()}
            width = offered[term.quantity] if term.quantity in offered else width_of(term.quantity)
            values = np.asarray(factor, dtype=float)
            if values.ndim and values.size != width:
                raise ShapeError(
                    f"'{term.name}' has {width} components but was multiplied by {values.size} numbers"
                )
            sources[term.quantity] = sources.get(term.quantity, 0.0) + np.broadcast_to(values, (width,))
        widths = {name: factors.size for name, factors in sources.items()}
        if len(set(widths.values())) > 1:
            told = ", ".join(f"'{name}' {width}" for name, width in widths.items())
            raise ShapeError(f"terms of different widths were added: {told} components")
        return (*inner.values(), WeightedSum(sources, self.quantity))


def _parts(term: Any) -> tuple:
    if not isinstance(term, Term):
        raise OptionError(f"a term was added to {shown(term)}: write the sum inside one @trajopt.term")
    return term.parts if isinstance(term, Combination) else ((1.0, term),)


def _factor(factor: Any) -> float | tuple[float, ...]:
    if isinstance(factor, Term):
        raise OptionError("two terms were multiplied: write the product inside one @trajopt.term")
    try:
        values = numbers(factor, "the factor")
    except ShapeError as error:
        raise OptionError(
            f"a term was multiplied by {shown(factor)}: give a number, or one per component"
        ) from error
    if values.ndim > 1 or not np.all(np.isfinite(values)):
        raise OptionError(
            f"a term was multiplied by {shown(factor)}: give a finite number, or one per component"
        )
    return float(values) if values.ndim == 0 else tuple(values.tolist())


def _spelled(factor: float | tuple[float, ...]) -> str:
    if isinstance(factor, tuple):
        return f"({', '.join(f'{value:g}' for value in factor)}) "
    return "" if factor == 1.0 else f"{factor:g} "


@dataclass(frozen=True)
class Squared(Arithmetic):
    """y_i = u_i^2, the squares of the components of a term `base`, (m,)."""

    base: Any

    @property
    def name(self) -> str:
        return f"{self.base.name} squared"

    @property
    def quantity(self) -> str:
        return f"({self.base.quantity})^2"

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        inner = self.base.blocks(width_of)
        offered: dict[str, int] = {}
        for block in inner:
            offered.update(block.outputs)
        source = self.base.quantity
        width = offered[source] if source in offered else width_of(source)
        return (*inner, Square(source, width, self.quantity))


def squared(base: Any, exponent: int) -> Squared:
    """The square of a term; OptionError for another exponent, which is written inside a traced term."""
    if not isinstance(exponent, int | float) or exponent != 2:
        raise OptionError(
            f"a term was raised to the power {shown(exponent)}: only 2 is built in, write others inside @term"
        )
    return Squared(base)
