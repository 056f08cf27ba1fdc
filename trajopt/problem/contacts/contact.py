"""A foot on the ground: where it stands, it does not move, and the ground pushes within the friction cone.

    f = sum_c sum_k lambda_ck (n + mu t_k),   lambda_ck >= 0     of the ground, at the points c of the sole
    J v = 0                                                      while the foot stands
    z - h(x, y) = 0                                              where it touches down

n is the normal of the ground, t_k are the directions of the friction pyramid, unit tangents inside the cone
|f_t| <= mu f_n. The unknowns lambda are controls, polynomials on every interval whose control points are at
least zero: forces are unilateral, inside the pyramid, and a sole's centre of pressure inside its points, for
all t and without a row of the program. They are more than the components of the force: how it is divided
among them does not matter. Velocities are zero at the collocation points, so that places keep to the order of
the scheme; positions held there instead leave forces missing between nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from trajopt.base import arguments
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.declared_quantities import AXIS_NAMES
from trajopt.graph.protocols.dynamics import FloatingDynamics
from trajopt.problem.contacts.ground import Ground
from trajopt.terms.term import ExpressionTerm
from trajopt.terms.vectors import AXES, cross, dot, total, turned

DIRECTIONS = 4  # edges of the friction pyramid, each with its lambda
WORLD = "".join(AXIS_NAMES)
MOST_POINTS = 16  # of a sole
NEARLY_ONE = 1e-6  # of the size of a sole


@dataclass(frozen=True, eq=False)
class Contact:
    """A foot that stands on the ground in some arcs, as `Problem.contact` adds it.

    frame, link : the foot, and the link that carries it
    arcs : in which it stands
    ground : of every arc
    points : (k, 3) m, of the sole, in axes of the frame: a single one of a point foot, two or more on a line
        of an edge, which may roll about it
    friction : mu
    weight : N, of the robot; forces are unknown in multiples of it
    held : arc -> world axes, 0 to 2, along which a point foot does not move; of a sole all. That it is on the
        ground is stated where the upward one is among them
    continuous : whether its force is, zero where it touches down and lifts off
    impact : whether it may land with velocity
    force : term, (3,) N, world axes, of the ground on the foot
    """

    frame: str
    link: str
    arcs: tuple[int, ...]
    ground: Mapping[int, Ground]
    points: Array = field(repr=False)
    friction: float
    weight: float
    held: Mapping[int, tuple[int, ...]] = field(repr=False)
    continuous: bool = False
    impact: bool = False

    @property
    def is_point(self) -> bool:
        """Whether only the place is held, not the orientation."""
        return len(self.points) == 1

    @property
    def corners(self) -> list[int]:
        """Numbers of the points that place the foot: one of a point, two of a line, three of a sole."""
        return corners(self.points)

    @property
    def grounds(self) -> dict[Ground, tuple[int, ...]]:
        """The surfaces that it stands on, and the arcs in which it does."""
        each = {ground: () for ground in (self.ground[arc] for arc in self.arcs)}
        return {one: tuple(arc for arc in self.arcs if self.ground[arc] == one) for one in each}

    @property
    def curves(self) -> tuple[str, ...]:
        """Names of the unknown curves lambda, one for every surface."""
        own = f"push {self.frame}"
        return tuple(f"{own} {number}" if number > 1 else own for number in range(1, 1 + len(self.grounds)))

    @property
    def force(self) -> ExpressionTerm:
        """The force of the ground on the foot, (3,) N, world axes."""
        return ExpressionTerm(self._force, f"force on {self.frame}", AXIS_NAMES, "N")

    @property
    def force_rate(self) -> ExpressionTerm:
        """d force / dt while the foot stands, (3,) N/s, world axes, of one that is continuous."""
        return ExpressionTerm(self._force_rate, f"rate of force on {self.frame}", AXIS_NAMES, "N/s")

    def impulse(self, arc: int) -> ExpressionTerm:
        """The impulse of the ground on the foot where an arc begins with an impact, (3,) N s, world axes.

        Raises OptionError where it takes none.
        """
        if not (self.impact and arc in self.arcs and arc):
            raise OptionError(
                f"'{self.frame}' takes no impulse in arc {arguments.short_repr(arc)}: give one in which it "
                "stands, behind the first of the motion, of a contact with impact=True"
            )
        name = f"impulse on {self.frame}, arc {arc}"
        return ExpressionTerm(partial(self._impulse, arc=arc), name, AXIS_NAMES, "N s")

    def impulse_name(self, arc: int) -> str:
        """Name of the unknown multiples of the weight times a second, in place of lambda."""
        return f"impulse {self.frame}, arc {arc}"

    def impulse_wrench(self, node: Any, arc: int) -> list[Any]:
        """(6,) [moment; impulse] about the world origin, N m s and N s, where an arc begins."""
        shares = node.parameter(self.impulse_name(arc))
        return _wrench(self._at_points(node, self.ground[arc], shares))

    def touches_down(self, arc: int) -> bool:
        """Whether it stands in an arc and not in the one before."""
        return arc in self.arcs and arc - 1 not in self.arcs

    def is_held_upwards(self, arc: int) -> bool:
        """Whether its height is held in an arc."""
        return not self.is_point or self.ground[arc].order[2] in self.held[arc]

    def place(self, node: Any, offset: Array) -> list[Any]:
        """(3,) m, world axes, of a point of the sole."""
        origin = node.position(self.frame)
        away = turned(node.orientation(self.frame), offset) if offset.any() else offset
        return [origin[i] + away[i] for i in AXES]

    def wrench(self, node: Any) -> list[Any]:
        """(6,) [moment; force] about the world origin, N m and N."""
        return _wrench(self.pushes(node, node.extra))

    def pushes(self, node: Any, read: Callable[[str], Any]) -> Iterator[tuple[list[Any], list[Any]]]:
        """Place and force, or what `read` gives of it, of every point of the sole and every surface."""
        for ground, curve in zip(self.grounds, self.curves, strict=True):
            yield from self._at_points(node, ground, read(curve))

    def _at_points(self, node: Any, ground: Ground, shares: Any) -> Iterator[tuple[list[Any], list[Any]]]:
        for number, offset in enumerate(self.points):
            place = self.place(node, offset)
            share = [shares[DIRECTIONS * number + k] for k in range(DIRECTIONS)]
            yield place, self.pushed(ground, place, share)

    def _force(self, node: Any) -> list[Any]:
        return self.wrench(node)[3:]

    def _impulse(self, node: Any, arc: int) -> list[Any]:
        return self.impulse_wrench(node, arc)[3:]

    def _force_rate(self, node: Any) -> list[Any]:
        return total(force for _, force in self.pushes(node, node.rate))

    def pushed(self, ground: Ground, place: Sequence[Any], share: Sequence[Any]) -> list[Any]:
        """(3,) N, world axes, the force at one point of the sole of its four lambda."""
        along, across, normal = ground.world_axes_at(place)
        sizes = self.friction * (share[0] - share[1]), self.friction * (share[2] - share[3]), sum(share)
        parts = list(zip((along, across, normal), sizes, strict=True))
        return [self.weight * sum(size * axis[i] for axis, size in parts) for i in AXES]

    def height(self, node: Any, arc: int, points: Array) -> list[Any]:
        """(points,) m, of points of the sole above the ground of an arc."""
        return [self.ground[arc].gap(self.place(node, offset)) for offset in points]

    def velocity(self, node: Any, arc: int) -> list[Any]:
        """What is zero while the foot stands, rad/s and m/s.

        (held,) of a point foot v + omega x R r along the axes held; (5,) of a line, omega across it and v of
        its first point; (6,) of a sole, omega and v of the frame.
        """
        column, points = node.velocity(self.frame), self.corners
        omega, speed = ([column[part + i] for i in AXES] for part in (0, 3))
        if len(points) == 3:
            return [*omega, *speed]
        first = self.points[0]
        if first.any():
            speed = total([speed, cross(omega, turned(node.orientation(self.frame), first))])
        if self.is_point:
            return [speed[i] for i in self.held[arc]]
        across = basis_about(self.points[points[1]] - first)[:2].tolist()
        return [*(dot(turned(node.orientation(self.frame), axis), omega) for axis in across), *speed]

    def velocity_units(self, arc: int) -> list[str]:
        """Of the components of `velocity`."""
        turns = (0, 2, 3)[len(self.corners) - 1]
        return ["rad/s"] * turns + ["m/s"] * (len(self.held[arc]) if self.is_point else len(WORLD))

    def footprint(self, node: Any, arc: int) -> list[Any]:
        """(2 points,) m, x and y on the ground of an arc of every point of the sole."""
        places = [self.place(node, offset) for offset in self.points]
        return [place[axis] for place in places for axis in self.ground[arc].order[:2]]


def _wrench(forces: Iterable[tuple[Sequence[Any], Sequence[Any]]]) -> list[Any]:
    """(6,) [moment; force] about the world origin of forces at places."""
    return total([*cross(place, force), *force] for place, force in forces)


def contact_of(
    dynamics: Any,
    arc_count: int,
    frame: str,
    arcs: Sequence[int],
    friction: float,
    points: Any,
    ground: Ground | Mapping[int, Ground],
    held: str | Mapping[int, str] = WORLD,
    continuous: bool = False,
    impact: bool = False,
) -> Contact:
    """The contact of a call of `Problem.contact`; see there, also for errors."""
    if not arguments.implements(dynamics, FloatingDynamics):
        raise OptionError(
            f"a contact needs the weight of the robot and the link of a frame, which "
            f"{type(dynamics).__name__} does not have: give a dynamics.RigidBodyModel, or say how in "
            "`total_mass`, `gravity` and `carrier`"
        )
    link = dynamics.carrier(frame)
    arguments.check_positive(f"the friction of '{frame}'", friction)
    weight = dynamics.total_mass * float(np.linalg.norm(dynamics.gravity))
    if not weight > 0.0:
        raise OptionError("the robot weighs nothing, or gravity is zero: forces of the ground have no scale")
    sole = np.zeros((1, 3)) if points is None else arguments.finite_numbers(points, f"the sole of '{frame}'")
    if sole.ndim != 2 or sole.shape[1:] != (3,) or not 1 <= len(sole) <= MOST_POINTS:
        raise ShapeError(
            f"the sole of '{frame}' has shape {sole.shape}: give 1 to {MOST_POINTS} points, (k, 3) m in its "
            "axes"
        )
    if len(sole) > 1 and len(corners(sole)) == 1:
        raise OptionError(f"the points of the sole of '{frame}' coincide: give one, or others")
    every = range(arc_count)
    stands = standing_arcs(arcs, frame, arc_count)
    surfaces = dict(ground) if isinstance(ground, Mapping) else dict.fromkeys(every, ground)
    if set(surfaces) != set(every) or not all(isinstance(one, Ground) for one in surfaces.values()):
        raise OptionError(
            f"the ground of '{frame}' is {arguments.short_repr(ground)}: give a trajopt.Ground, or one for "
            f"each of the {arc_count} arcs, {{0: Ground(), 1: Ground(height=0.1)}}"
        )
    check_upwards(surfaces.values(), dynamics.gravity, frame)
    check_one_ground_per_stance(surfaces, stands, frame)
    axes = held_axes(held, frame, stands)
    if len(sole) > 1 and any(len(each) < len(WORLD) for each in axes.values()):
        raise OptionError(f"'{frame}' has a sole, which holds all axes: held= is for point feet")
    for name, flag in (("continuous", continuous), ("impact", impact)):
        arguments.check_flag(name, flag)
    mu = float(friction)
    return Contact(frame, link, stands, surfaces, sole, mu, weight, axes, bool(continuous), bool(impact))


def corners(points: Array) -> list[int]:
    """One point, two on a line, or three that are no line: the first, the farthest from it, from their line.

    Points nearer than a millionth of the sole's size to each other, or to a line, are one, or on it.
    """
    away = points - points[0]
    distances = np.linalg.norm(away, axis=1)
    second = int(np.argmax(distances))
    if not distances[second] > NEARLY_ONE * np.abs(points).max():
        return [0]
    beside = np.linalg.norm(np.cross(away, away[second]), axis=1) / distances[second]
    third = int(np.argmax(beside))
    return [0, second, third] if beside[third] > NEARLY_ONE * np.abs(points).max() else [0, second]


def basis_about(direction: Array) -> Array:
    """Two directions across a vector, and that at length one, as rows (3, 3)."""
    unit = direction / np.linalg.norm(direction)
    across = np.cross(unit, np.eye(len(WORLD))[np.argmin(np.abs(unit))])
    across /= np.linalg.norm(across)
    return np.stack([across, np.cross(unit, across), unit])


def standing_arcs(arcs: Any, frame: str, arc_count: int) -> tuple[int, ...]:
    """The arcs in which a frame stands, in their order."""
    if not isinstance(arcs, Iterable):
        raise OptionError(f"'{frame}' stands in {arguments.short_repr(arcs)}: give a list of arcs, [0, 2]")
    stands = tuple(sorted(checked_arc(arc, frame, arc_count) for arc in arcs))
    if len(set(stands)) < len(stands):
        raise OptionError(f"'{frame}' stands in the arcs {list(stands)}: name each once")
    return stands


def check_upwards(grounds: Iterable[Ground], gravity: Array, frame: str) -> None:
    """Raise OptionError where gravity does not pull towards the ground."""
    for up in {ground.up for ground in grounds}:
        if not gravity[WORLD.index(up)] < 0.0:
            raise OptionError(
                f"the ground of '{frame}' has {up} upwards, and gravity is {np.asarray(gravity).tolist()}: "
                "give up= the axis against which gravity pulls"
            )


def check_one_ground_per_stance(grounds: Mapping[int, Ground], arcs: Sequence[int], frame: str) -> None:
    """Raise OptionError where a foot stands on while its ground changes: it does not touch down again."""
    for arc in arcs:
        if arc - 1 in arcs and grounds[arc] != grounds[arc - 1]:
            raise OptionError(
                f"'{frame}' stands on from arc {arc - 1} to arc {arc}, but its ground changes there, from "
                f"{grounds[arc - 1]} to {grounds[arc]}: give both arcs one Ground, or let it swing in between"
            )


def held_axes(held: Any, frame: str, arcs: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Arc -> world axes, 0 to 2, of what a caller holds."""
    each: dict[Any, Any] = dict(held) if isinstance(held, Mapping) else dict.fromkeys(arcs, held)
    letters = all(isinstance(axes, str) and set(axes) <= set(WORLD) for axes in each.values())
    if set(each) != set(arcs) or not letters or (each and not any(each.values())):
        raise OptionError(
            f"'{frame}' is held along {arguments.short_repr(held)}: give letters of 'xyz', or some for each "
            f"of the arcs {list(arcs)} in which it stands, {{0: 'xyz', 1: 'yz'}}"
        )
    return {arc: tuple(i for i, axis in enumerate(WORLD) if axis in axes) for arc, axes in each.items()}


def checked_arc(arc: Any, frame: str, arc_count: int) -> int:
    if not arguments.is_whole(arc) or not 0 <= arc < arc_count:
        raise OptionError(
            f"'{frame}' is held in arc {arguments.short_repr(arc)}: the {arc_count} arcs count from 0"
        )
    return int(arc)
