"""Two-link arm with two revolute joints, moved in minimum time under torque limits.

    minimize T   subject to   q(0), q(T), v(0), v(T) given,   torque_lower <= tau <= torque_upper

in a horizontal plane. The optimum is bang-bang with three switches, T* = 0.3918545395 s (a switching-time
solution integrated to 1e-13, switches at 0.045709, 0.195927 and 0.235300 s); splines approach it from above.
Source: Barman, thesis, section 4.1, which reports 0.392 s.
"""

from __future__ import annotations

import math

import dynamics
import trajopt
from problems.recipe import recipe

EXACT_DURATION = 0.3918545395  # s, the bang-bang optimum for the default data


@recipe
def build(
    *,
    intervals: int = 20,
    degree: int = 3,
    nodes_per_span: int = 4,
    duration: tuple[float, float] = (0.05, 5.0),
    q_start: tuple[float, float] = (0.0, -2.0),
    q_end: tuple[float, float] = (1.0, -1.0),
    v_start: tuple[float, float] = (0.0, 0.0),
    v_end: tuple[float, float] = (0.0, 0.0),
    lengths: tuple[float, float] = (0.4, 0.4),
    masses: tuple[float, float] = (0.5, 0.5),
    centres: tuple[tuple[float, float], tuple[float, float]] = ((-0.5, 0.0), (-0.5, 0.0)),
    inertias: tuple[float, float] = (0.1, 0.1),
    torque_lower: tuple[float, float] = (-10.0, -10.0),
    torque_upper: tuple[float, float] = (10.0, 10.0),
    q_lower: tuple[float, float] = (-math.inf, -math.inf),
    q_upper: tuple[float, float] = (math.inf, math.inf),
    velocity: tuple[float, float] = (math.inf, math.inf),
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> trajopt.Problem:
    """Barman's problem (4.16), (4.17) with the data of tables 4.1 and 4.2.

    intervals, degree, nodes_per_span : of the spline and of its nodes
    duration : s, (shortest, longest)
    q_start, q_end, v_start, v_end : rad, rad/s, for (shoulder, elbow)
    lengths, masses, inertias : m, kg, kg m^2 about each centre of mass and the plane's normal
    centres : (x, y) of each centre of mass from the link's far end, in its axes, as parts of its length
    torque_lower, torque_upper, q_lower, q_upper, velocity : limits in N m, rad, rad/s
    gravity : m/s^2 in world axes, the plane of motion being x-y; along z it loads the bearings only
    """
    limits = [
        dynamics.JointLimits(q_lower[i], q_upper[i], velocity[i], torque_lower[i], torque_upper[i])
        for i in range(2)
    ]
    rows = [
        dynamics.DhRow(
            name=name,
            a=lengths[i],
            mass=masses[i],
            centre_of_mass=(lengths[i] * centres[i][0], lengths[i] * centres[i][1], 0.0),
            inertia=[[0.0, 0.0, 0.0], [0.0, inertias[i], 0.0], [0.0, 0.0, inertias[i]]],  # a slender rod
            limits=limits[i],
        )
        for i, name in enumerate(("shoulder", "elbow"))
    ]
    model = dynamics.from_dh(rows, gravity=gravity, name="two_link_rr")

    trajectory = trajopt.Trajectory.uniform(intervals, degree, duration, nodes_per_span)
    problem = trajopt.Problem(model, trajectory, name="two_link_rr")
    problem.start_at(q=q_start, v=v_start)
    problem.end_at(q=q_end, v=v_end)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem
