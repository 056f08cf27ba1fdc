"""The lines of a report and of a certificate: the checks of a motion, compared with tolerances of either.

Of a report at nodes and between them, with the size of a limit or the scale of an equation; of a certificate
in the constraints' own units. NaN counts as a violation.

There is one for every bounded component of every limit and equation over the path, windows and arcs, of
differences of neighbouring nodes, values at single times, bounds of additional curves and of parameters,
periodicity, continuity between arcs, durations and bounded integrals, and in a certificate one for the
integral of every cost. Links between phases, and the parameters that they share, are evaluated on their
motions.

The largest violation of every component of a limit is looked for over the whole path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from trajopt.base.arrays import Array, finite_size
from trajopt.base.tolerances import AT_TIMES, BETWEEN
from trajopt.checks.constraint_checks import ConstraintChecks, end_checks, with_suprema
from trajopt.checks.integral_checks import cost_results, integral_checks
from trajopt.checks.line import NOWHERE, Interval, Line, Place, Worst
from trajopt.checks.path_equations import interval_errors, path_equations, torque_equations
from trajopt.checks.peaks_between_nodes import (
    CHECK_DENSITY,
    SEARCH_DENSITY,
    Peaks,
    dense_samples,
    interval_of,
    jump_within,
    node_samples,
    sample_times,
    search,
)
from trajopt.checks.residual_forces import UNIT, residual_forces
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.phases import Link, PhaseInstant, Phases, TermLink, place
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import bound_violation
from trajopt.solvers.solver import ROUNDING
from trajopt.terms import term as terms
from trajopt.transcription.link_constraints import LinkedProblems

# Of robots whose terms are enclosed: the inverse dynamics of larger ones takes seconds there.
MOST_JOINTS = 8
STEP = 0.1  # of what a limit is violated by: a smaller jump of it is not the cause


def violations(
    solution: Solution, accuracy: float | None = None, of_limits: float | None = None
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
    known = [_stepped(solution, line) for line in lines]
    # Rates that exceed the accuracy at single times count by what they change of states
    for numbers, errors in _rate_errors(solution, lines, allowed):
        for component, i in numbers.items():
            known[i] = known[i].integrated(float(errors[:, component].max()))
    lines = list(map(_reported, known))
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


def _stepped(solution: Solution, line: Line) -> Line:
    """The line of a limit that is violated beside a jump of its own, inside an interval, with that time."""
    place = line.place
    if place is None or not line.is_limit_over_time or not np.isfinite(line.value) or line.holds:
        return line
    least = STEP * line.dense_violation
    return replace(line, stepped=jump_within(solution, *place, line.dense_time, least))


def _reported(line: Line) -> Line:
    """The line, "proved" where a bound for all times is within its tolerance, apart from the problem."""
    bounded = line.evidence == "enclosure" or (line.over_time and line.bound is not None)
    if bounded and line.evidence != "integrated":
        line = replace(line, evidence="proved" if line.holds else "sampled")
    return replace(line, place=None)


def missed_equations(solution: Solution, accuracy: float) -> Array:
    """The largest relative error of a path equation in every interval between knots as a report has it.

    accuracy : relative; the errors of components that are within it stay zero
    """
    knots, equations = solution.knot_times, path_equations(solution.problem)
    found = np.zeros(knots.size - 1)
    lines = ConstraintChecks(solution, equations).results(CHECK_DENSITY, accuracy=accuracy)
    for line in lines:
        rates = line.place is not None and line.place.constraint.of_rates
        if not rates and line.equation and line.dense_relative > accuracy:
            interval = int(
                np.clip(np.searchsorted(knots, line.dense_time, side="right") - 1, 0, found.size - 1)
            )
            found[interval] = max(found[interval], line.dense_relative)
    for numbers, errors in _rate_errors(solution, lines, accuracy):
        found = np.maximum(found, errors[:, list(numbers)].max(axis=1))
    return found


def _rate_errors(
    solution: Solution, lines: Sequence[Line], accuracy: float
) -> Iterator[tuple[dict[int, int], Array]]:
    """Numbers of lines of rates beyond an accuracy, by component, and `interval_errors` of their equation."""
    missed: dict[Constraint, dict[int, int]] = {}
    for i, line in enumerate(lines):
        place = line.place
        if place is not None and place.constraint.of_rates and line.dense_relative > accuracy:
            missed.setdefault(place.constraint, {})[place.component] = i
    for constraint, numbers in missed.items():
        scale, peaks = np.ones(constraint.lower.size), [lines[i].dense_time for i in numbers.values()]
        scale[list(numbers)] = [lines[i].scale for i in numbers.values()]
        times = np.unique([*sample_times(solution, CHECK_DENSITY), *peaks])
        values = solution.value(constraint.term, times)
        yield numbers, interval_errors(solution, constraint, scale, times, values)


def _forces_together(solution: Solution) -> Iterator[Line]:
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


def link_violations(motions: Sequence[Solution], phases: Phases) -> Iterator[Line]:
    """Every component of every link, from the motions of the phases alone; those that are met are zero."""
    for link in phases.links:
        equal = np.ones(1, dtype=bool)
        if isinstance(link, TermLink):
            values, sizes = [], []  # at each instant, and the largest in its phase
            for instant in link.instants:
                own = motions[instant.phase]
                values.append(own.value(link.term, _time(own, instant)))
                sizes.append(np.abs(own.value(link.term, own.node_times)).max(axis=0))
            miss, size = np.abs(values[0] - values[1]), np.maximum(*sizes)
            last = link.instants[-1]
        else:
            miss, size = _of_link(motions, link)
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


def disagreements(motions: Sequence[Solution], linked: LinkedProblems) -> Iterator[Line]:
    """Differences between phases in shared parameters and in copies of quantities."""
    for name, having in linked.shared.items():
        values = np.array([motions[k].parameters[name] for k in having])
        yield from _components(f"{name}{OF_ALL}", np.ptp(values, axis=0), np.abs(values).max(axis=0))


def beyond_bounds(motions: Sequence[Solution], linked: LinkedProblems) -> Iterator[Line]:
    """Violations of the bounds of shared parameters, in the phase where they are largest."""
    for name, having in linked.shared.items():
        parameters = {k: linked.problems[k].parameters[name] for k in having}
        bounded = [k for k, p in parameters.items() if np.isfinite([p.lower, p.upper]).any()]
        if not bounded:
            continue
        given = [parameters[k] for k in bounded]
        values = [motions[k].parameters[name] for k in bounded]
        each = [bound_violation(v, p.lower, p.upper) for v, p in zip(values, given, strict=True)]
        miss = np.maximum(np.max(each, axis=0), 0.0)
        scale = finite_size([*(p.lower for p in given), *(p.upper for p in given), *values])
        yield from _components(f"bounds of {name}", miss, scale, equation=np.zeros(miss.size))


def _of_link(motions: Sequence[Solution], link: Link) -> tuple[Array, Array]:
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
    miss = np.maximum(bound_violation(g, link.lower, link.upper), 0.0)
    return miss, np.maximum(size, finite_size([link.lower, link.upper]))


def _time(solution: Solution, instant: PhaseInstant) -> Array:
    """Seconds; the end of an arc is looked at from its own side."""
    return np.array(interval_of(instant.over, solution.curve).first)


INFINITE = "the velocity or the acceleration jumps at {} times: this is infinite there"


def certificate_lines(solution: Solution, tol: float, equation_tol: float) -> tuple[Line, ...]:
    """One line per bounded component of every constraint, and one per cost.

    tol : tolerance of limits in their unit, but at most a hundredth of their range
    equation_tol : tolerance of equations over an interval of time, relative to their scale; that of equations
        at single times is 1e-6
    """
    with np.errstate(all="ignore"):  # what is not finite has its own line
        integrals = (*integral_checks(solution, BETWEEN), *cost_results(solution).values())
        return (
            *_of_constraints(solution, tol, equation_tol),
            *(certified(end, AT_TIMES * end.least_scale) for end in end_checks(solution)),
            *(
                certified(line, (AT_TIMES if line.evidence == "evaluated" else BETWEEN) * line.least_scale)
                for line in integrals  # a cost that is the value at an end is evaluated
            ),
        )


def certified(line: Line, tolerance: float) -> Line:
    """The line of a check with its tolerance and evidence, before any proof by Taylor models."""
    evidence, note = line.evidence, line.note
    if line.bound is not None and line.over_time:
        evidence = "hull" if line.bound.hull <= tolerance else "enclosure"
    if line.equation and line.size and line.value <= ROUNDING * line.size:
        evidence = "identity"
    if line.jumps:
        note = INFINITE.format(len(line.jumps))
    return replace(line, tolerance=tolerance, evidence=evidence, note=note)


def certified_link(link: Line, tol: float) -> Line:
    """The line of a link: equations hold to 1e-6 of their scale, limits to `tol`, at most 1 % of theirs."""
    return certified(link, _tolerance(link, tol, AT_TIMES))


def equation_tolerance(given: float | None, tol: float) -> float:
    """Relative tolerance of equations over an interval of time: as given, else `tol`, at most 0.01."""
    return given or min(tol, BETWEEN)


def _of_constraints(solution: Solution, tol: float, equation_tol: float) -> list[Line]:
    """The lines of all constraints: bounds are tried on few samples first, all others are searched again."""
    checks = ConstraintChecks(solution)

    def lines_of(results: Sequence[Line]) -> list[Line]:
        lines = [certified(result, _tolerance(result, tol, equation_tol)) for result in results]
        return with_suprema(solution, lines)

    # An eighth of the samples: where a bound is found, they only say how near it is reached
    lines = lines_of(checks.results(CHECK_DENSITY.thinned(8)))
    places = [line.place for line in lines if line.evidence == "sampled" and line.place is not None]
    unproved = dict.fromkeys(place.constraint for place in places)
    again = {line.place: line for line in lines_of(checks.results(CHECK_DENSITY, unproved))}
    return [replace(again.get(line.place, line), place=None) for line in lines]


def _tolerance(line: Line, tol: float, equation_tol: float) -> float:
    if not line.equation:
        return min(tol, BETWEEN * line.least_scale)
    nonlinear_at_time = line.evidence == "evaluated" and not line.size
    return (AT_TIMES if nonlinear_at_time else equation_tol) * line.least_scale


def largest_violations(solution: Solution) -> tuple[Line, ...]:
    """One entry per component of every path limit, in their order; -inf of those without bounds.

    Every interval between nodes is sampled, every local maximum of the samples is bracketed by its
    neighbours, and all brackets are narrowed together. A peak narrower than an eighth of an interval may be
    missed; the curve is a polynomial of low degree there, so only a term that oscillates has such peaks.
    Violations are compared with the range of their limit.
    """
    found = search(solution, solution.problem.path_limits(), SEARCH_DENSITY, most=None)
    return tuple(result for peaks in found for result in _of_components(solution, peaks))


def _of_components(solution: Solution, peaks: Peaks) -> Iterator[Line]:
    limit, width = peaks.constraint, peaks.constraint.lower.size
    named = solution.problem.component_names(limit.term.quantity, width)
    units = solution.problem.term_units(limit.term, width)
    interval, bounds = interval_of(limit.over, solution.curve), (limit.lower.tolist(), limit.upper.tolist())
    each = zip(named, units, *bounds, limit_ranges(limit).tolist(), strict=True)
    for c, (label, unit, lower, upper, size) in enumerate(each):
        stated = limit.name, label, unit, lower, upper, (size, size), NOWHERE
        below, above = (Worst(np.inf if np.isnan(at.value) else at.value, at.time) for at in peaks.worst(c))
        where = {"interval": interval, "place": Place(limit, c)}
        yield Line(*stated, (below, above), "sampled", peaks.resolution, **where)


def limit_ranges(limit: Constraint) -> Array:
    """Upper minus lower bound; of a one-sided limit its bound's magnitude; one where that is zero."""
    width = limit.upper - limit.lower
    one = np.where(np.isfinite(limit.upper), np.abs(limit.upper), np.abs(limit.lower))
    width = np.where(np.isfinite(width), width, one)
    return np.where(np.isfinite(width) & (width > 0.0), width, 1.0)
