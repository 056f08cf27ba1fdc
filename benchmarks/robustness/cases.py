"""The problems of `benchmarks.robustness`: the library's, variants of them, small ones of its own, arms.

A case builds its problem on a mesh of so many intervals. Random pose pairs are seeded, so that every run
sees the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

import numpy as np

import dynamics
import problems
import trajopt
from problems import catalogue

Build = Callable[[int], trajopt.Problem]
GRAVITY = (0.0, 0.0, -9.81)
POSE_RANGE = 2.0  # rad to either side of zero, within the joint limits, from which poses are drawn


@dataclass(frozen=True)
class Case:
    """A problem for any number of intervals; `group` is the row of the table in which it is counted."""

    name: str
    group: str
    build: Build


def library(name: str, **parameters: object) -> Build:
    return lambda intervals: catalogue.build(name, {**parameters, "intervals": intervals})


def moved_slide(
    intervals: int, mass: float, force: float, distance: float, v: tuple[float, float] = (0.0, 0.0)
) -> trajopt.Problem:
    """A mass under a force limit in minimum time, from speed v[0] to v[1]; the duration is unbounded."""
    limits = dynamics.JointLimits.symmetric(torque=force)
    row = dynamics.DhRow(name="slide", kind="prismatic", mass=mass, limits=limits)
    model = dynamics.from_dh([row], gravity=(0.0, 0.0, 0.0), name="slide")
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(intervals), name="slide")
    problem.start_at(q=0.0, v=v[0])
    problem.end_at(q=distance, v=v[1])
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


def crane(intervals: int, effort: bool) -> trajopt.Problem:
    """A hanging load under a trolley, from rest to rest over 2 m: in minimum time, or with least effort in
    3 s; the rope's joint has no motor."""
    limits = dynamics.JointLimits(-5.0, 5.0, 2.0, -15.0, 15.0)
    trolley = dynamics.Joint("trolley", "prismatic", axis=np.array([1.0, 0.0, 0.0]), limits=limits)
    rope = dynamics.Joint("rope", "revolute", axis=np.array([0.0, -1.0, 0.0]))
    bodies = [
        dynamics.Body("trolley", trolley, mass=2.0),
        dynamics.Body("load", rope, "trolley", mass=1.0, centre_of_mass=np.array([0.0, 0.0, -1.0])),
    ]
    model = dynamics.RigidBodyModel(bodies, GRAVITY, "crane")
    basis = trajopt.SplineBasis.clamped(np.linspace(0.0, 1.0, intervals + 1), 5, np.full(intervals - 1, 3))
    arc = trajopt.Arc(basis, 3.0) if effort else trajopt.Arc(basis)
    problem = trajopt.Problem(model, trajopt.Trajectory((arc,)), name="crane")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[2.0, 0.0], v=0.0)
    problem.subject_to(problems.cart_pole.pole_torque, equals=0.0, name="no motor at the rope")
    problem.minimize(problems.cart_pole.force**2 if effort else trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


def quick_pendulum(intervals: int, torque: float) -> trajopt.Problem:
    """A pendulum of 1 kg and 1 m swung up in minimum time by a motor too weak to hold it level."""
    limits = dynamics.JointLimits.symmetric(torque=torque)
    pivot = dynamics.Joint("pivot", "revolute", axis=np.array([0.0, -1.0, 0.0]), limits=limits)
    body = dynamics.Body("rod", pivot, mass=1.0, centre_of_mass=np.array([0.0, 0.0, -1.0]))
    model = dynamics.RigidBodyModel([body], GRAVITY, "pendulum")
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(intervals), name="quick pendulum")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=math.pi, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


def around_a_post(intervals: int) -> trajopt.Problem:
    """Two links in minimum time, their tip around a disc that stands in the way."""
    problem = problems.two_link_rr.build(intervals=intervals, q_start=(-0.6, 0.5), q_end=(0.8, 0.4))
    clearance = trajopt.library.sphere_clearance("elbow", [0.75, 0.2, 0.0], 0.1)  # its frame: the link's end
    problem.subject_to(clearance, lower=0.0, name="post")
    return problem


