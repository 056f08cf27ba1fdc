"""The block of a robot with rotation vectors, from the one of its serial form by the chain rule.

Outputs are those of the inner block, generalized forces ("tau", "motor_torque") multiplied by E' of
`serial_motion.py`; inputs are the robot's own q, v and a, and the inner block's loads and designs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.algorithms.rotation_any_arithmetic import serial_numbers
from dynamics.blocks.declared_quantities import QUANTITIES, family
from dynamics.kernels.node_batch import batch
from dynamics.kernels.rotation_vectors.serial_curvature import SerialCurvature
from dynamics.kernels.rotation_vectors.serial_motion import MOTION, SOURCES, SerialMotion
from dynamics.kernels.transposition import nodes_first

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

FORCES = ("tau", "motor_torque")
LOAD, DESIGN = "load:", "design:"

Array = np.ndarray
Pairs = dict[tuple[str, str], Array]


class RotationVectorBlock:
    """The outputs of a block of inverse dynamics or kinematics as functions of rotation vectors.

    make : makes the inner block from the serial form, outputs, loads and, where given, designs
    fixed : of designs, property -> (width,) as in `RigidBodyModel.designed_block`
    Every array is (nodes, width). First derivatives by all inputs, second ones contracted with adjoints.
    """

    derivatives_are_tested = True  # by complex step and Taylor slopes: users need not check them again

    def __init__(
        self,
        model: KinematicTree,
        make: Callable[..., Any],
        outputs: Iterable[str],
        loads: Iterable[str],
        fixed: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, outputs = model, tuple(outputs)
        self.output_names = {name: serial_output(model, name) for name in outputs}
        self.input_names = {f"{LOAD}{name}": f"{LOAD}{serial_link(model, name)}" for name in loads}
        inner_loads = tuple(dict.fromkeys(name.removeprefix(LOAD) for name in self.input_names.values()))
        designs = {}
        for name, value in (fixed or {}).items():
            designs[serial_property(model, name)] = value
            self.input_names[f"{DESIGN}{name}"] = f"{DESIGN}{serial_property(model, name)}"
        further = () if fixed is None else (designs,)
        self.inner = make(
            model.serial, tuple(dict.fromkeys(self.output_names.values())), inner_loads, *further
        )
        self.inner.arranged = nodes_first  # as the compiled loops of the serial form read them
        widths = {name: self.inner.outputs[inner] for name, inner in self.output_names.items()}
        self.outputs: Mapping[str, int] = {
            name: model.n if name in FORCES else width for name, width in widths.items()
        }
        own = {name: model.n for name in MOTION if name in self.inner.inputs}
        self.motion = tuple(own)
        self._last: tuple[Any, dict[str, Array], Pairs, dict[str, dict[str, Array]]] | None = None
        self.inputs: Mapping[str, int] = own | {
            name: self.inner.inputs[inner]
            for name, inner in self.input_names.items()
            if inner in self.inner.inputs
        }

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_last": None}

    # --- values and derivatives -----------------------------------------------------------------------

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs, each (nodes, width)."""
        motion = self._motion(u, 0)
        return self._outputs(motion, self.inner.value(self._inner_inputs(u, motion)))

    def _outputs(self, motion: SerialMotion, found: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs from those of the inner block."""
        return {
            name: motion.forces(found[inner]) if name in FORCES else found[inner]
            for name, inner in self.output_names.items()
        }

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        """Outputs, each a list of numbers of any arithmetic; NotImplementedError beyond |p| = 2 pi."""
        serial = serial_numbers(self.model, {name: u[name] for name in self.motion}, number)
        inner = {inner: u[name] for name, inner in self.input_names.items() if name in self.inputs}
        found = self.inner.value_over({**serial.motion, **inner}, number)
        return {
            name: serial.forces(found[inner]) if name in FORCES else found[inner]
            for name, inner in self.output_names.items()
        }

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d input, (nodes, m, m_u)."""
        return self.value_and_partials(u)[1]

    def value_and_partials(self, u: Mapping[str, Array]) -> tuple[dict[str, Array], Pairs]:
        """Both at once, from one motion of the serial form."""
        motion = self._motion(u, 1)
        inner_inputs = self._inner_inputs(u, motion)
        values, inner, found = self.inner.value(inner_inputs), self.inner.partials(inner_inputs), {}
        forces: dict[str, dict[str, Array]] = {}
        for output, inner_output in self.output_names.items():
            own = self._by_own_motion(motion, inner, inner_output)
            if output in FORCES:
                forces[output] = own
                own = {name: motion.rows(part) for name, part in own.items()}
                motion.add_chart_stiffness(own["q"], values[inner_output])
            found[output] = own
        self._last = _content(inner_inputs), values, inner, forces
        return self._outputs(motion, values), {
            (output, name): found[output][self._inner_name(name)] for output, name in self._pattern
        }

    def _by_own_motion(self, motion: SerialMotion, inner: Pairs, output: str) -> dict[str, Array]:
        """Derivatives of an output of the inner block by the robot's q, v and a and by its other inputs."""
        parts = [inner.get((output, by)) for by in self.motion]
        names = [by for by, part in zip(self.motion, parts, strict=True) if part is not None]
        own = dict(zip(names, motion.outputs(*parts), strict=True))
        return own | {name: inner[output, name] for name in self._further if (output, name) in inner}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d2 sum(adjoint . output) / du dw, (nodes, m_u, m_w)."""
        motion = self._motion(u, 2)
        inner_inputs, weights = self._inner_inputs(u, motion), {}
        for name, inner in self.output_names.items():
            if name in adjoints:
                weight = motion.velocities(adjoints[name]) if name in FORCES else adjoints[name]
                weights[inner] = weights.get(inner, 0.0) + weight
        last, n = self._last, motion.arrays[0].shape[1]
        if last is not None and last[0] == _content(inner_inputs):
            _, values, partials, forces = last  # nobody was handed the arrays that are read here
        else:
            values, partials = self.inner.value(inner_inputs), self.inner.partials(inner_inputs)
            forces = {
                name: self._by_own_motion(motion, partials, name) for name in FORCES if name in self.outputs
            }
        gradient = {name: np.zeros((len(u["q"]), n), motion.nodes.dtype) for name in self.motion}
        for (output, name), part in partials.items():
            if name in gradient and output in weights:
                gradient[name] = gradient[name] + (weights[output][:, None] @ part)[:, 0]
        widths = {**dict.fromkeys(self.motion, self.model.n), **self._further}
        found = SerialCurvature(motion, widths)
        found.add_planes(self.inner.curvature(inner_inputs, weights))
        found.add_gradient(gradient)
        for name in FORCES:
            if name in adjoints and name in self.outputs:
                found.add_multiplier(adjoints[name], values[name], forces[name])
        return {
            (one, other): found.pair(self._inner_name(one), self._inner_name(other))
            for one, other in self._curvature_pattern
        }

    # --- structure ------------------------------------------------------------------------------------

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`."""
        return dict(self._pattern)

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`."""
        return dict(self._curvature_pattern)

    @cached_property
    def _pattern(self) -> Pairs:
        inner, found = self.inner.pattern(), {}
        for output, inner_output in self.output_names.items():
            for name in self.inputs:
                if (inner_output, self._inner_name(name)) not in inner:
                    continue
                part = inner[inner_output, self._inner_name(name)]
                if name in self.motion:
                    part = self._columns(part)
                    for other in self.motion:
                        if name in SOURCES[other] and (inner_output, other) in inner:
                            part = part | self._columns(inner[inner_output, other])
                if output in FORCES:
                    part = self._columns(part.T).T
                    if name == "q":
                        part = part | self._groups
                found[output, name] = part
        return found

    @cached_property
    def _curvature_pattern(self) -> Pairs:
        found: Pairs = {}
        inner_planes, names = dict(self.inner.curvature_pattern()), [*self.motion, *self._further]
        for name in FORCES:
            if name in self.outputs:  # E lambda depends on p: rows of p, columns of what tau depends on
                for (output, other), part in self.inner.pattern().items():
                    if output == name:
                        reached = part[self._held_out].any(axis=0)
                        plane = np.zeros((len(self._serial_groups), part.shape[1]), dtype=bool)
                        plane |= self._serial_groups[:, None] & reached
                        before = inner_planes.get(("q", other), np.zeros_like(plane))
                        inner_planes["q", other] = before | plane
        for (one, other), plane in inner_planes.items():
            for x, y, K in ((one, other, plane), (other, one, plane.T)):
                for row in SOURCES.get(x, (x,)):
                    for column in SOURCES.get(y, (y,)):
                        if names.index(row) <= names.index(column):
                            part = self._columns(K) if y in MOTION else K
                            part = self._columns(part.T).T if x in MOTION else part
                            found[row, column] = found.get((row, column), False) | part
        pairs = [("q", "q"), ("q", "v"), ("q", "a"), ("v", "v")] if "a" in self.motion else [("q", "q")]
        pairs += [("q", "v")] if self.motion == ("q", "v") else []
        for pair in pairs:
            found[pair] = found.get(pair, False) | self._groups
        outer = {inner: [] for inner in names}
        for name in self.inputs:
            outer[self._inner_name(name)].append(name)
        return {(x, y): part for (a, b), part in found.items() for x in outer[a] for y in outer[b]}

    @cached_property
    def _groups(self) -> Array:
        """(n, n) bool, whether two coordinates belong to one rotation vector."""
        found = np.zeros((self.model.n, self.model.n), dtype=bool)
        for joint in self.model.rotation_joints:
            found[joint.coordinates, joint.coordinates] = True
        return found

    @cached_property
    def _serial_groups(self) -> Array:
        """(n',) bool, whether a coordinate of the serial form stands for one of a rotation vector."""
        found = np.zeros(self.model.serial.n, dtype=bool)
        found[self._held_out] = True
        return found

    @cached_property
    def _held_out(self) -> Array:
        own = self.model.serial_bodies.own
        return np.concatenate([own[joint.coordinates] for joint in self.model.rotation_joints])

    def _columns(self, part: Array) -> Array:
        """The robot's coordinates on which a row depends: with one of a rotation vector on all of it."""
        found = part[:, self.model.serial_bodies.own]
        for joint in self.model.rotation_joints:
            found[:, joint.coordinates] = found[:, joint.coordinates].any(axis=1, keepdims=True)
        return found

    # --- inputs ---------------------------------------------------------------------------------------

    def _motion(self, u: Mapping[str, Array], derivatives: int) -> SerialMotion:
        """The motion at the nodes, with the derivatives of the chart that this many of outputs need."""
        nodes = batch(self.model.packed, **{name: u[name] for name in self.motion})
        return SerialMotion(self.model, nodes, max(1, len(self.motion) - 1 + derivatives))

    def _inner_inputs(self, u: Mapping[str, Array], motion: SerialMotion) -> dict[str, Array]:
        found: dict[str, Array] = dict(zip(self.motion, motion.arrays, strict=True))
        for name, inner in self.input_names.items():
            if name in self.inputs:
                found[inner] = found[inner] + u[name] if inner in found else u[name]
        return found

    def _inner_name(self, name: str) -> str:
        return self.input_names.get(name, name)

    @cached_property
    def _further(self) -> dict[str, int]:
        """Inputs of the inner block besides motion, and their widths."""
        return {name: width for name, width in self.inner.inputs.items() if name not in MOTION}


def _content(arrays: Mapping[str, Array]) -> list[tuple[str, str, tuple[int, ...], bytes]]:
    """The key of arrays, equal for those with the same names, types, shapes and bytes."""
    return [(name, part.dtype.char, part.shape, part.tobytes()) for name, part in arrays.items()]


def serial_link(model: KinematicTree, name: str) -> str:
    """The link of the serial form that stands for a link."""
    form = model.serial_bodies
    return form.bodies[form.links[model.link_index(name)]].name


def serial_output(model: KinematicTree, name: str) -> str:
    """The output of a block of the serial form that stands for an output; unknown ones stay as they are."""
    kind, colon, argument = name.partition(":")
    declared = QUANTITIES.get(family(name))
    if not colon or declared is None:
        return name
    form = model.serial_bodies
    if declared.argument == "joint":
        return f"{kind}:{form.bodies[form.links[model.joint_link_index(argument)]].joint.name}"
    if declared.argument == "link" and argument in model.link_names:
        return f"{kind}:{serial_link(model, argument)}"
    return name


def serial_property(model: KinematicTree, name: str) -> str:
    """The property of the serial form that stands for one: the position of a rotation vector has moved."""
    joint, _, attribute = name.rpartition(".")
    origins = model.serial_bodies.origins
    return f"{origins[joint]}.{attribute}" if attribute == "position" and joint in origins else name
