"""Links between phases, and the parameters that they share, evaluated on their motions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_result import OfComponent
from trajopt.checks.peaks_between_nodes import interval_of
from trajopt.problem.costs_and_constraints import Parameter
from trajopt.problem.links.link import Link, PhaseInstant, TermLink, place
from trajopt.problem.links.phases import Phases
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import bound_violation
from trajopt.terms import term as terms
from trajopt.transcription.links.link_constraints import LinkedProblems

OF_ALL = " of all phases"  # behind the name of what several phases share


@dataclass(frozen=True)
class LinkViolation(OfComponent):
    """The violation of one component of a link, in its unit.

    scale : the size of what it compares
    time : seconds, of its last instant, from the start of that instant's phase
    """

    name: str
    component: str
    value: float
    scale: float
    time: float = 0.0
    equation: bool = True

    @property
    def relative(self) -> float:
        """The violation as a part of its scale; NaN where it is."""
        return self.value / self.scale


def link_violations(motions: Sequence[SolutionData], phases: Phases) -> Iterator[LinkViolation]:
    """Every component of every link, from the motions of the phases alone; those that are met are zero."""
    for link in phases.links:
        equal = np.ones(1, dtype=bool)
        if isinstance(link, TermLink):
            miss, size = _of_term(motions, phases, link)
            last = link.instants[-1]
        else:
            miss, size = _of_link(motions, phases, link)
            last, equal = link.function.instants[-1], link.lower == link.upper
        time = float(_time(motions[last.phase], last))
        yield from _components(link.name, miss, size, time, np.broadcast_to(equal, miss.shape))


def _components(
    name: str, miss: Array, size: Array, time: float = 0.0, equation: Array | None = None
) -> Iterator[LinkViolation]:
    """One violation for every component (width,); a scale of one where the size is zero."""
    for i, value in enumerate(miss.tolist()):
        component, is_equation = str(i) if miss.size > 1 else "", equation is None or bool(equation[i])
        yield LinkViolation(name, component, value, float(size[i]) or 1.0, time, is_equation)


def disagreements(motions: Sequence[SolutionData], linked: LinkedProblems) -> Iterator[LinkViolation]:
    """Differences between phases in shared parameters and in copies of quantities."""
    for name, having in linked.shared.items():
        values = np.array([motions[k].parameters[name] for k in having])
        yield from _components(f"{name}{OF_ALL}", np.ptp(values, axis=0), np.abs(values).max(axis=0))


def beyond_bounds(motions: Sequence[SolutionData], linked: LinkedProblems) -> Iterator[LinkViolation]:
    """Violations of the bounds of shared parameters, in the phase where they are largest."""
    for name, having in linked.shared.items():
        bounded = [k for k in having if _is_bounded(linked.problems[k].parameters[name])]
        if not bounded:
            continue
        given = [linked.problems[k].parameters[name] for k in bounded]
        values = [motions[k].parameters[name] for k in bounded]
        each = [bound_violation(v, p.lower, p.upper) for v, p in zip(values, given, strict=True)]
        miss = np.maximum(np.max(each, axis=0), 0.0)
        bounds = np.abs([*(p.lower for p in given), *(p.upper for p in given), *values])
        scale = np.where(np.isfinite(bounds), bounds, 0.0).max(axis=0)
        yield from _components(f"bounds of {name}", miss, scale, equation=np.zeros(miss.size))


def _is_bounded(parameter: Parameter) -> bool:
    return bool(np.isfinite(parameter.lower).any() or np.isfinite(parameter.upper).any())


def _of_term(motions: Sequence[SolutionData], phases: Phases, link: TermLink) -> tuple[Array, Array]:
    """The gap between the two instants, and the largest size of the term in either phase."""
    values, sizes = [], []
    for instant in link.instants:
        own = motions[instant.phase]
        values.append(own.value(link.term, _time(own, instant)))
        sizes.append(np.abs(own.value(link.term, own.node_times)).max(axis=0))
    return np.abs(values[0] - values[1]), np.maximum(*sizes)


def _of_link(motions: Sequence[SolutionData], phases: Phases, link: Link) -> tuple[Array, Array]:
    """The violation of the bounds, and the size of the function's terms or of its bounds."""
    function = link.function
    values, sizes = {}, {}
    for i, (instant, used) in enumerate(zip(function.instants, function.used, strict=True)):
        own = motions[instant.phase]
        for quantity in used:
            term = terms.Quantity(quantity)
            values[place(i, quantity)] = own.value(term, _time(own, instant))
            sizes[place(i, quantity)] = np.abs(own.value(term, own.node_times)).max(axis=0)
    g, size = function.value(values, sizes)
    bounds = np.abs(np.stack([link.lower, link.upper]))
    bounds[~np.isfinite(bounds)] = 0.0
    miss = np.maximum(bound_violation(g, link.lower, link.upper), 0.0)
    return miss, np.maximum(size, bounds.max(axis=0))


def _time(solution: SolutionData, instant: PhaseInstant) -> Array:
    """Seconds; the end of an arc is looked at from its own side."""
    return np.array(interval_of(instant.over, solution.curve).first)
