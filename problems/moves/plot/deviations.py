"""The figure of a replay: the largest deviation of a joint over time, a curve for each simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from trajopt.display.svg_chart import PALETTE
from trajopt.plot.canvas import legend_above, settings

if TYPE_CHECKING:
    from problems.moves.mujoco_replay import Replay


def deviations(replay: Replay) -> Figure:
    """The largest deviation of a joint over time, of every simulation."""
    with settings():
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axis = figure.add_subplot()
        for color, run in zip(PALETTE, replay.runs.values(), strict=False):
            size = np.abs(run.deviation).max(axis=1)
            axis.semilogy(run.times[1:], size[1:], color=color, label=f"{run.integrator}, {run.control}")
        axis.set_xlabel("t [s]")
        axis.set_ylabel("largest deviation of a joint [rad or m]")
        legend_above(axis)
    return figure
