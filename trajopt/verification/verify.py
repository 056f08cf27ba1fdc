"""Verification of a solution independently of its solver, of one motion or of phases.

Every constraint of the problem is evaluated at the nodes and between them, at both sides of breakpoints;
costs and KKT residuals are computed again from the problem; a stationary motion is looked at for better
nearby points (`minimality`); the motion is simulated forward from its torques. Of phases every one is
verified by itself, then all links, and the optimality of all together.

Also here: estimates how much a finer mesh could lower the objective, from the results of a verification.

Two groups of parts are summed, all in the unit of the objective and all taken as positive, and the sum is
doubled: alone it was up to a quarter too small for arms in minimum time on few intervals. By how much the
continuous problem's Lagrangian differs from that of the program, to first order:

    limits      integral of |lambda(t)| |value(t) - bound(t)| dt of every path limit, lambda its multiplier
    kinks       integral of |lambda_i(t)| (value(t) - piece_i(t)) dt of every maximum of pieces, exact ones
    equations   integral of lambda(t) r(t) dt of every path equation, r its residual between the nodes
    costs       integral of a cost minus its quadrature at the nodes

And what the optimum would lose on a spline with about every second breakpoint alone, each span of which is
half as wide again as any it joins, d = y - y(coarser): finer breakpoints gain less, as the error of a spline
falls at least in proportion to their distance.

    bounds      sum of z |d|,  z the multipliers of the bounds on unknowns, such as controls at their limits
    motion      d' H d / 2,  H the Hessian of the Lagrangian, d along directions that keep the active rows
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
from trajopt.checks.integral_checks import cost_checks
from trajopt.checks.line import Line
from trajopt.checks.optimality.gain_indicator import gains_of_kinks, gains_of_limits
from trajopt.checks.path_equations import (
    EquationResidual,
    costs_of_residuals,
    path_equations,
    torque_equations,
)
from trajopt.checks.peaks_between_nodes import CHECK_DENSITY, sample_times
from trajopt.checks.simulation import simulate
from trajopt.checks.standing_feet import base_balance, standing_feet
from trajopt.checks.violations import OF_ALL, beyond_bounds, disagreements, link_violations, violations
from trajopt.problem.links.phases import Phases
from trajopt.solution.answers import ZERO_COST
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.solution import Answer, SolutionData, mesh_of
from trajopt.solvers.optimality.kkt import KKT
from trajopt.splines.curve import Curve, CurveGroup
from trajopt.transcription.links.link_constraints import linked_problems
from trajopt.transcription.links.linked_program import LinkedProgram, linked_program, unknowns_of_motions
from trajopt.verification.claims import (
    differences,
    differences_of_phases,
    point_and_kkt,
    rebuilt_program,
    smallest_kkt,
    unusable,
    unusable_phases,
)
from trajopt.verification.minimality import LARGEST, NearbyPoints, minimality
from trajopt.verification.report import Report


def error_of_optimum(solution: SolutionData, nearby: NearbyPoints | None, report: Report) -> float | None:
    """Twice the sum above, an estimate; None where it is not known.

    It is too large where a mesh is far too coarse, where controls switch at kinks or at breakpoints, and
    blind to other local optima and to kinks of users' own functions. Not known of certified motions, whose
    certificate says more, of terms without second derivatives, and of more unknowns than `minimality` looks
    at.

    nearby : the points near the motion in its program, None where that is not known
    report : with costs and equations
    """
    if nearby is None or solution.certificate is not None or not nearby.nlp.has_hessian:
        return None
    if nearby.nlp.variable_count > LARGEST:
        return None
    kinks = gains_of_kinks(solution) if solution.problem.slacks else []
    limits = sum(map(np.sum, (*gains_of_limits(solution), *kinks)))
    equations = sum(abs(equation.cost) for equation in report.equations if equation.cost is not None)
    costs = sum(abs(cost.integral - cost.value) for cost in report.costs)
    total = float(limits + equations + costs) + _loss_on_coarser_mesh(solution, nearby)
    return 2.0 * total if np.isfinite(total) else None


def _loss_on_coarser_mesh(solution: SolutionData, nearby: NearbyPoints) -> float:
    """z |d| + d' H d / 2 of above."""
    nlp, point = nearby.nlp, nearby.point
    d = point.y - nlp.unknowns.of(_coarser(solution.curve), solution.parameters)
    sides = (point.lower_multipliers, point.upper_multipliers)
    of_bounds = sum(float(np.abs(z * d).sum()) for z in sides if z is not None)
    free = nearby.projected(d[nearby.free])
    return (of_bounds + 0.5 * abs(float(free @ (nearby.hessian @ free)))) / nlp.objective_scale


