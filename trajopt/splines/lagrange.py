"""Lagrange polynomials: the polynomial through values at some nodes."""

from __future__ import annotations

import numpy as np

from trajopt.base.arrays import Array


def lagrange_polynomials(nodes: Array, points: Array) -> Array:
    """l_i(x_k) = prod over j != i of (x_k - s_j) / (s_i - s_j), nodes s (m,), points x (k,), as (k, m)."""
    own = np.eye(nodes.size, dtype=bool)
    apart = np.where(own, 1.0, nodes[:, None] - nodes)
    factors = (points[:, None, None] - nodes) / apart
    return np.where(own, 1.0, factors).prod(axis=2)
