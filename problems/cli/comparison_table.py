"""The table of a comparison: what several solutions ended with, their costs, and parameters that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from problems.cli.summary import summary

if TYPE_CHECKING:
    from trajopt import PhasesSolution, Solution

ROWS = ("problem", "status", "objective", "duration", "iterations", "seconds", "n_variables")
ABSENT = "-"


def comparison_rows(solutions: Sequence[Solution | PhasesSolution]) -> dict[str, list[Any]]:
    """Quantity -> its value in every solution: results, terms of the cost, then parameters that differ."""
    each = [summary(solution, None) for solution in solutions]
    found = {name: [values[name] for values in each] for name in ROWS}
    found |= columns_of([values["cost_terms"] for values in each], "cost, ")
    parameters = columns_of([values["parameters"] for values in each], "--set ")
    return found | {name: row for name, row in parameters.items() if any(value != row[0] for value in row)}


def columns_of(tables: Sequence[Mapping[str, Any]], prefix: str) -> dict[str, list[Any]]:
    """Name -> its value in every table, None where one does not have it; in the order of the tables."""
    names = dict.fromkeys(name for table in tables for name in table)
    return {f"{prefix}{name}": [table.get(name) for table in tables] for name in names}


def written(rows: Mapping[str, Sequence[Any]], labels: Sequence[str]) -> str:
    """The table in columns, numbers in six digits."""
    cells = [["", *labels], *([name, *map(word, row)] for name, row in rows.items())]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = []
    for row in cells:
        first, *rest = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def word(value: Any) -> str:
    """A value as the table prints it."""
    if value is None:
        return ABSENT
    return f"{value:.6g}" if isinstance(value, float) else str(value)
