"""Step constraints on the body: limits of joints and torques, posture, and parts that stay apart."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

import trajopt
from problems.human.body.model import TABLE_HEIGHT
from problems.human.gait.step import Step
from problems.human.gait.step_limits import StepLimits

WRIST_RADIUS, HIP_RADIUS = 0.03, 0.08  # m, spheres that may touch, (5.7)
HALF_TRUNK = 0.15  # m, half the breadth of the lumbar trunk of 1.75 m, by its inertia
SWINGING_FOOT = (0.4, 1.0)  # parts of the step in which the free foot hangs near its rest
FOOT_AT_REST = (-20.0, 6.0)  # degrees
# Ranges in degrees of joints that hardly move in human gait, and whose effort is next to nothing.
POSTURE = MappingProxyType({
    "shoulder_flex": (-30.0, 30.0), "shoulder_add": (-20.0, 5.0), "elbow_flex": (0.0, 60.0),
})  # fmt: skip


def joint_limits(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Angles stay within the limits of the skeleton for all t, (5.2)."""
    problem.subject_to_joint_limits(torque=False)


def torque_limits(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Torques stay within the limits of the skeleton, (5.3)."""
    of_skeleton = problem.dynamics.limits
    problem.subject_to(trajopt.tau, of_skeleton.torque_lower, of_skeleton.torque_upper, name="torque limits")


def arm_leg_coupling(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Arm and opposite leg swing the same way, (rho_1 . n)(rho_2 . n) >= 0, (5.6).

    rho from shoulder to wrist and from hip to ankle. n is the direction of travel: about the vertical, as
    printed, the condition would hold for every posture. Both change sign, hardly at one instant: hence a
    tolerance.
    """
    for arm, leg in (("l", "r"), ("r", "l")):
        name = f"arm {arm} swings with leg {leg}"
        term = _both_swing(name, f"upper_arm_{arm}", f"hand_{arm}", f"thigh_{leg}", f"hindfoot_{leg}")
        problem.subject_to(term, -limits.coupling, name=name)


def self_avoidance(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Wrists stay clear of hips, d >= r_1 + r_2, (5.7)."""
    for side in "rl":
        name = f"wrist {side} clear of the hip"
        problem.subject_to(_apart(name, f"hand_{side}", f"thigh_{side}", WRIST_RADIUS + HIP_RADIUS), 0.0)


def arms_beside_trunk(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Elbows stay to the side of the lumbar trunk, so that arms do not swing through it."""
    apart = step.height / TABLE_HEIGHT * (HALF_TRUNK + WRIST_RADIUS)
    for side, outward in (("r", 1.0), ("l", -1.0)):
        name = f"elbow {side} beside the trunk"
        problem.subject_to(_beside(name, f"forearm_{side}", "lumbar_upper", outward), apart)


def knee_clearance(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """The swinging knee is bent at its peak, |q_knee - 60 deg| <= 5 deg, (5.9)."""
    knee, name = f"knee_{step.trails}_flex", step.named("swinging knee bent")
    _bounded(problem, {knee: limits.knee}, step.at(step.knee_peak), name)


def posture(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """Arms hang and the swinging foot is near its rest, as torques that hold them cost next to nothing."""
    if step.number == 0:
        ranges = {joint.replace("_", f"_{side}_"): band for joint, band in POSTURE.items() for side in "rl"}
        _bounded(problem, ranges, "path", "arms hang", hold="hull")
    ankle, name = f"ankle_{step.trails}_dorsi", step.named("swinging foot near its rest")
    _bounded(problem, {ankle: FOOT_AT_REST}, step.over(*SWINGING_FOOT), name)


def heel_strike(problem: trajopt.Problem, step: Step, limits: StepLimits) -> None:
    """The heel comes down slowly."""
    slow = [-np.inf] * 4 + [-limits.strike, -np.inf]
    velocity, name = trajopt.Quantity(f"velocity:heel_{step.trails}"), step.named("heel comes down slowly")
    problem.subject_to(velocity, slow, over=step.at(1.0), name=name)


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


def _beside(name: str, one: str, other: str, outward: float) -> trajopt.ExpressionTerm:
    def gap(node: Any) -> Any:
        return outward * (node.position(one)[2] - node.position(other)[2])

    return trajopt.ExpressionTerm(gap, name)
