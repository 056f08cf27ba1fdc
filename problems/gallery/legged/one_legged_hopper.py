"""A one-legged hopper in space hops forward again and again: stance and flight take the time they want.

    minimize integral_0^T ( sum_j tau_j^2 + w sum_j (q_j - q_j0)^2 + r sum_j v_j^2 ) dt     over three motors
    subject to   tau = 0 at the base                 the ground alone carries the robot
                 the foot is still while it stands   a point, which may turn
                 |f_t| <= mu f_n,  f_n >= 0          for all t
                 in flight it is above the ground, half way through by a clearance, the base at a height
                 |tau_j| <= tau_max, knee bent
                 q(T), v(T) = q(0), v(0)             further on by the length of the hop, heading along it

A trunk of 8 kg on a leg of two links of 25 cm. Robots of this kind: Raibert, Legged Robots That Balance, MIT
Press, 1986. No published optimum: tests hold the motion against inverse dynamics, ballistics and impulse.
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

X, Y, Z = np.eye(3)
BENT = (0.0, -0.5, 1.0)  # rad, hip sideways, hip forward, knee


def hopper(length: float = 0.25) -> dynamics.RigidBodyModel:
    """A box on a leg of two rods, z upwards; at zero the leg hangs straight down."""
    size = np.array([0.3, 0.2, 0.1])  # m, of the trunk
    inertia = 8.0 / 12.0 * np.diag(np.sum(size**2) - size**2)
    trunk = dynamics.Body("trunk", dynamics.Joint("base"), None, 8.0, np.zeros(3), inertia)
    sideways = dynamics.Joint("hip_x", axis=X)
    hip = dynamics.Body("hip", sideways, "trunk", 0.5, np.zeros(3), 1e-3 * np.eye(3))
    links = [*dynamics.free_joint(trunk), hip]
    for name, joint, parent, place, mass in (
        ("thigh", "hip_y", "hip", np.zeros(3), 0.8),
        ("shank", "knee", "thigh", -length * Z, 0.3),
    ):
        own = mass * length**2 / 12.0 * np.diag([1.0, 1.0, 0.05])  # kg m^2, of a rod
        hinge = dynamics.Joint(joint, "revolute", Y, position=place)
        links.append(dynamics.Body(name, hinge, parent, mass, -length / 2.0 * Z, own))
    foot = dynamics.Frame("foot", "shank", position=-length * Z)
    return dynamics.RigidBodyModel(links, -9.81 * Z, "hopper", frames=(foot,))


@recipe
def build(
    *,
    intervals: int = 8,
    forward: float = 0.4,
    apex: float = 0.55,
    stance: tuple[float, float] = (0.05, 0.8),
    flight: tuple[float, float] = (0.05, 0.8),
    torque: float = 40.0,
    friction: float = 0.7,
    clearance: float = 0.03,
    knee: float = 0.3,
    posture_weight: float = 100.0,
    speed_weight: float = 0.1,
) -> trajopt.Problem:
    """One hop: lengths in m; stance and flight (shortest, longest) in s; least bend of the knee in rad."""
    robot = hopper()
    schedule = trajopt.Schedule([(("foot",), stance), ((), flight)])
    problem = trajopt.Problem(robot, schedule.trajectory(intervals), name="one_legged_hopper")
    problem.contact("foot", schedule.arcs("foot"), friction, clearance)
    problem.passive_base()
    problem.subject_to_periodic_gait(forward)
    problem.subject_to(trajopt.tau[6:], -torque, torque, name="motor torques")
    problem.subject_to(trajopt.q[2], apex, over=trajopt.Instants([0.75], clock="progress"), name="apex")
    problem.subject_to(trajopt.q[8], lower=knee, name="knee")
    problem.minimize(trajopt.tau**2, name="effort")
    problem.minimize((trajopt.q[6:] - BENT) ** 2, posture_weight, name="posture")
    problem.minimize(trajopt.v[6:] ** 2, speed_weight, name="speed")
    standing = problem.standing_pose([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, *BENT])
    problem.guess(np.array([standing, standing + forward * np.eye(robot.n)[0]]), duration=[0.3, 0.3])
    return problem
