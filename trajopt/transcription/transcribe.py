"""Transcription of a problem: builds its nonlinear program, the structure first, then its values.

Values are boundary values, limits, weights, data, bounds of parameters and additional curves. Structure is
the rest: trajectory and unknowns, which bounds are finite and which equal, the graph of terms, the equations
that are eliminated, all sparsity. A compiled program keeps the structure for other values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import DegreesOfFreedomError, ProblemError, UnboundedError
from trajopt.graph.data import blocks_of_data
from trajopt.graph.graph import Graph, fused, part_of
from trajopt.graph.quantities import extra_leaf, is_extra, is_parameter, parameter_leaf
from trajopt.problem.constraints.rotation_wraps import refuse_far_turns
from trajopt.problem.contacts.contact_checks import refuse_out_of_reach
from trajopt.problem.contacts.free_fall import refuse_free_fall, refuse_unpushed
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of, refuse_idle_unknowns
from trajopt.problem.problem_parts import checked_problem
from trajopt.problem.systems.system import System
from trajopt.splines.trajectory import SHORTEST_DURATION, Nodes
from trajopt.terms.nonsmooth import Norm
from trajopt.transcription.bounds import Bounds, LinearRows, bounds_and_linear_block, linear_rows
from trajopt.transcription.conditions import (
    Conditions,
    ConstantRows,
    LinearEquations,
    Objective,
    RowGroup,
    conditions_of,
    constant_rows,
    given_limits,
    objectives_of,
    row_groups,
)
from trajopt.transcription.consistent_start import consistent_start
from trajopt.transcription.curve_sizes import sizes_at, sizes_of_rows
from trajopt.transcription.derivative_check import check_problem
from trajopt.transcription.elimination import GeneralSolution, eliminate
from trajopt.transcription.initial_point import beside_singular_point, first_guess, with_guessed_duration
from trajopt.transcription.leaf_map import LeafMap, SplineMap
from trajopt.transcription.nlp import NLP, ProgramStructure, ProgramValues, Scaling, scaling_at_start
from trajopt.transcription.program_functions import ProgramFunctions, program_maps
from trajopt.transcription.unknowns import Unknowns


def structure_of(
    problem: Problem, kept_as_rows: Collection[int] = (), check: bool = False
) -> ProgramStructure:
    """The structure of a problem's program.

    kept_as_rows : numbers of constraints that become rows although they are linear equations
    check : whether users' blocks are checked, see `check_problem`, before anything is evaluated
    Raises ProblemError or a subclass where the problem contradicts itself or nothing is left to optimize.
    """
    spline_map = SplineMap.of(checked_problem(problem))
    conditions = conditions_of(problem, spline_map, kept_as_rows)
    solution = _general_solution(problem, spline_map, conditions.equations)
    linear = linear_rows(problem, spline_map, solution.N, solution.free)

    graph = _graph(problem, conditions)
    if check and not all(getattr(block, "derivatives_are_tested", False) for block in graph.blocks):
        check_problem(problem, graph)
    objectives = objectives_of(problem)
    groups = row_groups(problem, conditions, graph.width)
    used = {each.quantity for each in (*groups, *objectives)}
    if problem.extras or problem.designs:
        refuse_idle_unknowns(problem, graph, used)
    evaluated, leaf_map = _evaluated(graph, spline_map, solution.N, used)
    constant, changing = constant_rows(groups, evaluated, leaf_map)
    left = {each.quantity for each in (*changing, *objectives)}
    kept = _nodes_asked(spline_map.nodes, objectives, changing)
    if left != used or kept.size < leaf_map.nodes:
        evaluated, leaf_map = _evaluated(graph, spline_map, solution.N, left, kept)
    rest = evaluated, leaf_map
    if constant:
        fixed, nodes = {each.quantity for each in constant}, _nodes_asked(spline_map.nodes, (), constant)
        rest = _evaluated(part_of(graph, fixed), spline_map, solution.N, fixed, nodes)
    _refuse_unbounded(problem, spline_map, solution, linear, graph, changing)

    return ProgramStructure(
        spline_map=spline_map,
        equations=conditions.equations,
        solution=solution,
        linear=linear,
        objectives=objectives,
        groups=changing,
        constant=ConstantRows(constant, *rest),
        graph=graph,
        maps=program_maps(evaluated, leaf_map, objectives, changing, linear.kept.size),
        component_names=problem.component_names,
        slacks=_quantities_of_slacks(problem, graph),
    )


def _quantities_of_slacks(problem: Problem, graph: Graph) -> dict[str, list[str]]:
    """Leaf of every slack -> the quantities s - piece of its rows; that below a norm, which has no rows."""
    found: dict[str, list[str]] = {}
    for name, slack in problem.slacks.items():
        norm_of = [slack.maximum.base.quantity] if isinstance(slack.maximum, Norm) else []
        found[extra_leaf(name)] = [*norm_of, *(term.quantity for term, _ in slack.rows)]
    for leaf in (parameter_leaf(name) for name, each in problem.parameters.items() if each.is_slack):
        bounded = [each.term.quantity for each in problem.constraints]
        found[leaf] = [quantity for quantity in bounded if leaf in graph.leaf_pattern(quantity)]
    return found


def _general_solution(problem: Problem, spline_map: SplineMap, equations: LinearEquations) -> GeneralSolution:
    """The general solution of the linear equations; durations and parameters are eliminated last."""
    layout = spline_map.layout
    last_resort = np.arange(layout.control_point_count, layout.size)
    solution = eliminate(equations.A, equations.labels, last_resort, problem.trajectory)
    if solution.left_over.size:  # a contradiction is reported before its consequences
        solution.at(equations.right_sides(problem))
    if solution.free.size == 0:
        raise DegreesOfFreedomError(
            f"the conditions of '{problem.name}' fix the whole motion, so nothing is left to optimize: "
            f"use more intervals or a higher degree, or drop a condition (now {problem.trajectory})"
        )
    return solution


def _refuse_unbounded(
    problem: Problem,
    spline_map: SplineMap,
    solution: GeneralSolution,
    linear: LinearRows,
    graph: Graph,
    groups: Iterable[RowGroup],
) -> None:
    """UnboundedError where only durations are minimized and no condition, and no bound, depends on them."""
    arcs, place = problem.trajectory.arcs, spline_map.layout.durations
    places = np.flatnonzero((solution.free >= place.start) & (solution.free < place.stop))
    only_time = all(cost.term.quantity == "duration" and cost.weight > 0.0 for cost in problem.costs)
    bounded = np.any(problem.trajectory.duration_bounds[0] != SHORTEST_DURATION)
    if not problem.costs or not only_time or bounded or places.size < len(arcs):
        return
    if solution.N[:, places].nnz > places.size or linear.A[linear.kept][:, places].nnz:
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
    bounded = [problem.constraints[number].term for number in conditions.constraints]
    bounded += [problem.periodicities[number].term for number in conditions.periodicities]
    bounded += [term for slack in problem.slacks.values() for term, _ in slack.rows]
    return graph_of(problem, [*direct, *bounded], integrated)


def _evaluated(
    graph: Graph,
    spline_map: SplineMap,
    N: sparse.csr_array,
    used: set[str],
    kept: Array | None = None,
) -> tuple[Graph, LeafMap]:
    """The graph that is evaluated in a solve, terms joined into larger blocks, and the map to its leaves.

    used : the quantities that are minimized or bounded;  kept : the nodes where they are, None: all
    """
    joined = fused(graph, used)
    for quantity in sorted(used):
        if not joined.leaf_pattern(quantity):
            raise ProblemError(
                f"'{quantity}' depends on no unknown, so it can be neither minimized nor bounded: "
                "let it depend on the node, or leave it out"
            )
    leaves = (joined.inputs | used).intersection(graph.leaves) or {"q"}
    return joined, LeafMap.of(spline_map, N, leaves, kept)


def _nodes_asked(nodes: Nodes, objectives: Iterable[Objective], groups: Iterable[RowGroup]) -> Array:
    """The nodes where something is minimized or bounded, and the first of every span that has none."""
    asked = np.zeros(nodes.count, dtype=bool)
    for objective in objectives:
        asked |= objective.node_weights != 0.0
    for group in groups:
        asked[group.matrix.indices // group.shape[1]] = True
    first = np.flatnonzero(np.diff(nodes.span, prepend=-1))
    asked[first] |= ~np.logical_or.reduceat(asked, first)
    return np.flatnonzero(asked)


def transcribe(problem: Problem, check: bool = False) -> NLP:
    """Build the program of a problem: unknowns, bounds, rows, sparsity, starting point and scaling.

    check : whether users' blocks are checked first, those that were not yet
    Without costs the objective is zero: any point that meets the constraints is a solution.
    Raises ProblemError or a subclass, such as InfeasibleBoundsError, when the problem contradicts itself.
    """
    if check and getattr(problem.dynamics, "rotation_joints", ()):
        refuse_far_turns(problem)
    if check and problem.passive_joints:
        refuse_free_fall(problem)
        refuse_unpushed(problem)
        refuse_out_of_reach(problem)
    structure = structure_of(problem, check=check)
    values = values_of(structure, problem)
    return cold_program(structure, values, problem)


def values_of(structure: ProgramStructure, problem: Problem) -> ProgramValues:
    """The values of a problem that has this structure.

    Raises DegreesOfFreedomError where equations contradict each other, InfeasibleBoundsError where they fix
    an unknown outside its bounds.
    """
    elimination = structure.solution.at(structure.equations.right_sides(problem))
    spline_map = structure.spline_map
    bounds, linear = bounds_and_linear_block(problem, spline_map, structure.linear, elimination)
    return ProgramValues(
        unknowns=Unknowns(spline_map.layout, elimination, spline_map.nodes),
        bounds=bounds,
        linear=linear,
        given=given_limits(problem),
        objectives=tuple(
            objective if objective.weight == cost.weight else replace(objective, weight=cost.weight)
            for objective, cost in zip(structure.objectives, problem.costs, strict=True)
        ),
        data=blocks_of_data(structure.graph, problem.datasets) if problem.datasets else {},
    )


def cold_program(structure: ProgramStructure, values: ProgramValues, problem: Problem) -> NLP:
    """The program with the starting point that the problem's guess gives, scaled there."""
    unknowns, bounds = values.unknowns, values.bounds
    guess = bounds.clipped(unknowns.elimination.reduce(first_guess(problem, unknowns.layout)))
    functions, row_bounds = _unscaled(structure, values, guess)
    start = with_guessed_duration(problem, unknowns, guess, bounds, functions, row_bounds, values.linear)
    start = beside_singular_point(problem, unknowns, functions, row_bounds, bounds, start)
    if isinstance(problem.dynamics, System):
        start = consistent_start(problem, unknowns, structure.spline_map, bounds, start)
    program = program_at(structure, values, start, unscaled=(functions, row_bounds))
    if not structure.slacks or (sizes := program.unknown_sizes) is None:
        return program
    is_slack = structure.is_slack[unknowns.elimination.free]
    at_size = bounds.clipped(np.where(is_slack & (sizes != 1.0), sizes, start))
    return program_at(structure, values, at_size, unscaled=(functions, row_bounds))


