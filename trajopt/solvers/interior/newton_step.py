"""The linear system of a step, condensed to one positive definite band of the unknowns with an arrow.

With S the diagonal of z / t summed by slack, infinite for equations, r = G - s and b = sum of sign mu / t,
Newton's method on

    grad f + G' y = 0,    y = -sum of sign z,    z t = mu,    G = s

has ds = G' dx + r, y + dy = S ds - b, and

    [H  G'  ] [dx   ]     [grad f     ]
    [G -1/S ] [y_new] = - [r - b / S  ].

With 1 / S + gamma in place of 1 / S, rows are eliminated with the stiffness D = 1 / (1 / S + gamma), and

    (H + G' D G) dx = -grad f - G' D (r - b / S),    y_new = D (G dx + r - b / S).

Its matrix is positive definite exactly where the one above, with gamma, has n positive eigenvalues and one
negative one for every row (Haynsworth, Linear Algebra Appl. 1, 1968, 73): then Cholesky's factorization
succeeds. Else a multiple of the identity is added to H; Wachter and Biegler, Math. Program. 106 (2006),
section 3.1. The solution is refined to that without gamma.

The directions of one iterate share one factorized matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from trajopt.solvers.interior.band_kernels import (
    COARSE,
    add_products,
    add_transposed,
    edge_inverse,
    forward_columns,
    newton_direction,
    refined_solution,
    times_rows,
)
from trajopt.solvers.interior.slack_program import Iterate, NewtonLayout, SlackProgram
from trajopt.solvers.kkt import divides, kkt_scale, largest, with_rounding_of_sum
from trajopt.solvers.solver import (
    DEPENDENT,
    ENDLESS,
    FEASIBILITY,
    GROWTH,
    LEAST_BARRIER,
    LITTLE_GROWTH,
    ROUNDING,
    SHARE,
    SUM_ROUNDING,
)

SOFTENING = 1e-8  # gamma: no row is stiffer than its inverse
EXACT, MOST_APPLICATIONS = 1e-12, 14  # residual of the refinement, of the right-hand side


@dataclass
class Shifts:
    """Amounts that were last added to H, and whether equations depend on each other, None: not tested yet."""

    last: float = 0.0
    dependent: bool | None = None

    def after(self, shift: float) -> float:
        """The shift that follows one which did not help, 0 at first."""
        if not shift:
            return self.last / LITTLE_GROWTH if self.last else FEASIBILITY
        # The first shift grows a hundredfold; later ones begin at a third of the last and grow by 8
        return shift * (GROWTH if self.last else 100.0)


class CondensedSystem:
    """The factorized matrix; `shift` is what was added to H, None where no shift helped.

    H : entries of the lower triangle, as the layout has them
    values : entries of G, as the layout has them
    flexibility : 1 / S of the rows, 0 of equations
    least : added to the diagonal of H in any case
    """

    def __init__(
        self,
        layout: NewtonLayout,
        H: np.ndarray,
        values: np.ndarray,
        flexibility: np.ndarray,
        shifts: Shifts,
        least: float = 0.0,
    ) -> None:
        self.layout, self.H, self.values = layout, H, values
        self.flexibility = flexibility
        self.D = np.where(layout.is_far, 0.0, 1.0 / (flexibility + SOFTENING))
        flat = np.bincount(layout.H_places, H, minlength=layout.bands.size).astype(float, copy=False)
        flat[layout.far_places] = values[layout.far_entries]
        band, arrow, corner = layout.arrays(flat)
        add_products(*layout.row_arrays, values, layout.near, self.D, band, arrow, corner)
        self.shift = self._factorized(band, arrow, corner, shifts, least)

    def _factorized(
        self, band: np.ndarray, arrow: np.ndarray, corner: np.ndarray, shifts: Shifts, shift: float
    ) -> float | None:
        """The first shift, from this one on, with which the matrix has its factors; None where none helps."""
        first = shift
        while not self._fits(band, arrow, corner, shift + 1e-10):  # the least shift of the diagonal of H
            shift = shifts.after(shift)
            if shift > ENDLESS:
                return None
        if shift > first:
            shifts.last = shift
        return shift

    def _fits(self, band: np.ndarray, arrow: np.ndarray, corner: np.ndarray, shift: float) -> bool:
        """True if the matrix is positive definite; keeps its factors."""
        layout, own = self.layout, band.copy()
        own[:, 0] += shift
        if len(own):
            own, failed = lapack.dpbtrf(own.T, lower=1, overwrite_ab=1)
            own = own.T
            if failed:
                return False
        self._band, self._arrow, self._inverse = own, arrow.copy(), corner
        if not layout.edge:
            return True
        forward_columns(own, self._arrow)
        softened = self.flexibility[layout.far] + SOFTENING
        fits, self._inverse = edge_inverse(self._arrow, corner, layout.bands.arrow, shift, softened)
        return bool(fits)

    @property
    def factors(self) -> tuple[Any, ...]:
        """The matrix and its factors, as `refined_solution` takes them."""
        layout = self.layout
        return (
            *layout.row_arrays,
            self.values,
            layout.far,
            self.D,
            self.flexibility,
            layout.H_rows,
            layout.H_columns,
            self.H,
            self.shift or 0.0,
            self._band,
            self._arrow,
            self._inverse,
        )

    def solve(self, of_unknowns: np.ndarray, of_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(dx, y) for right-hand sides (n,) and (rows,)."""
        dx, y, _, _ = refined_solution(*self.factors, of_unknowns, of_rows, EXACT, MOST_APPLICATIONS)
        return dx, y


