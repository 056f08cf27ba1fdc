"""The motion of a walk of a model of one's own, in the names, signs and zeros of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import dynamics
from problems.human.body.own_model import own_coordinates
from problems.human.gait.cycle import each_time_once, gait_cycle
from problems.human.motions.motion_file import TRANSLATIONS
from problems.human.opensim.storage import Storage
from trajopt.base.errors import ProblemError

if TYPE_CHECKING:
    from trajopt import Solution


def own_motion(solution: Solution, samples: int = 301) -> Storage:
    """All coordinates of the model of a walk over its gait cycle, degrees and metres, for `write_storage`.

    value in the file = sign q + zero (`problems.human.body.own_model`); coordinates that the walk holds have
    their default values, and those that follow from others are left out. `samples` times in each step, so
    that the file can be tracked again with the first step as `track_window`.

    Raises ProblemError for a walk of our skeleton, and what reading the model raises.
    """
    model = solution.recipe.parameters.get("model") if solution.recipe else ""
    if not model:
        raise ProblemError(
            f"{solution.name} is of our skeleton: problems.human.assessment.exports.export writes its motion"
        )
    cycle, plain = each_time_once(gait_cycle(solution, samples)), dynamics.load_osim(str(model))
    ours, columns = own_coordinates(plain, cycle.height), {}
    for name, default in zip(plain.robot.joint_names, plain.default_pose, strict=True):
        values = np.full(cycle.time.size, float(default))
        if name in ours and ours[name].name in cycle.joint_names:
            own = ours[name]
            values = own.sign * cycle.q[:, cycle.joint_names.index(own.name)] + own.zero
        columns[name] = values if name.endswith(TRANSLATIONS) else np.rad2deg(values)
    return Storage("Coordinates", cycle.time, columns, in_degrees=True)
