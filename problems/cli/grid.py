"""The values of a grid of parameters as people type them at a command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from problems.cli.literal import literal, split_values
from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError


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