def _coarser(curve: Curve) -> Curve:
    """The curve through its own values on every second breakpoint, on the bases of the curve."""
    groups = []
    for group in curve.groups:
        points = []
        for basis, own in zip(group.bases, group.control_points, strict=True):
            half = basis.halved()
            through = half.interpolate(basis.evaluate(own, half.greville))
            points.append(basis.interpolate(half.evaluate(through, basis.greville)))
        groups.append(CurveGroup(group.bases, tuple(points)))
    joints, *apart = groups
    return replace(curve, control_points=joints.control_points, apart=tuple(apart))


__all__ = ["Line", "Report", "verify", "verify_phases"]

LOADED = "the dynamics offers no forward dynamics under loads"


def verify(solution: SolutionData, accuracy: float | None = None) -> Report:
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
    found, costs = violations(solution, *accuracies(accuracy)), tuple(cost_checks(solution))
    report = Report(
        violations=tuple(found),
        simulation=simulate(solution),
        unsimulated=LOADED if problem.loads else Report.unsimulated,
        equations=tuple(_equations(solution, found)) if path_equations(problem) else (),
        costs=costs,
        differences=tuple(differences(solution, costs, program)),
        objective=solution.objective,
        free_simulation=simulate(solution, without_residual=True) if torque_equations(problem) else None,
        resolution=float(np.diff(sample_times(solution, CHECK_DENSITY)).max(initial=0.0)),
        minimality=minimality(solution, nearby, accuracies(accuracy)[0]),
        balance=base_balance(solution) if getattr(problem, "contacts", None) else None,
        feet=standing_feet(solution),
        relaxations=problem.relaxations,
        designs={
            name: tuple(design.value(solution.parameters).tolist())
            for name, design in problem.designs.items()
        },
        unbuilt=solution.unbuilt,
        unsaved=tuple(f"{name} ({reason})" for name, reason in problem.unsaved.items()),
        unmended=bool(solution.warning),
        refined=solution.journal.refinement is not None,
        rounding=0.0 if program is None else ZERO_COST / program.nlp.objective_scale,
        **_fields_of(solution, solution.title, kkt, accuracy),
    )
    error = error_of_optimum(solution, nearby, report) if report.holds else None
    return replace(report, error_of_optimum=error)


def _impossible(solution: SolutionData) -> str:
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


def _equations(solution: SolutionData, found: Sequence[Line]) -> Iterator[EquationResidual]:
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


def accuracies(accuracy: float | None) -> tuple[float, float]:
    """The accuracies between nodes and of limits over time that a user gives, or the defaults."""
    return (BETWEEN, LIMIT_ACCURACY) if accuracy is None else (float(accuracy), float(accuracy))


def _fields_of(answer: Answer, title: str, kkt: KKT | None, accuracy: float | None) -> dict[str, Any]:
    """The fields of a report that follow from an answer; kkt : recomputed, None where it is not known."""
    allowed, of_limits = accuracies(accuracy)
    return {
        "title": title,
        "kkt": kkt or answer.kkt,
        "kkt_of_solve": answer.kkt,
        "kkt_recomputed": kkt is not None,
        "accuracy": allowed,
        "limit_accuracy": of_limits,
        "converged": answer.converged,
        "status": answer.status.value,
    }


def verify_phases(solution: PhasesSolutionData, accuracy: float | None = None) -> Report:
    """The report of phases; raises OptionError for an accuracy that is not positive.

    Links are evaluated from the motions, without the parameters by which the solver met them.
    """
    phases = solution.asked
    if wrong := unusable_phases(solution):
        return _together(solution, accuracy, (), (), None, (wrong,))
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
    report = _together(solution, accuracy, reports, links, kkt, differences)
    known = report.holds and len(errors) == len(reports)
    return replace(report, error_of_optimum=sum(errors)) if known else report


def _together(
    solution: PhasesSolutionData,
    accuracy: float | None,
    reports: tuple[Report, ...],
    links: tuple[Line, ...],
    kkt: KKT | None,
    together: tuple[str, ...],
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
        violations=named("violations"),
        equations=named("equations"),
        costs=named("costs"),
        differences=(*together, *of_phases),
        resolution=max((report.resolution for report in reports), default=0.0),
        objective=solution.objective,
        **_fields_of(solution, solution.title if reports else solution.name, kkt, accuracy),
    )


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
    report = verify(solution, accuracy)
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
