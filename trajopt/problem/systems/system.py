"""Systems of first-order equations, x' = f(x, u, t, p), as the dynamics of a problem.

The states x take the place of a robot's joint positions, the quantity "q", and their rates x' are "v".
Controls are curves of the problem (`Problem.control`). The equations are a constraint over the path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from trajopt.base.errors import OptionError, ProblemError, ShapeError
from trajopt.graph.declared_quantities import DeclaredQuantity
from trajopt.graph.elementary import Power, WeightedSum
from trajopt.graph.keys import SPLINE_LEAVES, extra_leaf, is_parameter, own_term
from trajopt.graph.protocols.block import Block
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.splines.node_sets import PATH
from trajopt.terms.arithmetic import Arithmetic
from trajopt.terms.block_term import block_term

EQUATIONS = "state equations"  # their name in reports

Function = Callable[[Any], Any]


def unit_of_rate(unit: str, order: int = 1) -> str:
    """The unit of a derivative by time, "m/s", and "m/s^2" of "m/s"; "" where the unit is not known."""
    if not unit:
        return ""
    rate = re.fullmatch(r"([\w ^]+)/s(?:\^(\d+))?", unit)
    if rate:
        unit, order = rate[1], order + int(rate[2] or 1)
    whole = unit if re.fullmatch(r"[\w ^]+", unit) else f"({unit})"
    return f"{whole}/s" if order == 1 else f"{whole}/s^{order}"


@dataclass(frozen=True, eq=False)
class System:
    """A dynamics of named states and controls, made by `trajopt.system`.

    rates : f of x' = f, a function of a node or a block; or None
    residuals : g of 0 = g, a function of a node, where rates is None
    units : name of a state or control -> its unit, where it is known
    """

    states: tuple[str, ...]
    controls: tuple[str, ...]
    rates: Any = None
    residuals: Function | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        with_units = [f"{name} [{unit}]" if unit else name for name, unit in self._named_units()]
        states, controls = with_units[: self.n], with_units[self.n :]
        law = "0 = g(x', x, u)" if self.rates is None else "x' = f(x, u)"
        return f"System {law}: states {', '.join(states)}; controls {', '.join(controls) or 'none'}"

    def _named_units(self) -> list[tuple[str, str]]:
        return [(name, self.units.get(name, "")) for name in (*self.states, *self.controls)]

    @property
    def n(self) -> int:
        """The number of states."""
        return len(self.states)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the states, which reports print."""
        return self.states

    @property
    def limits(self) -> Any:
        """No limits: states and controls are bounded by the problem."""
        none = np.full(self.n, np.inf)
        return SimpleNamespace(
            q_lower=-none, q_upper=none, velocity=none, torque_lower=-none, torque_upper=none
        )

    @property
    def quantities(self) -> Mapping[str, Any]:
        """The states and their derivatives, whose units are not known; nothing else."""
        return {
            "q": DeclaredQuantity(None, "", "states"),
            "v": DeclaredQuantity(None, "", "rates of the states"),
            "a": DeclaredQuantity(None, "", "second derivatives of the states"),
            "jerk": DeclaredQuantity(None, "", "third derivatives of the states"),
        }

    @property
    def aliases(self) -> Mapping[str, tuple[str, int]]:
        """`node.NAME` of states and controls, `node.rate(NAME)` of states."""
        states = {name: ("q", i) for i, name in enumerate(self.states)}
        rates = {f"rate:{name}": ("v", i) for i, name in enumerate(self.states)}
        return states | rates | {name: (extra_leaf(name), 0) for name in self.controls}

    @property
    def control_widths(self) -> Mapping[str, int]:
        """Control -> number of components: one each."""
        return dict.fromkeys(self.controls, 1)

    @property
    def equations(self) -> tuple[Constraint, ...]:
        """The equations over the path, one per state."""
        zero = np.zeros(self.n)
        return (Constraint(_Equations(self), zero, zero, PATH, EQUATIONS),)

    def block(self, outputs: Iterable[str], loads: Sequence[str] = ()) -> Block:
        """Refuses: a system computes nothing but its equations."""
        raise ProblemError(
            f"a system of states ({', '.join(self.states)}) has no {', '.join(outputs)}: "
            "write what is wanted as a term of its states and controls"
        )


