"""Identities of every periodic gait, optimal or not, evaluated by means that the solve does not use.

Quadrature within spans, mirrored ends, free bodies from second derivatives of poses, energies.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

import trajopt
from problems.human.assessment import free_body
from problems.human.assessment.criteria import Criterion
from problems.human.assessment.whole_body import whole_body
from problems.human.body.model import GLOBAL
from problems.human.gait.cycle import gait_cycle, other_end
from trajopt.splines.quadrature import gauss

if TYPE_CHECKING:
    from trajopt import Solution

GAUSS_POINTS = 12  # per span; momentum is smooth there, and twelve leave rounding errors alone


def identities(solution: Solution) -> tuple[Criterion, ...]:
    """Largest errors of eight identities, mean forces in body weights."""
    body = whole_body(gait_cycle(solution, 61))
    weight, model = body.cycle.weight, body.model
    carried = body.cycle.person.total_mass * model.gravity / weight  # on a slope a part of it lies along x
    missing_weight = mean_reaction(solution) / weight + carried
    posture, velocity = (
        float(np.abs(curve(solution.duration) - expected).max())
        for curve, expected in zip((solution.q, solution.v), other_end(solution), strict=True)
    )
    moving = free_body.motion(model, body.q, body.v, body.a)
    missing = np.abs(free_body.imbalance(model, moving, body.wrenches, body.loads)).max()
    rate = free_body.energy(model, moving)[1]
    supplied = np.einsum("ki,ki->k", body.tau, body.v) + free_body.power_of_loads(moving, body.loads)
    pelvis = [model.joint_names.index(name) for name in GLOBAL]
    return (
        _small("mean vertical reaction - weight", abs(missing_weight[1]), 1e-6, "BW"),
        _small("mean fore-aft reaction", abs(missing_weight[0]), 1e-6, "BW"),
        _small("postures at both ends, mirrored", posture, 1e-8, "rad, m"),
        _small("velocities at both ends, mirrored", velocity, 1e-8, "rad/s, m/s"),
        _small("six global forces of the whole skeleton", np.abs(body.tau[:, pelvis]).max(), 1e-8, "N, N m"),
        _small("balance of each of 23 segments, free-body", missing, 1e-8, "N, N m"),
        _small("torques of the solve and of all 55 joints", _difference(solution), 1e-8, "N m"),
        _small("power supplied - rate of energy", np.abs(supplied - rate).max(), 1e-8, "W"),
    )


def mean_reaction(solution: Solution) -> np.ndarray:
    """Mean over the step of the total ground reaction (3,) N, by Gauss quadrature within spans."""
    points, weights = gauss(GAUSS_POINTS)
    total = np.zeros(3)
    for a, b in pairwise(np.unique(solution.knot_times)):
        force = solution.value(trajopt.base_wrench, a + (b - a) * points)[:, 3:]
        total += (b - a) * weights @ force
    return total / solution.duration


def _difference(solution: Solution) -> float:
    """Between torques of the solve, bodies merged, and those of the whole skeleton, on common joints."""
    t = np.linspace(0.0, solution.duration, 31)
    body = whole_body(gait_cycle(solution, t.size))
    places = [body.model.joint_names.index(name) for name in solution.joint_names]
    return float(np.abs(body.tau[: t.size, places] - solution.tau(t)).max())


def _small(name: str, value: float, limit: float, unit: str) -> Criterion:
    return Criterion(name, float(value), -np.inf, limit, unit)
