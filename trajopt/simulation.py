"""Forward simulation of a solution's torques by means that the optimizer never used.

The torques found are applied to forward dynamics and integrated by SciPy's DOP853. Between neighbouring
knots the motion is smooth, so the integration stops and starts there:

* restarted: every span starts from the spline's own state, so the gap at its end measures the local
  consistency of torques and motion, whatever the stability of the robot;
* end to end: the state is carried through, as a robot in open loop would. Errors grow by the system's own
  instability; the growth is reported, and beyond `USEFUL_GROWTH` the gap says nothing about the solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt import terms
from trajopt.block import Array

if TYPE_CHECKING:
    from trajopt.solution import Solution

RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-11, 1e-12
USEFUL_GROWTH = 1e4  # end-to-end over restarted error; 1e-12 grown further than this hides real errors


@dataclass(frozen=True)
class Simulation:
    """Largest gaps |simulated - spline| over positions (rad, m) and velocities (rad/s, m/s)."""

    restarted: float
    end_to_end: float

    @property
    def growth(self) -> float:
        return self.end_to_end / max(self.restarted, ABSOLUTE_TOLERANCE)

    @property
    def end_to_end_is_useful(self) -> bool:
        return bool(np.isfinite(self.end_to_end)) and self.growth <= USEFUL_GROWTH


def simulate(solution: Solution) -> Simulation | None:
    """Both gaps, or None where forward dynamics are not offered or do not know the loads."""
    if solution.problem.loads or getattr(solution.problem.dynamics, "forward_dynamics", None) is None:
        return None
    return Simulation(_restarted(solution), _end_to_end(solution))


def _restarted(solution: Solution) -> float:
    """All spans at once: their normalised times run together from 0 to 1 in one integration."""
    starts, lengths = solution.knot_times[:-1], np.diff(solution.knot_times)
    n = len(solution.joint_names)

    def rate(s: float, flat: Array) -> Array:
        state = flat.reshape(2, -1, n)
        t = starts + s * lengths
        acceleration = _acceleration(solution, t, state[0], state[1])
        return (np.stack([state[1], acceleration]) * lengths[:, None]).ravel()

    initial = np.stack([solution.q(starts), solution.v(starts)])
    final = _integrate(rate, (0.0, 1.0), initial.ravel()).reshape(initial.shape)
    ends = solution.knot_times[1:]
    return float(np.abs(final - np.stack([solution.q(ends), solution.v(ends)])).max())


def _end_to_end(solution: Solution) -> float:
    n = len(solution.joint_names)
    state = np.concatenate([solution.q(0.0), solution.v(0.0)])
    worst = 0.0

    def rate(t: float, flat: Array) -> Array:
        acceleration = _acceleration(solution, np.array([t]), flat[None, :n], flat[None, n:])
        return np.concatenate([flat[n:], acceleration[0]])

    for start, end in zip(solution.knot_times[:-1], solution.knot_times[1:], strict=True):
        state = _integrate(rate, (start, end), state)
        gap = np.abs(state - np.concatenate([solution.q(end), solution.v(end)])).max()
        worst = max(worst, float(gap))
        if not np.isfinite(worst):
            return np.inf
    return worst


def _acceleration(solution: Solution, t: Array, q: Array, v: Array) -> Array:
    torque = solution.value(terms.tau, np.minimum(t, solution.duration))
    return solution.problem.dynamics.forward_dynamics(q, v, torque)  # type: ignore[attr-defined]


def _integrate(rate, window: tuple[float, float], state: Array) -> Array:
    from scipy.integrate import solve_ivp

    answer = solve_ivp(rate, window, state, method="DOP853", rtol=RELATIVE_TOLERANCE, atol=ABSOLUTE_TOLERANCE)
    return answer.y[:, -1] if answer.success else np.full(state.shape, np.nan)
