"""Newton's method from the optimum of an NLP that lacked a few of the rows, else the solver.

The start has no multipliers: least squares over the constraints that it meets or violates give them, and
`active_set_newton` follows the active set as the violated rows are pushed back to their limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trajopt.solvers.capabilities import with_time_limit
from trajopt.solvers.solver import NLP, Callback, Result, Solver, WarmStart
from trajopt.solvers.wrappers.active_set_newton import newton_steps
from trajopt.solvers.wrappers.continuation import continued

__all__ = ["NewtonFirst", "dense_steps_fit"]

# Of the largest entry of the Hessian, added to its diagonal. Flat valleys have a curvature of 1e-9 of it, in
# which the usual shift of 1e-6 makes dozens of short steps.
SHIFT = 1e-12
# Of the tolerance, unless rounding ends the steps before: they end quadratically, and rows of large gradients
# are scaled by as little as 1e-5.
FINER = 1e-3
# The steps are dense: most unknowns, and most entries of the matrix of all constraints, rows and bounds.
LARGEST, MOST_ENTRIES = 1000, 10_000_000


@dataclass(frozen=True)
class NewtonFirst:
    """Newton's method from an optimum that lacked a few rows; where it fails, `solver` from the same start.

    tol : largest scaled KKT error at which the solver's answers count as converged
    time_limit : wall seconds for both, None: no limit for the steps, and for the solver its own
    """

    solver: Solver
    tol: float
    time_limit: float | None = None

    def with_time_limit(self, seconds: float) -> NewtonFirst:
        return replace(self, time_limit=seconds)

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        """Solve `nlp` from `nlp.start` or `start`; `detail` of the result says how many steps it took."""
        limit, solver = self.time_limit, self.solver
        if not dense_steps_fit(nlp):
            return (solver if limit is None else with_time_limit(solver, limit)).solve(nlp, callback, start)
        at = WarmStart(nlp.start if start is None else start.y)
        found, ended = newton_steps(nlp, callback, at, self.tol, limit, SHIFT, FINER)
        if ended:
            return found
        if limit is not None:
            solver = with_time_limit(solver, max(limit - found.seconds, 1e-3))
        return continued(found, solver, nlp, callback, start)


def dense_steps_fit(nlp: NLP) -> bool:
    """Whether an NLP has second derivatives, and is small enough for dense steps with all of its rows."""
    n = nlp.variable_count
    return nlp.has_hessian and n <= LARGEST and n * (n + nlp.row_count) <= MOST_ENTRIES
