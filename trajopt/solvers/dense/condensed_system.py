"""The linear system of a step, condensed to the unknowns and the equations, with a Hessian made positive.

With S the diagonal of z / t summed by slack, r = G - s and b = sum of sign mu / t, Newton's method on

    grad f + G' y + C' lambda = 0,    y = -sum of sign z,    z t = mu,    G = s,    c = 0

has ds = G' dx + r, y + dy = S ds - b, and

    [H + G' S G  C'] [dx         ]     [grad f + G' (S r - b)]
    [C           0 ] [lambda_new ]  = -[c                    ].

Where the matrix has other than n positive and as many negative eigenvalues as there are equations, a multiple
of the identity is added to H; Wachter and Biegler, Math. Program. 106 (2006), section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from trajopt.solvers.dense.slack_program import SlackProgram, Slopes
from trajopt.solvers.solver import LEAST_BARRIER
from trajopt.solvers.solver_constants import DEPENDENT, ENDLESS, FEASIBILITY, GROWTH, LITTLE_GROWTH

FASTER = 100.0  # growth of the first shift; later ones grow by 8 and are a third of the last at first


@dataclass
class Shifts:
    """Amounts that were last added to H, and whether equations were found to depend on each other."""

    last: float = 0.0
    dependent: bool = False

    def after(self, shift: float) -> float:
        """The shift that follows one which did not help, 0 at first."""
        if not shift:
            return self.last / LITTLE_GROWTH if self.last else FEASIBILITY
        return shift * (GROWTH if self.last else FASTER)


class CondensedSystem:
    """The factorized matrix; `shift` is what was added to H, None where no shift helped.

    H : lower triangle (n, n); it is overwritten
    S : of the slacks, rows first
    """

    def __init__(
        self,
        program: SlackProgram,
        H: np.ndarray,
        slopes: Slopes,
        S: np.ndarray,
        barrier: float,
        shifts: Shifts,
    ) -> None:
        self.n, self.equations = len(H), len(slopes.C)
        J, bounded, windows = slopes.J, program.bounded, program.windows
        rows = len(J)
        # The lower triangle in rows is the upper one in columns, as BLAS wants it.
        if windows is not None:
            K = (H + windows.gram(J, S[:rows])).T
        elif rows:
            weighted = J * np.sqrt(S[:rows])[:, None]
            K = blas.dsyrk(1.0, weighted.T, beta=1.0, c=H.T, lower=0, overwrite_c=1)
        else:
            K = H.T.copy("F")
        K[bounded, bounded] += S[rows:]
        if self.equations:
            whole = np.zeros((self.n + self.equations,) * 2, order="F")
            whole[: self.n, : self.n], whole[: self.n, self.n :] = K, slopes.C.T
            K = whole
        self._factorize(K, barrier, shifts)

    def _factorize(self, K: np.ndarray, barrier: float, shifts: Shifts) -> None:
        self.shift: float | None = 0.0
        diagonal = np.arange(self.n)
        own, tail = K[diagonal, diagonal], np.arange(self.n, len(K))
        # Subtracted from the zero block where equations depend on each other.
        below = -DEPENDENT * max(barrier, LEAST_BARRIER) ** 0.25
        if shifts.dependent:
            K[tail, tail] = below
        while not self._fits(K):
            if self._singular and not shifts.dependent:
                shifts.dependent = True
            else:
                self.shift = shifts.after(self.shift)
            if self.shift > ENDLESS:
                self.shift = None
                return
            K[diagonal, diagonal] = own + self.shift
            if shifts.dependent:
                K[tail, tail] = below
        if self.shift:
            shifts.last = self.shift

    def _fits(self, K: np.ndarray) -> bool:
        """True if the eigenvalues of the matrix have the signs that they should; keeps its factors."""
        self._singular = False
        if not self.equations:
            self._factors, failed = lapack.dpotrf(K, lower=0, clean=0)
            return failed == 0
        work = int(lapack.dsytrf_lwork(len(K), lower=0)[0])
        factors, pivots, failed = lapack.dsytrf(K, lower=0, lwork=work)
        self._factors, self._pivots = factors, pivots
        single, entries = pivots > 0, np.diagonal(factors)
        negative = np.count_nonzero(single & (entries < 0.0)) + np.count_nonzero(~single) // 2
        self._singular = failed > 0 or negative < self.equations or bool(np.any(single & (entries == 0.0)))
        return not self._singular and negative == self.equations

    def solve(self, of_unknowns: np.ndarray, of_equations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(dx, lambda) for right-hand sides (n,) and (equations,)."""
        if not self.equations:
            return lapack.dpotrs(self._factors, of_unknowns, lower=0)[0], of_equations
        right = np.concatenate([of_unknowns, of_equations])
        found = lapack.dsytrs(self._factors, self._pivots, right, lower=0)[0]
        return found[: self.n], found[self.n :]
