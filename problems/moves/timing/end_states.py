"""Speeds and accelerations of the joints at both ends of a motion along a path.

v = p' r,    a = p' r' + p'' r^2        with the rate r = s' of the path's coordinate
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import finite_numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, ShapeError
from trajopt.base.tolerances import AGREEMENT, NOT_ZERO

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

Given = tuple[ArrayLike | None, ArrayLike | None]  # of the start and of the end
ASIDE = 1e-6  # of a speed or an acceleration, by which it may miss what the path allows
SMALLEST_RADIUS = 1e-6  # rad or m, on which waypoints are left or reached: rounding bends as much
ENDS = "start", "end"
AHEAD = 1.0, -1.0  # sign of an acceleration along the path where the motion begins, or ends, at no speed


@dataclass(frozen=True, eq=False)
class EndStates:
    """v and a at the start and at the end, (2, n) rad/s or m/s and per second; zero: at rest.

    A row of a that is NaN was not given: the rate along the path stays, r' = 0.
    """

    v: Array
    a: Array

    @property
    def in_motion(self) -> Array:
        """Mask of the ends, (2,), that are not at rest."""
        return np.any((self.v != 0.0) | (np.nan_to_num(self.a) != 0.0), axis=1)

    def directions(self) -> tuple[Array | None, Array | None]:
        """Unit directions of a path that has these ends; None: any."""
        first, last = (self._direction(end) for end in range(2))
        return first, last

    def _direction(self, end: int) -> Array | None:
        if not self.in_motion[end]:
            return None
        along = self.v[end] if np.any(self.v[end]) else AHEAD[end] * self.a[end]
        along = along / np.abs(along).max()  # squares of the smallest speeds would be zero
        return along / np.linalg.norm(along)

    def bends(self) -> Array:
        """Second derivatives, (2, n), of a path with unit slopes there that has these ends.

        Raises InfeasibleBoundsError for ends that turn on a radius of hardly anything.
        """
        a = np.nan_to_num(self.a)
        found = np.zeros_like(a)
        for end, direction in enumerate(self.directions()):
            if direction is None or not np.any(self.v[end]):
                continue
            across, square = a[end] - (a[end] @ direction) * direction, float(self.v[end] @ self.v[end])
            if np.linalg.norm(across) <= AGREEMENT * np.linalg.norm(a[end]):
                continue
            radius = square / float(np.linalg.norm(across))
            if radius < SMALLEST_RADIUS:
                raise InfeasibleBoundsError(
                    f"{ENDS[end]}_acceleration {short_repr(a[end].tolist())} turns {ENDS[end]}_velocity "
                    f"{short_repr(self.v[end].tolist())} on a radius of {radius:.1e} rad or m: give a higher "
                    "speed, or an acceleration along it"
                )
            found[end] = across / square
        return found

    def rates(self, slopes: Array, bends: Array, length: float) -> Array:
        """r and r' at both ends of a path with p' and p'' (2, n) there, (2, 2).

        length : of the path's coordinate from end to end
        Raises InfeasibleBoundsError for a speed or an acceleration that the path does not allow.
        """
        found = np.zeros((2, 2))
        for end in np.flatnonzero(self.in_motion):
            v, a, slope, bend = self.v[end], self.a[end], slopes[end], bends[end]
            square = max(float(slope @ slope), NOT_ZERO)
            rate = float(v @ slope) / square
            if rate < 0.0 or np.linalg.norm(v - rate * slope) > ASIDE * np.linalg.norm(v):
                raise InfeasibleBoundsError(
                    f"{ENDS[end]}_velocity is {short_repr(v.tolist())}, and the path there goes along "
                    f"{short_repr(slope.tolist())}: give a speed along the path, or waypoints"
                )
            if np.any(np.isnan(a)):
                found[end, 0] = rate
                continue
            turning = bend * rate**2
            second = float((a - turning) @ slope) / square
            missed = np.linalg.norm(a - turning - second * slope)
            backwards = rate == 0.0 and AHEAD[end] * second < 0.0
            rounding = AGREEMENT * np.linalg.norm(v) * rate / length  # of a line, which has no turning
            if backwards or missed > ASIDE * (np.linalg.norm(a) + np.linalg.norm(turning)) + rounding:
                raise InfeasibleBoundsError(
                    f"{ENDS[end]}_acceleration is {short_repr(a.tolist())}, and the path with this speed "
                    f"allows {short_repr(turning.tolist())} and any multiple of {short_repr(slope.tolist())} "
                    "in addition, at no speed one into the path: give such an acceleration, leave it out, or "
                    "give waypoints"
                )
            found[end] = rate, second
        return found


def end_states_of(model: KinematicTree, velocities: Given, accelerations: Given) -> EndStates:
    """The states of what users give for the start and the end, None: see `retime`, also for errors."""
    v = [_of_joints(model, given, f"{end}_velocity") for given, end in zip(velocities, ENDS, strict=True)]
    a = [
        _of_joints(model, given, f"{end}_acceleration")
        for given, end in zip(accelerations, ENDS, strict=True)
    ]
    v = [np.zeros(model.n) if each is None else each for each in v]
    for end in range(2):
        if a[end] is None:
            a[end] = np.full(model.n, np.nan if np.any(v[end]) else 0.0)
    return EndStates(np.array(v), np.array(a))


def _of_joints(model: KinematicTree, given: ArrayLike | None, name: str) -> Array | None:
    if given is None:
        return None
    found = finite_numbers(given, name)
    if found.shape != (model.n,):
        raise ShapeError(f"{name} has shape {found.shape}: give ({model.n},), a value per joint")
    return found
