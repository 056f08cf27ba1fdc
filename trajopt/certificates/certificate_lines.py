"""The lines of a certificate: the checks of a motion, compared with tolerances in the constraints' own units.

There is one for every bounded component of every limit and equation over the path, windows and arcs, of
differences of neighbouring nodes, values at single times, bounds of additional curves and of parameters,
periodicity, continuity between arcs, durations and bounded integrals, and one for the integral of every cost.

Also here: violations of limits over the whole path, for certificates: the largest of every component.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AT_TIMES, BETWEEN
from trajopt.checks.constraint_checks import ConstraintChecks, end_checks, with_suprema
from trajopt.checks.integral_checks import cost_results, integral_checks
from trajopt.checks.line import NOWHERE, Line, Place, Worst
from trajopt.checks.peaks_between_nodes import CHECK_DENSITY, SEARCH_DENSITY, Peaks, interval_of, search
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.solvers.solver import ROUNDING

THINNED = 8  # where bounds are tried first: where one is found, samples only say how near it is reached
INFINITE = "the velocity or the acceleration jumps at {} times: this is infinite there"


def certificate_lines(solution: SolutionData, tol: float, equation_tol: float) -> tuple[Line, ...]:
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
            *(certified(integral, _of_integral(integral)) for integral in integrals),
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


def _of_constraints(solution: SolutionData, tol: float, equation_tol: float) -> list[Line]:
    """The lines of all constraints: bounds are tried on few samples first, all others are searched again."""
    checks = ConstraintChecks(solution)

    def lines_of(results: Sequence[Line]) -> list[Line]:
        lines = [certified(result, _tolerance(result, tol, equation_tol)) for result in results]
        return with_suprema(solution, lines)

    lines = lines_of(checks.results(CHECK_DENSITY.thinned(THINNED)))
    places = [line.place for line in lines if line.evidence == "sampled" and line.place is not None]
    unproved = dict.fromkeys(place.constraint for place in places)
    again = {line.place: line for line in lines_of(checks.results(CHECK_DENSITY, unproved))}
    return [replace(again.get(line.place, line), place=None) for line in lines]


def _tolerance(line: Line, tol: float, equation_tol: float) -> float:
    if not line.equation:
        return min(tol, BETWEEN * line.least_scale)
    nonlinear_at_time = line.evidence == "evaluated" and not line.size
    return (AT_TIMES if nonlinear_at_time else equation_tol) * line.least_scale


def _of_integral(line: Line) -> float:
    """The tolerance of an integral, or of a cost that is the value at an end."""
    return (AT_TIMES if line.evidence == "evaluated" else BETWEEN) * line.least_scale


def largest_violations(solution: SolutionData) -> tuple[Line, ...]:
    """One entry per component of every path limit, in their order; -inf of those without bounds.

    Every interval between nodes is sampled, every local maximum of the samples is bracketed by its
    neighbours, and all brackets are narrowed together. A peak narrower than an eighth of an interval may be
    missed; the curve is a polynomial of low degree there, so only a term that oscillates has such peaks.
    Violations are compared with the range of their limit.
    """
    found = search(solution, solution.problem.path_limits(), SEARCH_DENSITY, most=None)
    return tuple(result for peaks in found for result in _of_components(solution, peaks))


def _of_components(solution: SolutionData, peaks: Peaks) -> Iterator[Line]:
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
