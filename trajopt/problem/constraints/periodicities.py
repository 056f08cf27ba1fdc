"""Periodicities from the arguments of `Problem.subject_to_periodic`, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import numbers, short_repr
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.keys import SPLINE_LEAVES, is_extra
from trajopt.problem.costs_and_constraints import Periodicity
from trajopt.problem.input_checks import bound_of


def periodicity_of(
    term: Any, width: int, signs: ArrayLike, order: ArrayLike | None, offset: ArrayLike, label: str
) -> Periodicity:
    """term(T)_i = signs_i * term(0)_order(i) + offset_i; ShapeError or OptionError where it cannot be."""
    given = np.arange(width) if order is None else numbers(order, f"the order of '{label}'")
    if given.shape != (width,) or sorted(given.tolist()) != list(range(width)):
        raise ShapeError(
            f"the order of '{label}' is {short_repr(given.tolist())}: give each of 0 .. {width - 1} once"
        )
    places = given.astype(np.int64)
    mixed = bool(np.any(places != np.arange(width)))
    if mixed and term.quantity not in SPLINE_LEAVES and not is_extra(term.quantity):
        raise OptionError(
            f"'{label}' reorders components, which only q, v and additional curves can: reorder inside"
        )
    return Periodicity(
        term, bound_of(signs, 1.0, width, label), places, bound_of(offset, 0.0, width, label), label
    )
