"""The values of a grid of parameters as people type them at a command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from problems.cli.literal import literal
from trajopt.arguments import shown
from trajopt.errors import OptionError

OPENING, CLOSING, QUOTES = "([{", ")]}", "'\""


def values_of(text: str) -> tuple[str, list[Any]]:
    """Name and values of "name=1,2,3"; commas in brackets or quotes stay. OptionError otherwise."""
    name, equals, listed = text.partition("=")
    parts = list(_split(listed))
    if not (equals and name.strip().isidentifier() and parts and all(part.strip() for part in parts)):
        raise OptionError(
            f"{shown(text)} is no list of values: write NAME=VALUE,VALUE,..., such as mass=1,2,3 or "
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


def _split(text: str) -> Iterator[str]:
    """Parts between commas that stand outside of brackets and quotes."""
    depth, start, quote = 0, 0, ""
    for place, letter in enumerate(text):
        if letter in QUOTES and quote in ("", letter):
            quote = "" if quote else letter
        depth += 0 if quote else (letter in OPENING) - (letter in CLOSING)
        if letter == "," and depth == 0 and not quote:
            yield text[start:place]
            start = place + 1
    yield text[start:]
