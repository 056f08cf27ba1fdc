"""Verification of a solution independently of its solver, of one motion or of phases.

Every constraint of the problem is evaluated at the nodes and between them, at both sides of breakpoints;
costs and KKT residuals are computed again from the problem; a stationary motion is looked at for better
nearby points (`minimality`); the motion is simulated forward from its torques. Of phases every one is
verified by itself, then all links, and the optimality of all together.

The values that a solution reports are checked against its motion and its problem, as numbers in a file may
have been changed. Control points, durations and parameters are the motion; objective,
costs, nodes, unknowns and the certificate follow from them. One that does not is reported as a difference,
in words.

The KKT conditions hold where any multipliers make the residuals small. Two candidates are tried: those of the
solver, brought to the factors of the NLP that is built again, and those of least squares. Whichever have the
smaller error are taken, for the residuals and for what else is looked at with multipliers. The objective of a
single motion has the factor of the solve, whose tolerance was one in that factor: the NLP that is built again
takes its factor from the motion found, and a residual of 1e-6 would become 3e-5 where the cost fell from 11
to 0.3 on the way.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trajopt.base.arguments import number
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, TrajoptError
from trajopt.base.tolerances import AGREEMENT, BETWEEN, CLAIMED, ESTIMATED, LIMIT_ACCURACY
from trajopt.checks.integral_checks import CostCheck, cost_checks, norms_out_of_range
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
from trajopt.problem.contacts.contact_checks import soles_on_short_legs
from trajopt.problem.phases import Phases
from trajopt.problem.problem import Problem
from trajopt.solution.answers import ZERO_COST
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.records import looser_tolerances
from trajopt.solution.solution import Answer, Solution, confirmed_mesh_of, mesh_of, other_nodes
from trajopt.solvers.kkt import KKT, kkt_of_fit, kkt_residuals, least_squares_multipliers
from trajopt.solvers.solver import WarmStart
from trajopt.splines.basis import SAME_TIME
from trajopt.transcription.derivative_check import WrongDerivative, wrong_derivative
from trajopt.transcription.link_constraints import linked_problems
from trajopt.transcription.linked_program import LinkedProgram, linked_program, unknowns_of_motions
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import cold_program, program_at, structure_of, values_of
from trajopt.verification.diagnosis import sentence_of_multipliers
from trajopt.verification.minimality import Minimality, minimality
from trajopt.verification.nearby_points import NearbyPoints
from trajopt.verification.report import Report

__all__ = ["Line", "Report", "verify", "verify_phases"]

LOADED = "the dynamics offers no forward dynamics under loads"
COARSEST = 100.0  # times the factor of the NLP built again: no larger ratio is taken from a file


class RebuiltProgram(NamedTuple):
    """The NLP of a solution, built again from its problem, and its motion as unknowns of that NLP."""

    nlp: NLP
    y: Array


def rebuilt_program(solution: Solution) -> RebuiltProgram | None:
    """The NLP scaled at the motion, or at the guess where the cost fell far from there to the motion.

    A cost that is zero but for rounding has no scale of its own. None where the NLP cannot be known: the
    problem contradicts itself or has other knots, limits were tightened, the motion was slowed, or the
    refined problem is no longer the one that was asked.
    """
    point, before, certified = solution.point, solution.scaling, solution.certificate is not None
    if certified and (point is None or point.row_multipliers is None):
        return None
    try:
        problem = _refined_problem(solution) if certified else _own_mesh(solution)
        if problem is None:
            return None
        structure = structure_of(problem)
        values = values_of(structure, problem)
        if not values.unknowns.fits(solution.curve, solution.parameters):
            return None
        y = values.unknowns.of(solution.curve, solution.parameters)
        nlp = program_at(structure, values, y)
        if before is None or nlp.objective_scale > COARSEST * before.objective:
            nlp = cold_program(structure, values, problem)
    except (TrajoptError, IndexError, ValueError):
        # The problem contradicts itself, or a file holds margins and limits that it does not have; the
        # violations and `differences` say where.
        return None
    return None if certified and not multipliers_fit(nlp, point) else RebuiltProgram(nlp, y)


def point_and_kkt(program: RebuiltProgram, solution: Solution) -> tuple[WarmStart, KKT]:
    """The motion in its NLP with the multipliers that make the KKT residuals small, and these residuals."""
    nlp, before = program.nlp, solution.scaling
    ratio = 1.0
    if before is not None and before.objective > 0.0 and multipliers_fit(nlp, solution.point):
        ratio = float(np.clip(nlp.scaling.objective / before.objective, 1.0, COARSEST))
    return smallest_kkt(nlp, program.y, solution, ratio)


def unknown_slopes(program: RebuiltProgram) -> WrongDerivative:
    """Derivatives of a user's block that its values contradict: the optimum is not known."""
    graph, of = program.nlp.graph, program.nlp.unknowns.elimination
    if all(getattr(block, "derivatives_are_tested", False) for block in graph.blocks):
        return WrongDerivative("", "")
    leaves = program.nlp.spline_map.leaf_values(of.expand(program.y), set(graph.leaves))
    return wrong_derivative(graph, graph.values(leaves), program.nlp.component_names)