def jerk_limited(intervals: int, jerk: float) -> trajopt.Problem:
    """The three-link arm with accelerations zero at both ends and limited jerk."""
    problem = problems.three_link_arm.build(intervals=intervals, degree=4)
    problem.start_at(a=0.0)
    problem.end_at(a=0.0)
    problem.subject_to(trajopt.jerk, -jerk, jerk, name="jerk limits")
    return problem


@cache
def arm(robot: str) -> dynamics.RigidBodyModel:
    return dynamics.load_urdf((files("problems") / "robots" / f"{robot}.urdf").read_text(encoding="utf-8"))


def moved_arm(intervals: int, robot: str, seed: int, torque_alone: bool) -> trajopt.Problem:
    """A robot between two random poses in minimum time."""
    model = arm(robot)
    low = np.maximum(model.limits.q_lower, -POSE_RANGE)
    high = np.minimum(model.limits.q_upper, POSE_RANGE)
    first, last = np.random.default_rng([2026, seed]).uniform(low, high, (2, model.n))
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(intervals), name=f"{robot} {seed}")
    problem.start_at(q=first, v=0.0)
    problem.end_at(q=last, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits(position=not torque_alone, velocity=not torque_alone)
    return problem


def problem_cases() -> list[Case]:
    """Problems of every kind that the library has: time, effort, both, underactuated, jerk."""
    builds: dict[str, Build] = {
        "double_integrator": library("double_integrator"),
        "sliding_mass": library("sliding_mass"),
        "sliding_mass, speed limit": library("sliding_mass", velocity=3.0),
        "minimum_acceleration": library("minimum_acceleration"),
        "kirk": library("kirk"),
        "pendulum_swing_up": library("pendulum_swing_up"),
        "pendulum_swing_up, strong": library("pendulum_swing_up", torque_limit=5.0),
        "cart_pole": library("cart_pole"),
        "cart_pole, light": library("cart_pole", pole_mass=0.1, distance=0.5),
        "betts_robot_arm": library("betts_robot_arm"),
        "two_link_rr": library("two_link_rr"),
        "two_link_rr, long way": library("two_link_rr", q_start=(0.0, 1.5), q_end=(2.5, -1.5)),
        "two_link_rr, gravity": library("two_link_rr", gravity=(0.0, -9.81, 0.0)),
        "two_link_rr, moving ends": library("two_link_rr", v_start=(1.0, -1.0), v_end=(-1.0, 2.0)),
        "two_link_pr": library("two_link_pr"),
        "two_link_pr, time alone": library("two_link_pr", u=0.0),
        "three_link_arm": library("three_link_arm"),
        "three_link_arm, speed limit": library("three_link_arm", velocity=(2.0, 2.0, 3.0)),
        "three_link_arm, long way": library(
            "three_link_arm", q_start=(0.0, -2.0, 1.5), q_end=(2.0, 1.0, -1.5)
        ),
        "three_link_arm, jerk limit": partial(jerk_limited, jerk=200.0),
        "six_axis_arm": library("six_axis_arm"),
        "six_axis_arm, effort": library("six_axis_arm", u=0.5),
        "urdf_arm": library("urdf_arm"),
        "urdf_arm, panda": library("urdf_arm", robot="panda"),
        "urdf_arm, effort": library("urdf_arm", u=0.5),
        "slide in minutes": partial(moved_slide, mass=1e4, force=1.0, distance=100.0),
        "slide in milliseconds": partial(moved_slide, mass=1e-3, force=10.0, distance=1e-3),
        "slide, moving ends": partial(moved_slide, mass=1.0, force=1.0, distance=1.0, v=(1.0, 1.0)),
        "crane, effort": partial(crane, effort=True),
        "crane, time": partial(crane, effort=False),
        "quick pendulum": partial(quick_pendulum, torque=3.0),
        "around a post": around_a_post,
    }
    return [Case(name, "problems", build) for name, build in builds.items()]


def arm_cases(pairs: int) -> Iterator[Case]:
    """Random moves of both robots, under torque limits alone and under all limits."""
    for robot in ("ur5", "panda"):
        for torque_alone in (True, False):
            group = f"{robot}, {'torque limits alone' if torque_alone else 'all limits'}"
            for seed in range(pairs):
                build = partial(moved_arm, robot=robot, seed=seed, torque_alone=torque_alone)
                yield Case(f"{group}, pair {seed}", group, build)
