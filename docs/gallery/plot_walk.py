"""
A walk in the plane
===================

Nothing is tracked: the effort of nine degrees of freedom is minimized over one step.
"""

import problems
import trajopt
from problems.human import plot

solution = trajopt.solve(problems.planar_walker.build())
walk = plot.snapshots(solution)

# %%
# The ground's reaction beside people who were measured.
reactions = plot.reactions(solution)
