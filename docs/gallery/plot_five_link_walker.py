"""
A biped's steps
===============

Five links, an impact at every step, and a cycle of least effort: the swing foot's way.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt
from problems.gallery.mechanisms.five_link_walker import JOINTS

solution = trajopt.solve(problems.five_link_walker.build())
step = solution.phases[0] if isinstance(solution, trajopt.PhasesSolution) else solution
times = np.linspace(0.0, step.duration, 9)
q = step.q(times)[:, :5]

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
for i, pose in enumerate(q):
    x, y = -JOINTS @ np.sin(pose), JOINTS @ np.cos(pose)
    shift = 0.35 * i
    axis.plot(x[:3] + shift, y[:3], "o-", color="C0", markersize=3)
    axis.plot(x[3:] + shift, y[3:], "o-", color="C1", markersize=3)
    axis.plot(
        [x[2] + shift, x[2] - 0.5 * np.sin(pose[2]) + shift],
        [y[2], y[2] + 0.5 * np.cos(pose[2])],
        color="0.3",
    )
axis.axhline(0.0, color="0.6", linewidth=0.8)
axis.set_aspect("equal")
axis.set_xlabel("x (m), postures moved apart")
