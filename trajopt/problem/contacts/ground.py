"""The ground that feet stand on, with z or y upwards, and solids beside it that feet and hands push against.

The ground is a plane, a slope, or a height map z = h(x, y); solids are planes and boxes, fixed or on a link.

A plane is a wall, a ramp, the seat of a chair; a box has six of them as faces and keeps swinging feet
outside. Both may be given in axes of a frame: then they move with the link that carries it, which feels the
opposite force.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from trajopt.base.arguments import finite_numbers, number, numbers, short_repr
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError, ShapeError
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.expression import gradient_at
from trajopt.graph.protocols import Block
from trajopt.terms.arithmetic import cross, difference_of, dot, normalized
from trajopt.terms.term import ExpressionTerm

Point = Any  # (3,) casadi symbols or numbers
# Which world axes the ground calls x, y and z.
AXES_OF_GROUND = MappingProxyType({"z": (0, 1, 2), "y": (2, 0, 1)})


@dataclass(frozen=True)
class Ground:
    """The surface z = height + slope . (x, y) + shape(x, y), m, world axes, z upwards.

    up : the world axis that points upwards; with "y" the ground's x and y are the world's z and x
    slope : rise per metre along x and y
    x, y : m, (first, last) place where feet may land along each axis; a gap lies between two grounds,
        Ground(x=(-np.inf, 0.2)) and Ground(x=(0.3, np.inf)), of the arcs before it and behind it
    shape : of casadi expressions or numbers x and y, twice differentiable: a module's function, so that the
        problem can be sent to other processes
    Raises ShapeError, NotFiniteError or OptionError for what is no surface.
    """

    height: float = 0.0
    slope: tuple[float, float] = (0.0, 0.0)
    shape: Callable[[Number, Number], Number] | None = None
    up: Literal["y", "z"] = "z"
    x: tuple[float, float] = (-np.inf, np.inf)
    y: tuple[float, float] = (-np.inf, np.inf)
    frame: ClassVar[None] = None  # it is fixed to the world

    def __post_init__(self) -> None:
        number(self.height, "the height of the ground")
        if finite_numbers(self.slope, "the slope of the ground").shape != (2,):
            raise ShapeError(
                f"the slope of the ground is {short_repr(self.slope)}: give two rises per metre, of x and y"
            )
        for axis, ends in (("x", self.x), ("y", self.y)):
            check_region(axis, ends)
        if self.shape is not None and not callable(self.shape):
            raise OptionError(
                f"the shape of the ground is {short_repr(self.shape)}: give a function of x and y"
            )
        if self.up not in AXES_OF_GROUND:
            raise OptionError(f"up is {short_repr(self.up)}: give 'z', or 'y' for a world whose y axis is up")

    @property
    def order(self) -> tuple[int, int, int]:
        """The world axes (0 to 2) of the ground's x, y and z."""
        return AXES_OF_GROUND[self.up]

    @property
    def edges(self) -> tuple[str, ...]:
        """Names of the tangents on both sides, in world axes: "+x", "-x", "+y", "-y"."""
        return tuple(sign + "xyz"[axis] for axis in self.order[:2] for sign in "+-")

    def gap(self, place: Point) -> Number:
        """Height of a place (3,), world axes, over the surface, m."""
        x, y, z = (place[axis] for axis in self.order)
        return z - self.height_at(x, y)

    def world_axes_at(self, place: Point) -> list[list[Number]]:
        """The tangents and the normal of `axes_at` under a place, world axes."""
        axes = self.axes_at(*(place[axis] for axis in self.order[:2]))
        return [[axis[self.order.index(i)] for i in range(3)] for axis in axes]

    @property
    def region(self) -> Array:
        """(2, 2) m, first and last place along x, and along y, where feet may land."""
        return np.array([self.x, self.y], dtype=float)

    def coordinates(self, place: Point) -> list[Number]:
        """(2,) m, x and y of the ground below a place (3,), world axes."""
        return [place[axis] for axis in self.order[:2]]

    def height_at(self, x: Number, y: Number) -> Number:
        """z of the surface above a point of the plane, m."""
        plane = self.height + self.slope[0] * x + self.slope[1] * y
        return plane if self.shape is None else plane + self.shape(x, y)

    def axes_at(self, x: Number, y: Number) -> tuple[list[Number], list[Number], list[Number]]:
        """Tangents along x and along y, and the normal upwards: orthonormal, right-handed."""
        rises: list[Number] = list(self.slope)
        if self.shape is not None:
            own = gradient_at(self.shape, (x, y))
            rises = [rise + one for rise, one in zip(rises, own, strict=True)]
        normal = normalized([-rises[0], -rises[1], 1.0])
        along = normalized([1.0, 0.0, rises[0]])
        return along, cross(normal, along), normal


