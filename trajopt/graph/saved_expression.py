"""Traced terms as data: the operations of a CasADi expression, one after the other, in lists of JSON.

Reading such a list calls nothing but CasADi's own arithmetic, so that it may come from a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trajopt.base.errors import OptionError, ShapeError
from trajopt.graph.any_arithmetic import evaluated
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.trace import column_of

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols

UNARY = (
    *("ASSIGN", "NEG", "INV", "SQ", "TWICE", "SQRT", "EXP", "LOG", "EXPM1", "LOG1P", "SIN", "COS", "TAN"),
    *("ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH", "FABS", "SIGN", "NOT"),
    *("FLOOR", "CEIL", "ERF", "ERFINV"),
)
BINARY = (
    *("ADD", "SUB", "MUL", "DIV", "POW", "CONSTPOW", "ATAN2", "HYPOT", "FMAX", "FMIN", "FMOD", "REMAINDER"),
    *("LT", "LE", "EQ", "NE", "AND", "OR", "IF_ELSE_ZERO", "COPYSIGN"),
)
NUMBER, INPUT = "number", "input"
MOST_STEPS = 1_000_000

Step = Sequence[Any]  # (NUMBER, value), (INPUT, which, component), or (operation, place of an operand, ...)


@dataclass(frozen=True)
class SavedExpression:
    """A function of a node, made of a list of operations; each step's result has the step's number as place.

    inputs : quantities of the node and their widths
    outputs : places of the components
    Called with a node, it raises OptionError or ShapeError where the list is none.
    """

    inputs: tuple[tuple[str, int], ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def __call__(self, node: NodeSymbols) -> Expression:
        import casadi

        columns = [column_of(node, quantity) for quantity, _ in self.inputs]
        for (quantity, width), column in zip(self.inputs, columns, strict=True):
            if column.numel() != width:
                raise ShapeError(f"{quantity} has {column.numel()} components, the saved term takes {width}")
        results: list[Expression] = []
        for step in self.steps:
            results.append(_result(step, columns, results))
        try:
            return casadi.vertcat(*(results[_place(place, results)] for place in self.outputs))
        except TypeError as error:
            raise OptionError(f"the outputs of a saved term are {self.outputs!r:.80}") from error


def saved_expression(block: ExpressionBlock) -> SavedExpression:
    """The operations of a block with one output; NotImplementedError where it calls a table or a function."""
    steps: list[Step] = []

    def keep(*step: str | float) -> int:
        steps.append(step)
        return len(steps) - 1

    def place_of(operand: float) -> int:  # a float stands for a structural zero
        return keep(NUMBER, operand) if isinstance(operand, float) else operand

    def apply(code: int, operands: list[float], _: float | None) -> int:
        if code not in _names():
            raise NotImplementedError(f"operation {code} of CasADi")
        return keep(_names()[code], *map(place_of, operands))

    places = [
        [keep(INPUT, which, component) for component in range(width)]
        for which, width in enumerate(block.inputs.values())
    ]
    (outputs,) = evaluated(block._function, places, lambda value: keep(NUMBER, float(value)), apply)
    return SavedExpression(tuple(block.inputs.items()), tuple(steps), tuple(map(place_of, outputs)))


def _result(step: Step, columns: Sequence[Expression], results: Sequence[Expression]) -> Expression:
    """The expression of one step, of earlier ones."""
    import casadi

    try:
        kind, *rest = step
        if kind == NUMBER:
            return casadi.SX(float(*rest))
        if kind == INPUT:
            which, component = rest
            return columns[_place(which, columns)][_place(component, range(columns[which].numel()))]
        code, count = _codes()[kind]
        operands = [results[_place(place, results)] for place in rest]
        if len(operands) == count:
            return (casadi.SX.unary if count == 1 else casadi.SX.binary)(code, *operands)
    except (TypeError, ValueError, KeyError) as error:
        raise OptionError(f"a step of a saved term is {step!r:.80}, which is no operation") from error
    raise OptionError(f"a step of a saved term is {step!r:.80}: {kind} takes {count} operands")


def _place(place: object, among: Sequence[object]) -> int:
    if type(place) is not int or not 0 <= place < len(among):
        raise OptionError(f"a saved term reads place {place!r:.40} of {len(among)}")
    return place


@lru_cache
def _codes() -> dict[str, tuple[int, int]]:
    """Operation -> its code in this version of CasADi, and its number of operands."""
    import casadi

    counts = dict.fromkeys(UNARY, 1) | dict.fromkeys(BINARY, 2)
    known = ((name, f"OP_{name}") for name in counts)
    return {
        name.lower(): (getattr(casadi, code), counts[name]) for name, code in known if hasattr(casadi, code)
    }


@lru_cache
def _names() -> dict[int, str]:
    return {code: name for name, (code, _) in _codes().items()}
