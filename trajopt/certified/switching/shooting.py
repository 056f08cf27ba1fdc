"""Shooting on switch times: a certified time-optimal motion computed a second way, integrated by SciPy.

On every arc of a switching structure all torques are known (bang arcs), so the motion follows from forward
dynamics and the arc durations d are the only unknowns,

    F(d) = state(d) at the end - state wanted = 0,          2 n equations,

with the state carried through all arcs by DOP853. With more arcs than equations the shortest solution is
computed, minimize sum(d) subject to F(d) = 0 (SLSQP), else the equations are solved (hybr). Splines,
collocation and the derivatives of the dynamics are not used: agreement with a certified duration is a check
of both. A joint with its velocity or position at the limit has the torque that keeps its acceleration zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arrays import Array
from trajopt.base.errors import ProblemError
from trajopt.base.tolerances import HALF_OF_DIGITS
from trajopt.certificates.switching_structure import Saturation, Structure
from trajopt.graph.protocols import ForwardDynamics
from trajopt.solution.solution import Solution
from trajopt.solvers.solver import ROUNDING

CONVERGED_GAP = HALF_OF_DIGITS  # of every component of F
STEP = ROUNDING**0.5  # of a duration, for central differences of the end state


@dataclass(frozen=True, eq=False)
class SwitchingTimes:
    """Arc durations by shooting beside those of the certified solution.

    durations : (arcs,) seconds, by shooting
    certified : (arcs,) seconds, of the solution that is checked
    gap : largest component of F, in rad and rad/s (m and m/s)
    converged : the gap is below `CONVERGED_GAP`
    """

    durations: NDArray[np.float64]
    certified: NDArray[np.float64]
    gap: float
    converged: bool

    @property
    def duration(self) -> float:
        return float(self.durations.sum())

    @property
    def difference(self) -> float:
        """Relative difference of the whole durations."""
        return abs(self.duration - float(self.certified.sum())) / self.duration

    def __str__(self) -> str:
        lines = [
            f"switching times by shooting: {'converged' if self.converged else 'NOT CONVERGED'}, "
            f"end state off by {self.gap:.1e}",
            f"duration {self.duration:.12g} s against {self.certified.sum():.12g} s certified, "
            f"relative difference {self.difference:.1e}",
        ]
        times, ours = np.cumsum(self.durations), np.cumsum(self.certified)
        pairs = zip(times[:-1], ours[:-1], strict=True)
        lines += [f"  switch at {a:.9f} s, certified {b:.9f} s" for a, b in pairs]
        return "\n".join(lines)


def switching_times(solution: Solution, perturbation: float = 0.02, seed: int = 0) -> SwitchingTimes:
    """Switch times of a certified solution by shooting, from its durations perturbed by some percent.

    perturbation : relative size of the uniform random perturbation, seeded by `seed`

    Raises ProblemError where the structure does not determine the torques (free joints, an effort in the
    objective, terms at their limits) or the dynamics offers no forward dynamics.
    """
    structure = _determined(solution)
    certified = np.array(structure.durations)
    rng = np.random.default_rng(seed)
    first = certified * (1.0 + perturbation * rng.uniform(-1.0, 1.0, certified.size))
    shooting = Shooting(solution, structure)
    durations = shooting.solve(first)
    gap = float(np.abs(shooting.gap(durations)).max())
    return SwitchingTimes(durations, certified, gap, gap < CONVERGED_GAP)


def _determined(solution: Solution) -> Structure:
    certificate, dynamics = solution.certificate, solution.as_built.dynamics
    if certificate is None or certificate.structure is None:
        raise ProblemError("the solution has no switching structure: solve with refine=Certified() first")
    if not isinstance(dynamics, ForwardDynamics):
        raise ProblemError("the dynamics offers no forward_dynamics(q, v, tau), which shooting integrates")
    limits, structure = solution.problem.path_limits(), certificate.structure
    for number, saturated in enumerate(structure.saturated):
        kinds = {limits[s.limit].term.quantity for s in saturated}
        joints = {s.component for s in saturated}
        if not kinds <= {"tau", "v", "q"} or len(joints) < dynamics.n:
            raise ProblemError(
                f"on arc {number} the structure does not determine the torque of every joint: shooting on "
                "durations needs each at its limit, or its velocity or position at its limit"
            )
    return structure


class Shooting:
    """The gap F(d): end state minus the wanted one, as a function of arc durations."""

    def __init__(self, solution: Solution, structure: Structure) -> None:
        self.dynamics: Any = solution.as_built.dynamics
        self.n = self.dynamics.n
        self.structure = structure
        self.limits = solution.problem.path_limits()
        self.start = np.concatenate([solution.q(0.0), solution.v(0.0)])
        self.end = np.concatenate([solution.q(solution.duration), solution.v(solution.duration)])
        self.controls = [self._control(saturated) for saturated in structure.saturated]
        self.entries = self._entries()

    def solve(self, first: Array) -> Array:
        """Durations at which the gap vanishes, those of the smallest sum where there are many."""
        from scipy.optimize import minimize, root

        if first.size == self.gap(first).size:
            return root(self.gap, first, jac=self.slope, tol=1e-13).x
        constraint = {"type": "eq", "fun": self.gap, "jac": self.slope}
        return minimize(
            np.sum,
            first,
            jac=lambda d: np.ones(d.size),
            method="SLSQP",
            constraints=constraint,
            bounds=[(0.0, None)] * first.size,
            options={"ftol": 1e-14, "maxiter": 40},
        ).x

    def gap(self, durations: Array) -> Array:
        """F(d): end state minus the wanted one, and what boundary arcs ask of the states at their entries."""
        from scipy.integrate import solve_ivp

        state, entries = self.start, []
        for number, seconds in enumerate(durations):
            entries += [state[place] - value for arc, place, value in self.entries if arc == number]
            if seconds > 0.0:
                answer = solve_ivp(
                    lambda t, y, arc=number: self._rate(arc, y),
                    (0.0, float(seconds)),
                    state,
                    method="DOP853",
                    rtol=ROUNDING,
                    atol=ROUNDING,
                )
                state = answer.y[:, -1]
        return np.concatenate([state - self.end, entries])

    def slope(self, durations: Array) -> Array:
        """d gap / d durations by central differences."""
        columns = []
        for i, seconds in enumerate(durations):
            step = STEP * max(float(seconds), 1e-3)
            change = step * np.eye(durations.size)[i]
            columns.append((self.gap(durations + change) - self.gap(durations - change)) / (2.0 * step))
        return np.stack(columns, axis=1)

    def _rate(self, arc: int, state: Array) -> Array:
        q, v = state[: self.n], state[self.n :]
        torque, still = self.controls[arc]
        acceleration = self.dynamics.forward_dynamics(q, v, torque)
        if still.size:  # torques that keep these joints from accelerating: a is linear in tau
            unit = np.eye(self.n)[still]
            effect = self.dynamics.forward_dynamics(
                np.tile(q, (still.size, 1)), np.tile(v, (still.size, 1)), torque + unit
            )
            change = (effect - acceleration).T
            acceleration = acceleration - change @ np.linalg.solve(change[still], acceleration[still])
        return np.concatenate([v, acceleration])

    def _control(self, saturated: Iterable[Saturation]) -> tuple[Array, Array]:
        """Torques at their limits, zero elsewhere, and the joints with velocity or position at its limit."""
        torque, still = np.zeros(self.n), []
        for s in saturated:
            if self.limits[s.limit].term.quantity in ("q", "v"):
                still.append(s.component)
            else:
                torque[s.component] = s.bound(self.limits)
        return torque, np.array(sorted(still), dtype=int)

    def _entries(self) -> list[tuple[int, int, float]]:
        """(arc, place in the state, value) of all that entries into boundary arcs ask for.

        A velocity meets its limit; a position meets its limit at rest.
        """
        found, before = [], frozenset()
        for number, saturated in enumerate(self.structure.saturated):
            for s in sorted(saturated - before):
                bound, quantity = s.bound(self.limits), self.limits[s.limit].term.quantity
                if quantity == "v":
                    found.append((number, self.n + s.component, bound))
                elif quantity == "q":
                    found += [(number, s.component, bound), (number, self.n + s.component, 0.0)]
            before = saturated
        return found
