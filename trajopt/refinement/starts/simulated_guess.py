"""Guesses by simulation: states under controls that switch between their bounds at random times.

The line between the ends of a motion says nothing of when controls switch, and which optimum a solve finds
depends on that. States are those of x' = f, or positions and velocities of a robot under torques. Many
motions are simulated at once by the classical Runge-Kutta formula, each for a duration of its own. Of those
that end nearest to the end asked for, the ones that differ most are taken, each pulled onto that end by a
line in time. It is the same search in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.simulation import RobotRates, SystemRates
from trajopt.graph.quantities import TIME_LEAVES
from trajopt.problem.problem import ProblemData
from trajopt.problem.systems.system import System
from trajopt.refinement.starts.guess_search import Guess
from trajopt.refinement.starts.start_rules import bounds_of_controls
from trajopt.transcription.nlp import NLP

DRAWN = 128  # motions that are simulated together
NEAREST = DRAWN // 4  # of them, those that end nearest to the end asked for, are candidates
SWITCHES = 6  # of a control, at most
STEPS = 200  # of the simulation
FARTHEST = 30.0  # times the largest value of a state in the guess: a motion that leads farther is left out
WIDEST = 4.0  # the longest duration drawn over the guessed one, and the guessed one over the shortest


def simulated_guesses(problem: ProblemData, nlp: NLP, count: int) -> list[Guess]:
    """Up to `count` guesses, the one first that ends nearest to where the guess of `nlp` ends."""
    base, n = nlp.unknowns.curve(nlp.start), problem.dynamics.n
    s = np.linspace(0.0, 1.0, STEPS + 1)
    orders = (0,) if isinstance(problem.dynamics, System) else (0, 1)
    own = base.derivatives(s * base.duration, orders)
    line = np.concatenate([own[order][:, :n] for order in orders], axis=1)
    rng = np.random.default_rng(0)
    durations = _durations(problem, float(base.duration), rng)
    states = _simulated(problem, nlp, line[0], durations, rng)
    sizes = _sizes(line)
    with np.errstate(invalid="ignore"):
        near = np.flatnonzero((np.abs(states) / sizes).max(axis=(0, 2)) <= FARTHEST)
    gaps = states[-1] - line[-1]
    candidates = near[np.argsort(np.linalg.norm((gaps / sizes)[near], axis=1), kind="stable")[:NEAREST]]
    chosen = candidates[_most_different(states[:, candidates] / sizes, count)]
    return [(_curve(s, (states[:, k] - s[:, None] * gaps[k])[:, :n]), durations[[k]]) for k in chosen]


def _sizes(line: Array) -> Array:
    """The size of every state by its values (times, states) in the guess, (states,).

    A state that is guessed zero throughout has none: it counts as the largest of the others.
    """
    sizes = np.abs(line).max(axis=0)
    return np.where(sizes > 0.0, sizes, sizes.max() or 1.0)


def _curve(s: Array, states: Array) -> Callable[[Any], np.ndarray]:
    return lambda at: np.stack([np.interp(at, s, each) for each in states.T], axis=-1)


def _durations(problem: ProblemData, guessed: float, rng: np.random.Generator) -> Array:
    """The durations of all motions: within their bounds, and at most `WIDEST` times off the guessed one."""
    (shortest,), (longest,) = problem.trajectory.duration_bounds
    low, high = np.clip([guessed / WIDEST, WIDEST * guessed], shortest, longest)
    return np.exp(rng.uniform(np.log(low), np.log(high), DRAWN))


def _simulated(
    problem: ProblemData, nlp: NLP, first: Array, durations: Array, rng: np.random.Generator
) -> Array:
    """The states of all motions, (STEPS + 1, DRAWN, states).

    Parameters and data are those of the guess of `nlp`.
    """
    f = SystemRates(problem) if isinstance(problem.dynamics, System) else RobotRates(problem)
    controls = {name: _switching(*bounds, rng) for name, bounds in bounds_of_controls(problem).items()}
    given = f.needed.difference(controls, ("q", "v"))
    at_nodes = nlp.spline_map.leaf_values(nlp.unknowns.elimination.expand(nlp.start), given)
    ones = np.ones((DRAWN, 1))

    def rates(x: Array, s: float) -> Array:
        z = {name: control(s) for name, control in controls.items()}
        for name, values in at_nodes.items():
            if name in TIME_LEAVES:
                z[name] = durations[:, None] * (s if name == "t" else 1.0)
            else:
                z[name] = ones * [np.interp(s, nlp.unknowns.nodes.s, each) for each in values.T]
        return f.at(x, z)

    h = durations[:, None] / STEPS
    states = np.empty((STEPS + 1, DRAWN, first.size))
    states[0] = first
    with np.errstate(all="ignore"):  # motions may diverge
        for step in range(STEPS):
            x, (s, middle, end) = states[step], (step + np.array([0.0, 0.5, 1.0])) / STEPS
            k1 = rates(x, s)
            k2 = rates(x + h / 2.0 * k1, middle)
            k3 = rates(x + h / 2.0 * k2, middle)
            k4 = rates(x + h * k3, end)
            states[step + 1] = x + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
    return states


def _switching(lower: Array, upper: Array, rng: np.random.Generator) -> Callable[[float], Array]:
    """A control of all motions, (DRAWN, width): between random times at a bound, or nearest to zero."""
    levels = np.stack([lower, upper, np.clip(0.0, lower, upper)])
    times = np.sort(rng.uniform(size=(DRAWN, SWITCHES)), axis=1)
    times[np.arange(SWITCHES) >= rng.integers(0, SWITCHES + 1, (DRAWN, 1))] = np.inf
    which = rng.integers(0, len(levels), (DRAWN, SWITCHES + 1, lower.size))
    values = levels[which, np.arange(lower.size)]
    return lambda s: values[np.arange(DRAWN), (times <= s).sum(axis=1)]


def _most_different(motions: Array, count: int) -> list[int]:
    """The first of motions (times, motions, states), then in turn the one farthest from all chosen."""
    chosen: list[int] = []
    apart = np.full(motions.shape[1], np.inf)
    while len(chosen) < min(count, motions.shape[1]):
        chosen.append(int(np.argmax(apart)))
        apart = np.minimum(apart, np.abs(motions - motions[:, [chosen[-1]]]).max(axis=(0, 2)))
    return chosen
