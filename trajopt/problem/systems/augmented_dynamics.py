"""A robot with further states: motor currents, winding temperatures, muscle activations.

The robot keeps its joints, torques and limits. Further states x are curves of the problem with equations
x' = f(x, u, q, v, tau ..., t, p) of their own, and the torques of the motors may follow from them:

    tau(q, v, a) = g(x, u, q, v, t, p)          "motor torques", N m or N, one per joint
    x'           = f(x, u, q, v, a, tau, t, p)  "state equations", one per component of a state

Where joints have springs or dampers, the motor's torque beside them takes the place of tau in the first. Both
hold at the collocation points, where q is of one degree more than x; the first at the start as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.errors import OptionError
from trajopt.graph.protocols import NodeFunction
from trajopt.graph.quantities import LEAVES, declared_by, described_joints, extra_leaf, has_springs, rate_leaf
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint, PiecewisePolynomial
from trajopt.problem.input_checks import PARTS
from trajopt.problem.systems.state_equations import StateEquations, checked_column
from trajopt.splines.node_sets import PATH, START
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from trajopt.base.arrays import Array
    from trajopt.graph.expression import Expression
    from trajopt.graph.protocols import Block
    from trajopt.graph.trace import NodeSymbols

# Optional members of a robot, of the protocols in `graph/protocols.py`.
OFFERED = (
    "quantities",
    "forward_dynamics",
    "loaded_forward_dynamics",
    "skeleton",
    "gravity",
    "joints",
    "property_value",
    "designed_block",
)
MOTOR_TORQUES = "motor torques"  # the equation of the torques in reports


@dataclass(frozen=True, eq=False)
class AugmentedDynamics(StateEquations):
    """A dynamics with further states and controls, name -> width each; `trajopt.system(dynamics=...)`.

    rates : f of x' = f, or None;  residuals : g of 0 = g(x', x, ...), where rates is None
    torques : those of the motors, or None where the torques are free
    units : name of a state or control -> its unit, where it is known
    Optional members of the robot, such as `forward_dynamics` or `skeleton`, are members here as well.
    """

    robot: Any
    states: Mapping[str, int]
    controls: Mapping[str, int]
    rates: NodeFunction | None
    residuals: NodeFunction | None
    torques: NodeFunction | None
    units: Mapping[str, str] = field(default_factory=dict)
    n: int = field(init=False)
    joint_names: Sequence[str] = field(init=False)
    limits: Any = field(init=False)
    if TYPE_CHECKING:

        def block(self, outputs: Sequence[str], loads: Sequence[str] = ()) -> Block: ...

    else:
        block: Any = field(init=False)

    def __post_init__(self) -> None:
        taken = {*LEAVES, *declared_by(self.robot)}
        for name in (*self.states, *self.controls):
            if name in taken:
                raise OptionError(
                    f"'{name}' is a quantity of the robot already: give the state or control another name"
                )
        for name in (*PARTS, *OFFERED):  # attributes: protocols do not see those that __getattr__ gives
            if hasattr(self.robot, name):
                object.__setattr__(self, name, getattr(self.robot, name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "robot":
            raise AttributeError(name)
        return getattr(self.robot, name)

    def with_properties(self, values: Mapping[str, Array]) -> AugmentedDynamics:
        """The same states on a robot with other values of these properties."""
        return replace(self, robot=self.robot.with_properties(values))

    @property
    def rates_of_states(self) -> Sequence[tuple[str, str, int]]:
        """Rates are those of additional curves."""
        return [(name, rate_leaf(name), i) for name, width in self.states.items() for i in range(width)]

    @property
    def aliases(self) -> Mapping[str, tuple[str, None]]:
        """`node.NAME` of states and controls: all components."""
        return {name: (extra_leaf(name), None) for name in (*self.states, *self.controls)}

    @cached_property
    def rate_term(self) -> ExpressionTerm | None:
        """f, one component per component of a state; None for the implicit form."""
        return None if self.rates is None else ExpressionTerm(self._stacked_rates, "rates of the states")

    @cached_property
    def torque_term(self) -> ExpressionTerm | None:
        """The torques of the motors, (n,); None where they are free."""
        return None if self.torques is None else ExpressionTerm(self._stacked_torques, "torques of motors")

    @cached_property
    def has_springs(self) -> bool:
        """True if springs or dampers act at joints of the robot."""
        return any(map(has_springs, described_joints(self.robot)))

    def without_springs(self, q: Array, v: Array, torques: Array) -> Array:
        """Torques that joints transmit, (k, n), of those of motors: less what springs and dampers take."""
        if not self.has_springs:
            return torques
        found = self.block(("tau", "motor_torque")).value({"q": q, "v": v, "a": np.zeros_like(v)})
        return torques - (found["motor_torque"] - found["tau"])

    @property
    def equations(self) -> tuple[Constraint, ...]:
        """The equations over the path: of the torques, where motors give them, and of the states.

        Those of the torques hold at the start, too: of a state that is free there no collocation point of
        the first interval knows the value, as all of them lie behind it.
        """
        states = super().equations
        if self.torques is None:
            return states
        motors = ExpressionTerm(self._torque_equations, MOTOR_TORQUES, tuple(self.joint_names))
        zero, start = np.zeros(self.n), f"{MOTOR_TORQUES} at the start"
        torques = Constraint(motors, zero, zero, PATH, MOTOR_TORQUES)
        return (torques, Constraint(motors, zero, zero, START, start), *states)

    def curve_of_state(self, name: str, order: int) -> AdditionalCurve:
        """The curve of a state on a collocation mesh: continuous, of the degree of its points."""
        free = np.full(self.states[name], np.inf)
        pieces = PiecewisePolynomial(order, continuous=True, by_default=True)
        return AdditionalCurve(name, -free, free, np.zeros(free.size), pieces=pieces, is_state=True)

    def _torque_equations(self, node: NodeSymbols) -> Expression:
        driving = node.motor_torque if self.has_springs else node.tau
        return driving - self._stacked_torques(node)

    def _stacked_torques(self, node: NodeSymbols) -> Expression:
        assert self.torques is not None
        return checked_column(self.torques(node), "torques", "joints", tuple(self.joint_names))