def refuse_rates(given: Any, node: Any, rates: Iterable[str]) -> None:
    """OptionError where an expression of f in x' = f contains one of these quantities of the node."""
    from trajopt.graph.expression import depends_on

    if any(depends_on(given, node.used[rate]) for rate in rates if rate in node.used):
        raise OptionError(
            "the rates of the system depend on rates themselves, so they are no f of x' = f(x, u, t): write "
            "them as trajopt.system(states, controls, residuals=g) with 0 = g(x', x, u, t), node.rate('x') "
            "being the rate of x"
        )


def refuse_missing_rates(given: Any, node: Any, rates: Iterable[tuple[str, str, int]]) -> None:
    """ProblemError where the rate of a state enters no residual g of 0 = g, so that it is not determined.

    rates : name of a state, the quantity of its rate, and which component of it
    """
    from trajopt.graph.expression import depends_on

    for name, rate, component in rates:
        if rate not in node.used or not depends_on(given, node.used[rate][component]):
            raise ProblemError(
                f"the state '{name}' has no equation, as node.rate('{name}') enters no residual: use it in "
                "one, or make it a control, which has no rate"
            )


@dataclass(frozen=True, eq=False)
class _Equations(Arithmetic):
    """The term x' - f, or g, of a system, (n,)."""

    system: System

    @property
    def name(self) -> str:
        return EQUATIONS

    @property
    def components(self) -> tuple[str, ...]:
        return self.system.states

    @property
    def quantity(self) -> str:
        return own_term(EQUATIONS)

    @property
    def unit(self) -> tuple[str, ...]:
        """Those of the rates; of residuals none is known."""
        known = self.system.units if self.system.residuals is None else {}
        return tuple(unit_of_rate(known.get(name, "")) for name in self.system.states)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        from trajopt.graph.trace import trace

        if self.system.residuals is None and not callable(self.system.rates):
            return self._of_block(width_of)
        return (trace(self._residuals, self.quantity, width_of),)

    def _residuals(self, node: Any) -> Any:
        from trajopt.graph.expression import expression_of
        from trajopt.graph.trace import column_of

        if self.system.residuals is not None:
            found = self._checked(expression_of(self.system.residuals(node)), "residuals")
            rates = ((name, "v", i) for i, name in enumerate(self.system.states))
            refuse_missing_rates(found, node, rates)
            return found
        given = self._checked(expression_of(self.system.rates(node)), "rates")
        refuse_rates(given, node, SPLINE_LEAVES[1:])
        return column_of(node, "v") - given

    def _checked(self, returned: Any, what: str) -> Any:
        states = self.system.states
        if returned.shape != (len(states), 1):
            raise ShapeError(
                f"the {what} of the system have {returned.numel()} components but there are {len(states)} "
                f"states ({', '.join(states)}): return a list with one for each, in this order"
            )
        return returned

    def _of_block(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        """x' - f of a user's block f: its inputs, the block, the difference."""
        from trajopt.graph.trace import trace

        term = block_term(self.system.rates, name="rates")
        block, before = term.block, []
        n, controls = self.system.n, self.system.controls
        widths = {"x": n, "u": len(controls), "t": 1, "duration": 1}
        for name, width in block.inputs.items():
            expected = widths.get(name, width_of(name) if is_parameter(name) else None)
            if expected != width:
                raise ShapeError(
                    f"the block of the rates takes '{name}' with {width} components: it may take 'x' ({n},), "
                    f"'u' ({len(controls)},), 't', 'duration' and 'parameter:NAME'"
                )
        if "x" in block.inputs:
            before.append(Power("q", n, "x"))
        if "u" in block.inputs:
            before.append(trace(lambda node: [getattr(node, name) for name in controls], "u", width_of))
        if block.outputs[term.output] != n:
            raise ShapeError(
                f"the block of the rates gives {block.outputs[term.output]} components but there are {n} "
                f"states ({', '.join(self.system.states)}): give one for each"
            )
        one = np.ones(n)
        difference = WeightedSum({"v": one, term.quantity: -one}, self.quantity)
        return (*before, *term.blocks(lambda name: block.inputs[name]), difference)
