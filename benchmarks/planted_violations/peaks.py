"""Limits on bumps, steps, holes, poles and waves that are planted on a motion, and what is true of them.

Every function states one limit under the name "planted" and returns its violation as a function of time, by
NumPy alone. Some hold, some are violated by far, some by a little, some only in a place that is hard to find:
narrower than the steps of any grid, at a knot, in a window shorter than a span, where nothing is a number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import trajopt
from benchmarks.planted_violations import motions

Rng = np.random.Generator
TOLERANCE = 1e-6  # of the certificates
OF_RANGE = 1e-2  # of the range of a limit: the most that its tolerance may be


@dataclass(frozen=True)
class Planted:
    """A statement on a motion, and its truth.

    violation : of the worst component at times (K,), in the statement's unit; NaN and infinity violate it
    first, last : seconds, where it is stated; equal where one value says all
    near : (time, half-width) pairs in seconds, around which truth is looked at more finely
    most : the largest tolerance that would be honest, in the statement's unit
    scale : the largest that would be honest, in the statement's unit
    name : of the lines of the certificate
    lasts : seconds, of one value that says all: the shortest feature of what is integrated; infinite if none
    """

    solution: trajopt.Solution
    violation: Callable[[np.ndarray], np.ndarray]
    first: float
    last: float
    near: tuple[tuple[float, float], ...] = ()
    most: float = TOLERANCE
    scale: float = np.inf
    name: str = "planted"
    lasts: float = np.inf


def peak(rng: Rng) -> Planted:
    """A limit on a bump over q that is exceeded, or not, where the path crosses it."""
    return _bump(motions.slider(rng), rng)


def peak_in_a_window(rng: Rng) -> Planted:
    """The same in a window, often shorter than a span, the bump inside it or just outside."""
    solution = motions.slider(rng)
    length = float(10.0 ** rng.uniform(-4.0, -0.7))
    first = float(rng.uniform(0.0, 1.0 - length))
    along = first + length * float(rng.choice([0.5, 0.0, 1.0, -0.2, 1.2, rng.uniform()]))
    return _bump(solution, rng, (first, first + length), float(np.clip(along, 0.0, 1.0)))


def peak_at_a_knot(rng: Rng) -> Planted:
    """A bump whose top is at a knot, or so close to one that both sides of it look alike."""
    solution = motions.rough_slider(rng) if rng.integers(2) else motions.arcs(rng)
    knot = float(rng.choice(solution.knot_times))
    beside = float(rng.choice([0.0, 1e-13, 1e-11, 1e-8, 1e-5, 1e-3])) * solution.duration
    at = float(np.clip(knot + beside * rng.choice([-1.0, 1.0]), 0.0, solution.duration))
    return _bump(solution, rng, along=at / solution.duration)


def peak_on_an_arc(rng: Rng) -> Planted:
    """A bump on one arc of several, or on a part of it."""
    solution = motions.arcs(rng)
    starts = solution.curve.starts
    arc = int(rng.integers(len(starts) - 1))
    length = float(starts[arc + 1] - starts[arc])
    s = sorted(map(float, rng.uniform(0.0, 1.0, 2)))
    part = [("whole", 0.0, 1.0), ("inside", 0.0, 1.0), ((s[0], s[1]), s[0], s[1])][int(rng.integers(3))]
    first, last = (float(starts[arc]) + length * share for share in part[1:])
    along = float(rng.uniform(first - 0.1 * length, last + 0.1 * length)) / solution.duration
    over = trajopt.ArcNodes(arc, part[0])  # type: ignore[arg-type]
    return _bump(solution, rng, over, float(np.clip(along, 0.0, 1.0)), (first, last))


def peak_in_time(rng: Rng) -> Planted:
    """A bump over time itself, between two nodes."""
    solution = motions.arm(rng)
    width = 10.0 ** rng.uniform(-6.0, -1.5)
    at, height = float(rng.uniform(0.0, 1.0)), _height(rng)

    @trajopt.term
    def planted_peak(node):
        return [height * np.exp(-(((node.t - at) / width) ** 2)), 0.5 + 0.0 * node.t]

    solution.problem.subject_to(planted_peak, upper=1.0, name="planted")
    return Planted(
        solution, lambda t: height * np.exp(-(((t - at) / width) ** 2)) - 1.0, 0.0, 1.0, ((at, width),)
    )


def step(rng: Rng) -> Planted:
    """A term that steps above its limit in one place, an if_else."""
    import casadi

    solution = motions.slider(rng)
    middle, slow = middle_of(solution, float(rng.uniform(0.05, 0.95)))
    width, height = 10.0 ** rng.uniform(-6.0, -1.0), float(rng.choice([0.5, 1.0, 1.0 + 1e-3, 2.0]))

    @trajopt.term
    def planted_step(node):
        return casadi.if_else(casadi.fabs(node.q - middle) < width, height, 0.5)

    solution.problem.subject_to(planted_step, upper=1.0, name="planted")

    def violation(t: np.ndarray) -> np.ndarray:
        return np.where(np.abs(solution.q(t)[:, 0] - middle) < width, height, 0.5) - 1.0

    return Planted(solution, violation, 0.0, solution.duration, ((slow[0], width / slow[1]),))


def hole(rng: Rng) -> Planted:
    """A root that is no number where the path crosses a short interval."""
    solution = motions.slider(rng)
    middle, slow = middle_of(solution, float(rng.uniform(0.05, 0.95)))
    width = float(rng.choice([0.0, 10.0 ** rng.uniform(-6.0, -1.0)]))

    @trajopt.term
    def planted_root(node):
        return ((node.q - middle) ** 2 - width**2) ** 0.5 if width else ((node.q - middle) ** 2) ** 0.5

    solution.problem.subject_to(planted_root, lower=-1.0, name="planted")

    def violation(t: np.ndarray) -> np.ndarray:
        return -1.0 - np.sqrt((solution.q(t)[:, 0] - middle) ** 2 - width**2)

    return Planted(solution, violation, 0.0, solution.duration, ((slow[0], width / slow[1]),))


def sharp_pole(rng: Rng) -> Planted:
    """A pole beside the path or on it: values rise to anything between two samples."""
    solution = motions.slider(rng)
    middle, slow = middle_of(solution, float(rng.uniform(0.05, 0.95)))
    width = 10.0 ** rng.uniform(-5.0, -1.0)
    bound = float(rng.choice([0.5, 0.999, 1.001, 2.0])) / width**2

    @trajopt.term
    def planted_pole(node):
        return 1.0 / ((node.q - middle) ** 2 + width**2)

    solution.problem.subject_to(planted_pole, upper=bound, name="planted")
    return Planted(
        solution,
        lambda t: 1.0 / ((solution.q(t)[:, 0] - middle) ** 2 + width**2) - bound,
        0.0,
        solution.duration,
        ((slow[0], width / slow[1]),),
    )


def oscillation(rng: Rng) -> Planted:
    """A sine over q whose period is far below the steps of samples, or near a multiple of them."""
    solution = motions.scaled_slider(rng) if rng.integers(2) else motions.slider(rng)
    length = float(np.abs(solution.q(solution.duration)[0]))
    omega, bound = 10.0 ** rng.uniform(0.0, 6.0) / length, float(rng.choice([0.5, 0.999, 1.001]))

    @trajopt.term
    def planted_wave(node):
        return np.sin(omega * node.q)

    solution.problem.subject_to(planted_wave, upper=bound, name="planted")
    return Planted(solution, lambda t: np.sin(omega * solution.q(t)[:, 0]) - bound, 0.0, solution.duration)


def any_scale(rng: Rng) -> Planted:
    """A bump whose bound is anything from 1e-9 to 1e12, or zero, the other side missing or far away."""
    solution = motions.scaled_slider(rng)
    along = float(rng.uniform(0.1, 0.9))
    middle, slow = middle_of(solution, along)
    length = float(np.abs(solution.q(solution.duration)[0]))
    width, size = length * 10.0 ** rng.uniform(-2.0, -0.5), 10.0 ** rng.uniform(-9.0, 12.0)
    height, shift = float(rng.choice([0.5, 0.99, 1.01, 2.0])) * size, float(rng.integers(2)) * size
    far = [None, -1e12 * size, -1e3 * size, -size][int(rng.integers(4))]

    def values(q, exp):
        return height * exp(-(((q - middle) / width) ** 2)) - shift

    @trajopt.term
    def planted_peak(node):
        return values(node.q, np.exp)

    bound = size - shift
    solution.problem.subject_to(planted_peak, lower=far, upper=bound, name="planted")
    slope = height * np.sqrt(2.0 / np.e) * length / width  # what q counts for where the bound is zero
    return Planted(
        solution,
        lambda t: values(solution.q(t)[:, 0], np.exp) - bound,
        0.0,
        solution.duration,
        ((slow[0], width / slow[1]),),
        min(TOLERANCE, OF_RANGE * max(2.0 * size, slope)),
        max(4.0 * size, slope),
    )


def _height(rng: Rng) -> float:
    """Random height of a bump under a limit of one."""
    return float(rng.choice([0.5, 0.999, 1.0 + 1e-9, 1.001, 2.0]))


def middle_of(solution: trajopt.Solution, along: float) -> tuple[float, tuple[float, float]]:
    """The first joint's position at a part of the motion, and that time with the speed there."""
    time = along * solution.duration
    speed = abs(float(solution.v(time)[0]))
    fastest = float(np.abs(solution.v(np.linspace(0.0, solution.duration, 101))).max())
    return float(solution.q(time)[0]), (time, max(speed, 1e-3 * fastest))


def _bump(
    solution: trajopt.Solution,
    rng: Rng,
    over: object = "path",
    along: float | None = None,
    when: tuple[float, float] | None = None,
) -> Planted:
    """A limit of one on a bump over q, at a random place or at a part `along` of the motion."""
    along = float(rng.uniform(0.05, 0.95)) if along is None else along
    middle, (at, speed) = middle_of(solution, along)
    width, height = 10.0 ** rng.uniform(-5.0, -1.0), _height(rng)
    T = solution.duration
    if when is None:
        when = (over[0] * T, over[1] * T) if isinstance(over, tuple) else (0.0, T)

    def bump(q, exp):
        return height * exp(-(((q - middle) / width) ** 2))

    @trajopt.term
    def planted_peak(node):
        return bump(node.q, np.exp)

    solution.problem.subject_to(planted_peak, upper=1.0, over=over, name="planted")  # type: ignore[arg-type]
    return Planted(solution, lambda t: bump(solution.q(t)[:, 0], np.exp) - 1.0, *when, ((at, width / speed),))
