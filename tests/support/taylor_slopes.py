"""Derivatives of programs along a line: orders at which Taylor expansions fail, and differences of rows."""

import numpy as np
from scipy import sparse


def slopes(nlp, y, direction, multipliers):
    """Orders at which first-order expansions of the Lagrangian and of its gradient fail."""

    def lagrangian(x):
        return nlp.objective(x) + multipliers @ nlp.rows(x)

    def gradient(x):
        total = nlp.gradient(x).copy()
        np.add.at(total, nlp.jacobian_columns, nlp.jacobian(x) * multipliers[nlp.jacobian_rows])
        return total

    value, slope, entries = lagrangian(y), gradient(y), nlp.hessian(y, multipliers, 1.0)
    lower = sparse.coo_array((entries, (nlp.hessian_rows, nlp.hessian_columns)), shape=(y.size, y.size))
    bend = lower @ direction + lower.T @ direction - lower.diagonal() * direction
    steps = 2.0 ** -np.arange(8, 12)
    first = [abs(lagrangian(y + h * direction) - value - h * slope @ direction) for h in steps]
    second = [np.linalg.norm(gradient(y + h * direction) - slope - h * bend) for h in steps]
    return tuple(np.polyfit(np.log(steps), np.log(errors), 1)[0] for errors in (first, second))


def slope_and_difference_of_rows(nlp):
    """The rows' derivative along a direction near the start, and the central difference of step 1e-6."""
    y = nlp.start + 0.01 * np.cos(np.arange(nlp.variable_count))
    direction, h = np.sin(1.0 + np.arange(nlp.variable_count)), 1e-6
    slope = np.zeros(nlp.row_count)
    np.add.at(slope, nlp.jacobian_rows, nlp.jacobian(y) * direction[nlp.jacobian_columns])
    return slope, (nlp.rows(y + h * direction) - nlp.rows(y - h * direction)) / (2 * h)
