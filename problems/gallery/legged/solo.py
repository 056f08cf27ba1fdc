"""Solo, a quadruped of 2.5 kg, on its feet: the robot, its standing pose, and what its gaits and jumps share.

Grimminger et al., IEEE Robotics and Automation Letters 5(2), 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

import numpy as np

import dynamics
import trajopt
from trajopt.problem.contacts.ground import FLAT

FEET = ("FL", "FR", "HL", "HR")
BASE = 6  # coordinates of the base, before those of the joints
STANDING = np.array([0.0, 0.0, 0.25, 0.0, 0.0, 0.0, *[0.0, 0.8, -1.6] * 4])  # base, then hips and knees


def solo() -> dynamics.RigidBodyModel:
    """The robot, whose base floats."""
    text = (files("problems") / "robots" / "solo12.urdf").read_text(encoding="utf-8")
    return dynamics.load_urdf(text, floating_base="free")


def on_feet(
    name: str,
    robot: dynamics.RigidBodyModel,
    schedule: trajopt.Schedule,
    intervals: int,
    friction: float,
    clearance: float,
    ground: trajopt.Ground | Mapping[int, trajopt.Ground] = FLAT,
) -> trajopt.Problem:
    """A problem whose base the feet of a schedule alone carry; ground : one, or that of every arc."""
    problem = trajopt.Problem(robot, schedule.trajectory(intervals), name=name)
    for foot in schedule.feet:
        problem.contact(f"{foot}_FOOT", schedule.arcs(foot), friction, clearance, ground=ground)
    problem.passive_base()
    return problem


def minimize_effort(
    problem: trajopt.Problem, of_posture: float, of_speed: float, of_acceleration: float = 0.0
) -> None:
    """Squared torques, and by their weights squared angles from standing, velocities and accelerations."""
    problem.minimize(trajopt.tau**2, name="effort")
    problem.minimize((trajopt.q[BASE:] - STANDING[BASE:]) ** 2, of_posture, name="posture")
    problem.minimize(trajopt.v[BASE:] ** 2, of_speed, name="speed")
    if of_acceleration:
        problem.minimize(trajopt.a[BASE:] ** 2, of_acceleration, name="acceleration")
