"""Poses and velocities of frames, centre of mass, momentum and energies in any arithmetic.

For enclosures over time, where a number is a Taylor model. World axes, one pass outward; the compiled
counterparts are in `quantities/frames.py` and `quantities/momentum.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynamics.algorithms.any_arithmetic_vectors import (
    GROUND,
    ZERO,
    Frame,
    Vector,
    add,
    cross,
    dot,
    local_pose,
    rotate,
    rotate_back,
    scale,
    symmetric_times,
    world_pose,
)
from dynamics.model.packed_model import (
    ARMATURE,
    COORDINATE,
    INERTIA,
    MASS,
    MOMENT,
    PARENT,
    POSITION,
    RATIO,
    SLIDE,
    TURN,
)

if TYPE_CHECKING:
    from dynamics.model.packed_model import PackedModel


@dataclass(frozen=True)
class MovingFrame:
    """World axes (three vectors), origin, angular velocity and velocity of the origin, of a body or frame."""

    axes: Frame
    origin: Vector
    omega: Vector
    velocity: Vector

    def at(self, axes: Frame, place: Vector) -> MovingFrame:
        """A frame fixed to the body, from its axes and its origin in the body's axes."""
        moved, origin = world_pose(axes, place, self.axes, self.origin)
        lever = rotate(self.axes, place)
        return MovingFrame(moved, origin, self.omega, add(self.velocity, cross(self.omega, lever)))


@dataclass(frozen=True)
class MassSums:
    """Sums over all bodies: centre of mass, momentum about the world origin [angular; linear], energies."""

    centre_of_mass: Vector
    momentum: list[Any]
    kinetic_energy: Any
    potential_energy: Any


AT_REST = MovingFrame(GROUND, ZERO, ZERO, ZERO)


def moving_bodies(
    packed: PackedModel, q: Sequence[Any], v: Sequence[Any], number: Callable[[float], Any]
) -> list[MovingFrame]:
    """All bodies, the ground first; q, v : n numbers with + - * and the methods sin and cos."""
    found = [AT_REST] * len(packed.tree)
    for body in range(1, len(packed.tree)):
        i, above = packed.tree[body, COORDINATE], found[packed.tree[body, PARENT]]
        row = [number(value) for value in packed.numbers[body].tolist()]
        moved = above.at(*local_pose(row, q[i]))
        rate = row[RATIO] * v[i]
        axis = scale(rate, moved.axes[2])
        omega = add(moved.omega, scale(row[TURN], axis))
        velocity = add(moved.velocity, scale(row[SLIDE], axis))
        found[body] = MovingFrame(moved.axes, moved.origin, omega, velocity)
    return found


def mass_sums(
    packed: PackedModel, bodies: Sequence[MovingFrame], v: Sequence[Any], number: Callable[[float], Any]
) -> MassSums:
    """The sums over moving bodies; v : n numbers with + - * /, as the centre of mass is a quotient."""
    first, angular, linear = ZERO, ZERO, ZERO
    twice: Any = 0.0
    total: Any = 0.0
    for body, (values, moving) in enumerate(zip(packed.numbers.tolist(), bodies, strict=True)):
        if body == 0:
            continue
        row = [number(value) for value in values]
        lever = rotate(moving.axes, row[MOMENT : MOMENT + 3])
        total = total + row[MASS]
        first = add(first, add(scale(row[MASS], moving.origin), lever))
        push = add(scale(row[MASS], moving.velocity), cross(moving.omega, lever))
        own = rotate_back(moving.axes, moving.omega)
        spin = rotate(moving.axes, symmetric_times(row[INERTIA : INERTIA + 6], own))
        spin = add(spin, cross(lever, moving.velocity))
        linear, angular = add(linear, push), add(angular, add(spin, cross(moving.origin, push)))
        rate = v[packed.tree[body, COORDINATE]]
        twice = twice + dot(moving.velocity, push) + dot(moving.omega, spin) + row[ARMATURE] * rate * rate
    against_gravity = [number(value) for value in packed.numbers[0, POSITION : POSITION + 3].tolist()]
    return MassSums(
        centre_of_mass=tuple(component / total for component in first),
        momentum=[*angular, *linear],
        kinetic_energy=number(0.5) * twice,
        potential_energy=dot(against_gravity, first),
    )
