"""Slopes by central differences, at one step or, where that is too coarse or too fine, at several.

    D(h) = (y(u + h) - y(u - h)) / 2h = y' + h^2 y''' / 6 + rounding / h

A term like sin(1500 q) needs another step h than q^2. Of a ladder of steps every slope is taken where it
changes least to the next finer step; that change is the estimate of its error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.arrays import Array

STEP = 6e-6  # near the cube root of the rounding error, where smooth functions of size one are best
LADDER = tuple(STEP * 10.0**-k for k in range(5))
UNKNOWN_ERROR = 1e-3  # relative error from which a slope counts as not known

Slopes = dict[Any, Array]


@dataclass(frozen=True)
class DifferenceSlopes:
    """Slopes of several outputs, (columns, ...), with their estimated errors.

    known : whether the error is small; zero stands for slopes that are not known
    """

    value: Slopes
    error: Slopes
    known: dict[Any, Array]

    @staticmethod
    def at(difference: Callable[[float], Slopes], steps: Sequence[float] = (STEP,)) -> DifferenceSlopes:
        """From D(h) at one step, whose error is not estimated, or at the steps of a ladder."""
        several = [difference(step) for step in steps]
        if len(several) == 1:
            zero = {key: np.zeros_like(part) for key, part in several[0].items()}
            return DifferenceSlopes(several[0], zero, {key: part == 0.0 for key, part in zero.items()})
        value, error, known = {}, {}, {}
        for key in several[0]:
            ladder = np.stack([each[key] for each in several])
            change = np.abs(np.diff(ladder, axis=0))
            best = np.nanargmin(np.where(np.isfinite(change), change, np.inf), axis=0)[None]
            slope = np.take_along_axis(ladder, best, 0)[0]
            error[key] = np.take_along_axis(change, best, 0)[0]
            known[key] = error[key] <= UNKNOWN_ERROR * (1.0 + np.abs(slope))
            value[key] = np.where(known[key], slope, 0.0)
        return DifferenceSlopes(value, error, known)
