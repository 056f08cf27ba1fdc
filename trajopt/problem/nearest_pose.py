"""The pose nearest to some conditions: damped least squares from a start, inside the limits of the joints."""

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
    """argmin |residual(q)|^2 subject to q_lower <= q <= q_upper, (n,), of a trust region from the start.

    residual, slope : (m,) and (m, n) of q (n,)
    limits : with `q_lower` and `q_upper`
    held : (n,) which coordinates keep their values of the start
    Out of reach, the nearest pose is returned: compare where it matters. Branch, Coleman and Li, 1999.
    """
    from scipy.optimize import least_squares

    free = np.ones(start.size, dtype=bool) if held is None else ~held
    pose = np.where(free, np.clip(start, limits.q_lower, limits.q_upper), start)
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
