"""The shapes of a robot and of a scene as flat arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dynamics.errors import ModelError
from dynamics.kernels.distances import BOX, CLOUD, CYLINDER, HALF_SPACE, HULL, SEGMENT
from dynamics.model.packed_model import BASIS
from dynamics.model.scene import Scene
from dynamics.model.shape import Shape

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

NUMBERS = {
    "sphere": SEGMENT,
    "capsule": SEGMENT,
    "box": BOX,
    "cylinder": CYLINDER,
    "half_space": HALF_SPACE,
    "point_cloud": CLOUD,
    "hull": HULL,
}
ROUND = 8  # sides of the prism about a cylinder
MANY = 32  # corners of a hull, above which those of a box about it stand for them
CUBE = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T


@dataclass(frozen=True, eq=False)
class PackedShapes:
    """Solids in the axes of a body or of the world.

    kind : (s,); size : (s, 3) m, a box's half sides, a cylinder's radius and half length, half the length of
        a capsule's axis; radius : (s,) m, that spheres, capsules, points and hulls add
    axes : (s, 12) columns of the rotation, then the origin, inside the solid
    extent : (s,) m, radius of a ball about the origin that holds it, infinite of a half-space
    points : (p, 3) of clouds, in outer axes, and of hulls, in their own; span : (s, 2) which are a solid's
    """

    kind: np.ndarray
    size: np.ndarray
    radius: np.ndarray
    axes: np.ndarray
    extent: np.ndarray
    points: np.ndarray
    span: np.ndarray
    names: tuple[str, ...]

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Arguments of kernels: kind, size, radius, axes, extent, points, span."""
        return self.kind, self.size, self.radius, self.axes, self.extent, self.points, self.span


@dataclass(frozen=True, eq=False)
class RobotShapes:
    """The shapes of a robot on the bodies of its packed model.

    body : (s,) row of the packed model; shapes : in the axes of the body
    carriers : (s,) link or frame, "" for the ground
    corners : (c, 3) m in the axes of the body, whose hull holds the cores, which `radius` is around
    first : (s + 1,) which corners are a shape's
    """

    body: np.ndarray
    shapes: PackedShapes
    carriers: tuple[str, ...]
    corners: np.ndarray
    first: np.ndarray


def robot_shapes(model: KinematicTree) -> RobotShapes:
    """The robot's shapes; points of clouds are spheres. Raises ModelError for a half-space on a robot."""
    parts, bodies = [], []
    for shape in model.shapes:
        body, place = carrier_place(model, shape.carrier)
        for part in convex_parts(shape):
            parts.append(part.moved(place[:, :3], place[:, 3]))
            bodies.append(body)
    packed = packed_shapes(parts)
    corners = [corners_of(packed, index) for index in range(len(parts))]
    first = np.cumsum([0, *map(len, corners)])
    return RobotShapes(
        np.array(bodies, np.int64),
        packed,
        tuple(part.carrier or "" for part in parts),
        np.concatenate([np.empty((0, 3)), *corners]),
        first.astype(np.int64),
    )


def carrier_place(model: KinematicTree, carrier: str | None) -> tuple[int, np.ndarray]:
    """Row of the packed body that carries a link or frame, and its pose (3, 4) in the axes of that body."""
    if carrier is None:
        return 0, np.eye(3, 4)
    frame, packed = model.frame(carrier), model.packed
    body = 0 if frame.body is None else int(packed.body_of_link[model.link_index(frame.body)])
    basis = packed.numbers[body, BASIS:].reshape(3, 3)  # from body axes to link axes
    return body, basis.T @ np.column_stack([frame.rotation, frame.position])


def convex_parts(shape: Shape) -> tuple[Shape, ...]:
    """The convex shapes that a shape on a robot is made of: itself, or the balls of a cloud."""
    if shape.kind == "half_space":
        raise ModelError(f"{shape!r} is on a robot; half-spaces stand in scenes: give the robot a box")
    if shape.kind != "point_cloud":
        return (shape,)
    radius = float(shape.size[0])
    placed = shape.points @ shape.rotation.T + shape.position
    return tuple(Shape("sphere", (radius,), shape.rotation, p, shape.carrier, shape.name) for p in placed)


