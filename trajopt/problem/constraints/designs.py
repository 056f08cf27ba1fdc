"""Properties of the robot that follow from parameters: masses, lengths, gear ratios as design variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import number, short_repr
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError, ProblemError, ShapeError
from trajopt.graph.graph import Graph
from trajopt.graph.protocols import DesignableDynamics, Term
from trajopt.graph.quantities import PARAMETER, is_parameter
from trajopt.terms.nonsmooth import refuse_kinks
from trajopt.terms.term import ExpressionTerm, Quantity

if TYPE_CHECKING:
    from trajopt.graph.trace import NodeSymbols
    from trajopt.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Design:
    """A property of the robot, such as "forearm.mass", that is a term of parameters.

    graph : of the blocks that compute the term, parameters being its leaves
    fixed : (width,), NaN in components that depend on parameters, the number in those that do not
    """

    name: str
    term: Term
    graph: Graph
    fixed: NDArray[np.float64]

    def value(self, parameters: Mapping[str, Array]) -> Array:
        """The property (width,) at parameters (name -> value)."""
        leaves = {
            leaf: np.reshape(parameters[leaf.removeprefix(PARAMETER)], (1, -1)) for leaf in self.graph.leaves
        }
        return self.graph.values(leaves)[self.term.quantity][0]


def design_of(problem: Problem, name: Any, value: Any) -> Design:
    """A property of the problem's robot as a term of parameters; see `Problem.design`, also for errors."""
    dynamics = problem.dynamics
    if not isinstance(dynamics, DesignableDynamics):
        raise ProblemError(
            f"the dynamics {type(dynamics).__name__} has no properties that parameters could give it: design "
            "a dynamics.RigidBodyModel, or let the rates of a system depend on node.parameter(NAME)"
        )
    width = np.size(dynamics.property_value(name))  # the dynamics reports a name that it does not know
    if name in problem.designs:
        raise OptionError(f"'{name}' of the robot follows from parameters already: give it one value")
    term = _term_of(name, value)
    refuse_kinks(term, "a design")
    blocks = problem.blocks_of(term)
    made = {output for block in blocks for output in block.outputs}
    inputs = {source for block in blocks for source in block.inputs} - made or {term.quantity}
    others = sorted(source for source in inputs if not is_parameter(source))
    if others:
        raise OptionError(
            f"'{name}' of the robot is given by {', '.join(others)}, but it is constant during the motion: "
            "let it depend on parameters alone"
        )
    leaves = {source: problem.quantities(source) for source in sorted(inputs)}
    graph = Graph(leaves, blocks)
    found = graph.width[term.quantity]
    if found != width:
        raise ShapeError(f"'{name}' has {width} components, its value has {found}: give one for each")
    design = Design(name, term, graph, _fixed(graph, term.quantity))
    guess = {name: parameter.guess for name, parameter in problem.parameters.items()}
    dynamics.with_properties(_values({**problem.designs, name: design}, guess))  # refuses impossible robots
    return design


def as_built(problem: Problem, parameters: Mapping[str, Array]) -> Problem:
    """A problem with a robot whose designed properties are numbers, those at these parameters.

    Raises what the robot raises where it cannot exist.
    """
    other, robot = problem.independent_copy(), cast(Any, problem.dynamics)
    other.dynamics = robot.with_properties(_values(problem.designs, parameters))
    other.designs = {}
    return other


def _values(designs: Mapping[str, Design], parameters: Mapping[str, Array]) -> dict[str, Array]:
    return {name: design.value(parameters) for name, design in designs.items()}


def _term_of(name: str, value: Any) -> Any:
    """A term, a function of a node, or numbers and parameters one by one, as a term."""
    if isinstance(value, Term):
        return value
    if callable(value) and not isinstance(value, type):
        return ExpressionTerm(value, name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise OptionError(
            f"'{name}' is given as {short_repr(value)}: give a term of parameters, a function of a node, "
            "or a list of parameters and numbers"
        )
    parts = [part if isinstance(part, Quantity) else number(part, f"a part of '{name}'") for part in value]

    def listed(node: NodeSymbols) -> list[Number]:
        from trajopt.graph.trace import column_of

        return [column_of(node, part.quantity) if isinstance(part, Quantity) else part for part in parts]

    return ExpressionTerm(listed, name)


def _fixed(graph: Graph, quantity: str) -> NDArray[np.float64]:
    """The components of a quantity that depend on no leaf, NaN elsewhere, (width,)."""
    varies = np.zeros(graph.width[quantity], dtype=bool)
    for pattern in graph.leaf_pattern(quantity).values():
        varies |= np.any(pattern, axis=1)
    if varies.all():
        return np.full(varies.size, np.nan)
    ones = {leaf: np.ones((1, width)) for leaf, width in graph.leaves.items()}
    with np.errstate(all="ignore"):
        return np.where(varies, np.nan, graph.values(ones)[quantity][0])
