"""Bounds on the rate of change of joint torques."""

from __future__ import annotations

from typing import Any

from trajopt.graph.keys import PARAMETER
from trajopt.splines.node_sets import Neighbours
from trajopt.terms.term import ExpressionTerm


def limit_torque_rate(problem: Any, rate: Any) -> None:
    """|tau_i(t_k+1) - tau_i(t_k)| <= rate (t_k+1 - t_k) between neighbouring nodes, rate in N m/s.

    rate is a number, or a parameter of the problem, which may then be minimized. The bounds are written as
    differences of two terms between neighbouring nodes: tau - rate t does not rise, tau + rate t does not
    fall. Where two nodes coincide because the acceleration may jump, the torque may not.
    """
    name = getattr(rate, "quantity", "").removeprefix(PARAMETER)

    def slope(node: Any) -> Any:
        return node.parameter(name) if name else float(rate)

    def below_rising(node: Any) -> Any:
        return node.tau - slope(node) * node.t

    def above_falling(node: Any) -> Any:
        return node.tau + slope(node) * node.t

    problem.subject_to(
        ExpressionTerm(below_rising, "torque rate, upper"),
        upper=0.0,
        over=Neighbours(),
        name="torque rate rising",
    )
    problem.subject_to(
        ExpressionTerm(above_falling, "torque rate, lower"),
        lower=0.0,
        over=Neighbours(),
        name="torque rate falling",
    )