def smallest_kkt(
    program: NLP | LinkedProgram, y: Array, solution: Solution | PhasesSolution, ratio: float = 1.0
) -> tuple[WarmStart, KKT]:
    """y with the solver's multipliers, or those of least squares where these are better, and the residuals.

    The solver's stay where their error is at most 10 times the one that the solve left.

    ratio : of the objective's factor in the program to that of the solve, by which residuals are divided
    """
    point, own = solution.point, None
    if multipliers_fit(program, point):
        assert point is not None
        before = solution.scaling
        kept = replace(before.rescaled(point, program.scaling) if before else point, y=y)
        own = kept, _in_smaller_factor(kkt_residuals(program, kept), ratio)
        if own[1].error <= ESTIMATED * max(solution.kkt.error, AGREEMENT):
            return own
    # Files of former versions have no factors, and the guess of another version gives others.
    point = least_squares_multipliers(program, y, signed=False)
    fitted = point, _in_smaller_factor(kkt_of_fit(program, point), ratio)
    return fitted if own is None else min(own, fitted, key=lambda each: each[1].error)


def multipliers_fit(nlp: NLP | LinkedProgram, point: WarmStart | None) -> bool:
    """True if a solver's point has the sizes of the NLP, and multipliers, all finite."""
    if point is None or point.row_multipliers is None:
        return False
    given = (point.row_multipliers, point.lower_multipliers, point.upper_multipliers)
    finite = all(each is None or np.all(np.isfinite(each)) for each in given)
    return finite and (nlp.variable_count, nlp.row_count) == (point.y.size, point.row_multipliers.size)


def _own_mesh(solution: Solution) -> Problem:
    """The problem that was asked, on the knots and with the added nodes of the solution."""
    mesh, asked = mesh_of(solution), solution.problem
    if mesh is None or mesh is asked.trajectory:
        return asked
    each = zip(mesh.arcs, asked.trajectory.arcs, strict=True)
    same = all(np.array_equal(own.basis.knots, arc.basis.knots) for own, arc in each)
    if not same:
        return solution.asked_on(mesh)
    if any(map(any, (solution.extra_points, solution.limit_points))):
        asked = asked.independent_copy()
        asked.trajectory = mesh
    return asked


def _in_smaller_factor(kkt: KKT, ratio: float) -> KKT:
    """The residuals for an objective whose factor is smaller by a ratio, with which they grow."""
    return replace(
        kkt,
        stationarity=kkt.stationarity / ratio,
        complementarity=kkt.complementarity / ratio,
        sign=kkt.sign / ratio,
    )


def _refined_problem(solution: Solution) -> Problem | None:
    """The problem that a certified solution solves, on its arcs or knots, from the one that was asked."""
    certificate, asked = solution.certificate, solution.problem
    assert certificate is not None
    arcs = asked.trajectory.arcs
    if len(arcs) != 1:
        return None
    basis = solution.curve.bases[0]
    if certificate.structure is not None and certificate.settings is not None:
        if arcs[0].basis.knots.shape == basis.knots.shape:  # it is on its arcs already
            return None
        return certificate.arc_problem(solution)
    mesh = mesh_of(solution)
    return None if mesh is None else solution.asked_on(mesh)


def unusable(solution: Solution) -> str:
    """Reason why constraints cannot be evaluated on the motion at all; empty where they can."""
    times, end, slack = solution.node_times, solution.duration, SAME_TIME * solution.duration
    if not 0.0 < end < np.inf:
        return f"the duration is {end:.6g} s, expected positive seconds"
    if not times.size or not (
        times[0] >= -slack and times[-1] <= end + slack and np.all(np.diff(times) >= 0.0)
    ):
        return f"nodes: {times.size} times that do not rise within the motion, 0 to {end:.6g} s"
    return ""


def unusable_phases(solution: PhasesSolution) -> str:
    """Reason why the motions of phases cannot be evaluated together at all; empty where they can."""
    asked = solution.asked.phase_names
    counts = len(solution.phases), len(solution.names)
    if counts != (len(asked), len(asked)):
        return f"{counts[0]} motions and {counts[1]} names of {len(asked)} phases ({', '.join(asked)})"
    return ""


