"""Tracking of a measured motion: a cost that keeps joints near their measured angles.

    w / n sum over n joints of ((q_i(t) - measured_i(t)) / d)^2,   d = 5 degrees

over a step; the measured time is stretched to that of the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt
from problems.human.body.model import GLOBAL
from problems.human.motions.motion_file import read_motion
from problems.human.motions.names import joint_angles, opensim_names, read_names
from trajopt.base.arguments import check_positive

UNIT = float(np.deg2rad(5.0))


def track_motion(
    problem: trajopt.Problem,
    file: str,
    window: tuple[float, float] | None = None,
    weight: float = 10.0,
    names: str = "",
) -> tuple[str, ...]:
    """Add the cost of distance to a measured motion; names of the joints that it tracks.

    file : .mot, .sto or .csv (`read_motion`)
    window : s, the strikes of the right and of the left heel between which the step is; None = the whole file
    weight : without unit, beside the effort of the sourced cost;  names : a table of `write_names`, edited
    Raises OptionError for a weight that is not positive, and what reading raises.
    """
    check_positive("track_weight", weight)
    table = read_motion(file)
    if window is not None:
        table = table.window(*window)
    joints = tuple(problem.dynamics.joint_names)
    chosen = read_names(names) if names else opensim_names()
    angles = joint_angles(table, chosen, tuple(name for name in joints if name not in GLOBAL))
    progress = (table.time - table.time[0]) / (table.time[-1] - table.time[0])
    measured = np.stack(list(angles.values()), axis=1)
    problem.data("measured angles", progress, measured, clock="progress", unit="rad")
    places = [joints.index(name) for name in angles]

    def distance(node: Any) -> Any:
        given = node.data("measured angles")
        return sum(((node.q[i] - given[k]) / UNIT) ** 2 for k, i in enumerate(places)) / len(places)

    problem.minimize(trajopt.ExpressionTerm(distance, "distance to the measured motion"), weight)
    return tuple(angles)
