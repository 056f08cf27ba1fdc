"""Perturbed guesses: curves moved by smooth random waves or by growing swings, and other durations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from trajopt.base.tolerances import CONTROL_POINT_ROUNDING
from trajopt.problem.links.phases import Asked, Phases
from trajopt.refinement.mesh_levels import own_mesh
from trajopt.solution.answers import program_of
from trajopt.splines.curve import Curve
from trajopt.transcription.links.linked_program import LinkedProgram, placed_parts
from trajopt.transcription.nlp import NLP

AskedT = TypeVar("AskedT", bound=Asked)

HARMONICS = 4


def perturbed(asked: AskedT, seed: Sequence[int], spread: float) -> AskedT:
    """A copy of a problem or of phases whose guess is moved by smooth random waves.

    The random numbers of a problem are seeded by `seed`, those of phase k by (*seed, k).

    spread : size of the waves, as a part of each coordinate's travel (or of 1 rad or m where it has none)
    """
    return perturbed_from(asked, guessed_curves(program_of(asked)), seed, spread)


def guessed_curves(program: NLP | LinkedProgram) -> list[Curve]:
    """The curves of all parts that a program starts from."""
    return [own.unknowns.curve(program.start[place]) for own, place, *_ in placed_parts(program)]


def perturbed_from(asked: Any, curves: Iterable[Curve], seed: Sequence[int], spread: float) -> Any:
    """The same from other curves than those of its own guess, one for every part."""
    other = asked.on(*own_mesh(asked))
    for k, (part, curve) in enumerate(zip(other.parts, curves, strict=True)):
        rng = np.random.default_rng([*seed, k] if isinstance(asked, Phases) else [*seed])
        part.guess(*perturbed_guess(curve, part.dynamics.n, rng, spread))
    return other


def perturbed_guess(
    base: Curve, joints: int, rng: np.random.Generator, spread: float
) -> tuple[Callable[[Any], np.ndarray], np.ndarray]:
    """A curve moved by sines that vanish at both ends, and durations from half to twice as long.

    spread : size of the perturbation, as a part of each joint's travel (or of 1 rad or m where it has none);
        additional curves behind the joints stay as they are: they have other units
    """
    travel = np.concatenate([np.ptp(np.concatenate(group.control_points), axis=0) for group in base.groups])
    size = spread * np.where(travel > CONTROL_POINT_ROUNDING, travel, 1.0)
    size[joints:] = 0.0
    weights = rng.standard_normal((HARMONICS, base.n)) * size / np.arange(1, HARMONICS + 1)[:, None]

    def curve(s: Any) -> np.ndarray:
        along = np.clip(np.asarray(s, dtype=float), 0.0, 1.0)
        waves = np.sin(np.pi * np.arange(1, HARMONICS + 1) * along[..., None])
        return base.at_progress(along) + waves @ weights

    return curve, base.durations * 2.0 ** rng.uniform(-1.0, 1.0)


def swinging_guess(base: Curve, joints: int, swings: int) -> tuple[Callable[[Any], np.ndarray], np.ndarray]:
    """q0 + s (q - q0) cos(2 pi k (1 - s)): k swings that grow to the end of a curve, in k times its time.

    A joint whose motor does not hold its load must swing to gain energy, and no small change of a direct
    motion does; additional curves behind the joints stay as they are.
    """

    def curve(s: Any) -> np.ndarray:
        along = np.clip(np.asarray(s, dtype=float), 0.0, 1.0)
        values, first = base.at_progress(along), base.at_progress(np.zeros_like(along))
        share = (along * np.cos(2.0 * np.pi * swings * (1.0 - along)))[..., None]
        values[..., :joints] = (first + share * (values - first))[..., :joints]
        return values

    return curve, swings * base.durations