def check_region(axis: str, ends: object) -> None:
    """Raise OptionError where feet may land nowhere along an axis, or where that is no pair."""
    pair = numbers(ends, f"the ground along {axis}")
    if pair.shape != (2,) or not pair[0] < pair[1]:
        raise OptionError(
            f"the ground reaches along {axis} from and to {short_repr(ends)} m: give the first and the last "
            "place where feet may land, (-np.inf, 0.2)"
        )


Triple = tuple[float, float, float]
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Plane:
    """The plane through a point, free where its normal points: normal . (place - point) = 0.

    point : (3,) m
    normal : (3,), of any length, out of the solid
    along : (3,) its x axis, projected onto the plane; its y axis is normal x along. Left out, the world axis
        that is least along the normal
    frame : of the robot, in whose axes all is given; left out, the world
    x, y : m from the point, (first, last) place where it may be touched
    Raises ShapeError, NotFiniteError or OptionError for what is no plane.
    """

    point: Triple
    normal: Triple
    along: Triple | None = None
    frame: str | None = None
    x: tuple[float, float] = (-np.inf, np.inf)
    y: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        point, normal = triple(self.point, "the point of a plane"), triple(self.normal, "its normal")
        least = IDENTITY[int(np.argmin(np.round(np.abs(normal), 9)))]  # rounding must not choose
        along = least if self.along is None else triple(self.along, "the x axis of a plane")
        n = unit_vector(np.array(normal), "normal")
        a = unit_vector(np.array(along) - (n @ along) * n, "x axis, less what it has along the normal,")
        for axis, ends in (("x", self.x), ("y", self.y)):
            check_region(axis, ends)
        check_frame(self.frame)
        for name, value in (("point", point), ("normal", n.tolist()), ("along", a.tolist())):
            object.__setattr__(self, name, tuple(value))

    @property
    def order(self) -> tuple[int, int, int]:
        """Numbers of the letters x, y and z, by which axes of the plane are held."""
        return 0, 1, 2

    @property
    def edges(self) -> tuple[str, ...]:
        """Names of the tangents on both sides: "+x", "-x", "+y", "-y" of the plane."""
        return "+x", "-x", "+y", "-y"

    @property
    def region(self) -> Array:
        """(2, 2) m, first and last place along x, and along y, where it may be touched."""
        return np.array([self.x, self.y], dtype=float)

    @property
    def axes(self) -> list[list[float]]:
        """Tangents along x and y, and the normal, axes of the frame: orthonormal, right-handed."""
        return [list(self.along or ()), np.cross(self.normal, self.along or ()).tolist(), list(self.normal)]

    def gap(self, place: Point) -> Number:
        """Distance of a place (3,) from the plane, m, positive outside of the solid."""
        return dot(self.normal, difference_of(place, self.point))

    def world_axes_at(self, place: Point) -> list[list[float]]:
        """`axes`, wherever the place is."""
        return self.axes

    def coordinates(self, place: Point) -> list[Number]:
        """(2,) m from the point along x and y."""
        away = difference_of(place, self.point)
        return [dot(axis, away) for axis in self.axes[:2]]


