"""The cost of walking whose terms come from the literature: `cost="sourced"` of `gait`, its default.

With p_i the passive moment of joint i and m_i = tau_i - p_i what its muscles give,

    integral_0^T  sum_i (m_i / s_i)^2
                + w_power / P0 sum_i (sqrt((m_i v_i)^2 + e^2) - e)
                + w_steady (H / g)^2 (|alpha_pelvis|^2 + |alpha_head|^2)  dt

over powered joints i, and the rate of leg forces (`force_rate`). s_i is the strength in the direction in
which muscles pull: 200 N m extend an adult's hip and 150 flex it, 130 plantarflex the ankle and 43 dorsiflex
it, each at the angle of the joint that suits it best (`angle_strength`). P0 = m g sqrt(g H) for mass m and
height H, e = 0.0016 P0, and alpha are angular accelerations in yaw, list and tilt. All weights are without
unit, the same for every person, speed and step length. The cost also decides with which force the legs push
against each other in double support (`ground_reaction.OpposingForce`).

Sources: passive moments of the leg, Riener and Edrich 1999, and of the arm, Gomi and Osu 1998 and Davidson
and Charles 2017 (`passive_moments`); squared effort relative to strength, Ackermann and van den Bogert 2010;
strength by direction, by angle, and in proportion to mass times height, Anderson et al. 2007; mechanical
power of joints, Srinivasan and Ruina 2006; steadiness, the stable head of Veerkamp et al. 2021 and, at the
same weight, our own of the pelvis. The values of all weights are our own, chosen on the trial of Rajagopal et
al., and so is the stiffness of all other joints (`effort.SPRINGS`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

import dynamics
import trajopt
from problems.human.body.angle_strength import strength_at
from problems.human.body.model import GRAVITY, TABLE_HEIGHT
from problems.human.body.person import Person
from problems.human.gait.effort import powered, spring
from problems.human.gait.passive_moments import LUMBAR, passive_arm_moments, passive_leg_moments
from trajopt.base.errors import OptionError
from trajopt.terms.nonsmooth import SmoothedTerm

POWER_ROUNDING = 1.6e-3  # of P0, 5 W for 75 kg and 1.75 m, within which |power| is rounded off at zero
TURN = 2.0  # N m for 75 kg and 1.75 m, within which one direction's strength passes into the other's
# What turns the pelvis about the vertical, the way and the axis across, and the head on the pelvis likewise.
PELVIS = {"global_yaw": "_rot", "global_list": "_bend", "global_tilt": "_flex"}
SPINE = ("spine", "neck")


Torques = Callable[[Any], dict[int, Any]]  # node -> torque in N m by the index of a joint
Rates = Mapping[int, Callable[[Any], Any]]  # index of a joint -> node -> rad/s


@dataclass(frozen=True)
class CostWeights:
    """Weights without unit, beside effort: mechanical power, steadiness, rate of leg forces."""

    power: float = 3.0
    steadiness: float = 0.07
    force_rate: float = 0.015

    def __post_init__(self) -> None:
        for name in ("power", "steadiness", "force_rate"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise OptionError(f"the weight of {name} is {getattr(self, name)}: give a number from 0")


def minimize_sourced_cost(
    problem: trajopt.Problem,
    model: dynamics.RigidBodyModel,
    person: Person,
    weights: CostWeights,
    springs: bool = True,
    stiffer: Mapping[str, float] = MappingProxyType({}),
    stretching: Rates = MappingProxyType({}),
) -> None:
    """Minimize muscle effort, mechanical power and angular accelerations of pelvis and head.

    Without `springs` muscles give the whole torque; `stiffer` adds stiffness in N m/rad to joints.
    stretching : rates at which tendons are stretched, see `muscle_power`
    """
    muscles = muscle_torques(model, person, springs, stiffer)
    problem.minimize(muscle_effort(model, muscles, TURN * person.size))
    if weights.power > 0.0:
        unit = person.mass * GRAVITY * float(np.sqrt(GRAVITY * person.height))
        work = muscle_power(muscles, POWER_ROUNDING * unit, stretching)
        problem.minimize(work, weights.power / unit)
    if weights.steadiness > 0.0:
        seconds = (person.height / GRAVITY) ** 2
        problem.minimize(turning_accelerations(model), weights.steadiness * seconds)


def muscle_torques(
    model: dynamics.RigidBodyModel,
    person: Person,
    springs: bool = True,
    stiffer: Mapping[str, float] = MappingProxyType({}),
) -> Torques:
    """Torques of muscles at every powered joint: the torque less the passive moment.

    Hip, knee and ankle in the sagittal plane and the arms have published moments, all other joints springs;
    what is stretched between thighs and trunk bends the lumbar spine, too, with the moments of both hips. All
    grow with mass times height, as strength does, and damping also with the root of the height, as similar
    motions of taller people are slower.
    """
    names, size = model.joint_names, person.size
    slowness = float(np.sqrt(person.height / TABLE_HEIGHT))

    def torques(node: Any) -> dict[int, Any]:
        q = dict(zip(names, (node.q[i] for i in range(len(names))), strict=True))
        v = dict(zip(names, (slowness * node.v[i] for i in range(len(names))), strict=True))
        published: dict[str, Any] = {}
        for side in "rl" if springs else "":
            published |= passive_leg_moments(q, side) | passive_arm_moments(q, v, side)
        hips = sum(published[f"hip_{side}_flex"] for side in "rl") if springs else 0.0
        found = {}
        for i in powered(model):
            name = names[i]
            stiffness, rest = spring(name)
            moment = published.get(name, -springs * stiffness * (q[name] - rest))
            if name in LUMBAR:
                moment = moment + hips
            found[i] = node.tau[i] - size * moment + stiffer.get(name, 0.0) * (q[name] - rest)
        return found

    return torques


def muscle_effort(model: dynamics.RigidBodyModel, muscles: Torques, turn: float) -> trajopt.ExpressionTerm:
    """Sum over joints of (m / s)^2, s the strength in the direction of m, smooth within `turn` N m of zero.

    m^2 ((1 + c) / s_+^2 + (1 - c) / s_-^2) / 2 with c = m / sqrt(m^2 + turn^2). Strengths are the limits of
    the model; those of hip, knee and ankle in the sagittal plane depend on the angle (`angle_strength`).
    """
    upward = 0.5 / model.limits.torque_upper**2
    downward = 0.5 / model.limits.torque_lower**2
    names = model.joint_names

    def effort(node: Any) -> Any:
        total = 0.0
        for i, torque in muscles(node).items():
            way = torque / np.sqrt(torque**2 + turn**2)
            forward, backward = strength_at(names[i], node.q[i])
            pulls = float(upward[i]) * (1.0 + way) / forward**2
            total += torque**2 * (pulls + float(downward[i]) * (1.0 - way) / backward**2)
        return total

    return SmoothedTerm(effort, "dynamic effort")


def muscle_power(
    muscles: Torques, rounding: float, stretching: Rates = MappingProxyType({})
) -> trajopt.ExpressionTerm:
    """Sum over joints of sqrt(P^2 + e^2) - e, P = m u in W: the work of muscles, positive or negative.

    u is the rate v of the joint, and where muscles pull on a tendon that is stretched meanwhile, v plus the
    rate of that stretch.
    """

    def power(node: Any) -> Any:
        total = 0.0
        for i, torque in muscles(node).items():
            rate = node.v[i] + stretching[i](node) if i in stretching else node.v[i]
            total += np.sqrt((torque * rate) ** 2 + rounding**2) - rounding
        return total

    return SmoothedTerm(power, "mechanical power of muscles")


def turning_accelerations(model: dynamics.RigidBodyModel) -> trajopt.ExpressionTerm:
    """|alpha|^2 of the pelvis and of the head in yaw, list and tilt, rad^2/s^4.

    The head's are sums over the joints from the ground to it that turn about the same axis upright: with the
    angles of walking that is its angular acceleration but for terms of second order.
    """
    names = model.joint_names
    turning = []
    for root, ending in PELVIS.items():
        if root in names:
            above = [name for name in names if name.startswith(SPINE) and name.endswith(ending)]
            turning += [[names.index(root)], [names.index(name) for name in (root, *above)]]
    return trajopt.ExpressionTerm(
        lambda node: sum(sum(node.a[i] for i in joints) ** 2 for joints in turning),
        "unsteadiness of pelvis and head",
    )
