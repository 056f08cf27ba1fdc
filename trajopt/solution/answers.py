"""Answers: the program of a problem or of phases as they stand, and a solver's result read back.

The status of an answer is the solver's, or what problem and motion add to it, with what to change then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.quantities import is_extra
from trajopt.problem.constraints.rotation_wraps import turned_too_far
from trajopt.problem.phases import Asked, Phases
from trajopt.problem.problem import Problem
from trajopt.problem.systems.system import System
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import bound_violation, kkt_residuals
from trajopt.solvers.solver import FEASIBILITY, ROUNDING, Result, Status
from trajopt.splines.trajectory import SHORTEST_DURATION
from trajopt.transcription.leaf_map import SplineMap
from trajopt.transcription.link_constraints import held
from trajopt.transcription.linked_program import LinkedProgram, linked_program, placed_parts
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import transcribe

#: How a solve may end whose duration is looked at: all but time limits, interrupts and failures.
DURATION_LOOKED_AT = (
    Status.CONVERGED,
    Status.ACCEPTABLE,
    Status.STEP_TOO_SMALL,
    Status.ITERATION_LIMIT,
    Status.RESTORATION_FAILED,
)
NOT_NEEDED = ", or leave the phase out where its motion is not needed"
ZERO_COST = 1e-13  # scaled costs below, which were about one at the guess, are zero


def answer_at(asked: Any, program: NLP | LinkedProgram, result: Result) -> Any:
    """The answer to a problem, or to phases, at a solver's result."""
    result = rested(program, angles_unwrapped(program, result))
    if isinstance(program, LinkedProgram):
        return phases_solution_at(program, result)
    return solution_at(asked, program, result)


def rested(program: NLP | LinkedProgram, result: Result) -> Result:
    """A result whose curves that rest at zero, but for what a solver leaves of them, rest there exactly.

    A limit of zero is compared with the largest value of its term, beside which such a rest is no small
    violation. The motion that rests violates no more, of all rows and bounds that it changes, and costs no
    more than multipliers times violations of the one found tell, and keeps its multipliers. Where the costs
    vanish with the motion these are noise of a barrier, and zero ones fit.
    """
    if result.status is not Status.CONVERGED:
        return result
    y = result.y.copy()
    for nlp, place, _, _ in placed_parts(program):
        layout, elimination = nlp.unknowns.layout, nlp.unknowns.elimination
        largest, free = nlp.unknowns.largest_of_curves(np.abs(elimination.expand(y[place]))), elimination.free
        # Interior points stop at the root of their barrier, 1e-8
        rests = (largest <= 1e-7)[layout.curve_numbers]
        rests[layout.control_point_count :] = False
        y[place] = np.where(rests[free], np.clip(0.0, nlp.lower, nlp.upper), y[place])
    if np.array_equal(y, result.y):
        return result
    points = (result.y, program.rows(result.y)), (y, program.rows(y))
    violated, there = (
        np.concatenate(
            [
                bound_violation(rows, program.row_lower, program.row_upper),
                bound_violation(unknowns, program.lower, program.upper),
            ]
        )
        for unknowns, rows in points
    )
    # What else is violated by more than small curves are asked for says nothing of these
    changed, rounding = violated != there, np.finfo(float).eps * np.abs(points[0][1]).max(initial=1.0)
    keeps = there[changed].max(initial=0.0) <= violated[changed].max(initial=0.0) + rounding
    explained = np.abs(result.row_multipliers) @ np.maximum(violated[: program.row_count], 0.0)
    before, after = program.objective(result.y), program.objective(y)
    if not keeps or not after <= before + explained + ROUNDING * abs(before):
        return result
    at_rest, allowed = replace(result, y=y), max(kkt_residuals(program, result).error, FEASIBILITY)
    of_rows, of_bounds = np.zeros(program.row_count), np.zeros(program.variable_count)
    without = replace(
        at_rest, row_multipliers=of_rows, lower_multipliers=of_bounds, upper_multipliers=of_bounds
    )
    tried = at_rest, replace(without, hessian=None)
    return next((each for each in tried if kkt_residuals(program, each).error <= allowed), result)


def angles_unwrapped(program: NLP | LinkedProgram, result: Result) -> Result:
    """A result whose angles among the controls go the shorter way round between the nodes of every span.

    Nodes see sines and cosines, those of an angle and of a turn more. The polynomial through both sides of
    such a step turns round between its nodes, however short the span is. Rows and costs stay as they are as
    the step is taken back; where they do not, the control is no angle.
    """
    if result.status is not Status.CONVERGED:
        return result
    y, here = result.y, None
    for nlp, place, _, _ in placed_parts(program):
        if not any(map(is_extra, nlp.spline_map.spline)):
            continue
        elimination = nlp.unknowns.elimination
        for change in _turned_back(nlp.spline_map, elimination.expand(y[place])):
            there = y.copy()
            there[place] += elimination.reduce(change)
            here = here or (program.rows(y), program.objective(y))
            if np.all((program.lower <= there) & (there <= program.upper)):
                stays = np.allclose(program.rows(there), here[0], 0.0, FEASIBILITY)
                same = np.isclose(program.objective(there), here[1], FEASIBILITY, FEASIBILITY)
                y = there if stays and same else y
    return result if y is result.y else replace(result, y=y)


