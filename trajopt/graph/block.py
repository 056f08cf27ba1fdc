"""What the graph is made of: the Block protocol, the Dynamics protocol, and the two arithmetic blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from trajopt.arrays import Array

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
