"""What a step must satisfy: the nine constraints of Barman's thesis and those that make it complete.

Every demand has a name, under which reports show it and by which it is switched off. Sources are Barman's
thesis, section 5.2, by the numbers of its equations, and our own additions where none is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

import trajopt
from problems.human.body.model import step_symmetry
from problems.human.body.tables import contact_points
from problems.human.gait import ground_reaction as reaction
from problems.human.gait.step import FOREFOOT_ALONE, Step
from trajopt.errors import OptionError, ProblemError, near_matches
from trajopt.splines.node_sets import Neighbours

INSIDE = 1e-6  # of normalised time, leaves an end out of a window
LEAST_PUSH = 0.1  # of body weight, the ground's least vertical reaction
WRIST_RADIUS, HIP_RADIUS = 0.03, 0.08  # m, spheres that may touch, (5.7)
SWINGING_FOOT = (0.4, 1.0)  # parts of the step in which the free foot hangs near its rest
FOOT_AT_REST = (-20.0, 6.0)  # degrees
# Ranges in degrees of joints that people hardly use when they walk, and whose effort is next to nothing.
POSTURE = MappingProxyType({
    "shoulder_flex": (-30.0, 30.0), "shoulder_add": (-20.0, 5.0), "elbow_flex": (0.0, 60.0),
})  # fmt: skip


@dataclass(frozen=True)
class Demands:
    """The numbers in the demands on a step.

    contact : m, how closely standing foot points are at their places when they are held
    drift : m, how far from their places they may be in between
    penetration : m, how deep foot points may sink where they are not held
    friction : coefficient of the ground;  free_moment : N m about the vertical
    knee : degrees (lower, upper) of the swinging knee
    strike : m/s, how fast the heel may come down
    coupling : m^2, by how much arm and opposite leg may swing apart
    """

    contact: float = 0.0
    drift: float = 5e-3
    penetration: float = 5e-3
    friction: float = 0.7
    free_moment: float = 15.0
    knee: tuple[float, float] = (55.0, 65.0)
    strike: float = 0.3
    coupling: float = 0.01

    def __post_init__(self) -> None:
        tolerances = {"contact tolerance": self.contact, "contact drift": self.drift}
        for name, value in (tolerances | {"penetration": self.penetration}).items():
            if not 0.0 <= value < np.inf:
                raise ProblemError(f"the {name} is {value} m: give a number from 0")
        if not 0.0 < self.friction < np.inf:
            raise ProblemError(f"the ground's friction is {self.friction}: give a positive number")
        if not self.knee[0] <= self.knee[1]:
            raise ProblemError(f"the swinging knee is bent by {self.knee} degrees: give (least, most)")


Demand = Callable[[trajopt.Problem, Step, Demands], None]


def walk(problem: trajopt.Problem, steps: Sequence[Step]) -> None:
    """Ground reactions on both feet and what repeats: a step mirrored, (5.8), or two steps as they are."""
    for side in "rl":
        problem.load(f"hindfoot_{side}", reaction.on_foot(side, steps))
    names, length = problem.dynamics.joint_names, len(steps) * steps[0].length
    signs, order, offset = step_symmetry(names, length)
    if len(steps) == 1:
        problem.subject_to_periodic(trajopt.q, signs, order=order, offset=offset, name="symmetry of posture")
        problem.subject_to_periodic(trajopt.v, signs, order=order, name="symmetry of velocity")
    else:
        problem.subject_to_periodic(trajopt.q, offset=offset, name="posture repeats")
        problem.subject_to_periodic(trajopt.v, name="velocity repeats")


def demand(
    problem: trajopt.Problem,
    steps: Sequence[Step],
    demands: Demands,
    names: Iterable[str],
    without: str = "",
) -> None:
    """State the demands of these names except some, separated by commas; OptionError for an unknown name."""
    omitted = [name.strip() for name in without.split(",") if name.strip()]
    for name in omitted:
        if name not in DEMANDS:
            near = near_matches(name, list(DEMANDS)) or f": there are {', '.join(DEMANDS)}"
            raise OptionError(f"no demand on the step is called '{name}'{near}")
    for name in names:
        for step in steps[:1] if name in THROUGHOUT else steps:
            if name not in omitted:
                DEMANDS[name](problem, step, demands)


def joint_limits(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """Angles stay within the limits of the skeleton for all t, (5.2)."""
    problem.subject_to_joint_limits(torque=False)


def torque_limits(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """Torques stay within the limits of the skeleton, (5.3)."""
    limits = problem.dynamics.limits
    problem.subject_to(trajopt.tau, limits.torque_lower, limits.torque_upper, name="torque limits")


def foot_placement(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """Standing foot points are at their places at sampled times of their phases, (5.4) and section 5.2.2.

    Held at a few times, and within a band in between: so few control points cannot hold a point still
    everywhere, and equalities that nearly depend on each other stop the solver. For the same reason the pivot
    of a flat foot, whose heel is held, is not held along the foot, and what symmetry repeats at the other end
    of the step is said once.
    """
    for point, times in step.contacts.items():
        x, z = step.place(point)
        leads = point.endswith(step.leads)
        for time in times:
            flat = leads and not point.startswith("heel") and time <= step.heel_off
            place = np.array([np.nan if flat else x, 0.0, np.nan if z is None else z])
            lower = np.nan_to_num(place - demands.contact, nan=-np.inf)
            upper = np.nan_to_num(place + demands.contact, nan=np.inf)
            name = step.named(f"{point} stands at {time:.3g} T")
            problem.subject_to(trajopt.position(point), lower, upper, over=step.at(time), name=name)
        place = np.array([x, 0.0, np.nan if z is None else z])
        lower = np.nan_to_num(place - demands.drift, nan=-np.inf)
        upper = np.nan_to_num(place + demands.drift, nan=np.inf)
        phase = step.over(times[0] if leads else 0.0, times[-1])
        problem.subject_to(
            trajopt.position(point), lower, upper, over=phase, name=step.named(f"{point} stays")
        )


def penetration(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """Every foot point stays above the ground, (5.4)."""
    for point in contact_points():
        floor = [-np.inf, -demands.penetration, -np.inf]
        problem.subject_to(trajopt.position(point), floor, name=f"{point} above ground")


def balance(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """The zero-moment point is inside the support, (5.5)."""
    sole = step.footprint(step.leads)
    both = np.concatenate([sole, step.footprint(step.trails)])
    forefoot = step.heel_off + FOREFOOT_ALONE
    raised = step.footprint(step.leads, "forefoot")
    _supported(problem, step, both, (0.0, step.toe_off - INSIDE), "zero-moment point under both feet")
    _supported(problem, step, sole, (step.toe_off, forefoot - INSIDE), "zero-moment point under the foot")
    _supported(problem, step, raised, (forefoot, 1.0), "zero-moment point under the forefoot")


def pressure(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """While both feet stand, each is pushed on its own sole, and the trailing one on its forefoot."""
    window = (0.0, step.toe_off - INSIDE)
    soles = {"leading": step.footprint(step.leads), "trailing": step.footprint(step.trails, "forefoot")}
    for which, corners in soles.items():
        name = f"centre of pressure under the {which} foot"
        _supported(problem, step, corners, window, name, step.shared.shift(which == "leading"))


def push(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """The ground pushes upward and within the friction cone."""
    problem.subject_to(reaction.force("y"), LEAST_PUSH * step.weight, name="ground pushes upward")
    problem.subject_to(reaction.friction_margin(demands.friction, step.weight), 0.0, name="friction cone")


def free_moment(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """The moment about the vertical that the ground can give is bounded."""
    problem.subject_to(reaction.free_moment_margin(demands.free_moment, step.weight), 0.0, name="free moment")


def arm_leg_coupling(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """Arm and opposite leg swing the same way, (rho_1 . n)(rho_2 . n) >= 0, (5.6).

    rho from shoulder to wrist and from hip to ankle. n is the direction of walking: about the vertical, as
    printed, the condition would hold for every posture. Both change sign, hardly at one instant: hence a
    tolerance.
    """
    for arm, leg in (("l", "r"), ("r", "l")):
        name = f"arm {arm} swings with leg {leg}"
        term = _both_swing(name, f"upper_arm_{arm}", f"hand_{arm}", f"thigh_{leg}", f"hindfoot_{leg}")
        problem.subject_to(term, -demands.coupling, name=name)


def self_avoidance(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """Wrists stay clear of hips, d >= r_1 + r_2, (5.7)."""
    for side in "rl":
        name = f"wrist {side} clear of the hip"
        problem.subject_to(_apart(name, f"hand_{side}", f"thigh_{side}", WRIST_RADIUS + HIP_RADIUS), 0.0)


def knee_clearance(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """The swinging knee is bent at its peak, |q_knee - 60 deg| <= 5 deg, (5.9)."""
    knee, name = f"knee_{step.trails}_flex", step.named("swinging knee bent")
    _bounded(problem, {knee: demands.knee}, step.at(step.knee_peak), name)


def posture(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """Arms hang and the swinging foot is near its rest, as torques that hold them cost next to nothing."""
    if step.number == 0:
        ranges = {joint.replace("_", f"_{side}_"): band for joint, band in POSTURE.items() for side in "rl"}
        _bounded(problem, ranges, "path", "arms hang", hold="hull")
    ankle, name = f"ankle_{step.trails}_dorsi", step.named("swinging foot near its rest")
    _bounded(problem, {ankle: FOOT_AT_REST}, step.over(*SWINGING_FOOT), name)


def heel_strike(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """The heel comes down slowly."""
    slow = [-np.inf] * 4 + [-demands.strike, -np.inf]
    velocity, name = trajopt.Quantity(f"velocity:heel_{step.trails}"), step.named("heel comes down slowly")
    problem.subject_to(velocity, slow, over=step.at(1.0), name=name)


def continuous_reaction(problem: trajopt.Problem, step: Step, demands: Demands) -> None:
    """The ground reaction ends a step as the next one begins: without it, accelerations jump there."""
    axes = "xy" if step.line is None else "xyz"
    name = step.named("ground reaction continuous over the step boundary")
    if step.number + 1 < step.count:
        force = reaction.force(axes, step.weight)
        problem.subject_to(force, equals=0.0, over=Neighbours(step.number), name=name)
    else:
        signs = reaction.MIRRORED[: len(axes)] if step.count == 1 else 1.0
        problem.subject_to_periodic(reaction.force(axes), signs, name=name)


DEMANDS: MappingProxyType[str, Demand] = MappingProxyType({
    "joint limits": joint_limits,
    "torque limits": torque_limits,
    "foot placement": foot_placement,
    "penetration": penetration,
    "balance": balance,
    "pressure": pressure,
    "push": push,
    "free moment": free_moment,
    "arm-leg coupling": arm_leg_coupling,
    "self-avoidance": self_avoidance,
    "knee clearance": knee_clearance,
    "posture": posture,
    "heel strike": heel_strike,
    "continuous reaction": continuous_reaction,
})  # fmt: skip
# Demands on the whole motion, however many steps it has.
THROUGHOUT = frozenset({
    "joint limits", "torque limits", "penetration", "push", "free moment", "arm-leg coupling",
    "self-avoidance",
})  # fmt: skip


def _supported(problem, step: Step, corners, window, name: str, shift=None) -> None:
    sides = reaction.sides(corners, lateral=step.line is not None)
    margin = reaction.support_margin(sides, step.weight, step.named(name), shift)
    problem.subject_to(margin, 0.0, over=step.over(*window))


def _bounded(
    problem, ranges: dict[str, tuple[float, float]], over: Any, name: str, hold: Any = "nodes"
) -> None:
    """Angles of some joints within (lower, upper) degrees."""
    names = problem.dynamics.joint_names
    lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for joint, band in ranges.items():
        at = names.index(joint)
        lower[at], upper[at] = np.deg2rad(band)
    problem.subject_to(trajopt.q, lower, upper, over=over, name=name, hold=hold)


def _both_swing(name: str, shoulder: str, wrist: str, hip: str, ankle: str) -> trajopt.ExpressionTerm:
    def product(node: Any) -> Any:
        arm = node.position(wrist)[0] - node.position(shoulder)[0]
        return arm * (node.position(ankle)[0] - node.position(hip)[0])

    return trajopt.ExpressionTerm(product, name)


def _apart(name: str, one: str, other: str, distance: float) -> trajopt.ExpressionTerm:
    def gap(node: Any) -> Any:
        between = node.position(one) - node.position(other)
        return sum(between[i] ** 2 for i in range(3)) - distance**2

    return trajopt.ExpressionTerm(gap, name)
