"""Multipliers of a solution, carried over to the program of the same motion on a finer mesh.

The multiplier of a row at node k is the integral of a density over the part of time that its quadrature
weight w_k stands for: lambda(t_k) = multiplier_k / (T w_k). The density is interpolated, for equations by the
polynomial through the nodes of a span, for limits, whose multipliers have kinks, linearly.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from trajopt.base.arrays import Array
from trajopt.solution.solution import SolutionData
from trajopt.splines.lagrange import lagrange_polynomials
from trajopt.splines.trajectory import Nodes
from trajopt.transcription.nlp import NLP
from trajopt.transcription.row_groups import RowGroup


def carried_multipliers(solution: SolutionData, coarse: NLP, fine: NLP) -> Array:
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


def _by_group(solution: SolutionData, coarse: NLP) -> dict[tuple[str, int], tuple[RowGroup, Array]]:
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
    before: RowGroup, rows: Array, after: RowGroup, coarse: Nodes, fine: Nodes, solution: SolutionData
) -> Array:
    """Multipliers (rows, width) of a group on the finer mesh."""
    single = all(np.all(np.diff(group.weights.indptr) == 1) for group in (before, after))
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