def _turned_back(spline: SplineMap, x: Array) -> Iterator[Array]:
    """Changes (variables,) of x that take steps by turns out of one control, between nodes of a span."""
    collocated, span = np.flatnonzero(spline.nodes.weight > 0.0), spline.nodes.span
    for leaf, values in spline.leaf_values(x, {leaf for leaf in spline.spline if is_extra(leaf)}).items():
        steps = np.abs(np.diff(values[collocated], axis=0)) > np.pi
        steps &= np.diff(span[collocated])[:, None] == 0
        for component in np.flatnonzero(steps.any(axis=0)):
            change = np.zeros(x.size)
            for number in np.unique(span[collocated[:-1][steps[:, component]]]):
                own = collocated[span[collocated] == number]
                entries = [spline.entries(leaf, int(component), int(node)) for node in own]
                columns = np.unique(np.concatenate([each for each, _ in entries]))
                if columns.size == own.size:  # curves of spans that share control points have no steps
                    factors = np.zeros((own.size, columns.size))
                    for row, (each, part) in zip(factors, entries, strict=True):
                        np.add.at(row, np.searchsorted(columns, each), part)
                    turns = np.unwrap(values[own, component]) - values[own, component]
                    change[columns] = np.linalg.solve(factors, turns)
            if change.any():
                yield change


def program_of(asked: Asked, check: bool = False) -> NLP | LinkedProgram:
    """The program of a problem, or of phases.

    check : whether users' blocks are checked first, those that were not yet
    """
    return linked_program(asked, check) if isinstance(asked, Phases) else transcribe(asked, check)


def solution_at(problem: Problem, nlp: NLP, result: Result) -> Solution:
    """The motion at a solver's result, its costs and its multipliers without scaling."""
    costs = costs_at(nlp, result.y)
    curve = nlp.unknowns.curve(result.y)
    status, detail = outcome(problem, nlp, result, curve.duration)
    times = curve.times_at(nlp.unknowns.nodes.arc, nlp.unknowns.nodes.s)
    robot = problem.dynamics
    turns = bool(getattr(robot, "rotation_joints", ()))
    return Solution(
        curve=curve,
        parameters=nlp.unknowns.parameters(result.y),
        joint_names=tuple(problem.dynamics.joint_names),
        objective=sum(costs.values(), 0.0),
        cost_terms=costs,
        multipliers=nlp.physical_multipliers(result.row_multipliers),
        node_times=times,
        warning=turned_too_far(robot, curve(times), times) if turns else "",
        known_problem=problem,
        extra_points=problem.trajectory.extra_points,
        limit_points=problem.trajectory.limit_points,
        **_of_solve(problem, nlp, result, status, detail),
    )


def costs_at(nlp: NLP, y: np.ndarray) -> dict[str, float]:
    """The weighted value of every cost, by its name."""
    costs: dict[str, float] = defaultdict(float)
    values, kept = nlp.at(y).values, nlp.leaf_map.kept
    for cost in nlp.objectives:
        costs[cost.name] += float(cost.weight * (cost.node_weights[kept] @ values[cost.quantity]).sum())
    return dict(costs)


def _of_solve(
    asked: Asked, program: NLP | LinkedProgram, result: Result, status: Status, detail: str
) -> dict[str, Any]:
    """The fields about the solve that an answer of a problem and one of phases share."""
    return {
        "name": asked.name,
        "recipe": asked.recipe,
        "status": status,
        "detail": detail,
        "kkt": kkt_residuals(program, result),
        "iterations": result.iterations,
        "seconds": result.seconds,
        "n_variables": program.variable_count,
        "n_constraints": program.row_count,
        "timings": dict(result.timings),
        "history": result.history,
        "point": result.warm_start,
        "scaling": program.scaling,
    }


def phases_solution_at(program: LinkedProgram, result: Result) -> PhasesSolution:
    """The motions at a solver's result, their costs, and the multipliers without scaling."""
    solutions = []
    for k in range(len(program.programs)):
        nlp, own = program.of_phase(k, result)
        problem = held(program.linked.problems[k], program.shared_values(k, own.y))
        problem.recipe = None
        solutions.append(solution_at(problem, nlp, own))
    status, detail = _outcome_of_phases(program, result, solutions)
    phases = program.phases
    return PhasesSolution(
        phases=tuple(solutions),
        names=phases.phase_names,
        multipliers=_of_links(program, solutions),
        known_phases=phases,
        **_of_solve(phases, program, result, status, detail),
    )


