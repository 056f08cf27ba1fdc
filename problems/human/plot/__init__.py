"""Figures of a gait cycle: what was predicted over what was measured, snapshots, and an animation.

`angles`, `torques`, `reactions` and `forces` answer figures 5.3 to 5.5 of Barman's thesis, `snapshots` its
figure 5.2. The style is that of `trajopt.plot`.
"""

from problems.human.plot.animation import animate
from problems.human.plot.cycle_curves import angles, forces, reactions, torques
from problems.human.plot.mannequin import snapshots

__all__ = ["angles", "animate", "forces", "reactions", "snapshots", "torques"]
