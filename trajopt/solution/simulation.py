"""Forward simulation of a solution: its torques are integrated, independently of the optimization.

Forward dynamics under the solution's torques are integrated by the eighth-order Runge-Kutta formula of
Dormand and Prince (Hairer, Norsett and Wanner, Solving ODEs I, II.10; the coefficients are SciPy's). Between
neighbouring knots the motion is smooth, so every span is divided into the same number of steps, doubled until
the states at its end no longer change. All times are then known beforehand and all torques computed at once.

* restarted: every span starts from the spline's own state. The gap at its end measures the local consistency
  of torques and motion, also for an unstable robot;
* end to end: the state is carried through all spans, as in open-loop control. Errors grow with the
  instability of the system; where they grow more than `USEFUL_GROWTH` times the gap says nothing about the
  solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.arrays import Array
from trajopt.graph.block import ForwardDynamics
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

STEP_TOLERANCE = 1e-12  # change of end states, absolute below one and relative above: steps are short enough
MOST_STEPS = 64  # per span
USEFUL_GROWTH = 1e4  # end-to-end over restarted gap; 1e-12 grown further would hide real errors


@dataclass(frozen=True)
class Simulation:
    """Largest gaps |simulated - spline| over positions (rad, m) and velocities (rad/s, m/s)."""

    restarted: float
    end_to_end: float

    @property
    def growth(self) -> float:
        return self.end_to_end / max(self.restarted, STEP_TOLERANCE)

    @property
    def end_to_end_is_useful(self) -> bool:
        return bool(np.isfinite(self.end_to_end)) and self.growth <= USEFUL_GROWTH


def simulate(solution: Solution) -> Simulation | None:
    """Both gaps; None where the dynamics offers no forward dynamics, or the problem has loads on links."""
    dynamics = solution.problem.dynamics
    if solution.problem.loads or not isinstance(dynamics, ForwardDynamics):
        return None
    integration = _Integration(solution, dynamics)
    steps, ends = 1, integration.restarted(1)
    while steps < MOST_STEPS:
        finer = integration.restarted(2 * steps)
        short_enough = np.abs(finer - ends).max() <= STEP_TOLERANCE * max(1.0, float(np.abs(finer).max()))
        steps, ends = 2 * steps, finer
        if short_enough:
            break
    return Simulation(float(np.abs(ends - integration.ends).max()), integration.end_to_end(steps))


class _Integration:
    """Integration of one solution, span by span or all spans at once; states are (2, spans, n): q, v."""

    def __init__(self, solution: Solution, dynamics: ForwardDynamics) -> None:
        knots = solution.knot_times
        self.solution = solution
        self.dynamics = dynamics
        self.starts, self.lengths = knots[:-1], np.diff(knots)
        self.first = self._states(knots[:-1])
        self.ends = self._states(knots[1:])

    def restarted(self, steps: int) -> Array:
        """States at the end of spans that each start from the spline's own state, (2, spans, n)."""
        torques = self._torques(steps)
        state = self.first
        for step in torques:
            state = self._stepped(state, step, (self.lengths / steps)[:, None])
        return state

    def end_to_end(self, steps: int) -> float:
        """Largest gap at any knot of the state that is carried through all spans; inf where it diverges."""
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
        """(steps, stages, spans, n) at the stage times of the formula."""
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
