"""Links between phases evaluated on their solutions, from the motions alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trajopt.arrays import Array
from trajopt.phases.link import Link, TermLink, place
from trajopt.phases.phases import Phases
from trajopt.phases.phases_solution import PhasesSolution
from trajopt.problem.instant import Instant
from trajopt.solution.check_times import SIDE
from trajopt.solution.solution import Solution
from trajopt.solvers.violation import bound_violation
from trajopt.splines.node_sets import ArcNodes
from trajopt.terms import term as terms


@dataclass(frozen=True)
class LinkViolation:
    """By how much a component of a link is missed, in its unit; `scale` is the size of what it compares."""

    name: str
    component: str
    value: float
    scale: float

    @property
    def relative(self) -> float:
        """The violation as a part of its scale; NaN where it is."""
        return self.value / self.scale

    @property
    def label(self) -> str:
        """The link, and the component where there are several."""
        return f"{self.name}, {self.component}" if self.component else self.name


def link_violations(solution: PhasesSolution, phases: Phases) -> Iterator[LinkViolation]:
    """Every component of every link; those that are met are zero."""
    for link in phases.links:
        miss, size = (
            _of_term(solution, phases, link)
            if isinstance(link, TermLink)
            else _of_link(solution, phases, link)
        )
        for component, (value, scale) in enumerate(zip(miss, size, strict=True)):
            name = str(component) if miss.size > 1 else ""
            yield LinkViolation(link.name, name, float(value), float(scale) or 1.0)


def _of_term(solution: PhasesSolution, phases: Phases, link: TermLink) -> tuple[Array, Array]:
    """The gap between the two instants, and the largest size of the term in either phase."""
    values, sizes = [], []
    for instant in link.instants:
        own = solution.phases[phases.number_of(instant)]
        values.append(own.value(link.term, _time(own, instant)))
        sizes.append(np.abs(own.value(link.term, own.node_times)).max(axis=0))
    return np.abs(values[0] - values[1]), np.maximum(*sizes)


def _of_link(solution: PhasesSolution, phases: Phases, link: Link) -> tuple[Array, Array]:
    """The violation of the bounds, and the size of the function's terms or of its bounds."""
    function = link.function
    values, sizes = {}, {}
    for i, (instant, used) in enumerate(zip(function.instants, function.used, strict=True)):
        own = solution.phases[phases.number_of(instant)]
        for quantity in used:
            term = terms.Quantity(quantity)
            values[place(i, quantity)] = own.value(term, _time(own, instant))
            sizes[place(i, quantity)] = np.abs(own.value(term, own.node_times)).max(axis=0)
    g, size = function.value(values, sizes)
    bounds = np.abs(np.stack([link.lower, link.upper]))
    bounds[~np.isfinite(bounds)] = 0.0
    miss = np.maximum(bound_violation(g, link.lower, link.upper), 0.0)
    return miss, np.maximum(size, bounds.max(axis=0))


def _time(solution: Solution, instant: Instant) -> Array:
    """Seconds; the end of an arc is looked at from its own side."""
    if isinstance(instant.over, ArcNodes):
        first = float(solution.curve.starts[instant.over.arc])
        last = float(solution.curve.starts[instant.over.arc + 1])
        whole = instant.over.arc + 2 == solution.curve.starts.size
        end = last if whole else last - SIDE * solution.duration
        return np.array(first if instant.over.part == "start" else end)
    return np.array(0.0 if instant.over.written == "start" else solution.duration)
