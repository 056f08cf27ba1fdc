"""Tracking of a measured motion: a cost that keeps joints near their measured angles.

    w / n sum over n joints of ((q_i(t) - measured_i(t)) / d)^2,   d = 5 degrees

over a step; the measured time is stretched to that of the step. Measured are angles, or markers, which become
angles of the model that has them (`marker_fit`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
import trajopt
from problems.human.body.model import GLOBAL
from problems.human.body.own_model import matched_coordinates
from problems.human.motions.marker_file import read_markers
from problems.human.motions.marker_fit import fit_markers
from problems.human.motions.motion_file import MotionTable, read_motion
from problems.human.motions.names import Name, joint_angles, names_of, opensim_names, read_frames, read_names
from trajopt.base.arguments import check_positive
from trajopt.base.errors import OptionError, ProblemError

UNIT = float(np.deg2rad(5.0))


def track_motion(
    problem: trajopt.Problem,
    file: str,
    window: tuple[float, float] | None = None,
    weight: float = 10.0,
    names: str = "",
    model: str = "",
) -> tuple[str, ...]:
    """Add the cost of distance to a measured motion; names of the joints that it tracks.

    file : angles, .mot, .sto or .csv (`read_motion`), or markers, .trc
    window : s, the strikes of the right and of the left heel between which the step is; None = the whole file
    weight : without unit, beside the effort of the sourced cost
    names : a table of `write_names`, edited; of markers one of `read_frames`
    model : the .osim that has the markers, or by whose signs angles count where no table of names says it; ""
        for those of Rajagopal et al. 2016, `opensim_names`
    Raises OptionError for a weight that is not positive and markers without a model, ProblemError for angles
    that no model is given for and that a joint cannot have, and what reading raises.
    """
    check_positive("track_weight", weight)
    if Path(file).suffix.lower() == ".trc":
        table, chosen = angles_of_markers(file, window, names, model)
    else:
        chosen = names_of_angles(names, model)
        table = read_motion(file, {each.column for each in chosen})
    if window is not None:
        table = table.window(*window)
    joints = tuple(problem.dynamics.joint_names)
    angles = joint_angles(table, chosen, tuple(name for name in joints if name not in GLOBAL))
    if not (names or model):
        check_signs(problem, angles, file)
    progress = (table.time - table.time[0]) / (table.time[-1] - table.time[0])
    measured = np.stack(list(angles.values()), axis=1)
    problem.data("measured angles", progress, measured, clock="progress", unit="rad")
    places = [joints.index(name) for name in angles]

    def distance(node: Any) -> Any:
        given = node.data("measured angles")
        return sum(((node.q[i] - given[k]) / UNIT) ** 2 for k, i in enumerate(places)) / len(places)

    problem.minimize(trajopt.ExpressionTerm(distance, "distance to the measured motion"), weight)
    return tuple(angles)


def names_of_angles(names: str, model: str) -> tuple[Name, ...]:
    """The names of a table, else those of a model's coordinates with its signs, else OpenSim's."""
    if names:
        return read_names(names)
    return names_of(matched_coordinates(dynamics.load_osim(model))) if model else opensim_names()


def check_signs(problem: trajopt.Problem, angles: Mapping[str, np.ndarray], file: str) -> None:
    """ProblemError where a joint would be out of its range by more than `UNIT` for half of the motion."""
    joints, limits = tuple(problem.dynamics.joint_names), problem.dynamics.limits
    for name, values in angles.items():
        lower, upper = (float(ends[joints.index(name)]) for ends in (limits.q_lower, limits.q_upper))
        if not lower - UNIT <= np.median(values) <= upper + UNIT:
            seen = np.rad2deg([values.min(), values.max(), lower, upper])
            raise ProblemError(
                f"{file}: '{name}' would go from {seen[0]:.4g} to {seen[1]:.4g} degrees, and it can from "
                f"{seen[2]:.4g} to {seen[3]:.4g}: models count angles with different signs, give the one of "
                "the file, track_model='own.osim', or a table of names, track_names"
            )


def angles_of_markers(
    file: str, window: tuple[float, float] | None, names: str, model: str
) -> tuple[MotionTable, tuple[Name, ...]]:
    """Coordinates of a model that follows measured markers best, and which joints of ours they are."""
    if not model:
        raise OptionError(
            f"'{file}' has markers: give the model that has them, track_model='own.osim', or angles"
        )
    osim, markers = dynamics.load_osim(model), read_markers(file)
    if window is not None:
        markers = markers.around(*window)
    found = fit_markers(osim.robot, markers, osim.default_pose, frames=read_frames(names) if names else None)
    columns = dict(zip(found.joint_names, found.q.T, strict=True))
    return MotionTable(found.time, columns), names_of(matched_coordinates(osim))
