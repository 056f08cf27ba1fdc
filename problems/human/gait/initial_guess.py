"""Initial guesses of a gait: standing upright, or a measured gait."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import trajopt
from problems.human.body.model import TABLE_HEIGHT, standing, step_symmetry
from problems.human.body.tables import guessed_control_points
from problems.human.gait.step import Step
from trajopt.base.errors import OptionError

Curve = Callable[[np.ndarray], np.ndarray]  # parts of a step (K,) -> postures (K, n)
Start = Callable[[Sequence[str], Step], Curve]


def set_initial_guess(
    problem: trajopt.Problem,
    steps: Sequence[Step],
    start: str | Start,
    parts: Sequence[float] | None = None,
) -> None:
    """Start from "standing", from a "measured" walk, or from a step given; OptionError for another word.

    parts : of the duration that the arcs of one step take, where it has several
    """
    names, step = problem.dynamics.joint_names, steps[0]
    one = (named_start(start) if isinstance(start, str) else start)(names, step)
    signs, order, offset = step_symmetry(names, step.length)

    def curve(s: np.ndarray) -> np.ndarray:
        """Every other step is the mirrored image of the one before, a step further on."""
        along = np.asarray(s, dtype=float) * len(steps)
        number = np.clip(along.astype(int), 0, len(steps) - 1)
        q = one(along - number)
        for k in range(1, len(steps)):
            q = np.where((number >= k)[:, None], signs * q[:, order] + offset, q)
        return q

    if parts is None:
        problem.guess(q=curve, duration=len(steps) * step.duration)
    else:
        ends = np.append(0.0, np.cumsum(parts))
        even = np.linspace(0.0, 1.0, ends.size)
        seconds = step.duration * np.asarray(parts)
        problem.guess(q=lambda s: curve(np.interp(s, even, ends)), duration=seconds)


def standing_guess(names: Sequence[str], step: Step) -> Curve:
    """Standing upright between both feet, carried forward at the speed of the gait."""
    posture, forward = standing(names, step.height), names.index("global_tx")

    def curve(s: np.ndarray) -> np.ndarray:
        q = np.tile(posture, (len(s), 1))
        q[:, forward] = 0.5 * step.sole["ball"] + step.length * (np.asarray(s) - 0.5)
        return q

    return curve


def measured_guess(names: Sequence[str], step: Step) -> Curve:
    """A spline fitted to a measured gait, stretched to the length of the step."""
    from scipy.interpolate import BSpline

    points = np.zeros((6, len(names)))
    for source, values in guessed_control_points().items():
        side = {"A": "_r_", "B": "_l_"}.get(source[-1])
        name = source[:-2].replace("_", side, 1) if side else source.removesuffix("_m")
        if name in names:
            points[:, names.index(name)] = values
    forward, upward = names.index("global_tx"), names.index("global_ty")
    points[:, forward] *= step.length / points[-1, forward]
    points[:, forward] += 0.5 * (step.sole["ball"] - step.length)
    points[:, upward] *= step.height / TABLE_HEIGHT
    return BSpline(np.array([0, 0, 0, 0, 1, 2, 3, 3, 3, 3]) / 3.0, points, 3)


NAMED_STARTS = {"standing": standing_guess, "measured": measured_guess}


def named_start(name: str) -> Start:
    """The start of a name; OptionError for one that is none of NAMED_STARTS."""
    if name not in NAMED_STARTS:
        raise OptionError(f"the gait starts from {name!r}: use 'standing' or 'measured'")
    return NAMED_STARTS[name]
