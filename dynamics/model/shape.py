"""Shapes of robots and of what stands around them: spheres, capsules, boxes, cylinders, hulls, half-spaces.

Every shape has a pose, x_carrier = rotation x_shape + position; its carrier is a link or frame of a robot, or
the world. The axis of capsules and cylinders is z, and their origin is their middle.
"""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import real_array, short_repr
from dynamics.errors import JointError, ModelError, ShapeError
from dynamics.model.array_field import ArrayField, new_array
from dynamics.model.checks.validation import checked_reference, finite_array, rotation_matrix
from dynamics.model.rotation import about_axis

#: kind -> what its size holds, m
KINDS = MappingProxyType(
    {
        "sphere": ("radius",),
        "capsule": ("radius", "length"),
        "cylinder": ("radius", "length"),
        "box": ("x", "y", "z"),
        "half_space": (),
        "point_cloud": ("radius",),
        "hull": ("radius",),
    }
)
MAY_BE_ZERO = ("length",)  # a capsule of length zero is a sphere
OF_POINTS = "point_cloud", "hull"  # a radius of zero is one
# A cloud is computed with point by point: 5000 points on 59 spheres at 80 nodes are 24 million distances.
MOST_POINTS = 5000
ROUNDED = 0.05  # as far as the length of a quaternion of a few digits is from one
WHOLE_TURN = 2.0 * np.pi * (1.0 + 1e-6)  # rad, of angles given as 6.28319, too


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid with a pose on a link or frame of a robot, or in the world.

    kind : "sphere", "capsule", "box", "cylinder", "half_space", "point_cloud" or "hull"
    size : m; sphere (radius,); capsule and cylinder (radius, length), a capsule's length being that of its
        axis between the centres of its half spheres; box (x, y, z), full sides; half_space (), solid where
        z <= 0 of its own axes; point_cloud (radius,), balls of that radius about the points; hull (radius,),
        all within that radius of the convex hull of the points
    rotation, position : (3, 3) and (3,) m, axes and origin in those of the carrier
    carrier : name of the link or frame that the shape is fixed to, None = the world
    name : for messages and files
    points : (m, 3) m, of a point cloud or hull, at most 5000; empty otherwise

    `sphere`, `capsule` and their siblings make one. Raises ModelError, ShapeError, JointError (rotation).
    """

    kind: str
    size: ArrayField
    rotation: ArrayField = field(default_factory=new_array(np.eye(3)))
    position: ArrayField = field(default_factory=new_array((0.0, 0.0, 0.0)))
    carrier: str | None = None
    name: str = ""
    points: ArrayField = field(default_factory=new_array(np.empty((0, 3))))

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise ModelError(
                f"the kind of a shape is {short_repr(self.kind)}; it is one of {', '.join(KINDS)}"
            )
        if not isinstance(self.name, str):
            raise ModelError(f"the name of a {self.kind} is {short_repr(self.name)}; give a string")
        what = f"{self.kind} {self.name!r}:" if self.name else f"a {self.kind}'s"
        checked_reference(self.carrier, f"{what} carrier")
        size = finite_array(self.size, (len(KINDS[self.kind]),), f"{what} size")
        for label, value in zip(KINDS[self.kind], size.tolist(), strict=True):
            if value < 0.0 or (value == 0.0 and label not in MAY_BE_ZERO and self.kind not in OF_POINTS):
                raise ShapeError(f"{what} {label} is {value} m; give a length above zero")
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "rotation", rotation_matrix(self.rotation, f"{what} rotation"))
        object.__setattr__(self, "position", finite_array(self.position, (3,), f"{what} position"))
        object.__setattr__(self, "points", self._checked_points(what))

    def _checked_points(self, what: str) -> np.ndarray:
        given = real_array(self.points, f"{what} points")
        points = finite_array(given, (len(given) if given.ndim else 0, 3), f"{what} points")
        if (self.kind in OF_POINTS) != (len(points) > 0):
            wanted = "at least one point" if self.kind in OF_POINTS else "none, it is no cloud"
            raise ShapeError(f"{what} points are {len(points)}; give {wanted}")
        if len(points) > MOST_POINTS:
            raise ShapeError(
                f"{what} points are {len(points)}; at most {MOST_POINTS} are computed with: thin the cloud "
                "to one point per cell of a grid, and make radius half a cell's diagonal"
            )
        return points

    def on(self, carrier: str | None) -> Shape:
        """The same shape on another link or frame, at the same pose relative to it."""
        return replace(self, carrier=carrier)

    def moved(self, rotation: np.ndarray, position: np.ndarray) -> Shape:
        """The same shape seen from axes in which its present ones have this rotation and position."""
        return replace(self, rotation=rotation @ self.rotation, position=rotation @ self.position + position)

    def __repr__(self) -> str:
        of = f" {self.name!r}" if self.name else ""
        points = f" of {len(self.points)} points" if len(self.points) else ""
        return f"<{self.kind}{of}{points}, size {self.size.tolist()} m, on {self.carrier or 'the world'}>"


def sphere(
    radius: float, at: ArrayLike = (0.0, 0.0, 0.0), name: str = "", carrier: str | None = None
) -> Shape:
    """A ball; radius m, at (3,) m or a pose (4, 4) as in `box`. Raises ShapeError, ModelError."""
    return _placed("sphere", (radius,), at, None, name, carrier)


def capsule(
    radius: float,
    length: float,
    at: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    name: str = "",
    carrier: str | None = None,
) -> Shape:
    """All points within `radius` of a segment of `length` along z, m; pose and errors as in `box`."""
    return _placed("capsule", (radius, length), at, rotation, name, carrier)


def cylinder(
    radius: float,
    length: float,
    at: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    name: str = "",
    carrier: str | None = None,
) -> Shape:
    """A cylinder of `length` along z with flat ends, m; pose and errors as in `box`."""
    return _placed("cylinder", (radius, length), at, rotation, name, carrier)


def box(
    size: ArrayLike,
    at: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    name: str = "",
    carrier: str | None = None,
) -> Shape:
    """A box with full sides `size` (3,) m.

    at : (3,) m, where its middle is; or (4, 4), a homogeneous matrix: the whole pose, without `rotation`
    rotation : (3, 3) matrix, (4,) quaternion x, y, z, w, or (3,) rotation vector, rad; None = the carrier's
    carrier : link or frame of a robot that it is fixed to, None = the world
    Raises ShapeError, ModelError, JointError (rotation).
    """
    return _placed("box", size, at, rotation, name, carrier)


def half_space(
    normal: ArrayLike = (0.0, 0.0, 1.0),
    at: ArrayLike = (0.0, 0.0, 0.0),
    name: str = "",
    carrier: str | None = None,
) -> Shape:
    """All points behind the plane through `at`, (3,) m, whose outward normal is `normal` (3,): a floor.

    Raises ShapeError, also for a normal without direction.
    """
    n = finite_array(normal, (3,), "the normal of a half space")
    length = float(np.linalg.norm(n))
    if length == 0.0:
        raise ShapeError(f"the normal of a half space is {n.tolist()}, which has no direction")
    z = n / length
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return _placed("half_space", (), at, np.stack([x, np.cross(z, x), z], axis=1), name, carrier)


def point_cloud(
    points: ArrayLike,
    radius: float = 0.0,
    at: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    name: str = "",
    carrier: str | None = None,
) -> Shape:
    """Balls of one `radius`, m, about points (m, 3) m, at most 5000; pose and errors as in `box`."""
    return _placed("point_cloud", (radius,), at, rotation, name, carrier, points=points)


def hull(
    points: ArrayLike,
    radius: float = 0.0,
    at: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    name: str = "",
    carrier: str | None = None,
) -> Shape:
    """The convex hull of points (m, 3) m, and all within `radius` of it; pose and errors as in `box`."""
    return _placed("hull", (radius,), at, rotation, name, carrier, points=points)


def _placed(
    kind: str,
    size: ArrayLike,
    at: ArrayLike,
    rotation: ArrayLike | None,
    name: str,
    carrier: str | None,
    **further: Any,
) -> Shape:
    position, axes = pose_of(at, rotation, f"a {kind}'s")
    return Shape(kind, size, axes, position, carrier, name, **further)


def pose_of(at: ArrayLike, rotation: ArrayLike | None, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and rotation matrix (3, 3) of a pose as in `box`; ShapeError, JointError."""
    if real_array(at, f"{what} position").shape == (4, 4):
        pose = finite_array(at, (4, 4), f"{what} pose")
        if rotation is not None or not np.array_equal(pose[3], (0.0, 0.0, 0.0, 1.0)):
            raise ShapeError(
                f"{what} pose is a (4, 4) matrix: its last row must be 0, 0, 0, 1, and rotation be left out"
            )
        return pose[:3, 3].copy(), pose[:3, :3].copy()
    return finite_array(at, (3,), f"{what} position"), rotation_of(rotation, f"{what} rotation")


def rotation_of(given: ArrayLike | None, what: str) -> np.ndarray:
    """The matrix of a rotation as in `box`; ShapeError, JointError."""
    if given is None:
        return np.eye(3)
    shape = real_array(given, what).shape
    if shape == (3, 3):
        return rotation_matrix(given, what)
    if shape == (3,):
        vector = finite_array(given, (3,), what)
        angle = float(np.linalg.norm(vector))
        if angle > WHOLE_TURN:
            raise JointError(
                f"{what} is a rotation vector of {angle:.6g} rad, more than a turn: give rad, no degrees"
            )
        return about_axis(vector / angle, angle) if angle > 0.0 else np.eye(3)
    quaternion = finite_array(given, (4,), what)
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1.0) > ROUNDED:
        raise ShapeError(f"{what} is a quaternion of length {length:.6g}; give x, y, z, w of length one")
    x, y, z, w = quaternion / length
    hat = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 * w * hat + 2.0 * (hat @ hat)
