"""
A quadruped's trot
==================

Solo trots: two feet stand, two swing, and the ground pushes inside the friction cone for all times.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

problem = problems.quadruped_trot.build()
solution = trajopt.solve(problem)
t = np.linspace(0.0, solution.duration, 201)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for contact in problem.contacts.values():
    foot = contact.frame.removesuffix("_FOOT")
    left.plot(t, 1e3 * solution.value(trajopt.position(contact.frame), t)[:, 2], label=foot)
    if contact.arcs:
        force = solution.value(contact.force, t)
        right.plot(t, force[:, 2], label=f"{foot}, vertical")
        right.plot(t, np.hypot(force[:, 0], force[:, 1]), "--", label=f"{foot}, along the ground")
left.set(xlabel="t (s)", ylabel="height of the feet (mm)")
right.set(xlabel="t (s)", ylabel="force of the ground (N)")
for axis in (left, right):
    axis.legend(fontsize=8)
