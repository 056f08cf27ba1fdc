"""Values as people type them at a command line: numbers, lists, words, and a little arithmetic."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any

from trajopt.arguments import shown
from trajopt.errors import OptionError

_NAMES = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    "inf": math.inf,
    "nan": math.nan,
    "pi": math.pi,
}
_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def assignment(text: str) -> tuple[str, Any]:
    """Name and value of "name=value"; OptionError for anything else."""
    name, equals, value = text.partition("=")
    if not (equals and name.strip().isidentifier() and value.strip()):
        raise OptionError(
            f"{shown(text)} is no assignment: write NAME=VALUE, such as intervals=40 or 'q_end=[1, -1]'"
        )
    return name.strip(), literal(value.strip())


def literal(text: str) -> Any:
    """The value that a text stands for.

    As in JSON and in Python: 40, 1e-3, [0, -2], (0.1, 0.6), true, null, "word". Also inf, nan, pi and + - * /
    between numbers, as in [pi/4, -pi/4]. A word of letters, digits and signs that is none of these stands for
    itself. Raises OptionError for a text that begins like a list or a number and is none.
    """
    try:
        return _value(ast.parse(text, mode="eval").body)
    except ZeroDivisionError:
        raise OptionError(f"{shown(text)} divides by zero") from None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        if text[0] in "[({\"'+-.0123456789":
            raise OptionError(
                f"{shown(text)} is no value: write a number, a list such as [0, -2] or [pi/4, -pi/4], "
                "true, false, null or a word"
            ) from None
        return text


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(entry) for entry in node.elts]
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_number(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_number(node.left), _number(node.right))
    raise ValueError(ast.dump(node))


def _number(node: ast.expr) -> float:
    value = _value(node)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return value
