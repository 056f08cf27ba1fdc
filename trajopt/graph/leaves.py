"""Leaves of the graph: quantities at a node that come straight from the unknowns, by name and order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SPLINE_LEAVES = ("q", "v", "a", "jerk")


CLOCK_LEAVES = ("t", "duration", "arc_duration")


@dataclass(frozen=True)
class SplineLeaf:
    """A leaf that is the derivative of this order of some of the curves of a trajectory."""

    order: int
    curves: slice


def extra_leaf(name: str) -> str:
    """The leaf that carries an extra curve, a contact force for instance."""
    return f"extra:{name}"


def spline_leaves(n: int, extras: Mapping[str, int]) -> dict[str, SplineLeaf]:
    """Joint positions and their derivatives, then the values of extra curves (name -> width)."""
    leaves = {leaf: SplineLeaf(order, slice(0, n)) for order, leaf in enumerate(SPLINE_LEAVES)}
    cursor = n
    for name, width in extras.items():
        leaves[extra_leaf(name)] = SplineLeaf(0, slice(cursor, cursor + width))
        cursor += width
    return leaves


def parameter_leaf(name: str) -> str:
    """The leaf that carries a constant unknown."""
    return f"parameter:{name}"
