"""Inverse dynamics in any arithmetic: the recursion of `rnea.py` on numbers that know + - * sin and cos.

For enclosures of torques over time, where a number is a Taylor model; a complex number, a fraction with many
digits or a symbol would do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dynamics.algorithms.any_arithmetic_vectors import (
    GROUND,
    ZERO,
    Frame,
    Vector,
    add,
    cross,
    local_pose,
    rotate,
    rotate_back,
    scale,
    symmetric_times,
    world_pose,
)
from dynamics.model.packed_model import (
    ARMATURE,
    BASIS,
    COORDINATE,
    INERTIA,
    LINK,
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

Wrench = tuple[Vector, Vector]  # moment, force
NO_LOADS: Mapping[int, Sequence[Any]] = MappingProxyType({})


def rnea_any_arithmetic(
    packed: PackedModel,
    q: Vector,
    v: Vector,
    a: Vector,
    number: Callable[[float], Any],
    loads: Mapping[int, Sequence[Any]] = NO_LOADS,
) -> tuple[list[Any], list[Wrench], Wrench]:
    """(torques, wrench of every joint on its link in link axes, wrench of the ground), as `inverse_dynamics`.

    q, v, a : n numbers each, with + - * and the methods sin and cos
    number : makes a number of a constant of the model; floats may be among what it makes
    loads : number of a link -> [moment; force] that acts on it, world axes, about the world origin
    """
    tree, bodies = packed.tree, len(packed.tree)
    numbers = [[number(value) for value in row] for row in packed.numbers.tolist()]
    frames: list[Frame] = [GROUND] * bodies
    omega: list[Vector] = [ZERO] * bodies
    alpha, linear, origins = list(omega), list(omega), list(omega)
    world = [(GROUND, ZERO)] * bodies
    wrenches: list[Wrench] = [(ZERO, ZERO)] * bodies
    torques: list[Any] = [0.0] * packed.n
    linear[0] = numbers[0][POSITION : POSITION + 3]
    for body in range(1, bodies):
        i, parent, row = tree[body, COORDINATE], tree[body, PARENT], numbers[body]
        frame, origin = local_pose(row, q[i])
        above = omega[parent], alpha[parent], linear[parent]
        omega[body], alpha[body], linear[body] = _moved(row, frame, origin, above, v[i], a[i])
        wrenches[body] = _newton_euler(row, omega[body], alpha[body], linear[body])
        frames[body], origins[body] = frame, origin
        torques[i] = torques[i] + row[ARMATURE] * a[i]
        if loads:
            world[body] = world_pose(frame, origin, *world[parent])
            if tree[body, LINK] in loads:
                wrenches[body] = _relieved(wrenches[body], loads[tree[body, LINK]], *world[body])
    on_links: list[Wrench] = [(ZERO, ZERO)] * packed.links
    for body in range(bodies - 1, 0, -1):
        i, parent, row = tree[body, COORDINATE], tree[body, PARENT], numbers[body]
        moment, force = wrenches[body]
        torques[i] = torques[i] + row[RATIO] * (row[TURN] * moment[2] + row[SLIDE] * force[2])
        if tree[body, LINK] >= 0:
            basis = row[BASIS : BASIS + 3], row[BASIS + 3 : BASIS + 6], row[BASIS + 6 : BASIS + 9]
            on_links[tree[body, LINK]] = rotate_back(basis, moment), rotate_back(basis, force)
        carried = rotate(frames[body], force)
        turned = add(rotate(frames[body], moment), cross(origins[body], carried))
        wrenches[parent] = add(wrenches[parent][0], turned), add(wrenches[parent][1], carried)
    return torques, on_links, wrenches[0]


def _moved(
    row: Sequence[Any], frame: Frame, origin: Vector, above: tuple[Vector, Vector, Vector], v: Any, a: Any
) -> tuple[Vector, Vector, Vector]:
    """Angular velocity, angular acceleration, acceleration of the origin of a body, in its own axes."""
    omega, alpha, linear = above
    swept = add(cross(alpha, origin), cross(omega, cross(omega, origin)))
    linear = rotate_back(frame, add(linear, swept))
    omega, alpha = rotate_back(frame, omega), rotate_back(frame, alpha)
    rate, acceleration = row[RATIO] * v, row[RATIO] * a
    turn, slide = row[TURN], row[SLIDE]
    x, y = omega[1] * rate, -(omega[0] * rate)  # omega x z rate
    twice = slide + slide
    return (
        (omega[0], omega[1], omega[2] + turn * rate),
        (alpha[0] + turn * x, alpha[1] + turn * y, alpha[2] + turn * acceleration),
        (linear[0] + twice * x, linear[1] + twice * y, linear[2] + slide * acceleration),
    )


def _relieved(wrench: Wrench, load: Sequence[Any], frame: Frame, origin: Vector) -> Wrench:
    """A wrench in the axes of a body, about its origin, less a load on it in world axes."""
    force = load[3:6]
    lever = cross(origin, force)
    moment = [m - about for m, about in zip(load[:3], lever, strict=True)]
    own = rotate_back(frame, moment), rotate_back(frame, force)
    return add(wrench[0], scale(-1.0, own[0])), add(wrench[1], scale(-1.0, own[1]))


def _newton_euler(row: Sequence[Any], omega: Vector, alpha: Vector, linear: Vector) -> Wrench:
    """(moment, force) that this motion of the body's frame needs, about its origin."""
    h, J = row[MOMENT : MOMENT + 3], row[INERTIA : INERTIA + 6]
    force = add(scale(row[MASS], linear), add(cross(alpha, h), cross(omega, cross(omega, h))))
    moment = add(symmetric_times(J, alpha), cross(omega, symmetric_times(J, omega)))
    return add(moment, cross(h, linear)), force
