"""Search for guesses: smooth curves between the same ends on which every limit holds in a short time.

How long a motion takes under torque limits depends on where it leads: an arm that folds in on its way has
less inertia to accelerate, and gravity may help or hinder. A curve is the problem's guess plus two waves per
joint, sin(pi s) sin(k pi s), which vanish at both ends with their velocities; its value is the shortest
duration at which no row and no bound is violated. One value takes some evaluations of the rows, where a solve
takes thousands, so hundreds of curves are drawn and the best ones improved by random steps whose size follows
their success, a (1+1) evolution strategy (Rechenberg 1973). It is the same search in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AGREEMENT, CONTROL_POINT_ROUNDING
from trajopt.splines.curve import Curve
from trajopt.transcription.nlp import NLP

WAVES = 2
DRAWN = 200  # curves that are drawn at random
SIZES = (0.15, 0.3, 0.5, 0.8)  # of waves, as parts of the largest travel of a joint, in turn
IMPROVED = 8  # of the best curves drawn
STEPS = 60  # that each of them takes, the first as large as the smallest waves
LONGER, SHORTER = 1.3, 0.93  # factors of the step after a success and after a failure
LONGEST = 1.6  # times the guessed duration: curves that need more are not looked at
FASTEST = 0.6  # a duration is sought from here to one, as a part of the longest of interest, and once more
HALVINGS = 5  # of that interval, on a logarithmic scale
APART = 0.25  # of the largest travel: waves that differ by less in all joints are one and the same guess

Guess = tuple[Callable[[Any], np.ndarray], np.ndarray]  # a curve by normalised time, and durations


@dataclass(frozen=True, eq=False)
class _Shapes:
    """Motions whose joints are those of the guess plus waves, by the sizes of the waves (WAVES, joints)."""

    nlp: NLP
    base: Curve
    joints: int

    def curve(self, sizes: Array) -> Callable[[Any], np.ndarray]:
        padded = np.zeros((WAVES, self.base.n))
        padded[:, : self.joints] = sizes
        return lambda s: self.base.at_progress(s) + _waves(np.asarray(s, dtype=float)) @ padded

    def unknowns(self, sizes: Array, waves: list[Array]) -> Array:
        """The unknowns of the motion at the guessed durations; waves are control points (count, WAVES)."""
        points = [own.copy() for own in self.base.control_points]
        for own, wave in zip(points, waves, strict=True):
            own[:, : self.joints] += wave @ sizes
        motion = replace(self.base, control_points=tuple(points))
        return self.nlp.unknowns.of(motion, self.nlp.unknowns.parameters(self.nlp.start))

    @property
    def wave_points(self) -> list[Array]:
        """The control points of the waves on every arc, (count, WAVES)."""
        arcs = len(self.base.bases)
        return [
            basis.interpolate(_waves((index + basis.greville) / arcs))
            for index, basis in enumerate(self.base.bases)
        ]


def searched_guesses(nlp: NLP, joints: int, count: int) -> list[Guess]:
    """Up to `count` different guesses with short durations, the shortest first.

    nlp : the program of the problem, at its own guess
    joints : number of joints, which come before additional curves and are what is searched over
    None is found where equations over the path leave no guess without a violation.
    """
    base = nlp.unknowns.curve(nlp.start)
    shapes = _Shapes(nlp, base, joints)
    travel = float(np.ptp(np.concatenate(base.control_points)[:, :joints], axis=0).max())
    duration = _duration_of(shapes)
    if nlp.unknowns.durations.size == 0 or travel <= CONTROL_POINT_ROUNDING:
        return []
    without_waves = duration(None, LONGEST)
    if not np.isfinite(without_waves):
        return []
    rng = np.random.default_rng(0)
    drawn = _drawn(duration, without_waves, joints, travel, rng)
    improved = sorted((_improved(*each, duration, travel, rng) for each in drawn), key=lambda each: each[0])
    different: list[tuple[float, Array]] = []
    for factor, sizes in improved:
        if all(np.abs(sizes - other).max() > APART * travel for _, other in different):
            different.append((factor, sizes))
    return [(shapes.curve(sizes), factor * base.durations) for factor, sizes in different[:count]]


def _waves(s: Array) -> Array:
    """sin(pi s) sin(k pi s) for k = 1, 2, ..., (..., WAVES)."""
    return np.sin(np.pi * s)[..., None] * np.sin(np.pi * np.arange(1, WAVES + 1) * s[..., None])


def _duration_of(shapes: _Shapes) -> Callable[[Array | None, float], float]:
    """(sizes of waves, longest of interest) -> shortest duration without a violation, infinity where none is.

    Durations are multiples of the guessed ones.
    """
    nlp, places, waves = shapes.nlp, shapes.nlp.unknowns.durations, shapes.wave_points
    guessed, no_waves = nlp.start[places], np.zeros((WAVES, shapes.joints))

    def duration(sizes: Array | None, longest: float) -> float:
        y = shapes.unknowns(no_waves if sizes is None else sizes, waves)

        def violated(factor: float) -> bool:
            y[places] = factor * guessed
            worst = max(nlp.bounds.violation(y), nlp.row_bounds.violation(nlp.rows(y)))
            return not worst <= AGREEMENT  # NaN is a violation

        if violated(longest):
            return np.inf
        good, bad = longest, FASTEST * longest
        if not violated(bad):
            good, bad = bad, FASTEST * bad
        for _ in range(HALVINGS):
            middle = float(np.sqrt(bad * good))
            good, bad = (good, middle) if violated(middle) else (middle, bad)
        return good

    return duration


def _drawn(
    duration: Callable[[Array | None, float], float],
    without_waves: float,
    joints: int,
    travel: float,
    rng: np.random.Generator,
) -> list[tuple[float, Array]]:
    """The best of many random waves, with their durations; every second one moves half of the joints.

    without_waves : shortest duration of the guess itself, which is one of them
    """
    found: list[tuple[float, Array]] = [(without_waves, np.zeros((WAVES, joints)))]
    for number in range(DRAWN):
        sizes = rng.standard_normal((WAVES, joints)) * SIZES[number % len(SIZES)] * travel
        moved = rng.random(joints) < 0.5
        sizes /= np.arange(1, WAVES + 1)[:, None]
        if number % 2:
            sizes *= moved
        longest = LONGEST if len(found) < 2 * IMPROVED else found[2 * IMPROVED - 1][0]
        factor = duration(sizes, longest)
        if np.isfinite(factor):
            found = sorted([*found, (factor, sizes)], key=lambda each: each[0])[: 2 * IMPROVED]
    return found[:IMPROVED]


def _improved(
    factor: float,
    sizes: Array,
    duration: Callable[[Array | None, float], float],
    travel: float,
    rng: np.random.Generator,
) -> tuple[float, Array]:
    """Waves after random steps, each taken where it shortens the duration."""
    step = SIZES[0] * travel
    for _ in range(STEPS):
        change = rng.standard_normal(sizes.shape) * step / np.arange(1, WAVES + 1)[:, None]
        trial = sizes + change * (rng.random(sizes.shape[1]) < 0.5)
        shorter = duration(trial, 0.999 * factor)
        if np.isfinite(shorter):
            factor, sizes, step = shorter, trial, LONGER * step
        else:
            step *= SHORTER
    return factor, sizes
