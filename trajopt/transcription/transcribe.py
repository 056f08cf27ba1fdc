"""From a problem to the nonlinear program that a solver sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy import sparse

from trajopt.arrays import Array
from trajopt.errors import DegreesOfFreedomError, InfeasibleBoundsError, ProblemError
from trajopt.graph.chain_rule import ChainRule
from trajopt.graph.fusion import fused
from trajopt.graph.graph import Graph
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of, integrand_of
from trajopt.splines.node_sets import difference
from trajopt.transcription.constant_rows import without_fixed_rows
from trajopt.transcription.derivatives.hessian import CurvatureMap
from trajopt.transcription.derivatives.jacobian import LeafMap
from trajopt.transcription.derivatives.sparse_entries import EntryMap, hessian_map, jacobian_map
from trajopt.transcription.elimination import Elimination, eliminate
from trajopt.transcription.initial_point import first_guess, guessed_duration
from trajopt.transcription.linear_rows import (
    continuity_equalities,
    linear_equalities,
    periodic_equalities,
    variable_bounds,
    velocity_hull_rows,
)
from trajopt.transcription.nlp import NLP, LinearBlock
from trajopt.transcription.row_groups import Objective, RowGroup
from trajopt.transcription.spline_map import SplineMap
from trajopt.transcription.unknowns import Unknowns

BOUND_TOLERANCE = 1e-9  # how far an eliminated, hence fixed, unknown may lie outside its bounds


def transcribe(problem: Problem) -> NLP:
    """Build the NLP: graph of blocks, elimination, bounds, rows, structural patterns and scaling.

    Raises ProblemError and its kin when the problem contradicts itself.
    """
    if not problem.costs:
        raise ProblemError(
            f"'{problem.name}' minimizes nothing: call problem.minimize(trajopt.duration), say"
        )
    spline_map = SplineMap(problem)
    equalities, constraints = linear_equalities(problem, spline_map)
    periodic = periodic_equalities(equalities, problem, spline_map)
    continuity = continuity_equalities(equalities, problem, spline_map)
    layout = spline_map.layout
    elimination = eliminate(
        equalities.matrix(),
        np.array(equalities.lower),
        equalities.names,
        np.arange(layout.control_point_count, layout.size),
    )
    unknowns = Unknowns(layout, elimination, spline_map.nodes)
    if unknowns.count == 0:
        raise DegreesOfFreedomError(
            f"the conditions of '{problem.name}' fix the whole motion, so nothing is left to optimize: "
            "use more intervals or a higher degree, or drop a condition"
        )
    objectives = _objectives(problem)
    integrated = [cost.term for cost in problem.costs if cost.over.integrates]
    direct = [cost.term for cost in problem.costs if not cost.over.integrates]
    graph = graph_of(problem, [*direct, *(use.term for use in (*constraints, *periodic))], integrated)
    groups = _row_groups(problem, graph, constraints, periodic, continuity)
    lower, upper, linear = _bounds_and_linear_rows(problem, spline_map, elimination)
    groups = _bounded(groups)
    nlp = _assemble(problem, graph, spline_map, unknowns, objectives, linear, groups, lower, upper)
    free = without_fixed_rows(nlp, groups, problem.component_names)
    if free != groups:
        groups = _bounded(free)
        nlp = _assemble(problem, graph, spline_map, unknowns, objectives, linear, groups, lower, upper)
    return replace(_scaled(nlp), names=problem.component_names)


def _bounded(groups: Iterable[RowGroup]) -> tuple[RowGroup, ...]:
    return tuple(group for group in groups if group.count)


def _objectives(problem: Problem) -> tuple[Objective, ...]:
    """Costs by the value at one node, or by the quadrature of T * term."""
    objectives = []
    for cost in problem.costs:
        quantity = integrand_of(cost.term) if cost.over.integrates else cost.term.quantity
        weights = cost.over.cost_weights(problem.trajectory)
        objectives.append(Objective(cost.name, quantity, cost.weight, weights))
    return tuple(objectives)


def _row_groups(problem: Problem, graph: Graph, constraints, periodic, continuity) -> list[RowGroup]:
    groups = []
    nodes = problem.trajectory.nodes
    for constraint in constraints:
        if constraint.hold == "hull":
            continue
        weights = constraint.over.selection(problem.trajectory)
        shape = (weights.shape[0], graph.width[constraint.term.quantity])
        lower, upper = (np.broadcast_to(bound, shape) for bound in (constraint.lower, constraint.upper))
        groups.append(RowGroup(constraint.name, constraint.term.quantity, weights, lower, upper))
    for use in periodic:
        width = graph.width[use.term.quantity]
        for component, sign in enumerate(np.broadcast_to(use.signs, (width,))):
            rows = difference(nodes, nodes.count - 1, 0, float(sign))
            lower, upper = np.full((1, width), -np.inf), np.full((1, width), np.inf)
            lower[0, component] = upper[0, component] = use.offset[component]
            groups.append(RowGroup(use.name, use.term.quantity, rows, lower, upper, use.order))
    for arc, quantity in continuity:
        left, right = problem.trajectory.border(arc)
        zero = np.zeros((1, problem.dynamics.n))
        groups.append(
            RowGroup(f"continuity of {quantity}", quantity, difference(nodes, right, left), zero, zero)
        )
    return groups


def _bounds_and_linear_rows(problem: Problem, spline_map: SplineMap, elimination: Elimination):
    """Bounds on y; bounds on eliminated entries of x become bounds on y or linear rows."""
    x_lower, x_upper, names = variable_bounds(problem, spline_map)
    N, c, free = elimination.N, elimination.c, elimination.free
    lower, upper = x_lower[free].copy(), x_upper[free].copy()
    eliminated = np.setdiff1d(np.arange(c.size), free)
    hull = velocity_hull_rows(problem, spline_map)
    A, b = [], []
    row_lower, row_upper, row_names = [], [], []

    def settle(row: sparse.csr_array, offset: float, low: float, high: float, name: str) -> None:
        slack = BOUND_TOLERANCE * max(1.0, abs(offset))
        if row.nnz == 0:
            if not low - slack <= offset <= high + slack:
                raise InfeasibleBoundsError(
                    f"{name} is fixed at {offset:.6g} by the boundary conditions but its limits are "
                    f"[{low:.6g}, {high:.6g}]: move the boundary value or widen the limit"
                )
        elif row.nnz == 1:
            column, value = row.indices[0], row.data[0]
            ends = sorted(((low - offset) / value, (high - offset) / value))
            lower[column], upper[column] = max(lower[column], ends[0]), min(upper[column], ends[1])
        else:
            A.append(row)
            b.append(offset)
            row_lower.append(low)
            row_upper.append(high)
            row_names.append(name)

    for i in eliminated:
        if np.isfinite(x_lower[i]) or np.isfinite(x_upper[i]):
            settle(N[[i], :], float(c[i]), float(x_lower[i]), float(x_upper[i]), names[i])
    reduced, offsets = (hull.matrix() @ N).tocsr(), hull.matrix() @ c
    for i, name in enumerate(hull.names):
        settle(reduced[[i], :], offsets[i], hull.lower[i], hull.upper[i], name)
    crossed = np.flatnonzero(lower > upper)
    if crossed.size:
        i = int(crossed[0])
        raise InfeasibleBoundsError(
            f"{names[free[i]]} would have to lie in [{lower[i]:.6g}, {upper[i]:.6g}]: "
            "the limits contradict the boundary conditions"
        )
    matrix = sparse.vstack(A, format="csr") if A else sparse.csr_array((0, free.size))
    linear = LinearBlock(
        sparse.csr_array(matrix), np.array(b), np.array(row_lower), np.array(row_upper), row_names
    )
    return lower, upper, linear


def _assemble(problem, graph, spline_map, unknowns, objectives, linear, groups, lower, upper) -> NLP:
    bounded = [group.quantity for group in groups]
    used = [*bounded, *(objective.quantity for objective in objectives)]
    joined = fused(graph, used)
    _check_dependence(joined, used)
    needed = {name for block in joined.blocks for name in block.inputs if name in graph.leaves}
    needed.update(quantity for quantity in used if quantity in graph.leaves)
    leaf_map = LeafMap(spline_map, unknowns.elimination, needed)
    chain = ChainRule(joined, bounded, used, leaf_map.leaves)
    weights = _weights(chain, groups, spline_map.nodes.count)
    pattern = _stacked_pattern(chain, chain.used)[: chain.bounded_count]
    entries, raw_size = leaf_map.jacobian_entries(pattern, chain.used_count)
    curvature_map, second = _curvature(chain, leaf_map, objectives, groups)
    nlp = NLP(
        graph,
        chain,
        leaf_map,
        curvature_map,
        spline_map,
        unknowns,
        objectives,
        linear,
        groups,
        lower,
        upper,
        np.zeros(lower.size),
        jacobian_map(entries, weights, raw_size, linear.b.size),
        second,
        weights,
        np.ones(linear.b.size + weights.shape[0]),
        1.0,
    )
    return _started(nlp, problem)


def _check_dependence(graph: Graph, used: list[str]) -> None:
    for quantity in used:
        if not graph.leaf_pattern(quantity):
            raise ProblemError(
                f"'{quantity}' depends on no unknown, so it can be neither minimized nor bounded: "
                "let it depend on the node, or leave it out"
            )


def _weights(chain: ChainRule, groups: tuple[RowGroup, ...], nodes: int) -> sparse.csr_array:
    """The rows of all groups as one matrix times the used quantities, node by node."""
    parts = []
    for group in groups:
        place = chain.rows[group.quantity]
        own = group.matrix
        node, component = np.divmod(own.indices, place.stop - place.start)
        columns = node * chain.used_count + place.start + component
        shape = (own.shape[0], nodes * chain.used_count)
        parts.append(sparse.csr_array((own.data, columns, own.indptr), shape=shape))
    shape = (0, nodes * chain.used_count)
    return sparse.csr_array(sparse.vstack(parts, format="csr") if parts else sparse.csr_array(shape))


def _stacked_pattern(chain: ChainRule, quantities: Iterable[str]) -> Array:
    """Where derivatives of used quantities by the leaves may differ from zero, as `chain` lays them out."""
    pattern = np.zeros((chain.used_count, chain.width), dtype=bool)
    for quantity in quantities:
        for leaf, part in chain.graph.leaf_pattern(quantity).items():
            pattern[chain.rows[quantity], chain.columns[leaf]] = part
    return pattern


def _curvature(
    chain: ChainRule, leaf_map: LeafMap, objectives: tuple[Objective, ...], groups: tuple[RowGroup, ...]
) -> tuple[CurvatureMap | None, EntryMap]:
    """The map of second derivatives, by the patterns of what is used on every span."""
    span = leaf_map.spline_map.nodes.span
    active: list[set[str]] = [set() for _ in range(int(span.max()) + 1)]
    for objective in objectives:
        for s in np.unique(span[objective.node_weights != 0.0]):
            active[s].add(objective.quantity)
    for group in groups:
        for s in np.unique(span[group.weights.indices]):
            active[s].add(group.quantity)
    if not chain.graph.has_curvature:
        return None, EntryMap(sparse.csr_array((0, 0)), np.zeros(0, int), np.zeros(0, int))
    known: dict[frozenset[str], tuple[Array, Array]] = {}
    for used in {frozenset(used): None for used in active}:
        pattern = np.zeros((chain.width, chain.width), dtype=bool)
        for (first, other), part in chain.graph.hessian_pattern(used).items():
            pattern[chain.columns[first], chain.columns[other]] = part
        known[used] = pattern, np.any(_stacked_pattern(chain, used), axis=0)
    pairs = chain.graph.hessian_pattern(chain.used)
    curvature_map = CurvatureMap(leaf_map, pairs, chain.direct_pairs(), chain.columns)
    patterns, touched = (np.stack([known[frozenset(used)][i] for used in active]) for i in (0, 1))
    entries, raw_size = curvature_map.entries(patterns, touched)
    return curvature_map, hessian_map(entries, raw_size)


def _started(nlp: NLP, problem: Problem) -> NLP:
    start = np.clip(nlp.unknowns.of(*first_guess(problem)), nlp.lower, nlp.upper)
    return replace(nlp, start=guessed_duration(problem, nlp, start))


def _scaled(nlp: NLP) -> NLP:
    """Rows by the size of their limits or, where that is small, their gradient; the objective by its gradient
    or its value at the start, whichever is smaller."""
    lower, upper = nlp.row_lower, nlp.row_upper
    size = np.maximum(
        np.where(np.isfinite(lower), np.abs(lower), 0.0), np.where(np.isfinite(upper), np.abs(upper), 0.0)
    )
    steepest = np.zeros(nlp.row_count)
    np.maximum.at(steepest, nlp.jacobian_rows, np.abs(nlp.jacobian(nlp.start)))
    # Limits far narrower than a row's gradient, a band of millimetres say, would make it a wall.
    narrow = np.maximum(size, np.minimum(steepest, 1.0))
    row_scale = 1.0 / np.where(size > 0.0, narrow, np.clip(steepest, 1.0, 1e8))
    value = abs(float(nlp.objective(nlp.start)))
    gradient = float(np.abs(nlp.gradient(nlp.start)).max(initial=0.0))
    # At a start that is optimal already the gradient is noise, and dividing by it would magnify rounding; a
    # gradient far above the value, where accelerations follow from millimetres, would make `tol` a loose one.
    size = np.clip(gradient, max(1e-2 * value, 1e-8), max(value, 1e-2 * gradient, 1e-8))
    objective_scale = 1.0 / float(size) if gradient > 0.0 else 1.0
    matrix = nlp.jacobian_map.matrix.copy()
    matrix.data *= np.repeat(row_scale[nlp.jacobian_map.rows], np.diff(matrix.indptr))
    jacobian_map = replace(nlp.jacobian_map, matrix=matrix)
    return replace(nlp, row_scale=row_scale, objective_scale=objective_scale, jacobian_map=jacobian_map)
