"""
Six-axis industrial arm
=======================

A UR5 from its URDF, as fast as torques and velocities allow, against gravity.
"""

import problems
import trajopt

solution = trajopt.solve(problems.six_axis_arm.build(u=0.1, intervals=30), starts=1)
motion = trajopt.plot.motion(solution)

# %%
# Limits are dashed.
torques = trajopt.plot.torques(solution)