def differences_of_phases(
    solution: PhasesSolution, program: LinkedProgram | None, y: Array | None
) -> Iterator[str]:
    """Differences between what a solution of phases reports of all together and what its motions give.

    y : the motions as unknowns of the program; None where they do not fit it
    """
    yield from _numbers(solution)
    if solution.certification is not None:
        yield from looser_tolerances(solution.certification, solution.run)
    asked = solution.asked.phase_names
    if solution.names != asked:
        names = ", ".join(solution.names), ", ".join(asked)
        yield "names of phases: {}, but those of the problems are {}".format(*names)
    if program is None or y is None:
        return
    yield from _unknowns(solution, y)
    for link, (k, name) in program.linked.links.rows.items():
        rows, reported = solution.phases[k].multipliers.get(name), solution.multipliers.get(link)
        if rows is None or not np.all(np.isfinite(rows)):  # the phase's own report says so
            continue
        size = float(np.abs(rows[0]).max(initial=0.0))
        yield from _other_multipliers(
            f"link {link}", reported, rows[0], size, f"the rows of phase '{asked[k]}'"
        )


def differences(
    solution: Solution, costs: Sequence[CostCheck], program: RebuiltProgram | None
) -> Iterator[str]:
    """Every difference between what the solution reports and what its motion gives, in words.

    Single costs and the KKT error are compared by the report itself.
    """
    yield from solution.contradictions
    yield from _numbers(solution)
    stated = {cost.name for cost in costs}
    for name in solution.cost_terms:
        if name not in stated and name not in solution.problem.unsaved:
            yield f"cost '{name}': the problem has none"
    yield from _nodes(solution, program)
    if program is not None:
        yield from _point(solution, program)
    if solution.certificate is not None:
        yield from _certified_motion(solution)
        yield from solution.certificate.contradictions(solution)


def _numbers(answer: Answer) -> Iterator[str]:
    """Multipliers and KKT residuals of a converged solve that are no finite numbers."""
    if not answer.converged:
        return
    if not all(0.0 <= residual < np.inf for residual in vars(answer.kkt).values()):
        yield f"KKT residuals that are not finite and positive: {answer.kkt}"
    kept = {f"multipliers of {name}": values for name, values in answer.multipliers.items()}
    if answer.point is not None:
        kept |= {f"the solver's {name}": values for name, values in vars(answer.point).items()}
    for name, values in kept.items():
        if values is not None and not np.all(np.isfinite(values)):
            yield f"{name}: not finite"


def _certified_motion(solution: Solution) -> Iterator[str]:
    """A certificate is of one motion: that it holds says nothing of another."""
    assert solution.certificate is not None
    certified = solution.certificate.motion
    if certified is not None:
        own, other = _arrays_of_motion(certified), _arrays_of_motion(solution)
        if len(own) != len(other) or not all(map(np.array_equal, own, other)):
            yield "certificate: it is of another motion, not of this one"


def _arrays_of_motion(solution: Solution) -> list[Array]:
    """All numbers that a motion follows from: durations, splines, parameters."""
    groups = solution.curve.groups
    splines = [(b.knots, points) for g in groups for b, points in zip(g.bases, g.control_points, strict=True)]
    parameters = [solution.parameters[name] for name in sorted(solution.parameters)]
    return [solution.curve.durations, *(array for spline in splines for array in spline), *parameters]


def _nodes(solution: Solution, program: RebuiltProgram | None) -> Iterator[str]:
    """The nodes are where constraints are looked at: too few of them would hide what is wrong."""
    if program is not None:
        if wrong := other_nodes(solution, program.nlp.unknowns.nodes, "problem"):
            yield wrong
    elif confirmed_mesh_of(solution) is None:
        knots, slack = solution.knot_times, SAME_TIME * solution.duration
        inside = np.searchsorted(solution.node_times, knots[1:] + slack, "right") - np.searchsorted(
            solution.node_times, knots[:-1] - slack, "left"
        )
        if np.any(inside < 2):
            yield f"nodes: fewer than two in {np.count_nonzero(inside < 2)} of {inside.size} spans"


