"""NAME: a person walks; one's own cost is added to the costs of walking.

Solve it:       trajopt solve NAME.py --plot --report
Change it:      trajopt solve NAME.py --set speed=1.4 --set step_length=0.7
Compare:        trajopt sweep NAME.py --set knee_weight=0,1e-6,1e-5
"""

from __future__ import annotations

import problems
import trajopt

# What --plot and --report add: figures of the gait cycle beside measured ones, criteria, files for OpenSim.
draw = problems.gait.draw
# What is printed below the report: the criteria of a credible walk that are not met.
remarks = problems.gait.remarks


# Every parameter has a default, which says what it is; `--set` changes it, and a saved solution remembers it.
# `trajopt list gait` shows all parameters of the walk that is built here.
def build(
    *,
    speed: float = 1.2,
    step_length: float = 0.6,
    height: float = 1.75,
    mass: float = 75.0,
    knee_weight: float = 1e-6,
) -> trajopt.Problem:
    """One step; speed in m/s, lengths in m, mass in kg, knee_weight in 1/(N^2 m^2 s)."""
    problem = problems.gait.build(speed=speed, step_length=step_length, height=height, mass=mass)
    problem.name = "NAME"
    names = problem.dynamics.joint_names
    knees = [names.index(name) for name in names if name.startswith("knee")]

    # ONE'S OWN COST: any quantity of a node; its derivatives follow by themselves. `node.wrench(joint)` is
    # the moment and force within a joint, `node.position(link)` the place of a link.
    @trajopt.term
    def knee_torques(node):
        return sum(node.tau[i] ** 2 for i in knees)

    if knee_weight > 0.0:
        problem.minimize(knee_torques, weight=knee_weight, name="torques of the knees")
    return problem
