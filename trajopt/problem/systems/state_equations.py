"""Equations of states, x' = f(x, u, t, p) or 0 = g(x', x, u, t, p): what both kinds of systems share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trajopt.base.errors import OptionError, ProblemError, ShapeError
from trajopt.graph.protocols import NodeFunction
from trajopt.graph.quantities import SPLINE_LEAVES, DeclaredQuantity
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.splines.node_sets import PATH
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols

EQUATIONS = "state equations"  # their name in reports


class StateEquations(ABC):
    """A dynamics with states x and controls u, whose equations are a constraint over the path.

    states, controls : name -> number of components
    rates : f of x' = f, a function of a node; residuals : g of 0 = g, where rates is None
    units : name of a state or control -> its unit, where it is known
    """

    states: Mapping[str, int]
    controls: Mapping[str, int]
    rates: Any
    residuals: NodeFunction | None
    units: Mapping[str, str]
    higher_derivatives: ClassVar[tuple[str, ...]] = ()  # of the states, which f may not contain either

    @property
    @abstractmethod
    def rates_of_states(self) -> Sequence[tuple[str, str, int]]:
        """Name of a state, the quantity of its rate, and which component of it, for all components."""

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of all components of the states: "temperature", or "current 0", "current 1"."""
        return tuple(label for name in self.states for label in self.components_of(name))

    def components_of(self, name: str) -> tuple[str, ...]:
        """Names of the components of a state: "current 0", "current 1"; any other name as it is."""
        width = self.states.get(name, 1)
        return (name,) if width == 1 else tuple(f"{name} {i}" for i in range(width))

    @property
    def equations(self) -> tuple[Constraint, ...]:
        """The equations over the path, one per component of a state; units of residuals are not known."""
        known = self.units if self.residuals is None else {}
        units = tuple(unit_of_rate(known.get(name, "")) for name, _, _ in self.rates_of_states)
        zero = np.zeros(len(units))
        of_rates = self.residuals is None
        return (Constraint(self._equations_term(units), zero, zero, PATH, EQUATIONS, of_rates=of_rates),)

    def _equations_term(self, units: tuple[str, ...]) -> ExpressionTerm:
        return ExpressionTerm(self._state_equations, EQUATIONS, self.state_names, units)

    def _state_equations(self, node: NodeSymbols) -> Expression:
        """x' - f, or g."""
        from trajopt.graph.expression import expression_of
        from trajopt.graph.trace import column_of

        if self.residuals is not None:
            found = checked_column(self.residuals(node), "residuals", "states", self.state_names)
            self._refuse_missing_rates(found, node)
            return found
        given = self._stacked_rates(node)
        return expression_of([column_of(node, rate) for rate in self._rate_quantities]) - given

    @property
    def _rate_quantities(self) -> list[str]:
        return list(dict.fromkeys(quantity for _, quantity, _ in self.rates_of_states))

    def _stacked_rates(self, node: NodeSymbols) -> Expression:
        """f; OptionError where it contains rates itself."""
        from trajopt.graph.expression import depends_on

        given = checked_column(self.rates(node), "rates", "states", self.state_names)
        rates = (*self._rate_quantities, *self.higher_derivatives)
        if any(depends_on(given, node.used[rate]) for rate in rates if rate in node.used):
            raise OptionError(
                "the rates of the system depend on rates themselves, so they are no f of x' = f(x, u, t): "
                "write them as trajopt.system(states, controls, residuals=g) with 0 = g(x', x, u, t), "
                "node.rate('x') being the rate of x"
            )
        return given

    def _refuse_missing_rates(self, given: Any, node: NodeSymbols) -> None:
        """ProblemError where the rate of a state enters no residual, so that it is not determined."""
        from trajopt.graph.expression import depends_on

        for name, rate, component in self.rates_of_states:
            if rate not in node.used or not depends_on(given, node.used[rate][component]):
                raise ProblemError(
                    f"the state '{name}' has no equation, as node.rate('{name}') enters no residual: use it "
                    "in one, or make it a control, which has no rate"
                )


def limits_of(n: int, **known: Any) -> Any:
    """Limits of n coordinates, (n,) each as those of a robot, infinite but for those that are known."""
    none = np.full(n, np.inf)
    free = {"q_lower": -none, "q_upper": none, "velocity": none, "torque_lower": -none, "torque_upper": none}
    return SimpleNamespace(**(free | known))


def derivatives_of(
    coordinates: str, width: int | None, components: tuple[str, ...] = ()
) -> dict[str, DeclaredQuantity]:
    """Declarations of coordinates, "q", and of their derivatives by time, in units that are not known."""
    words = ("", "rates of ", "second derivatives of ", "third derivatives of ")
    each = zip(SPLINE_LEAVES, words, strict=True)
    return {name: DeclaredQuantity(width, "", f"{word}{coordinates}", components) for name, word in each}


def checked_column(returned: object, what: str, kind: str, names: Sequence[str]) -> Expression:
    """The value of a user's function as one expression; ShapeError unless it has one entry per name."""
    from trajopt.graph.expression import expression_of

    if returned is None:
        raise ShapeError(
            f"the {what} of the system are None: return a list with one expression for each of {kind}"
        )
    found = expression_of(returned)
    if found.shape != (len(names), 1):
        raise ShapeError(
            f"the {what} of the system have {found.numel()} components but there are {len(names)} {kind} "
            f"({', '.join(names)}): return a list with one expression for each, in this order"
        )
    return found


def unit_of_rate(unit: str, order: int = 1) -> str:
    """The unit of a derivative by time, "m/s", and "m/s^2" of "m/s"; "" where the unit is not known."""
    if not unit:
        return ""
    rate = re.fullmatch(r"([\w ^]+)/s(?:\^(\d+))?", unit)
    if rate:
        unit, order = rate[1], order + int(rate[2] or 1)
    whole = unit if re.fullmatch(r"[\w ^]+", unit) else f"({unit})"
    return f"{whole}/s" if order == 1 else f"{whole}/s^{order}"
