"""Terms with kinks: absolute values, maxima and minima. Their smooth forms are in `smooth_forms.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.arguments import numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError
from trajopt.graph.keys import own_term
from trajopt.graph.protocols.block import Block
from trajopt.graph.protocols.term import Term
from trajopt.terms.arithmetic import Arithmetic, Combination, FunctionOf, Squared, inner_blocks

Factor = float | tuple[float, ...]


@dataclass(frozen=True)
class Maximum(Arithmetic):
    """y_i = max(u_i, w_i, ..., floor_i) over terms of one width m, and numbers; |u| is max(u, -u)."""

    pieces: tuple[Any, ...]
    floor: Factor | None = None
    is_absolute: bool = False

    @property
    def name(self) -> str:
        if self.is_absolute:
            return f"|{self.pieces[0].name}|"
        floor = [] if self.floor is None else [written(self.floor)]
        return f"max({', '.join([*(piece.name for piece in self.pieces), *floor])})"

    @property
    def quantity(self) -> str:
        return own_term(self.name)

    @property
    def is_nonnegative(self) -> bool:
        """Whether no value is below zero, whatever the node, so that its square is convex."""
        return self.is_absolute or (self.floor is not None and bool(np.all(np.asarray(self.floor) >= 0.0)))

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        from trajopt.graph.expression import maximum_block

        inner: dict[str, Block] = {}
        widths: dict[str, int] = {}
        for piece in self.pieces:
            blocks, widths[piece.quantity] = inner_blocks(piece, width_of)
            inner |= {next(iter(block.outputs)): block for block in blocks}
        if len(set(widths.values())) > 1:
            listed = ", ".join(f"'{piece.name}' {widths[piece.quantity]}" for piece in self.pieces)
            raise ShapeError(
                f"a maximum of terms of different widths: {listed} components; give terms of one width"
            )
        floor, width = np.asarray(self.floor), next(iter(widths.values()))
        if floor.ndim and floor.size != width:
            raise ShapeError(
                f"a maximum of terms of {width} components and {floor.size} numbers: give one number, or one "
                "per component"
            )
        return (*inner.values(), maximum_block(widths, self.floor, self.quantity))


def absolute(term: Any) -> Maximum:
    """|u_i|, the absolute values of a term's components, (m,), in its unit; `integral |u|` is an L1 cost.

        problem.minimize(trajopt.absolute(trajopt.state("thrust")))                       # fuel
        problem.subject_to(trajopt.integral(trajopt.absolute(trajopt.tau)), upper=50.0)

    Exact and smooth for the solver: slacks stand for the absolute values at the nodes. It may be minimized
    with a positive weight and bounded from above, not from below. Raises OptionError for another object.
    """
    _check_pieces((term,))
    refuse_kinks(term, "an absolute value")
    return Maximum((term, -term), is_absolute=True)


def maximum(*terms: Any) -> Maximum:
    """max(u_i, w_i, ...), the largest of several terms and numbers, component by component, (m,).

        problem.minimize(trajopt.maximum(trajopt.state("x") - trajopt.state("y"), 0.0))

    Exact and smooth for the solver, like `absolute`; it may be minimized and bounded from above. Raises
    OptionError where no term is among what is given.
    """
    given = [each for each in terms if isinstance(each, Term)]
    floors = [_floor(each) for each in terms if not isinstance(each, Term)]
    _check_pieces(given)
    pieces = [piece for term in given for piece in (term.pieces if isinstance(term, Maximum) else (term,))]
    floors += [
        np.asarray(term.floor) for term in given if isinstance(term, Maximum) and term.floor is not None
    ]
    floor = np.max(np.broadcast_arrays(*floors), axis=0) if floors else None
    return Maximum(tuple(pieces), None if floor is None else factor_of(floor))


def minimum(*terms: Any) -> Combination:
    """min(u_i, w_i, ...), component by component, (m,): -max(-u_i, -w_i, ...).

    It may be maximized (a negative weight) and bounded from below. Errors as in `maximum`.
    """
    # 0 - 0, not -0, so that minimum(-u, 0) has the name and the slack of maximum(u, 0)
    return -maximum(*(-each if isinstance(each, Arithmetic) else 0.0 - _floor(each) for each in terms))


def has_kinks(term: Any) -> bool:
    """Whether a term contains an absolute value or a maximum."""
    return isinstance(term, Maximum) or any(has_kinks(part) for part in _parts(term))


def refuse_kinks(term: Any, where: str) -> None:
    """OptionError for a term with kinks where only smooth ones can be."""
    if has_kinks(term):
        raise OptionError(
            f"'{term.name}' has kinks, which {where} cannot have: absolute values and maxima are for "
            "`minimize` and upper bounds of `subject_to`"
        )


def _parts(term: Any) -> tuple[Any, ...]:
    """The terms that a term is made of."""
    if isinstance(term, Combination):
        return tuple(part for _, part in term.parts)
    return (term.base,) if isinstance(term, Squared | FunctionOf) else ()


def _check_pieces(terms: Any) -> None:
    if not terms:
        raise OptionError("no term is given: trajopt.maximum(trajopt.state('x'), 0.0)")
    for term in terms:
        if not isinstance(term, Arithmetic):
            raise OptionError(
                f"{short_repr(term)} is no term: use trajopt.state('u') or a function under @trajopt.term"
            )
        if not isinstance(term, Maximum):
            refuse_kinks(term, "a maximum")


def _floor(value: Any) -> Array:
    floor = numbers(value, "a number of a maximum")
    if floor.ndim > 1 or not np.all(np.isfinite(floor)):
        raise NotFiniteError(
            f"a number of a maximum is {short_repr(value)}: give finite numbers, one per component"
        )
    return floor


def factor_of(values: Array) -> Factor:
    """The factor of a term: one number, or one for each component."""
    return float(values) if np.ndim(values) == 0 else tuple(np.asarray(values).tolist())


def written(floor: Any) -> str:
    """The number of a maximum, or one for each component, in the names of terms."""
    return f"{floor:g}" if np.ndim(floor) == 0 else f"({', '.join(f'{value:g}' for value in floor)})"
