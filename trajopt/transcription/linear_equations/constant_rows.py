"""Rows that no unknown changes: the boundary conditions fix them, so they hold already or never will.

Which these are follows from structure alone: a row is constant where none of the leaves its quantity depends
on, at none of its nodes, has an entry in the map from unknowns to leaves. Whether they hold is checked for
the values of every problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.graph.graph import Graph
from trajopt.graph.protocols.block import Block, Values
from trajopt.transcription.derivatives.jacobian import LeafMap
from trajopt.transcription.row_groups import Limits, RowGroup

TOLERANCE = 1e-8  # relative to the size of the limit and the value


@dataclass(frozen=True, eq=False)
class ConstantRows:
    """The rows of some groups whose Jacobian is structurally zero, which solvers take for degenerate.

    groups : those that have such rows, with all their rows
    fixed : for each, which entries of (rows, width) are constant
    graph, leaf_map : what their quantities are computed by
    """

    groups: tuple[RowGroup, ...]
    fixed: tuple[Array, ...]
    graph: Graph
    leaf_map: LeafMap

    @staticmethod
    def among(groups: Sequence[RowGroup], graph: Graph, leaf_map: LeafMap) -> ConstantRows:
        """The constant rows among those of all groups."""
        masks = [group.spread(_constant(group, graph, leaf_map)) for group in groups]
        found = [(group, mask) for group, mask in zip(groups, masks, strict=True) if mask.any()]
        chosen, fixed = tuple(group for group, _ in found), tuple(mask for _, mask in found)
        return ConstantRows(chosen, fixed, graph, leaf_map)

    def left_out_of(self, groups: Sequence[RowGroup]) -> tuple[RowGroup, ...]:
        """The groups without these rows."""
        fixed = dict(zip(map(id, self.groups), self.fixed, strict=True))
        left = (group.without(fixed[id(group)]) if id(group) in fixed else group for group in groups)
        return tuple(group for group in left if group.count)

    def values(self, y: Array, c: Array, other: Mapping[Block, Block]) -> Values:
        """The quantities at the nodes for unknowns y, x = N y + c, with other blocks in place of some."""
        leaves = self.leaf_map.at(y, self.leaf_map.offset(c)).values
        return self.graph.with_blocks(other).values(leaves)

    def check(
        self, values: Values, given: Sequence[Limits], times: Array, names: Callable[[str, int], list[str]]
    ) -> None:
        """That all these rows lie within their limits.

        values : quantities at the nodes, for any unknowns
        given : limits of the problem, `given_limits`
        times : of the nodes there
        names : (quantity, width) -> what its components are called
        Raises InfeasibleBoundsError, naming term, component and node, for one that does not hold.
        """
        for group, fixed in zip(self.groups, self.fixed, strict=True):
            now = group.spread(group.matrix @ values[group.quantity].ravel())
            _check(group, fixed, now, group.limits(given), times, names)


def _constant(group: RowGroup, graph: Graph, leaf_map: LeafMap) -> Array:
    """Which rows of the program in this group have no entry in the Jacobian, (count,)."""
    moving = leaf_map.depending(graph.leaf_pattern(group.quantity), group.width).ravel()
    matrix = group.matrix
    rows = np.repeat(np.arange(group.count), np.diff(matrix.indptr))
    return np.bincount(rows, moving[matrix.indices], minlength=group.count) == 0.0


def _check(
    group: RowGroup,
    fixed: Array,
    now: Array,
    limits: Limits,
    times: Array,
    names: Callable[[str, int], list[str]],
) -> None:
    """That the fixed entries of (rows, width) lie within their limits now."""
    lower, upper = limits
    slack = TOLERANCE * np.maximum(1.0, np.abs(now))
    wrong = fixed & ~((now >= lower - slack) & (now <= upper + slack))  # or NaN
    for row, component in np.argwhere(wrong)[:1]:
        label, node = names(group.quantity, group.width)[component], int(group.node[row])
        what = f"'{group.name}', component {label}," if label else f"'{group.name}'"
        raise InfeasibleBoundsError(
            f"{what} is {now[row, component]:.6g} at t = {times[node]:.4g} s (node {node}) whatever the "
            "motion, as other conditions fix it, but its limits are "
            f"[{lower[row, component]:.6g}, {upper[row, component]:.6g}]: widen them, or move "
            "the boundary value"
        )
