"""Verification of a solution independently of its solver, of one motion or of phases.

Every constraint of the problem is evaluated at the nodes and between them, at both sides of breakpoints;
costs and KKT residuals are computed again from the problem; a stationary motion is looked at for better
nearby points (`minimality`); the motion is simulated forward from its torques. Of phases every one is
verified by itself, then all links, and the optimality of all together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trajopt.base.arguments import number
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, TrajoptError
from trajopt.base.tolerances import BETWEEN, LIMIT_ACCURACY
from trajopt.checks.integral_checks import cost_checks, norms_out_of_range
from trajopt.checks.line import Line
from trajopt.checks.path_equations import (
    EquationResidual,
    cost_of_equations,
    costs_of_residuals,
    path_equations,
    torque_equations,
)
from trajopt.checks.peaks_between_nodes import CHECK_DENSITY, sample_times
from trajopt.checks.residual_forces import base_balance, standing_feet
from trajopt.checks.simulation import simulate
from trajopt.checks.violations import OF_ALL, beyond_bounds, disagreements, link_violations, violations
from trajopt.problem.phases import Phases
from trajopt.solution.answers import ZERO_COST
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.solution import Answer, Solution, mesh_of
from trajopt.solvers.kkt import KKT
from trajopt.solvers.solver import WarmStart
from trajopt.transcription.link_constraints import linked_problems
from trajopt.transcription.linked_program import LinkedProgram, linked_program, unknowns_of_motions
from trajopt.transcription.nlp import NLP
from trajopt.verification.claims import (
    RebuiltProgram,
    differences,
    differences_of_phases,
    point_and_kkt,
    rebuilt_program,
    smallest_kkt,
    unknown_slopes,
    unusable,
    unusable_phases,
)
from trajopt.verification.diagnosis import sentence_of_multipliers
from trajopt.verification.minimality import Minimality, minimality
from trajopt.verification.nearby_points import NearbyPoints
from trajopt.verification.report import Report

__all__ = ["Line", "Report", "verify", "verify_phases"]

LOADED = "the dynamics offers no forward dynamics under loads"


def verify(solution: Solution, accuracy: float | None = None) -> Report:
    """Violations at nodes and between them, costs, KKT residuals, simulation, and a verdict.

    Between nodes at least 10 times are sampled in every interval, 2000 over the motion and 64 on each part of
    a constraint's range; the largest samples are narrowed to their peaks. What they do not refute is proved
    for all times by enclosures, for up to 8 joints and where they are known; the report says for which.

    accuracy : what is allowed between nodes, relative to a limit's size (the larger of its two bounds, at
        most their range) or the scale of an equation; where it is left out 0.001 of limits over time and 0.01
        of all else. At nodes 1e-6 is allowed.
    Raises OptionError for an accuracy that is not positive.
    """
    if accuracy is not None and not number(accuracy, "the accuracy") > 0.0:
        raise OptionError(f"the accuracy is {accuracy!r}: give a positive number, 0.01 for one percent")
    if wrong := unusable(solution) or _impossible(solution):
        claims = {"objective": solution.objective, "differences": (wrong,)}
        fields = _fields_of(solution, solution.title, None, accuracy)
        return Report(violations=(), unsimulated="the motion was not looked at", **claims, **fields)
    problem = solution.problem
    program = None if problem.unsaved else rebuilt_program(solution)
    point, kkt = (None, None) if program is None else point_and_kkt(program, solution)
    nearby = None if program is None or point is None else NearbyPoints(program.nlp, point)
    found = violations(solution, *accuracies(accuracy))
    equations = tuple(_equations(solution, found)) if path_equations(problem) else ()
    costs = tuple(cost_checks(solution, cost_of_equations(equations) or 0.0))
    return Report(
        violations=tuple(found),
        simulation=simulate(solution),
        unsimulated=LOADED if problem.loads else Report.unsimulated,
        equations=equations,
        costs=costs,
        differences=tuple(differences(solution, costs, program)),
        norms=norms_out_of_range(solution),
        objective=solution.objective,
        free_simulation=simulate(solution, without_residual=True) if torque_equations(problem) else None,
        resolution=float(np.diff(sample_times(solution, CHECK_DENSITY)).max(initial=0.0)),
        minimality=_minimality(
            solution, program, nearby, accuracy, max((c.zero for c in costs), default=0.0)
        ),
        balance=base_balance(solution),
        feet=standing_feet(solution),
        relaxations=problem.relaxations,
        designs={
            name: tuple(design.value(solution.parameters).tolist())
            for name, design in problem.designs.items()
        },
        unbuilt=solution.unbuilt,
        unsaved=tuple(f"{name} ({reason})" for name, reason in problem.unsaved.items()),
        dependent=_dependent_rows(None if program is None else program.nlp, point, solution),
        unmended=bool(solution.warning),
        refined=solution.journal.refinement is not None,
        rounding=0.0 if program is None else ZERO_COST / program.nlp.objective_scale,
        **_fields_of(solution, solution.title, kkt, accuracy),
    )


def _impossible(solution: Solution) -> str:
    """Reason why the robot or system that a file describes cannot be built; empty where it can.

    What names no known problem, or unknown parameters, raises the error that asks for the problem.
    """
    try:
        _ = solution.problem
    except TrajoptError:
        raise
    except ValueError as error:  # of a robot: masses, inertias
        return f"the problem of its recipe cannot be built: {error}"
    return ""


def _equations(solution: Solution, found: Sequence[Line]) -> Iterator[EquationResidual]:
    """Every component of every path equation, with its residual from the violations and its cost."""
    problem, known = solution.problem, {(v.name, v.component): v for v in found}
    for constraint, cost in costs_of_residuals(solution).items():
        names = problem.component_names(constraint.term.quantity, constraint.lower.size)
        for component in map(int, np.flatnonzero(constraint.lower == constraint.upper)):
            v = known[constraint.name, names[component]]
            own = None if cost is None else float(cost[:, component].sum())
            residual = v.dense_violation if v.pointwise is None else v.pointwise
            missed = residual, v.dense_time, v.scale, v.unit
            yield EquationResidual(constraint.name, names[component], *missed, own)


def _minimality(
    solution: Solution,
    program: RebuiltProgram | None,
    nearby: NearbyPoints | None,
    accuracy: float | None,
    zero: float,
) -> Minimality:
    """The search for better points nearby, where derivatives are those of the values."""
    stated, inexact = ("", "") if program is None else unknown_slopes(program)
    if stated:
        return Minimality(f"the motion need not be optimal: {stated}")
    found = minimality(solution, nearby, accuracies(accuracy)[0], zero)
    return replace(found, note="; ".join(filter(None, [inexact, found.note])))


def _dependent_rows(program: NLP | LinkedProgram | None, point: WarmStart | None, answer: Answer) -> str:
    """The remedy of a solve that did not converge, or rows whose multipliers cancel at its end."""
    if answer.converged or program is None or point is None or answer.remedy:
        return answer.remedy
    return sentence_of_multipliers(answer.asked, program, point)


def accuracies(accuracy: float | None) -> tuple[float, float]:
    """The accuracies between nodes and of limits over time that a user gives, or the defaults."""
    return (BETWEEN, LIMIT_ACCURACY) if accuracy is None else (float(accuracy), float(accuracy))


def _fields_of(answer: Answer, title: str, kkt: KKT | None, accuracy: float | None) -> dict[str, Any]:
    """The fields of a report that follow from an answer; kkt : recomputed, None where it is not known."""
    allowed, of_limits = accuracies(accuracy)
    return {
        "title": title,
        "answer": answer,
        "kkt": kkt or answer.kkt,
        "kkt_of_solve": answer.kkt,
        "kkt_recomputed": kkt is not None,
        "accuracy": allowed,
        "limit_accuracy": of_limits,
        "converged": answer.converged,
        "status": answer.status.value,
    }


def verify_phases(solution: PhasesSolution, accuracy: float | None = None) -> Report:
    """The report of phases; raises OptionError for an accuracy that is not positive.

    Links are evaluated from the motions, without the parameters by which the solver met them.
    """
    phases = solution.asked
    if wrong := unusable_phases(solution):
        return _together(solution, accuracy, (), (), None, (wrong,), Minimality())
    # What equations that are missed cost is compared with the costs of all phases: one may have none.
    total = solution.size_of_costs or np.inf
    reports = tuple(_of_phase(phase, accuracy, total) for phase in solution.phases)
    usable = not any(unusable(phase) for phase in solution.phases)  # else the phases' reports say why not
    program, y = _program(solution, phases) if usable else (None, None)
    point, kkt = (None, None) if program is None or y is None else smallest_kkt(program, y, solution)
    nearby = None if program is None or point is None else NearbyPoints(program, point)
    zero = max((cost.zero for report in reports for cost in report.costs), default=0.0)
    least = minimality(solution, nearby, accuracies(accuracy)[0], zero) if usable else Minimality()
    links = tuple(_of_links(solution, phases)) if usable else ()
    differences = tuple(differences_of_phases(solution, program, y))
    report = _together(solution, accuracy, reports, links, kkt, differences, least)
    return replace(report, dependent=_dependent_rows(program, point, solution))


def _together(
    solution: PhasesSolution,
    accuracy: float | None,
    reports: tuple[Report, ...],
    links: tuple[Line, ...],
    kkt: KKT | None,
    together: tuple[str, ...],
    least: Minimality,
) -> Report:
    """The report of all phases from those of each."""
    phases = tuple(zip(solution.names, reports, strict=True)) if reports else ()
    of_phases = [f"phase '{name}': {each}" for name, part in phases for each in part.differences]

    def named(lines: str) -> tuple[Any, ...]:
        each = ((name, line) for name, part in phases for line in getattr(part, lines))
        return tuple(replace(line, name=f"{name}: {line.name}") for name, line in each)

    return Report(
        phases=phases,
        links=links,
        together=together,
        minimality=least,
        violations=named("violations"),
        equations=named("equations"),
        costs=named("costs"),
        differences=(*together, *of_phases),
        resolution=max((report.resolution for report in reports), default=0.0),
        objective=solution.objective,
        **_fields_of(solution, solution.title if reports else solution.name, kkt, accuracy),
    )


def _of_links(solution: PhasesSolution, phases: Phases) -> Iterator[Line]:
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


def _of_phase(solution: Solution, accuracy: float | None, total: float) -> Report:
    """The report of one phase, without the values at which what it shares is held."""
    parameters = solution.problem.parameters.values()
    held = {
        f"bounds of {parameter.name}"
        for parameter in parameters
        if np.array_equal(parameter.lower, parameter.upper)
    }
    held -= {stated.name for stated in solution.problem.stated}
    report = verify(solution, accuracy)
    left = tuple(violation for violation in report.violations if violation.name not in held)
    return replace(report, violations=left, objective=total, answer=None)  # the optimum is that of all


def _program(solution: PhasesSolution, phases: Phases) -> tuple[LinkedProgram, Array] | tuple[None, None]:
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
