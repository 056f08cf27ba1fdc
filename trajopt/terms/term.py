"""Terms: what a problem minimizes or bounds. A term names one quantity of the graph and how to compute it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

from trajopt.graph.block import Block
from trajopt.graph.declared_quantities import described
from trajopt.terms.arithmetic import Arithmetic


@dataclass(frozen=True)
class Quantity(Arithmetic):
    """A leaf, or an output of the dynamics, taken as it is."""

    quantity: str

    @property
    def name(self) -> str:
        return self.quantity

    @property
    def description(self) -> str:
        """Meaning, shape and unit."""
        return described(self.quantity)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        return ()


@dataclass(frozen=True)
class ExpressionTerm(Arithmetic):
    """A user's function of node quantities, traced once into CasADi; see `trajopt.term`.

    components : what reports call the components, nothing where they are counted or are the joints'
    """

    function: Callable[[Any], Any]
    name: str
    components: tuple[str, ...] = ()

    @property
    def quantity(self) -> str:
        return f"term:{self.name}"

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        from trajopt.graph.trace import trace

        return (trace(self.function, self.quantity, width_of),)


@overload
def term(function: Callable[[Any], Any]) -> ExpressionTerm: ...
@overload
def term(*, components: Sequence[str]) -> Callable[[Callable[[Any], Any]], ExpressionTerm]: ...
def term(function: Callable[[Any], Any] | None = None, *, components: Sequence[str] = ()) -> Any:
    """Make a term of a plain function of a node: `node.t q v a tau wrench("knee") position("foot") ...`.

    The function is called once with CasADi symbols, each a column; it returns an expression, whose exact
    sparse first and second derivatives follow. Use plain arithmetic and casadi functions, and no Python `if`
    on values. The term's name in every report is the function's; `@term(components=["x", "y"])` names its
    components there too, which otherwise are called like the joints, if there is one for each, or counted.
    """
    if function is None:
        return lambda decorated: ExpressionTerm(decorated, _name_of(decorated), tuple(components))
    return ExpressionTerm(function, _name_of(function), tuple(components))


def _name_of(function: Callable[[Any], Any]) -> str:
    return getattr(function, "__name__", "term")


def wrench(joint: str) -> Quantity:
    """What a joint transmits to its link, [moment; force] in link axes about the joint's origin, (6,)."""
    return Quantity(f"wrench:{joint}")


def position(link: str) -> Quantity:
    """Position of a link frame's origin in world axes, (3,) metres."""
    return Quantity(f"position:{link}")


def parameter(name: str) -> Quantity:
    """A constant unknown of the problem."""
    return Quantity(f"parameter:{name}")


t = Quantity("t")  # seconds since the start
duration = Quantity("duration")  # seconds, the whole motion
q = Quantity("q")  # joint positions, rad or m
v = Quantity("v")  # joint velocities
a = Quantity("a")  # joint accelerations
jerk = Quantity("jerk")  # third derivatives
tau = Quantity("tau")  # joint torques and forces, N m or N
base_wrench = Quantity("base_wrench")  # what the ground supplies, [moment; force] about the world origin
