"""
Container crane
===============

A load is carried over to a ship and swings as little as can be.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

solution = trajopt.solve(problems.container_crane.build())
t = np.linspace(0.0, solution.duration, 40)
trolley, rope, swing = solution.q(t)[:, :3].T

figure, axis = plt.subplots(figsize=(5, 5), layout="constrained")
for x, length, angle in zip(trolley, rope, swing, strict=True):
    axis.plot([x, x + length * np.sin(angle)], [0.0, -length * np.cos(angle)], "0.8", linewidth=0.8)
axis.scatter(trolley + rope * np.sin(swing), -rope * np.cos(swing), c=t, s=14, zorder=3)
axis.plot(trolley, np.zeros_like(trolley), "k", linewidth=3)
axis.set_aspect("equal")
axis.set_xlabel("x (m)")
axis.set_ylabel("below the rail (m)")
