"""Smooth forms of terms with kinks: slacks in costs and integrals, a bound of each piece in limits.

    |u| <= c            becomes     -c <= u <= c
    max(u, w) <= c      becomes     u <= c and w <= c
    minimize |u|        becomes     minimize s  subject to  s >= u, s >= -u     with a slack s
    |u|_2 <= c          becomes     u' u <= c^2
    minimize |u|_2      becomes     minimize (u' u / s + s) / 2                 with a slack s > 0

All of it is smooth, and exact: a cost makes s equal to |u| at every node. A term that is
bounded from below, or maximized, is not convex and has no such form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.graph.protocols.term import Term
from trajopt.terms.arithmetic import Combination, Factor, Squared, factor_of, written
from trajopt.terms.nonsmooth import Kinked, Maximum, Norm, has_kinks, refuse_kinks

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
        parts = []
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
        number, several, named = constant, list(smooth), []
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
