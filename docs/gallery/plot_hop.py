"""
Hop
===

A body that floats freely: ground forces are unknown curves, push-off, flight and landing have durations.
"""

import problems
import trajopt

solution = trajopt.solve(problems.hop.build())
motion = trajopt.plot.motion(solution, snapshots=11)
