"""Perturbed guesses: a curve moved by smooth random waves, and other durations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trajopt.splines.curve import Curve

HARMONICS = 4


def perturbed_guess(
    base: Curve, joints: int, rng: np.random.Generator, spread: float
) -> tuple[Callable[[Any], np.ndarray], np.ndarray]:
    """A curve moved by sines that vanish at both ends, and durations from half to twice as long.

    spread : size of the perturbation, as a part of each joint's travel (or of 1 rad or m where it has none);
        additional curves behind the joints stay: their sizes say nothing about joints
    """
    travel = np.concatenate([np.ptp(np.concatenate(group.control_points), axis=0) for group in base.groups])
    size = spread * np.where(travel > 1e-9, travel, 1.0)
    size[joints:] = 0.0
    weights = rng.standard_normal((HARMONICS, base.n)) * size / np.arange(1, HARMONICS + 1)[:, None]

    def curve(s: Any) -> np.ndarray:
        along = np.clip(np.asarray(s, dtype=float), 0.0, 1.0)
        waves = np.sin(np.pi * np.arange(1, HARMONICS + 1) * along[..., None])
        return base.at_progress(along) + waves @ weights

    return curve, base.durations * 2.0 ** rng.uniform(-1.0, 1.0)
