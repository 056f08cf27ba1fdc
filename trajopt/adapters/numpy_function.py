"""Functions of NumPy, or of any engine with its arrays, called node by node; derivatives given or not.

Derivatives that are not given are central differences of order six,

    f'(z) = (45 (f(z + h) - f(z - h)) - 9 (f(z + 2h) - f(z - 2h)) + (f(z + 3h) - f(z - 3h))) / 60 h + O(h^6)

with h = eps^(1/7) (1 + |z|), at which truncation and rounding are both about 1e-13 for smooth functions of
size one. Second derivatives are differences of order two, of given first ones or else of the function itself,

    f_ij = (f(z + h_i + h_j) - f(z + h_i) - f(z + h_j) + 2 f(z) - f(z - h_i) - f(z - h_j) + f(z - h_i - h_j))
           / 2 |h_i| |h_j| + O(h^2),  h = eps^(1/4) (1 + |z|),

about 1e-8 off either way: they bend the steps of a solver, not the optimum, which first derivatives alone
decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from trajopt.adapters.stacked_function import ArrayFunction, Foreign, StackedFunction
from trajopt.base.arrays import Array
from trajopt.base.errors import ShapeError

STEP = float(np.finfo(float).eps ** (1.0 / 7.0))
COARSE_STEP = float(np.cbrt(np.finfo(float).eps))  # of given derivatives
SECOND_STEP = float(np.finfo(float).eps ** 0.25)
WEIGHTS = {1: 45.0 / 60.0, 2: -9.0 / 60.0, 3: 1.0 / 60.0}
REMEDY = "compute in float64"


@dataclass(frozen=True, eq=False)
class NumpyFunction(StackedFunction):
    """A function of NumPy arrays (w_i,) at one node.

    derivatives : of the same arguments -> dy/du_i (m, w_i), one matrix for each; None: by differences
    """

    derivatives: ArrayFunction | None = None

    @property
    def is_differenced(self) -> bool:
        """True where derivatives are differences of values."""
        return self.derivatives is None

    def value(self, z: Array) -> Array:
        return self.checked([self._at(row) for row in z], len(z), REMEDY)

    def jacobian(self, z: Array) -> Array:
        if self.derivatives is None:
            return np.stack([central_differences(self._at, row) for row in z])
        return np.stack([self._given(self.derivatives(*self._arguments(row))) for row in z])

    def hessian(self, z: Array, w: Array) -> Array:
        if self.derivatives is None:
            weighted = zip(z, w, strict=True)
            return np.stack(
                [second_differences(lambda at, by=by: by @ self._at(at), row) for row, by in weighted]
            )
        steps = COARSE_STEP * (1.0 + np.abs(z))
        found = np.empty((*z.shape, z.shape[1]))
        for i in range(z.shape[1]):
            step = steps * (np.arange(z.shape[1]) == i)
            change = self.jacobian(z + step) - self.jacobian(z - step)
            found[:, :, i] = np.einsum("km,kmj->kj", w, change) / (2.0 * steps[:, i : i + 1])
        return 0.5 * (found + np.swapaxes(found, 1, 2))

    def _at(self, row: Array) -> Array:
        found = self.function(*self._arguments(row))
        several = found if isinstance(found, list | tuple) else [found]
        return np.concatenate([np.ravel(part) for part in several])

    def _arguments(self, row: Array) -> list[Array]:
        return [row[begin:end] for begin, end in pairwise([0, *self.cuts, len(row)])]

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
    sizes = STEP * (1.0 + np.abs(z))
    columns = [
        sum(w * (function(z + k * step) - function(z - k * step)) for k, w in WEIGHTS.items())
        for step in np.diag(sizes)
    ]
    return np.stack(columns, axis=1) / sizes


def second_differences(function: Callable[[Array], float], z: Array) -> Array:
    """d^2 f / dz^2 (W, W) of order two, of a number f."""
    sizes = SECOND_STEP * (1.0 + np.abs(z))
    steps, here = np.diag(sizes), function(z)
    sums = [function(z + step) + function(z - step) for step in steps]
    found = np.diag([both - 2.0 * here for both in sums])
    for i, j in combinations(range(z.size), 2):
        step = steps[i] + steps[j]
        change = function(z + step) + function(z - step) + 2.0 * here - sums[i] - sums[j]
        found[i, j] = found[j, i] = 0.5 * change
    return found / np.outer(sizes, sizes)