def scene_shapes(scene: Scene) -> PackedShapes:
    """The shapes of a scene as arrays."""
    return packed_shapes(scene.shapes)


def packed_shapes(shapes: Iterable[Shape]) -> PackedShapes:
    """Shapes as arrays, in the axes in which their poses are given."""
    given = tuple(shapes)
    count = len(given)
    size, radius, axes, extent = np.zeros((count, 3)), np.zeros(count), np.zeros((count, 12)), np.zeros(count)
    points: list[np.ndarray] = [np.empty((0, 3))]
    span = np.zeros((count, 2), np.int64)
    for index, shape in enumerate(given):
        centre, reach = shape.position, math.inf
        if shape.kind == "box":
            size[index], reach = 0.5 * shape.size, 0.5 * float(np.linalg.norm(shape.size))
        elif shape.kind == "cylinder":
            size[index, :2] = shape.size[0], 0.5 * shape.size[1]
            reach = math.hypot(*size[index, :2])
        elif shape.kind != "half_space":
            radius[index] = shape.size[0]
            if shape.kind in ("sphere", "capsule"):
                size[index, 0] = 0.5 * shape.size[1] if shape.kind == "capsule" else 0.0
                reach = float(size[index, 0])
            else:
                own, centre = _points_of(shape)
                begin = sum(map(len, points))
                span[index] = begin, begin + len(own)
                points.append(own)
                about = own if shape.kind == "hull" else own - centre
                reach = float(np.linalg.norm(about, axis=1).max())
            reach += radius[index]
        axes[index] = np.concatenate([shape.rotation.T.ravel(), centre])
        extent[index] = reach
    kind = np.array([NUMBERS[shape.kind] for shape in given], np.int64)
    names = tuple(shape.name or f"{shape.kind} {number}" for number, shape in enumerate(given))
    return PackedShapes(kind, size, radius, axes, extent, np.concatenate(points), span, names)


def _points_of(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Points and the origin of a cloud, in outer axes, or of a hull, its corners about a point inside."""
    if shape.kind == "point_cloud":
        placed = shape.points @ shape.rotation.T + shape.position
        return placed, 0.5 * (placed.min(axis=0) + placed.max(axis=0))
    corners = hull_corners(shape.points)
    middle = corners.mean(axis=0)
    return corners - middle, shape.rotation @ middle + shape.position


def hull_corners(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points (m, 3); all points where they lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[np.sort(ConvexHull(points).vertices)]
    except (QhullError, ValueError):
        return np.unique(points, axis=0)


def corners_of(packed: PackedShapes, index: int) -> np.ndarray:
    """Points (c, 3), in outer axes, whose hull holds the core of a convex solid."""
    kind, size = int(packed.kind[index]), packed.size[index]
    turn, place = packed.axes[index, :9].reshape(3, 3), packed.axes[index, 9:]
    if kind == BOX:
        own = CUBE * size
    elif kind == CYLINDER:
        angle = 2.0 * math.pi * np.arange(ROUND) / ROUND
        ring = size[0] / math.cos(math.pi / ROUND) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        own = np.concatenate([np.insert(ring, 2, side * size[1], axis=1) for side in (-1.0, 1.0)])
    elif kind == HULL:
        own = packed.points[slice(*packed.span[index])]
        if len(own) > MANY:
            axes = np.linalg.svd(own, full_matrices=False)[2]
            low, high = (own @ axes.T).min(axis=0), (own @ axes.T).max(axis=0)
            own = (0.5 * (low + high) + CUBE * 0.5 * (high - low)) @ axes
    else:
        own = np.array([[0.0, 0.0, -size[0]], [0.0, 0.0, size[0]]])
    return own @ turn + place
