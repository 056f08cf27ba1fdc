"""The contact of a call of `Problem.contact`: its arguments, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base import arguments
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.protocols.dynamics import FloatingDynamics
from trajopt.problem.contacts.contact import WORLD, Contact, Surface, corners
from trajopt.problem.contacts.ground import Ground
from trajopt.problem.contacts.solids import Box

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trajopt.graph.protocols.dynamics import Dynamics

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
