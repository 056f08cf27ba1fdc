"""Functions of NumPy, or of any engine with its arrays, called node by node; derivatives given or not.

Derivatives that are not given are central differences of order six,

    f'(z) = (45 (f(z + h) - f(z - h)) - 9 (f(z + 2h) - f(z - 2h)) + (f(z + 3h) - f(z - 3h))) / 60 h + O(h^6)

with h = eps^(1/7) (1 + |z|), at which truncation and rounding are both about 1e-13 for smooth functions of
size one. Second derivatives are central differences of the first ones, of order two: they bend the steps of a
solver, not the optimum, which first derivatives alone decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trajopt.adapters.stacked_function import Foreign, NodeFunction, StackedFunction
from trajopt.base.arrays import Array
from trajopt.base.errors import ShapeError

STEP = float(np.finfo(float).eps ** (1.0 / 7.0))
COARSE_STEP = float(np.cbrt(np.finfo(float).eps))
WEIGHTS = {1: 45.0 / 60.0, 2: -9.0 / 60.0, 3: 1.0 / 60.0}
REMEDY = "compute in float64"


@dataclass(frozen=True, eq=False)
class NumpyFunction(StackedFunction):
    """A function of NumPy arrays (w_i,) at one node.

    derivatives : of the same arguments -> dy/du_i (m, w_i), one matrix for each; None: by differences
    """

    derivatives: NodeFunction | None = None

    def value(self, z: Array) -> Array:
        return self.checked([self._at(row) for row in z], len(z), REMEDY)

    def jacobian(self, z: Array) -> Array:
        if self.derivatives is None:
            return np.stack([central_differences(self._at, row) for row in z])
        return np.stack([self._given(self.derivatives(*np.split(row, self.cuts))) for row in z])

    def hessian(self, z: Array, w: Array) -> Array:
        steps = COARSE_STEP * (1.0 + np.abs(z))
        found = np.empty((*z.shape, z.shape[1]))
        for i in range(z.shape[1]):
            step = steps * (np.arange(z.shape[1]) == i)
            change = self.jacobian(z + step) - self.jacobian(z - step)
            found[:, :, i] = np.einsum("km,kmj->kj", w, change) / (2.0 * steps[:, i : i + 1])
        return 0.5 * (found + np.swapaxes(found, 1, 2))

    def _at(self, row: Array) -> Array:
        found = self.function(*np.split(row, self.cuts))
        several = found if isinstance(found, list | tuple) else [found]
        return np.concatenate([np.ravel(part) for part in several])

    def _given(self, matrices: Foreign) -> Array:
        found = [
            np.atleast_2d(part) for part in (matrices if isinstance(matrices, list | tuple) else [matrices])
        ]
        shapes = [part.shape[1] for part in found]
        if shapes != list(self.widths):
            raise ShapeError(
                f"the derivatives of {self.label} have {shapes} columns: give one matrix (m, w) for each "
                f"argument, with {list(self.widths)} columns"
            )
        return np.concatenate(found, axis=1)


def central_differences(function: Callable[[Array], Array], z: Array) -> Array:
    """df/dz (m, W) of order six."""
    columns = []
    for i, size in enumerate(STEP * (1.0 + np.abs(z))):
        step = size * (np.arange(z.size) == i)
        slopes = (w * (function(z + k * step) - function(z - k * step)) for k, w in WEIGHTS.items())
        columns.append(sum(slopes) / size)
    return np.stack(columns, axis=1)
