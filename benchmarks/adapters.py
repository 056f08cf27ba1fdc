"""Solves whose dynamics other libraries compute: `python -m benchmarks.adapters [--write]`.

An arm of two links moves with the least squared torques, its torques by this project, by functions of JAX and
PyTorch, and by MuJoCo and Pinocchio, as far as they are installed. A row has the iterations, the relative
difference of the objective from that by this project's dynamics, and the least processor time of three solves
as a multiple of its.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import dynamics
import trajopt
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.page_rows import put_between_marks
from benchmarks.shared.timing import with_seconds

ENGINES = ("jax", "torch", "pinocchio", "mujoco")
REPEATS = 3
LINK = {"a": 0.5, "mass": 1.0, "centre_of_mass": (-0.25, 0, 0), "inertia": np.diag([0, 0.02, 0.02])}
LIMITS = {"torque": 20.0, "velocity": 8.0}
JOINTS = ("upper", "lower")
MJCF = """<mujoco><compiler angle="radian"/><option gravity="0 -9.81 0"/><worldbody>
<body><joint name="upper" axis="0 0 1"/><inertial pos=".25 0 0" mass="1" diaginertia="1e-4 .02 .02"/>
<body pos=".5 0 0"><joint name="lower" axis="0 0 1"/>
<inertial pos=".25 0 0" mass="1" diaginertia="1e-4 .02 .02"/></body></body></worldbody></mujoco>"""
BODY = """<link name="{0}"><inertial><origin xyz=".25 0 0"/><mass value="1"/>
<inertia ixx="1e-4" iyy=".02" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
AXIS = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="{3} 0 0"/>
<axis xyz="0 0 1"/><limit lower="-7" upper="7" effort="20" velocity="8"/></joint>"""
URDF = (
    '<robot name="arm"><link name="base"/>'
    + BODY.format("first")
    + BODY.format("second")
    + AXIS.format("upper", "base", "first", 0)
    + AXIS.format("lower", "first", "second", 0.5)
    + "</robot>"
)


def inverse_dynamics(lib: Any) -> Any:
    """Lagrange's equations of the arm of two links, with sines and cosines of a library."""

    def inverse(q: Any, v: Any, a: Any) -> list[Any]:
        c, s = lib.cos(q[1]), lib.sin(q[1])
        near, far = 0.25 * lib.cos(q[0]), 0.25 * lib.cos(q[0] + q[1])
        m11, m12, m22 = 0.415 + 0.25 * c, 0.0825 + 0.125 * c, 0.0825
        h = 0.125 * s
        return [
            m11 * a[0] + m12 * a[1] - h * (2 * v[0] * v[1] + v[1] ** 2) + 9.81 * (3 * near + far),
            m12 * a[0] + m22 * a[1] + h * v[0] ** 2 + 9.81 * far,
        ]

    return inverse


def two_links(engine: str) -> Any:
    """The arm, its torques computed by an engine."""
    if engine == "built-in":
        limits = dynamics.JointLimits.symmetric(**LIMITS)
        links = [{**LINK, "name": name, "limits": limits} for name in JOINTS]
        return dynamics.from_dh(links, gravity=(0, -9.81, 0))
    if engine == "jax":
        import jax.numpy as jnp

        return trajopt.adapters.foreign_dynamics(inverse_dynamics(jnp), JOINTS, "jax", **LIMITS)
    if engine == "torch":
        import torch

        return trajopt.adapters.foreign_dynamics(inverse_dynamics(torch), JOINTS, "torch", **LIMITS)
    if engine == "mujoco":
        import mujoco

        return trajopt.adapters.mujoco_dynamics(mujoco.MjModel.from_xml_string(MJCF), **LIMITS)
    import pinocchio

    model = pinocchio.buildModelFromXML(URDF)
    model.gravity.linear = np.array([0, -9.81, 0])
    return trajopt.adapters.pinocchio_dynamics(model)


def move(robot: Any, intervals: int = 4) -> trajopt.Problem:
    """A motion of the arm in one second, with the least squared torques."""
    problem = trajopt.Problem(robot, trajopt.Trajectory.uniform(intervals, 5, 1.0))
    problem.start_at(q=[-1.2, 0.5], v=0.0)
    problem.end_at(q=[0.8, -0.5], v=0.0)
    problem.minimize(trajopt.tau**2)
    problem.subject_to_joint_limits()
    return problem


def table(intervals: int) -> str:
    """A row for every engine that is installed."""
    lines = ["| dynamics by | iterations | objective differs by | times the seconds |", "|" + " --- |" * 4]
    least, objective = 1.0, 1.0
    for engine in ("built-in", *(name for name in ENGINES if find_spec(name))):
        solve = partial(trajopt.solve, move(two_links(engine), intervals), progress="silent")
        solve()  # what is compiled once
        answers, seconds = zip(*(with_seconds(solve) for _ in range(REPEATS)), strict=True)
        if engine == "built-in":
            least, objective = min(seconds), answers[0].objective
        gap = abs(answers[0].objective / objective - 1.0)
        lines.append(f"| {engine} | {answers[0].iterations} | {gap:.0e} | {min(seconds) / least:.2g} |")
    return "\n".join(lines)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    rows = table(4 if given.smallest else 10)
    print(rows)
    if given.write:
        with pages(given.smallest) as docs:
            put_between_marks(docs / "own_dynamics.md", "benchmarks.adapters", rows)


if __name__ == "__main__":
    main()
