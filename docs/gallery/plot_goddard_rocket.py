"""
Goddard's rocket
================

Full thrust, then the singular arc on which drag and gravity balance, then none.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

solution = trajopt.solve(problems.goddard_rocket.build())
t = np.linspace(0.0, solution.duration, 800)
height, speed, mass = solution.q(t).T

figure, axes = plt.subplots(3, sharex=True, figsize=(6, 5), layout="constrained")
for axis, values, label in zip(
    axes,
    (height, speed, solution.value(trajopt.state("thrust"), t)),
    ("height (Earth radii)", "speed (√(g R))", "thrust (weights)"),
    strict=True,
):
    axis.plot(t, values)
    axis.set_ylabel(label)
axes[-1].set_xlabel("time (√(R / g))")
