"""The pose that misses some conditions least: least squares from a start, within the limits of the joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trajopt.base.arrays import Array


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
