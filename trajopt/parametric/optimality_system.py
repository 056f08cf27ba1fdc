"""The optimality conditions at a solution, linearised for its active constraints: the matrix

    K = [H  A_W']
        [A_W  0 ]

with the Hessian H of the Lagrangian and the Jacobian A_W of the active constraints. Derivatives of an optimum
and covariances of fitted parameters solve it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import EvaluationError, OptionError
from trajopt.base.tolerances import AGREEMENT
from trajopt.parametric.warm_start import warm_program
from trajopt.solution.solution import Answer
from trajopt.solvers.kkt import least_squares_multipliers
from trajopt.solvers.matrices import dense_jacobian, independent_rows, sparse_hessian
from trajopt.solvers.newton.newton import active_sides
from trajopt.solvers.solver import ROUNDING, WarmStart
from trajopt.transcription.linked_program import AskedStructure, LinkedProgram, placed_parts
from trajopt.transcription.nlp import NLP


def check_converged(solution: Answer) -> None:
    """OptionError for a solution that is no optimum."""
    if not solution.converged:
        raise OptionError(
            f"the solution of '{solution.name}' is not converged: there is no optimum to differentiate"
        )


def system_at(structure: AskedStructure, solution: Answer) -> OptimalitySystem:
    """The system of a solution, with its multipliers, or fitted ones where it has none."""
    program, start = warm_program(structure, structure.values_of(solution.asked), solution)
    return OptimalitySystem(program, start or least_squares_multipliers(program, program.start))


class OpenLimit(NamedTuple):
    """A limit without a multiplier: its row or, beyond the rows, its bound, with side, gradient and gap."""

    place: int
    side: int
    gradient: Array
    gap: float


class OptimalitySystem:
    """The optimality conditions at a point, linearised for its active constraints."""

    def __init__(self, nlp: NLP | LinkedProgram, point: WarmStart) -> None:
        self.nlp, self.point, n = nlp, point, nlp.variable_count
        self.parts = tuple(placed_parts(nlp))
        self.starts = [point.y[place] for _, place, _, _ in self.parts]
        self.scalings = [part.scaling for part, *_ in self.parts]
        rows, low, high = point.row_multipliers, point.lower_multipliers, point.upper_multipliers
        assert rows is not None and low is not None and high is not None
        self.multipliers = np.concatenate([rows, high - low])
        sizes = np.ones(n) if nlp.unknown_sizes is None else nlp.unknown_sizes
        of_one_size = self.multipliers * np.concatenate([np.ones(nlp.row_count), sizes])
        self.side = active_sides(nlp, of_one_size, AGREEMENT)
        self.active = np.flatnonzero(self.side)
        lower, upper = (
            np.concatenate(each) for each in ((nlp.row_lower, nlp.lower), (nlp.row_upper, nlp.upper))
        )
        self.is_inequality = lower < upper
        every = np.concatenate([dense_jacobian(nlp, nlp.jacobian(point.y)), np.eye(n)])
        A = every[self.active]
        of_sizes = A * sizes
        # A limit that holds a polynomial at more nodes than it has coefficients is active too often.
        independent = np.sort(independent_rows(of_sizes, AGREEMENT))
        self.solved, A = self.active[independent], A[independent]
        self.open_limits = self._open_limits(every, of_sizes[independent], sizes)
        H = sparse_hessian(nlp, nlp.hessian(point.y, rows, 1.0)).toarray()
        K = np.block([[H, A.T], [A, np.zeros((len(A), len(A)))]])
        self.factors = _equilibration(H, A)
        self.K = self.factors[:, None] * K * self.factors
        if not np.linalg.cond(self.K) < 1.0 / ROUNDING:
            raise EvaluationError(
                "the optimum is not strict, so that it has no derivative: add a cost that decides between "
                "motions that are equally good"
            )

    def step(self, stationarity: Array, constraints: Array) -> tuple[Array, Array]:
        """dy (n, k), and changes of the multipliers of `solved`, for changes per unit of grad_y L (n, k) and
        of g - limit for all rows and bounds (m + n, k)."""
        right = -np.concatenate([stationarity, constraints[self.solved]])
        factors = self.factors[:, None]
        found = factors * np.linalg.solve(self.K, factors * right)
        return found[: self.nlp.variable_count], found[self.nlp.variable_count :]

    def _open_limits(self, every: Array, held: Array, sizes: Array) -> list[OpenLimit]:
        """Limits nearby without a multiplier, those aside that the active constraints hold anyway.

        every : the Jacobian of all rows and bounds, (m + n, n); held : the active ones, by sizes of unknowns
        """
        nlp = self.nlp
        values = np.concatenate([nlp.rows(self.point.y), self.point.y])
        scale = np.concatenate([np.ones(nlp.row_count), sizes])
        above = np.concatenate([nlp.row_upper, nlp.upper]) - values
        below = values - np.concatenate([nlp.row_lower, nlp.lower])
        gap = np.maximum(np.minimum(above, below), 0.0)
        near = np.flatnonzero((self.side == 0) & (gap < 1e-2 * scale))  # of a limit's scale
        rows = every[near] * sizes
        span = np.linalg.qr(held.T)[0]
        free = np.linalg.norm(rows - (rows @ span) @ span.T, axis=1)
        # Active constraints leave more than 1e-6 of the row free
        moves = free > 1e-6 * np.linalg.norm(rows, axis=1)
        sides = np.where(above < below, 1, -1)
        return [OpenLimit(int(i), int(sides[i]), every[i], float(gap[i])) for i in near[moves]]

    @property
    def freedom(self) -> int:
        """The number of unknowns that the active constraints leave free."""
        return self.nlp.variable_count - self.solved.size


def _equilibration(H: Array, A: Array) -> Array:
    """Factors of the rows and columns of K that balance unknowns of different sizes, seconds and 1/seconds.

    Columns of A are divided by their norms, then its rows by their largest entries, and H by its largest.
    """
    d = _inverse(np.linalg.norm(A, axis=0))
    e = _inverse(np.abs(A * d).max(axis=1, initial=0.0))
    size = np.sqrt(_inverse(np.abs(d[:, None] * H * d).max(initial=0.0)))
    return np.concatenate([d * size, e / size])


def _inverse(sizes: Array) -> Array:
    """1 / sizes, one where they are zero."""
    return 1.0 / np.where(sizes > 0.0, sizes, 1.0)
