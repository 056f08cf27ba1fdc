"""Figures of a solution, each returned as a matplotlib Figure: `figure.savefig("torques.pdf")` keeps it.

Where pyplot is imported, `plt.show()` shows them; `figure=` and `ax=` draw on what the caller has.

`torques`, `joint_forces`, `joints` and `motion` correspond to figures 4.2 to 4.7 of Barman's thesis; `states`
draws states and controls of systems, also phase by phase, `costates` what the optimal cost gains per unit of
a state, `study` the points of a sweep, `starts` the objectives that several starts ended at, `refinement` the
rounds of a mesh refinement; `animate` writes a motion as a GIF. Colours are those of Okabe and Ito, which
colour-blind readers distinguish; the first four curves of a panel have different line styles, too.
"""

from trajopt.plot.animation import animate
from trajopt.plot.joint_curves import joint_forces, joints, torques
from trajopt.plot.refinement import refinement
from trajopt.plot.snapshots import motion
from trajopt.plot.starts import starts
from trajopt.plot.state_curves import costates, states
from trajopt.plot.study import study

__all__ = [
    "animate",
    "costates",
    "joint_forces",
    "joints",
    "motion",
    "refinement",
    "starts",
    "states",
    "study",
    "torques",
]
