"""NAME: a planar arm with two motors, from one pose to another as fast as they allow.

Solve it:       trajopt solve NAME.py --plot --report
Change it:      trajopt solve NAME.py --set torque_limit=5 --set 'q_end=[1.5, -0.5]'
Compare:        trajopt sweep NAME.py --set mass=0.5,1,2
Look first:     trajopt show NAME.py
"""

from __future__ import annotations

import dynamics
import trajopt


# Every parameter has a default, which says what it is: a whole number, a number, a list of so many numbers.
# `--set` changes it, and a saved solution remembers it.
def build(
    *,
    intervals: int = 20,
    duration: tuple[float, float] = (0.05, 5.0),
    q_start: tuple[float, float] = (0.0, -2.0),
    q_end: tuple[float, float] = (1.0, -1.0),
    length: float = 0.4,
    mass: float = 0.5,
    torque_limit: float = 10.0,
    power_limit: float = 60.0,
) -> trajopt.Problem:
    """The problem in SI units: angles in rad; duration is the shortest and the longest, in s."""
    # THE ROBOT: a row of Denavit-Hartenberg parameters per link, with mass, centre of mass and inertia about
    # it. `dynamics.load_urdf("my_robot.urdf")` reads one from a file instead.
    limits = dynamics.JointLimits.symmetric(velocity=10.0, torque=torque_limit)
    inertia = mass * length**2 / 12.0  # of a thin rod
    link = dynamics.DhRow(
        a=length,
        mass=mass,
        centre_of_mass=(-length / 2.0, 0.0, 0.0),  # from the far end of the link
        inertia=[[0.0, 0.0, 0.0], [0.0, inertia, 0.0], [0.0, 0.0, inertia]],
        limits=limits,
    )
    arm = dynamics.from_dh([link, link], gravity=(0.0, -9.81, 0.0), name="NAME")

    # THE MOTION: a spline of so many intervals; one duration instead of two would fix it.
    trajectory = trajopt.Trajectory.uniform(intervals, degree=4, duration=duration)
    problem = trajopt.Problem(arm, trajectory, name="NAME")
    problem.start_at(q=q_start, v=0.0)
    problem.end_at(q=q_end, v=0.0)

    # WHAT IS GOOD: terms with weights; their sum is minimized. A little effort keeps the torques smooth.
    problem.minimize(trajopt.duration)
    problem.minimize((trajopt.tau / torque_limit) ** 2, weight=0.01, name="effort")

    # WHAT MUST HOLD: limits of positions, velocities and torques, and any term of one's own.
    problem.subject_to_joint_limits()

    @trajopt.term
    def power(node):  # of each motor, W; write any quantities of the node, derivatives follow by themselves
        return node.tau * node.v

    problem.subject_to(power, -power_limit, power_limit, name="power of the motors")

    # Limits hold at nodes; where one is exceeded in between, nodes are added and the problem is solved again.
    problem.recommend(trajopt.Ipopt(), refine=trajopt.LimitNodes())
    # Where to start, if the default does not do: problem.guess(q=...), or --starts 8 at the command line.
    return problem
