"""The rate of the legs' forces, a cost of walking beside work.

With the ground's reaction R, the share w of the leading leg in it and the force f e with which the legs push
against each other (`OpposingForce`), legs push with A = w R - f e and B = (1 - w) R + f e. For mass m and
height H the cost is

    integral_0^T  (H / g) (|dA/dt|^2 + |dB/dt|^2) / (m g)^2  dt.

Work alone makes predicted forces impulsive, the more the finer a motion may be. People's are smooth, which a
cost of the rate of force explains, and only beside a cost of work: Rebula and Kuo 2015, whose forces are of
legs on a point mass. w follows time here, whatever split the feet have.

R depends on accelerations, and its rate would depend on third derivatives of pose. The rate is instead that
of a spline on the knots of the joints that equals R / (m g) at as many times of each step as it has
coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import trajopt
from problems.human.body.model import GRAVITY
from problems.human.gait.ground_reaction import force, time_weight, time_weight_rate
from problems.human.gait.step import Step

REACTION = "smooth_reaction"  # the spline, in body weights


def minimize_force_rate(problem: trajopt.Problem, steps: Sequence[Step], weight: float) -> None:
    """Minimize the squared rates of both legs' forces; the weight is without unit."""
    problem.extra(REACTION, guess=[0.0, 1.0, 0.0], unit="BW", components=("x", "y", "z"))
    seconds = steps[0].height / GRAVITY
    for step in steps:
        whole = "path" if step.count == 1 else trajopt.ArcNodes(step.number, "whole")
        problem.minimize(force_rate(step), weight * seconds, over=whole)
        reaction = force(unit=step.weight)

        def miss(node: Any, of: trajopt.ExpressionTerm = reaction) -> Any:
            return [here - node.extra(REACTION)[i] for i, here in enumerate(of.function(node))]

        for part in spline_times(problem.trajectory, step.number):
            name = step.named(f"spline of the reaction at {part:.3f} T")
            problem.subject_to(trajopt.ExpressionTerm(miss, name), equals=0.0, over=step.at(part), name=name)


def force_rate(step: Step) -> trajopt.ExpressionTerm:
    """|dA/dt|^2 + |dB/dt|^2 of both legs' forces, by the spline of the reaction in body weights, 1/s^2."""
    double_support = step.toe_off * step.duration
    share, rate_of_share = (law(double_support, step.begins) for law in (time_weight, time_weight_rate))
    opposing = step.reaction_split.opposing

    def rates(node: Any) -> Any:
        w, dw = share(node), rate_of_share(node)
        apart = np.zeros(3)
        if opposing is not None:
            df = dw * (1.0 - 2.0 * w) * opposing.size(node) + w * (1.0 - w) * opposing.rate(node)
            apart = [df * float(along) for along in opposing.direction]
        total = 0.0
        for i in range(3):
            r, dr = node.extra(REACTION)[i], node.rate(REACTION)[i]
            total += (dw * r + w * dr - apart[i]) ** 2 + ((1.0 - w) * dr - dw * r + apart[i]) ** 2
        return total

    return trajopt.ExpressionTerm(rates, step.named("rate of leg forces"))


def spline_times(trajectory: trajopt.Trajectory, arc: int) -> list[float]:
    """Nodes, in parts of an arc, that determine a spline on its knots: the nearest to its Greville points."""
    mine = trajectory.nodes.arc == arc
    parts = trajectory.nodes.s[mine]
    found: list[float] = []
    for wanted in trajectory.arcs[arc].basis.greville:
        free = parts[~np.isin(parts, found)]
        found.append(float(free[np.argmin(np.abs(free - wanted))]))
    return found
