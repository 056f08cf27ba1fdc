"""Systems of first-order equations, x' = f(x, u, t, p), as the dynamics of a problem.

The states x take the place of a robot's joint positions, the quantity "q", and their rates x' are "v".
Controls are curves of the problem (`Problem.control`). The equations are a constraint over the path.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ProblemError, ShapeError
from trajopt.graph.elementary import Power, WeightedSum
from trajopt.graph.protocols import Block, NodeFunction
from trajopt.graph.quantities import (
    SPLINE_LEAVES,
    DeclaredQuantity,
    QuantityTable,
    extra_leaf,
    is_parameter,
    slices_of,
)
from trajopt.problem.systems.state_equations import (
    EQUATIONS,
    StateEquations,
    derivatives_of,
    limits_of,
)
from trajopt.terms.term import ExpressionTerm, block_term

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols

DRAWING = "drawing"  # the term of a picture


@dataclass(frozen=True, eq=False)
class System(StateEquations):
    """A dynamics of named states and controls, name -> number of components, made by `trajopt.system`.

    rates : f of x' = f, a function of a node or a block; or None
    residuals : g of 0 = g, a function of a node, where rates is None
    units : name of a state or control -> its unit, where it is known
    draw : a function of a node that gives the coordinates of all segments of a picture, or None; with one the
        system has `skeleton(q)`
    """

    states: Mapping[str, int]
    controls: Mapping[str, int]
    rates: Any = None
    residuals: NodeFunction | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    draw: NodeFunction | None = None
    higher_derivatives = SPLINE_LEAVES[2:]

    def __post_init__(self) -> None:
        if self.draw is not None:
            object.__setattr__(self, "skeleton", self._segments)

    def _segments(self, q: ArrayLike) -> Array:
        """End points (..., segments, 2, 3), m, of the segments of `draw` at states q (..., n)."""
        from trajopt.graph.trace import trace

        states = np.asarray(q, dtype=float)
        controls = {
            extra_leaf(name): DeclaredQuantity(width, "", name) for name, width in self.controls.items()
        }
        block = trace(self.draw, DRAWING, QuantityTable(self, controls))  # type: ignore[arg-type]
        if other := sorted(name.partition(":")[2] or name for name in block.inputs.keys() - {"q"}):
            raise OptionError(
                f"draw uses {', '.join(other)}: a picture is drawn of the states alone, "
                f"{', '.join(self.states)}"
            )
        lines = block.value({"q": states.reshape(-1, self.n)})[DRAWING]
        return lines.reshape(*states.shape[:-1], -1, 2, 3)

    def __repr__(self) -> str:
        widths = {**self.states, **self.controls}
        sized = {name: f"{name} ({width},)" if width > 1 else name for name, width in widths.items()}
        named = {name: f"{sized[name]} [{unit}]" for name, unit in self.units.items() if unit}
        states, controls = ([(sized | named)[name] for name in each] for each in (self.states, self.controls))
        law = "0 = g(x', x, u)" if self.rates is None else "x' = f(x, u)"
        return f"System {law}: states {', '.join(states)}; controls {', '.join(controls) or 'none'}"

    @property
    def n(self) -> int:
        """The number of states, each component counted."""
        return sum(self.states.values())

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of all components of the states, which reports print."""
        return self.state_names

    @property
    def limits(self) -> Any:
        """No limits: states and controls are bounded by the problem."""
        return limits_of(self.n)

    @property
    def quantities(self) -> Mapping[str, DeclaredQuantity]:
        """The states and their derivatives, whose units are not known; nothing else."""
        return derivatives_of("the states", None)

    @property
    def aliases(self) -> Mapping[str, tuple[str, int | slice | None]]:
        """`node.NAME` of states and controls, `node.rate(NAME)` of states: quantity and components."""
        of_states = slices_of(self.states).items()
        own = {name: part if part.stop - part.start > 1 else part.start for name, part in of_states}
        states = {name: ("q", part) for name, part in own.items()}
        rates = {f"rate:{name}": ("v", part) for name, part in own.items()}
        return states | rates | {name: (extra_leaf(name), None) for name in self.controls}

    @property
    def rates_of_states(self) -> Sequence[tuple[str, str, int]]:
        """Rates are components of "v"."""
        parts = slices_of(self.states).items()
        return [(name, "v", i) for name, part in parts for i in range(part.start, part.stop)]

    def _equations_term(self, units: tuple[str, ...]) -> ExpressionTerm:
        of_block = self.residuals is None and not callable(self.rates)
        kind = _EquationsOfBlock if of_block else ExpressionTerm
        return kind(self._state_equations, EQUATIONS, self.state_names, units)

    def block(self, outputs: Iterable[str], loads: Sequence[str] = ()) -> Block:
        """Refuses: a system computes nothing but its equations."""
        raise ProblemError(
            f"a system of states ({', '.join(self.states)}) has no {', '.join(outputs)}: "
            "write what is wanted as a term of its states and controls"
        )

    def blocks_of_rates(self, target: str, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        """x' - f of a user's block f, as `target`: its inputs, the block, the difference."""
        from trajopt.graph.trace import trace

        term = block_term(self.rates, name="rates")
        block, before, n = term.block, [], self.n
        widths = {"x": n, "u": sum(self.controls.values()), "t": 1, "duration": 1}
        for name, width in block.inputs.items():
            expected = widths.get(name, width_of(name) if is_parameter(name) else None)
            if expected != width:
                raise ShapeError(
                    f"the block of the rates takes '{name}' with {width} components: it may take 'x' ({n},), "
                    f"'u' ({widths['u']},), 't', 'duration' and 'parameter:NAME'"
                )
        if "x" in block.inputs:
            before.append(Power("q", n, "x"))
        if "u" in block.inputs:
            before.append(trace(lambda node: [getattr(node, name) for name in self.controls], "u", width_of))
        if block.outputs[term.output] != n:
            raise ShapeError(
                f"the block of the rates gives {block.outputs[term.output]} components but there are {n} "
                f"states ({', '.join(self.state_names)}): give one for each"
            )
        one = np.ones(n)
        difference = WeightedSum({"v": one, term.quantity: -one}, target)
        return (*before, *term.blocks(lambda name: block.inputs[name]), difference)


@dataclass(frozen=True)
class Drawing:
    """The coordinates of all segments of a picture, from the points that a user's function gives.

    function : of a node; returns a polyline, which is a list of points (x, z) or (x, y, z), or several
    """

    function: NodeFunction

    def __call__(self, node: NodeSymbols) -> list[Expression | float]:
        returned = self.function(node)
        try:
            polylines = returned if isinstance(returned[0][0], list | tuple) else [returned]
            points = [[self._in_space(point) for point in polyline] for polyline in polylines]
        except (TypeError, IndexError, ValueError) as error:
            raise ShapeError(
                f"draw returned {short_repr(returned)}: expected a list of points (x, z) or (x, y, z) in m, "
                "or a list of such lists"
            ) from error
        ends = (pair for each in points for pair in itertools.pairwise([*each, *each[: len(each) == 1]]))
        return [coordinate for first, second in ends for coordinate in (*first, *second)]

    @staticmethod
    def _in_space(point: Sequence[Expression | float]) -> Sequence[Expression | float]:
        if len(point) == 2:
            return point[0], 0.0, point[1]
        x, y, z = point
        return x, y, z


class _EquationsOfBlock(ExpressionTerm):
    """The equations of a system whose rates are a user's block; the function is a method of the system."""

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        system: System = self.function.__self__  # type: ignore[attr-defined]
        return system.blocks_of_rates(self.quantity, width_of)
