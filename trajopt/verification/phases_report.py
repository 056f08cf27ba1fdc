"""Verification of phases: every phase by itself, all links, and the optimality of all phases together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from textwrap import fill, indent, wrap
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError, printable
from trajopt.base.tolerances import AT_TIMES
from trajopt.checks.line import Line
from trajopt.checks.path_equations import EquationResidual
from trajopt.checks.violations import (
    OF_ALL,
    beyond_bounds,
    disagreements,
    link_violations,
)
from trajopt.problem.links.phases import Phases
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.solution import SolutionData, mesh_of
from trajopt.solvers.optimality.kkt import KKT
from trajopt.transcription.links.link_constraints import linked_problems
from trajopt.transcription.links.linked_program import LinkedProgram, linked_program, unknowns_of_motions
from trajopt.verification.claims import differences_of_phases, smallest_kkt, unusable, unusable_phases
from trajopt.verification.report import DIAGNOSE, LABEL, WIDTH, Report, Verdict, excess_sentence, fields_of
from trajopt.verification.verify import verify as verify_phase


@dataclass(frozen=True, eq=False, repr=False)
class PhasesReport(Verdict):
    """The result of a verification of phases; print it.

    reports : of every phase, with what it shares held at its value
    links : every component of every link, and of the parameters that several phases have, their bounds too
    kkt : of all phases together, recomputed where the problems are as they were
    together : what the solution reports of all phases together inconsistently with their motions, in words
    """

    names: tuple[str, ...]
    reports: tuple[Report, ...]
    links: tuple[Line, ...]
    together: tuple[str, ...] = ()

    @property
    def named_parts(self) -> tuple[tuple[str, Report], ...]:
        """(name, report) of every phase."""
        return tuple(zip(self.names, self.reports, strict=True))

    @property
    def holds_at_nodes(self) -> bool:
        """True if all holds at the nodes and between phases, and the motions are optimal together."""
        return not self._wrong_together() and all(report.holds_at_nodes for report in self.reports)

    @property
    def reason(self) -> str:
        """The most important reason why the solution fails; empty where none does."""
        wrong = (f"phase '{name}': {report.reason}" for name, report in self.named_parts if report.reason)
        return self._wrong_together() or next(wrong, "")

    def _wrong_together(self) -> str:
        if not self.converged:
            return f"the solve did not converge ({self.status})"
        allowed = min(AT_TIMES, self.accuracy)
        for link in self.links:
            if not link.dense_relative <= allowed:
                return (
                    f"link {link.label}: missed by {link.value:.4g}, {link.dense_relative:.2g} of its scale; "
                    f"{allowed:.0e} allowed"
                )
        wrong = self._not_optimal("the phases are not optimal together")
        if self.together and not wrong:
            return f"the solution is inconsistent with its motions: {self.together[0]}"
        return wrong

    @property
    def lines(self) -> tuple[Line, ...]:
        """The violations of all phases, then the links."""
        return (*self.violations, *self.links)

    @property
    def simulation_error(self) -> float | None:
        """Largest gap of the phases' simulations restarted at every knot; None where one has none."""
        errors = [report.simulation_error for report in self.reports]
        return None if None in errors else float(np.max(np.array(errors, dtype=float)))

    @property
    def violations(self) -> tuple[Line, ...]:
        """The violations of all phases, whose names begin with the phase's."""
        return tuple(self._named("violations"))

    @property
    def equations(self) -> tuple[EquationResidual, ...]:
        """The path equations of all phases, whose names begin with the phase's."""
        return tuple(self._named("equations"))

    def _named(self, part: str) -> Iterator[Any]:
        for name, report in self.named_parts:
            yield from (replace(each, name=f"{name}: {each.name}") for each in getattr(report, part))

    @property
    def differences(self) -> tuple[str, ...]:
        """Contradictions between what the solutions report and their motions, in words."""
        of_phases = [
            (name, difference) for name, report in self.named_parts for difference in report.differences
        ]
        return (*self.together, *(f"phase '{name}': {each}" for name, each in of_phases))

    def __str__(self) -> str:
        passed = f"PASS: {excess_sentence(self.largest_excess)}all phases and links hold"
        head = passed if self.holds else f"FAIL: {self.reason}; {DIAGNOSE}"
        lines = [fill(head, WIDTH), *wrap(self.optimum, WIDTH), self.title, ""]
        if self.links:
            width = max(LABEL, *(len(link.label) for link in self.links)) + 2
            lines.append(f"{'link':<{width}}{'missed by':>10}{'of scale':>10}")
            lines += [
                f"{link.label:<{width}}{link.value:>10.3e}{link.dense_relative:>10.1e}" for link in self.links
            ]
        lines += [f"inconsistent with the motions: {difference}" for difference in self.together]
        lines.append(f"KKT error of all phases {self.kkt_error:.3e}, {self._kkt_source}")
        for name, report in self.named_parts:
            lines += ["", f"phase '{name}'", indent(str(report), "  ")]
        return printable("\n".join(lines))


