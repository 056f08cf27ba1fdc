"""The ground that feet stand on: a plane, a slope, or a height map z = h(x, y), with z or y upwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from trajopt.base.arguments import finite_numbers, number, numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.expression import gradient_at
from trajopt.terms.arithmetic import cross, normalized

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
    shape: Callable[[Any, Any], Any] | None = None
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

    def gap(self, place: Point) -> Any:
        """Height of a place (3,), world axes, over the surface, m."""
        x, y, z = (place[axis] for axis in self.order)
        return z - self.height_at(x, y)

    def world_axes_at(self, place: Point) -> list[list[Any]]:
        """The tangents and the normal of `axes_at` under a place, world axes."""
        axes = self.axes_at(*(place[axis] for axis in self.order[:2]))
        return [[axis[self.order.index(i)] for i in range(3)] for axis in axes]

    @property
    def region(self) -> Array:
        """(2, 2) m, first and last place along x, and along y, where feet may land."""
        return np.array([self.x, self.y], dtype=float)

    def coordinates(self, place: Point) -> list[Any]:
        """(2,) m, x and y of the ground below a place (3,), world axes."""
        return [place[axis] for axis in self.order[:2]]

    def height_at(self, x: Any, y: Any) -> Any:
        """z of the surface above a point of the plane, m."""
        plane = self.height + self.slope[0] * x + self.slope[1] * y
        return plane if self.shape is None else plane + self.shape(x, y)

    def axes_at(self, x: Any, y: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Tangents along x and along y, and the normal upwards: orthonormal, right-handed."""
        rises: list[Any] = list(self.slope)
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
