"""The shapes of a robot and of a scene as flat arrays.

The robot's shapes become segments with a radius: spheres and capsules are such, boxes and cylinders are
covered by capsules (`covering_capsules`). Those of the scene stay what they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dynamics.errors import ModelError
from dynamics.kernels.distances import BOX, CLOUD, CYLINDER, HALF_SPACE, SEGMENT
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
}


@dataclass(frozen=True, eq=False)
class PackedSegments:
    """Segments with a radius on the bodies of a packed model, in the axes of the body.

    body : (s,) row of the packed model; ends : (s, 6) m, both ends; radius : (s,) m
    carriers, names : (s,) link or frame, "" for the ground, and a name for messages
    """

    body: np.ndarray
    ends: np.ndarray
    radius: np.ndarray
    carriers: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PackedSolids:
    """Solids in the world.

    kind : (o,); size : (o, 3) m, a box's half sides, a cylinder's radius and half length; radius : (o,) m,
        that spheres, capsules and points add; axes : (o, 12) columns of the rotation, then the origin; of a
        segment both ends instead, in its first six
    ball : (o, 4) centre and radius of a ball around, infinite of a half-space
    points : (p, 3) of all clouds, span : (o, 2) which of them are a solid's
    """

    kind: np.ndarray
    size: np.ndarray
    radius: np.ndarray
    axes: np.ndarray
    ball: np.ndarray
    points: np.ndarray
    span: np.ndarray
    names: tuple[str, ...]


def packed_segments(model: KinematicTree) -> PackedSegments:
    """The robot's shapes as segments. Raises ModelError for a half-space on a robot."""
    rows = []
    for number, shape in enumerate(model.shapes):
        body, place = carrier_place(model, shape.carrier)
        for part in covering_capsules(shape):
            moved = part.moved(place[:, :3], place[:, 3])
            half = 0.5 * segment_length(moved) * moved.rotation[:, 2]
            ends = np.concatenate([moved.position - half, moved.position + half])
            rows.append(
                (body, ends, float(moved.size[0]), shape.carrier or "", shape.name or f"shape {number}")
            )
    if not rows:
        return PackedSegments(np.empty(0, np.int64), np.empty((0, 6)), np.empty(0), (), ())
    body, ends, radius, carriers, names = zip(*rows, strict=True)
    return PackedSegments(np.array(body, np.int64), np.array(ends), np.array(radius), carriers, names)


def carrier_place(model: KinematicTree, carrier: str | None) -> tuple[int, np.ndarray]:
    """Row of the packed body that carries a link or frame, and its pose (3, 4) in the axes of that body."""
    if carrier is None:
        return 0, np.eye(3, 4)
    frame, packed = model.frame(carrier), model.packed
    body = 0 if frame.body is None else int(packed.body_of_link[model.link_index(frame.body)])
    basis = packed.numbers[body, BASIS:].reshape(3, 3)  # from body axes to link axes
    return body, basis.T @ np.column_stack([frame.rotation, frame.position])


def segment_length(shape: Shape) -> float:
    return float(shape.size[1]) if shape.kind == "capsule" else 0.0


def covering_capsules(shape: Shape) -> tuple[Shape, ...]:
    """Spheres and capsules that cover a shape on a robot: itself where it is one.

    A cylinder becomes one capsule of its radius, a box parallel capsules along its longest side, as many as
    make their cross-sections nearly square; both reach beyond the ends by their radius.
    """
    if shape.kind in ("sphere", "capsule"):
        return (shape,)
    if shape.kind == "cylinder":
        return (replace(shape, kind="capsule"),)
    if shape.kind == "point_cloud":
        radius = float(shape.size[0])
        placed = shape.points @ shape.rotation.T + shape.position
        return tuple(Shape("sphere", (radius,), shape.rotation, p, shape.carrier, shape.name) for p in placed)
    if shape.kind == "half_space":
        raise ModelError(f"{shape!r} is on a robot; half-spaces stand in scenes: give the robot a box")
    first, second, longest = np.argsort(shape.size, kind="stable").tolist()
    rows = max(1, round(float(shape.size[second] / shape.size[first])))
    width = float(shape.size[second]) / rows
    radius = 0.5 * math.hypot(float(shape.size[first]), width)
    axes = np.eye(3)[:, [first, second, longest]]
    axes[:, 0] *= np.linalg.det(axes)
    found = []
    for row in range(rows):
        middle = np.zeros(3)
        middle[second] = (row + 0.5) * width - 0.5 * shape.size[second]
        part = Shape("capsule", (radius, float(shape.size[longest])), axes, middle, shape.carrier, shape.name)
        found.append(part.moved(shape.rotation, shape.position))
    return tuple(found)


def packed_solids(scene: Scene) -> PackedSolids:
    """The shapes of a scene as arrays."""
    count = len(scene.shapes)
    size, radius, axes, ball = (
        np.zeros((count, 3)),
        np.zeros(count),
        np.zeros((count, 12)),
        np.zeros((count, 4)),
    )
    points: list[np.ndarray] = []
    span = np.zeros((count, 2), np.int64)
    for index, shape in enumerate(scene.shapes):
        axes[index] = np.concatenate([shape.rotation.T.ravel(), shape.position])
        centre, reach = shape.position, math.inf
        if shape.kind == "box":
            size[index], reach = 0.5 * shape.size, 0.5 * float(np.linalg.norm(shape.size))
        elif shape.kind == "cylinder":
            size[index, :2] = shape.size[0], 0.5 * shape.size[1]
            reach = math.hypot(*size[index, :2])
        elif shape.kind in ("sphere", "capsule"):
            half = 0.5 * segment_length(shape) * shape.rotation[:, 2]
            axes[index, :6] = np.concatenate([shape.position - half, shape.position + half])
            radius[index] = shape.size[0]
            reach = float(np.linalg.norm(half)) + radius[index]
        elif shape.kind == "point_cloud":
            placed = shape.points @ shape.rotation.T + shape.position
            first = sum(map(len, points))
            span[index], radius[index] = (first, first + len(placed)), shape.size[0]
            points.append(placed)
            centre = 0.5 * (placed.min(axis=0) + placed.max(axis=0))
            reach = float(np.linalg.norm(placed - centre, axis=1).max()) + radius[index]
        ball[index] = [*centre, reach]
    kind = np.array([NUMBERS[shape.kind] for shape in scene.shapes], np.int64)
    cloud = np.concatenate(points) if points else np.empty((0, 3))
    return PackedSolids(kind, size, radius, axes, ball, cloud, span, scene.names)