def program_at(
    structure: ProgramStructure,
    values: ProgramValues,
    start: Array,
    scaling: Scaling | None = None,
    unscaled: tuple[ProgramFunctions, Bounds] | None = None,
) -> NLP:
    """The program with a known starting point, scaled there where no scaling is given.

    A program with a given scaling is kept in its structure, for others with the same one.

    unscaled : its functions and the bounds of its rows, where they are known already
    """
    last = None if scaling is None or unscaled else structure.layouts.get("program")
    if last is not None and last.scaling.same(scaling):
        return program_like(last, structure, values, start)
    is_given = scaling is not None
    functions, row_bounds = unscaled or _unscaled(structure, values, start)
    sizes = sizes_at(structure, values, start, functions, row_bounds, scaling is None)
    if scaling is None:
        jacobian, gradient = functions.jacobian(start), functions.gradient(start)
        rows, least, most = functions.jacobian_rows, 1.0, 1.0
        if sizes is not None:
            jacobian, gradient = jacobian * sizes[functions.jacobian_columns], gradient * sizes
            least, most = sizes_of_rows(structure, values, functions, sizes)
        objective, curvature = functions.objective(start), partial(_curvature, functions, start, sizes)
        scaling = scaling_at_start(row_bounds, rows, jacobian, objective, gradient, least, most, curvature)
    program = functions.scaled(
        scaling.rows,
        scaling.objective,
        NLP,
        scaling=scaling,
        bounds=values.bounds,
        row_bounds=row_bounds.scaled(scaling.rows),
        start=start,
        unknowns=values.unknowns,
        objectives=values.objectives,
        linear=values.linear,
        groups=structure.groups,
        graph=structure.graph.with_blocks(values.data),
        spline_map=structure.spline_map,
        component_names=structure.component_names,
        unknown_sizes=sizes,
        layouts=structure.layouts,
    )
    if is_given:
        structure.layouts["program"] = program
    return program


