"""`view`: a motion as a page in three dimensions for browsers, or as a GIF or MP4."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
from problems.moves.view.film import MOST_FACES, write_motion
from problems.moves.view.page import page_of
from problems.moves.view.seen_motion import Pictures, SeenMotion, seen_motion
from problems.moves.view.solids import robot_solids, viewer_package
from trajopt.base.arguments import check_positive, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, UnknownNameError
from trajopt.base.files import whole_file
from trajopt.plot.animation import ENDINGS, film_writer, picture_count

PAGE = ".html"
FILM_RATE = 25  # pictures per second of a GIF or MP4
RATE = 60.0  # pictures per second of a page
FEWEST, MOST = 150, 2000  # pictures of a page


@dataclass(frozen=True, eq=False)
class View:
    """A file that shows a motion.

    size : bytes;   pictures : different poses in it
    drawn : what the robot is drawn by, "meshes", "shapes" or "lines";   missing : why meshes are not shown
    """

    path: Path
    size: int
    pictures: int
    drawn: str
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        missing = f"; {len(self.missing)} meshes are missing: {self.missing[0]}" if self.missing else ""
        return (
            f"{self.path}: {self.pictures} pictures, {self.size / 1e6:.2g} MB, the robot by its {self.drawn}"
            f"{missing}"
        )


def view(
    motion: Any,
    path: str | os.PathLike[str],
    *,
    scene: dynamics.Scene | None = None,
    urdf: str | os.PathLike[str] | None = None,
    folders: Iterable[str | os.PathLike[str]] = (),
    tools: Iterable[str] | None = None,
    rate: int | None = None,
    speed: float = 1.0,
) -> View:
    """Write a motion as one HTML file that needs no network (slider, playback, camera), or as GIF or MP4.

    Links are coloured by the share of the nearest limit that their joint uses, |2 x - l - u| / (u - l) of
    position, speed or torque x between l and u. Drawn are obstacles, loads, and the paths of tools.

    motion : what `Task.solve` or `retime` returns, or a solution of a robot, or of phases of one
    path : its name ends in .html, .gif or .mp4; a page needs the package viser, an MP4 the program ffmpeg
    scene : obstacles; None: those of the task, or those that the terms of the problem know
    urdf : file with the links' meshes, by <visual> elements, else by <collision> ones; None: that of the
        task's robot. folders : where meshes are looked for, see `dynamics.urdf_shapes`
    tools : frames whose paths are drawn; None: those of the task's goals, or the end point of `skeleton`
    rate : pictures per second; None: 25 of a GIF or MP4, else 60, and no fewer than 150
    speed : of the motion in a GIF or MP4, 0.2 shows it five times as slow; a page has a control for it

    A link without meshes is drawn by the shapes of the model; a robot without either by capsules between the
    frames of its joints. GIF and MP4 draw meshes coarser, and no half-spaces. Raises OptionError where viser
    or ffmpeg is missing, for a system without bodies, and for what is no motion; UnknownNameError for a
    frame; the errors of `urdf_shapes` for the URDF.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in (PAGE, *ENDINGS):
        raise OptionError(f"{target}: the name of a view ends in {PAGE}, .gif or .mp4")
    check_positive("rate", rate, optional=True)
    if ending != PAGE:
        return _film(
            motion, target, (scene, tools, urdf, folders), FILM_RATE if rate is None else rate, speed
        )
    if speed != 1.0:
        raise OptionError(f"speed is {speed}: a page is played at any speed; leave it out, or write a film")
    viewer_package("viser")
    seen = _with_given(seen_motion(motion, _times_at(rate)), scene, tools)
    robot = robot_solids(seen.model, seen.surroundings.urdf if urdf is None else urdf, folders)
    content = page_of(seen, robot).encode()
    with whole_file(target) as stream:
        stream.write(content)
    return View(target, len(content), len(seen.times), robot.drawn, robot.missing)


def _film(motion: Any, target: Path, given: tuple[Any, ...], rate: int, speed: float) -> View:
    """Write a GIF or MP4."""
    film_writer(target, rate)  # refuses what cannot be written before anything is computed

    def times(duration: float) -> Array:
        return np.linspace(0.0, duration, picture_count(duration, rate, speed))

    scene, tools, urdf, folders = given
    seen = _with_given(seen_motion(motion, times), scene, tools)
    robot = robot_solids(seen.model, seen.surroundings.urdf if urdf is None else urdf, folders, MOST_FACES)
    write_motion(seen, robot, target, rate)
    return View(target, target.stat().st_size, len(seen.times), robot.drawn, robot.missing)


def _with_given(seen: SeenMotion, scene: Any, tools: Iterable[str] | None) -> SeenMotion:
    """The motion with the caller's scene and tools, where they are given."""
    if scene is not None and not isinstance(scene, dynamics.Scene):
        raise OptionError(f"the scene is {short_repr(scene)}: give moves.Scene([moves.box(...)])")
    around = seen.surroundings if scene is None else replace(seen.surroundings, scene=scene)
    if tools is not None:
        around = replace(around, tools=tuple(_known(seen.model, tool) for tool in tools))
    return replace(seen, surroundings=around)


def _known(model: dynamics.RigidBodyModel, frame: Any) -> str:
    name = getattr(frame, "name", frame)
    try:
        model.frame(name)
    except dynamics.UnknownNameError as error:
        raise UnknownNameError(str(error)) from error
    return name


def _times_at(rate: int | None) -> Pictures:
    """The function that gives a page's times of pictures, evenly, for a duration."""

    def times(duration: float) -> Array:
        wanted = duration * (RATE if rate is None else rate)
        count = int(np.clip(np.ceil(wanted), FEWEST if rate is None else 1, MOST))
        return np.linspace(0.0, duration, count + 1)

    return times
