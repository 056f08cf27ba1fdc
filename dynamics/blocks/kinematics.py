"""Kinematics, momentum and energy as a block: q and v in, poses, velocities and sums over bodies out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.algorithms.kinematics_any_arithmetic import mass_sums, moving_bodies
from dynamics.blocks.declared_quantities import KINEMATICS, QUANTITIES, computed_by, family
from dynamics.errors import UnknownNameError
from dynamics.kernels.node_batch import Batch, batch, batch_with
from dynamics.kernels.transposition import nodes_last_viewed
from dynamics.quantities.frames import BODY, FrameRequests, frame_curvature, frame_requests, frame_values
from dynamics.quantities.momentum import (
    CENTRE_ROW,
    KINETIC_ROW,
    MOMENTUM_ROW,
    POTENTIAL_ROW,
    ROWS,
    mass_curvature,
    mass_values,
)

if TYPE_CHECKING:
    from dynamics.model.body import Frame
    from dynamics.model.kinematic_tree import KinematicTree

FIRST_ROW = {  # in the results of the kernel that sums over all masses
    "centre_of_mass": CENTRE_ROW,
    "momentum": MOMENTUM_ROW,
    "kinetic_energy": KINETIC_ROW,
    "potential_energy": POTENTIAL_ROW,
}
SECOND = (("q", "q"), ("q", "v"), ("v", "v"))

Array = np.ndarray
Pairs = dict[tuple[str, str], Array]


class KinematicsBlock:
    """Quantities of frames and of all masses together, world axes, as functions of q and, if needed, v.

    outputs : "position:NAME" (3), "orientation:NAME" (9, the rotation matrix row by row), "velocity:NAME"
    (6, [angular; linear] of the origin), NAME a link or a frame; "centre_of_mass" (3), "momentum" (6, about
    the world origin), "kinetic_energy" (1), "potential_energy" (1). Every array is (nodes, width).
    Raises UnknownNameError.
    """

    derivatives_are_tested = True  # by complex step and Taylor slopes: users need not check them again
    arranged = staticmethod(nodes_last_viewed)  # as of `InverseDynamicsBlock`

    def __init__(self, model: KinematicTree, outputs: tuple[str, ...]) -> None:
        self.model = model
        self.frames: dict[str, tuple[Frame, str]] = {}
        widths: dict[str, int] = {}
        for name in outputs:
            quantity, colon, frame = name.partition(":")
            declared = QUANTITIES.get(quantity)
            if declared is None or declared.block != KINEMATICS or (colon and not declared.argument):
                raise UnknownNameError(f"kinematics has no output {name!r}; it has {computed_by(KINEMATICS)}")
            if declared.argument:
                self.frames[name] = (model.frame(frame), quantity)
            widths[name] = model.n if declared.width is None else declared.width
        self.outputs: Mapping[str, int] = widths
        self.moves = any("v" in QUANTITIES[family(name)].inputs for name in outputs)
        self.inputs: Mapping[str, int] = {"q": model.n} | ({"v": model.n} if self.moves else {})

    # --- values and derivatives -----------------------------------------------------------------------

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs, each (nodes, width)."""
        nodes, found = self._nodes(u), {}
        if self.frames:
            values, _ = frame_values(self.model, nodes, self._requests)
            found |= {name: values[:, rows] for name, rows in self._rows.items()}
        if self._mass_rows:
            values, _ = mass_values(self.model, nodes)
            found |= {name: values[:, rows] for name, rows in self._mass_rows.items()}
        return {name: found[name] for name in self.outputs}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        """Outputs, each a list of numbers of any arithmetic."""
        packed, v = self.model.packed, u["v"] if self.moves else [0.0] * self.model.n
        bodies, found = moving_bodies(packed, u["q"], v, number), {}
        for request, local, (name, (_, quantity)) in zip(
            self._requests.requests, self._requests.local, self.frames.items(), strict=True
        ):
            numbers = [number(value) for value in local.tolist()]
            axes = numbers[:3], numbers[3:6], numbers[6:9]
            frame = bodies[request[BODY]].at(axes, numbers[9:])
            rows = [axis[i] for i in range(3) for axis in frame.axes]  # the rotation matrix, row by row
            values = {
                "position": list(frame.origin),
                "orientation": rows,
                "velocity": [*frame.omega, *frame.velocity],
            }
            found[name] = values[quantity]
        if self._mass_rows:
            sums = mass_sums(packed, bodies, v, number)
            found |= {
                "centre_of_mass": list(sums.centre_of_mass),
                "momentum": sums.momentum,
                "kinetic_energy": [sums.kinetic_energy],
                "potential_energy": [sums.potential_energy],
            }
        return {name: found[name] for name in self.outputs}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d input, (nodes, m, n)."""
        nodes, found = self._nodes(u), {}
        if self.frames:
            _, stacked = frame_values(self.model, nodes, self._requests, derivatives=True)
            stacked = self.arranged(stacked)
            found |= {name: stacked[:, rows] for name, rows in self._rows.items()}
        if self._mass_rows:
            _, stacked = mass_values(self.model, nodes, derivatives=True)
            stacked = self.arranged(stacked)
            found |= {name: stacked[:, rows] for name, rows in self._mass_rows.items()}
        return {(output, name): found[output][:, :, "qv".index(name)] for output, name in self._pattern}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d2 sum(adjoint . output) / du dw, (nodes, n, n)."""
        given = {f"adjoint of {k}": (adjoints[k], (w,)) for k, w in self.outputs.items() if k in adjoints}
        nodes = self._nodes(u, given)
        names = [name.removeprefix("adjoint of ") for name in given]
        found = dict(zip(names, nodes.arrays[2:], strict=True))
        parts = []
        if self._mass_rows:
            stacked = np.zeros((nodes.nodes, ROWS), nodes.dtype)
            for name in found.keys() & self._mass_rows.keys():
                stacked[:, self._mass_rows[name]] += found[name]
            parts.append(mass_curvature(self.model, nodes, stacked))
        if self.frames:
            stacked = np.zeros((nodes.nodes, self._requests.rows), nodes.dtype)
            for name in found.keys() & self._rows.keys():
                stacked[:, self._rows[name]] = found[name]
            parts.append(frame_curvature(self.model, nodes, self._requests, stacked))
        if len(parts) == 2:
            parts[0][:2] += parts[1]  # the plane of (v, v) belongs to the masses alone
        pairs = self._curvature_pattern
        planes = self.arranged(parts[0][: 1 + max(SECOND.index(pair) for pair in pairs)])
        return {pair: planes[:, SECOND.index(pair)] for pair in pairs}

    # --- structure ------------------------------------------------------------------------------------

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`: a frame depends on the joints on its path."""
        return dict(self._pattern)

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`: two coordinates interact when they lie on one branch."""
        return dict(self._curvature_pattern)

    @cached_property
    def _curvature_pattern(self) -> Pairs:
        packed = self.model.packed
        active = np.full(packed.n, bool(self._mass_rows))
        for frame, _ in self.frames.values():
            active |= self._path(frame)
        interacting: Array = packed.same_branch & active & active[:, None]
        pattern: Pairs = {("q", "q"): interacting}
        if self.moves:
            pattern["q", "v"] = interacting
        if "kinetic_energy" in self.outputs:
            pattern["v", "v"] = packed.same_branch
        return pattern

    @cached_property
    def _pattern(self) -> Pairs:
        pattern: Pairs = {}
        for name, width in self.outputs.items():
            path = self._path(self.frames[name][0]) if name in self.frames else np.ones(self.model.n, bool)
            inputs = QUANTITIES[family(name)].inputs
            pattern |= {(name, key): np.repeat(path[None, :], width, axis=0) for key in inputs}
        return pattern

    def _path(self, frame: Frame) -> Array:
        packed = self.model.packed
        if frame.body is None:
            return np.zeros(packed.n, dtype=bool)
        return packed.path(self.model.link_index(frame.body))

    @cached_property
    def _requests(self) -> FrameRequests:
        return frame_requests(self.model, list(self.frames.values()))

    @cached_property
    def _rows(self) -> dict[str, slice]:
        """Rows of every frame quantity in the frame kernel's results."""
        starts = np.cumsum([0, *(self.outputs[name] for name in self.frames)]).tolist()
        return {name: slice(starts[i], starts[i + 1]) for i, name in enumerate(self.frames)}

    @cached_property
    def _mass_rows(self) -> dict[str, slice]:
        """Rows of every sum over masses in the mass kernel's results."""
        first = {name: FIRST_ROW[name] for name in self.outputs if name in FIRST_ROW}
        return {name: slice(row, row + self.outputs[name]) for name, row in first.items()}

    def _nodes(self, u: Mapping[str, Array], further: dict | None = None) -> Batch:
        """q, v (zero when no output needs it) and what else is given, as rows of nodes."""
        v = u["v"] if self.moves else np.zeros_like(u["q"])
        if not further:
            return batch(self.model.packed, q=u["q"], v=v)
        return batch_with(self.model.packed, further, q=u["q"], v=v)
