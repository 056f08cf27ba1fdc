"""Forward simulation of a solution's torques by means that the optimizer never used.

The torques found are applied to forward dynamics and integrated by the eighth-order formula of Dormand and
Prince (Hairer, Norsett and Wanner, Solving ODEs I, II.10; the tables are SciPy's). Between neighbouring knots
the motion is smooth, so every span is cut into the same number of steps, doubled until the states that it
ends in no longer change. Times are known beforehand then, and all torques are computed at once.

* restarted: every span starts from the spline's own state, so the gap at its end measures the local
  consistency of torques and motion, whatever the stability of the robot;
* end to end: the state is carried through, as a robot in open loop would. Errors grow by the system's own
  instability; the growth is reported, and beyond `USEFUL_GROWTH` the gap says nothing about the solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.arrays import Array
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

SETTLED = 1e-12  # change of the end states, in rad or rad/s and relative, at which steps are short enough
MOST_STEPS = 64  # per span
USEFUL_GROWTH = 1e4  # end-to-end over restarted error; 1e-12 grown further than this hides real errors


@dataclass(frozen=True)
class Simulation:
    """Largest gaps |simulated - spline| over positions (rad, m) and velocities (rad/s, m/s)."""

    restarted: float
    end_to_end: float

    @property
    def growth(self) -> float:
        return self.end_to_end / max(self.restarted, SETTLED)

    @property
    def end_to_end_is_useful(self) -> bool:
        return bool(np.isfinite(self.end_to_end)) and self.growth <= USEFUL_GROWTH


def simulate(solution: Solution) -> Simulation | None:
    """Both gaps, or None where forward dynamics are not offered or do not know the loads."""
    if solution.problem.loads or getattr(solution.problem.dynamics, "forward_dynamics", None) is None:
        return None
    run = _Run(solution)
    steps, ends = 1, run.restarted(1)
    while steps < MOST_STEPS:
        finer = run.restarted(2 * steps)
        settled = np.abs(finer - ends).max() <= SETTLED * max(1.0, float(np.abs(finer).max()))
        steps, ends = 2 * steps, finer
        if settled:
            break
    return Simulation(float(np.abs(ends - run.ends).max()), run.end_to_end(steps))


class _Run:
    """Integration of one solution, span by span or all spans at once; a state is (q, v)."""

    def __init__(self, solution: Solution) -> None:
        knots = solution.knot_times
        self.solution = solution
        self.dynamics: Any = solution.problem.dynamics
        self.starts, self.lengths = knots[:-1], np.diff(knots)
        self.first = self._states(knots[:-1])
        self.ends = self._states(knots[1:])

    def restarted(self, steps: int) -> Array:
        """The states (2, spans, n) in which spans end that each started from the motion's own state."""
        torques = self._torques(steps)
        state = self.first
        for step in torques:
            state = self._stepped(state, step, (self.lengths / steps)[:, None])
        return state

    def end_to_end(self, steps: int) -> float:
        """Largest gap at any knot of the state that is carried through."""
        torques = self._torques(steps)
        state, worst = self.first[:, :1], 0.0
        for span, length in enumerate(self.lengths):
            for step in torques:
                state = self._stepped(state, step[:, span : span + 1], length / steps)
            if not np.all(np.isfinite(state)):
                return np.inf
            worst = max(worst, float(np.abs(state[:, 0] - self.ends[:, span]).max()))
        return worst

    def _states(self, times: Array) -> Array:
        return np.stack([self.solution.q(times), self.solution.v(times)])

    def _torques(self, steps: int) -> Array:
        """(steps, stages, spans, n) at the times that the formula looks at."""
        from scipy.integrate import DOP853

        along = (np.arange(steps)[:, None] + DOP853.C[None, :]) / steps
        times = self.starts + self.lengths * along[..., None]
        inside = np.nextafter(self.starts + self.lengths, -np.inf)  # the torque may jump at the end
        return self.solution.value(terms.tau, np.minimum(times, inside))

    def _stepped(self, state: Array, torques: Array, length: Any) -> Array:
        from scipy.integrate import DOP853

        rates: list[Array] = []
        with np.errstate(over="ignore", invalid="ignore"):
            for stage, torque in enumerate(torques):
                here = state
                if stage:
                    here = state + length * np.tensordot(DOP853.A[stage, :stage], np.array(rates), 1)
                rates.append(np.stack([here[1], self.dynamics.forward_dynamics(here[0], here[1], torque)]))
            return state + length * np.tensordot(DOP853.B, np.array(rates), 1)
