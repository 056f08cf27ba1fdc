"""Search for a pose of a robot that meets conditions on its frames: loops that close, feet on the ground.

It is the pose that misses the conditions least: least squares from a start, within the limits of the joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.graph import ChainRule
from trajopt.graph.quantities import parameter_leaf
from trajopt.problem.problem_graph import graph_of

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem

STARTS, STEP, SEED = 12, 0.7, 37  # further starts of the search, rad or m around the first


class PoseSearch:
    """Terms of a problem as functions of the joints' positions (n,), with exact derivatives.

    conditions : names of the terms that are zero at a pose that is looked for
    tolerances : of their components, the largest size at which they count as zero
    limits : `q_lower` and `q_upper`, between which poses are looked for
    Parameters of the problem have the values of its guess.
    """

    conditions: Sequence[str]
    tolerances: Array
    limits: Any

    def __init__(self, problem: Problem, several: Sequence[Any]) -> None:
        self.n = problem.dynamics.n
        self.graph = graph_of(problem, several)
        self.chain = ChainRule(self.graph, [term.quantity for term in several], [], list(self.graph.leaves))
        self.leaves = {leaf: np.zeros((1, width)) for leaf, width in self.graph.leaves.items()}
        for name, own in problem.parameters.items():
            self.leaves[parameter_leaf(name)] = own.guess[None]

    def misfit(self, q: Array) -> Array:
        """The conditions at a pose, one after the other."""
        values = self.graph.values(self.leaves | {"q": q[None]})
        return np.concatenate([values[name][0] for name in self.conditions])

    def misfit_slope(self, q: Array) -> Array:
        """d misfit / d q."""
        return self.slope(q, np.zeros(self.n), self.conditions, "q")

    def slope(self, q: Array, v: Array, quantities: Sequence[str], by: str) -> Array:
        """The derivatives of terms by "q" or "v", one term after the other."""
        values = self.graph.values(self.leaves | {"q": q[None], "v": v[None]})
        D = self.chain.jacobian(self.graph.partials(values), 1, np.dtype(float))[0]
        return np.concatenate([D[self.chain.rows[name], self.chain.columns[by]] for name in quantities])

    def is_met(self, q: Array) -> bool:
        """True if all conditions hold at a pose."""
        return bool(np.all(np.abs(self.misfit(q)) <= self.tolerances))

    def nearest(self, start: Array, held: Array | None = None) -> Array:
        """The pose with the smallest misfit that least squares find from a start."""
        return nearest_pose(self.misfit, self.misfit_slope, start, self.limits, held, tolerance=1e-15)

    def best(self, start: Array, held: Array | None = None) -> Array:
        """A pose that meets the conditions, from a start or from others around it; else the nearest found."""
        random, best = np.random.default_rng(SEED), self.nearest(start, held)
        free = np.ones(self.n, dtype=bool) if held is None else ~held
        for number in range(STARTS):
            if self.is_met(best):
                break
            width = STEP * (1.0 + number / 4.0)
            other = self.nearest(start + np.where(free, random.uniform(-width, width, self.n), 0.0), held)
            best = min(best, other, key=lambda q: float(np.linalg.norm(self.misfit(q))))
        return best


def nearest_pose(
    residual: Callable[[Array], Array],
    slope: Callable[[Array], Array],
    start: Array,
    limits: Any,
    held: Array | None = None,
    tolerance: float = 1e-10,
    iterations: int = 200,
) -> Array:
    """argmin |residual(q)|^2 subject to q_lower <= q <= q_upper, (n,), found by a trust region from a start.

    residual, slope : (m,) and its derivative (m, n) at q (n,)
    limits : with `q_lower` and `q_upper`
    held : (n,) which coordinates keep their values of the start
    tolerance : relative change of the pose or the sum, or slope of the sum, at which the search ends
    Conditions out of reach are missed: compare the residual. Branch, Coleman and Li, SIAM J. Sci. Comput. 21,
    1999, 1.
    """
    from scipy.optimize import least_squares

    free = limits.q_lower < limits.q_upper  # joints that are locked have one value
    free = free if held is None else free & ~held
    inside = np.clip(start, limits.q_lower, limits.q_upper)
    pose = inside if held is None else np.where(held, start, inside)
    if not free.any():
        return pose

    def whole(own: Array) -> Array:
        q = pose.copy()
        q[free] = own
        return q

    found = least_squares(
        lambda own: residual(whole(own)),
        pose[free],
        jac=lambda own: slope(whole(own))[:, free],  # type: ignore[arg-type]
        bounds=(limits.q_lower[free], limits.q_upper[free]),
        xtol=tolerance,
        ftol=tolerance,
        gtol=tolerance,
        max_nfev=iterations,
    )
    return whole(found.x)
