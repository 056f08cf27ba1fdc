"""One closed loop: a plant that is disturbed, measured with noise, and steered by plans that are stepped.

The controller sees the state of `delay` samples ago and predicts the present one with its own model and the
controls that it has sent since.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from trajopt.parametric.replanning import Step

Vector = np.ndarray


class Plant(Protocol):
    """A plant in MuJoCo, and what its controller knows of it.

    period : s, between two samples
    """

    period: float

    def reset(self, rng: np.random.Generator) -> Vector:
        """Begin anew at a random state; the state that is measured, (n_x,)."""
        ...

    def first_step(self, state: Vector) -> Step:
        """The plan from a state, solved to its end."""
        ...

    def next_step(self, state: Vector, before: Step, elapsed: float) -> Step:
        """The plan of this sample from a state, by one step from the one before."""
        ...

    def move(self, step: Step, rng: np.random.Generator) -> Vector:
        """Apply controls of a plan for one period under random pushes; the state that is then measured."""
        ...

    def predicted(self, state: Vector, step: Step) -> Vector:
        """The state one period later under the controls of a plan, by what the controller knows."""
        ...

    def excess(self) -> float:
        """The largest excess over limits now, in multiples of their size; above 0 counts."""
        ...

    def has_fallen(self) -> bool: ...

    def was_lost(self, delay: int) -> bool:
        """True of a fall that no controls could prevent once a measurement showed the last push."""
        ...


def joint_drives(
    step: Step, inertia: Vector, joints: slice, times: Vector, frequency: float
) -> Callable[[int, Vector, Vector], Vector]:
    """The torques of a plan and a critically damped feedback of the joints to it, between its samples.

        tau* + M (w^2 (q* - q) + 2 w (v* - v))     at times[k], for measured q and v

    Drives measure their own joints without the delay of the planner's state.

    inertia : M (joints, joints);  joints : those with motors, of the robot's coordinates
    frequency : w in rad/s
    """
    planned, torques = np.split(step.x(times), 2, axis=1), step.u(times)[:, joints]
    q_planned, v_planned = (each[:, joints] for each in planned)

    def torque(k: int, q: Vector, v: Vector) -> Vector:
        away = frequency**2 * (q_planned[k] - q) + 2.0 * frequency * (v_planned[k] - v)
        return torques[k] + inertia @ away

    return torque


@dataclass
class Trial:
    """The course of one closed loop.

    lost : it fell, and no controls could have prevented that once a measurement showed the push
    excess : largest, in multiples of the limit's size; ms : processor time of every step
    held : steps at which the plan before went on
    """

    fell: bool = False
    lost: bool = False
    excess: float = 0.0
    held: int = 0
    ms: list[float] = field(default_factory=list)


def closed_loop(plant: Plant, seed: int, samples: int, delay: int) -> Trial:
    """Control a plant for some samples."""
    rng, trial = np.random.default_rng(seed), Trial()
    state = plant.reset(rng)
    step, sent = plant.first_step(state), deque[Step](maxlen=max(delay, 1))
    seen = deque([state] * (delay + 1), maxlen=delay + 1)
    for sample in range(samples):
        began, known = time.process_time(), seen[0]
        for before in list(sent)[: min(delay, sample)]:
            known = plant.predicted(known, before)
        step = plant.next_step(known, step, plant.period * (sample > 0))
        trial.ms.append(1e3 * (time.process_time() - began))
        trial.held += not step.is_new
        state = plant.move(step, rng)
        sent.append(step)
        seen.append(state)
        trial.excess = max(trial.excess, plant.excess())
        if plant.has_fallen():
            trial.lost = plant.was_lost(delay)
            trial.fell = not trial.lost
            break
    return trial
