"""Objects that a picture of a motion shows beside the robot: obstacles, loads on their way, tool paths."""

from __future__ import annotations

import os
from dataclasses import dataclass

import dynamics
from trajopt.display.svg_chart import PALETTE

LOAD, PATH = PALETTE[2], PALETTE[0]  # colours of loads and of paths of tools, in films and on pages
OBSTACLE = "#A899A3"


@dataclass(frozen=True, eq=False)
class MotionSegment:
    """A part of a motion, from `begin` to `end`, s, with the robot and what it carries then."""

    model: dynamics.RigidBodyModel
    begin: float
    end: float


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Objects and paths beside the curves of a motion.

    segments : one after the other; shapes that only some of their models have are loads
    scene : obstacles
    tools : frames whose paths are drawn; empty: the path of the end point, or the centre of a floating robot
    urdf : file or text with the links' meshes; None: none is known
    """

    segments: tuple[MotionSegment, ...]
    scene: dynamics.Scene
    tools: tuple[str, ...] = ()
    urdf: str | os.PathLike[str] | None = None
