"""Terms with kinks, absolute values, norms and maxima, and the smooth terms that stand for them in a program.

A smooth form has slacks in costs and integrals, and in limits a bound of each piece:

    |u| <= c            becomes     -c <= u <= c
    max(u, w) <= c      becomes     u <= c and w <= c
    minimize |u|        becomes     minimize s  subject to  s >= u, s >= -u     with a slack s
    |u|_2 <= c          becomes     u' u <= c^2
    minimize |u|_2      becomes     minimize (u' u / s + s) / 2                 with a slack s > 0

All of it is smooth, and exact: a cost makes s equal to |u| at every node. A term that is
bounded from below, or maximized, is not convex and has no such form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import check_positive, finite_numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.protocols import Block, Term
from trajopt.graph.quantities import own_term
from trajopt.terms.arithmetic import (
    Arithmetic,
    Combination,
    Factor,
    OfOneTerm,
    Operand,
    Squared,
    blocks_of_function,
    blocks_of_one_width,
    by_component,
    factor_of,
    inner_blocks,
    written,
)
from trajopt.terms.term import ExpressionTerm, KnownByName, operands_of

SMALLEST = 1e-6  # slack of a norm, in the unit of its term


@dataclass(frozen=True)
class Maximum(KnownByName):
    """y_i = max(u_i, w_i, ..., floor_i) over terms of one width m, and numbers; |u| is max(u, -u)."""

    pieces: tuple[Term, ...]
    floor: Factor | None = None
    is_absolute: bool = False

    @property
    def operands(self) -> tuple[Term, ...]:  # type: ignore[override]
        return self.pieces

    @property
    def name(self) -> str:
        if self.is_absolute:
            return f"|{self.pieces[0].name}|"
        floor = [] if self.floor is None else [written(self.floor)]
        return f"max({', '.join([*(piece.name for piece in self.pieces), *floor])})"

    @property
    def is_nonnegative(self) -> bool:
        """True if no value is below zero, whatever the node, so that its square is convex."""
        return self.is_absolute or (self.floor is not None and bool(np.all(np.asarray(self.floor) >= 0.0)))

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        from trajopt.graph.expression import function_block

        blocks, widths = blocks_of_one_width(self.pieces, width_of, "a maximum of terms of different widths")
        if self.floor is not None:
            by_component(self.floor, next(iter(widths.values())), "a maximum")
        return (*blocks, function_block("fmax", widths, self.quantity, self.floor))


@dataclass(frozen=True)
class Norm(KnownByName, OfOneTerm):
    """y = |u| = sqrt(u' u), the Euclidean length of a term `base`, (1,), which has a kink at u = 0.

    smallest : below which a slack counts it as u' u / (2 smallest) + smallest / 2
    """

    smallest: float

    @property
    def name(self) -> str:
        return f"norm of {self.base.name}"

    @property
    def squared(self) -> SumOfSquares:
        """u' u, which is smooth."""
        return SumOfSquares(self.base)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        return blocks_of_function("norm_2", self.base, self.quantity, width_of)


@dataclass(frozen=True)
class SumOfSquares(KnownByName, OfOneTerm):
    """y = u' u, (1,), of the components of a term `base`."""

    @property
    def name(self) -> str:
        return f"sum of squares of {self.base.name}"

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        return blocks_of_function("sumsqr", self.base, self.quantity, width_of)


Kinked: TypeAlias = Maximum | Norm


@dataclass(frozen=True)
class OfSlack(Arithmetic):
    """A term of a slack in place of one with kinks, `exact`."""

    exact: Kinked

    @property
    def operands(self) -> tuple[Term, ...]:  # type: ignore[override]
        return (self.exact,)

    @property
    def name(self) -> str:
        return self.exact.name


@dataclass(frozen=True)
class SlackedNorm(OfSlack):
    """y = (u' u / s + s) / 2, the least of which over s is |u|, with a slack s, the quantity `slack`."""

    exact: Norm
    slack: str

    @property
    def quantity(self) -> str:
        return own_term(f"{self.name} by {self.slack}")

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        from trajopt.graph.expression import norm_block

        blocks, width = inner_blocks(self.exact.base, width_of)
        return (*blocks, norm_block(self.exact.base.quantity, width, self.slack, self.quantity))


@dataclass(frozen=True)
class SmoothedTerm(ExpressionTerm):
    """y = f(node) in place of `exact`, which has no derivative everywhere: |P| made smooth, for instance.

    Solvers see y, and its roots are not warned of; reports and certificates compare the integral of y at the
    nodes with that of `exact`, where it is given.
    """

    exact: ExpressionTerm | None = None


@dataclass(frozen=True)
class Slacked(OfSlack):
    """The slack that stands for a maximum: the quantity `quantity` of the program; `exact` is the maximum.

    Solvers see the slack; reports and certificates compare its integral at the nodes with that of `exact`.
    """

    exact: Maximum
    quantity: str

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        return ()


def absolute(term: Term) -> Maximum:
    """|u_i|, the absolute values of a term's components, (m,), in its unit; `integral |u|` is an L1 cost.

        problem.minimize(trajopt.absolute(trajopt.state("thrust")))                       # fuel
        problem.subject_to(trajopt.integral(trajopt.absolute(trajopt.tau)), upper=50.0)

    Exact and smooth for the solver: slacks stand for the absolute values at the nodes. It may be minimized
    with a positive weight and bounded from above, not from below. Raises OptionError for another object.
    """
    _check_pieces((term,))
    refuse_kinks(term, "an absolute value")
    return Maximum((term, Combination(((-1.0, term),))), is_absolute=True)


def norm(term: Term, smallest: float = SMALLEST) -> Norm:
    """|u| = sqrt(u' u), the Euclidean length of a term's components, (1,), in its unit.

        problem.minimize(trajopt.norm(trajopt.tau))                              # integral of |tau| dt
        problem.subject_to(trajopt.norm(trajopt.state("force")), upper=2.0)      # force' force <= 4

    A cost is smooth for the solver at u = 0, too: |u| is the least of (u' u / s + s) / 2 over s > 0, and s
    stands at the nodes. It may be minimized with a positive weight and bounded from above, not from below.

    smallest : least s, in the term's unit. A norm above it is exact; one below counts up to half of it more
    Raises OptionError for another object.
    """
    _check_pieces((term,))
    refuse_kinks(term, "a norm")
    check_positive("the smallest value of a norm", smallest)
    return Norm(term, float(smallest))


def maximum(*terms: Operand) -> Maximum:
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


def minimum(*terms: Operand) -> Combination:
    """min(u_i, w_i, ...), component by component, (m,): -max(-u_i, -w_i, ...).

    It may be maximized (a negative weight) and bounded from below. Errors as in `maximum`.
    """
    # 0 - 0, not -0, so that minimum(-u, 0) has the name and the slack of maximum(u, 0)
    return -maximum(*(-term if isinstance(term, Arithmetic) else 0.0 - _floor(term) for term in terms))


def has_kinks(term: object) -> bool:
    """True if a term contains an absolute value, a norm or a maximum."""
    if isinstance(term, OfSlack):
        return False
    return isinstance(term, Kinked) or any(map(has_kinks, operands_of(term)))


def refuse_kinks(term: Term, where: str) -> None:
    """OptionError for a term with kinks where only smooth ones can be."""
    if has_kinks(term):
        raise OptionError(
            f"'{term.name}' has kinks, which {where} cannot have: absolute values, norms and maxima are "
            "for `minimize` and upper bounds of `subject_to`"
        )


def exact_of(term: Term) -> Term:
    """The term that a smoothed one, or one with slacks, stands for; any other term itself."""
    if isinstance(term, SmoothedTerm):
        return term.exact or term
    if isinstance(term, OfSlack):
        return term.exact
    if isinstance(term, Squared):
        base = exact_of(term.base)
        return term if base is term.base else Squared(base)
    if isinstance(term, Combination):
        exact = tuple((factor, exact_of(part)) for factor, part in term.parts)
        changed = any(new is not old for (_, new), (_, old) in zip(exact, term.parts, strict=True))
        return replace(term, parts=exact) if changed else term
    return term


def _check_pieces(terms: Sequence[Term]) -> None:
    if not terms:
        raise OptionError("no term is given: trajopt.maximum(trajopt.state('x'), 0.0)")
    for term in terms:
        if not isinstance(term, Arithmetic):
            raise OptionError(
                f"{short_repr(term)} is no term: use trajopt.state('u') or a function under @trajopt.term"
            )
        if not isinstance(term, Maximum):
            refuse_kinks(term, "a maximum")


def _floor(value: object) -> Array:
    floor = finite_numbers(value, "a number of a maximum")
    if floor.ndim > 1:
        raise ShapeError(f"a number of a maximum has shape {floor.shape}: give one, or one per component")
    return floor


MOST_PIECES = 64  # smooth ones that stand for one function: more take longer than they are worth


def with_slacks(term: Term, weight: float, slack_of: Callable[[Kinked], Term]) -> Term:
    """weight * term with slacks in place of all kinks; OptionError where that is not convex in them.

    slack_of : the term with a slack that stands for a maximum or a norm
    """
    if isinstance(term, Squared) and isinstance(term.base, Norm):
        return term.base.squared
    if isinstance(term, Kinked):
        if weight < 0.0:
            raise _not_convex(term, "maximized, or counted negatively")
        return slack_of(term)
    if isinstance(term, Combination):
        parts: list[tuple[Factor, Term]] = []
        for factor, part in term.parts:
            signed = weight * np.asarray(factor)
            if has_kinks(part) and np.any(signed < 0.0) and np.any(signed > 0.0):
                raise _not_convex(part, "counted negatively in some components")
            sign = -1.0 if np.any(signed < 0.0) else 1.0
            parts.append((factor, with_slacks(part, sign, slack_of)))
        return replace(term, parts=tuple(parts))
    if isinstance(term, Squared) and isinstance(term.base, Maximum) and term.base.is_nonnegative:
        if weight < 0.0:
            raise _not_convex(term, "maximized, or counted negatively")
        return Squared(slack_of(term.base))
    refuse_kinks(term, "a square or a function")
    return term


def multiple_of_norm(term: Term) -> tuple[Norm, float, float] | None:
    """(norm, factor, number) of a term factor * norm + number with a positive factor; None for any other."""
    parts = list(_linear_parts(term))
    norms = [(float(np.squeeze(factor)), part) for factor, part in parts if isinstance(part, Norm)]
    if len(norms) != 1 or norms[0][0] <= 0.0 or any(not isinstance(part, Norm | None) for _, part in parts):
        return None
    numbers = (float(np.squeeze(factor)) for factor, part in parts if part is None)
    return norms[0][1], norms[0][0], sum(numbers, 0.0)


def selections(term: Term) -> Iterator[tuple[Term | None, Array, str]]:
    """Smooth terms t_j and numbers c_j with term = max_j (t_j + c_j), and a name of each piece.

    A term is None where only the number is left. Raises OptionError for a term that is no such maximum.
    """
    parts = list(_linear_parts(term))
    kinks = [(factor, part) for factor, part in parts if isinstance(part, Maximum)]
    smooth = [(factor, part) for factor, part in parts if not isinstance(part, Maximum | None)]
    constant = sum((np.asarray(factor) for factor, part in parts if part is None), np.zeros(1))
    for _, part in parts:
        if isinstance(part, Norm):
            raise _not_convex(part, "bounded in a sum, or from below")
    for factor, part in kinks:
        if np.any(np.asarray(factor) < 0.0):
            raise _not_convex(part, "bounded from below")
    for _, part in smooth:
        refuse_kinks(part, "a square or a function")
    choices = [[*part.pieces, *([] if part.floor is None else [None])] for _, part in kinks]
    if np.prod([len(choice) for choice in choices]) > MOST_PIECES:
        raise OptionError(
            f"'{term.name}' has more than {MOST_PIECES} pieces: bound its parts one by one, or the "
            "integral of it"
        )
    for chosen in product(*choices):
        number, several = constant, list(smooth)
        named: list[str] = []
        for (factor, kink), piece in zip(kinks, chosen, strict=True):
            if piece is None:
                number = number + np.asarray(factor) * np.asarray(kink.floor)
            else:
                several.append((factor, piece))
            named.append(written(kink.floor) if piece is None else piece.name)
        yield _combined(several), number, ", ".join(named)


def _combined(parts: list[tuple[Factor, Term]]) -> Term | None:
    """The sum of multiples of terms: the term itself where there is one of factor 1, None without any."""
    if len(parts) == 1 and parts[0][0] == 1.0:
        return parts[0][1]
    return Combination(tuple(parts)) if parts else None


def _linear_parts(term: Term, factor: ArrayLike = 1.0) -> Iterator[tuple[Factor, Term | None]]:
    """The terms of which a term is the weighted sum, none of them a sum; None with each constant."""
    if not isinstance(term, Combination):
        yield factor_of(np.asarray(factor)), term
        return
    for own, part in term.parts:
        yield from _linear_parts(part, np.asarray(factor) * np.asarray(own))
    if np.any(term.constant):
        yield factor_of(np.asarray(factor) * np.asarray(term.constant)), None


def _not_convex(term: Term, how: str) -> OptionError:
    return OptionError(
        f"'{term.name}' is {how}, which is not convex, so it has no slack: absolute values, norms and "
        "maxima are minimized or bounded from above (minima maximized or bounded from below)"
    )
