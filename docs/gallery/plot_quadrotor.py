"""
Quadrotor through gates
=======================

One phase from gate to gate, with times that are free: swift and gentle at once.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

gates = ((3.0, 2.0), (6.0, -1.0))
solution = trajopt.solve(problems.quadrotor_gates.build(gates=gates))

figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for number, leg in enumerate(solution.phases):
    x, z, _, _, tilt = leg.q(np.linspace(0.0, leg.duration, 100)).T
    axis.plot(x, z, f"C{number}", label=f"phase {number + 1}, {leg.duration:.2f} s")
    for i in range(0, 100, 12):
        arm = 0.22 * np.array([np.cos(tilt[i]), -np.sin(tilt[i])])
        axis.plot(x[i] + arm[0] * np.array([-1, 1]), z[i] + arm[1] * np.array([-1, 1]), "k", linewidth=1.5)
for x, z in gates:
    axis.plot([x, x], [z + 0.25, z + 0.9], "0.5", linewidth=4)
    axis.plot([x, x], [z - 0.9, z - 0.25], "0.5", linewidth=4)
axis.set_aspect("equal")
axis.set_xlabel("x (m)")
axis.set_ylabel("z (m)")
axis.legend(frameon=False, fontsize=8)
