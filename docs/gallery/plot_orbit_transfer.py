"""
Orbit transfer
==============

A small constant thrust leads from the earth's orbit to the largest circular one in 193 days, nearly that of
Mars. Arrows are the thrust.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import cumulative_simpson

import problems
import trajopt

solution = trajopt.solve(problems.orbit_transfer.build())
print(f"{-solution.objective:.7f} astronomical units")

t = np.linspace(0.0, solution.duration, 601)
r, _, v = solution.q(t).T
angle = cumulative_simpson(v / r, x=t, initial=0.0)
outwards = np.stack([np.cos(angle), np.sin(angle)])
onwards = np.stack([-np.sin(angle), np.cos(angle)])
radial, tangential = (solution.value(trajopt.state(name), t)[:, 0] for name in ("radial", "tangential"))
x, y = r * outwards
thrust_x, thrust_y = (radial * outwards + tangential * onwards)[:, ::20]

figure, axis = plt.subplots(figsize=(6, 4.6), layout="constrained")
turn = np.linspace(0.0, 2.0 * np.pi, 300)
for radius in (r[0], r[-1]):
    axis.plot(radius * np.cos(turn), radius * np.sin(turn), "0.7", linewidth=1)
axis.plot(0.0, 0.0, "C1o", markersize=10)
axis.plot(x, y, linewidth=2)
axis.quiver(x[::20], y[::20], thrust_x, thrust_y, color="C3", width=4e-3, scale=18.0)
axis.set_aspect("equal")
axis.set_xlabel("x (astronomical units)")
axis.set_ylabel("y (astronomical units)")
