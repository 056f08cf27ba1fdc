"""Values as people type them at a command line: numbers, lists, words, and a little arithmetic."""

from __future__ import annotations

import ast
import math
import operator
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError

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
LONGEST_REPEATED = 100  # characters of what was typed that a message spells out again
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""
_PATH = re.compile(r"[^\[({'\"].*([/\\]|\.[A-Za-z]\w*$)")  # with a slash, or an ending such as .urdf


def parameters_of(texts: Sequence[str]) -> dict[str, Any]:
    """Name and value of every "name=value", one value each.

    Raises OptionError for several values, "a=1,2", which only a sweep takes, and for a name set twice.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, _, listed = text.partition("=")
        count = len(list(split_values(listed)))
        if count > 1:
            spelt = listed if len(listed) <= LONGEST_REPEATED else "..."
            raise OptionError(
                f"{short_repr(text)} gives {count} values, for as many solves of `trajopt sweep`, and "
                "here is one "
                f"solve: a list is written {name}=[{spelt}], a text with commas {name}='\"{spelt}\"'"
            )
        key, value = assignment(text)
        if key in found:
            raise OptionError(f"'{key}' is set twice: give it once")
        found[key] = value
    return found


def split_values(text: str) -> Iterator[str]:
    """Parts between commas that stand outside of brackets and quotes."""
    depth, start, quote = 0, 0, ""
    for place, letter in enumerate(text):
        if letter in _QUOTES and quote in ("", letter):
            quote = "" if quote else letter
        depth += 0 if quote else (letter in _OPENING) - (letter in _CLOSING)
        if letter == "," and depth == 0 and not quote:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def assignment(text: str) -> tuple[str, Any]:
    """Name and value of "name=value"; OptionError for anything else."""
    name, equals, value = text.partition("=")
    if not (equals and name.strip().isidentifier() and value.strip()):
        raise OptionError(
            f"{short_repr(text)} is no assignment: write NAME=VALUE, such as intervals=40 or 'q_end=[1, -1]'"
        )
    return name.strip(), literal(value.strip())


def values_of(text: str) -> tuple[str, list[Any]]:
    """Name and values of "name=1,2,3"; commas in brackets or quotes stay. OptionError otherwise."""
    name, equals, listed = text.partition("=")
    parts = list(split_values(listed))
    if not (equals and name.strip().isidentifier() and parts and all(part.strip() for part in parts)):
        raise OptionError(
            f"{short_repr(text)} is no list of values: write NAME=VALUE,VALUE,..., such as mass=1,2,3 or "
            "'q_end=[1, -1],[1, 0]'"
        )
    return name.strip(), [literal(part.strip()) for part in parts]


def axes_of(texts: Sequence[str]) -> dict[str, list[Any]]:
    """The values of every parameter; OptionError for one that is named twice."""
    axes: dict[str, list[Any]] = {}
    for name, values in map(values_of, texts):
        if name in axes:
            raise OptionError(f"'{name}' is set twice: give all its values at once, {name}=1,2 for instance")
        axes[name] = values
    return axes


def literal(text: str) -> Any:
    """The value that a text stands for.

    As in JSON and in Python: 40, 1e-3, [0, -2], (0.1, 0.6), true, null, "word". Also inf, nan, pi and + - * /
    between numbers, as in [pi/4, -pi/4]. A word of letters, digits and signs that is none of these stands for
    itself, and so does a path: ./z1.urdf, 7dof.urdf, ~/robots/z1.urdf with the home folder in place of "~".
    Raises OptionError for a text that begins like a list or a number and is none.
    """
    try:
        return _value(ast.parse(text, mode="eval").body)
    except ZeroDivisionError:
        raise OptionError(f"{short_repr(text)} divides by zero") from None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        if _PATH.match(text):
            return os.path.expanduser(text)
        if text[0] in "[({\"'+-.0123456789":
            raise OptionError(
                f"{short_repr(text)} is no value: write a number, a list such as [0, -2] or [pi/4, -pi/4], "
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
