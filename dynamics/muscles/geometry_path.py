"""The path of a muscle as a file has it: points on links, and the surfaces that it wraps over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynamics.arguments import real_array, short_repr
from dynamics.couplings.coupled_tree import Follower
from dynamics.errors import MuscleError
from dynamics.model.array_field import ArrayField

WrapKind = Literal["cylinder", "sphere", "ellipsoid", "torus"]
WrapMethod = Literal["hybrid", "midpoint", "axial"]
#: kind of a surface -> its sizes, m, in order
SIZES: dict[str, tuple[str, ...]] = {
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "ellipsoid": ("radius along x", "radius along y", "radius along z"),
    "torus": ("inner radius", "outer radius"),
}
#: half of a surface that a path may touch -> its axis and sign
QUADRANTS = {"all": (0, 0)} | {
    sign + "xyz"[axis]: (axis, -1 if sign == "-" else 1) for axis in range(3) for sign in ("+", "-", "")
}


@dataclass(frozen=True, eq=False)
class Condition:
    """A value that a coordinate gives, and the two ends between which a point belongs to its path."""

    value: Follower
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class PathPoint:
    """A point that a path goes through.

    link : the link of the robot that carries it, None for the ground
    position : (3,) m in the link's axes
    condition : None where it always counts, else when
    moves : (direction (3,), displacement) pairs; the point is at position + sum of direction * displacement
    """

    link: str | None
    position: ArrayField
    condition: Condition | None = None
    moves: tuple[tuple[np.ndarray, Follower], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", _vector(self.position, 3, "the position of a path point"))


@dataclass(frozen=True, eq=False)
class WrapSurface:
    """A surface that paths wrap over, fixed to a link.

    kind : with sizes (m) as in `SIZES`, its axis (of a cylinder, a torus) along z of its own axes
    link : None for the ground;  rotation : (3, 3) its axes in those of the link;  position : (3,) m
    quadrant : "all", or the half in which a path may touch it, "+x" say
    active : False where paths pass through it; it still counts among the surfaces of a path (see `cylinder`)

    Raises MuscleError naming the surface: other kinds and quadrants, sizes that are no surface.
    """

    name: str
    kind: WrapKind
    sizes: tuple[float, ...]
    link: str | None
    rotation: ArrayField
    position: ArrayField
    quadrant: str = "all"
    active: bool = True

    def __post_init__(self) -> None:
        where = f"wrap surface '{self.name}'"
        if self.kind not in SIZES:
            raise MuscleError(f"{where} is a {short_repr(self.kind)}; {', '.join(SIZES)} are known")
        if self.quadrant.lower() not in QUADRANTS:
            raise MuscleError(
                f"{where} has the quadrant {short_repr(self.quadrant)}; all, +x, -x ... are known"
            )
        sizes, names = _vector(self.sizes, len(SIZES[self.kind]), where), SIZES[self.kind]
        for name, size in zip(names, sizes, strict=True):
            if size <= 0.0:
                raise MuscleError(f"{where} has {name} {size:g} m, which is no surface: give a positive one")
        if self.kind == "torus" and sizes[0] >= sizes[1]:
            raise MuscleError(f"{where} has inner radius {sizes[0]:g} and outer {sizes[1]:g} m: swap the two")
        object.__setattr__(self, "sizes", tuple(sizes.tolist()))
        object.__setattr__(self, "rotation", _vector(self.rotation, 9, where).reshape(3, 3))
        object.__setattr__(self, "position", _vector(self.position, 3, where))


@dataclass(frozen=True, eq=False)
class PathWrap:
    """A surface that the path may touch between two of its points, counted from 0, both included.

    method : how the plane of a wrap over an ellipsoid is chosen; the other surfaces ignore it
    """

    surface: WrapSurface
    first: int
    last: int
    method: WrapMethod = "hybrid"


@dataclass(frozen=True, eq=False)
class GeometryPath:
    """A path through points in order, straight from one to the next unless a surface is between.

    Raises MuscleError naming the path: fewer than two points, wraps between points that it does not have.
    """

    name: str
    points: tuple[PathPoint, ...]
    wraps: tuple[PathWrap, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.points)
        if count < 2:
            raise MuscleError(f"path '{self.name}' has {count} points; a path needs two or more")
        if sum(point.condition is None for point in self.points) == 0:
            raise MuscleError(
                f"path '{self.name}' has conditional points alone: it may vanish; fix one point"
            )
        for wrap in self.wraps:
            if not 0 <= wrap.first <= wrap.last < count:
                raise MuscleError(
                    f"path '{self.name}' wraps over '{wrap.surface.name}' between its points "
                    f"{wrap.first + 1} and {wrap.last + 1}, but has {count}"
                )
            if wrap.method not in ("hybrid", "midpoint", "axial"):
                raise MuscleError(
                    f"path '{self.name}' wraps over '{wrap.surface.name}' by {short_repr(wrap.method)}; "
                    "hybrid, midpoint and axial are known"
                )

    @property
    def links(self) -> set[str | None]:
        """The links that carry points or surfaces of the path."""
        return {point.link for point in self.points} | {wrap.surface.link for wrap in self.wraps}

    @property
    def is_still(self) -> bool:
        """True where no joint changes the path: all of it is on one link, and no point moves."""
        return len(self.links) == 1 and not any(point.moves for point in self.points)


def _vector(given: object, count: int, where: str) -> np.ndarray:
    found = real_array(given, where).reshape(-1)
    if found.shape != (count,) or not np.all(np.isfinite(found)):
        raise MuscleError(f"{where} has {short_repr(given)}; {count} finite numbers are expected")
    found.flags.writeable = False
    return found
