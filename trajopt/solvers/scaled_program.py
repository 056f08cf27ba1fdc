"""A program whose unknowns have very different sizes, as solvers should see it: divided by these sizes.

A position of 6e6 m beside a direction cosine leaves an interior-point method no regularization and no
tolerance that fits both. With y = D z and D diagonal, of powers of two so that nothing is rounded,

    f(D z),   g(D z),   gradient D grad f,   Jacobian J D,   Hessian D H D,

multipliers of rows stay as they are and those of bounds are multiplied by D.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trajopt.solvers.solver import Program, Result, WarmStart

__all__ = ["ScaledProgram"]


class ScaledProgram:
    """The program in z = y / sizes; what is not said here is as in `nlp`."""

    unknown_sizes = None

    def __init__(self, nlp: Program, sizes: np.ndarray) -> None:
        self.nlp, self.sizes = nlp, sizes
        self.variable_count, self.row_count = nlp.variable_count, nlp.row_count
        self.lower, self.upper, self.start = nlp.lower / sizes, nlp.upper / sizes, nlp.start / sizes
        self.row_lower, self.row_upper = nlp.row_lower, nlp.row_upper
        self.jacobian_rows, self.jacobian_columns = nlp.jacobian_rows, nlp.jacobian_columns
        self.has_hessian = nlp.has_hessian
        self.hessian_rows, self.hessian_columns = nlp.hessian_rows, nlp.hessian_columns

    def __getattr__(self, name: str) -> Any:
        return getattr(self.nlp, name)

    def objective(self, z: np.ndarray) -> float:
        return self.nlp.objective(self.sizes * z)

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return self.sizes * self.nlp.gradient(self.sizes * z)

    def rows(self, z: np.ndarray) -> np.ndarray:
        return self.nlp.rows(self.sizes * z)

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        return self.sizes[self.nlp.jacobian_columns] * self.nlp.jacobian(self.sizes * z)

    def hessian(
        self, z: np.ndarray, row_multipliers: np.ndarray, objective_factor: float = 1.0
    ) -> np.ndarray:
        of_y = self.nlp.hessian(self.sizes * z, row_multipliers, objective_factor)
        return self.sizes[self.nlp.hessian_rows] * self.sizes[self.nlp.hessian_columns] * of_y

    def culprit(self, z: np.ndarray) -> str:
        """Which term, node and component is not finite at z; "" where all is, or the program cannot say."""
        named = getattr(self.nlp, "culprit", None)
        return named(self.sizes * z) if named else ""

    def jacobian_of_rows(self, kept: np.ndarray) -> Any:
        """The entries of `jacobian(z)` in the rows that are kept, as a function of z."""
        of_y = self.nlp.jacobian_of_rows(kept)  # type: ignore[attr-defined]
        factors = self.sizes[self.nlp.jacobian_columns[kept[self.nlp.jacobian_rows]]]
        return lambda z: factors * of_y(self.sizes * z)

    def point(self, start: WarmStart) -> WarmStart:
        """A point of `nlp` with its multipliers as one of this program."""
        return replace(
            start,
            y=start.y / self.sizes,
            lower_multipliers=_times(start.lower_multipliers, self.sizes),
            upper_multipliers=_times(start.upper_multipliers, self.sizes),
        )

    def result(self, found: Result) -> Result:
        """A result of this program as one of `nlp`."""
        return replace(
            found,
            y=self.sizes * found.y,
            lower_multipliers=found.lower_multipliers / self.sizes,
            upper_multipliers=found.upper_multipliers / self.sizes,
        )


def _times(multipliers: np.ndarray | None, sizes: np.ndarray) -> np.ndarray | None:
    return None if multipliers is None else multipliers * sizes
