"""Protocols of blocks, of a robot's dynamics and of terms.

Any object with these attributes will do; nothing needs to be inherited. A block is a function of named
inputs, evaluated at all nodes at once, with exact derivatives; what it may offer beyond first derivatives are
protocols of their own (`SecondOrderBlock`, `SymbolicBlock` ...), as are the optional members of a dynamics
(`ForwardDynamics` ...). Terms can be minimized or bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from trajopt.base.arrays import Array, Number

#: A user's function of the quantities of one node -> an expression, or a list of them.
NodeFunction: TypeAlias = Callable[[Any], Any]
Values = dict[str, Array]  # quantity -> (K, width)
Pairs = dict[tuple[str, str], Array]  # (output, input) or (input, input) -> (K, rows, columns)
Derivatives: TypeAlias = Pairs | Array  # by pairs, or the nonzeros of a `NonzeroBlock`, (K, count)


@runtime_checkable
class Block(Protocol):
    """A function y = f(u) of named inputs, evaluated at K nodes at once, with exact first derivatives.

    A block with an attribute `derivatives_are_tested` that is True is not checked before a solve. One with
    `derivatives_are_differences` takes them from its values: `verify` notes where these bend too much.
    """

    @property
    def inputs(self) -> Mapping[str, int]:
        """Input quantity -> width."""
        ...

    @property
    def outputs(self) -> Mapping[str, int]:
        """Output quantity -> width."""
        ...

    def value(self, u: Mapping[str, Array]) -> Values:
        """y, each output (K, m)."""
        ...

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        """dy / du by the direct inputs, (K, m, m_u); a pair left out is structurally zero."""
        ...

    def pattern(self) -> Pairs:
        """Structural sparsity of `partials`, boolean (m, m_u)."""
        ...


@runtime_checkable
class SecondOrderBlock(Block, Protocol):
    """A block that also gives second derivatives; where one block does not, solvers fall back to L-BFGS."""

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        """d^2 sum(adjoint . y) / du dw, (K, m_u, m_w), each unordered pair of inputs once.

        adjoints : output -> (K, m), the derivative of a scalar (the Lagrangian) by that output
        """
        ...

    def curvature_pattern(self) -> Pairs:
        """Structural sparsity of `curvature`, boolean (m_u, m_w)."""
        ...


@runtime_checkable
class SymbolicBlock(SecondOrderBlock, Protocol):
    """A block that can also be evaluated on CasADi symbols, so that `graph.fused` may join it with others."""

    def expressions(self, u: Mapping[str, Number]) -> dict[str, Number]:
        """y as expressions, columns of m, of the symbols u, columns of m_u."""
        ...


@runtime_checkable
class NonzeroBlock(SecondOrderBlock, Protocol):
    """A block that gives the nonzeros of its derivatives side by side, without the zeros between them.

    Nonzeros stand pair after pair as in `pattern` and `curvature_pattern`, those of a pair row by row.
    """

    def value_and_nonzeros(self, u: Mapping[str, Array]) -> tuple[Values, Array]:
        """y, and the nonzeros of `partials`, (K, count)."""
        ...

    def curvature_nonzeros(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Array:
        """The nonzeros of `curvature`, (K, count)."""
        ...


@runtime_checkable
class AnyArithmeticBlock(Block, Protocol):
    """A block that can also be evaluated on numbers of any arithmetic: Taylor models, for bounds over time.

    Numbers have + - * / and the methods sin, cos, exp ...; floats may be among them. What a block computes
    here is what `value` computes, for the real numbers that these stand for.
    """

    def value_over(
        self, u: Mapping[str, Sequence[Number]], number: Callable[[float], Number]
    ) -> dict[str, list[Number]]:
        """y, one number per component, of the inputs u; `number` makes a number of a constant.

        Raises NotImplementedError where an operation is not offered: the caller has no bound then.
        """
        ...


class Dynamics(Protocol):
    """The dynamics of a robot to be optimized; `dynamics.RigidBodyModel` is one.

    quantities : optional, name -> `trajopt.DeclaredQuantity`, or any object with its attributes, of what
        `block` computes; left out, the standard ones. "position" stands for "position:foot"
    aliases : optional, names of states and controls in terms, `node.altitude` -> quantity and component,
        None for all of them; a name with an argument is "rate:altitude"
    check_quantity : optional, raises why the dynamics lacks a quantity of this name, if it knows
    Other optional members have protocols of their own: `DesignableDynamics`, `ForwardDynamics`,
    `LoadedForwardDynamics`, `SkeletonDynamics`, `GravityField`, `DescribedJoints`, `CarriedFrames`.
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
        """The block that computes these quantities from q, v, a and the loads on the named links.

        Other quantities of the dynamics may be among its inputs; `block` is asked for those as well.
        """
        ...


