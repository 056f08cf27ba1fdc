"""Two arms lift one box together, tilt it and set it down higher, with the least effort.

    minimize integral_0^T sum_j tau_j^2 dt            twelve motors, T = 1.5 s
    subject to   tool = grip                          two welds close the loop: arm, box, arm, ground
                 tau = 0 at the box                   the tools alone move it
                 f_z >= press                         each tool presses against its side of the box

Two UR5 face each other, the box is between them. Its six coordinates and twelve joints make 18, the welds
leave six degrees of freedom: the pose of the box. The force by which the tools press against each other moves
nothing, and follows from the effort. No published optimum: tests hold the forces of the tools against Newton
and Euler's equations of the box.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

SIDES = {"left": -1.0, "right": 1.0}  # of the box, along x, where an arm stands
REST = np.array([-0.24, -1.3, 1.8, -0.5, 1.3, -1.57])  # rad, near which an arm reaches the box


def turned_about_z(angle: float) -> np.ndarray:
    """(3, 3) a rotation about z by an angle, rad."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def arm(side: str, apart: float) -> tuple[list[dynamics.Body], dynamics.Frame]:
    """The bodies of a UR5 at x = -apart or apart, m, turned to the other one, and its tool."""
    text = (files("problems") / "robots" / "ur5.urdf").read_text(encoding="utf-8")
    robot, axes = dynamics.load_urdf(text), turned_about_z(0.0 if side == "left" else np.pi)
    bodies = []
    for body in robot.bodies:
        joint = replace(body.joint, name=f"{side}_{body.joint.name}")
        if body.parent is None:
            place = axes @ joint.position + np.array([SIDES[side] * apart, 0.0, 0.0])
            joint = replace(joint, rotation=axes @ joint.rotation, position=place)
        parent = body.parent and f"{side}_{body.parent}"
        bodies.append(replace(body, name=f"{side}_{body.name}", joint=joint, parent=parent))
    tool = robot.frame("tool0")
    return bodies, replace(tool, name=f"{side}_tool", body=f"{side}_{tool.body}")


def box(size: tuple[float, float, float], mass: float) -> tuple[list[dynamics.Body], list[dynamics.Frame]]:
    """A uniform box with a free joint, and a grip on each side, whose z axis points into the box."""
    squares = np.square(size)
    inertia = mass / 12.0 * np.diag(squares.sum() - squares)
    free = dynamics.free_joint(dynamics.Body("box", dynamics.Joint("box"), mass=mass, inertia=inertia))
    grips = []
    for side, sign in SIDES.items():
        axes = np.array([[0.0, 0.0, -sign], [0.0, 1.0, 0.0], [sign, 0.0, 0.0]])
        place = np.array([sign * size[0] / 2.0, 0.0, 0.0])
        grips.append(dynamics.Frame(f"{side}_grip", "box", axes, place))
    return list(free), grips


def pose_near(robot: dynamics.RigidBodyModel, place: np.ndarray) -> np.ndarray:
    """Joint positions with the box at a place, not turned, and the tools at its grips."""
    q = np.concatenate([REST, REST, place, np.zeros(3)])
    grips = dynamics.forward_kinematics(robot, q, frames=[f"{side}_grip" for side in SIDES])
    for number, side in enumerate(SIDES):
        targets = {
            f"position:{side}_tool": grips.position[number],
            f"orientation:{side}_tool": grips.rotation[number].ravel(),
        }
        q = trajopt.inverse_kinematics(robot, targets, q)
    return q


@recipe
def build(
    *,
    intervals: int = 10,
    duration: float = 1.5,
    apart: float = 0.7,
    size: tuple[float, float, float] = (0.3, 0.2, 0.2),
    mass: float = 6.0,
    start: tuple[float, float, float] = (0.0, 0.0, 0.2),
    end: tuple[float, float, float] = (0.0, 0.15, 0.5),
    tilt: float = 0.4,
    press: float = 60.0,
) -> trajopt.Problem:
    """Two arms that move a box from `start` to `end`.

    duration : s;   apart : m, from the middle to each arm;   size, mass : of the box, m and kg
    start, end : (3,) m, of its centre;   tilt : rad about x at the end;   press : N, least force of each tool
    """
    bodies, frames = box(size, mass)
    for side in reversed(SIDES):
        of_arm, tool = arm(side, apart)
        bodies, frames = of_arm + bodies, [*frames, tool]
    robot = dynamics.RigidBodyModel(bodies, (0.0, 0.0, -9.81), "two_arms", frames=frames)

    mesh = trajopt.Trajectory.collocation(intervals, 5, duration=duration)
    problem = trajopt.Problem(robot, mesh, name="two_arms")
    near = pose_near(robot, np.array(start))
    for side in SIDES:
        grasp = problem.close_loop(f"{side}_tool", f"{side}_grip", "weld", near=near, name=side)
        problem.subject_to(grasp.force_in_a, (-np.inf, -np.inf, press), name=f"{side} tool presses")
    problem.passive(*robot.joint_names[12:])
    arms = [None] * 12
    problem.start_at(q=[*arms, *start, 0.0, 0.0, 0.0], v=0.0)
    problem.end_at(q=[*arms, *end, tilt, 0.0, 0.0], v=0.0)
    problem.minimize(trajopt.tau**2, name="effort")
    return problem
