"""From a problem to the nonlinear program that a solver sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy import sparse

from trajopt.assembly import RawEntries, gather_hessian, gather_jacobian
from trajopt.block import Pairs
from trajopt.elimination import Elimination, eliminate
from trajopt.errors import DegreesOfFreedomError, InfeasibleBoundsError, ProblemError
from trajopt.fixed_rows import without_fixed_rows
from trajopt.graph import Graph
from trajopt.guess import first_guess, guessed_duration
from trajopt.linear import (
    continuity_equalities,
    linear_equalities,
    periodic_equalities,
    variable_bounds,
    velocity_hull_rows,
)
from trajopt.nlp import NLP, LinearBlock
from trajopt.problem import Problem
from trajopt.projection import Projection
from trajopt.quantities import graph_of, integrand_of
from trajopt.use import Objective, RowGroup, difference, quadrature, selection

BOUND_TOLERANCE = 1e-9  # how far an eliminated, hence fixed, unknown may lie outside its bounds


def transcribe(problem: Problem) -> NLP:
    """Build the NLP: graph of blocks, elimination, bounds, rows, structural patterns and scaling.

    Raises ProblemError and its kin when the problem contradicts itself.
    """
    if not problem.costs:
        raise ProblemError(
            f"'{problem.name}' minimizes nothing: call problem.minimize(trajopt.duration), say"
        )
    parameters = {name: p.lower.size for name, p in problem.parameters.items()}
    extras = {name: extra.lower.size for name, extra in problem.extras.items()}
    projection = Projection(problem.trajectory, problem.dynamics.n, parameters, extras)
    equalities, constraints = linear_equalities(problem, projection)
    periodic = periodic_equalities(equalities, problem, projection)
    continuity = continuity_equalities(equalities, problem, projection)
    layout = projection.layout
    elimination = eliminate(
        equalities.matrix(),
        np.array(equalities.lower),
        equalities.names,
        np.arange(layout.control_point_count, layout.size),
    )
    if elimination.free.size == 0:
        raise DegreesOfFreedomError(
            f"the conditions of '{problem.name}' fix the whole motion, so nothing is left to optimize: "
            "use more intervals or a higher degree, or drop a condition"
        )
    objectives = _objectives(problem)
    integrated = [cost.term for cost in problem.costs if cost.over not in ("start", "end")]
    direct = [cost.term for cost in problem.costs if cost.over in ("start", "end")]
    graph = graph_of(problem, [*direct, *(use.term for use in (*constraints, *periodic))], integrated)
    groups = _row_groups(problem, graph, constraints, periodic, continuity)
    lower, upper, linear = _bounds_and_linear_rows(problem, projection, elimination)
    groups = _bounded(groups)
    nlp = _assemble(problem, graph, projection, elimination, objectives, linear, groups, lower, upper)
    free = without_fixed_rows(nlp, groups, problem.component_names)
    if free != groups:
        groups = _bounded(free)
        nlp = _assemble(problem, graph, projection, elimination, objectives, linear, groups, lower, upper)
    return replace(_scaled(nlp), names=problem.component_names)


def _bounded(groups: Iterable[RowGroup]) -> tuple[RowGroup, ...]:
    return tuple(group for group in groups if group.count)


def _objectives(problem: Problem) -> tuple[Objective, ...]:
    """Ends count by value; paths by the quadrature of T * term."""
    objectives = []
    for cost in problem.costs:
        quantity, weights = cost.term.quantity, np.zeros(problem.trajectory.nodes.count)
        if cost.over in ("start", "end"):
            weights[0 if cost.over == "start" else -1] = 1.0
        else:
            weights, quantity = quadrature(problem.trajectory, cost.over), integrand_of(cost.term)
        objectives.append(Objective(cost.name, quantity, cost.weight, weights))
    return tuple(objectives)


def _row_groups(problem: Problem, graph: Graph, constraints, periodic, continuity) -> list[RowGroup]:
    groups = []
    nodes = problem.trajectory.nodes
    for constraint in constraints:
        if constraint.hold == "hull":
            continue
        weights = selection(problem.trajectory, constraint.over)
        shape = (weights.shape[0], graph.width[constraint.term.quantity])
        lower, upper = (np.broadcast_to(bound, shape) for bound in (constraint.lower, constraint.upper))
        groups.append(RowGroup(constraint.name, constraint.term.quantity, weights, lower, upper))
    for use in periodic:
        width = graph.width[use.term.quantity]
        for component, sign in enumerate(np.broadcast_to(use.signs, (width,))):
            rows = difference(nodes, nodes.count - 1, 0, float(sign))
            lower, upper = np.full((1, width), -np.inf), np.full((1, width), np.inf)
            lower[0, component] = upper[0, component] = use.offset[component]
            groups.append(RowGroup(use.name, use.term.quantity, rows, lower, upper))
    for arc, quantity in continuity:
        left = int(np.flatnonzero(nodes.arc == arc)[-1])
        zero = np.zeros((1, problem.dynamics.n))
        groups.append(
            RowGroup(f"continuity of {quantity}", quantity, difference(nodes, left + 1, left), zero, zero)
        )
    return groups


def _bounds_and_linear_rows(problem: Problem, projection: Projection, elimination: Elimination):
    """Bounds on y; bounds on eliminated entries of x become bounds on y or linear rows."""
    x_lower, x_upper, names = variable_bounds(problem, projection)
    N, c, free = elimination.N, elimination.c, elimination.free
    lower, upper = x_lower[free].copy(), x_upper[free].copy()
    eliminated = np.setdiff1d(np.arange(c.size), free)
    hull = velocity_hull_rows(problem, projection)
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


def _assemble(problem, graph, projection, elimination, objectives, linear, groups, lower, upper) -> NLP:
    raw_offset, row_offset, parts = 0, linear.b.size, []
    for group in groups:
        entries, raw_size = _jacobian_entries(graph, projection, group)
        parts.append(
            RawEntries(entries.index + raw_offset, entries.row + row_offset, entries.column, entries.factor)
        )
        raw_offset += raw_size
        row_offset += group.count
    jacobian_map = gather_jacobian(parts, elimination, raw_offset)
    rows, columns, mask = projection.hessian_places(*_hessian_patterns(graph, projection, objectives, groups))
    kept = np.flatnonzero(mask)
    hessian_entries = RawEntries(kept, rows[kept], columns[kept], np.ones(kept.size))
    needed = {name for block in graph.blocks for name in block.inputs if name in graph.leaves}
    needed.update(use.quantity for use in (*objectives, *groups) if use.quantity in graph.leaves)
    nlp = NLP(
        graph,
        projection,
        elimination,
        objectives,
        linear,
        groups,
        lower,
        upper,
        np.zeros(lower.size),
        jacobian_map,
        gather_hessian(hessian_entries, elimination, mask.size),
        np.ones(row_offset),
        1.0,
        frozenset(needed),
    )
    return _started(nlp, problem)


def _jacobian_entries(graph: Graph, projection: Projection, group: RowGroup) -> tuple[RawEntries, int]:
    """Where the raw Jacobian entries of a group belong: rows of the group, columns of x."""
    nodes = np.unique(group.weights.indices)
    pattern = _leaf_pattern(graph, group.quantity)
    local_mask, wide_mask = projection.jacobian_pattern(pattern)
    alive = projection.alive(pattern)[nodes]  # (nodes, width)
    mask = local_mask[None, :, :, None] & alive[:, None, None, :]
    shape = mask.shape
    columns = np.broadcast_to(projection.columns[nodes].transpose(0, 2, 1)[:, None], shape)
    wide = wide_mask[:, :, projection.nodes.arc[nodes]].transpose(2, 0, 1)
    tail = projection.layout.control_point_count + np.arange(wide.shape[2])
    component = np.broadcast_to(np.arange(shape[1])[None, :, None, None], shape)
    place = np.broadcast_to(np.arange(nodes.size)[:, None, None, None], shape)
    flat_mask = np.concatenate([mask.ravel(), wide.ravel()])
    kept = np.flatnonzero(flat_mask)
    flat_columns = np.concatenate([columns.ravel(), np.broadcast_to(tail, wide.shape).ravel()])[kept]
    wide_component = np.broadcast_to(np.arange(wide.shape[1])[None, :, None], wide.shape)
    wide_place = np.broadcast_to(np.arange(nodes.size)[:, None, None], wide.shape)
    flat_component = np.concatenate([component.ravel(), wide_component.ravel()])[kept]
    flat_place = np.concatenate([place.ravel(), wide_place.ravel()])[kept]
    weights = group.weights[:, nodes].tocsc()
    counts = np.diff(weights.indptr)[flat_place]
    origin = np.repeat(np.arange(kept.size), counts)
    within = np.arange(origin.size) - np.repeat(np.cumsum(counts) - counts, counts)
    entry = np.repeat(weights.indptr[flat_place], counts) + within
    places = weights.indices[entry] * shape[1] + flat_component[origin]
    bounded = group.kept[places]
    origin, entry = origin[bounded], entry[bounded]
    rows = np.cumsum(group.kept)[places[bounded]] - 1
    return RawEntries(kept[origin], rows, flat_columns[origin], weights.data[entry]), flat_mask.size


def _leaf_pattern(graph: Graph, quantity: str):
    if quantity in graph.leaves:
        return {quantity: np.eye(graph.width[quantity], dtype=bool)}
    if not graph.jacobian_pattern.get(quantity):
        raise ProblemError(
            f"'{quantity}' depends on no unknown, so it can be neither minimized nor bounded: "
            "let it depend on the node, or leave it out"
        )
    return graph.jacobian_pattern[quantity]


def _hessian_patterns(
    graph: Graph, projection: Projection, objectives, groups
) -> tuple[list[Pairs], list[set[str]]]:
    """For every span: the second-derivative pattern of what is used there, and the leaves with an adjoint."""
    span = projection.nodes.span
    active: list[set[str]] = [set() for _ in range(int(span.max()) + 1)]
    for objective in objectives:
        for s in np.unique(span[objective.node_weights != 0.0]):
            active[s].add(objective.quantity)
    for group in groups:
        for s in np.unique(span[group.weights.indices]):
            active[s].add(group.quantity)
    known: dict[frozenset[str], tuple[Pairs, set[str]]] = {}
    for used in map(frozenset, active):
        if used not in known:
            touched = {leaf for quantity in used for leaf in _leaf_pattern(graph, quantity)}
            known[used] = (graph.hessian_pattern(used), touched)
    return [known[frozenset(used)][0] for used in active], [known[frozenset(used)][1] for used in active]


def _started(nlp: NLP, problem: Problem) -> NLP:
    x = first_guess(problem, nlp.projection)
    start = np.clip(nlp.elimination.reduce(x), nlp.lower, nlp.upper)
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
