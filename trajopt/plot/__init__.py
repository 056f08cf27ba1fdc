"""Figures of a solution, each returned as a matplotlib Figure: `figure.savefig("torques.pdf")` keeps it.

Where pyplot is imported, `plt.show()` shows them; `figure=` and `ax=` draw on what the caller has.

`torques`, `joint_forces`, `joints` and `motion` correspond to figures 4.2 to 4.7 of Barman's thesis; `states`
draws states and controls of systems, also phase by phase, `costates` what the optimal cost gains per unit of
a state, `study` the points of a sweep, `journal` all solves that led to a solution, `starts` the objectives
that several starts ended at, `refinement` the rounds of a mesh refinement, `comparison` curves of several
solutions; `animate` writes a motion as a GIF.
Colours are those of Okabe and Ito, which colour-blind readers distinguish; the first four curves of a panel
have different line styles, too.
"""

from typing import TYPE_CHECKING

from trajopt.base.lazy_exports import export_lazily

if TYPE_CHECKING:
    from trajopt.plot.animation import animate as animate
    from trajopt.plot.comparison import comparison as comparison
    from trajopt.plot.comparison import study as study
    from trajopt.plot.joint_curves import costates as costates
    from trajopt.plot.joint_curves import joint_forces as joint_forces
    from trajopt.plot.joint_curves import joints as joints
    from trajopt.plot.joint_curves import states as states
    from trajopt.plot.joint_curves import torques as torques
    from trajopt.plot.journal import journal as journal
    from trajopt.plot.journal import refinement as refinement
    from trajopt.plot.journal import starts as starts
    from trajopt.plot.snapshots import motion as motion

export_lazily(__name__)
