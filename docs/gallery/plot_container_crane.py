"""
Container crane
===============

A load is carried over to a ship and swings as little as can be.
"""

import problems
import trajopt

solution = trajopt.solve(problems.container_crane.build())
trajopt.plot.motion(solution, snapshots=40)
