"""Objects around the robot that pictures show beside a term: an obstacle, or a target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Place: TypeAlias = tuple[float, float, float]  # m, world axes


@dataclass(frozen=True)
class Capsule:
    """All points within `radius` of a segment, m; a ball where the segment has no length."""

    start: Place
    end: Place
    radius: float


@dataclass(frozen=True)
class Target:
    """A place that a frame is to reach or to follow."""

    frame: str
    place: Place


def scene_of(term: object) -> Iterator[Capsule | Target]:
    """The object of a term, or of one that it is made of by arithmetic or as a maximum."""
    own = getattr(term, "scene", None)
    if own is not None:
        yield own
    for part in getattr(term, "operands", ()):
        yield from scene_of(part)
