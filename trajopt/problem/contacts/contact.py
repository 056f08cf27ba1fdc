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

`Contact` is that of a call of `Problem.contact`, with its arguments checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base import arguments
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.protocols import FloatingDynamics
from trajopt.graph.quantities import AXIS_NAMES
from trajopt.problem.contacts.ground import Box, Ground, Plane
from trajopt.terms.arithmetic import AXES, cross, difference_of, dot, total, turned, turned_back
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trajopt.graph.protocols import Dynamics
    from trajopt.graph.trace import NodeSymbols


DIRECTIONS = 4  # edges of the friction pyramid, each with its lambda
WORLD = "".join(AXIS_NAMES)
Surface = Ground | Plane
NEARLY_ONE = 1e-6  # of the size of a sole


@dataclass(frozen=True)
class StatedRows:
    """Numbers of the rows of `Contact.own_velocity`, and of the points whose height is stated."""

    velocity: tuple[int, ...]
    heights: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Contact:
    """A foot that stands on the ground in some arcs, as `Problem.contact` adds it.

    frame, link : the foot, and the link that carries it
    arcs : in which it stands
    ground : of every arc, the surface that it stands on or swings above
    points : (k, 3) m, of the sole, in axes of the frame: a single one of a point foot, two or more on a line
        of an edge, which may roll about it
    friction : mu
    weight : N, of the robot; forces are unknown in multiples of it
    held : arc -> axes, 0 to 2, along which a point foot does not move; of a sole all. That it is on the
        ground is stated where the upward one is among them. Where some are free, they are those of the
        surface, which on level ground are the world's
    obstacles : boxes of which its points stay outside while it swings
    continuous : whether its force is, zero where it touches down and lifts off
    impact : whether it may land with velocity
    stated : arc -> the rows that are stated where others of them repeat those of other contacts
    force : term, (3,) N, world axes, of the ground on the foot; zero while it swings
    """

    frame: str
    link: str
    arcs: tuple[int, ...]
    ground: Mapping[int, Surface]
    points: Array = field(repr=False)
    friction: float
    weight: float
    held: Mapping[int, tuple[int, ...]] = field(repr=False)
    continuous: bool = False
    impact: bool = False
    obstacles: tuple[Box, ...] = ()
    stated: Mapping[int, StatedRows] = field(default_factory=dict, repr=False)

    @property
    def is_point(self) -> bool:
        """True if only the place is held, not the orientation."""
        return len(self.points) == 1

    @property
    def corners(self) -> list[int]:
        """Numbers of the points that place the foot: one of a point, two of a line, three of a sole."""
        return corners(self.points)

    @property
    def grounds(self) -> dict[Surface, tuple[int, ...]]:
        """The surfaces that it stands on, and the arcs in which it does."""
        each = {ground: () for ground in (self.ground[arc] for arc in self.arcs)}
        return {one: tuple(arc for arc in self.arcs if self.ground[arc] == one) for one in each}

    @property
    def curves(self) -> tuple[str, ...]:
        """Names of the unknown curves lambda, one for every surface."""
        own = f"push {self.frame}"
        return tuple(f"{own} {number}" if number > 1 else own for number in range(1, 1 + len(self.grounds)))

    def curve_of(self, arc: int) -> str:
        """Name of the curve lambda of the surface of an arc in which it stands."""
        return dict(zip(self.grounds, self.curves, strict=True))[self.ground[arc]]

    @property
    def force(self) -> ExpressionTerm:
        """The force of the ground on the foot, (3,) N, world axes."""
        return ExpressionTerm(self._force, f"force on {self.frame}", AXIS_NAMES, "N")

    @property
    def load(self) -> ExpressionTerm:
        """The wrench of the ground on the foot's link, (6,) [moment; force] about the world origin."""
        return ExpressionTerm(self.wrench, f"force at {self.frame} on {self.link}")

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

    def impulse_wrench(self, node: NodeSymbols, arc: int) -> list[Number]:
        """(6,) [moment; impulse] about the world origin, N m s and N s, where an arc begins."""
        shares = node.parameter(self.impulse_name(arc))
        return _wrench(self._at_points(node, self.ground[arc], shares))

    def touches_down(self, arc: int) -> bool:
        """True if it stands in an arc and not in the one before."""
        return arc in self.arcs and arc - 1 not in self.arcs

    def is_held_upwards(self, arc: int) -> bool:
        """True if its height is held in an arc."""
        return not self.is_point or self.ground[arc].order[2] in self.held[arc]

    def place(self, node: NodeSymbols, offset: Array) -> list[Number]:
        """(3,) m, world axes, of a point of the sole."""
        origin = node.position(self.frame)
        away = turned(node.orientation(self.frame), offset) if offset.any() else offset
        return [origin[i] + away[i] for i in AXES]

    def wrench(self, node: NodeSymbols) -> list[Number]:
        """(6,) [moment; force] about the world origin, N m and N."""
        return _wrench(self.pushes(node, node.extra))

    def reaction(self, node: NodeSymbols, frame: str) -> list[Number]:
        """(6,) the opposite wrench on what a frame's surfaces belong to."""
        on_it = [ground for ground in self.grounds if ground.frame == frame]
        return [-each for each in _wrench(self.pushes(node, node.extra, on_it))]

    def pushes(
        self, node: NodeSymbols, read: Callable[[str], Number], surfaces: Sequence[Surface] | None = None
    ) -> Iterator[tuple[list[Number], list[Number]]]:
        """Place and force, or what `read` gives of it, of every point of the sole and every surface.

        A foot that never stands has a force of zero at its first point.
        """
        if not self.grounds:
            place = self.place(node, self.points[0])
            yield place, [0.0 * x for x in place]
        for ground, curve in zip(self.grounds, self.curves, strict=True):
            if surfaces is None or ground in surfaces:
                yield from self._at_points(node, ground, read(curve))

    def _at_points(
        self, node: NodeSymbols, ground: Surface, shares: Array
    ) -> Iterator[tuple[list[Number], list[Number]]]:
        for number, offset in enumerate(self.points):
            place = self.place(node, offset)
            share = [shares[DIRECTIONS * number + k] for k in range(DIRECTIONS)]
            yield place, self.pushed(axes_of(node, ground, place), share)

    def _force(self, node: NodeSymbols) -> list[Number]:
        return self.wrench(node)[3:]

    def _impulse(self, node: NodeSymbols, arc: int) -> list[Number]:
        return self.impulse_wrench(node, arc)[3:]

    def _force_rate(self, node: NodeSymbols) -> list[Number]:
        return total(force for _, force in self.pushes(node, node.rate))

    def pushed(self, axes: Sequence[Sequence[Number]], share: Sequence[Number]) -> list[Number]:
        """(3,) N, world axes, the force at one point of the sole of its four lambda.

        axes : tangents and normal of the surface there, world axes
        """
        sizes = self.friction * (share[0] - share[1]), self.friction * (share[2] - share[3]), sum(share)
        parts = list(zip(axes, sizes, strict=True))
        return [self.weight * sum(size * axis[i] for axis, size in parts) for i in AXES]

    def height(self, node: NodeSymbols, arc: int, points: Array) -> list[Number]:
        """(points,) m, of points of the sole above the surface of an arc."""
        ground = self.ground[arc]
        return [ground.gap(seen_from(node, ground.frame, self.place(node, offset))) for offset in points]

    def distances(self, node: NodeSymbols, obstacle: Box) -> list[Number]:
        """(points,) m, of the points of the sole from a box."""
        places = (self.place(node, offset) for offset in self.points)
        return [obstacle.distance(seen_from(node, obstacle.frame, place)) for place in places]

    def velocity(self, node: NodeSymbols, arc: int) -> list[Number]:
        """Velocity that is zero while the foot stands, rad/s and m/s, against the surface where that moves.

        (held,) of a point foot v + omega x R r along the axes held; (5,) of a line, omega across it and v of
        its first point; (6,) of a sole, omega and v of the frame.
        """
        points, ground = self.corners, self.ground[arc]
        first = self.points[0] if len(points) < 3 else np.zeros(3)
        omega, speed = self.motion(node, ground, first)
        if len(points) == 3:
            return [*omega, *speed]
        if self.is_point and len(self.held[arc]) < len(WORLD):
            axes = axes_of(node, ground, self.place(node, first))
            return [dot(axes[ground.order.index(i)], speed) for i in self.held[arc]]
        if self.is_point:
            return speed
        across = basis_about(self.points[points[1]] - first)[:2].tolist()
        return [*(dot(turned(node.orientation(self.frame), axis), omega) for axis in across), *speed]

    def own_velocity(self, node: NodeSymbols, arc: int) -> list[Number]:
        """`velocity`, of a foot that is held along all axes in axes of the foot."""
        rows = self.velocity(node, arc)
        if self.is_point and len(self.held[arc]) < len(WORLD):
            return rows
        turns, orientation = len(rows) - len(WORLD), node.orientation(self.frame)
        before = turned_back(orientation, rows[:turns]) if turns == len(WORLD) else rows[:turns]
        return [*before, *turned_back(orientation, rows[turns:])]

    def stated_velocity(self, node: NodeSymbols, arc: int) -> list[Number]:
        """The rows of its velocity that are stated to be zero in an arc."""
        if arc not in self.stated:
            return self.velocity(node, arc)
        rows = self.own_velocity(node, arc)
        return [rows[row] for row in self.stated[arc].velocity]

    def placed(self, arc: int) -> Array:
        """(k, 3) m, the points whose height is stated where it touches down."""
        points = self.points[self.corners if self.is_held_upwards(arc) else []]
        return points[list(self.stated[arc].heights)] if arc in self.stated else points

    @property
    def left_out(self) -> dict[int, tuple[str, ...]]:
        """Arc -> the rows of its velocity that repeat those of other contacts, and are not stated."""
        return {
            arc: tuple(name for row, name in enumerate(self.rows_of(arc)) if row not in rows.velocity)
            for arc, rows in self.stated.items()
        }

    def rows_of(self, arc: int) -> list[str]:
        """Names of the rows of `own_velocity`."""
        turns = (0, 2, 3)[len(self.corners) - 1]
        about = ["about y", "about z"] if turns == 2 else [f"about {axis}" for axis in WORLD[:turns]]
        return [*about, *(WORLD[i] for i in (self.held[arc] if self.is_point else AXES))]

    def motion(self, node: NodeSymbols, ground: Surface, offset: Array) -> tuple[list[Number], list[Number]]:
        """(3,) rad/s and (3,) m/s, world axes, of the foot and of one of its points against a surface."""
        column = node.velocity(self.frame)
        omega, speed = ([column[part + i] for i in AXES] for part in (0, 3))
        if offset.any():
            speed = total([speed, cross(omega, turned(node.orientation(self.frame), offset))])
        if ground.frame is None:
            return omega, speed
        moving = node.velocity(ground.frame)
        carried = cross(moving, difference_of(self.place(node, offset), node.position(ground.frame)))
        own = [moving[3 + i] + carried[i] for i in AXES]
        return difference_of(omega, moving), difference_of(speed, own)

    def slip_speed(self, node: NodeSymbols, arc: int) -> list[Number]:
        """(2,) m/s, of the first point of the sole along the tangents of the surface of an arc."""
        ground, first = self.ground[arc], self.points[0]
        axes = axes_of(node, ground, self.place(node, first))[:2]
        return [dot(axis, self.motion(node, ground, first)[1]) for axis in axes]

    def power(self, node: NodeSymbols, arc: int) -> Number:
        """W, of the tangential forces of the surface of an arc on all points of the foot, as they move."""
        ground, parts = self.ground[arc], []
        pushes = self._at_points(node, ground, node.extra(self.curve_of(arc)))
        for (place, force), offset in zip(pushes, self.points, strict=True):
            speed = self.motion(node, ground, offset)[1]
            tangents = axes_of(node, ground, place)[:2]
            parts += [dot(axis, force) * dot(axis, speed) for axis in tangents]
        return sum(parts)

    def footing(self, node: NodeSymbols, arc: int) -> list[Number]:
        """(3 points,) m, of all points of the sole, axes of what the surface of an arc belongs to."""
        places = (self.place(node, offset) for offset in self.points)
        return [x for place in places for x in seen_from(node, self.ground[arc].frame, place)]

    def velocity_units(self, arc: int) -> list[str]:
        """Components of `stated_velocity`."""
        every = ["rad/s" if name.startswith("about") else "m/s" for name in self.rows_of(arc)]
        return [every[row] for row in self.stated[arc].velocity] if arc in self.stated else every

    def footprint(self, node: NodeSymbols, arc: int) -> list[Number]:
        """(2 points,) m, x and y on the surface of an arc of every point of the sole."""
        ground, places = self.ground[arc], (self.place(node, offset) for offset in self.points)
        return [x for place in places for x in ground.coordinates(seen_from(node, ground.frame, place))]