def _point(solution: Solution, program: RebuiltProgram) -> Iterator[str]:
    """The solver's unknowns are those of the motion, and multipliers by constraint those of its rows.

    Multipliers of both may be wrong together.
    """
    (nlp, y), point, scaling = program, solution.point, solution.scaling
    if point is None:
        return
    yield from _unknowns(solution, y)
    if scaling is None or not multipliers_fit(nlp, point):
        return
    if scaling.rows.shape != nlp.scaling.rows.shape:
        return
    rows = scaling.rescaled(point, nlp.scaling).row_multipliers
    assert rows is not None
    expected = nlp.physical_multipliers(rows)
    if solution.certificate is not None:  # found under limits of arcs, whose rows have other names
        expected = solution.certificate.multipliers_asked(solution, expected)
    size = max((float(np.abs(each).max(initial=0.0)) for each in expected.values()), default=0.0)
    for name, found in expected.items():
        reported = solution.multipliers.get(name)
        yield from _other_multipliers(name, reported, found, size, "the solver's rows")


def _other_multipliers(
    name: str, reported: Array | None, found: Array, size: float, rows: str
) -> Iterator[str]:
    if reported is None or reported.shape != found.shape:
        yield f"multipliers of {name}: {rows} have other ones"
    elif not np.allclose(reported, found, rtol=0.0, atol=CLAIMED * size, equal_nan=True):
        yield f"multipliers of {name}: up to {np.abs(reported - found).max():.3g} from {rows}"


def _unknowns(answer: Answer, y: Array) -> Iterator[str]:
    """Unknowns of the solver that are not those of the motion or motions."""
    if answer.point is None or answer.point.y.size != y.size:
        return
    miss = np.abs(answer.point.y - y).max(initial=0.0)
    if not miss <= CLAIMED * np.abs(y).max(initial=1.0):
        yield f"the solver's unknowns differ from the motion's by up to {miss:.3g}"


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
        refined=_refined(solution),
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
    soles = soles_on_short_legs(answer.problem) if isinstance(answer, Solution) else ""
    return "; ".join(filter(None, (sentence_of_multipliers(answer.asked, program, point), soles)))


def _refined(answer: Answer) -> str:
    """The reason why the solve halved intervals no further; empty where it halved none."""
    record = answer.journal.refinement
    return "" if record is None else record.reason


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
    phases, wrong = solution.asked, unusable_phases(solution)
    # What equations that are missed cost is compared with the costs of all phases: one may have none.
    total = np.inf if wrong else solution.size_of_costs or np.inf
    tried = {"unmended": bool(solution.warning), "refined": _refined(solution)}
    parts = () if wrong else solution.phases
    usable = not wrong and not any(map(unusable, parts))  # else the phases' reports say why not
    program, y = _program(solution, phases) if usable else (None, None)
    links = () if program is None else program.linked.links.rows.values()
    named_links = [{name for phase, name in links if phase == k} for k in range(len(parts))]
    each_part = zip(parts, named_links, strict=True)
    reports = tuple(replace(_of_phase(part, accuracy, total, rows), **tried) for part, rows in each_part)
    point, kkt = (None, None) if program is None or y is None else smallest_kkt(program, y, solution)
    nearby = None if program is None or point is None else NearbyPoints(program, point)
    zero = max((cost.zero for report in reports for cost in report.costs), default=0.0)
    named_reports = tuple(zip(solution.names, reports, strict=True)) if reports else ()
    together = (wrong,) if wrong else tuple(differences_of_phases(solution, program, y))
    of_phases = [f"phase '{name}': {each}" for name, part in named_reports for each in part.differences]

    def named(lines: str) -> tuple[Any, ...]:
        each = ((name, line) for name, part in named_reports for line in getattr(part, lines))
        return tuple(replace(line, name=f"{name}: {line.name}") for name, line in each)

    return Report(
        phases=named_reports,
        links=tuple(_of_links(solution, phases)) if usable else (),
        together=together,
        minimality=minimality(solution, nearby, accuracies(accuracy)[0], zero) if usable else Minimality(),
        violations=named("violations"),
        equations=named("equations"),
        costs=named("costs"),
        differences=(*together, *of_phases),
        resolution=max((report.resolution for report in reports), default=0.0),
        objective=solution.objective,
        dependent="" if wrong else _dependent_rows(program, point, solution),
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


def _of_phase(solution: Solution, accuracy: float | None, total: float, links: Container[str]) -> Report:
    """The report of one phase, without the values at which what it shares is held.

    links : names of its constraints that are links: those of zero are compared with what links add up alone,
        not with one unit
    """
    parameters = solution.problem.parameters.values()
    held = {
        f"bounds of {parameter.name}"
        for parameter in parameters
        if np.array_equal(parameter.lower, parameter.upper)
    }
    held -= {stated.name for stated in solution.problem.stated}
    report = verify(solution, accuracy)
    measured = [line for line in report.violations if not (line.name in links and line.limit == 0.0)]
    left = tuple(violation for violation in measured if violation.name not in held)
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
