"""Six-axis industrial arm from its URDF, moved fast under torque and velocity limits.

    minimize integral_0^T (1 - u) + u sum (tau_i / limit_i)^2 dt
    subject to   q(0), q(T) given, at rest at both ends,   |tau| <= limit, |v| <= velocity

against gravity, with the limits of the file (Universal Robots UR5: 150 and 28 N m, 3.15 and 3.2 rad/s), which
the parameters scale. With u = 0 it is a minimum-time problem. `robots/ur5.urdf` holds the inertial data of
github.com/ros-industrial/universal_robot (BSD license).
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import dynamics
import trajopt
from problems.recipe import recipe


@recipe
def build(
    *,
    u: float = 0.0,
    intervals: int = 20,
    degree: int = 3,
    nodes_per_span: int = 4,
    duration: tuple[float, float] = (0.05, 20.0),
    q_start: tuple[float, ...] = (0.0, -1.2, 1.4, -1.0, -1.2, 0.0),
    q_end: tuple[float, ...] = (1.5, -0.9, 0.8, -0.4, -1.6, 0.8),
    torque_scale: float = 1.0,
    velocity_scale: float = 1.0,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
) -> trajopt.Problem:
    """u in [0, 1) weighs effort against time; angles in rad, durations in s, gravity in m/s^2.

    torque_scale and velocity_scale multiply the limits of the file.
    """
    source = (files("problems") / "robots" / "ur5.urdf").read_text(encoding="utf-8")
    model = scaled(dynamics.load_urdf(source, gravity=gravity), torque_scale, velocity_scale)

    trajectory = trajopt.Trajectory.uniform(intervals, degree, duration, nodes_per_span)
    problem = trajopt.Problem(model, trajectory, name="six_axis_arm")
    problem.start_at(q=q_start, v=0.0)
    problem.end_at(q=q_end, v=0.0)
    problem.minimize(trajopt.duration, weight=1.0 - u, name="time")
    if u:
        limits = tuple(model.limits.torque_upper.tolist())

        @trajopt.term
        def effort(node):
            return [(node.tau[i] / limit) ** 2 for i, limit in enumerate(limits)]

        problem.minimize(effort, weight=u)
    problem.subject_to_joint_limits()
    return problem


def scaled(model: dynamics.RigidBodyModel, torque: float, velocity: float) -> dynamics.RigidBodyModel:
    """The same robot with weaker or stronger motors."""
    if torque == velocity == 1.0:
        return model
    bodies = []
    for body in model.bodies:
        limits = body.joint.limits
        limits = replace(
            limits,
            velocity=velocity * limits.velocity,
            torque_lower=torque * limits.torque_lower,
            torque_upper=torque * limits.torque_upper,
        )
        bodies.append(replace(body, joint=replace(body.joint, limits=limits)))
    return dynamics.RigidBodyModel(bodies, model.gravity, model.name)
