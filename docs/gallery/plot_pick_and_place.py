"""
Pick and place
==============

A UR5 takes a can over a wall in least time: goals with orientations, a via point, a load, obstacles and
self-collision, limits of speed, torque, acceleration and jerk.
"""

import problems
from problems import moves
from problems.moves.plot.snapshots import snapshots

bodies = {"upper_arm_link": (0.05, 0.42), "forearm_link": (0.045, 0.38)}  # radius and length, m
limbs = [moves.capsule(r, l, (0, 0, l / 2), carrier=link) for link, (r, l) in bodies.items()]
robot = moves.robot(problems.urdf_arm.source("ur5"), shapes=limbs)
tool = robot.frame("tool0")
down = [3.14159265, 0.0, 0.0]  # a rotation vector: z of the tool points to the ground

wall = moves.box((0.04, 0.3, 0.3), (0.0, 0.6, 0.15), name="wall")
table = moves.box((1.2, 0.6, 0.02), (0.0, 0.6, -0.06), name="table")
task = moves.Task(robot, moves.Scene([wall, table]))
task.start(q=[1.0, -1.4, 1.6, -1.77, -1.57, 0.0])
task.to(tool, position=(0.3, 0.5, 0.15), rotation=down, tolerance=(1e-3, 0.01))
task.attach("can", tool, mass=1.5, centre_of_mass=(0, 0, 0.08), shape=moves.capsule(0.03, 0.06, (0, 0, 0.08)))
task.via(tool, position=(0.0, 0.55, 0.5))
task.to(tool, position=(-0.3, 0.5, 0.15), rotation=down, tolerance=(1e-3, 0.01))
task.detach("can")
task.to(tool, position=(-0.3, 0.5, 0.35))
task.limits(acceleration=15, jerk=500, tool_speed=1.5)
motion = task.solve()
solution = motion.solution

picture = snapshots(motion)
