"""The lines of all constraints of a problem on a motion, of bounds of its additional curves and parameters.

Bounds of the curves' own derivatives are proved by control points. All other terms are sampled over the times
for which they are stated, and bounded there where that is possible (`enclosed_lines`), or evaluated where
these are single times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.checks.check_times import node_samples
from trajopt.checks.equations.equation_scales import equation_scales
from trajopt.checks.lines.acceleration_jumps import acceleration_jumps
from trajopt.checks.lines.enclosed_lines import SampledLine, enclosed
from trajopt.checks.lines.statement_line import AT_TIMES, EXACT, Evidence, StatementLine
from trajopt.checks.lines.statement_times import Interval, interval_of, sample_times
from trajopt.checks.violation import side_scales, zero_bounded
from trajopt.checks.violation_peaks import Peaks, component_violation, narrowed
from trajopt.graph.keys import SplineLeaf
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.implied_constraints import all_constraints
from trajopt.splines.node_sets import ArcNodes, TimeWindow
from trajopt.splines.polynomial_bounds import UpperBound, pieces_of_group, upper_bound

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

OF_RANGE = 1e-2  # the most of a limit's range that its tolerance may be
MOST_PEAKS = 16  # of a component, looked at between samples
THINNED = 8  # where bounds are tried first: where one is found, samples only say how near it is reached


class ConstraintLines:
    """The lines of all constraints of one solution.

    tol : tolerance of limits in their unit, but at most a hundredth of their range
    equation_tol : tolerance of equations over an interval, relative to their scale; that of equations at
        single times is 1e-6
    scales : of every equation and limit of zero, (width,)
    values : of every stated term at the nodes, quantity -> (K, width)
    """

    def __init__(self, solution: SolutionData, tol: float, equation_tol: float) -> None:
        self.solution, self.problem = solution, solution.problem
        self.tol, self.equation_tol = tol, equation_tol
        self.stated = all_constraints(self.problem)
        self.leaves = self.problem.spline_leaves
        measured = [c for c in self.stated if np.any((c.lower == c.upper) | zero_bounded(c))]
        nodes = node_samples(solution)
        self.scales = equation_scales(solution, measured, nodes)
        self.values = solution.values([c.term for c in self.stated], nodes.times) if self.stated else {}

    def lines(self) -> Iterator[StatementLine]:
        """In the order of the statements; those that are sampled are evaluated together."""
        sampled = self._sampled()
        for number, constraint in enumerate(self.stated):
            if not self._placed(constraint):
                yield from self._misplaced(constraint)
            elif number in sampled:
                yield from sampled[number]
            elif constraint.over.is_difference:
                yield from self._differences(constraint)
            elif constraint.term.quantity in self.leaves:
                yield from self._polynomial(constraint, self.leaves[constraint.term.quantity])
            else:
                yield from self._at_time(constraint)

    # -- lines of one constraint --------------------------------------------------------------------------

    def _polynomial(self, constraint: Constraint, leaf: SplineLeaf) -> Iterator[StatementLine]:
        """Bounds of a derivative of the curve, proved by its control points."""
        when = interval_of(constraint.over, self.solution.curve)
        pieces, place = pieces_of_group(self.solution.curve, leaf.curves.start, leaf.order)
        pieces = pieces.within(when.first, when.last)
        for c in _bounded(constraint):
            own = replace(pieces, coefficients=pieces.coefficients[..., place + c])
            above, below = upper_bound(own), upper_bound(replace(own, coefficients=-own.coefficients))
            line = self._line(constraint, c)
            value, time = _worse(
                (above.value - constraint.upper[c], above.time),
                (below.value + constraint.lower[c], below.time),
            )
            evidence = self._polynomial_evidence(constraint, c, line, value, (above, below), when)
            yield self._smooth(replace(line, value=value, time=time, evidence=evidence), constraint, c)

    def _polynomial_evidence(
        self,
        constraint: Constraint,
        c: int,
        line: StatementLine,
        value: float,
        bounds: tuple[UpperBound, UpperBound],
        when: Interval,
    ) -> Evidence:
        above, below = bounds
        size = max(1.0, abs(above.hull), abs(below.hull))
        if line.equation and value <= EXACT * size:
            return "identity"
        if when.is_time:
            return "evaluated"
        hull = max(above.hull - constraint.upper[c], below.hull + constraint.lower[c])
        return "hull" if hull <= line.tolerance else "enclosure"

    def _at_time(self, constraint: Constraint) -> Iterator[StatementLine]:
        time = interval_of(constraint.over, self.solution.curve).first
        values = self.solution.value(constraint.term, np.array([time]))
        for c in _bounded(constraint):
            value = float(component_violation(constraint, values, c)[0])
            line = self._line(constraint, c)
            tolerance = AT_TIMES * line.scale if line.equation else line.tolerance
            yield replace(line, value=value, time=time, tolerance=tolerance)

    def _differences(self, constraint: Constraint) -> Iterator[StatementLine]:
        """Differences between neighbouring nodes; what happens between two of them is not stated."""
        nodes = node_samples(self.solution)
        mask = constraint.over.mask(nodes)
        times = nodes.times[mask]
        values = np.diff(self.solution.value(constraint.term, times), axis=0)
        resolution = float(np.diff(times).max(initial=0.0))
        for c in _bounded(constraint):
            violation = component_violation(constraint, values, c)
            worst = int(np.argmax(violation))  # NaN is the largest
            yield replace(
                self._line(constraint, c),
                value=float(violation[worst]),
                time=float(times[1:][worst]),
                evidence="sampled",
                resolution=resolution,
                note="differences of neighbouring nodes only, nothing between two of them",
            )

    def _sampled(self) -> dict[int, list[StatementLine]]:
        """The lines of all constraints over intervals that are no bounds of the curve, by their number."""
        chosen = {
            number: interval_of(constraint.over, self.solution.curve)
            for number, constraint in enumerate(self.stated)
            if self._placed(constraint)
            and not constraint.over.is_difference
            and constraint.over.integrates
            and constraint.term.quantity not in self.leaves
        }
        found = self._on_samples(chosen, THINNED)
        unproved = (number for number, lines in found.items() if any(x.evidence == "sampled" for x in lines))
        return found | self._on_samples({number: chosen[number] for number in unproved}, 1)

    def _on_samples(self, chosen: dict[int, Interval], thinned: int) -> dict[int, list[StatementLine]]:
        """The lines of these constraints, bounded where that is possible, on one of so many samples."""
        times = {number: sample_times(self.solution, when, thinned) for number, when in chosen.items()}
        if not times:
            return {}
        every = np.unique(np.concatenate(list(times.values())))
        values = self.solution.values(
            list({self.stated[n].term.quantity: self.stated[n].term for n in times}.values()), every
        )
        peaks: dict[tuple[int, int], Peaks] = {}
        for number, own in times.items():
            constraint, here = self.stated[number], np.searchsorted(every, own)
            for c in _bounded(constraint):
                violation = component_violation(constraint, values[constraint.term.quantity][here], c)
                peaks[number, c] = Peaks(constraint, c, own, violation, most=MOST_PEAKS)
        narrowed(self.solution, list(peaks.values()))
        sampled: dict[tuple[int, int], SampledLine] = {}
        for (number, c), highest in peaks.items():
            value, time = highest.highest
            line = replace(
                self._line(self.stated[number], c),
                value=value if highest.not_finite is None else np.nan,
                time=time,
                evidence="sampled",
                resolution=float(np.diff(times[number]).max(initial=0.0)),
            )
            line = self._smooth(line, self.stated[number], c)
            sampled[number, c] = SampledLine(line, self.stated[number], c, chosen[number])
        found: dict[int, list[StatementLine]] = {number: [] for number in times}
        for (number, _), line in zip(sampled, enclosed(self.solution, [*sampled.values()]), strict=True):
            found[number].append(line)
        return found

    # -- common parts -------------------------------------------------------------------------------------

    def _line(self, constraint: Constraint, c: int) -> StatementLine:
        """The line of one component, its value still missing."""
        equation = bool(constraint.lower[c] == constraint.upper[c])
        if equation:
            scale = float(self.scales[constraint][c])
            tolerance = self.equation_tol * scale
        else:
            sides = side_scales(constraint, self.values[constraint.term.quantity])[:, c]
            bounded = np.isfinite([constraint.lower[c], constraint.upper[c]])
            scale = float(sides[bounded].min())
            if zero_bounded(constraint)[c]:
                scale = min(scale, float(self.scales[constraint][c]))
            tolerance = min(self.tol, OF_RANGE * scale)
        label = self.problem.component_names(constraint.term.quantity, constraint.lower.size)[c]
        return StatementLine(
            constraint.name, label, np.nan, 0.0, tolerance, "evaluated", scale=scale, equation=equation
        )

    def _smooth(self, line: StatementLine, constraint: Constraint, c: int) -> StatementLine:
        """The line, violated without bound where a jump makes the jerk or the acceleration infinite."""
        jumps = acceleration_jumps(self.solution, constraint, c)
        if not jumps.size:
            return line
        note = f"the velocity or the acceleration jumps at {jumps.size} times: this is infinite there"
        return replace(line, value=np.inf, time=float(jumps[0]), note=note)

    def _placed(self, constraint: Constraint) -> bool:
        """Whether the arcs that a statement names are arcs of the motion."""
        named = isinstance(constraint.over, ArcNodes | TimeWindow) or constraint.over.is_difference
        return not named or len(self.problem.trajectory.arcs) == len(self.solution.curve.bases)

    def _misplaced(self, constraint: Constraint) -> Iterator[StatementLine]:
        for c in _bounded(constraint):
            note = "stated for arcs that the motion does not have"
            yield replace(self._line(constraint, c), note=note)


def _bounded(constraint: Constraint) -> Sequence[int]:
    """The components that have a bound."""
    bounded: Any = np.flatnonzero(np.isfinite(constraint.lower) | np.isfinite(constraint.upper))
    return [int(component) for component in bounded]


def _worse(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The larger of two violations with its time; NaN is the largest."""
    if np.isnan(one[0]) or not (one[0] < other[0] or np.isnan(other[0])):
        return one
    return other
