"""`FrameTarget`: where a frame of a robot is to be at one instant, and how fast, as constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import trajopt
from trajopt.base.arrays import Array

Row = tuple[Any, Any, Any, str]  # term, lower and upper bounds, name


@dataclass(frozen=True, eq=False)
class FrameTarget:
    """A frame's pose, or a part of one.

    position, rotation : (3,) m, NaN in free components, and (3, 3); or None
    distance, angle : by how much both may be missed, m and rad; zero: exactly
    velocity : (3,) m/s, of the frame's origin, world axes; None: free
    moving : whether the position moves with this velocity, from where it is given at the start of the motion
    """

    frame: str
    position: Array | None = None
    rotation: Array | None = None
    distance: float = 0.0
    angle: float = 0.0
    velocity: Array | None = None
    moving: bool = False

    def at(self, time: float) -> FrameTarget:
        """The target that stands still where this one is at a time, s."""
        if not self.moving:
            return self
        assert self.position is not None and self.velocity is not None
        return replace(self, position=self.position + time * self.velocity, moving=False)

    def rows(self, name: str) -> Iterator[Row]:
        """The constraints of a goal's name, with `frame` at an instant t.

            p = p_d                          or   |p - p_d|^2 <= distance^2,   p_d + u t where it moves
            skew part of R_d' R = 0          or   2 (1 - cos) <= 2 (1 - cos(angle))
            p' = u

        Both squares are divided by their tolerance, so that their slope at the tolerance is about two.
        """
        if self.position is not None:
            yield self._position(name)
        if self.rotation is not None:
            yield self._rotation(name)
        if self.velocity is not None:
            frame, label = self.frame, f"{name}: velocity of {self.frame}"

            def rate(node: Any) -> list[Any]:
                moved = node.velocity(frame)
                return [moved[i] for i in (3, 4, 5)]

            yield trajopt.term(name=label, unit="m/s")(rate), self.velocity, self.velocity, label

    def _position(self, name: str) -> Row:
        assert self.position is not None
        given, label = np.flatnonzero(np.isfinite(self.position)), f"{name}: position of {self.frame}"
        frame, wanted, size = self.frame, self.position.tolist(), self.distance
        rate = [0.0] * 3 if self.velocity is None or not self.moving else self.velocity.tolist()

        def error(node: Any) -> list[Any]:
            place = node.position(frame)
            ahead = [x * node.t if x else 0.0 for x in rate]
            return [place[i] - wanted[i] - ahead[i] for i in given]

        if size == 0.0:
            return trajopt.term(name=label, unit="m")(error), 0.0, 0.0, label
        squared = trajopt.term(name=label, unit="m")(lambda node: sum(e**2 for e in error(node)) / size)
        return squared, None, size, label

    def _rotation(self, name: str) -> Row:
        assert self.rotation is not None
        label = f"{name}: orientation of {self.frame}"
        if self.angle == 0.0:
            return trajopt.library.orientation_error(self.frame, self.rotation), 0.0, 0.0, label
        frame, size, wanted = self.frame, self.angle, self.rotation.ravel().tolist()

        def turned(node: Any) -> Any:
            rows = node.orientation(frame)
            trace = sum(wanted[i] * rows[i] for i in range(9))  # of R_d' R: 1 + 2 cos of the angle
            return (3.0 - trace) / size

        return trajopt.term(name=label)(turned), None, chord_bound(size), label


def chord_bound(angle: float) -> float:
    """2 (1 - cos(angle)) / angle: the squared chord of an angle, over the angle."""
    return 4.0 * float(np.sin(0.5 * angle)) ** 2 / angle
