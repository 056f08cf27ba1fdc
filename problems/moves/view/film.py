"""A motion of a robot as a GIF or MP4, drawn in three dimensions by matplotlib."""

from __future__ import annotations

import os

import numpy as np

from dynamics.model.shape import Shape
from problems.moves.view.limit_use import colour_of, rgb
from problems.moves.view.moving_solids import MovingSolid, moving_solids
from problems.moves.view.seen_motion import SeenMotion
from problems.moves.view.solids import RobotSolids, Solid, corners_of, solid_of
from problems.moves.view.surroundings import OBSTACLE
from trajopt.base.arrays import Array
from trajopt.plot.animation import film_writer, stage, write_pictures
from trajopt.plot.canvas import settings
from trajopt.plot.snapshots import SPACE, Around, Hull, Scene, views
from trajopt.terms.term import Capsule

DPI = 90
MOST_FACES = 800  # of a link's mesh
LONGEST = 0.1  # m, of a face's edge: larger faces are divided, as faces are drawn by their distance
LIGHT = np.array([0.4, -0.5, 0.77])  # the direction that light comes from
DARKEST = 0.55  # of a colour's brightness, of faces along the light
SEEN_THROUGH = 0.35  # opacity of obstacles


def write_motion(motion: SeenMotion, robot: RobotSolids, path: str | os.PathLike[str], rate: int) -> None:
    """Write a film of the motion in space: solids of the robot and its loads, obstacles, the tool's path."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    scene, faces = scene_of(motion), Faces(motion, robot)
    with settings():
        figure, space = stage(scene, SPACE, around=())
        drawn = Poly3DCollection(faces.at(0)[0], zorder=4, linewidths=0.0)
        space.add_collection3d(drawn)

        def show(picture: int) -> None:
            triangles, colours = faces.at(picture)
            drawn.set_verts(triangles)
            drawn.set_facecolor(colours)

        write_pictures(figure, space, scene.times, path, film_writer(path, rate), DPI, show)


class Faces:
    """Triangles of all solids of a motion, with their colours, picture by picture."""

    def __init__(self, motion: SeenMotion, robot: RobotSolids) -> None:
        self.moving = moving_solids(motion, robot)
        self.own = [triangles_of(each.solid) for each in self.moving]
        fixed = [(solid, colour_of(np.nan), 1.0) for solid in robot.solids if solid.carrier is None]
        shapes = [each for each in motion.surroundings.scene.shapes if each.kind != "half_space"]
        fixed += [(solid_of(shape), rgb(OBSTACLE), SEEN_THROUGH) for shape in shapes]
        self.still = [(triangles_of(solid), colour, alpha) for solid, colour, alpha in fixed]

    def at(self, picture: int) -> tuple[Array, Array]:
        """(m, 3, 3) m in world axes, and (m, 4) red, green, blue and opacity, 0 to 1."""
        moved = [self._moved(each, own, picture) for each, own in zip(self.moving, self.own, strict=True)]
        triangles = [each for each, *_ in (*moved, *self.still)]
        colours = [shaded(*each) for each in (*moved, *self.still)]
        return np.concatenate(triangles), np.concatenate(colours)

    @staticmethod
    def _moved(each: MovingSolid, own: Array, picture: int) -> tuple[Array, Array, float]:
        placed = own @ each.rotation[picture].T + each.position[picture]
        return placed, each.colours[picture], 1.0


def triangles_of(solid: Solid) -> Array:
    """(m, 3, 3) m, of edges no longer than LONGEST: longer ones are halved."""
    found = solid.vertices[solid.faces]
    while True:
        edges = np.linalg.norm(np.roll(found, -1, axis=1) - found, axis=2)
        large = edges.max(axis=1) > LONGEST
        if not large.any():
            return found
        first = edges[large].argmax(axis=1)[:, None]
        order = ((first + np.arange(3)) % 3)[..., None]  # the longest edge first
        a, b, c = np.moveaxis(np.take_along_axis(found[large], order, axis=1), 1, 0)
        middle = 0.5 * (a + b)
        halves = [np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)]
        found = np.concatenate([found[~large], *halves])


def shaded(triangles: Array, colour: Array | tuple[int, int, int], alpha: float) -> Array:
    """Colours (m, 4) of faces, darker where they turn away from the light; of either side."""
    a, b, c = np.moveaxis(triangles, 1, 0)
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=1)
    facing = np.abs(normal @ LIGHT) / np.where(size > 0.0, size, 1.0)
    brightness = DARKEST + (1.0 - DARKEST) * np.minimum(facing, 1.0)
    return np.column_stack([brightness[:, None] * np.asarray(colour) / 255.0, np.full(len(a), alpha)])


def scene_of(motion: SeenMotion) -> Scene:
    """Lines for links and loads; obstacles, and the path of the first tool."""
    links = motion.model.skeleton(motion.q)
    lines = [links]
    for shape, segments in motion.loads:
        rotation, position = motion.carried_poses(shape, segments)
        ends = np.array(axis_ends(shape))
        lines.append((np.einsum("kij,ej->kei", rotation, ends) + position[:, None])[:, None])
    along = next(iter(motion.tool_paths().values()))
    around = [each for shape in motion.surroundings.scene.shapes for each in drawn_obstacle(shape)]
    planes = views(links, motion.model.gravity)
    return Scene(motion.times, np.concatenate(lines, axis=1), along, around, planes)


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
    """Drawn form of an obstacle; nothing for a half-space, as it would fill the picture."""
    if shape.kind in ("sphere", "capsule"):
        low, high = (tuple(axis_end.tolist()) for axis_end in axis_ends(shape))
        return [Capsule(low, high, float(shape.size[0]))]
    if shape.kind == "point_cloud":
        placed = shape.points @ shape.rotation.T + shape.position
        return [Capsule(place, place, float(shape.size[0])) for place in map(tuple, placed.tolist())]
    if shape.kind == "half_space":
        return []
    return [Hull(corners_of(shape))]
