"""Markdown of the page: tables, numbers, paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; the first column is left-aligned, the rest right-aligned."""
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def table_of_records(rows: Sequence[Mapping[str, Any]]) -> str:
    """The same of records that have the same keys, which are its headings."""
    return table(list(rows[0]), [list(row.values()) for row in rows])


def small(number: float) -> str:
    """An error, two digits: 1.3e-11."""
    return f"{number:.1e}"


def seconds(number: float) -> str:
    """A time with the unit that fits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number / 1e-9:.3g} ns"


def section(title: str, *parts: str) -> str:
    """A heading and what stands under it."""
    return "\n\n".join([f"## {title}", *parts])