@runtime_checkable
class DesignableDynamics(Dynamics, Protocol):
    """A dynamics with properties such as "forearm.mass" that may follow from parameters, `Problem.design`."""

    def property_value(self, name: str) -> Array:
        """A property (width,) as it is; raises for a name that the dynamics does not know."""
        ...

    def with_properties(self, values: Mapping[str, Array]) -> Dynamics:
        """The same with other values of these properties; raises where such a robot cannot exist."""
        ...

    def designed_block(
        self, outputs: Sequence[str], loads: Sequence[str], fixed: Mapping[str, Array]
    ) -> Block:
        """`block` with the properties `fixed` as further inputs, "design:forearm.mass".

        fixed : property -> (width,), NaN in components that are inputs; the others are constant
        """
        ...


@runtime_checkable
class ForwardDynamics(Protocol):
    """A dynamics that computes accelerations, for the simulation in `Solution.verify` and for shooting.

    has_forward_dynamics : optional, False of a robot some of whose joints move no mass
    """

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations (..., n) of torques and forces tau (..., n) at the state q, v (..., n)."""
        ...


@runtime_checkable
class LoadedForwardDynamics(ForwardDynamics, Protocol):
    """A dynamics that also computes accelerations under wrenches on links, of `Problem.load`."""

    def loaded_forward_dynamics(self, q: Array, v: Array, tau: Array, loads: Mapping[str, Array]) -> Array:
        """Accelerations (..., n) of tau and wrenches (..., 6) by link, world axes about the world origin."""
        ...


@runtime_checkable
class SkeletonDynamics(Protocol):
    """A dynamics that can be drawn as line segments, by `plot.motion` and in the report."""

    def skeleton(self, q: Array) -> Array:
        """End points in world axes (m) of the segments, (..., segments, 2, 3) for q (..., n)."""
        ...


@runtime_checkable
class GravityField(Protocol):
    """A dynamics with uniform gravity: figures draw its direction downwards."""

    @property
    def gravity(self) -> Array:
        """(3,) m/s^2 in world axes."""
        ...


@runtime_checkable
class JointDescription(Protocol):
    """Name and kind of a joint; figures choose rad or m by the kind."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """ "revolute" or "prismatic"; other kinds are labelled with both units."""
        ...


@runtime_checkable
class DescribedJoints(Protocol):
    """A dynamics that describes its joints."""

    @property
    def joints(self) -> Sequence[JointDescription]:
        """At least those with a coordinate of their own."""
        ...


@runtime_checkable
class CarriedFrames(Protocol):
    """A dynamics that knows which link carries a frame: `Problem.close_loop`."""

    def carrier(self, frame: str) -> str:
        """The link that carries a frame; raises for a name that the dynamics does not know."""
        ...


@runtime_checkable
class FloatingDynamics(CarriedFrames, Protocol):
    """A dynamics that may stand on feet: `Problem.contact`, `Problem.passive_base`."""

    @property
    def gravity(self) -> Array:
        """(3,) m/s^2 in world axes."""
        ...

    @property
    def total_mass(self) -> float:
        """kg"""
        ...

    @property
    def floating_joints(self) -> Sequence[str]:
        """Coordinates of the free base, x and y first; empty where it is held to the ground."""
        ...


@runtime_checkable
class Term(Protocol):
    """Something that can be minimized or bounded: a quantity, and the blocks that compute it."""

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    @property
    def quantity(self) -> str:
        """The key of the term's value in the graph."""
        ...

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        """The blocks, beyond those of the dynamics, that compute `quantity`; width_of: quantity -> width."""
        ...


@runtime_checkable
class NamedTerm(Term, Protocol):
    """A term with names of its components; empty: the joints' names if there is one per joint, or numbers."""

    @property
    def components(self) -> Sequence[str]: ...
