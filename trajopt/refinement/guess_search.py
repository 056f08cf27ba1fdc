"""Guesses of a motion for further starts: searched, perturbed or simulated.

How long a motion takes under torque limits depends on where it leads: an arm that folds in on its way has
less inertia to accelerate, and gravity may help or hinder. A curve is the problem's guess plus two waves per
joint, sin(pi s) sin(k pi s), which vanish at both ends with their velocities; its value is the shortest
duration at which no row and no bound is violated. One value takes some evaluations of the rows, where a solve
takes thousands, so hundreds of curves are drawn and the best ones improved by random steps whose size follows
their success, a (1+1) evolution strategy (Rechenberg 1973). It is the same search in every run.

Perturbed guesses are curves moved by smooth random waves or by growing swings, and other durations.

Simulated guesses are states under controls that switch between their bounds at random times.

The line between the ends of a motion says nothing of when controls switch, and which optimum a solve finds
depends on that. States are those of x' = f, or positions and velocities of a robot under torques. Many
motions are simulated at once by the classical Runge-Kutta formula, each for a duration of its own. Of those
that end nearest to the end asked for, the ones that differ most are taken, each pulled onto that end by a
line in time. It is the same search in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AGREEMENT, CONTROL_POINT_ROUNDING
from trajopt.graph.quantities import TIME_LEAVES
from trajopt.problem.driven_states import RobotRates, SystemRates, bounds_of_inputs
from trajopt.problem.phases import Asked, Phases
from trajopt.problem.problem import Problem
from trajopt.problem.systems.system import System
from trajopt.refinement.mesh_levels import own_mesh
from trajopt.solution.answers import program_of
from trajopt.splines.basis import Curve
from trajopt.transcription.linked_program import LinkedProgram, placed_parts
from trajopt.transcription.nlp import NLP

WAVES = 2
SIZES = (0.15, 0.3, 0.5, 0.8)  # of waves, as parts of the largest travel of a joint, in turn
IMPROVED = 8  # of the best curves drawn
LONGEST = 1.6  # times the guessed duration: curves that need more are not looked at
FASTEST = 0.6  # a duration is sought from here to one, as a part of the longest of interest, and once more

ProgressCurve: TypeAlias = Callable[[ArrayLike], np.ndarray]  # of normalised time
Guess: TypeAlias = tuple[ProgressCurve, np.ndarray]  # and durations


@dataclass(frozen=True, eq=False)
class _Shapes:
    """Motions whose joints are those of the guess plus waves, by the sizes of the waves (WAVES, joints)."""

    nlp: NLP
    base: Curve
    joints: int

    def curve(self, sizes: Array) -> ProgressCurve:
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
        # Waves that differ in all joints by less than a quarter of the largest travel are one guess
        if all(np.abs(sizes - other).max() > 0.25 * travel for _, other in different):
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
        for _ in range(5):  # halvings of the interval, on a logarithmic scale
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
    for number in range(200):  # curves drawn at random
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
    for _ in range(60):  # steps, the first as large as the smallest waves
        change = rng.standard_normal(sizes.shape) * step / np.arange(1, WAVES + 1)[:, None]
        trial = sizes + change * (rng.random(sizes.shape[1]) < 0.5)
        shorter = duration(trial, 0.999 * factor)
        if np.isfinite(shorter):
            factor, sizes, step = shorter, trial, 1.3 * step
        else:
            step *= 0.93
    return factor, sizes


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


def perturbed_from(asked: Asked, curves: Iterable[Curve], seed: Sequence[int], spread: float) -> Any:
    """The same from other curves than those of its own guess, one for every part."""
    other = asked.on(*own_mesh(asked))
    for k, (part, curve) in enumerate(zip(other.parts, curves, strict=True)):
        rng = np.random.default_rng([*seed, k] if isinstance(asked, Phases) else [*seed])
        part.guess(*perturbed_guess(curve, part.dynamics.n, rng, spread))
    return other


def perturbed_guess(base: Curve, joints: int, rng: np.random.Generator, spread: float) -> Guess:
    """A curve moved by sines that vanish at both ends, and durations from half to twice as long.

    spread : size of the perturbation, as a part of each joint's travel (or of 1 rad or m where it has none);
        additional curves behind the joints stay as they are: they have other units
    """
    travel = np.concatenate([np.ptp(np.concatenate(group.control_points), axis=0) for group in base.groups])
    size = spread * np.where(travel > CONTROL_POINT_ROUNDING, travel, 1.0)
    size[joints:] = 0.0
    weights = rng.standard_normal((HARMONICS, base.n)) * size / np.arange(1, HARMONICS + 1)[:, None]

    def curve(s: ArrayLike) -> np.ndarray:
        along = np.clip(np.asarray(s, dtype=float), 0.0, 1.0)
        waves = np.sin(np.pi * np.arange(1, HARMONICS + 1) * along[..., None])
        return base.at_progress(along) + waves @ weights

    return curve, base.durations * 2.0 ** rng.uniform(-1.0, 1.0)


def swinging_guess(base: Curve, joints: int, swings: int) -> Guess:
    """q0 + s (q - q0) cos(2 pi k (1 - s)): k swings that grow to the end of a curve, in k times its time.

    A joint whose motor does not hold its load must swing to gain energy, and no small change of a direct
    motion does; additional curves behind the joints stay as they are.
    """

    def curve(s: ArrayLike) -> np.ndarray:
        along = np.clip(np.asarray(s, dtype=float), 0.0, 1.0)
        values, first = base.at_progress(along), base.at_progress(np.zeros_like(along))
        share = (along * np.cos(2.0 * np.pi * swings * (1.0 - along)))[..., None]
        values[..., :joints] = (first + share * (values - first))[..., :joints]
        return values

    return curve, swings * base.durations


SIMULATED_MOTIONS = 128  # motions that are simulated together
NEAREST = SIMULATED_MOTIONS // 4  # of them, those that end nearest to the end asked for, are candidates
SWITCHES = 6  # of a control, at most
SIMULATION_STEPS = 200  # of the simulation
WIDEST = 4.0  # the longest duration drawn over the guessed one, and the guessed one over the shortest


def simulated_guesses(problem: Problem, nlp: NLP, count: int) -> list[Guess]:
    """Up to `count` guesses, the one first that ends nearest to where the guess of `nlp` ends."""
    base, n = nlp.unknowns.curve(nlp.start), problem.dynamics.n
    s = np.linspace(0.0, 1.0, SIMULATION_STEPS + 1)
    orders = (0,) if isinstance(problem.dynamics, System) else (0, 1)
    own = base.derivatives(s * base.duration, orders)
    line = np.concatenate([own[order][:, :n] for order in orders], axis=1)
    rng = np.random.default_rng(0)
    (shortest,), (longest,) = problem.trajectory.duration_bounds
    low, high = np.clip([base.duration / WIDEST, WIDEST * base.duration], shortest, longest)
    durations = np.exp(rng.uniform(np.log(low), np.log(high), SIMULATED_MOTIONS))
    states = _simulated(problem, nlp, line[0], durations, rng)
    sizes = np.abs(line).max(axis=0)
    # A state that is guessed zero throughout counts as the largest of the others
    sizes = np.where(sizes > 0.0, sizes, sizes.max() or 1.0)
    with np.errstate(invalid="ignore"):
        # A motion that leads a state beyond 30 times its size in the guess is left out
        near = np.flatnonzero((np.abs(states) / sizes).max(axis=(0, 2)) <= 30.0)
    gaps = states[-1] - line[-1]
    candidates = near[np.argsort(np.linalg.norm((gaps / sizes)[near], axis=1), kind="stable")[:NEAREST]]
    chosen = candidates[_most_different(states[:, candidates] / sizes, count)]
    return [(_curve(s, (states[:, k] - s[:, None] * gaps[k])[:, :n]), durations[[k]]) for k in chosen]


def _curve(s: Array, states: Array) -> ProgressCurve:
    return lambda at: np.stack(
        [np.interp(np.asarray(at, dtype=float), s, each) for each in states.T], axis=-1
    )


def _simulated(problem: Problem, nlp: NLP, first: Array, durations: Array, rng: np.random.Generator) -> Array:
    """The states of all motions, (SIMULATION_STEPS + 1, SIMULATED_MOTIONS, states).

    Parameters and data are those of the guess of `nlp`.
    """
    f = SystemRates(problem) if isinstance(problem.dynamics, System) else RobotRates(problem)
    controls = {name: _switching(*bounds, rng) for name, bounds in bounds_of_inputs(problem).items()}
    given = f.needed.difference(controls, ("q", "v"))
    at_nodes = nlp.spline_map.leaf_values(nlp.unknowns.elimination.expand(nlp.start), given)
    ones = np.ones((SIMULATED_MOTIONS, 1))

    def rates(x: Array, s: float) -> Array:
        z = {name: control(s) for name, control in controls.items()}
        for name, values in at_nodes.items():
            if name in TIME_LEAVES:
                z[name] = durations[:, None] * (s if name == "t" else 1.0)
            else:
                z[name] = ones * [np.interp(s, nlp.unknowns.nodes.s, each) for each in values.T]
        return f.at(x, z)

    h = durations[:, None] / SIMULATION_STEPS
    states = np.empty((SIMULATION_STEPS + 1, SIMULATED_MOTIONS, first.size))
    states[0] = first
    with np.errstate(all="ignore"):  # motions may diverge
        for step in range(SIMULATION_STEPS):
            x, (s, middle, end) = states[step], (step + np.array([0.0, 0.5, 1.0])) / SIMULATION_STEPS
            k1 = rates(x, s)
            k2 = rates(x + h / 2.0 * k1, middle)
            k3 = rates(x + h / 2.0 * k2, middle)
            k4 = rates(x + h * k3, end)
            states[step + 1] = x + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
    return states


def _switching(lower: Array, upper: Array, rng: np.random.Generator) -> Callable[[float], Array]:
    """A control of all motions, (motions, width): between random times at a bound, or nearest to zero."""
    levels = np.stack([lower, upper, np.clip(0.0, lower, upper)])
    times = np.sort(rng.uniform(size=(SIMULATED_MOTIONS, SWITCHES)), axis=1)
    times[np.arange(SWITCHES) >= rng.integers(0, SWITCHES + 1, (SIMULATED_MOTIONS, 1))] = np.inf
    which = rng.integers(0, len(levels), (SIMULATED_MOTIONS, SWITCHES + 1, lower.size))
    values = levels[which, np.arange(lower.size)]
    return lambda s: values[np.arange(SIMULATED_MOTIONS), (times <= s).sum(axis=1)]


def _most_different(motions: Array, count: int) -> list[int]:
    """The first of motions (times, motions, states), then in turn the one farthest from all chosen."""
    chosen: list[int] = []
    apart = np.full(motions.shape[1], np.inf)
    while len(chosen) < min(count, motions.shape[1]):
        chosen.append(int(np.argmax(apart)))
        apart = np.minimum(apart, np.abs(motions - motions[:, [chosen[-1]]]).max(axis=(0, 2)))
    return chosen
