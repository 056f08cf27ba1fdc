"""Possible gain of the objective by finer knots in every span: the Lagrangian's gradient for new functions.

The problem is transcribed with all spans halved, at the present motion, which the finer spline holds exactly.
For the finer functions of a span, g is the gradient of the Lagrangian, which vanishes along those of the
present spline and so shows what the knot in the middle adds, and H its Hessian. The gain of the span, in
units of the objective, is to second order

    gain = max over |step| <= largest of  -g . step - step . |H| step / 2,

with the eigenvalues of H in absolute value, steps that do not accelerate more than the motion itself does,
and active limits unchanged to first order. Functions whose control points are at an active bound gain
nothing. No path limits are needed: motions that a coarse spline cannot follow have a gain, too.

Multipliers of a solution are carried over to the program of the same motion on a finer mesh.

The multiplier of a row at node k is the integral of a density over the part of time that its quadrature
weight w_k stands for: lambda(t_k) = multiplier_k / (T w_k). The density is interpolated, for equations by the
polynomial through the nodes of a span, for limits, whose multipliers have kinks, linearly.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.base.tolerances import NOT_ZERO
from trajopt.checks.optimality import SIGNIFICANT_DENSITY
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import active_set, lagrangian_gradient
from trajopt.solvers.matrices import sparse_hessian, sparse_jacobian
from trajopt.splines.quadrature import lagrange_polynomials
from trajopt.splines.trajectory import Nodes
from trajopt.transcription.conditions import RowGroup
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import transcribe


def carried_multipliers(solution: Solution, coarse: NLP, fine: NLP) -> Array:
    """Scaled row multipliers (rows,) of `fine`, whose spans are the halves of those of `coarse`.

    coarse : the program that the solution solves. Linear rows get none: they bound control points, which
        are others on the finer mesh.
    """
    known = _by_group(solution, coarse)
    found, counts = [np.zeros(fine.linear.count)], defaultdict(int)
    for group in fine.groups:
        key = group.name, counts[group.name]
        counts[group.name] += 1
        rows = np.zeros(group.shape)
        if key in known:
            rows = _carried(*known[key], group, coarse.unknowns.nodes, fine.unknowns.nodes, solution)
        found.append(rows.ravel()[group.kept])
    return np.concatenate(found) * fine.objective_scale / fine.row_scale


def _by_group(solution: Solution, coarse: NLP) -> dict[tuple[str, int], tuple[RowGroup, Array]]:
    """(name, how many groups of that name came before) -> group and its multipliers (rows, width)."""
    found: dict[tuple[str, int], tuple[RowGroup, Array]] = {}
    cursor, counts = defaultdict(int), defaultdict(int)
    for group in coarse.groups:
        first = cursor[group.name]
        last = cursor[group.name] = first + group.shape[0]
        rows = solution.multipliers.get(group.name, np.empty((0, 0)))[first:last]
        if rows.shape == group.shape:
            found[group.name, counts[group.name]] = group, rows
        counts[group.name] += 1
    return found


def _carried(
    before: RowGroup, rows: Array, after: RowGroup, coarse: Nodes, fine: Nodes, solution: Solution
) -> Array:
    """Multipliers (rows, width) of a group on the finer mesh."""
    single = before.takes_single_nodes and after.takes_single_nodes
    if not single or len(rows) == 1:
        return rows if len(rows) == after.shape[0] else np.zeros(after.shape)
    own, finer = before.weights.indices, after.weights.indices
    seconds = coarse.weight[own] * solution.curve.durations[coarse.arc[own]]
    weighted = seconds > 0.0
    density = rows[weighted] / seconds[weighted, None]
    equal = np.any(after.is_equation, axis=0)
    found = np.zeros(after.shape)
    spans = fine.span[finer] // 2
    for span in np.unique(spans):
        here = np.flatnonzero(spans == span)
        at, values = _of_span(coarse, own[weighted], density, int(span))
        if at.size == 0:
            continue
        s = fine.s[finer[here]]
        smooth = lagrange_polynomials(at, s) @ values
        linear = np.stack([np.interp(s, at, column) for column in values.T], axis=1)
        found[here] = np.where(equal, smooth, linear)
    found *= (fine.weight[finer] * solution.curve.durations[fine.arc[finer]])[:, None]
    return found + _impulses(rows[~weighted], own[~weighted], coarse, finer, fine)


def _of_span(nodes: Nodes, chosen: Array, values: Array, span: int) -> tuple[Array, Array]:
    """Times and values of the chosen nodes of a span, with the end that it shares with the span before."""
    own = np.flatnonzero(nodes.span[chosen] == span)
    first = int(np.flatnonzero(nodes.span == span)[0])
    shared = first > 0 and nodes.arc[first - 1] == nodes.arc[first] and nodes.s[first - 1] < nodes.s[first]
    before = np.flatnonzero(chosen == first - 1) if shared else np.empty(0, dtype=int)
    every = np.concatenate([before, own])
    return nodes.s[chosen[every]], values[every]


def _impulses(rows: Array, own: Array, coarse: Nodes, finer: Array, fine: Nodes) -> Array:
    """Multipliers of nodes without weight, at the same nodes of the finer mesh."""
    found = np.zeros((finer.size, rows.shape[1]))
    for node, row in zip(own, rows, strict=True):
        same = (fine.arc[finer] == coarse.arc[node]) & (fine.s[finer] == coarse.s[node])
        found[np.flatnonzero(same & (fine.weight[finer] == 0.0))[:1]] = row
    return found


SAMPLES = 9  # times per half of a span at which new functions are compared with the motion


def gains_of_halving(solution: Solution) -> list[Array] | None:
    """Gain of every span in units of the objective, (spans,) for every arc; None where it cannot be known."""
    try:
        coarse, fine = transcribe(solution.problem), transcribe(solution.on_halved_spans())
    except TrajoptError:
        return None
    if not coarse.unknowns.fits(solution.curve, solution.parameters):
        return None
    y, multipliers = fine.start, carried_multipliers(solution, coarse, fine)
    gradient = lagrangian_gradient(fine, y, multipliers)
    active = active_set(fine, y)
    # Unknowns at a bound that their descent would cross, or in an active linear row
    blocked = (active.at_lower & (gradient > 0.0)) | (active.at_upper & (gradient < 0.0))
    if fine.linear.count:
        rows = (active.rows_at_lower | active.rows_at_upper)[: fine.linear.count]
        blocked |= np.asarray(abs(fine.linear.A[np.flatnonzero(rows)]).sum(axis=0)).ravel() > 0.0
    gradient[blocked] = 0.0
    hessian = sparse_hessian(fine, fine.hessian(y, multipliers)) if fine.has_hessian else None
    limits = _active_limits(fine, y, multipliers)
    found = []
    for arc, basis in enumerate(solution.curve.bases):
        largest = _largest_steps(solution, fine, arc)
        gains = [
            _gain(entries, gradient, hessian, limits, largest)
            for entries in _entries_of_spans(fine, arc, basis.span_count)
        ]
        found.append(np.array(gains) / fine.objective_scale)
    return found if all(np.all(np.isfinite(gains)) for gains in found) else None


def _active_limits(nlp: NLP, y: Array, multipliers: Array) -> sparse.csc_array:
    """The Jacobian of the limits that have a multiplier or are violated, (limits, variables)."""
    rows = nlp.rows(y)
    equal = nlp.row_lower == nlp.row_upper
    # At least a tenth of the objective, as inactive limits have tiny multipliers
    largest = np.abs(multipliers[~equal]).max(initial=0.1 * abs(nlp.objective(y)))
    active = (rows < nlp.row_lower) | (rows > nlp.row_upper)
    active |= np.abs(multipliers) > SIGNIFICANT_DENSITY * max(largest, NOT_ZERO)
    jacobian = sparse_jacobian(nlp, nlp.jacobian(y))
    return sparse.csc_array(jacobian[np.flatnonzero(active & ~equal)])


def _entries_of_spans(fine: NLP, arc: int, span_count: int) -> list[Array]:
    """Per span of the coarser mesh the entries of y whose functions are not zero on it."""
    layout, free = fine.unknowns.layout, fine.unknowns.elimination.free
    found = []
    for span in range(span_count):
        columns = []
        for group in layout.groups:
            basis = group.bases[arc]
            first, second = basis.first_control_point[2 * span : 2 * span + 2]
            last = second + basis.degree
            columns.append(np.arange(group.column(arc, first, 0), group.column(arc, last + 1, 0)))
        wanted = np.concatenate(columns)
        place = np.searchsorted(free, wanted)
        found.append(place[free[np.minimum(place, free.size - 1)] == wanted])
    return found


def _largest_steps(solution: Solution, fine: NLP, arc: int) -> Array:
    """Largest change of every unknown by the motion's own accelerations in normalised time, (variables,).

    That of a curve beside the joints is its own largest value.
    """
    layout, joints = fine.unknowns.layout, len(solution.joint_names)
    steps = np.zeros(layout.size)
    for group, own in zip(layout.groups, solution.curve.groups, strict=True):
        basis, coarse, points = group.bases[arc], own.bases[arc], own.control_points[arc]
        s = np.linspace(0.0, 1.0, SAMPLES * coarse.span_count + 1)
        size = np.maximum(np.abs(coarse.evaluate(points, s, 2)).max(axis=0), np.ptp(points, axis=0))
        of_joint = group.first_curve + np.arange(group.curve_count) < joints
        own_size = np.abs(points).max(axis=0, initial=0.0)
        for span in range(basis.span_count):
            s = np.linspace(basis.breakpoints[span], basis.breakpoints[span + 1], SAMPLES)
            curvature = np.abs(basis.local_values(span, s)[2]).max(axis=0)
            for i, largest in enumerate(curvature):
                first = group.column(arc, int(basis.first_control_point[span]) + i, 0)
                bent = of_joint & (largest > 0.0)  # a chain of straight lines has no acceleration to compare
                now = np.where(bent, size / max(float(largest), NOT_ZERO), own_size)
                place = slice(first, first + group.curve_count)
                steps[place] = np.where(steps[place] > 0.0, np.minimum(steps[place], now), now)
    return steps[fine.unknowns.elimination.free]


def _gain(
    entries: Array,
    gradient: Array,
    hessian: sparse.csr_array | None,
    limits: sparse.csc_array,
    largest: Array,
) -> float:
    """The gain of one span: see above; without a Hessian, of the largest step."""
    if entries.size == 0:
        return 0.0
    free = _null_space(limits[:, entries].toarray() * largest[entries])
    slope = free.T @ (gradient[entries] * largest[entries])
    if hessian is None:
        return float(np.abs(slope).sum())
    block = hessian[entries][:, entries].toarray() * np.outer(largest[entries], largest[entries])
    values, vectors = np.linalg.eigh(free.T @ block @ free)
    slope, curvature = np.abs(vectors.T @ slope), np.abs(values)
    step = np.where(slope < curvature, slope / np.maximum(curvature, NOT_ZERO), 1.0)
    return float((step * (slope - 0.5 * step * curvature)).sum())


def _null_space(rows: Array) -> Array:
    """An orthonormal basis (n, k) of the null space of rows (m, n), each divided by its length."""
    size = np.linalg.norm(rows, axis=1)
    rows = rows[size > 0.0] / size[size > 0.0, None]
    if not len(rows):
        return np.eye(rows.shape[1])
    _, values, directions = np.linalg.svd(rows)
    # Limits with relative singular values below 1e-6 repeat each other
    return directions[int((values > 1e-6 * values[0]).sum()) :].T
