"""A five-link biped walks on level ground with least effort, and its swing foot strikes at every step.

    minimize integral_0^T sum_j u_j^2 dt   over one step of length L in T = 0.7 s

Shank and thigh of the stance leg, trunk, thigh and shank of the swing leg turn in one plane by q_1..q_5 from
the vertical; u_j acts at ankle, knee, hip (on the trunk), hip (on the swing thigh) and knee. About each
joint j, the links behind it, i >= j, obey

    u_j = sum_i m_i (c_i - p_j) x (c_i'' - g) + I_i q_i'',    p_j the joint, c_i the centres of mass.

Where the swing foot strikes it becomes the stance foot: the legs change names, q_i(0) = q_{6-i}(T), and the
impulse at the ground has no moment about it, nor impulses in a joint about that joint, so that the momenta

    sum_i m_i (c_i - p_j) x c_i' + I_i q_i',     i >= j in the new order,

go on. One link of the step's end to its own start says both: the gait is a cycle.
Source: Kelly, SIAM Review 59(4), 2017, section 8 and its appendix; the robot is RABBIT (Chevallereau et al.,
IEEE Control Systems Magazine 23(5), 2003).
"""

from __future__ import annotations

import casadi
import numpy as np

import trajopt
from problems.recipe import recipe

REFERENCE = 316.019
REFERENCE_SOURCE = "finer meshes"

MASS = (3.2, 6.8, 20.0, 6.8, 3.2)  # kg
INERTIA = (0.93, 1.08, 2.22, 1.08, 0.93)  # kg m^2, about the centres of mass
SHANK, THIGH = 0.4, 0.4  # m
GRAVITY = 9.81

# Points as sums of link vectors e_i = (-sin q_i, cos q_i), in m: foot, knee, hip, hip, knee, foot.
JOINTS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [SHANK, 0.0, 0.0, 0.0, 0.0],
        [SHANK, THIGH, 0.0, 0.0, 0.0],
        [SHANK, THIGH, 0.0, 0.0, 0.0],
        [SHANK, THIGH, 0.0, -THIGH, 0.0],
        [SHANK, THIGH, 0.0, -THIGH, -SHANK],
    ]
)
CENTRES = np.array(
    [
        [SHANK - 0.128, 0.0, 0.0, 0.0, 0.0],
        [SHANK, THIGH - 0.163, 0.0, 0.0, 0.0],
        [SHANK, THIGH, 0.2, 0.0, 0.0],
        [SHANK, THIGH, 0.0, -0.163, 0.0],
        [SHANK, THIGH, 0.0, -THIGH, -0.128],
    ]
)


def place(points, q):
    """Horizontal and vertical coordinates of points, m."""
    return casadi.mtimes(-points, np.sin(q)), casadi.mtimes(points, np.cos(q))


def velocity(points, q, w):
    """Their velocities, m/s."""
    return casadi.mtimes(-points, np.cos(q) * w), casadi.mtimes(-points, np.sin(q) * w)


def acceleration(points, q, w, a):
    """Their accelerations, m/s^2."""
    return (
        casadi.mtimes(-points, np.cos(q) * a - np.sin(q) * w**2),
        casadi.mtimes(-points, np.sin(q) * a + np.cos(q) * w**2),
    )


def moments(joints, centres, vectors, spins):
    """sum_{i >= j} m_i (c_i - p_j) x vector_i + I_i spin_i about every joint j, (5,)."""
    (px, py), (cx, cy), (vx, vy) = joints, centres, vectors
    of_link = [
        [
            MASS[i] * ((cx[i] - px[j]) * vy[i] - (cy[i] - py[j]) * vx[i]) + INERTIA[i] * spins[i]
            for i in range(5)
        ]
        for j in range(5)
    ]
    return [sum(of_link[j][j:]) for j in range(5)]


def equations(node):
    """q' - w and the balance of moments about every joint."""
    q, w, a = node.q[:5], node.q[5:], node.v[5:]
    ax, ay = acceleration(CENTRES, q, w, a)
    needed = moments(place(JOINTS, q), place(CENTRES, q), (ax, ay + GRAVITY), a)
    torques = [node.u1, node.u2, node.u3, node.u4, node.u5]
    return [*(node.v[i] - w[i] for i in range(5)), *(needed[j] - torques[j] for j in range(5))]


def impact(before, after):
    """The legs change names, and the momenta about the joints go on."""
    q, w, q_new, w_new = before.q[:5], before.q[5:], after.q[:5], after.q[5:]
    kept = moments(
        [p[::-1] for p in place(JOINTS, q)],
        [c[::-1] for c in place(CENTRES, q)],
        [v[::-1] for v in velocity(CENTRES, q, w)],
        w[::-1],
    )
    now = moments(place(JOINTS, q_new), place(CENTRES, q_new), velocity(CENTRES, q_new, w_new), w_new)
    return [*(q_new[i] - q[4 - i] for i in range(5)), *(now[j] - kept[j] for j in range(5))]


@trajopt.term(unit="m")
def swing_foot(node):
    """Place of the swing foot, m."""
    return [coordinate[5] for coordinate in place(JOINTS, node.q[:5])]


@trajopt.term(unit="(N m)^2")
def effort(node):
    """Sum of the squared torques, (N m)^2."""
    return node.u1**2 + node.u2**2 + node.u3**2 + node.u4**2 + node.u5**2


@recipe
def build(*, intervals: int = 10, order: int = 4, step: float = 0.5, duration: float = 0.7) -> trajopt.Phases:
    """Length of a step in m, its duration in s."""
    angles = tuple(f"q{i}" for i in range(1, 6))
    speeds, torques = (tuple(f"{letter}{i}" for i in range(1, 6)) for letter in "wu")
    units = dict.fromkeys(angles, "rad") | dict.fromkeys(speeds, "rad/s") | dict.fromkeys(torques, "N m")
    biped = trajopt.system((*angles, *speeds), torques, residuals=equations, units=units)

    stance = trajopt.Problem(
        biped, trajopt.Trajectory.collocation(intervals, order, duration=duration), name="step"
    )
    stance.subject_to(swing_foot, equals=[step, 0.0], over="end", name="foothold")
    stance.subject_to(swing_foot, lower=[-np.inf, 0.0], name="ground")
    stance.minimize(effort)
    first, last = np.array([-0.3, 0.7, 0.0, -0.5, -0.6]), np.array([-0.6, -0.5, 0.0, 0.7, -0.3])
    w = (last - first) / duration
    stance.guess([[*first, *w], [*last, *w]])

    walker = trajopt.Phases(stance, name="five_link_walker")
    walker.link(impact, stance.at("end"), stance.at("start"))
    return walker
