"""Inverse dynamics in any arithmetic: the recursion of `rnea.py` on numbers that know + - * sin and cos.

For enclosures of torques over time, where a number is a Taylor model; a complex number, a fraction with many
digits or a symbol would do as well. Loads on links are not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dynamics.kernels.packed_model import (
    ARMATURE,
    BASIS,
    COORDINATE,
    INERTIA,
    LINK,
    MASS,
    MOMENT,
    OFFSET,
    PARENT,
    POSITION,
    RATIO,
    ROTATION,
    SLIDE,
    TURN,
)

if TYPE_CHECKING:
    from dynamics.kernels.packed_model import PackedModel

Vector = Sequence[Any]  # three numbers
Frame = Sequence[Vector]  # three axes
Wrench = tuple[Vector, Vector]  # moment, force


def rnea_any_arithmetic(
    packed: PackedModel, q: Vector, v: Vector, a: Vector, number: Callable[[float], Any]
) -> tuple[list[Any], list[Wrench], Wrench]:
    """(torques, wrench of every joint on its link in link axes, wrench of the ground), as `inverse_dynamics`.

    q, v, a : n numbers each, with + - * and the methods sin and cos
    number : makes a number of a constant of the model; floats may be among what it makes
    """
    tree, bodies = packed.tree, len(packed.tree)
    numbers = [[number(value) for value in row] for row in packed.numbers.tolist()]
    zero: Vector = (0.0, 0.0, 0.0)
    frames: list[Frame] = [()] * bodies
    omega: list[Vector] = [zero] * bodies
    alpha, linear, origins = list(omega), list(omega), list(omega)
    wrenches: list[Wrench] = [(zero, zero)] * bodies
    torques: list[Any] = [0.0] * packed.n
    linear[0] = numbers[0][POSITION : POSITION + 3]
    for body in range(1, bodies):
        i, parent, row = tree[body, COORDINATE], tree[body, PARENT], numbers[body]
        frame, origin = _local_pose(row, q[i])
        above = omega[parent], alpha[parent], linear[parent]
        omega[body], alpha[body], linear[body] = _moved(row, frame, origin, above, v[i], a[i])
        wrenches[body] = _newton_euler(row, omega[body], alpha[body], linear[body])
        frames[body], origins[body] = frame, origin
        torques[i] = torques[i] + row[ARMATURE] * a[i]
    on_links: list[Wrench] = [(zero, zero)] * packed.links
    for body in range(bodies - 1, 0, -1):
        i, parent, row = tree[body, COORDINATE], tree[body, PARENT], numbers[body]
        moment, force = wrenches[body]
        torques[i] = torques[i] + row[RATIO] * (row[TURN] * moment[2] + row[SLIDE] * force[2])
        if tree[body, LINK] >= 0:
            basis = row[BASIS : BASIS + 3], row[BASIS + 3 : BASIS + 6], row[BASIS + 6 : BASIS + 9]
            on_links[tree[body, LINK]] = _rotate_back(basis, moment), _rotate_back(basis, force)
        carried = _rotate(frames[body], force)
        turned = _add(_rotate(frames[body], moment), _cross(origins[body], carried))
        wrenches[parent] = _add(wrenches[parent][0], turned), _add(wrenches[parent][1], carried)
    return torques, on_links, wrenches[0]


def _local_pose(row: Sequence[Any], q: Any) -> tuple[Frame, Vector]:
    """Axes and origin of a body in the axes of its parent."""
    displacement = row[RATIO] * q + row[OFFSET]
    x, y, z = (row[first : first + 3] for first in (ROTATION, ROTATION + 3, ROTATION + 6))
    origin = _add(row[POSITION : POSITION + 3], _scale(row[SLIDE] * displacement, z))
    if row[TURN] == 0.0:
        return (x, y, z), origin
    angle = row[TURN] * displacement
    c, s = angle.cos(), angle.sin()
    return (_add(_scale(c, x), _scale(s, y)), _add(_scale(c, y), _scale(-s, x)), z), origin


def _moved(
    row: Sequence[Any], frame: Frame, origin: Vector, above: tuple[Vector, Vector, Vector], v: Any, a: Any
) -> tuple[Vector, Vector, Vector]:
    """Angular velocity, angular acceleration, acceleration of the origin of a body, in its own axes."""
    omega, alpha, linear = above
    swept = _add(_cross(alpha, origin), _cross(omega, _cross(omega, origin)))
    linear = _rotate_back(frame, _add(linear, swept))
    omega, alpha = _rotate_back(frame, omega), _rotate_back(frame, alpha)
    rate, acceleration = row[RATIO] * v, row[RATIO] * a
    turn, slide = row[TURN], row[SLIDE]
    x, y = omega[1] * rate, -(omega[0] * rate)  # omega x z rate
    twice = slide + slide
    return (
        (omega[0], omega[1], omega[2] + turn * rate),
        (alpha[0] + turn * x, alpha[1] + turn * y, alpha[2] + turn * acceleration),
        (linear[0] + twice * x, linear[1] + twice * y, linear[2] + slide * acceleration),
    )


def _newton_euler(row: Sequence[Any], omega: Vector, alpha: Vector, linear: Vector) -> Wrench:
    """(moment, force) that this motion of the body's frame needs, about its origin."""
    h, J = row[MOMENT : MOMENT + 3], row[INERTIA : INERTIA + 6]
    force = _add(_scale(row[MASS], linear), _add(_cross(alpha, h), _cross(omega, _cross(omega, h))))
    moment = _add(_symmetric_times(J, alpha), _cross(omega, _symmetric_times(J, omega)))
    return _add(moment, _cross(h, linear)), force


# --- vectors ------------------------------------------------------------------------------------------


def _add(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _scale(s: Any, a: Vector) -> Vector:
    return s * a[0], s * a[1], s * a[2]


def _dot(a: Vector, b: Vector) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _rotate(frame: Frame, a: Vector) -> Vector:
    """Components along the frame's axes -> components along the axes in which these are given."""
    x, y, z = frame
    return _add(_add(_scale(a[0], x), _scale(a[1], y)), _scale(a[2], z))


def _rotate_back(frame: Frame, a: Vector) -> Vector:
    return _dot(frame[0], a), _dot(frame[1], a), _dot(frame[2], a)


def _symmetric_times(J: Sequence[Any], a: Vector) -> Vector:
    return (
        J[0] * a[0] + J[1] * a[1] + J[2] * a[2],
        J[1] * a[0] + J[3] * a[1] + J[4] * a[2],
        J[2] * a[0] + J[4] * a[1] + J[5] * a[2],
    )
