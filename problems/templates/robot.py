"""NAME: a robot from its URDF moves between two poses, fast and with little effort.

Solve it:       trajopt solve NAME.py --plot --report
Your robot:     trajopt show my_robot.urdf;  trajopt solve NAME.py --set robot=my_robot.urdf
Compare:        trajopt sweep NAME.py --set effort_weight=0.01,0.1,1
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.urdf_arm import source


# Every parameter has a default, which says what it is: a whole number, a number, a list of so many numbers;
# None accepts anything. `--set` changes it, and a saved solution remembers it.
def build(
    *,
    robot: str = "ur5",
    intervals: int = 16,
    duration: tuple[float, float] = (0.1, 20.0),
    q_start: tuple[float, ...] | None = None,
    q_end: tuple[float, ...] | None = None,
    effort_weight: float = 0.1,
    jerk_limit: float = 500.0,
) -> trajopt.Problem:
    """robot is the name of a packaged one or of a .urdf file; poses in rad or m, jerk in rad/s^3."""
    # THE ROBOT: positions, velocities and torques are limited as the file says.
    model = dynamics.load_urdf(source(robot), gravity=(0.0, 0.0, -9.81))
    limits = model.limits

    # THE MOTION: from rest to rest. Without other poses, a swing about the middle of every joint's range.
    lower, upper = np.clip(limits.q_lower, -np.pi, np.pi), np.clip(limits.q_upper, -np.pi, np.pi)
    swing = np.minimum(0.25 * (upper - lower), 0.5)
    trajectory = trajopt.Trajectory.uniform(intervals, degree=4, duration=duration)
    problem = trajopt.Problem(model, trajectory, name="NAME")
    problem.start_at(q=0.5 * (lower + upper) - swing if q_start is None else q_start, v=0.0, a=0.0)
    problem.end_at(q=0.5 * (lower + upper) + swing if q_end is None else q_end, v=0.0, a=0.0)

    # WHAT IS GOOD: terms with weights; their sum is minimized.
    problem.minimize(trajopt.duration)
    if np.isfinite(limits.torque_upper).all():
        effort = (trajopt.tau / limits.torque_upper) ** 2
        problem.minimize(effort, weight=effort_weight, name="effort")

    # WHAT MUST HOLD: the limits of the file, and terms of one's own; position("tool") is that of a link.
    problem.subject_to_joint_limits()
    problem.subject_to(trajopt.jerk, -jerk_limit, jerk_limit, name="jerk limits")
    return problem
