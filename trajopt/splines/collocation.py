"""Collocation meshes: piecewise polynomials with as many equations per interval as they have coefficients.

A system of equations of order m, x' = f (m = 1) or M q'' = ... (m = 2), is held at `order` points of every
interval. Its curves are polynomials of degree order + m - 1 with continuity m - 1 there, so that every
interval brings `order` coefficients for `order` equations (de Boor and Swartz, SIAM J. Numer. Anal. 10,
1973). At the ends of intervals errors fall with h to the power 2 order for Gauss points, 2 order - 1 for
Radau and 2 order - 2 for Lobatto points (Hairer, Norsett and Wanner, Solving ODEs I, II.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from trajopt.base.arguments import check_choice, check_count
from trajopt.splines.basis import SplineBasis
from trajopt.splines.gauss_rules import RuleName

MOST_POINTS = 12  # of an interval: beyond, more intervals are as accurate and better conditioned


@dataclass(frozen=True)
class Collocation:
    """A collocation scheme: equations hold at `order` points of a quadrature rule in every interval."""

    order: int
    points: RuleName

    def __post_init__(self) -> None:
        check_choice("points", self.points, get_args(RuleName))
        fewest = 2 if self.points == "lobatto" else 1
        check_count(
            f"order, the number of {self.points} points per interval,", self.order, fewest, MOST_POINTS
        )

    def basis(self, breakpoints: np.ndarray, equation_order: int) -> SplineBasis:
        """The basis of curves whose derivative of that order the equations give."""
        continuity = equation_order - 1
        return SplineBasis.with_continuity(breakpoints, self.order + continuity, continuity)
