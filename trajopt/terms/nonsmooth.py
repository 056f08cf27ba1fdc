"""Terms with kinks, absolute values and maxima, of which problems minimize and bound the convex combinations.

    |u| <= c            is stated as     -c <= u <= c
    max(u, w) <= c      is stated as     u <= c and w <= c
    minimize |u|        is stated as     minimize s  subject to  s >= u, s >= -u     with a slack s

All of it is smooth, and exact: a cost that presses on s makes it equal to |u| at every node. A term that is
bounded from below, or maximized, is not convex and cannot be stated in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from trajopt.arguments import numbers, shown
from trajopt.arrays import Array
from trajopt.errors import NotFiniteError, OptionError, ShapeError
from trajopt.graph.names import own_term
from trajopt.graph.protocols.block import Block
from trajopt.graph.protocols.term import Term
from trajopt.terms.arithmetic import Arithmetic, Combination, FunctionOf, Squared, inner_blocks

MOST_SELECTIONS = 64  # smooth bounds that stand for one bound of a term with kinks

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
        floor = [] if self.floor is None else [_written(self.floor)]
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
            told = ", ".join(f"'{piece.name}' {widths[piece.quantity]}" for piece in self.pieces)
            raise ShapeError(
                f"a maximum of terms of different widths: {told} components; give terms of one width"
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
    with a positive weight and bounded from above, not from below. Raises OptionError for what is no term.
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
    return Maximum(tuple(pieces), None if floor is None else _factor(floor))


def minimum(*terms: Any) -> Combination:
    """min(u_i, w_i, ...), component by component, (m,): -max(-u_i, -w_i, ...).

    It may be maximized (a negative weight) and bounded from below. Errors as in `maximum`.
    """
    # 0 - 0, not -0, so that minimum(-u, 0) has the name and the slack of maximum(u, 0)
    return -maximum(*(-each if isinstance(each, Arithmetic) else 0.0 - _floor(each) for each in terms))


@dataclass(frozen=True)
class Slacked(Arithmetic):
    """The slack that stands for a maximum: the quantity `quantity` of the program; `exact` is the maximum.

    Solvers see the slack; reports and certificates compare its integral at the nodes with that of `exact`.
    """

    exact: Maximum
    quantity: str

    @property
    def name(self) -> str:
        return self.exact.name

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        return ()


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


def with_slacks(term: Any, weight: float, slack_of: Callable[[Maximum], Any]) -> Any:
    """weight * term with slacks in place of all maxima; OptionError where that is not convex in them.

    slack_of : the term of the slack that stands for a maximum
    """
    if isinstance(term, Maximum):
        if weight < 0.0:
            raise _not_convex(term, "maximized, or counted negatively")
        return slack_of(term)
    if isinstance(term, Combination):
        parts = []
        for factor, part in term.parts:
            signed = weight * np.asarray(factor)
            if has_kinks(part) and np.any(signed < 0.0) and np.any(signed > 0.0):
                raise _not_convex(part, "counted negatively in some components")
            sign = -1.0 if np.any(signed < 0.0) else 1.0
            parts.append((factor, with_slacks(part, sign, slack_of)))
        return Combination(tuple(parts))
    if isinstance(term, Squared) and isinstance(term.base, Maximum) and term.base.is_nonnegative:
        if weight < 0.0:
            raise _not_convex(term, "maximized, or counted negatively")
        return Squared(slack_of(term.base))
    refuse_kinks(term, "a square or a function")
    return term


def selections(term: Any) -> Iterator[tuple[Any, Array, str]]:
    """Smooth terms t_j and numbers c_j with term = max_j (t_j + c_j), and a name of each piece.

    A term is None where only the number is left. Raises OptionError for a term that is no such maximum.
    """
    parts = list(_linear_parts(term))
    kinks = [(factor, part) for factor, part in parts if isinstance(part, Maximum)]
    smooth = [(factor, part) for factor, part in parts if not isinstance(part, Maximum)]
    for factor, part in kinks:
        if np.any(np.asarray(factor) < 0.0):
            raise _not_convex(part, "bounded from below")
    for _, part in smooth:
        refuse_kinks(part, "a square or a function")
    choices = [[*part.pieces, *([] if part.floor is None else [None])] for _, part in kinks]
    if np.prod([len(each) for each in choices]) > MOST_SELECTIONS:
        raise OptionError(
            f"'{term.name}' has more than {MOST_SELECTIONS} pieces: bound its parts one by one, or the "
            "integral of it"
        )
    for chosen in product(*choices):
        number, several, named = np.zeros(1), list(smooth), []
        for (factor, kink), piece in zip(kinks, chosen, strict=True):
            if piece is None:
                number = number + np.asarray(factor) * np.asarray(kink.floor)
            else:
                several.append((factor, piece))
            named.append(_written(kink.floor) if piece is None else piece.name)
        yield _combined(several), number, ", ".join(named)


def _combined(parts: list[tuple[Factor, Any]]) -> Any:
    """The sum of multiples of terms: the term itself where there is one of factor 1, None without any."""
    if len(parts) == 1 and parts[0][0] == 1.0:
        return parts[0][1]
    return Combination(tuple(parts)) if parts else None


def _linear_parts(term: Any, factor: Any = 1.0) -> Iterator[tuple[Factor, Any]]:
    """The terms of which a term is the weighted sum, none of them a sum."""
    if not isinstance(term, Combination):
        yield _factor(np.asarray(factor)), term
        return
    for own, part in term.parts:
        yield from _linear_parts(part, np.asarray(factor) * np.asarray(own))


def _parts(term: Any) -> tuple[Any, ...]:
    """The terms that a term is made of."""
    if isinstance(term, Combination):
        return tuple(part for _, part in term.parts)
    return (term.base,) if isinstance(term, Squared | FunctionOf) else ()


def _not_convex(term: Any, how: str) -> OptionError:
    return OptionError(
        f"'{term.name}' is {how}, which is not convex, so no slack can state it: absolute values and maxima "
        "are minimized or bounded from above (minima maximized or bounded from below)"
    )


def _check_pieces(terms: Any) -> None:
    if not terms:
        raise OptionError("no term is given: trajopt.maximum(trajopt.state('x'), 0.0)")
    for term in terms:
        if not isinstance(term, Arithmetic):
            raise OptionError(
                f"{shown(term)} is no term: use trajopt.state('u') or a function under @trajopt.term"
            )
        if not isinstance(term, Maximum):
            refuse_kinks(term, "a maximum")


def _floor(value: Any) -> Array:
    floor = numbers(value, "a number of a maximum")
    if floor.ndim > 1 or not np.all(np.isfinite(floor)):
        raise NotFiniteError(
            f"a number of a maximum is {shown(value)}: give finite numbers, one per component"
        )
    return floor


def _factor(values: Array) -> Factor:
    return float(values) if np.ndim(values) == 0 else tuple(np.asarray(values).tolist())


def _written(floor: Any) -> str:
    return f"{floor:g}" if np.ndim(floor) == 0 else f"({', '.join(f'{value:g}' for value in floor)})"
