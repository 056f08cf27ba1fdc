"""Outputs of a robot with designed properties as one function of all inputs, for nodes with equal properties.

out = T(g) f(z(u, x), y(x)): see `designed_block`. Inputs and outputs stand side by side in the order of the
block's; `columns` and `rows` say where each is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dynamics.blocks.designed_inertia import Component, designed_parts
from dynamics.blocks.extended_robot import ExtendedRobot
from dynamics.blocks.inertial_derivatives import (
    OF_FRAMES,
    InertialDerivatives,
    side_by_side,
    with_numbers,
)
from dynamics.model.packed_model import BASIS
from dynamics.model.properties import ModelProperty

MOTION = ("q", "v", "a")

Array = np.ndarray


class DesignedFunction:
    """T f(z, y) with Jacobian (nodes, outputs, inputs) and contracted Hessian (nodes, inputs, inputs).

    inner, without_loads : the block of the extended robot, and the one that knows no loads on links
    """

    def __init__(
        self,
        inner: Any,
        without_loads: Any,
        robot: ExtendedRobot,
        designs: Mapping[str, ModelProperty],
        fixed: Mapping[str, Array],
        inputs: Mapping[str, int],
        prefix: str,
    ) -> None:
        self.inner, self.without_loads = inner, without_loads
        self.robot, self.fixed, self.prefix = robot, fixed, prefix
        self.parts = designed_parts(robot, designs)
        self.components: list[Component] = []  # of inertial properties that vary, where masses have an effect
        if not all(name.startswith(OF_FRAMES) for name in inner.outputs):
            self.components = [
                (name, int(k)) for name in self.parts for k in np.flatnonzero(np.isnan(fixed[name]))
            ]
        self.motion = tuple(name for name in MOTION if name in inner.inputs)
        self.n = len(robot.own)
        self.columns = side_by_side(inputs)
        self.count = sum(inputs.values())
        # of the inner function: its inputs, then the inertial numbers
        self.inner_columns = side_by_side(inner.inputs)
        self.inner_count = sum(inner.inputs.values())
        self.inner_rows = side_by_side(inner.outputs)
        outer = {name: self.n if name == "tau" else width for name, width in inner.outputs.items()}
        self.rows = side_by_side(outer)
        self.row_count, self.inner_row_count = sum(outer.values()), sum(inner.outputs.values())
        # One call each: copies with other numbers then share what these cache of the tree.
        for each in (inner, without_loads):
            node = {name: np.zeros((1, width)) for name, width in each.inputs.items()}
            each.partials(node)
            each.curvature(node, {name: np.zeros((1, width)) for name, width in each.outputs.items()})

    # --- the three functions --------------------------------------------------------------------------

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs, each (nodes, width)."""
        x = self._properties(u)
        found = with_numbers(self.inner, self._numbers(x)).value(self._inner_inputs(u, x))
        if "tau" in found:
            found["tau"] = found["tau"] @ self._selection(x)
        return found

    def jacobian(self, u: Mapping[str, Array]) -> Array:
        """d out / d inputs, (nodes, outputs, inputs)."""
        x = self._properties(u)
        z, Z, T = self._inner_inputs(u, x), self._motion_jacobian(u, x), self._output_map(x)
        numbers = self._numbers(x)
        found = T @ (self._inner_jacobian(numbers, x, z) @ Z)
        if self.robot.gears and "tau" in self.rows:
            tau = with_numbers(self.inner, numbers).value(z)["tau"]
            for gear in self.robot.gears:
                row = self.rows["tau"].start + gear.driver
                found[:, row, self._column(gear.name)] += gear.ratio * tau[:, gear.rotor]
        return found

    def hessian(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Array:
        """d2 sum(adjoint . out) / d inputs d inputs, (nodes, inputs, inputs)."""
        x = self._properties(u)
        z, Z, T = self._inner_inputs(u, x), self._motion_jacobian(u, x), self._output_map(x)
        numbers = self._numbers(x)
        weights = np.zeros((len(Z), self.row_count))
        for name, given in adjoints.items():
            weights[:, self.rows[name]] = given
        inner_weights = weights @ T
        found = Z.transpose(0, 2, 1) @ self._inner_hessian(numbers, x, z, inner_weights) @ Z
        if self.robot.gears:
            self._add_gears(found, weights, inner_weights, self._inner_jacobian(numbers, x, z), Z)
        return found

    # --- properties, extended motion ------------------------------------------------------------------

    def _properties(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """The values of the first node, which are those of all; fixed components as they were given."""
        return {
            name: np.where(np.isnan(fixed), u[f"{self.prefix}{name}"][0], fixed)
            for name, fixed in self.fixed.items()
        }

    def _selection(self, x: Mapping[str, Array]) -> Array:
        """A of q' = A q + b, (n', n)."""
        A = np.zeros((self.robot.model.n, self.n))
        A[self.robot.own, np.arange(self.n)] = 1.0
        for gear in self.robot.gears:
            A[gear.rotor, gear.driver] = x[gear.name][0] * gear.ratio
        return A

    def _inner_inputs(self, u: Mapping[str, Array], x: Mapping[str, Array]) -> dict[str, Array]:
        """Motion of the extended robot, and the loads."""
        A, b = self._selection(x), np.zeros(self.robot.model.n)
        for length in self.robot.lengths:
            b[length.coordinate] = x[length.name][length.component]
        for gear in self.robot.gears:
            b[gear.rotor] = x[gear.name][0] * gear.offset
        found = {name: u[name] @ A.T for name in self.motion}
        found["q"] = found["q"] + b
        return found | {name: u[name] for name in self.inner.inputs if name not in self.motion}

    def _motion_jacobian(self, u: Mapping[str, Array], x: Mapping[str, Array]) -> Array:
        """d (z, y) / d inputs, (nodes, inner inputs + inertial components, inputs)."""
        A, nodes = self._selection(x), len(u["q"])
        Z = np.zeros((nodes, self.inner_count + len(self.components), self.count))
        for name in self.inner.inputs:
            width = self.inner.inputs[name]
            Z[:, self.inner_columns[name], self.columns[name]] = A if name in self.motion else np.eye(width)
        first = self.inner_columns["q"].start
        for length in self.robot.lengths:
            Z[:, first + length.coordinate, self._column(length.name, length.component)] = 1.0
        for gear in self.robot.gears:
            column = self._column(gear.name)
            for name in self.motion:
                driven = gear.ratio * u[name][:, gear.driver] + gear.offset * (name == "q")
                Z[:, self.inner_columns[name].start + gear.rotor, column] = driven
        for k, (name, component) in enumerate(self.components):
            Z[:, self.inner_count + k, self._column(name, component)] = 1.0
        return Z

    def _output_map(self, x: Mapping[str, Array]) -> Array:
        """T, (outputs, inner outputs): A' for torques, the identity for all else."""
        T = np.zeros((self.row_count, self.inner_row_count))
        for name, rows in self.rows.items():
            width = rows.stop - rows.start
            T[rows, self.inner_rows[name]] = self._selection(x).T if name == "tau" else np.eye(width)
        return T

    def _column(self, name: str, component: int = 0) -> int:
        return self.columns[f"{self.prefix}{name}"].start + component

    def _add_gears(self, H: Array, weights: Array, inner_weights: Array, slopes: Array, Z: Array) -> None:
        """Second derivatives of z and of T by gear ratios and motion, added in place."""
        gradient = (inner_weights[:, None] @ slopes)[:, 0]
        for gear in self.robot.gears:
            column = self._column(gear.name)
            for name in self.motion:
                by_rotor = gear.ratio * gradient[:, self.inner_columns[name].start + gear.rotor]
                driver = self.columns[name].start + gear.driver
                H[:, column, driver] += by_rotor
                H[:, driver, column] += by_rotor
            if "tau" in self.rows:
                of_torque = gear.ratio * weights[:, self.rows["tau"].start + gear.driver]
                row = slopes[:, self.inner_rows["tau"].start + gear.rotor]
                by_inputs = of_torque[:, None] * (row[:, None] @ Z)[:, 0]
                H[:, column, :] += by_inputs
                H[:, :, column] += by_inputs

    # --- the inner function ---------------------------------------------------------------------------

    def _numbers(self, x: Mapping[str, Array]) -> Array:
        """The flat array of the extended robot with these properties."""
        numbers = self.robot.model.packed.numbers.copy()
        for part in dict.fromkeys(self.parts.values()):
            numbers[part.row, :BASIS] += part.change(x)
        return numbers

    def _inertial(self, numbers: Array, z: Mapping[str, Array]) -> InertialDerivatives:
        return InertialDerivatives(self.inner, self.without_loads, numbers, z)

    def _inner_jacobian(self, numbers: Array, x: Mapping[str, Array], z: Mapping[str, Array]) -> Array:
        """d f / d (z, y), (nodes, inner outputs, inner inputs + components)."""
        found = np.zeros((len(z["q"]), self.inner_row_count, self.inner_count + len(self.components)))
        for (output, name), part in with_numbers(self.inner, numbers).partials(z).items():
            found[:, self.inner_rows[output], self.inner_columns[name]] = part
        inertial = self._inertial(numbers, z)
        for k, (name, component) in enumerate(self.components):
            found[:, :, self.inner_count + k] = inertial.value(self.parts[name].first(x, name, component))
        return found

    def _inner_hessian(
        self, numbers: Array, x: Mapping[str, Array], z: Mapping[str, Array], weights: Array
    ) -> Array:
        """d2 sum(weight . f) / d (z, y)^2, (nodes, inner inputs + components, the same)."""
        size, first = self.inner_count + len(self.components), self.inner_count
        H = np.zeros((len(weights), size, size))
        cut = {name: np.ascontiguousarray(weights[:, rows]) for name, rows in self.inner_rows.items()}
        for (one, other), part in with_numbers(self.inner, numbers).curvature(z, cut).items():
            rows, columns = self.inner_columns[one], self.inner_columns[other]
            H[:, rows, columns] = part
            H[:, columns, rows] = part.transpose(0, 2, 1)
        inertial = self._inertial(numbers, z)
        changes = [self.parts[name].first(x, name, component) for name, component in self.components]
        for k, change in enumerate(changes):
            mixed = (weights[:, None] @ inertial.slope(change))[:, 0]
            H[:, first + k, : mixed.shape[1]] = H[:, : mixed.shape[1], first + k] = mixed
        for i, one in enumerate(self.components):
            for j in range(i, len(changes)):
                other, part = self.components[j], self.parts[one[0]]
                change = part.second(x, one, other) if part is self.parts[other[0]] else None
                both = (weights * inertial.second(changes[i], changes[j], change)).sum(axis=1)
                H[:, first + i, first + j] = H[:, first + j, first + i] = both
        return H
