"""Measures of how well a motion shows base parameters: numbers of its information matrix, with gradients.

    G = sum over samples of Y_b' W Y_b,   W the weights of the joints, 1 / noise^2

"condition" : the condition number of sqrt(W) Y_b with columns scaled to one (Gautier and Khalil, IJRR 11(4),
    1992), the root of that of S = D G D, D = diag(G)^(-1/2). Its largest and smallest eigenvalue are not
    smooth where two are equal; in their place stand the norms of order p of all,
        f = log((sum of l_i^p)^(1/p) (sum of l_i^-p)^(1/p)),
    which lie above log cond(S) and at most 2 log(count) / p beyond it
"information" : f = -log det G, whose minimum makes the confidence ellipsoid of the parameters smallest
    (Swevers et al., IEEE T-RA 13(5), 1997); it does not depend on the choice of base parameters
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from trajopt.base.arrays import Array

Criterion = Literal["condition", "information"]
ORDER = 16.0  # p
NO_COLUMN = 1e-24  # of the largest square of a column's length
LEAST = 1e-14  # of the largest eigenvalue; smaller ones are rounding


def criterion_value(criterion: Criterion, G: Array) -> tuple[float, Array]:
    """f and its gradient by G, symmetric (count, count); see the head of this file."""
    D = _column_scales(G)
    values, vectors = np.linalg.eigh(D[:, None] * G * D)
    values = np.maximum(values, LEAST * values[-1])
    if criterion == "information":
        slope = vectors / values @ vectors.T
        return float(2.0 * np.sum(np.log(D)) - np.sum(np.log(values))), -(D[:, None] * slope * D)
    largest, smallest = values / values[-1], values[0] / values
    above, below = np.sum(largest**ORDER), np.sum(smallest**ORDER)
    value = np.log(values[-1] / values[0]) + (np.log(above) + np.log(below)) / ORDER
    by_values = largest**ORDER / above / values - smallest**ORDER / below / values
    by_S = vectors * by_values @ vectors.T
    S = vectors * values @ vectors.T
    gradient = D[:, None] * by_S * D
    gradient[np.diag_indices_from(gradient)] -= D**2 * np.einsum("ij,ij->i", by_S, S)
    return float(value), gradient


def _column_scales(G: Array) -> Array:
    """diag(G)^(-1/2), that of a column that is zero but for rounding by the largest."""
    squares = np.diag(G)
    return 1.0 / np.sqrt(np.maximum(squares, max(NO_COLUMN * squares.max(), np.finfo(float).tiny ** 0.5)))


def condition_number(G: Array) -> float:
    """Condition number of the regressor whose information is G, columns scaled to one."""
    D = _column_scales(G)
    values = np.linalg.eigvalsh(D[:, None] * G * D)
    return float(np.sqrt(values[-1] / max(values[0], LEAST * values[-1])))
