"""
A step of a humanoid
====================

Unitree's G1 shifts its weight, swings its right foot forward and comes to rest.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

problem = problems.biped_step.build()
solution = trajopt.solve(problem)
t = np.linspace(0.0, solution.duration, 601)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for foot, contact in problem.contacts.items():
    side = foot.partition("_")[0]
    left.plot(t, 1e3 * solution.value(trajopt.position(foot), t)[:, 2], label=f"{side} ankle")
    right.plot(t, solution.value(contact.force, t)[:, 2], label=side)
left.set(xlabel="t (s)", ylabel="height (mm)")
right.set(xlabel="t (s)", ylabel="vertical force of the ground (N)")
for axis in (left, right):
    axis.axvspan(*solution.curve.starts[1:3], color="0.9", label="swing")
    axis.legend(fontsize=8)
