"""
Quadrotor through gates
=======================

One phase from gate to gate, with times that are free: swift and gentle at once.
"""

import problems
import trajopt

solution = trajopt.solve(problems.quadrotor_gates.build(gates=((3.0, 2.0), (6.0, -1.0))))
trajopt.plot.motion(solution, snapshots=25)
