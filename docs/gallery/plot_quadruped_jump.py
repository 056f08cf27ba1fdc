"""
A quadruped's jump
==================

Solo jumps 25 cm forward: how long it pushes, flies and lands follows from the least effort.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

problem = problems.quadruped_jump.build()
solution = trajopt.solve(problem)
t = np.linspace(0.0, solution.duration, 601)
takeoff, touchdown = solution.curve.starts[1:3]

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.plot(1e3 * solution.q(t)[:, 0], 1e3 * solution.q(t)[:, 2], label="base")
for foot in ("FL", "HL"):
    place = solution.value(trajopt.position(f"{foot}_FOOT"), t)
    left.plot(1e3 * place[:, 0], 1e3 * place[:, 2], label=f"{foot} foot")
    right.plot(t, solution.value(problem.contacts[f"{foot}_FOOT"].force, t)[:, 2], label=foot)
right.axvspan(takeoff, touchdown, color="0.9", label="flight")
left.set(xlabel="forward (mm)", ylabel="height (mm)")
right.set(xlabel="t (s)", ylabel="vertical force of the ground (N)")
for axis in (left, right):
    axis.legend(fontsize=8)
