"""
Four-bar linkage
================

One motor swings a crank; coupler and rocker follow, held together by a hinge that closes the loop.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

problem = problems.four_bar.build()
solution = trajopt.solve(problem, starts=1)
hinge = problem.closures["hinge"]
t = np.linspace(0.0, solution.duration, 201)
force = solution.value(hinge.force, t)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
places = [trajopt.position(name) for name in ("crank", "coupler", "coupler_end", "rocker")]
for at in np.linspace(0.0, solution.duration, 7):
    corners = np.array([solution.value(place, at) for place in places])
    left.plot(corners[:, 0], corners[:, 1], "o-", color=plt.cm.viridis(at / solution.duration))
left.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
middle.plot(t, solution.tau(t)[:, 0])
middle.set(xlabel="t (s)", ylabel="torque of the motor (N m)")
right.plot(t, force[:, 0], label="along x")
right.plot(t, force[:, 1], label="along y")
right.set(xlabel="t (s)", ylabel="force of the hinge (N)")
right.legend()
