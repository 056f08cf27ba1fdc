"""Compiled loops of the derivatives at all nodes: sums of products of rows, and their sums over spans.

A row holds one number of every node, so that SIMD lanes run over nodes; arrays are (rows, lanes), of which
the first `count` lanes are computed.
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.newton.compiled_loops import compiled


@compiled
def add_row_products(
    into: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    count: int,
    targets: np.ndarray,
    starts: np.ndarray,
    lefts: np.ndarray,
    rights: np.ndarray,
    factors: np.ndarray,
    fresh: np.ndarray,
) -> None:
    """into[target] += sum over its terms of factor left[i] right[j]; fresh rows are zero before.

    The terms of targets[t] stand from starts[t] on. Rows that were targets may be read by later targets where
    arrays are one and the same. Nodes are taken by 64, so that rows of many nodes stay in the cache; terms by
    four, which one pass adds to their row, in a third of the time that one after the other takes.
    """
    for first in range(0, count, 64):
        last = min(first + 64, count)
        for t in range(targets.size):
            row, term, end = into[targets[t], first:last], starts[t], starts[t + 1]
            if fresh[t]:
                for k in range(row.size):
                    row[k] = 0.0
            while term + 4 <= end:
                a, b, e = left[lefts[term], first:last], right[rights[term], first:last], factors[term]
                term += 1
                c, d, f = left[lefts[term], first:last], right[rights[term], first:last], factors[term]
                term += 1
                p, q, g = left[lefts[term], first:last], right[rights[term], first:last], factors[term]
                term += 1
                u, v, h = left[lefts[term], first:last], right[rights[term], first:last], factors[term]
                term += 1
                for k in range(row.size):
                    row[k] += (e * a[k] * b[k] + f * c[k] * d[k]) + (g * p[k] * q[k] + h * u[k] * v[k])
            while term < end:
                a, b, e = left[lefts[term], first:last], right[rights[term], first:last], factors[term]
                term += 1
                for k in range(row.size):
                    row[k] += e * a[k] * b[k]


@compiled
def add_over_spans(
    values: np.ndarray,
    powers: np.ndarray,
    nodes: np.ndarray,
    starts: np.ndarray,
    rows: np.ndarray,
    exponents: np.ndarray,
    factors: np.ndarray,
    bases: np.ndarray,
    basis: np.ndarray,
    widths: np.ndarray,
    places: np.ndarray,
    into: np.ndarray,
) -> None:
    """Sums over the nodes of every span of factor value power, each times a row of products of bases.

    nodes : (spans + 1,) the first node of every span
    starts : of the terms of every sum, each a row of `values`, one of `powers`, a factor, and the place in
        `basis` of the products at its first node; one node has as many as `widths` says
    places : of every sum in `into`, span after span
    """
    for item in range(places.size):
        width = widths[item]
        for s in range(nodes.size - 1):
            at = places[item] + s * width
            found = into[at : at + width]
            for i in range(width):
                found[i] = 0.0
            for term in range(starts[item], starts[item + 1]):
                row, power, factor = values[rows[term]], powers[exponents[term]], factors[term]
                for k in range(nodes[s], nodes[s + 1]):
                    value, first = factor * row[k] * power[k], bases[term] + k * width
                    own = basis[first : first + width]
                    for i in range(width):
                        found[i] += value * own[i]
