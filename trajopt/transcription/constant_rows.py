"""Rows that no unknown changes: the boundary conditions fix them, so they hold already or never will."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from trajopt.errors import InfeasibleBoundsError
from trajopt.transcription.nlp import NLP
from trajopt.transcription.row_groups import RowGroup

TOLERANCE = 1e-8  # relative to the size of the limit and the value


def without_fixed_rows(
    nlp: NLP, groups: Sequence[RowGroup], names: Callable[[str, int], list[str]]
) -> tuple[RowGroup, ...]:
    """The groups without the rows whose Jacobian is structurally zero.

    Solvers take such rows for degenerate. Raises InfeasibleBoundsError, naming term, component and node, for
    one that does not hold.
    """
    empty = np.ones(nlp.row_count, dtype=bool)
    empty[nlp.jacobian_rows] = False
    if not empty.any():
        return tuple(groups)
    values = nlp.rows(nlp.start) / nlp.row_scale
    times = nlp.unknowns.node_times(nlp.start)
    left, cursor = [], nlp.linear.b.size
    for group in groups:
        mine = slice(cursor, cursor + group.count)
        cursor += group.count
        fixed, now = group.spread(empty[mine]), group.spread(values[mine])
        slack = TOLERANCE * np.maximum(1.0, np.abs(now))
        wrong = fixed & ~((now >= group.lower - slack) & (now <= group.upper + slack))  # or NaN
        for row, component in np.argwhere(wrong)[:1]:
            label = names(group.quantity, group.lower.shape[1])[component]
            what = f"'{group.name}', component {label}," if label else f"'{group.name}'"
            node = int(group.node[row])
            raise InfeasibleBoundsError(
                f"{what} is {now[row, component]:.6g} at t = "
                f"{times[node]:.4g} s (node {node}) whatever the motion, as other conditions fix it, but its "
                f"limits are [{group.lower[row, component]:.6g}, {group.upper[row, component]:.6g}]: widen "
                "them, or move the boundary value"
            )
        lower, upper = np.where(fixed, -np.inf, group.lower), np.where(fixed, np.inf, group.upper)
        left.append(replace(group, lower=lower, upper=upper))
    return tuple(left)
