"""The lines of a certificate: the checks of a motion, compared with tolerances in the constraints' own units.

There is one for every bounded component of every limit and equation over the path, windows and arcs, of
differences of neighbouring nodes, values at single times, bounds of additional curves and of parameters,
periodicity, continuity between arcs, durations and bounded integrals, and one for the integral of every cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trajopt.base.tolerances import AT_TIMES, BETWEEN
from trajopt.checks.check_result import CheckResult, OfComponent
from trajopt.checks.constraint_checks import ConstraintChecks, end_checks
from trajopt.checks.integral_checks import cost_results, integral_checks
from trajopt.checks.peaks_between_nodes import CHECK_DENSITY
from trajopt.checks.proofs import suprema
from trajopt.solution.solution import SolutionData
from trajopt.solvers.solver_constants import ROUNDING
from trajopt.taylor_models.suprema import MOST_PIECES, Supremum

Evidence = Literal["identity", "hull", "enclosure", "evaluated", "sampled"]

THINNED = 8  # where bounds are tried first: where one is found, samples only say how near it is reached
INFINITE = "the velocity or the acceleration jumps at {} times: this is infinite there"
RAN_OUT = f"no bound on {MOST_PIECES} pieces"


@dataclass(frozen=True)
class CertificateLine(OfComponent):
    """The largest violation of one component of a constraint, and how it is known.

    value : violation in the constraint's unit, |residual| of an equation; negative where a limit holds with a
        margin; NaN where a value is not finite; infinity where a jump makes a derivative infinite
    time : seconds, of that value
    tolerance : the largest value with which the line holds
    evidence : "identity", an equation that was eliminated and holds to rounding at all times; "hull", control
        points within the bounds; "enclosure", a bound for all times by control points of cut pieces or by
        Taylor models; "evaluated", stated for single times and computed there; "sampled", computed at times
        `resolution` apart and narrowed around their peaks
    resolution : seconds; a violation on an interval as long as that is seen, a shorter one may be missed; of
        an integral: the largest distance of samples; a bump of its integrand that is shorter may be missed
    scale : of an equation, what its tolerance refers to; else the range of the limit
    note : what the line does not cover, or why it fails
    """

    name: str
    component: str
    value: float
    time: float
    tolerance: float
    evidence: Evidence
    resolution: float = 0.0
    scale: float = 1.0
    equation: bool = False
    note: str = ""

    @staticmethod
    def of(result: CheckResult, tolerance: float) -> CertificateLine:
        """The line of a check result, before any proof."""
        (value, time), note = result.worst, result.note
        evidence: Evidence = result.evidence
        if result.bound is not None:
            value, time = result.bound.value, result.bound.time
            if result.over_time:
                evidence = "hull" if result.bound.hull <= tolerance else "enclosure"
        if result.equation and result.size and value <= ROUNDING * result.size:
            evidence = "identity"
        if result.jumps:
            value, time, note = np.inf, result.jumps[0], INFINITE.format(len(result.jumps))
        return CertificateLine(
            result.name,
            result.component,
            value,
            time,
            tolerance,
            evidence,
            result.resolution,
            result.scale,
            result.equation,
            note,
        )

    def with_supremum(self, supremum: Supremum) -> CertificateLine:
        """The line with a bound; with a violation between samples that the search met; or as it was."""
        if supremum.reached > self.tolerance:
            return replace(self, value=supremum.reached, time=supremum.time)
        if supremum.value <= self.tolerance:
            value = max(supremum.value, self.value)  # samples carry the rounding errors of their evaluation
            return replace(self, value=value, time=supremum.time, evidence="enclosure", resolution=0.0)
        return replace(self, note=RAN_OUT)

    @property
    def holds(self) -> bool:
        """True if the violation is within the tolerance; False for NaN."""
        return self.value <= self.tolerance

    @property
    def ratio(self) -> float:
        """The violation in multiples of the tolerance; infinity for NaN."""
        return np.inf if np.isnan(self.value) else self.value / self.tolerance

    def __str__(self) -> str:
        what = "is not finite" if np.isnan(self.value) else f"is missed by {self.value:.3e}"
        relative = f", {self.value / self.scale:.1e} of its scale" if self.equation else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.label} {what}{relative} at t = {self.time:.6f} s, tolerance {self.tolerance:.1e}{note}"


def certificate_lines(solution: SolutionData, tol: float, equation_tol: float) -> tuple[CertificateLine, ...]:
    """One line per bounded component of every constraint, and one per cost.

    tol : tolerance of limits in their unit, but at most a hundredth of their range
    equation_tol : tolerance of equations over an interval of time, relative to their scale; that of equations
        at single times is 1e-6
    """
    with np.errstate(all="ignore"):  # what is not finite has its own line
        integrals = (*integral_checks(solution, BETWEEN), *cost_results(solution).values())
        return (
            *_of_constraints(solution, tol, equation_tol),
            *(CertificateLine.of(end, AT_TIMES * end.scale) for end in end_checks(solution)),
            *(CertificateLine.of(integral, _of_integral(integral)) for integral in integrals),
        )


def equation_tolerance(given: float | None, tol: float) -> float:
    """Relative tolerance of equations over an interval of time: as given, else `tol`, at most 0.01."""
    return given or min(tol, BETWEEN)


def _of_constraints(solution: SolutionData, tol: float, equation_tol: float) -> list[CertificateLine]:
    """The lines of all constraints: bounds are tried on few samples first, all others are searched again."""
    checks = ConstraintChecks(solution)

    def lines_of(results: Sequence[CheckResult]) -> list[CertificateLine]:
        lines = [CertificateLine.of(each, _tolerance(each, tol, equation_tol)) for each in results]
        bounds = suprema(solution, results, [line.tolerance for line in lines])
        each = zip(lines, bounds, strict=True)
        return [line if bound is None else line.with_supremum(bound) for line, bound in each]

    results = checks.results(CHECK_DENSITY.thinned(THINNED))
    lines = lines_of(results)
    unproved = {
        result.place.constraint: None
        for result, line in zip(results, lines, strict=True)
        if line.evidence == "sampled" and result.place is not None
    }
    results_again = checks.results(CHECK_DENSITY, unproved)
    again = dict(zip((each.place for each in results_again), lines_of(results_again), strict=True))
    return [again.get(each.place, line) for each, line in zip(results, lines, strict=True)]


def _tolerance(result: CheckResult, tol: float, equation_tol: float) -> float:
    if not result.equation:
        return min(tol, BETWEEN * result.scale)
    nonlinear_at_time = result.evidence == "evaluated" and not result.size
    return (AT_TIMES if nonlinear_at_time else equation_tol) * result.scale


def _of_integral(result: CheckResult) -> float:
    """The tolerance of an integral, or of a cost that is the value at an end."""
    return (AT_TIMES if result.evidence == "evaluated" else BETWEEN) * result.scale
