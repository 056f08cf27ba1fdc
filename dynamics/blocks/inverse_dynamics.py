"""Inverse dynamics as a block: q, v, a and loads in; torques, joint wrenches and the base wrench out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.algorithms.external_wrench_derivatives import (
    external_wrench_curvature,
    external_wrench_partials,
)
from dynamics.algorithms.rnea import inverse_dynamics
from dynamics.algorithms.rnea_any_arithmetic import rnea_any_arithmetic
from dynamics.algorithms.rnea_derivatives import inverse_dynamics_partials, stacked_rows
from dynamics.algorithms.rnea_second_derivatives import contracted_second
from dynamics.blocks.declared_quantities import INVERSE_DYNAMICS, computed_by
from dynamics.errors import UnknownNameError
from dynamics.kernels.node_batch import Batch, batch_with
from dynamics.kernels.transposition import nodes_last_viewed

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

MOTION = ("q", "v", "a")
SECOND = (("q", "q"), ("q", "v"), ("q", "a"), ("v", "v"))  # the planes of `contracted_second`

Array = np.ndarray
Pairs = dict[tuple[str, str], Array]


class InverseDynamicsBlock:
    """tau = M a + C v + g - J' load, "wrench:JOINT" as `joint_wrenches`, and "base_wrench".

    inputs : "q", "v", "a" of width n, "load:LINK" of width 6 for every name in `loads`: [moment; force] on
    the link, world axes, about the world origin. Every array is (nodes, width). First derivatives by all
    inputs, second derivatives contracted with adjoints. Raises UnknownNameError for other names.
    """

    derivatives_are_tested = True  # by complex step and Taylor slopes: users need not check them again
    # Programs keep derivatives with nodes last, as kernels do: node after node stand those of serial forms
    arranged = staticmethod(nodes_last_viewed)

    def __init__(self, model: KinematicTree, outputs: tuple[str, ...], loads: tuple[str, ...] = ()) -> None:
        self.model, self.loads = model, tuple(model.link_index(name) for name in loads)
        self.torques, self.base = "tau" in outputs, "base_wrench" in outputs
        joints = [name.removeprefix("wrench:") for name in outputs if name.startswith("wrench:")]
        self.links = tuple(model.joint_link_index(name) for name in joints)
        # in the order of the rows of the kernel
        widths = {"tau": model.n} if self.torques else {}
        widths |= {f"wrench:{name}": 6 for name in joints}
        widths |= {"base_wrench": 6} if self.base else {}
        for name in outputs:
            if name not in widths:
                raise UnknownNameError(
                    f"inverse dynamics has no output {name!r}; it has {computed_by(INVERSE_DYNAMICS)}"
                )
        self.outputs: Mapping[str, int] = widths
        self.inputs: Mapping[str, int] = dict.fromkeys(MOTION, model.n) | {
            f"load:{name}": 6 for name in loads
        }

    # --- values and derivatives -----------------------------------------------------------------------

    def value(self, u: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs, each (nodes, width)."""
        nodes = self._nodes(u)
        tau, wrenches, base = inverse_dynamics(self.model, nodes, bool(self.links), self.base)
        found = {"tau": tau, "base_wrench": base}
        for link, name in zip(self.links, self._wrench_names, strict=True):
            found[name] = wrenches[:, 6 * link : 6 * link + 6]
        return {name: found[name] for name in self.outputs}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        """Outputs, each a list of numbers of any arithmetic."""
        loads = {link: u[name] for link, name in zip(self.loads, self._load_names, strict=True)}
        motion = u["q"], u["v"], u["a"]
        tau, wrenches, ground = rnea_any_arithmetic(self.model.packed, *motion, number, loads)
        found = {"tau": tau, "base_wrench": [*ground[0], *ground[1]]}
        for link, name in zip(self.links, self._wrench_names, strict=True):
            found[name] = [*wrenches[link][0], *wrenches[link][1]]
        return {name: found[name] for name in self.outputs}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d input, (nodes, m, m_u)."""
        nodes = self._nodes(u)
        found = inverse_dynamics_partials(self.model, nodes, self.torques, self.links, self.base).partials
        motion = self.arranged(found)
        by_input = {name: motion[:, :, i] for i, name in enumerate(MOTION)} | self._by_load(nodes)
        return {(output, name): by_input[name][:, self._rows[output]] for output, name in self._pattern}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d2 sum(adjoint . output) / du dw, (nodes, m_u, m_w)."""
        names = [name for name in self.outputs if name in adjoints]
        given = {f"adjoint of {name}": (adjoints[name], (self.outputs[name],)) for name in names}
        nodes = self._nodes(u, given)
        found = dict(zip(names, nodes.arrays[-len(names) :], strict=True)) if names else {}
        multiplier = found.get("tau", np.zeros((nodes.nodes, self.model.n), nodes.dtype))
        twists, columns = self._stacked_adjoints(found, nodes)
        external = nodes.arrays[3] if self.loads else None
        planes = contracted_second(self.model, nodes, multiplier, twists, columns, external, self.loads)
        planes = self.arranged(planes)
        result = {pair: planes[:, i] for i, pair in enumerate(SECOND)}
        if self.loads:
            by_load = external_wrench_curvature(
                self.model.packed, nodes, self.loads, multiplier, twists, columns
            )
            by_load = self.arranged(by_load)
            for i, name in enumerate(self._load_names):
                result["q", name] = by_load[:, :, 6 * i : 6 * i + 6]
        return result

    # --- structure ------------------------------------------------------------------------------------

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`: an output does not depend on coordinates of other branches."""
        return dict(self._pattern)

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`: two coordinates interact when they lie on one branch."""
        packed = self.model.packed
        active = np.full(packed.n, self.torques or self.base)
        for link in self.links:
            active |= packed.branch(link)
        interacting: Array = packed.same_branch & active & active[:, None]
        pattern: Pairs = dict.fromkeys(SECOND, interacting)
        for link, name in zip(self.loads, self._load_names, strict=True):
            pattern["q", name] = np.repeat((packed.path(link) & active)[:, None], 6, axis=1)
        return pattern

    @cached_property
    def _pattern(self) -> Pairs:
        packed = self.model.packed
        columns: dict[str, Array] = {
            "tau": packed.same_branch,
            "base_wrench": np.ones((6, packed.n), dtype=bool),
        }
        for link, name in zip(self.links, self._wrench_names, strict=True):
            columns[name] = np.repeat(packed.branch(link)[None, :], 6, axis=0)
        pattern = {(output, name): columns[output] for output in self.outputs for name in MOTION}
        for link, name in zip(self.loads, self._load_names, strict=True):
            if self.torques:
                pattern["tau", name] = np.repeat(packed.path(link)[:, None], 6, axis=1)
            if self.base:
                pattern["base_wrench", name] = np.eye(6, dtype=bool)
            for carrier, output in zip(self.links, self._wrench_names, strict=True):
                if self._carries(carrier, link):
                    pattern[output, name] = np.ones((6, 6), dtype=bool)
        return pattern

    def _carries(self, carrier: int, link: int) -> bool:
        while link not in (-1, carrier):
            link = int(self.model.parent[link])
        return link == carrier

    @cached_property
    def _rows(self) -> dict[str, slice]:
        """Slice of every output in the stacked rows of the kernel, in the order of `outputs`."""
        starts = np.cumsum([0, *self.outputs.values()]).tolist()
        return {name: slice(starts[i], starts[i + 1]) for i, name in enumerate(self.outputs)}

    @cached_property
    def _wrench_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.outputs if name.startswith("wrench:"))

    @cached_property
    def _load_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.inputs if name.startswith("load:"))

    # --- arrays ---------------------------------------------------------------------------------------

    def _nodes(self, u: Mapping[str, Array], further: dict | None = None) -> Batch:
        """q, v, a, the external wrenches when there are loads, and what else is given, as rows of nodes."""
        packed, extra = self.model.packed, {}
        if self.loads:
            kind = np.result_type(*(u[name] for name in self._load_names))
            external = np.zeros((len(u["q"]), packed.links, 6), kind)
            for link, name in zip(self.loads, self._load_names, strict=True):
                external[:, link] += u[name]
            extra["external"] = (external, (packed.links, 6))
        return batch_with(packed, extra | (further or {}), q=u["q"], v=u["v"], a=u["a"])

    def _by_load(self, nodes: Batch) -> dict[str, Array]:
        if not self.loads:
            return {}
        torque_row, rows, count = stacked_rows(self.model.packed, self.torques, self.links, self.base)
        found = external_wrench_partials(self.model.packed, nodes, self.loads, torque_row, rows, count)
        found = self.arranged(found)
        return {name: found[:, :, 6 * i : 6 * i + 6] for i, name in enumerate(self._load_names)}

    def _stacked_adjoints(self, found: dict[str, Array], nodes: Batch) -> tuple[Array, Array]:
        """Adjoints of the wrenches side by side, and the first column of every body's, -1 = none."""
        packed, parts = self.model.packed, []
        columns = np.full(len(packed.tree), -1, dtype=np.int64)
        bodies = dict(zip(self._wrench_names, packed.body_of_link[list(self.links)], strict=True))
        for name, body in {**bodies, "base_wrench": 0}.items():
            if name in found:
                columns[body] = 6 * len(parts)
                parts.append(found[name])
        return np.concatenate(parts, axis=1) if parts else np.empty((0, 0), nodes.dtype), columns
