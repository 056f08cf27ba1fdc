"""The figure of a motion in space: the robot with its loads at even times, the tool's path, obstacles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from problems.moves.view.film import scene_of
from problems.moves.view.seen_motion import seen_motion
from trajopt.base.arguments import check_count
from trajopt.plot.canvas import SAMPLES
from trajopt.plot.snapshots import SNAPSHOTS, draw_scene


def snapshots(motion: Any, count: int = SNAPSHOTS) -> Figure:
    """A motion, or a solution of a robot, at `count` times: light at the start, dark at the end.

    Raises OptionError for fewer than two, and as `moves.view` does.
    """
    check_count("count", count, 2)
    path = scene_of(seen_motion(motion, lambda duration: np.linspace(0.0, duration, SAMPLES))).path
    seen = seen_motion(motion, lambda duration: np.linspace(0.0, duration, count))
    return draw_scene(replace(scene_of(seen), path=path), "space")
