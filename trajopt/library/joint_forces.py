"""Magnitudes of the forces and moments that joints transmit, to limit loads on bearings or ligaments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt.base import arguments
from trajopt.base.arguments import check_positive
from trajopt.terms.nonsmooth import SmoothedTerm
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols


def force_norm(joint: str, rounding: float = 1e-3) -> ExpressionTerm:
    """sqrt(|f|^2 + e^2) - e, N, f the force that a joint transmits: smooth at zero, at most e below |f|."""
    return _norm(joint, slice(3, None), rounding, "force")


def moment_norm(joint: str, rounding: float = 1e-3) -> ExpressionTerm:
    """sqrt(|m|^2 + e^2) - e, N m, with m the moment about the joint's origin, its own torque included."""
    return _norm(joint, slice(3), rounding, "moment")


def _norm(joint: str, part: slice, rounding: float, what: str) -> ExpressionTerm:
    arguments.name(joint, "the joint of a norm")
    check_positive("rounding", rounding)  # a norm has no slope at zero

    def norm(node: NodeSymbols) -> Expression:
        vector = node.wrench(joint)[part]
        return (vector.T @ vector + rounding**2) ** 0.5 - rounding

    return SmoothedTerm(norm, f"{what} in {joint}")
