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

Torques by which path equations are missed between nodes may be left out: only then the gaps say what a robot
without those motors would do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.arrays import Array
from trajopt.graph.block import ForwardDynamics, LoadedForwardDynamics
from trajopt.solution.check_times import SIDE
from trajopt.solution.equations.torque_equations import torque_equations, torque_residual
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

STEP_TOLERANCE = 1e-12  # change of end states, absolute below one and relative above: steps are short enough
MOST_STEPS = 64  # per span
USEFUL_GROWTH = 1e4  # end-to-end over restarted gap; 1e-12 grown further would hide real errors


@dataclass(frozen=True)
class Simulation:
    """Largest gaps |simulated - spline| over positions (rad, m) and velocities (rad/s, m/s).

    Infinite where the motion diverges, NaN where the torques are no numbers.
    """

    restarted: float
    end_to_end: float

    @property
    def growth(self) -> float:
        return self.end_to_end / max(self.restarted, STEP_TOLERANCE)

    @property
    def end_to_end_is_useful(self) -> bool:
        return bool(np.isfinite(self.end_to_end)) and self.growth <= USEFUL_GROWTH


def simulate(solution: Solution, without_residual: bool = False) -> Simulation | None:
    """Both gaps; None where the dynamics offers no forward dynamics, or none under the problem's loads.

    without_residual : integrate the torques without those by which equations between the nodes are missed, a
        torque at a joint without a motor for instance: what a robot really does
    Loads on links act as the wrenches of the solution, functions of time.
    """
    dynamics = solution.problem.dynamics
    able = LoadedForwardDynamics if solution.problem.loads else ForwardDynamics
    if not isinstance(dynamics, able):
        return None
    integration = _Integration(solution, without_residual)
    steps, ends = 1, integration.restarted(1)
    while steps < MOST_STEPS:
        finer = integration.restarted(2 * steps)
        with np.errstate(invalid="ignore"):  # steps far too long overflow
            change, size = np.abs(finer - ends).max(), float(np.abs(finer).max())
        short_enough = change <= STEP_TOLERANCE * max(1.0, size)
        steps, ends = 2 * steps, finer
        if short_enough:
            break
    with np.errstate(invalid="ignore"):
        gap = float(np.abs(ends - integration.ends).max())
    diverged = np.isnan(gap) and integration.finite
    return Simulation(np.inf if diverged else gap, integration.end_to_end(steps))


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Torques (..., n) and, link by link, wrenches (..., 6) at the stage times of the formula."""

    torques: Array
    loads: dict[str, Array]

    def __getitem__(self, place: Any) -> _Inputs:
        return _Inputs(self.torques[place], {link: wrench[place] for link, wrench in self.loads.items()})

    def __len__(self) -> int:
        return len(self.torques)


class _Integration:
    """Integration of one solution, span by span or all spans at once; states are (2, spans, n): q, v."""

    def __init__(self, solution: Solution, without_residual: bool) -> None:
        knots = solution.knot_times
        self.solution = solution
        self.dynamics: Any = solution.problem.dynamics
        self.removed = torque_equations(solution.problem) if without_residual else []
        self.starts, self.lengths = knots[:-1], np.diff(knots)
        self.first = self._states(knots[:-1])
        self.ends = self._states(knots[1:])
        self.finite = True  # whether all torques so far were

    def restarted(self, steps: int) -> Array:
        """States at the end of spans that each start from the spline's own state, (2, spans, n)."""
        state, inputs = self.first, self._inputs(steps)
        for step in range(steps):
            state = self._stepped(state, inputs[step], (self.lengths / steps)[:, None])
        return state

    def end_to_end(self, steps: int) -> float:
        """Largest gap at any knot of the state that is carried through all spans; inf where it diverges."""
        inputs = self._inputs(steps)
        state, worst = self.first[:, :1], 0.0
        for span, length in enumerate(self.lengths):
            for step in range(steps):
                state = self._stepped(state, inputs[step, :, span : span + 1], length / steps)
            if not np.all(np.isfinite(state)):
                return np.inf
            worst = max(worst, float(np.abs(state[:, 0] - self.ends[:, span]).max()))
        return worst

    def _states(self, times: Array) -> Array:
        return np.stack([self.solution.q(times), self.solution.v(times)])

    def _inputs(self, steps: int) -> _Inputs:
        """(steps, stages, spans, ...) at the stage times; at knots, where they may jump, those inside."""
        from scipy.integrate import DOP853

        along = (np.arange(steps)[:, None] + DOP853.C[None, :]) / steps
        side = SIDE * self.solution.duration
        times = np.clip(
            self.starts + self.lengths * along[..., None],
            self.starts + side,
            self.starts + self.lengths - side,
        )
        loads = self.solution.problem.loads
        values = self.solution.values([terms.tau, *loads.values()], times)
        torques = values[terms.tau.quantity]
        if self.removed:
            extra = torque_residual(self.solution, self.removed, times.ravel())
            torques = torques - extra.reshape(torques.shape)
        self.finite = self.finite and bool(np.all(np.isfinite(torques)))
        return _Inputs(torques, {link: values[term.quantity] for link, term in loads.items()})

    def _acceleration(self, state: Array, inputs: _Inputs) -> Array:
        if inputs.loads:
            return self.dynamics.loaded_forward_dynamics(state[0], state[1], inputs.torques, inputs.loads)
        return self.dynamics.forward_dynamics(state[0], state[1], inputs.torques)

    def _stepped(self, state: Array, inputs: _Inputs, length: Any) -> Array:
        from scipy.integrate import DOP853

        rates: list[Array] = []
        with np.errstate(over="ignore", invalid="ignore"):
            for stage in range(len(inputs)):
                here = state
                if stage:
                    here = state + length * np.tensordot(DOP853.A[stage, :stage], np.array(rates), 1)
                rates.append(np.stack([here[1], self._acceleration(here, inputs[stage])]))
            return state + length * np.tensordot(DOP853.B, np.array(rates), 1)
