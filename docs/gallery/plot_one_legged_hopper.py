"""
A one-legged hopper
===================

Three hops of a periodic gait: how long it stands and flies follows from the least effort.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

problem = problems.one_legged_hopper.build()
solution = trajopt.solve(problem)
poses = np.linspace(0.0, solution.duration, 7)
t = np.linspace(0.0, solution.duration, 301)

figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
for hop in range(3):
    ahead = hop * (solution.q(solution.duration)[0] - solution.q(0.0)[0])
    places = [solution.value(trajopt.position(name), t) for name in ("trunk", "foot")]
    for place, color in zip(places, ("C0", "C1"), strict=True):
        axis.plot(ahead + place[:, 0], place[:, 2], color=color)
    joints = [solution.value(trajopt.position(name), poses) for name in ("trunk", "shank", "foot")]
    axis.plot(ahead + np.array(joints)[:, :, 0], np.array(joints)[:, :, 2], color="0.6", lw=1)
axis.set(xlabel="forward (m)", ylabel="height (m)", aspect="equal")