def _outcome_of_phases(
    program: LinkedProgram, result: Result, solutions: list[Solution]
) -> tuple[Status, str]:
    """The status of all phases together: the solver's, or what a phase adds to it."""
    if result.status is Status.NOT_ENOUGH_FREEDOM:
        equations = int(np.sum(program.row_lower == program.row_upper))
        return result.status, (
            f"{equations} equations, those of links among them, for {program.variable_count} unknowns of all "
            "phases: free boundary values that links fix already (None), add controls, or drop what is asked "
            "twice"
        )
    for name, solution in zip(program.phases.phase_names, solutions, strict=True):
        if not solution.converged:
            detail = f"phase '{name}': {solution.detail}" if solution.detail else ""
            return solution.status, detail + NOT_NEEDED * (solution.status is Status.UNBOUNDED)
    return (result.status if any(s.cost_terms for s in solutions) else Status.FEASIBLE_POINT), result.detail


def _of_links(program: LinkedProgram, solutions: list[Solution]) -> dict[str, NDArray[np.float64]]:
    """The multiplier of every link, from the phase that has it among its constraints."""
    found = {}
    for link, (k, name) in program.linked.links.rows.items():
        rows = solutions[k].multipliers.get(name)
        if rows is not None:
            found[link] = rows[0]
    return found


def outcome(problem: Problem, nlp: NLP, result: Result, duration: float) -> tuple[Status, str]:
    """The status of a solution and its detail: the solver's, or what the problem adds to it.

    duration : seconds, of the motion found
    """
    if result.status is Status.NOT_ENOUGH_FREEDOM:
        return result.status, too_little_freedom(problem, nlp)
    if result.status not in DURATION_LOOKED_AT:
        return result.status, result.detail
    shortest, longest = problem.trajectory.duration_bounds
    # A motion within a thousandth of the shortest duration is stopped by this bound alone
    if shortest.max() == SHORTEST_DURATION and duration <= 1.001 * shortest.sum():
        found = nlp.unknowns.curve(result.y)
        points = [points for group in found.groups for points in group.control_points]
        moved = max(float(np.ptp(each, axis=0).max()) for each in points)
        # What rests far from zero is known to rounding, else to what solvers leave, whatever its unit
        if moved <= max(AGREEMENT, ROUNDING * max(float(np.abs(each).max()) for each in points)):
            what_to_give = "give a start and an end that differ, by start_at() and end_at()"
            return Status.UNBOUNDED, f"nothing has to move: {what_to_give}"
        what = "controls and rates" if isinstance(problem.dynamics, System) else "torques or velocities"
        whose = "" if isinstance(problem.dynamics, System) else " of all joints"
        return Status.UNBOUNDED, (
            f"nothing limits the speed; limit {what}{whose}, or give the trajectory a shortest duration"
        )
    if result.status is not Status.CONVERGED:
        return result.status, result.detail
    if not problem.costs:
        return Status.FEASIBLE_POINT, result.detail
    # Where no upper limit holds the duration, slower was cheaper until the cost fell to rounding. Where more
    # than rounding is left, `verify` looks at longer durations.
    if np.isinf(longest).any() and abs(nlp.objective(result.y)) <= ZERO_COST:
        before = nlp.unknowns.curve(nlp.start).duration
        if duration > 100.0 * before:  # the cost fell to rounding as the duration grew: it has no minimum
            return Status.NO_BEST_DURATION, (
                f"it grew from {before:.3g} to {duration:.3g} s: give the trajectory a duration, or minimize "
                "trajopt.duration, too"
            )
    return result.status, result.detail


def too_little_freedom(problem: Problem, nlp: NLP) -> str:
    """The equations with the nodes that they need, the mesh, and one that has coefficients for them."""
    equations = {
        group.name: int(np.sum(group.is_equation)) for group in nlp.groups if np.any(group.is_equation)
    }
    most = max(equations, key=lambda name: equations[name], default="")
    where = f", {equations[most]} of them '{most}' at the nodes" if most else ""
    count = int(np.sum(nlp.row_lower == nlp.row_upper))
    return (
        f"{count} equations{where}, for {nlp.variable_count} unknowns on "
        f"{problem.trajectory}. An equation of motion over the path needs as many coefficients as it has "
        f"nodes: {_better_mesh(problem)}, or drop what is asked twice"
    )


def _better_mesh(problem: Problem) -> str:
    if problem.trajectory.scheme is None:
        return "take Trajectory.collocation(intervals, order=3)"
    freedom = ", ".join(
        f"control '{name}' {extra.pieces}" for name, extra in problem.extras.items() if extra.pieces
    )
    return f"beside the boundary values only controls are free ({freedom or 'there are none'}); add one"
