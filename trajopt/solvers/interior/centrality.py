"""Corrections of a direction that bring the products z t of its end nearer to their mean.

Products far below the barrier parameter stop later steps, those far above it take further steps. So the
direction is corrected for a step that is longer than the one it allows: products at its end that lie outside
of [mu / 10, 10 mu] are aimed at the nearer end of this interval, by at most 10 mu. All corrections share the
factorized matrix (Gondzio, Comput. Optim. Appl. 6, 1996, 137).
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.interior.newton_step import Direction, NewtonStep
from trajopt.solvers.solver_constants import SHARE

CORRECTIONS = 2  # of a direction, or of a step
LONGER = 0.3  # by how much the steps are longer for which a direction is corrected
# Of the barrier parameter: products; the most are as much above it. Of `LONGER`: what a correction brings.
LEAST = 0.1
MOST = 1.0 / LEAST


def centred(newton: NewtonStep, target: np.ndarray, barrier: float) -> tuple[np.ndarray, Direction]:
    """Corrected target of z t, and the direction to it.

    target : of z t (gaps,), before
    """
    step = newton.direction(target)
    primal, dual = newton.lengths(step)
    for _ in range(CORRECTIONS):
        if min(primal, dual) >= SHARE:
            break
        point, z = newton.at.point, newton.at.multipliers.z
        products = (point.t + min(1.0, primal + LONGER) * step.dt) * (z + min(1.0, dual + LONGER) * step.dz)
        nearest = np.clip(products, LEAST * barrier, MOST * barrier)
        other = target + np.maximum(nearest - products, -MOST * barrier)
        corrected = newton.direction(other)
        lengths = newton.lengths(corrected)
        if sum(lengths) < primal + dual + LEAST * LONGER:
            break
        target, step, (primal, dual) = other, corrected, lengths
    return target, step
