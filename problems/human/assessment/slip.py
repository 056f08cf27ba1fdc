"""Slip of standing feet: they are held at a few times and may drift in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.checks.check_times import dense_samples

if TYPE_CHECKING:
    from trajopt import Solution

STAYS = " stays"  # ends the names of the bands around places, see `contact_constraints.foot_placement`


def slip(solution: Solution) -> dict[str, float]:
    """Standing point -> m, its largest distance from its place on a grid ten times finer than the nodes."""
    dense, found = dense_samples(solution), {}
    for band in solution.problem.constraints:
        point, stays, _ = band.name.partition(STAYS)
        if stays:
            times = dense.times[band.over.mask(dense)]
            place = 0.5 * (band.lower + band.upper)
            held = np.isfinite(place)
            apart = solution.value(band.term, times)[:, held] - place[held]
            farthest = float(np.linalg.norm(apart, axis=1).max())
            found[point] = max(farthest, found.get(point, 0.0))
    return found