def depend_on_each_other(layout: NewtonLayout, values: np.ndarray, first: int) -> bool:
    """True if the rows of G from `first` on are dependent to rounding, by pivots of G G' in their order."""
    begin = layout.starts[first]
    starts = layout.starts[first:] - begin
    data = values[begin:].copy()
    C = sparse.csr_array((data, layout.columns[begin:], starts), shape=(starts.size - 1, layout.n))
    lengths = np.sqrt((C * C).sum(axis=1))
    C = sparse.diags_array(1.0 / np.maximum(lengths, ROUNDING)) @ C
    factor, failed = lapack.dpotrf((C @ C.T).toarray(), lower=1)
    # Of a dependent row rounding leaves 1e-15 of its length squared, of independent ones 5e-14 is left
    return bool(failed) or float((np.diagonal(factor) ** 2).min(initial=1.0)) < 5e-15


class Residuals:
    """Residuals of the optimality conditions at an iterate; `error(mu)` is the largest one, scaled.

    infeasibility : the largest one but for z t = mu, scaled
    """

    def __init__(self, program: SlackProgram, at: Iterate) -> None:
        point, slopes, (y, z) = at
        self.program, self.at = program, at
        self.of_unknowns = program.lagrangian_gradient(slopes, y)
        self.of_slacks = y[: program.slack_count] + program.by_slack(program.sign * z)
        self.primal = point.apart
        self.products = point.t * z
        total = float(z.sum())
        self.dual_scale = kkt_scale(total + float(np.abs(y).sum()), y.size + z.size)
        self.product_scale = kkt_scale(total, z.size)
        self.dual = max(largest(self.of_unknowns), largest(self.of_slacks))
        self.violation = largest(self.primal)
        self.infeasibility = max(self.dual / self.dual_scale, self.violation)

    def error(self, barrier: float = 0.0) -> float:
        return max(self.infeasibility, largest(self.products - barrier) / self.product_scale)

    def undivided_dual(self) -> float:
        """The stationarity by itself, no less than its rounding where multipliers do not divide it."""
        if divides(self.dual_scale):
            return self.dual
        layout, (y, _), sums = self.program.layout, self.at.multipliers, np.zeros(self.of_unknowns.size)
        add_transposed(*layout.row_arrays, np.abs(self.at.slopes.values), np.abs(y), sums)
        return with_rounding_of_sum(self.dual, sums)

    def error_beyond_rounding(self) -> float:
        """The largest residual, scaled, without the distances G - s that the rounding of x explains.

        Unknowns x are known to eps |x|, so that no row is known better than eps |dG/dx| |x|: 1e-7 of a limit
        of jerk on splines of 2000 spans. Distances above `FEASIBILITY` count however fine the spans are.
        """
        layout, point = self.program.layout, self.at.point
        known = times_rows(*layout.row_arrays, np.abs(self.at.slopes.values), np.abs(point.x))
        apart = np.abs(self.primal)
        left = apart[apart > np.minimum(SUM_ROUNDING * known, FEASIBILITY)]
        products = largest(self.products) / self.product_scale
        return max(self.dual / self.dual_scale, largest(left), products)

    @property
    def complementarity(self) -> float:
        """The mean of z t."""
        return float(self.products.mean()) if self.products.size else 0.0

    @property
    def mean_square(self) -> float:
        """The mean squares of the conditions added up."""
        parts = (self.of_unknowns, self.of_slacks, self.primal, self.products)
        return sum(float(part @ part) / part.size for part in parts if part.size)


