"""A motion as a GIF or MP4: the robot moves at natural speed along the path of its end point."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from trajopt.base.arguments import check_choice, check_count, check_positive
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.display.svg_chart import PALETTE
from trajopt.plot.canvas import AnyAxes, Style, check_solution, settings
from trajopt.plot.snapshots import (
    SPACE,
    VIEWS,
    Around,
    Plane,
    Scene,
    draw_surroundings,
    fit_box,
    scene_of_motion,
)
from trajopt.solution.solution import Answer

ENDINGS = ".gif", ".mp4"
EVEN = ("-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p")  # sizes and colours of all players


def animate(
    solution: Answer,
    path: str | os.PathLike[str],
    *,
    rate: int = 25,
    speed: float = 1.0,
    dpi: int = 100,
    view: str = "planes",
) -> None:
    """Write the motion as a GIF that repeats, or as an MP4, in the plane that `motion` draws first.

    rate : pictures per second; of a GIF 10, 20, 25 and 50 run true
    speed : of the motion; 0.2 shows it five times as slow
    view : "planes", or "space" for three dimensions
    Raises OptionError for another ending than .gif and .mp4, numbers that give fewer than two pictures, a
    dynamics without `skeleton(q)`, and for an MP4 where the program ffmpeg is missing.
    """
    check_solution(solution)
    writer = film_writer(path, rate)
    check_choice("view", view, VIEWS)
    scene = scene_of_motion(solution, picture_count(solution.duration, rate, speed))
    write_scene(scene, path, writer, dpi, scene.planes[0] if view == VIEWS[0] else SPACE)


def film_writer(path: str | os.PathLike[str], rate: int) -> AbstractMovieWriter:
    """The writer of a film of this name, at `rate` pictures per second; OptionError, see `animate`."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise OptionError(f"{os.fspath(path)} is no GIF or MP4: give a name that ends in .gif or .mp4")
    check_count("rate", rate, 1, 100)  # pictures per second: a GIF knows hundredths of a second
    if ending == ENDINGS[0]:
        return PillowWriter(fps=rate)
    if not FFMpegWriter.isAvailable():
        raise OptionError(
            f"{os.fspath(path)} needs the program ffmpeg, which is not installed here: install it by the "
            "system's package manager, or give a name that ends in .gif"
        )
    return FFMpegWriter(fps=rate, extra_args=list(EVEN))


def picture_count(duration: float, rate: int, speed: float = 1.0) -> int:
    """Pictures of a motion, both ends included; OptionError for fewer than two."""
    check_positive("speed", speed)
    count = round(rate * duration / speed) + 1
    if count < 2:
        raise OptionError(
            f"{rate} pictures per second are {count} of this motion of {duration:.3g} s: give a "
            "larger rate or a lower speed"
        )
    return count


def write_film(
    figure: Figure,
    path: str | os.PathLike[str],
    writer: AbstractMovieWriter,
    dpi: int,
    draw: Iterable[Callable[[], None]],
) -> None:
    """Write a film: a picture of the figure after each of the calls."""
    with writer.saving(figure, os.fspath(path), dpi):
        for each in draw:
            each()
            writer.grab_frame()


def write_scene(
    scene: Scene, path: str | os.PathLike[str], writer: AbstractMovieWriter, dpi: int, plane: Plane
) -> None:
    """A film of a scene in a plane or in space."""
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    style: Style = {"colors": [PALETTE[0]], "linewidths": 3.0, "capstyle": "round", "zorder": 4}
    with settings():
        figure, axis = stage(scene, plane, scene.around)
        if plane == SPACE:
            links: LineCollection = axis.add_collection3d(Line3DCollection(np.zeros((1, 2, 3)), **style))
        else:
            links = axis.add_collection(LineCollection([], **style), autolim=False)

        def show(picture: int) -> None:
            links.set_segments(list(scene.lines[picture][..., list(plane)]))

        write_pictures(figure, axis, scene.times, path, writer, dpi, show)


def write_pictures(
    figure: Figure,
    axis: AnyAxes,
    times: Array,
    path: str | os.PathLike[str],
    writer: AbstractMovieWriter,
    dpi: int,
    show: Callable[[int], None],
) -> None:
    """A film of what `show` draws of every picture, with the time; the last one stays for half a second."""
    clock = axis.set_title("", loc="right")

    def drawn(picture: int) -> None:
        show(picture)
        clock.set_text(f"t = {times[picture]:.2f} s")

    last = len(times) - 1
    pictures = [*range(last + 1), *[last] * (int(writer.fps) // 2)]
    write_film(figure, path, writer, dpi, (partial(drawn, picture) for picture in pictures))


def stage(scene: Scene, plane: Plane, around: Sequence[Around]) -> tuple[Figure, AnyAxes]:
    """A figure with all that stands still, and its axis, in which the whole scene has its place."""
    figure = Figure(figsize=scene.size(plane), layout="constrained")
    axis: AnyAxes = figure.add_subplot(projection="3d" if plane == SPACE else None)
    draw_surroundings(axis, replace(scene, around=around), plane)
    if plane == SPACE:
        fit_box(axis, scene)
        return figure, axis
    axis.update_datalim(scene.points[:, plane])
    axis.autoscale_view()
    axis.set_aspect("equal", adjustable="box")
    return figure, axis
