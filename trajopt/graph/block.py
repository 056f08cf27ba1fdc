"""What the graph is made of: the Block protocol, the Dynamics protocol, and the two arithmetic blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Values = dict[str, Array]  # quantity -> (K, width)
Pairs = dict[tuple[str, str], Array]  # (output, input) or (input, input) -> (K, rows, columns)


class Block(Protocol):
    """A function of named inputs with named outputs, evaluated at K nodes at once, with exact derivatives."""

    @property
    def inputs(self) -> Mapping[str, int]:
        """Input quantity -> width."""
        ...

    @property
    def outputs(self) -> Mapping[str, int]:
        """Output quantity -> width."""
        ...

    def value(self, u: Mapping[str, Array]) -> Values:
        """Outputs, each (K, width)."""
        ...

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """d output / d direct input, (K, m, m_u); a pair left out is structurally zero."""
        ...

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d^2 sum(adjoint . output) / du dw, (K, m_u, m_w), each unordered pair of inputs once."""
        ...

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`, boolean (m, m_u)."""
        ...

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`, boolean (m_u, m_w)."""
        ...


class Dynamics(Protocol):
    """What a robot must offer to be optimized; `dynamics.RigidBodyModel` does, and so may anything else.

    A dynamics may further offer `forward_dynamics(q, v, tau) -> a`, which the forward simulation in
    `Solution.verify` uses, and `skeleton(q) -> (..., segments, 2, 3)`, which `plot.motion` draws.
    """

    @property
    def n(self) -> int: ...
    @property
    def joint_names(self) -> Sequence[str]: ...
    @property
    def limits(self) -> Any:
        """Arrays (n,): q_lower, q_upper, velocity, torque_lower, torque_upper; infinite where absent."""
        ...

    def block(self, outputs: Sequence[str], loads: Sequence[str] = ()) -> Block:
        """The block that computes these quantities from q, v, a and the loads on the named links."""
        ...


class Square:
    """y_i = u_i^2."""

    def __init__(self, source: str, width: int, target: str) -> None:
        self.source, self.target = source, target
        self.inputs = {source: width}
        self.outputs = {target: width}
        self._diagonal = np.eye(width)

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: u[self.source] ** 2}

    def expressions(self, u: Mapping[str, Any]) -> dict[str, Any]:
        """The same of symbols, for `fusion`."""
        return {self.target: u[self.source] ** 2}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return {(self.target, self.source): 2.0 * u[self.source][:, :, None] * self._diagonal}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return {(self.source, self.source): 2.0 * adjoints[self.target][:, :, None] * self._diagonal}

    def pattern(self) -> Pairs:
        return {(self.target, self.source): self._diagonal.astype(bool)}

    def curvature_pattern(self) -> Pairs:
        return {(self.source, self.source): self._diagonal.astype(bool)}


class SquareTimesDuration:
    """y_i = T u_i^2: the integrand of a squared term in one step, with T the duration of the node's arc."""

    def __init__(self, square: Square, times: TimesDuration) -> None:
        self.source, self.target, self._T = square.source, times.target, times.DURATION
        width = square.inputs[square.source]
        self.inputs = {self.source: width, self._T: 1}
        self.outputs = {self.target: width}
        self._identity = np.eye(width)

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: u[self._T] * u[self.source] ** 2}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        source = u[self.source]
        return {
            (self.target, self.source): (2.0 * u[self._T] * source)[:, :, None] * self._identity,
            (self.target, self._T): source[:, :, None] ** 2,
        }

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        twice = 2.0 * adjoints[self.target]
        return {
            (self.source, self.source): (twice * u[self._T])[:, :, None] * self._identity,
            (self.source, self._T): (twice * u[self.source])[:, :, None],
        }

    def pattern(self) -> Pairs:
        return {(self.target, name): part for (_, name), part in self.curvature_pattern().items()}

    def curvature_pattern(self) -> Pairs:
        width = len(self._identity)
        return {
            (self.source, self.source): self._identity.astype(bool),
            (self.source, self._T): np.ones((width, 1), dtype=bool),
        }


class Renamed:
    """y = u under another name: how a term's value becomes the load on a link."""

    def __init__(self, source: str, width: int, target: str) -> None:
        self.source, self.target = source, target
        self.inputs = {source: width}
        self.outputs = {target: width}

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: u[self.source]}

    def expressions(self, u: Mapping[str, Any]) -> dict[str, Any]:
        """The same of symbols, for `fusion`."""
        return {self.target: u[self.source]}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        width, nodes = self.outputs[self.target], u[self.source].shape[0]
        return {(self.target, self.source): np.broadcast_to(np.eye(width), (nodes, width, width))}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return {}

    def pattern(self) -> Pairs:
        return {(self.target, self.source): np.eye(self.outputs[self.target], dtype=bool)}

    def curvature_pattern(self) -> Pairs:
        return {}


class TimesDuration:
    """y = T u, with T the duration of the node's arc: the integrand of an integral over normalised time."""

    DURATION = "arc_duration"

    def __init__(self, source: str, width: int, target: str) -> None:
        self.source, self.target = source, target
        self.inputs = {source: width, self.DURATION: 1}
        self.outputs = {target: width}
        self._identity = np.eye(width)

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: u[self.DURATION] * u[self.source]}

    def expressions(self, u: Mapping[str, Any]) -> dict[str, Any]:
        """The same of symbols, for `fusion`."""
        return {self.target: u[self.DURATION] * u[self.source]}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return {
            (self.target, self.source): u[self.DURATION][:, :, None] * self._identity,
            (self.target, self.DURATION): u[self.source][:, :, None],
        }

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return {(self.source, self.DURATION): adjoints[self.target][:, :, None]}

    def pattern(self) -> Pairs:
        width = self.outputs[self.target]
        return {
            (self.target, self.source): np.eye(width, dtype=bool),
            (self.target, self.DURATION): np.ones((width, 1), dtype=bool),
        }

    def curvature_pattern(self) -> Pairs:
        return {(self.source, self.DURATION): np.ones((self.outputs[self.target], 1), dtype=bool)}
