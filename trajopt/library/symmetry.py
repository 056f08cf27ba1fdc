"""Periodicity with left and right exchanged, for motions whose second half mirrors the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trajopt.base.errors import UnknownNameError
from trajopt.terms import term as terms


def symmetric(problem: Any, pairs: Mapping[str, str], flipped: tuple[str, ...] = ()) -> None:
    """q and v at the end are those at the start with left and right exchanged: half a cycle is solved for.

        q_i(T) = s_i q_partner(i)(0),   v_i(T) = s_i v_partner(i)(0)

    pairs : left joint -> right joint; joints in no pair are their own partners
    flipped : joints whose sign changes, s_i = -1
    Periodicity without exchange is `problem.subject_to_periodic`. Raises UnknownNameError.
    """
    names = list(problem.dynamics.joint_names)
    for name in (*pairs, *pairs.values(), *flipped):
        if name not in names:
            raise UnknownNameError(f"no joint is called '{name}': there are {', '.join(names)}")
    both = dict(pairs) | {right: left for left, right in pairs.items()}
    partner = [names.index(both.get(name, name)) for name in names]
    signs = np.where(np.isin(names, flipped), -1.0, 1.0)
    for quantity in (terms.q, terms.v):
        problem.subject_to_periodic(quantity, signs, order=partner)
