"""A motion as a GIF: the robot moves at natural speed along the path of its end point."""

from __future__ import annotations

import os
from typing import Any

from matplotlib.animation import PillowWriter
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from trajopt.base.arguments import check_count, check_positive
from trajopt.base.errors import OptionError
from trajopt.base.palette import PALETTE
from trajopt.plot.canvas import check_solution
from trajopt.plot.snapshots import Scene, draw_surroundings, scene_of_motion
from trajopt.plot.style import settings
from trajopt.solution.solution import Answer

ENDING = ".gif"
FASTEST = 100  # pictures per second: the format knows hundredths of a second


def animate(
    solution: Answer,
    path: str | os.PathLike[str],
    *,
    rate: int = 25,
    speed: float = 1.0,
    dpi: int = 100,
) -> None:
    """Write the motion as a GIF that repeats, in the plane that `motion` draws first.

    rate : pictures per second; 10, 20, 25 and 50 run true
    speed : of the motion; 0.2 shows it five times as slow
    Raises OptionError for another ending than .gif, numbers that give fewer than two pictures, and a dynamics
    without `skeleton(q)`.
    """
    check_solution(solution)
    if not os.fspath(path).endswith(ENDING):
        raise OptionError(f"{os.fspath(path)} is no GIF: give a name that ends in {ENDING}")
    check_positive("speed", speed)
    check_count("rate", rate, 1, FASTEST)
    count = round(rate * solution.duration / speed) + 1
    if count < 2:
        raise OptionError(
            f"{rate} pictures per second are {count} of this motion of {solution.duration:.3g} s: give a "
            "larger rate or a lower speed"
        )
    scene = scene_of_motion(solution, count)
    writer = PillowWriter(fps=rate)
    with settings():
        figure, links, clock = _stage(scene)
        with writer.saving(figure, os.fspath(path), dpi):
            for time, posture in zip(scene.times, scene.lines, strict=True):
                links.set_segments(list(posture[..., scene.planes[0]]))
                clock.set_text(f"t = {time:.2f} s")
                writer.grab_frame()
            for _ in range(rate // 2):  # the last picture stays half a second
                writer.grab_frame()


def _stage(scene: Scene) -> tuple[Figure, LineCollection, Any]:
    """The figure with all that stands still, and what moves in it: the links, and the title with the time."""
    plane = scene.planes[0]
    figure = Figure(figsize=scene.size(plane), layout="constrained")
    axis = figure.add_subplot()
    draw_surroundings(axis, scene, plane)
    links = LineCollection([], colors=[PALETTE[0]], linewidths=3.0, capstyle="round", zorder=4)
    axis.add_collection(links)
    axis.update_datalim(scene.points[:, plane])
    axis.autoscale_view()
    axis.set_aspect("equal", adjustable="box")
    return figure, links, axis.set_title("", loc="right")