def program_like(before: NLP, structure: ProgramStructure, values: ProgramValues, start: Array) -> NLP:
    """The program of other values at a known starting point, with structure and scaling of the one before.

    Its functions are taken over where right-hand sides and limits alone are others.
    """
    same = values.linear.A is before.linear.A and not values.data and before.chain is structure.maps.chain
    weights = [[each.weight for each in objectives] for objectives in (values.objectives, before.objectives)]
    if not same or weights[0] != weights[1]:
        return program_at(structure, values, start, before.scaling, _unscaled(structure, values, start))
    _check_constant_rows(structure, values, start)
    row_bounds = values.row_bounds(structure.groups)

    def sizes_of(program: NLP) -> Array | None:
        return sizes_at(structure, values, start, program, program.row_bounds, first=False)

    return before.with_values(values.unknowns, values.bounds, row_bounds, values.linear, start, sizes_of)


def _curvature(functions: ProgramFunctions, y: Array, sizes: Array | None) -> float:
    """The largest second derivative of the objective at y, in unknowns divided by sizes; 0 if not known."""
    if not (functions.has_hessian and functions.objective_weights.any()):
        return 0.0
    entries = np.abs(functions.hessian(y, np.zeros(functions.row_count)))
    if sizes is not None:
        entries = entries * sizes[functions.hessian_rows] * sizes[functions.hessian_columns]
    return float(entries.max(initial=0.0))


def _unscaled(
    structure: ProgramStructure, values: ProgramValues, y: Array
) -> tuple[ProgramFunctions, Bounds]:
    """The functions of the program and the bounds of its rows, not scaled.

    Raises InfeasibleBoundsError where a row that no unknown changes does not hold, at y as at any other.
    """
    _check_constant_rows(structure, values, y)
    chain, linear = structure.maps.chain, values.linear
    if values.data:
        chain = chain.on(chain.graph.with_blocks(values.data))
    c = values.unknowns.elimination.c
    functions = structure.maps.functions(chain, c, values.objectives, linear.A, linear.b)
    return functions, values.row_bounds(structure.groups)


def _check_constant_rows(structure: ProgramStructure, values: ProgramValues, y: Array) -> None:
    constant, unknowns = structure.constant, values.unknowns
    if constant.groups:
        leaves = constant.leaf_map.at(y, constant.leaf_map.offset(unknowns.elimination.c)).values
        times = partial(unknowns.node_times, y)
        constant.check(leaves, values.data, values.given, times, structure.component_names)
