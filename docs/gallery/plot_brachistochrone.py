"""
Brachistochrone
===============

The slide of shortest time, found as a system x' = f(x, u), over the cycloid that Bernoulli knew.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt
from problems.gallery.classics.brachistochrone import end_angle

solution = trajopt.solve(problems.brachistochrone.build(across=10.0, down=5.0))
print(f"{solution.duration:.9f} s")

t = np.linspace(0.0, solution.duration, 300)
phi = np.linspace(0.0, end_angle(10.0, 5.0), 300)
radius = 5.0 / (1.0 - np.cos(phi[-1]))

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
axis.plot(solution.q(t)[:, 0], -solution.q(t)[:, 1], linewidth=4, alpha=0.4, label="found")
axis.plot(radius * (phi - np.sin(phi)), radius * (np.cos(phi) - 1.0), "k--", linewidth=1, label="cycloid")
axis.set_aspect("equal")
axis.set_xlabel("x (m)")
axis.set_ylabel("height (m)")
axis.legend(frameon=False)
