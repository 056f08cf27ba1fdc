"""
Two arms with one box
=====================

Two UR5 lift a box of 6 kg, tilt it, and press against it from both sides: two welds close the loop.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

problem = problems.two_arms.build()
solution = trajopt.solve(problem, starts=1)
t = np.linspace(0.0, solution.duration, 201)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for at, shade in zip(np.linspace(0.0, solution.duration, 4), np.linspace(0.25, 1.0, 4), strict=True):
    for side, colour in (("left", "tab:blue"), ("right", "tab:orange")):
        names = ("shoulder_link", "forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link")
        places = [solution.value(trajopt.position(f"{side}_{name}"), at) for name in names]
        arm = np.array([*places, solution.value(trajopt.position(f"{side}_tool"), at)])
        left.plot(arm[:, 0], arm[:, 2], "o-", color=colour, alpha=shade, markersize=3)
    grips = np.array([solution.value(trajopt.position(f"{side}_grip"), at) for side in ("left", "right")])
    left.plot(grips[:, 0], grips[:, 2], color="black", alpha=shade, linewidth=4)
left.set(xlabel="x (m)", ylabel="z (m)", aspect="equal")
for side, grasp in problem.closures.items():
    force = solution.value(grasp.force_in_a, t)
    right.plot(t, force[:, 2], label=f"{side} tool, into the box")
    right.plot(t, np.hypot(force[:, 0], force[:, 1]), "--", label=f"{side} tool, along its side")
right.set(xlabel="t (s)", ylabel="force of the tools (N)")
right.legend(fontsize=8)
