"""Derivatives of forces, momenta, energies and the centre of mass by inertial numbers of a robot.

A block f that is linear in these numbers N has df/dN dN = f(dN): its value on a robot that has the change in
place of its own numbers. Its derivatives by q, v and a follow in the same way. The centre of mass S / M is
the quotient of a first moment S and a mass M that are linear.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from dynamics.blocks.designed_inertia import NumbersOfBody
from dynamics.model.packed_model import ARMATURE, BASIS, MASS

CENTRE = "centre_of_mass"  # the only output that is not linear in the inertial numbers
OF_FRAMES = ("position:", "orientation:", "velocity:")  # outputs on which masses have no effect

Array = np.ndarray
Block = TypeVar("Block")


class InertialDerivatives:
    """Derivatives of all outputs of a block side by side, at motions z, by changes of inertial numbers.

    block : with loads, whose values and slopes count; without_loads : what is linear in the numbers
    numbers : the flat array of the robot at which derivatives are taken
    """

    def __init__(self, block: Any, without_loads: Any, numbers: Array, z: Mapping[str, Array]) -> None:
        self.block, self.linear, self.z = with_numbers(block, numbers), without_loads, z
        self.rows, self.columns = side_by_side(block.outputs), side_by_side(without_loads.inputs)
        self.nodes = len(z["q"])
        self.massless = numbers.copy()
        self.massless[:, ARMATURE:BASIS] = 0.0
        self.total_mass = float(numbers[1:, MASS].sum())

    def value(self, change: NumbersOfBody) -> Array:
        """d f along the change, (nodes, outputs)."""
        found = self._of_change(change, self._value)
        if CENTRE in self.rows:
            rows = self.rows[CENTRE]
            found[:, rows] = (found[:, rows] - self._centre * change.mass) / self.total_mass
        return found

    def slope(self, change: NumbersOfBody) -> Array:
        """d2 f along the change and by q, v, a, (nodes, outputs, inputs without loads)."""
        found = self._of_change(change, self._slope)
        if CENTRE in self.rows:
            rows = self.rows[CENTRE]
            found[:, rows] = (found[:, rows] - self._centre_slope * change.mass) / self.total_mass
        return found

    def second(self, one: NumbersOfBody, other: NumbersOfBody, both: NumbersOfBody | None) -> Array:
        """d2 f along two changes, (nodes, outputs); `both` is the second derivative of the numbers."""
        found = np.zeros((self.nodes, sum(self.block.outputs.values())))
        if both is not None:
            found = self._of_change(both, self._value)
        if CENTRE in self.rows:
            rows = self.rows[CENTRE]
            products = self.value(one)[:, rows] * other.mass + self.value(other)[:, rows] * one.mass
            found[:, rows] = (found[:, rows] - products) / self.total_mass
        return found

    @cached_property
    def _centre(self) -> Array:
        return self.block.value(self.z)[CENTRE]

    @cached_property
    def _centre_slope(self) -> Array:
        return self._side_by_side(self.block.partials(self.z))[:, self.rows[CENTRE]]

    def _of_change(self, change: NumbersOfBody, evaluate: Callable[[Any], Array]) -> Array:
        """f of the change, or its slopes; S in place of the centre of mass.

        S / M is evaluated where M is one: with a mass at the link's origin, whose part is then taken off.
        """
        numbers = self.massless.copy()
        numbers[change.row, :BASIS] += change.numbers
        missing = 1.0 - change.mass if CENTRE in self.rows else 0.0
        numbers[change.row, MASS] += missing
        found = evaluate(with_numbers(self.linear, numbers))
        if missing != 0.0:
            unit = self.massless.copy()
            unit[change.row, MASS] = 1.0
            found = found - missing * evaluate(with_numbers(self.linear, unit))
        for name, rows in self.rows.items():
            if name.startswith(OF_FRAMES):
                found[:, rows] = 0.0
        return found

    def _value(self, block: Any) -> Array:
        found = block.value(self.z)
        return np.concatenate([found[name] for name in self.rows], axis=1)

    def _slope(self, block: Any) -> Array:
        return self._side_by_side(block.partials(self.z))

    def _side_by_side(self, partials: Mapping[tuple[str, str], Array]) -> Array:
        rows, columns = sum(self.block.outputs.values()), sum(self.linear.inputs.values())
        found = np.zeros((self.nodes, rows, columns))
        for (output, name), part in partials.items():
            if name in self.columns:
                found[:, self.rows[output], self.columns[name]] = part
        return found


def with_numbers(block: Block, numbers: Array) -> Block:
    """The same block of a robot whose flat array is `numbers`; what follows from the tree is kept."""
    other: Any = copy.copy(block)
    other.model = copy.copy(other.model)
    packed = copy.copy(other.model.packed)
    packed.__dict__["numbers"] = numbers
    other.model.__dict__["packed"] = packed
    return other


def side_by_side(widths: Mapping[str, int]) -> dict[str, slice]:
    """Slice of each of several arrays that are put side by side."""
    starts = np.cumsum([0, *widths.values()]).tolist()
    return {name: slice(starts[i], starts[i + 1]) for i, name in enumerate(widths)}
