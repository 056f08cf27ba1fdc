"""Slip and sinking of feet between the times at which they are held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

import trajopt
from problems.human.body.tables import contact_points
from trajopt.checks.peaks_between_nodes import dense_samples

if TYPE_CHECKING:
    from trajopt import Solution

STAYS = " stays"  # ends the names of the bands around places, see `contact_constraints.foot_placement`


def slip(solution: Solution) -> dict[str, float]:
    """Standing point -> m, its largest distance from its place on a grid ten times finer than the nodes.

    With imposed contact the place is given, with predicted contact it is where the point stands first.
    """
    found: dict[str, float] = {}
    for point, apart in (*_from_bands(solution), *_from_contacts(solution)):
        found[point] = max(float(np.linalg.norm(apart, axis=1).max()), found.get(point, 0.0))
    return found


def sinking(solution: Solution) -> dict[str, float]:
    """Foot point -> m, how deep it is under the ground at most, on the same grid."""
    times = dense_samples(solution).times
    points = tuple(_contacts(solution)) or tuple(contact_points())
    heights = {point: solution.value(trajopt.position(point), times)[:, 1] for point in points}
    return {point: max(0.0, -float(height.min())) for point, height in heights.items()}


def _contacts(solution: Solution) -> dict:
    return getattr(solution.asked, "contacts", {})


def _from_bands(solution: Solution) -> Iterator[tuple[str, np.ndarray]]:
    dense = dense_samples(solution)
    for band in solution.problem.constraints:
        point, stays, _ = band.name.partition(STAYS)
        if stays:
            times = dense.times[band.over.mask(dense)]
            place = 0.5 * (band.lower + band.upper)
            held = np.isfinite(place)
            yield point, solution.value(band.term, times)[:, held] - place[held]


def _from_contacts(solution: Solution) -> Iterator[tuple[str, np.ndarray]]:
    dense = dense_samples(solution)
    for point, contact in _contacts(solution).items():
        for stance in _stances(contact.arcs):
            places = solution.value(trajopt.position(point), dense.times[np.isin(dense.arc, stance)])
            yield point, places - places[0]


def _stances(arcs: tuple[int, ...]) -> list[np.ndarray]:
    """Arcs that follow each other, together."""
    breaks = 1 + np.flatnonzero(np.diff(arcs) > 1)
    return [stance for stance in np.split(np.array(arcs, dtype=int), breaks) if stance.size]