def seen_from(node: NodeSymbols, frame: str | None, place: Sequence[Number]) -> list[Number]:
    """A place (3,) of the world in axes of a frame; as it is without one."""
    if frame is None:
        return list(place)
    return turned_back(node.orientation(frame), difference_of(place, node.position(frame)))


def axes_of(node: NodeSymbols, ground: Surface, place: Sequence[Number]) -> list[list[Number]]:
    """Tangents and normal of a surface near a place, all in world axes."""
    axes = ground.world_axes_at(seen_from(node, ground.frame, place))
    return axes if ground.frame is None else [turned(node.orientation(ground.frame), axis) for axis in axes]


def _wrench(forces: Iterable[tuple[Sequence[Number], Sequence[Number]]]) -> list[Number]:
    """(6,) [moment; force] about the world origin of forces at places."""
    return total([*cross(place, force), *force] for place, force in forces)


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


MOST_POINTS = 16  # of a sole


def contact_of(
    dynamics: Dynamics,
    arc_count: int,
    frame: str,
    arcs: Sequence[int],
    friction: float,
    points: ArrayLike | None,
    ground: Surface | Mapping[int, Surface],
    held: str | Mapping[int, str] = WORLD,
    continuous: bool = False,
    impact: bool = False,
    obstacles: Sequence[Box] = (),
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
    if set(surfaces) != set(every) or not all(isinstance(one, Surface) for one in surfaces.values()):
        raise OptionError(
            f"the ground of '{frame}' is {arguments.short_repr(ground)}: give a trajopt.Ground or Plane, or "
            f"one for each of the {arc_count} arcs, {{0: Ground(), 1: Ground(height=0.1)}}"
        )
    boxes = tuple(obstacles) if isinstance(obstacles, Iterable) else (obstacles,)
    if not all(isinstance(box, Box) for box in boxes):
        raise OptionError(
            f"the obstacles of '{frame}' are {arguments.short_repr(obstacles)}: give a list of trajopt.Box"
        )
    for solid in (*surfaces.values(), *boxes):
        if solid.frame is not None and link_of(dynamics, solid.frame) == link:
            raise OptionError(f"'{frame}' cannot touch '{solid.frame}', a part of its own link: name another")
    grounds = [one for one in surfaces.values() if isinstance(one, Ground)]
    check_upwards(grounds, dynamics.gravity, frame)
    check_one_ground_per_stance(surfaces, stands, frame)
    axes = held_axes(held, frame, stands)
    if len(sole) > 1 and any(len(axis) < len(WORLD) for axis in axes.values()):
        raise OptionError(f"'{frame}' has a sole, which holds all axes: held= is for point feet")
    for name, flag in (("continuous", continuous), ("impact", impact)):
        arguments.check_flag(name, flag)
    if impact and any(surfaces[arc].frame is not None for arc in stands):
        raise OptionError(
            f"'{frame}' lands with an impact on what moves: leave impact=True out, it lands softly"
        )
    mu, flags = float(friction), (bool(continuous), bool(impact))
    return Contact(frame, link, stands, surfaces, sole, mu, weight, axes, *flags, boxes)


def link_of(dynamics: Any, frame: str) -> str | None:
    """The link that carries a frame, None for the ground; raises for an unknown name."""
    pattern = dynamics.block([f"position:{frame}"]).pattern()
    return dynamics.carrier(frame) if any(np.any(depends) for depends in pattern.values()) else None


def standing_arcs(arcs: object, frame: str, arc_count: int) -> tuple[int, ...]:
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


def check_one_ground_per_stance(grounds: Mapping[int, Surface], arcs: Sequence[int], frame: str) -> None:
    """Raise OptionError where a foot stands on while its ground changes: it does not touch down again."""
    for arc in arcs:
        if arc - 1 in arcs and grounds[arc] != grounds[arc - 1]:
            raise OptionError(
                f"'{frame}' stands on from arc {arc - 1} to arc {arc}, but its ground changes there, from "
                f"{grounds[arc - 1]} to {grounds[arc]}: give both arcs one Ground, or let it swing in between"
            )


def held_axes(held: object, frame: str, arcs: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Arc -> world axes, 0 to 2, of what a caller holds."""
    each: dict[Any, Any] = dict(held) if isinstance(held, Mapping) else dict.fromkeys(arcs, held)
    letters = all(isinstance(axes, str) and set(axes) <= set(WORLD) for axes in each.values())
    if set(each) != set(arcs) or not letters or (each and not any(each.values())):
        raise OptionError(
            f"'{frame}' is held along {arguments.short_repr(held)}: give letters of 'xyz', or some for each "
            f"of the arcs {list(arcs)} in which it stands, {{0: 'xyz', 1: 'yz'}}"
        )
    return {arc: tuple(i for i, axis in enumerate(WORLD) if axis in axes) for arc, axes in each.items()}


def checked_arc(arc: object, frame: str, arc_count: int) -> int:
    if not arguments.is_whole(arc) or not 0 <= arc < arc_count:
        raise OptionError(
            f"'{frame}' is held in arc {arguments.short_repr(arc)}: the {arc_count} arcs count from 0"
        )
    return int(arc)
