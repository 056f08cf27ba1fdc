"""One published problem: how it is posed, on which mesh, and what its source gives as the optimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import trajopt


@dataclass(frozen=True)
class PublishedProblem:
    """A problem, its reference and the options of its solve.

    `finer` is the same problem on a finer mesh, for agreement of two meshes where no reference is of use.
    """

    name: str
    build: Callable[[], trajopt.Problem | trajopt.Phases]
    reference: float
    source: str
    finer: Callable[[], trajopt.Problem | trajopt.Phases] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def radau(intervals: int, order: int = 3, duration: Any = None) -> trajopt.Trajectory:
    """The mesh of a system; without a duration it is free."""
    given = {} if duration is None else {"duration": duration}
    return trajopt.Trajectory.collocation(intervals, order, **given)


def named(name: str, function: Callable[[Any], Any]) -> trajopt.Term:
    """A term of a short function."""
    return trajopt.term(function, name=name)
