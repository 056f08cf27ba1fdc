"""Rules of a frame over a segment: it follows a line or an arc of a circle, or keeps an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import trajopt
from problems.moves.tasks.frame_target import Row, chord_bound
from problems.moves.tasks.orientation import angle_between
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.terms.nonsmooth import SmoothedTerm

SAME_PLACE = 1e-9  # m


@dataclass(frozen=True, eq=False)
class Line:
    """A frame's origin stays within `distance` of the straight segment from start to end, (3,) m."""

    name: str
    frame: str
    start: Array
    end: Array
    distance: float

    @property
    def length(self) -> float:
        """Metres."""
        return float(np.linalg.norm(self.end - self.start))

    def at(self, s: Array) -> Array:
        """Places (k, 3) at fractions (k,) of the segment."""
        return self.start + np.asarray(s)[:, None] * (self.end - self.start)

    def row(self, margin: float) -> Row:
        """|e - u (u . e)|^2 / distance <= distance, e = p - start, u the direction."""
        direction = ((self.end - self.start) / self.length).tolist()
        label, frame, size = f"{self.name}: {self.frame} on the line", self.frame, self.distance
        start = self.start.tolist()

        def squared(node: Any) -> Any:
            place = node.position(frame)
            e = [place[i] - start[i] for i in range(3)]
            along = sum(e[i] * direction[i] for i in range(3))
            return (sum(each**2 for each in e) - along**2) / size

        return trajopt.term(name=label, unit="m")(squared), None, (1.0 - margin) * size, label

    def excess(self, place: Array, rotation: Array) -> Array:
        """Distances by which places (k, 3) are farther away than allowed, (k,) m."""
        along = (self.end - self.start) / self.length
        e = place - self.start
        s = np.clip(e @ along, 0.0, self.length)
        return np.linalg.norm(e - s[:, None] * along, axis=1) - self.distance


@dataclass(frozen=True, eq=False)
class Arc:
    """A frame's origin stays within `distance` of the arc of a circle from start over `through` to end."""

    name: str
    frame: str
    start: Array
    through: Array
    end: Array
    distance: float

    def __post_init__(self) -> None:
        normal = np.cross(self.through - self.start, self.end - self.start)
        if np.linalg.norm(normal) <= SAME_PLACE:
            raise OptionError(f"{self.name}: start, through and end lie on one line: leave `through` out")

    @property
    def circle(self) -> tuple[Array, Array, float]:
        """Centre (3,) m, unit normal (3,), radius m: of the circle through three points."""
        a, b = self.through - self.start, self.end - self.start
        normal = np.cross(a, b)
        square = float(normal @ normal)
        offset = np.cross((a @ a) * b - (b @ b) * a, normal) / (2.0 * square)
        return self.start + offset, normal / np.sqrt(square), float(np.linalg.norm(offset))

    @property
    def angle(self) -> float:
        """Rad, from start to end about the normal, between 0 and 2 pi."""
        centre, normal, _ = self.circle
        first, last = self.start - centre, self.end - centre
        return float(np.arctan2(np.cross(first, last) @ normal, first @ last) % (2.0 * np.pi))

    @property
    def length(self) -> float:
        """Metres."""
        return self.circle[2] * self.angle

    def at(self, s: Array) -> Array:
        """Places (k, 3) at fractions (k,) of the arc."""
        centre, normal, _ = self.circle
        turn, first = (np.asarray(s) * self.angle)[:, None], self.start - centre
        return centre + np.cos(turn) * first + np.sin(turn) * np.cross(normal, first)

    def row(self, margin: float) -> Row:
        """((rho - r)^2 + z^2) / distance <= distance in cylindrical coordinates rho, z of the circle."""
        centre, normal, radius = self.circle
        label, frame, size = f"{self.name}: {self.frame} on the arc", self.frame, self.distance
        c, n = centre.tolist(), normal.tolist()

        def squared(node: Any) -> Any:
            place = node.position(frame)
            e = [place[i] - c[i] for i in range(3)]
            z = sum(e[i] * n[i] for i in range(3))
            rho = (sum(each**2 for each in e) - z**2) ** 0.5
            return ((rho - radius) ** 2 + z**2) / size

        # its root turns at the axis of the circle alone, far beyond the bound
        return SmoothedTerm(squared, label, unit="m"), None, (1.0 - margin) * size, label

    def excess(self, place: Array, rotation: Array) -> Array:
        """Distances by which places (k, 3) are farther from the circle than allowed, (k,) m."""
        centre, normal, radius = self.circle
        e = place - centre
        z = e @ normal
        rho = np.linalg.norm(e - z[:, None] * normal, axis=1)
        return np.hypot(rho - radius, z) - self.distance


@dataclass(frozen=True, eq=False)
class KeptAxis:
    """An axis of a frame stays within an angle of a direction in the world, both (3,) unit vectors."""

    name: str
    frame: str
    axis: Array
    direction: Array
    angle: float

    def row(self, margin: float) -> Row:
        """2 (1 - (R axis) . direction) / angle <= 2 (1 - cos(angle)) / angle."""
        label, frame = f"{self.name}: axis of {self.frame}", self.frame
        weights, size = np.outer(self.direction, self.axis).ravel().tolist(), self.angle

        def turned(node: Any) -> Any:
            rows = node.orientation(frame)
            return 2.0 * (1.0 - sum(weights[i] * rows[i] for i in range(9))) / size

        return trajopt.term(name=label)(turned), None, (1.0 - margin) * chord_bound(size), label

    def excess(self, place: Array, rotation: Array) -> Array:
        """Angles by which the axis is turned farther than allowed at poses, (k,) rad."""
        return angle_between(rotation @ self.axis, self.direction) - self.angle


@dataclass(frozen=True, eq=False)
class ToolSpeed:
    """The speed of a frame's origin, |p'| <= speed, m/s; on : ", to goal 1", on which way, or nothing."""

    frame: str
    speed: float
    on: str = ""

    def row(self, margin: float) -> Row:
        """|p'|^2 / speed <= speed."""
        label, frame, size = f"speed of {self.frame}{self.on}", self.frame, self.speed

        def squared(node: Any) -> Any:
            rate = node.velocity(frame)
            return sum(rate[i] ** 2 for i in (3, 4, 5)) / size

        return trajopt.term(name=label, unit="m/s")(squared), None, (1.0 - margin) * size, label


SegmentRule = Line | Arc | KeptAxis
