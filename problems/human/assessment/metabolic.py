"""Metabolic cost of a walk, from torques of its muscles and rates of its joints, and people's on slopes.

One muscle per direction of a joint, which shortens by u = sign(m) v / w in parts of its largest speed w:

    P = sum over joints of |m| / h(u) * w * phi(u),

phi the rate of energy of active muscle (Minetti and Alexander 1997), in parts of isometric force times the
largest speed, and h its force in parts of the isometric one (Hill),

    phi(u) = (.054 + .506 u + 2.46 u^2) / (1 - 1.13 u + 12.8 u^2 - 1.64 u^3),
    h(u) = (1 - u) / (1 + 4 u) shortening,  1.8 - .8 (1 + u) / (1 - 7.6 u) lengthening.

Muscles of the trunk span the joints of the spine (Christophy et al. 2012): those that turn about the same
axis have one muscle, with their mean moment and the sum of their rates. A muscle at each would hold the trunk
as many times. Energy at rest is not counted. The largest speed of joints is ours, one for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import trajopt
from problems.human.body.person import Person
from problems.human.gait.sourced_cost import SPINE, muscle_torques
from problems.human.predicted.tendons import stretch_curve
from trajopt.base.errors import OptionError

if TYPE_CHECKING:
    from trajopt import Solution

FASTEST_JOINT = 10.0  # rad/s: of 8 to 25 the one whose cost on the level is nearest to people's
STEEPEST_MEASURED = 0.45  # m a metre, of Minetti et al. 2002
FASTEST_SHORTENING = 0.95  # of the largest speed: force is zero at 1
SAMPLES = 801


def rate_of_energy(u: np.ndarray) -> np.ndarray:
    """phi(u), the power of active muscle in parts of isometric force times largest speed."""
    return (0.054 + 0.506 * u + 2.46 * u**2) / (1.0 - 1.13 * u + 12.8 * u**2 - 1.64 * u**3)


def force_at_speed(u: np.ndarray) -> np.ndarray:
    """h(u), the force of active muscle in parts of the isometric one; u > 0 shortens."""
    slow, fast = np.minimum(u, 0.0), np.maximum(u, 0.0)
    return np.where(u > 0.0, (1.0 - fast) / (1.0 + 4.0 * fast), 1.8 - 0.8 * (1.0 + slow) / (1.0 - 7.6 * slow))


def metabolic_power(torques: np.ndarray, rates: np.ndarray, fastest: float = FASTEST_JOINT) -> np.ndarray:
    """Metabolic power of joints, (...) W, of torques of their muscles (...) N m and their rates (...) rad/s.

    Shortening counts up to .95 of `fastest`, lengthening up to `fastest`.
    """
    u = np.clip(np.sign(torques) * rates / fastest, -1.0, FASTEST_SHORTENING)
    return np.abs(torques) / force_at_speed(u) * fastest * rate_of_energy(u)


def in_series(
    joint_names: Sequence[str], moments: Mapping[int, np.ndarray], v: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Moment (K,) N m and rate (K,) rad/s of every muscle: one to a joint, one to an axis of the whole spine.

    moments : by the number of the joint;  v : (K, n) rates of all joints
    """
    spanned: dict[str, list[int]] = {}
    for i in moments:
        name = joint_names[i]
        axis = name.rpartition("_")[2] if name.startswith(SPINE) else name
        spanned.setdefault(axis, []).append(i)
    return [
        (np.mean([moments[i] for i in joints], axis=0), v[:, joints].sum(axis=1))
        for joints in spanned.values()
    ]


def metabolic_cost(solution: Solution, fastest: float = FASTEST_JOINT) -> float:
    """J per kg and m of way of a solved walk, energy at rest not counted.

    The muscles of the sourced cost: what joints give beside their passive moments. Where they pull on
    tendons, the rates are those of their fibres. Mass is that of the body.
    """
    model: Any = solution.problem.dynamics
    recipe = solution.recipe.parameters if solution.recipe else {}
    person = Person.of(recipe, model)
    t = np.linspace(0.0, solution.duration, SAMPLES)
    q, tau = solution.q(t), solution.tau(t)
    v, fibres = solution.v(t), fibre_rates(solution, t)
    muscles = muscle_torques(model, person, bool(recipe.get("springs", True)))
    moments = muscles(SimpleNamespace(q=q.T, v=v.T, tau=tau.T))
    pulling = in_series(solution.joint_names, moments, fibres)
    power = sum(metabolic_power(moment, rate, fastest) for moment, rate in pulling)
    forward = solution.joint_names.index("global_tx")
    way = abs(float(q[-1, forward] - q[0, forward]))
    return float(np.trapezoid(power, t) / (person.mass * way))


def fibre_rates(solution: Solution, t: np.ndarray) -> np.ndarray:
    """Rates of all joints at times (K,), (K, n) rad/s, and those of stretching tendons added."""
    rates = solution.v(t)
    for i, joint in enumerate(solution.joint_names):
        curve = stretch_curve(joint)
        if curve in solution.problem.extras:
            rates[:, i] += solution.value(trajopt.Quantity(f"rate:{curve}"), t).ravel()
    return rates


def measured_cost(slope: float) -> float:
    """J per kg and m that people take to walk on ground that rises by `slope` m a metre.

    280.5 i^5 - 58.7 i^4 - 76.8 i^3 + 51.9 i^2 + 19.6 i + 2.5, at i from -.45 to .45, mean over the speeds
    that were measured (Minetti, Moia, Roi, Susta and Ferretti 2002). Raises OptionError beyond.
    """
    if not abs(slope) <= STEEPEST_MEASURED:
        raise OptionError(
            f"the slope is {slope}: people were measured from -{STEEPEST_MEASURED} to {STEEPEST_MEASURED}"
        )
    return float(np.polyval([280.5, -58.7, -76.8, 51.9, 19.6, 2.5], slope))


def metabolic_line(solution: Solution) -> str:
    """The cost of a walk beside people's on this slope, in words."""
    slope = float(solution.recipe.parameters.get("slope", 0.0)) if solution.recipe else 0.0
    return (
        f"Metabolic cost {metabolic_cost(solution):.2f} J per kg and m (Minetti and Alexander 1997, without "
        f"rest); people on a slope of {slope:+.0%}: {measured_cost(slope):.2f} (Minetti et al. 2002)."
    )