class Direction(NamedTuple):
    """Changes of x, slacks, gaps and z, and the new multipliers y.

    of_gaps, of_multipliers : the largest shares of gaps and of z that the whole step takes
    """

    dx: np.ndarray
    ds: np.ndarray
    dt: np.ndarray
    dz: np.ndarray
    y: np.ndarray
    of_gaps: float
    of_multipliers: float


class NewtonStep:
    """Newton's directions at an iterate; `shift` as in `CondensedSystem`.

    soft : (rows,) flexibility of rows that need not be met, where feasibility is restored
    curvature : of the objective of a restoration
    """

    def __init__(
        self,
        program: SlackProgram,
        at: Iterate,
        barrier: float,
        shifts: Shifts,
        soft: np.ndarray | None = None,
        curvature: float = 0.0,
    ) -> None:
        self.program, self.at, self._shifts = program, at, shifts
        self._softening = DEPENDENT * max(barrier, LEAST_BARRIER) ** 0.25
        self._soft, self._curvature = soft, curvature
        self._H = program.hessian(at.point.x, at.multipliers, 1.0 if soft is None else 0.0)
        self._of_slacks = 1.0 / program.by_slack(at.multipliers.z / at.point.t)
        self._condense()

    def _condense(self) -> None:
        program, count = self.program, self.program.slack_count
        flexibility = np.full(program.layout.row_count, self._softening if self._shifts.dependent else 0.0)
        flexibility[:count] = self._of_slacks
        if self._soft is not None:
            flexibility += self._soft
        self.system = CondensedSystem(
            program.layout, self._H, self.at.slopes.values, flexibility, self._shifts, self._curvature
        )

    def direction(self, target: np.ndarray | float, apart: np.ndarray | None = None) -> Direction:
        """Towards z t = target, from G - s, that of the iterate if none is given.

        Where equations depend on each other, those of the system are softened before.
        """
        program, (point, slopes, multipliers), shifts = self.program, self.at, self._shifts
        apart = point.apart if apart is None else apart
        aimed = np.full(point.t.size, target) if np.ndim(target) == 0 else target
        gaps = self._of_slacks, program.side, program.sign, point.t, multipliers.z
        dx, ds, dt, dz, y, of_gaps, of_multipliers, _, left = newton_direction(
            self.system.factors, EXACT, MOST_APPLICATIONS, slopes.g, apart, *gaps, aimed
        )
        if left > COARSE and shifts.dependent is None and program.equations.size:
            shifts.dependent = depend_on_each_other(program.layout, slopes.values, program.slack_count)
            if shifts.dependent:
                self._condense()
                return self.direction(target, apart)
        return Direction(dx, ds, dt, dz, y, of_gaps, of_multipliers)

    def lengths(self, step: Direction, share: float = SHARE) -> tuple[float, float]:
        """The longest steps of the gaps and of their multipliers that take no more than a share of them."""
        one, other = (1.0 if most <= share else share / most for most in (step.of_gaps, step.of_multipliers))
        return one, other
