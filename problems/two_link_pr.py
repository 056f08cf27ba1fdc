"""Two-link arm on a slide (prismatic, then revolute), trading travel time against effort.

    minimize integral_0^T (1 - u) + u (f^2 + tau^2) dt   subject to   q(0), q(T), v(0), v(T) given,
             force and torque limits

in a horizontal plane: the joint force f moves the slide, the torque tau turns the second link. With the data
as printed the optimum is J = 0.85306 at T = 0.6463 s; the thesis prints 0.5585 s, see docs/two_link_pr.md.
Source: Barman, thesis, section 4.2.
"""

from __future__ import annotations

import math

import dynamics
import trajopt
from problems.recipe import recipe
from trajopt.base.errors import OptionError

RIGHT_ANGLE = math.pi / 2


@recipe
def build(
    *,
    u: float = 0.01,
    intervals: int = 20,
    degree: int = 3,
    nodes_per_span: int = 4,
    duration: tuple[float, float] = (0.05, 5.0),
    q_start: tuple[float, float] = (0.1, 0.6),
    q_end: tuple[float, float] = (math.pi / 4, -math.pi / 4),
    v_start: tuple[float, float] = (0.0, 0.0),
    v_end: tuple[float, float] = (0.0, 0.0),
    lengths: tuple[float, float] = (0.4, 0.4),
    masses: tuple[float, float] = (0.5, 0.5),
    centres: tuple[tuple[float, float], tuple[float, float]] = ((0.0, -0.5), (-0.5, 0.0)),
    inertias: tuple[float, float] = (0.1, 0.1),
    theta: tuple[float, float] = (RIGHT_ANGLE, RIGHT_ANGLE),
    alpha: tuple[float, float] = (RIGHT_ANGLE, 0.0),
    torque_lower: tuple[float, float] = (-10.0, -10.0),
    torque_upper: tuple[float, float] = (10.0, 10.0),
    q_lower: tuple[float, float] = (-math.inf, -math.inf),
    q_upper: tuple[float, float] = (math.inf, math.inf),
    velocity: tuple[float, float] = (math.inf, math.inf),
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> trajopt.Problem:
    """Barman's problem (4.18), (4.19) with the data of tables 4.3 and 4.4.

    u : 1/(N^2 s) and 1/((N m)^2 s), in [0, 1]: the weight of effort against time
    intervals, degree, nodes_per_span : of the spline and of its nodes
    duration : s, (shortest, longest)
    q_start, q_end, v_start, v_end : m and rad, m/s and rad/s, for (slide, elbow)
    lengths, masses, inertias : m, kg, kg m^2 about each centre of mass and the plane's normal
    centres : (x, y) of each centre of mass from the link's far end, in its axes, as parts of its length
    theta, alpha : rad, of the Denavit-Hartenberg table; theta of the elbow is added to its coordinate
    torque_lower, torque_upper, q_lower, q_upper, velocity : limits in N and N m, m and rad, m/s and rad/s
    gravity : m/s^2 in world axes, the plane of motion being y-z with the slide along z
    """
    if not 0.0 <= u <= 1.0:
        raise OptionError(f"u is {u}: expected a weight between 0 (time only) and 1 (effort only)")
    limits = [
        dynamics.JointLimits(q_lower[i], q_upper[i], velocity[i], torque_lower[i], torque_upper[i])
        for i in range(2)
    ]
    slide = dynamics.DhRow(
        name="slide",
        kind="prismatic",
        theta=theta[0],
        d=lengths[0],
        alpha=alpha[0],
        mass=masses[0],
        centre_of_mass=(lengths[0] * centres[0][0], lengths[0] * centres[0][1], 0.0),
        inertia=[[inertias[0], 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, inertias[0]]],  # a rod along y
        limits=limits[0],
    )
    elbow = dynamics.DhRow(
        name="elbow",
        theta=theta[1],
        a=lengths[1],
        alpha=alpha[1],
        mass=masses[1],
        centre_of_mass=(lengths[1] * centres[1][0], lengths[1] * centres[1][1], 0.0),
        inertia=[[0.0, 0.0, 0.0], [0.0, inertias[1], 0.0], [0.0, 0.0, inertias[1]]],  # a rod along x
        limits=limits[1],
    )
    model = dynamics.from_dh([slide, elbow], gravity=gravity, name="two_link_pr")

    trajectory = trajopt.Trajectory.uniform(intervals, degree, duration, nodes_per_span)
    problem = trajopt.Problem(model, trajectory, name="two_link_pr")
    problem.start_at(q=q_start, v=v_start)
    problem.end_at(q=q_end, v=v_end)
    problem.minimize(trajopt.duration, weight=1.0 - u, name="time")
    problem.minimize(trajopt.tau**2, weight=u, name="effort")
    problem.subject_to_joint_limits()
    return problem
