"""Linearly dependent equality constraints at a point: which rows of the Jacobian are combinations of which.

The linear independence constraint qualification (LICQ) fails there, and multipliers are not unique. Each row
in turn is made orthogonal to the earlier ones (Gram-Schmidt); where next to nothing is left,

    row_i = sum_j w_j row_j   with few j,

so at this point equation i follows from the equations j, or contradicts them where its residual is not that
combination of theirs (a Farkas certificate of the linearized equations).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import LISTED
from trajopt.base.tolerances import NOT_ZERO
from trajopt.solvers.matrices import dense_jacobian
from trajopt.solvers.newton.newton import MOST_ENTRIES
from trajopt.solvers.solver_constants import DEPENDENT, FEASIBILITY
from trajopt.transcription.linear_equations.elimination import combined
from trajopt.transcription.links.linked_program import LinkedProgram
from trajopt.transcription.nlp import NLP


@dataclass(frozen=True)
class Dependence:
    """A row of the NLP that is a combination of others, and the gap between their residuals."""

    row: int
    others: tuple[int, ...]
    gap: float

    def sentence(self, name: Callable[[int], str]) -> str:
        """The dependence in words, with the names of rows."""
        if not self.others:
            return f"{name(self.row)} is fixed by other conditions: no unknown changes it here"
        partners = " and ".join(name(other) for other in self.others[:LISTED])
        more = len(self.others) - LISTED
        partners += f" and {more} more" * (more > 0)
        if abs(self.gap) > FEASIBILITY:
            return f"{name(self.row)} contradicts {partners} by {abs(self.gap):.3g} of its limit: drop one"
        return f"{name(self.row)} follows from {partners}: drop one"


def dependent_equations(nlp: NLP | LinkedProgram, y: NDArray) -> tuple[Dependence, ...]:
    """Equality rows that depend on earlier ones at y, in order."""
    rows = np.flatnonzero(nlp.row_lower == nlp.row_upper)
    if rows.size == 0 or nlp.row_count * nlp.variable_count > MOST_ENTRIES:
        return ()
    matrix = dense_jacobian(nlp, nlp.jacobian(y))[rows]
    if not np.all(np.isfinite(matrix)):
        return ()
    residual = nlp.rows(y)[rows] - nlp.row_lower[rows]
    independent, dependent = _split(matrix)
    found = []
    for i in dependent:
        earlier = [j for j in independent if j < i]
        others = combined(matrix[earlier], matrix[i], earlier) if matrix[i].any() and earlier else []
        gap = float(residual[i])
        if others:
            weights = np.linalg.lstsq(matrix[others].T, matrix[i], rcond=None)[0]
            gap -= float(weights @ residual[others])
        found.append(Dependence(int(rows[i]), tuple(int(rows[j]) for j in others), gap))
    return tuple(found)


def sentences(nlp: NLP | LinkedProgram, y: NDArray, name: Callable[[int], str]) -> list[str]:
    """The first few dependent equations at y, each as a sentence, and how many there are."""
    found = dependent_equations(nlp, y)
    if not found:
        return []
    count = int(np.sum(nlp.row_lower == nlp.row_upper))
    worst = sorted(found, key=lambda dependence: -abs(dependence.gap))[:LISTED]
    lines = [dependence.sentence(name) for dependence in worst]
    return [f"{len(found)} of {count} equations depend on others; {lines[0]}", *lines[1:]]


def _split(matrix: NDArray) -> tuple[list[int], list[int]]:
    """Numbers of the rows that are independent of earlier ones, and of those that are not."""
    basis = np.empty((min(matrix.shape), matrix.shape[1]))
    independent: list[int] = []
    dependent: list[int] = []
    for i, row in enumerate(matrix):
        length, left, rank = np.linalg.norm(row), row.copy(), len(independent)
        for _ in range(2):  # once is not enough where little is left
            left -= (basis[:rank] @ left) @ basis[:rank]
        size = np.linalg.norm(left)
        if rank == basis.shape[0] or size <= DEPENDENT * max(length, NOT_ZERO):
            dependent.append(i)
        else:
            basis[rank] = left / size
            independent.append(i)
    return independent, dependent