def verify_phases(solution: PhasesSolutionData, accuracy: float | None = None) -> PhasesReport:
    """The report of phases; raises OptionError for an accuracy that is not positive.

    Links are evaluated from the motions, without the parameters by which the solver met them.
    """
    phases = solution.asked
    if wrong := unusable_phases(solution):
        return _report(solution, accuracy, (), (), None, (wrong,))
    # What equations that are missed cost is compared with the costs of all phases: one may have none.
    total = solution.size_of_costs or np.inf
    reports = tuple(_of_phase(phase, accuracy, total) for phase in solution.phases)
    usable = not any(unusable(phase) for phase in solution.phases)  # else the phases' reports say why not
    program, y = _program(solution, phases) if usable else (None, None)
    kkt = None if program is None or y is None else smallest_kkt(program, y, solution)[1]
    links = tuple(_of_links(solution, phases)) if usable else ()
    errors = [report.error_of_optimum for report in reports if report.error_of_optimum is not None]
    reports = tuple(replace(report, error_of_optimum=None) for report in reports)  # of all together alone
    differences = tuple(differences_of_phases(solution, program, y))
    found = _report(solution, accuracy, reports, links, kkt, differences)
    known = found.holds and len(errors) == len(reports)
    return replace(found, error_of_optimum=sum(errors)) if known else found


def _report(
    solution: PhasesSolutionData,
    accuracy: float | None,
    reports: tuple[Report, ...],
    links: tuple[Line, ...],
    kkt: KKT | None,
    together: tuple[str, ...],
) -> PhasesReport:
    title, names = (solution.title, solution.names) if reports else (solution.name, ())
    return PhasesReport(names, reports, links, together, **fields_of(solution, title, kkt, accuracy))


def _of_links(solution: PhasesSolutionData, phases: Phases) -> Iterator[Line]:
    """Links, then what phases share under one name: that it is the same, and its own bounds."""
    yield from link_violations(solution.phases, phases)
    try:
        linked = linked_problems(phases)
    except TrajoptError:  # the problems contradict themselves by now; the phases' reports say where
        return
    stated = {name for problem in phases.problems for name in problem.parameters}
    for disagreement in disagreements(solution.phases, linked):
        if disagreement.name.removesuffix(OF_ALL) in stated:
            yield disagreement
    yield from beyond_bounds(solution.phases, linked)


def _of_phase(solution: SolutionData, accuracy: float | None, total: float) -> Report:
    """The report of one phase, without the values at which what it shares is held."""
    parameters = solution.problem.parameters.values()
    held = {
        f"bounds of {parameter.name}"
        for parameter in parameters
        if np.array_equal(parameter.lower, parameter.upper)
    }
    held -= {stated.name for stated in solution.problem.stated}
    report = verify_phase(solution, accuracy)
    left = tuple(violation for violation in report.violations if violation.name not in held)
    return replace(report, violations=left, objective=total)


def _program(solution: PhasesSolutionData, phases: Phases) -> tuple[LinkedProgram, Array] | tuple[None, None]:
    """The program, built again, and the motions as its unknowns; None where they do not fit it."""
    meshes = [mesh for part in solution.phases if (mesh := mesh_of(part)) is not None]
    try:
        program = linked_program(
            solution.asked_on(*meshes) if len(meshes) == len(solution.phases) else phases
        )
    except TrajoptError:  # the problems contradict themselves by now; the phases' reports say where
        return None, None
    found = unknowns_of_motions(program.programs, solution)
    return (None, None) if found is None else (program, np.concatenate(found))
