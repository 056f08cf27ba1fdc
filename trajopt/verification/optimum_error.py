"""Estimates how much a finer mesh could lower the objective, from the results of a verification.

Two groups of parts are summed, all in the unit of the objective and all taken as positive, and the sum is
doubled: alone it was up to a quarter too small for arms in minimum time on few intervals. By how much the
continuous problem's Lagrangian differs from that of the program, to first order:

    limits      integral of |lambda(t)| |value(t) - bound(t)| dt of every path limit, lambda its multiplier
    kinks       integral of |lambda_i(t)| (value(t) - piece_i(t)) dt of every maximum of pieces, exact ones
    equations   integral of lambda(t) r(t) dt of every path equation, r its residual between the nodes
    costs       integral of a cost minus its quadrature at the nodes

And what the optimum would lose on a spline with about every second breakpoint alone, each span of which is
half as wide again as any it joins, d = y - y(coarser): finer breakpoints gain less, as the error of a spline
falls at least in proportion to their distance.

    bounds      sum of z |d|,  z the multipliers of the bounds on unknowns, such as controls at their limits
    motion      d' H d / 2,  H the Hessian of the Lagrangian, d along directions that keep the active rows
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.checks.optimality.gain_indicator import gains_of_kinks, gains_of_limits
from trajopt.solution.solution import SolutionData
from trajopt.splines.curve import Curve, CurveGroup
from trajopt.verification.minimality import LARGEST, NearbyPoints
from trajopt.verification.report import Report


def error_of_optimum(solution: SolutionData, nearby: NearbyPoints | None, report: Report) -> float | None:
    """Twice the sum above, an estimate; None where it is not known.

    It is too large where a mesh is far too coarse, where controls switch at kinks or at breakpoints, and
    blind to other local optima and to kinks of users' own functions. Not known of certified motions, whose
    certificate says more, of terms without second derivatives, and of more unknowns than `minimality` looks
    at.

    nearby : the points near the motion in its program, None where that is not known
    report : with costs and equations
    """
    if nearby is None or solution.certificate is not None or not nearby.nlp.has_hessian:
        return None
    if nearby.nlp.variable_count > LARGEST:
        return None
    kinks = gains_of_kinks(solution) if solution.problem.slacks else []
    limits = sum(map(np.sum, (*gains_of_limits(solution), *kinks)))
    equations = sum(abs(equation.cost) for equation in report.equations if equation.cost is not None)
    costs = sum(abs(cost.integral - cost.value) for cost in report.costs)
    total = float(limits + equations + costs) + _loss_on_coarser_mesh(solution, nearby)
    return 2.0 * total if np.isfinite(total) else None


def _loss_on_coarser_mesh(solution: SolutionData, nearby: NearbyPoints) -> float:
    """z |d| + d' H d / 2 of above."""
    nlp, point = nearby.nlp, nearby.point
    d = point.y - nlp.unknowns.of(_coarser(solution.curve), solution.parameters)
    sides = (point.lower_multipliers, point.upper_multipliers)
    of_bounds = sum(float(np.abs(z * d).sum()) for z in sides if z is not None)
    free = nearby.projected(d[nearby.free])
    return (of_bounds + 0.5 * abs(float(free @ (nearby.hessian @ free)))) / nlp.objective_scale


def _coarser(curve: Curve) -> Curve:
    """The curve through its own values on every second breakpoint, on the bases of the curve."""
    groups = []
    for group in curve.groups:
        points = []
        for basis, own in zip(group.bases, group.control_points, strict=True):
            half = basis.halved()
            through = half.interpolate(basis.evaluate(own, half.greville))
            points.append(basis.interpolate(half.evaluate(through, basis.greville)))
        groups.append(CurveGroup(group.bases, tuple(points)))
    joints, *apart = groups
    return replace(curve, control_points=joints.control_points, apart=tuple(apart))
