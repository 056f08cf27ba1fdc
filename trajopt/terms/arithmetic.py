"""Arithmetic of terms: sums, with numbers too, products, squares and NumPy's functions are terms again.

Terms of frames compute with vectors and rotations of one node as lists, of CasADi symbols or numbers.

A vector is (3,), a rotation R (9,), its matrix row by row, as `node.orientation` gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Protocol, Self, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import numbers, short_repr
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.elementary import Power, WeightedSum
from trajopt.graph.expression import Factor
from trajopt.graph.protocols import Block, Term

#: NumPy's functions that terms have -> CasADi's name of them.
FUNCTIONS = {
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: name for name in ("exp", "expm1", "log", "log10", "log1p", "sqrt")},
}

#: NumPy's operators that terms have -> Python's name of them.
OPERATORS = {
    **{"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv"},
    **{"power": "pow", "negative": "neg", "positive": "pos"},
}

Operand: TypeAlias = "Term | ArrayLike"  # a term, or numbers
Parts = tuple[tuple[Factor, Term], ...]  # terms, each with its factor


class Arithmetic:
    """Base class that gives a term + - *, / numbers, ** 2 and NumPy's functions, such as np.sin."""

    operands: tuple[Term, ...] = ()  # the terms that this one is made of, where it is arithmetic of others

    def __array_ufunc__(self: Term, function: np.ufunc, method: str, *inputs: Any, **options: object) -> Term:
        name = function.__name__
        if method == "__call__" and not options:
            if name in FUNCTIONS:
                return FunctionOf(self, name)
            if name == "square":
                return inputs[0] ** 2
            if name in OPERATORS:
                first, *others = inputs  # an array, which calls this, may stand on either side
                if isinstance(first, Arithmetic):
                    return getattr(first, f"__{OPERATORS[name]}__")(*others)
                return getattr(others[0], f"__r{OPERATORS[name]}__")(first)
        raise _inside(f"np.{name} was called with a term")

    def __abs__(self) -> NoReturn:
        raise _inside("abs was called with a term")

    def __float__(self) -> NoReturn:
        raise OptionError(
            "a term was taken for a number: NumPy's functions take terms, np.sin(term), those of math do not"
        )

    def _compared(self, bound: object) -> NoReturn:
        raise OptionError(
            f"a term was compared with {short_repr(bound)}: write problem.subject_to(term, lower=..., "
            "upper=...)"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __getitem__(self, component: int | slice, /) -> Term:
        self._refuse_entry(component)

    def _refuse_entry(self, component: object) -> NoReturn:
        raise OptionError(
            f"{short_repr(self)} has no entry {short_repr(component)}: components of q, v, a, tau and states "
            "are terms, trajopt.q[0]; take others inside a @trajopt.term"
        )

    __iter__ = None  # else Python would loop over entries without end

    def __pow__(self: Term, exponent: int) -> Squared:
        if not isinstance(exponent, int | float) or exponent != 2:
            raise OptionError(
                f"a term was raised to the power {short_repr(exponent)}: only 2 is built in, write others "
                "inside @term"
            )
        return Squared(self)

    def __mul__(self: Term, factor: Operand) -> Squared | Product | Combination:
        if isinstance(factor, Term):
            return Squared(self) if factor == self else Product((self, factor))
        return Combination(((_factor(factor), self),))

    __rmul__ = __mul__

    def __truediv__(self: Term, divisor: ArrayLike) -> Combination:
        if isinstance(divisor, Term):
            raise _inside("a term was divided by another")
        values = np.asarray(_factor(divisor))
        if np.any(values == 0.0):
            raise OptionError(f"a term was divided by {divisor}: give numbers other than zero")
        return Combination(((_factor(1.0 / values), self),))

    def __rtruediv__(self, other: object) -> NoReturn:
        raise _inside(f"{short_repr(other)} was divided by a term")

    def __rpow__(self, base: object) -> NoReturn:
        raise _inside(f"{short_repr(base)} was raised to the power of a term")

    def __neg__(self) -> Combination:
        return Combination(((-1.0, cast(Term, self)),))

    def __pos__(self) -> Self:
        return self

    def __add__(self: Term, other: Operand) -> Combination:
        return added(self, other)

    def __radd__(self: Term, other: Operand) -> Term:
        if isinstance(other, int) and other == 0:  # where sum(terms) starts
            return self
        return added(other, self)

    def __sub__(self: Term, other: Operand) -> Combination:
        return added(self, other, -1.0)

    def __rsub__(self: Term, other: Operand) -> Combination:
        return added(other, self, -1.0)


Documented = TypeVar("Documented", bound=Arithmetic)


def documented(term: Documented, text: str) -> Documented:
    """The term itself, with a docstring of its own that `help` prints in place of its class's."""
    object.__setattr__(term, "__doc__", text)
    return term


@dataclass(frozen=True)
class Combination(Arithmetic):
    """y = sum_i factor_i * term_i + constant, terms of one width m; numbers are one, or one each, (m,)."""

    parts: Parts
    constant: Factor = 0.0

    @property
    def operands(self) -> tuple[Term, ...]:  # type: ignore[override]
        return tuple(term for _, term in self.parts)

    @property
    def name(self) -> str:
        spelled = (("" if factor == 1.0 else f"{written(factor)} ", term) for factor, term in self.parts)
        return " + ".join([*(f"{factor}{term.name}" for factor, term in spelled), *self._written(written)])

    @property
    def quantity(self) -> str:
        return self._quantity

    @cached_property
    def _quantity(self) -> str:
        """The quantity, which is long for sums of sums, and asked for again and again by a verification."""
        own = [f"{factor}*({term.quantity})" for factor, term in self.parts]
        return "+".join([*own, *self._written(str)])

    def _written(self, spelled: Callable[[Factor], str]) -> list[str]:
        """The constant, where there is one."""
        return [spelled(self.constant)] if np.any(self.constant) else []

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        blocks, widths = blocks_of_one_width(self.operands, width_of, "terms of different widths were added")
        sources: dict[str, Array] = {}
        for factor, term in self.parts:
            values = by_component(factor, widths[term.quantity], f"'{term.name}'")
            sources[term.quantity] = sources.get(term.quantity, 0.0) + values
        constant = by_component(self.constant, next(iter(widths.values())), f"'{self.name}'")
        return (*blocks, WeightedSum(sources, self.quantity, constant))


def added(one: Operand, other: Operand, factor: float = 1.0) -> Combination:
    """The sum of a term and a multiple of another; either may be numbers."""
    (parts, constant), (others, other_constant) = _parts(one, 1.0), _parts(other, factor)
    try:
        return Combination((*parts, *others), factor_of(np.add(constant, other_constant)))
    except ValueError as error:
        raise ShapeError(
            f"{np.size(constant)} and {np.size(other_constant)} numbers were added to one term: give one, or "
            "one per component"
        ) from error


def _inside(what: str) -> OptionError:
    """The error for an operation that terms do not have."""
    return OptionError(
        f"{what}: write it inside one @trajopt.term, with quantities of the node in place of terms; absolute "
        "values and maxima are trajopt.absolute(term), trajopt.maximum(term, ...)"
    )


def _parts(term: Operand, factor: float) -> tuple[Parts, Factor]:
    """The terms, and the constant, of whose sum `factor` times a term, or numbers, is."""
    if isinstance(term, Combination) and factor == 1.0:
        return term.parts, term.constant
    if isinstance(term, Term):
        return ((factor, term),), 0.0
    return (), factor_of(factor * _components(term, "added to"))


def _factor(factor: object) -> Factor:
    return factor_of(_components(factor, "multiplied by"))


def _components(given: object, how: str) -> Array:
    """Numbers that a term was added to or multiplied by, () or (m,)."""
    try:
        values = numbers(given, "the number")
    except ShapeError as error:
        raise OptionError(
            f"a term was {how} {short_repr(given)}: give a number, or one per component"
        ) from error
    if values.ndim > 1 or not np.all(np.isfinite(values)):
        raise OptionError(f"a term was {how} {short_repr(given)}: give a finite number, or one per component")
    return values


def factor_of(values: ArrayLike) -> Factor:
    """The factor of a term: one number, or one for each component."""
    array = np.asarray(values)
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def written(factor: Factor | None) -> str:
    """A factor, or the number of a maximum, in the names of terms."""
    return f"({', '.join(f'{value:g}' for value in factor)})" if isinstance(factor, tuple) else f"{factor:g}"


@dataclass(frozen=True)
class OfOneTerm(Arithmetic):
    """A function of the components of one term, `base`."""

    base: Term

    @property
    def operands(self) -> tuple[Term, ...]:  # type: ignore[override]
        return (self.base,)


@dataclass(frozen=True)
class Squared(OfOneTerm):
    """y_i = u_i^2, the squares of the components of a term `base`, (m,)."""

    @property
    def name(self) -> str:
        return f"{self.base.name} squared"

    @property
    def quantity(self) -> str:
        return f"({self.base.quantity})^2"

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        inner, width = inner_blocks(self.base, width_of)
        return (*inner, Power(self.base.quantity, width, self.quantity, exponent=2))


@dataclass(frozen=True)
class Product(Arithmetic):
    """y_i = u_i w_i, the products of the components of two terms, (m,)."""

    operands: tuple[Term, Term]

    @property
    def name(self) -> str:
        return " times ".join(term.name for term in self.operands)

    @property
    def quantity(self) -> str:
        return "*".join(f"({term.quantity})" for term in self.operands)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        from trajopt.graph.expression import function_block

        inner, widths = blocks_of_one_width(
            self.operands, width_of, "terms of different widths were multiplied"
        )
        return (*inner, function_block("times", widths, self.quantity))


@dataclass(frozen=True)
class FunctionOf(OfOneTerm):
    """y_i = f(u_i), a function of NumPy of the components of a term `base`, (m,)."""

    function: str

    @property
    def name(self) -> str:
        return f"{self.function}({self.base.name})"

    @property
    def quantity(self) -> str:
        return f"{self.function}({self.base.quantity})"

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        return blocks_of_function(FUNCTIONS[self.function], self.base, self.quantity, width_of)


def blocks_of_function(
    function: str, term: Term, quantity: str, width_of: Callable[[str], int]
) -> tuple[Block, ...]:
    """The blocks of a term, and the one of a function of CasADi of its components, which gives `quantity`."""
    from trajopt.graph.expression import function_block

    inner, width = inner_blocks(term, width_of)
    return (*inner, function_block(function, {term.quantity: width}, quantity))


def inner_blocks(term: Term, width_of: Callable[[str], int]) -> tuple[tuple[Block, ...], int]:
    """The blocks of a term, and the number of its components."""
    blocks = term.blocks(width_of)
    offered = {name: size for block in blocks for name, size in block.outputs.items()}
    return blocks, offered[term.quantity] if term.quantity in offered else width_of(term.quantity)


def blocks_of_one_width(
    terms: Iterable[Term], width_of: Callable[[str], int], otherwise: str
) -> tuple[tuple[Block, ...], dict[str, int]]:
    """The blocks of several terms, each once, and widths by quantity; ShapeError where these differ.

    otherwise : what is wrong then
    """
    inner: dict[str, Block] = {}
    widths: dict[str, int] = {}
    for term in terms:
        blocks, widths[term.quantity] = inner_blocks(term, width_of)
        for block in blocks:
            inner.setdefault(next(iter(block.outputs)), block)
    if len(set(widths.values())) > 1:
        listed = ", ".join(f"'{name}' {width}" for name, width in widths.items())
        raise ShapeError(
            f"{otherwise}: {listed} components; give terms of one width, or write it inside one @trajopt.term"
        )
    return tuple(inner.values()), widths


def by_component(given: Factor, width: int, what: str) -> Array:
    """One number, or one per component, as (width,); ShapeError, naming `what`, for another count."""
    values = np.asarray(given, dtype=float)
    if values.ndim and values.size != width:
        raise ShapeError(
            f"{what} has {width} components but is given {values.size} numbers: give one, or one each"
        )
    return np.broadcast_to(values, (width,))


AXES = range(3)


class Vector(Protocol):
    """Components by number: a list, an array, or a column of CasADi symbols."""

    def __getitem__(self, component: int, /) -> Number: ...


def difference_of(later: Vector, earlier: Vector) -> list[Number]:
    """later - earlier."""
    return [later[i] - earlier[i] for i in AXES]


def total(vectors: Iterable[Sequence[Number]]) -> list[Number]:
    """The sum of vectors of any one length."""
    return [sum(parts) for parts in zip(*vectors, strict=True)]


def dot(a: Vector, b: Vector) -> Number:
    """a . b."""
    return sum(a[i] * b[i] for i in AXES)


def cross(a: Vector, b: Vector) -> list[Number]:
    """a x b."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def normalized(vector: Vector) -> list[Number]:
    """The vector at length one."""
    length = dot(vector, vector) ** 0.5
    return [vector[i] / length for i in AXES]


def matrix_columns(R: Vector) -> list[list[Number]]:
    """The columns of R: the axes of the frame in those of the world."""
    return [[R[len(AXES) * i + j] for i in AXES] for j in AXES]


def turned(R: Vector, vector: Vector) -> list[Number]:
    """R v."""
    return [dot(row, vector) for row in zip(*matrix_columns(R), strict=True)]


def turned_back(R: Vector, vector: Vector) -> list[Number]:
    """R' v."""
    return [dot(column, vector) for column in matrix_columns(R)]


def sines_of_turn(columns: Sequence[Vector]) -> list[Number]:
    """The skew part of a rotation of these columns as a vector: its axis times the sine of its angle."""
    return [0.5 * (columns[j][k] - columns[k][j]) for j, k in ((1, 2), (2, 0), (0, 1))]