@dataclass(frozen=True)
class Box:
    """A solid box: `face` is a surface to stand on, and swinging feet stay outside of it.

    size : (3,) m, whole lengths of its edges
    centre : (3,) m
    rotation : (3, 3) its axes as columns, left out those of the frame
    frame : of the robot, in whose axes all is given; left out, the world
    Raises ShapeError, NotFiniteError or OptionError for what is no box.
    """

    size: Triple
    centre: Triple = (0.0, 0.0, 0.0)
    rotation: tuple[Triple, Triple, Triple] = IDENTITY
    frame: str | None = None

    def __post_init__(self) -> None:
        size, R = triple(self.size, "the size of a box"), finite_numbers(self.rotation, "its rotation")
        if not min(size) > 0.0:
            raise OptionError(f"the size of a box is {size} m: give three lengths above zero")
        if R.shape != (3, 3) or np.abs(R @ R.T - np.eye(3)).max() > AGREEMENT or np.linalg.det(R) < 0.0:
            raise ShapeError("the rotation of a box is no rotation matrix: give (3, 3), its axes as columns")
        check_frame(self.frame)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "centre", triple(self.centre, "the centre of a box"))
        object.__setattr__(self, "rotation", tuple(tuple(row) for row in R.tolist()))

    def face(self, side: str) -> Plane:
        """The face "+x", "-x", ... "-z" of its own axes, with its edges; OptionError for another side."""
        sides = [sign + axis for axis in "xyz" for sign in "+-"]
        if side not in sides:
            raise OptionError(f"a box has no face {short_repr(side)}: give one of {', '.join(sides)}")
        number, sign = divmod(sides.index(side), 2)
        R, half, sense = np.array(self.rotation), 0.5 * np.array(self.size), (1.0, -1.0)[sign]
        normal, along, lengths = sense * R[:, number], R[:, (number + 1) % 3], np.roll(half, -number)[1:]
        x, y = ((-length, length) for length in lengths.tolist())
        point = np.array(self.centre) + half[number] * normal
        return Plane(tuple(point), tuple(normal), tuple(along), self.frame, x, y)

    def distance(self, place: Point) -> Number:
        """m, (3,) of CasADi in axes of the frame: max over axes of |place - centre| - size / 2.

        The largest distance beyond a face, at least zero where the place is not inside; inside, minus the
        depth below the nearest face. Its slope is one everywhere, also on the surface, where the distance
        in space has none; it has kinks where two faces are as far.
        """
        away = difference_of(place, self.centre)
        along = [dot(axis, away) for axis in np.array(self.rotation).T.tolist()]
        x, y, z = (c.fmax(-c) - 0.5 * length for c, length in zip(along, self.size, strict=True))
        return x.fmax(y).fmax(z)


@dataclass(frozen=True)
class DistanceTerm(ExpressionTerm):
    """Distances from boxes: their kinks, where two faces are as far, are meant, and nobody is warned."""

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        blocks: Any = super().blocks(width_of)
        for block in blocks:
            block.derivatives_are_tested = True
        return blocks


def triple(given: Any, what: str) -> Triple:
    """Three finite numbers."""
    values = finite_numbers(given, what)
    if values.shape != (3,):
        raise ShapeError(f"{what} is {short_repr(given)}: give three numbers, m")
    return values[0].item(), values[1].item(), values[2].item()


def unit_vector(vector: Array, what: str) -> Array:
    """A vector at length one."""
    length = float(np.linalg.norm(vector))
    if not length > AGREEMENT:
        raise OptionError(f"the {what} of a plane is zero: give three numbers, not all zero")
    return np.round(vector / length, 15)


def check_frame(frame: object) -> None:
    if frame is not None and not (isinstance(frame, str) and frame):
        raise OptionError(f"the frame of a surface is {short_repr(frame)}: give its name, or leave it out")


FLAT = Ground()
