"""Tables with a row for every problem of the library, printed row by row as they are measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import trajopt
from benchmarks.shared.timing import loaded_machine

WALKS = ("gait", "gait_stride")  # minutes each


def print_rows(
    head: str,
    names: Iterable[str],
    build: Callable[[str], trajopt.Problem | trajopt.Phases],
    row: Callable[[str, trajopt.Problem], str],
) -> None:
    """The head of a table, the rows of all problems that are not phases, and the machine."""
    print(head)
    print("|" + " --- |" * (head.count("|") - 1))
    for name in names:
        problem = build(name)
        if isinstance(problem, trajopt.Problem):
            print(row(name, problem), flush=True)
    print(loaded_machine())
