"""Rows that no unknown changes: the boundary conditions fix them, so they hold already or never will.

Which these are follows from structure alone: a row is constant where none of the leaves its quantity depends
on, at none of its nodes, has an entry in the map from unknowns to leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from trajopt.arrays import Array
from trajopt.errors import InfeasibleBoundsError
from trajopt.graph.graph import Graph
from trajopt.transcription.derivatives.jacobian import LeafMap
from trajopt.transcription.row_groups import RowGroup

TOLERANCE = 1e-8  # relative to the size of the limit and the value


def without_constant_rows(
    groups: Sequence[RowGroup],
    graph: Graph,
    leaf_map: LeafMap,
    start: Array,
    times: Array,
    names: Callable[[str, int], list[str]],
) -> tuple[RowGroup, ...]:
    """The groups without the rows whose Jacobian is structurally zero, which solvers take for degenerate.

    start, times : unknowns at which such rows are evaluated (any would do), and the times of the nodes there
    names : (quantity, width) -> what its components are called
    Raises InfeasibleBoundsError, naming term, component and node, for one that does not hold.
    """
    constant = [_constant(group, graph, leaf_map) for group in groups]
    if not any(mask.any() for mask in constant):
        return tuple(groups)
    values = graph.values(leaf_map.at(start).values)
    left = []
    for group, mask in zip(groups, constant, strict=True):
        fixed = group.spread(mask)
        _check(group, fixed, group.spread(group.matrix @ values[group.quantity].ravel()), times, names)
        lower, upper = np.where(fixed, -np.inf, group.lower), np.where(fixed, np.inf, group.upper)
        left.append(replace(group, lower=lower, upper=upper))
    return tuple(group for group in left if group.count)


def _constant(group: RowGroup, graph: Graph, leaf_map: LeafMap) -> Array:
    """Which rows of the program in this group have no entry in the Jacobian, (count,)."""
    moving = leaf_map.depending(graph.leaf_pattern(group.quantity), group.width).ravel()
    matrix = group.matrix
    rows = np.repeat(np.arange(group.count), np.diff(matrix.indptr))
    return np.bincount(rows, moving[matrix.indices], minlength=group.count) == 0.0


def _check(
    group: RowGroup, fixed: Array, now: Array, times: Array, names: Callable[[str, int], list[str]]
) -> None:
    """That the fixed entries of (rows, width) lie within their limits now."""
    slack = TOLERANCE * np.maximum(1.0, np.abs(now))
    wrong = fixed & ~((now >= group.lower - slack) & (now <= group.upper + slack))  # or NaN
    for row, component in np.argwhere(wrong)[:1]:
        label, node = names(group.quantity, group.width)[component], int(group.node[row])
        what = f"'{group.name}', component {label}," if label else f"'{group.name}'"
        raise InfeasibleBoundsError(
            f"{what} is {now[row, component]:.6g} at t = {times[node]:.4g} s (node {node}) whatever the "
            "motion, as other conditions fix it, but its limits are "
            f"[{group.lower[row, component]:.6g}, {group.upper[row, component]:.6g}]: widen them, or move "
            "the boundary value"
        )
