"""A block of a robot some of whose properties are inputs: masses, lengths, gear ratios.

With z the coordinates of the extended robot and y the designed inertial numbers, outputs are
T(x) f(z(u, x), y(x)) of motion and loads u and properties x. f and its derivatives by z are those of the
compiled block; by y they are its values on robots that have derivatives of the numbers, as f is linear in y;
z and T are bilinear. `designed_function` has the chain rule, for nodes with equal properties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.arguments import names_of
from dynamics.blocks.designed_function import DesignedFunction
from dynamics.blocks.extended_robot import extended_robot
from dynamics.blocks.inertial_derivatives import OF_FRAMES
from dynamics.blocks.model_block import ModelBlock, block, with_tau
from dynamics.blocks.motor_torque import MotorTorqueBlock
from dynamics.blocks.rotation_vectors import RotationVectorBlock
from dynamics.model.properties import OF_SPRINGS, checked_value, model_property

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

DESIGN = "design:"  # inputs that are properties

Array = np.ndarray
Pairs = dict[tuple[str, str], Array]


def designed_block(
    model: KinematicTree, outputs: Iterable[str], loads: Iterable[str], fixed: Mapping[str, Array]
) -> ModelBlock | DesignedBlock:
    """`block` with properties of the robot as further inputs; see `RigidBodyModel.designed_block`.

    Springs and dampers are inputs of "motor_torque" alone: no other quantity depends on them.
    """
    outputs, loads = names_of(outputs, "outputs"), names_of(loads, "loads")
    if model.rotation_joints:
        return RotationVectorBlock(model, designed_block, outputs, loads, fixed)
    parts = {name: model_property(model, name) for name in fixed}
    springs = {name: fixed[name] for name, part in parts.items() if part.attribute in OF_SPRINGS}
    others = {name: given for name, given in fixed.items() if name not in springs}
    asked = with_tau(outputs)
    inner = DesignedBlock(model, asked, loads, others) if others else block(model, asked, loads)
    return MotorTorqueBlock(model, inner, outputs, springs) if "motor_torque" in outputs else inner


class DesignedBlock:
    """The outputs of `model_block.block`, with inputs "design:PROPERTY" beside motion and loads.

    fixed : property -> (width,), NaN in components that vary; the others are taken from here
    Every array is (nodes, width). Nodes with equal properties are computed together.
    """

    derivatives_are_tested = True

    def __init__(
        self, model: KinematicTree, outputs: Iterable[str], loads: Iterable[str], fixed: Mapping[str, Array]
    ) -> None:
        outputs, loads = names_of(outputs, "outputs"), names_of(loads, "loads")
        designs = {name: model_property(model, name) for name in fixed}
        values = {name: designs[name].value(model) for name in fixed}
        self.fixed = {name: checked_value(given, values[name].size, name) for name, given in fixed.items()}
        self.plain = block(model, outputs, loads)  # of the robot as it was given: names and structure
        self.outputs: Mapping[str, int] = self.plain.outputs
        self.inputs: Mapping[str, int] = {
            **self.plain.inputs,
            **{f"{DESIGN}{name}": value.size for name, value in values.items()},
        }
        robot = extended_robot(model, designs, self.fixed)
        inner = block(robot.model, outputs, loads)
        free = block(robot.model, outputs) if loads else inner
        self.function = DesignedFunction(inner, free, robot, designs, self.fixed, self.inputs, DESIGN)

    # --- values and derivatives -----------------------------------------------------------------------

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs, each (nodes, width)."""
        return self._by_robot(u, self.function.value)

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d input, (nodes, m, m_u)."""
        return self._by_robot(u, lambda part: self._cut(self.function.jacobian(part), self._pattern, True))

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d2 sum(adjoint . output) / du dw, (nodes, m_u, m_w)."""
        known = {f"adjoint of {name}": adjoints[name] for name in self.outputs if name in adjoints}

        def of_robot(part: Mapping[str, Array]) -> Pairs:
            own = {name.removeprefix("adjoint of "): part[name] for name in known}
            return self._cut(self.function.hessian(part, own), self._curvature_pattern, False)

        return self._by_robot({**u, **known}, of_robot)

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`; outputs may depend on all that varies."""
        return dict(self._pattern)

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`."""
        return dict(self._curvature_pattern)

    # --- structure ------------------------------------------------------------------------------------

    @cached_property
    def _varying(self) -> dict[str, Array]:
        return {f"{DESIGN}{name}": np.isnan(value) for name, value in self.fixed.items()}

    def _acting(self, outputs: Iterable[str]) -> dict[str, Array]:
        """The designs that change one of these outputs, and their components that vary."""
        if all(name.startswith(OF_FRAMES) for name in outputs):
            return {name: varies for name, varies in self._varying.items() if name.endswith(".position")}
        return self._varying

    @cached_property
    def _pattern(self) -> Pairs:
        by_design = {
            (output, name): np.repeat(varies[None, :], width, axis=0)
            for output, width in self.outputs.items()
            for name, varies in self._acting([output]).items()
        }
        return self.plain.pattern() | by_design

    @cached_property
    def _curvature_pattern(self) -> Pairs:
        pattern, acting = self.plain.curvature_pattern(), self._acting(self.outputs)
        for name, width in self.plain.inputs.items():
            for design, varies in acting.items():
                pattern[name, design] = np.repeat(varies[None, :], width, axis=0)
        designs = list(acting.items())
        for i, (first, varies) in enumerate(designs):
            for second, others in designs[i:]:
                pattern[first, second] = varies[:, None] & others
        return pattern

    def _cut(self, whole: Array, pattern: Pairs, first_is_output: bool) -> Pairs:
        rows = self.function.rows if first_is_output else self.function.columns
        columns = self.function.columns
        return {
            (first, second): np.where(mask, whole[:, rows[first], columns[second]], 0.0)
            for (first, second), mask in pattern.items()
        }

    def _by_robot(self, u: Mapping[str, Array], function: Callable[[Mapping[str, Array]], dict]) -> dict:
        """The function of the nodes of each robot, put together; one call where all nodes have one robot."""
        rows = np.concatenate([u[name] for name in self._varying], axis=1)
        if (rows == rows[:1]).all():
            return function(u)
        _, group = np.unique(rows, axis=0, return_inverse=True)
        total: dict[Any, Array] = {}
        for number in range(group.max() + 1):
            chosen = np.flatnonzero(group.ravel() == number)
            found = function({name: np.ascontiguousarray(array[chosen]) for name, array in u.items()})
            for key, part in found.items():
                whole = total.setdefault(key, np.zeros((len(rows), *part.shape[1:]), part.dtype))
                whole[chosen] = part
        return total
