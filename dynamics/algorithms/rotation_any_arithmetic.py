"""Rotation vectors in any arithmetic: motion and forces of the serial form from numbers with + - * and /.

With c_k(s) of `kernels/rotation_vectors/stumpff.py`, s = p . p, in axes of the link:

    omega = J p' = p' - c_2 p x p' + c_3 p x (p x p'),  omega' = J p'' + (dJ/dt) p',  tau = J' tau_e,
    e'' = omega' - (omega_2 omega_3, -omega_1 omega_3, omega_1 omega_2)

The series of c_k serves |p| up to 2 pi, where the chart ends; beyond it, NotImplementedError: no enclosure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.algorithms.any_arithmetic_vectors import (
    GivenRotation,
    Vector,
    add,
    cross,
    dot,
    scale,
)
from dynamics.kernels.rotation_vectors.stumpff import series

LONGEST = 2.0 * math.pi

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree


@dataclass(frozen=True)
class SerialNumbers:
    """q, v and a of the serial form, and how forces on it are forces on the rotation vectors.

    axes : (places of p in q, places of e, rows of J') of every rotation vector
    """

    motion: Mapping[str, list[Any]]
    own: Sequence[int]
    axes: Sequence[tuple[slice, Sequence[int], Sequence[Vector]]]

    def forces(self, serial: Sequence[Any]) -> list[Any]:
        """Generalized forces of the model, n numbers, from those of the serial form."""
        found = [serial[place] for place in self.own]
        for places, own, rows in self.axes:
            moment = [serial[place] for place in own]
            found[places] = [dot(row, moment) for row in rows]
        return found


def serial_numbers(
    model: KinematicTree, motion: Mapping[str, Sequence[Any]], number: Callable[[float], Any]
) -> SerialNumbers:
    """The motion of the serial form; motion : "q", then "v" and "a" where they are needed, n numbers each."""
    form = model.serial_bodies
    own = form.own.tolist()
    found: dict[str, list[Any]] = {name: [number(0.0)] * (max(own) + 1) for name in motion}
    for name, given in motion.items():
        for place, each in zip(own, given, strict=True):
            found[name][place] = each
    axes = []
    for joint in model.rotation_joints:
        places = own[joint.coordinates]
        p = list(motion["q"][joint.coordinates])
        chart = _Chart(p)
        found["q"][places[0] - 2] = GivenRotation(chart.frame())
        for still in (places[0] - 1, *places):
            found["q"][still] = GivenRotation(None)
        axes.append((joint.coordinates, places, chart.columns()))
        if "v" in motion:
            rate = motion["v"][joint.coordinates]
            omega = chart.times(rate)
            found["v"][places[0] : places[0] + 3] = omega
            if "a" in motion:
                x, y, z = chart.acceleration(rate, motion["a"][joint.coordinates])
                one, two, three = omega
                bent = (x - two * three, y + one * three, z - one * two)
                found["a"][places[0] : places[0] + 3] = bent
    return SerialNumbers(found, own, axes)


def largest(number: Any) -> float:
    """The largest size that a number, or any value of an enclosure, has; 0 where it does not say."""
    if isinstance(number, int | float | complex):
        return abs(number)
    return max(float(np.max(np.abs(bound))) for bound in getattr(number, "range", (0.0,)))


class _Chart:
    """Exp and its right Jacobian at one rotation vector."""

    def __init__(self, p: Vector) -> None:
        self.p, s = p, dot(p, p)
        if largest(s) > LONGEST**2:
            raise NotImplementedError("a rotation vector may be longer than 2 pi, where its chart ends")
        self.c = [series(s, k) for k in range(6)]

    def frame(self) -> list[Vector]:
        """Columns of Exp(p) = c_0 1 + c_1 p^ + c_2 p p'."""
        (x, y, z), (c0, c1, c2) = self.p, self.c[:3]
        turned = ((c0, c1 * z, -(c1 * y)), (-(c1 * z), c0, c1 * x), (c1 * y, -(c1 * x), c0))
        return [add(column, scale(c2 * each, self.p)) for column, each in zip(turned, self.p, strict=True)]

    def times(self, rate: Vector) -> list[Any]:
        """J rate."""
        turned = cross(self.p, rate)
        return list(add(rate, add(scale(-self.c[2], turned), scale(self.c[3], cross(self.p, turned)))))

    def acceleration(self, rate: Vector, second: Vector) -> list[Any]:
        """J second + (dJ/dt) rate; d c_k / ds = (k c_{k+2} - c_{k+1}) / 2."""
        p, c = self.p, self.c
        growth = dot(p, rate)  # half of ds/dt
        turned = cross(p, rate)
        twice = cross(p, turned)
        by_2 = growth * (c[4] + c[4] - c[3])  # d c_2 / dt
        by_3 = growth * (3.0 * c[5] - c[4])
        moved = add(scale(-by_2, turned), add(scale(by_3, twice), scale(c[3], cross(rate, turned))))
        return list(add(self.times(second), moved))

    def columns(self) -> list[Vector]:
        """Columns of J = 1 - c_2 p^ + c_3 (p p' - s 1): rows of its transpose."""
        (x, y, z), c2, c3 = self.p, self.c[2], self.c[3]
        diagonal = self.c[1]  # 1 - s c_3
        skew = ((diagonal, -(c2 * z), c2 * y), (c2 * z, diagonal, -(c2 * x)), (-(c2 * y), c2 * x, diagonal))
        return [add(column, scale(c3 * each, self.p)) for column, each in zip(skew, self.p, strict=True)]
