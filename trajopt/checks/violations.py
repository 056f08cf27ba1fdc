"""The violations that a verification reports: the checks of a motion, compared with relative tolerances.

At nodes and between them violations are compared with the size of a limit or the scale of an equation. NaN
counts as a violation.

Also here: links between phases, and the parameters that they share, evaluated on their motions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AT_TIMES, BETWEEN
from trajopt.checks.constraint_checks import ConstraintChecks, end_checks, with_suprema
from trajopt.checks.integral_checks import integral_checks
from trajopt.checks.line import NOWHERE, Interval, Line, Worst
from trajopt.checks.path_equations import interval_errors, torque_equations
from trajopt.checks.peaks_between_nodes import (
    CHECK_DENSITY,
    dense_samples,
    interval_of,
    node_samples,
    sample_times,
)
from trajopt.checks.residual_forces import UNIT, residual_forces
from trajopt.problem.costs_and_constraints import Constraint, Parameter
from trajopt.problem.phases import Link, PhaseInstant, Phases, TermLink, place
from trajopt.solution.solution import SolutionData
from trajopt.solvers.kkt import bound_violation
from trajopt.terms import term as terms
from trajopt.transcription.link_constraints import LinkedProblems

# Of robots whose terms are enclosed: the inverse dynamics of larger ones takes seconds there.
MOST_JOINTS = 8


def violations(
    solution: SolutionData, accuracy: float | None = None, of_limits: float | None = None
) -> list[Line]:
    """One line per bounded component of every constraint, in the order in which they were made.

    accuracy : relative, between nodes; where it is given, a proof is tried of what samples find within it
    of_limits : the same of limits over an interval of time; None: `accuracy`
    """
    allowed, provable = accuracy or 0.0, False
    of_limits = allowed if of_limits is None else of_limits
    lines = [
        _within(line, of_limits if line.is_limit_over_time else allowed)
        for line in ConstraintChecks(solution).results(CHECK_DENSITY)
    ]
    if accuracy is not None and solution.problem.dynamics.n <= MOST_JOINTS:
        provable, lines = True, with_suprema(solution, lines)
    lines = list(map(_reported, _with_rates_integrated(solution, lines, allowed)))
    if torque_equations(solution.problem):
        lines += [_within(line, allowed) for line in _forces_together(solution)]
    if solution.problem.integrals:
        for line in integral_checks(solution, accuracy or BETWEEN, provable):
            # A tolerance beside the bound of an integral proves nothing.
            sharp = AT_TIMES if 0.0 in (line.lower, line.upper) else min(allowed, BETWEEN)
            lines.append(_within(_reported(_within(line, sharp)), allowed))
    return lines + [_within(line, allowed) for line in end_checks(solution)]


def _within(line: Line, accuracy: float) -> Line:
    """The line with a tolerance relative to its scale."""
    return replace(line, tolerance=accuracy * line.least_scale)


def _reported(line: Line) -> Line:
    """The line, "proved" where a bound for all times is within its tolerance, apart from the problem."""
    bounded = line.evidence == "enclosure" or (line.over_time and line.bound is not None)
    if bounded and line.evidence != "integrated":
        line = replace(line, evidence="proved" if line.holds else "sampled")
    return replace(line, place=None)


def _with_rates_integrated(solution: SolutionData, lines: Sequence[Line], accuracy: float) -> list[Line]:
    """The lines; residuals of rates that exceed an accuracy at single times by what they change of states."""
    known = list(lines)
    missed: dict[Constraint, dict[int, int]] = {}  # numbers of lines by component
    for i, line in enumerate(lines):
        place = line.place
        if place is not None and place.constraint.of_rates and line.dense_relative > accuracy:
            missed.setdefault(place.constraint, {})[place.component] = i
    for constraint, numbers in missed.items():
        scale, peaks = np.ones(constraint.lower.size), [lines[i].dense_time for i in numbers.values()]
        scale[list(numbers)] = [lines[i].scale for i in numbers.values()]
        times = np.unique([*sample_times(solution, CHECK_DENSITY), *peaks])
        values = solution.value(constraint.term, times)
        errors = interval_errors(solution, constraint, scale, times, values).max(axis=0)
        for component, i in numbers.items():
            known[i] = lines[i].integrated(float(errors[component]))
    return known


def _forces_together(solution: SolutionData) -> Iterator[Line]:
    """The residuals of torque equations that hold together, as one force; at nodes each speaks for itself."""
    dense = dense_samples(solution)
    largest = {entry.owners: entry.largest for entry in residual_forces(solution, node_samples(solution))}
    for entry in residual_forces(solution, dense):
        worst, times = int(np.argmax(entry.missing)), dense.times[entry.at]
        scale = max(entry.largest, largest.get(entry.owners, 0.0))
        when = Interval(float(times.min()), float(times.max()))
        between = NOWHERE[0], Worst(float(entry.missing[worst]), float(times[worst]))
        named = "residual forces", f"{when.first:.3g} to {when.last:.3g} s", UNIT
        stated = (*named, 0.0, 0.0, (scale, scale), NOWHERE, between)
        yield Line(*stated, evidence="sampled", interval=when)


OF_ALL = " of all phases"  # behind the name of what several phases share


def link_violations(motions: Sequence[SolutionData], phases: Phases) -> Iterator[Line]:
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
) -> Iterator[Line]:
    """One line for every component (width,); a scale of one where the size is zero."""
    for i, value in enumerate(miss.tolist()):
        component, scale = str(i) if miss.size > 1 else "", float(size[i]) or 1.0
        lower = 0.0 if equation is None or equation[i] else -np.inf
        sides = Worst(-np.inf, time), Worst(value, time)
        yield Line(name, component, "", lower, 0.0, (scale, scale), sides, None, "evaluated", size=scale)


def disagreements(motions: Sequence[SolutionData], linked: LinkedProblems) -> Iterator[Line]:
    """Differences between phases in shared parameters and in copies of quantities."""
    for name, having in linked.shared.items():
        values = np.array([motions[k].parameters[name] for k in having])
        yield from _components(f"{name}{OF_ALL}", np.ptp(values, axis=0), np.abs(values).max(axis=0))


def beyond_bounds(motions: Sequence[SolutionData], linked: LinkedProblems) -> Iterator[Line]:
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
