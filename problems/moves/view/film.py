"""A motion of a robot as a GIF or MP4, drawn in three dimensions by matplotlib."""

from __future__ import annotations

import itertools
import os

import numpy as np

from dynamics.model.shape import Shape
from dynamics.quantities.kinematics import skeleton_ends
from problems.moves.view.limit_use import colour_of, rgb
from problems.moves.view.seen_motion import SeenMotion
from problems.moves.view.solids import ROUND
from problems.moves.view.surroundings import LOAD
from trajopt.base.arrays import Array
from trajopt.plot.animation import film_writer, write_scene
from trajopt.plot.scenery import Around, Hull
from trajopt.plot.snapshots import SPACE, Scene, views
from trajopt.terms.scene import Capsule

DPI = 90


def write_motion(motion: SeenMotion, path: str | os.PathLike[str], rate: int) -> None:
    """Write a film of the motion in space."""
    write_scene(scene_of(motion), path, film_writer(path, rate), DPI, SPACE)


def scene_of(motion: SeenMotion) -> Scene:
    """Lines for links and loads, coloured as on the page; obstacles, and the path of the first tool."""
    links = motion.model.skeleton(motion.q)
    lines, colours = [links], [_link_colours(motion)]
    for shape, stretches in motion.loads:
        rotation, position = motion.carried_poses(shape, stretches)
        ends = np.array(axis_ends(shape))
        lines.append((np.einsum("kij,ej->kei", rotation, ends) + position[:, None])[:, None])
        colours.append(np.broadcast_to(np.array(rgb(LOAD)) / 255.0, (len(motion.times), 1, 3)))
    along = next(iter(motion.tool_paths().values()))
    around = [each for shape in motion.surroundings.scene.shapes for each in drawn_obstacle(shape)]
    planes = views(links, motion.model.gravity)
    segments, shades = np.concatenate(lines, axis=1), np.concatenate(colours, axis=1)
    return Scene(motion.times, segments, along, around, planes, shades)


def _link_colours(motion: SeenMotion) -> Array:
    """(k, segments, 3) from 0 to 1."""
    joints = motion.model.coordinate[[link for link, _ in skeleton_ends(motion.model)]]
    shades = np.array([[colour_of(share) for share in row] for row in motion.shares.tolist()])
    return shades[:, joints] / 255.0


def axis_ends(shape: Shape) -> tuple[Array, Array]:
    """Ends of a shape's axis, (3,) m each, in axes of its carrier; a box has one along its longest side."""
    half = np.zeros(3)
    if shape.kind == "box":
        longest = int(np.argmax(shape.size))
        half[longest] = 0.5 * shape.size[longest]
    elif shape.kind in ("capsule", "cylinder"):
        half[2] = 0.5 * shape.size[1]
    reach = shape.rotation @ half
    return shape.position - reach, shape.position + reach


def drawn_obstacle(shape: Shape) -> list[Around]:
    """What is drawn of an obstacle; nothing of a half-space, as it would fill the picture."""
    if shape.kind in ("sphere", "capsule"):
        low, high = (tuple(each.tolist()) for each in axis_ends(shape))
        return [Capsule(low, high, float(shape.size[0]))]
    if shape.kind == "point_cloud":
        placed = shape.points @ shape.rotation.T + shape.position
        return [Capsule(place, place, float(shape.size[0])) for place in map(tuple, placed.tolist())]
    if shape.kind == "half_space":
        return []
    if shape.kind == "box":
        corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * shape.size
    else:
        angle = 2.0 * np.pi * np.arange(ROUND) / ROUND
        rim = float(shape.size[0]) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        ends = [np.column_stack([rim, np.full(ROUND, z * float(shape.size[1]))]) for z in (-0.5, 0.5)]
        corners = np.concatenate(ends)
    return [Hull(corners @ shape.rotation.T + shape.position)]
