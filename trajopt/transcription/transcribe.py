"""Transcription of a problem: builds its nonlinear program."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trajopt.errors import DegreesOfFreedomError, ProblemError, UnboundedError
from trajopt.graph.fusion import fused
from trajopt.graph.graph import Graph
from trajopt.graph.leaves import is_extra, is_parameter
from trajopt.problem.checked_problem import checked_problem
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of, refuse_idle_controls
from trajopt.splines.trajectory import SHORTEST_DURATION
from trajopt.transcription.bounds import Bounds, LinearBlock, bounds_and_linear_rows
from trajopt.transcription.derivatives.jacobian import LeafMap
from trajopt.transcription.initial_point import first_guess, with_guessed_duration
from trajopt.transcription.linear_equations.constant_rows import without_constant_rows
from trajopt.transcription.linear_equations.elimination import eliminate
from trajopt.transcription.linear_equations.linear_rows import Conditions, conditions_of
from trajopt.transcription.nlp import NLP
from trajopt.transcription.program_functions import program_functions
from trajopt.transcription.row_groups import Objective, RowGroup, objectives_of, row_groups
from trajopt.transcription.scaling import scaling_of
from trajopt.transcription.spline_map import SplineMap
from trajopt.transcription.unknowns import Unknowns


def transcribe(problem: Problem) -> NLP:
    """Build the program of a problem: unknowns, bounds, rows, sparsity, starting point and scaling.

    Without costs the objective is zero: any point that meets the constraints is a solution.
    Raises ProblemError or a subclass, such as InfeasibleBoundsError, when the problem contradicts itself.
    """
    spline_map = SplineMap(checked_problem(problem))
    conditions = conditions_of(problem, spline_map)
    unknowns = _unknowns(problem, spline_map, conditions)
    bounds, linear = bounds_and_linear_rows(problem, spline_map, unknowns.elimination)
    guess = bounds.clipped(unknowns.of(*first_guess(problem)))

    whole_graph = _graph(problem, conditions)
    objectives = objectives_of(problem)
    groups = row_groups(problem, conditions, whole_graph.width)
    refuse_idle_controls(problem, whole_graph, _used(objectives, groups))
    graph, leaf_map = _evaluated(whole_graph, spline_map, unknowns, objectives, groups)
    times = unknowns.node_times(guess)
    changing = without_constant_rows(groups, graph, leaf_map, guess, times, problem.component_names)
    if _used(objectives, changing) != _used(objectives, groups):
        graph, leaf_map = _evaluated(whole_graph, spline_map, unknowns, objectives, changing)

    _refuse_unbounded(problem, unknowns, linear, whole_graph, changing)

    functions = program_functions(graph, leaf_map, objectives, changing, linear.A, linear.b)
    row_bounds = _row_bounds(linear.bounds, changing)
    start = with_guessed_duration(
        problem, unknowns, guess, bounds, lambda y: row_bounds.violation(functions.rows(y))
    )
    scaling = scaling_of(
        row_bounds,
        functions.jacobian_places[0],
        functions.jacobian(start),
        functions.objective(start),
        functions.gradient(start),
    )
    return NLP(
        functions=functions.scaled(scaling),
        scaling=scaling,
        bounds=bounds,
        row_bounds=row_bounds.scaled(scaling.rows),
        start=start,
        unknowns=unknowns,
        objectives=objectives,
        linear=linear,
        groups=changing,
        graph=whole_graph,
        spline_map=spline_map,
        component_names=problem.component_names,
    )


def _unknowns(problem: Problem, spline_map: SplineMap, conditions: Conditions) -> Unknowns:
    """What the linear equations leave free; durations and parameters are eliminated last."""
    equations, layout = conditions.equations, spline_map.layout
    last_resort = np.arange(layout.control_point_count, layout.size)
    mesh = f" (now {problem.trajectory})"
    elimination = eliminate(
        equations.matrix(), np.array(equations.lower), equations.labels, last_resort, mesh
    )
    if elimination.free.size == 0:
        raise DegreesOfFreedomError(
            f"the conditions of '{problem.name}' fix the whole motion, so nothing is left to optimize: "
            f"use more intervals or a higher degree, or drop a condition{mesh}"
        )
    return Unknowns(layout, elimination, spline_map.nodes)


def _refuse_unbounded(
    problem: Problem, unknowns: Unknowns, linear: LinearBlock, graph: Graph, groups: Iterable[RowGroup]
) -> None:
    """UnboundedError where only durations are minimized and no condition, and no bound, depends on them."""
    arcs, places = problem.trajectory.arcs, unknowns.durations
    only_time = all(cost.term.quantity == "duration" and cost.weight > 0.0 for cost in problem.costs)
    bounded = any(arc.duration_bounds[0] != SHORTEST_DURATION for arc in arcs)
    if not problem.costs or not only_time or bounded or places.size < len(arcs):
        return
    if unknowns.elimination.N[:, places].nnz > places.size or linear.A[:, places].nnz:
        return
    for group in groups:
        for leaf, pattern in graph.leaf_pattern(group.quantity).items():
            if leaf != "q" and not (is_extra(leaf) or is_parameter(leaf)) and np.any(pattern):
                return
    raise UnboundedError(
        f"'{problem.name}' minimizes the duration but nothing limits the speed, so the motion would take no "
        "time: limit torques or velocities, by subject_to_joint_limits() where the robot has such limits or "
        "by subject_to(trajopt.tau, lower, upper), or give the trajectory a shortest duration"
    )


def _graph(problem: Problem, conditions: Conditions) -> Graph:
    """The graph of all terms that are minimized or bounded."""
    integrated = [cost.term for cost in problem.costs if cost.over.integrates]
    integrated += [bounded.term for bounded in problem.integrals]
    direct = [cost.term for cost in problem.costs if not cost.over.integrates]
    bounded = [each.term for each in (*conditions.constraints, *conditions.periodicities)]
    bounded += [term for slack in problem.slacks.values() for term, _ in slack.rows]
    return graph_of(problem, [*direct, *bounded], integrated)


def _used(objectives: Iterable[Objective], groups: Iterable[RowGroup]) -> set[str]:
    return {each.quantity for each in (*groups, *objectives)}


def _evaluated(
    graph: Graph,
    spline_map: SplineMap,
    unknowns: Unknowns,
    objectives: Iterable[Objective],
    groups: Iterable[RowGroup],
) -> tuple[Graph, LeafMap]:
    """The graph that is evaluated in a solve, terms joined into larger blocks, and the map to its leaves."""
    used = _used(objectives, groups)
    joined = fused(graph, used)
    for quantity in sorted(used):
        if not joined.leaf_pattern(quantity):
            raise ProblemError(
                f"'{quantity}' depends on no unknown, so it can be neither minimized nor bounded: "
                "let it depend on the node, or leave it out"
            )
    inputs = {name for block in joined.blocks for name in block.inputs}
    leaves = (inputs | used).intersection(graph.leaves) or {"q"}
    return joined, LeafMap(spline_map, unknowns.elimination, leaves)


def _row_bounds(linear: Bounds, groups: Iterable[RowGroup]) -> Bounds:
    """The bounds of all rows, not scaled: the linear ones, then those of every group."""
    lower = [linear.lower, *(group.lower.ravel()[group.kept] for group in groups)]
    upper = [linear.upper, *(group.upper.ravel()[group.kept] for group in groups)]
    return Bounds(np.concatenate(lower), np.concatenate(upper))
