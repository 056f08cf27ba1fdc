"""Sizes below which costs are zero: what their terms leave where they cancel, and what rounding leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.peaks_between_nodes import dense_samples, node_samples
from trajopt.graph.chain_rule import ChainRule
from trajopt.graph.protocols.block import Pairs, Values
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.solution import SolutionData
from trajopt.solvers.solver_constants import ROUNDING
from trajopt.splines.curve import Curve

if TYPE_CHECKING:
    from trajopt.graph.protocols.term import Term


def size_of_parts(solution: SolutionData) -> float:
    """The sum over all costs of |weight| times the integral, or the value at an end, of

        sum_j |dc/dz_j| |z_j| + 1/2 sum_ij |z_i| |d2c / dz_i dz_j| |z_j|

    with z the curves and their derivatives. Of a square c = (sum_j A_j z_j)^2 that is zero it is
    (sum_j |A_j z_j|)^2. Every z_j counts by no more than its range over the motion, and parameters do not: an
    offset of kilometres that cancels in millimetres would excuse anything. Zero where a cost has no second
    derivatives or where one of the numbers is not finite.
    """
    return _size_of_costs(solution, _within_range)


def size_of_rounding(solution: SolutionData) -> float:
    """The same of z_j that are what solvers leave of curves: the cost of a body that rests away from zero.

    They leave 1e-12 of the control points P, and of the l-th derivative of a curve of degree d therefore
    1e-12 |P| (2 d / h)^l, with h the shortest span in seconds.
    """
    rounding = {
        leaf: _rounding(solution.curve, of.order)[of.curves]
        for leaf, of in solution.problem.spline_leaves.items()
    }
    return _size_of_costs(solution, lambda leaf, z: np.broadcast_to(rounding.get(leaf, 0.0), z.shape))


def _rounding(curve: Curve, order: int) -> Array:
    """Errors that solvers leave in a derivative of every curve, (n,)."""
    found = []
    for group in curve.groups:
        arcs = zip(group.bases, group.control_points, curve.durations, strict=True)
        of_arcs = [
            np.abs(P).max(axis=0) * (2.0 * basis.degree / (np.diff(basis.breakpoints).min() * T)) ** order
            for basis, P, T in arcs
        ]
        found.append(ROUNDING * np.max(of_arcs, axis=0))
    return np.concatenate(found)


def _size_of_costs(solution: SolutionData, size: Callable[[str, Array], Array]) -> float:
    """The sum of `size_of_parts` for given sizes of leaves."""
    costs, nodes, dense = solution.problem.costs, node_samples(solution), dense_samples(solution)
    total = 0.0
    for cost in costs:
        here = dense if cost.over.integrates else nodes
        sizes = abs(cost.weight) * _sizes(solution, cost.term, here.times, size) * cost.over.mask(here)
        steps = 0.5 * np.diff(here.times) if cost.over.integrates else None
        total += float(sizes.sum() if steps is None else steps @ (sizes[:-1] + sizes[1:]))
    return total if np.isfinite(total) else 0.0


def _sizes(solution: SolutionData, term: Term, times: Array, size: Callable[[str, Array], Array]) -> Array:
    """The sum above of one term at times (K,), all components together, (K,)."""
    graph = graph_of(solution.problem, [term])
    if not graph.has_curvature:
        return np.zeros(times.size)
    z = solution.leaves(times)
    chain = ChainRule(graph, [], [term.quantity], list(graph.leaves))
    with np.errstate(all="ignore"):
        u = graph.values(z)
        partials = graph.partials(u)
        D = chain.jacobian(partials, times.size, np.dtype(float))
        sizes = np.concatenate([size(leaf, z[leaf]) for leaf in graph.leaves], axis=1)
        first = np.einsum("krc,kc->k", np.abs(D[:, chain.rows[term.quantity]]), sizes)
        ones = np.zeros((times.size, chain.used_count))
        ones[:, chain.rows[term.quantity]] = 1.0
        H = np.abs(_second_derivatives(chain, u, D, chain.adjoints(partials, ones)))
        return first + 0.5 * np.einsum("ki,kij,kj->k", sizes, H, sizes)


def _within_range(leaf: str, values: Array) -> Array:
    return np.zeros_like(values) if leaf == "t" else np.minimum(np.abs(values), np.ptp(values, axis=0))


def _second_derivatives(chain: ChainRule, u: Values, D: Array, adjoints: Array) -> Array:
    """Second derivatives of the sum of a term's components by all leaves, (K, columns, columns)."""
    widths = {leaf: place.stop - place.start for leaf, place in chain.columns.items()}
    direct: Pairs = {(a, b): np.zeros((len(D), widths[a], widths[b])) for a, b in chain.direct_pairs()}
    through = chain.hessian(u, D, adjoints, direct)
    H = np.zeros((len(D), chain.width, chain.width)) if through is None else through.copy()
    for (a, b), part in direct.items():
        H[:, chain.columns[a], chain.columns[b]] += part
        if a != b:
            H[:, chain.columns[b], chain.columns[a]] += part.transpose(0, 2, 1)
    return H
