"""
Van der Pol's oscillator
========================

Brought to rest with a bounded control, which is at its limits for two spells.
"""

import matplotlib.pyplot as plt
import numpy as np

import problems
import trajopt

solution = trajopt.solve(problems.van_der_pol.build())
t = np.linspace(0.0, solution.duration, 600)

figure, (above, below) = plt.subplots(2, sharex=True, figsize=(6, 4.2), layout="constrained")
above.plot(t, solution.q(t), label=solution.joint_names)
above.set_ylabel("states")
above.legend(frameon=False)
below.plot(t, solution.value(trajopt.state("u"), t), "C2")
below.axhline(-0.3, color="0.4", linestyle="--", linewidth=0.8)
below.axhline(1.0, color="0.4", linestyle="--", linewidth=0.8)
below.set_ylabel("control u")
below.set_xlabel("time (s)")
