"""Forward simulation of a solution: its torques or controls are integrated, apart from the optimization.

Forward dynamics under the solution's torques, or x' = f under its controls, are integrated by the
eighth-order Runge-Kutta formula of Dormand and Prince (Hairer, Norsett and Wanner, Solving ODEs I, II.10; the
coefficients are SciPy's). Between neighbouring knots the motion is smooth, so every span is divided into the
same number of steps, doubled until the states at its end no longer change. All times are then known
beforehand and all torques computed at once.

* restarted: every span starts from the spline's own state. The gap at its end measures the local consistency
  of torques and motion, also for an unstable robot;
* end to end: the state is carried through all spans, as in open-loop control; at borders of arcs where the
  problem lets a coordinate jump it takes the spline's jump. Errors grow with the instability of the system;
  where they grow more than `USEFUL_GROWTH` times the gap says nothing about the solution, and it ends there.

Torques by which path equations are missed between nodes may be left out: only then the gaps say what a robot
without those motors would do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.path_equations import torque_equations
from trajopt.checks.residual_forces import torque_residual
from trajopt.graph.protocols import ForwardDynamics, LoadedForwardDynamics, Values
from trajopt.graph.quantities import extra_leaf
from trajopt.problem.driven_states import SystemRates
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import LOAD, block_of, graph_of
from trajopt.problem.systems.augmented_dynamics import AugmentedDynamics
from trajopt.problem.systems.system import System
from trajopt.solvers.solver import ROUNDING
from trajopt.splines.basis import BORDER_SIDE
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.graph.protocols import Term
    from trajopt.solution.solution import Solution

MOST_SLOPES = 1 << 18  # of all spans computed together; at the stages of a step they take 25 MB, twice
USEFUL_GROWTH = 1e4  # end-to-end over restarted gap; 1e-12 grown further would hide real errors


@dataclass(frozen=True)
class Simulation:
    """Largest gaps |simulated - spline| over positions (rad, m) and velocities (rad/s, m/s).

    end_to_end : where it is not useful, at least this, as the rest is not simulated
    Infinite where the motion diverges, NaN where the torques are no numbers.
    """

    restarted: float
    end_to_end: float

    @property
    def growth(self) -> float:
        return self.end_to_end / max(self.restarted, ROUNDING)

    @property
    def end_to_end_is_useful(self) -> bool:
        return bool(np.isfinite(self.end_to_end)) and self.growth <= USEFUL_GROWTH


def simulate(solution: Solution, without_residual: bool = False) -> Simulation | None:
    """Both gaps; None where the dynamics offers no forward dynamics, or none under the problem's loads.

    without_residual : integrate the torques without those by which equations between the nodes are missed, a
        torque at a joint without a motor for instance: what a robot really does
    Loads on links act as the wrenches of the solution, functions of time, and so do the controls of a system
    x' = f, whose states are integrated in place of positions and velocities; its implicit form is not. The
    further states of a robot are integrated with its joints, their motors giving the torques.
    """
    dynamics: Any = solution.as_built.dynamics
    able = LoadedForwardDynamics if solution.problem.loads else ForwardDynamics
    if _has_states(solution.problem) and (without_residual or dynamics.torque_term is None):
        integration: _Integration = _AugmentedIntegration(solution)
    elif isinstance(dynamics, System) and dynamics.rates is not None:
        integration = _SystemIntegration(solution)
    elif isinstance(dynamics, able) and getattr(dynamics, "has_forward_dynamics", True):
        integration = _RobotIntegration(solution, without_residual)
    else:
        return None
    steps, finer, gap, rough = 1, integration.restarted(1), np.nan, 0
    while steps < 64:  # steps a span
        ends, finer = finer, integration.restarted(2 * steps)
        with np.errstate(invalid="ignore"):  # steps far too long overflow
            change, size = np.abs(finer - ends).max(), float(np.abs(finer).max())
            gap = float(np.abs(finer - integration.ends).max())
        # A change that is small beside the gap does not matter either
        if change <= max(ROUNDING * max(1.0, size), 1e-2 * gap):
            break  # half as many were enough
        # Steps that change the states less are fine enough for their slopes
        if not rough and change <= 1e-2 * max(1.0, size):
            rough = steps
        steps *= 2
    diverged = np.isnan(gap) and integration.finite
    gap = np.inf if diverged else gap
    most = USEFUL_GROWTH * max(gap, ROUNDING)
    return Simulation(gap, integration.end_to_end(steps, rough or steps, most))


class _Integration(ABC):
    """Integration of one solution, span by span or all spans at once; states are (m, spans, n)."""

    def __init__(self, solution: Solution) -> None:
        knots = solution.knot_times
        self.solution = solution
        self.starts, self.lengths = knots[:-1], np.diff(knots)
        self.first = self._states(knots[:-1])
        self.ends, self.jumps = self._ends(knots[1:])
        self.finite = True  # whether all inputs so far were
        self._known_inputs: dict[int, Values] = {}
        self._known_ends: dict[int, Array] = {}

    @abstractmethod
    def _states(self, times: Array) -> Array:
        """The solution's own states, (m, times, n)."""

    @abstractmethod
    def _may_jump(self, kept: Array) -> Array:
        """Mask (m, n) of states that may jump where `kept` (n,) derivatives of coordinates are continuous."""

    def _ends(self, times: Array) -> tuple[Array, Array]:
        """The states at the ends of all spans, and by how much they jump there: both (m, spans, n)."""
        solution, ends = self.solution, self._states(times)
        curve, kept = solution.curve, solution.problem.continuity_at_borders
        jumps = np.zeros_like(ends)
        if len(kept) != len(curve.bases) - 1:  # refinement has cut the one arc of the problem
            return ends, jumps
        for border, own in zip(curve.starts[1:-1], kept, strict=True):
            free = self._may_jump(own)
            if free.any():
                span = int(np.argmin(np.abs(times - border)))
                ends[:, span] = self._states(times[[span]] - BORDER_SIDE * solution.duration)[:, 0]
                jumps[:, span] = np.where(free, self.first[:, span + 1] - ends[:, span], 0.0)
        return ends, jumps

    @abstractmethod
    def _inputs(self, times: Array) -> Values:
        """Torques, loads or controls at times, each (*times.shape, width)."""

    @abstractmethod
    def _rates(self, state: Array, inputs: Values) -> Array:
        """Derivatives of the states by time, (m, spans, n)."""

    def _rate_slopes(self, state: Array, inputs: Values, rates: Array) -> Array:
        """(spans, m n, m n) slopes of the rates (m, spans, n) by the states, here by differences."""
        m, count, n = state.shape
        # Steps: 1e-7 of a state, or of one
        width, h = m * n, 1e-7 * np.maximum(1.0, np.abs(state))
        moved = np.repeat(state[:, None], width, axis=1)  # (m, directions, spans, n)
        for k, (i, j) in enumerate(np.ndindex(m, n)):
            moved[i, k, :, j] += h[i, :, j]
        tiled = {name: np.tile(values, (width, 1)) for name, values in inputs.items()}
        change = self._rates(moved.reshape(m, -1, n), tiled).reshape(moved.shape) - rates[:, None]
        return change.transpose(2, 0, 3, 1).reshape(count, width, width) / _by_span(h)[:, None]

    def inputs(self, steps: int) -> Values:
        """The inputs at the stages of so many steps a span, each (steps, stages, spans, width)."""
        if steps not in self._known_inputs:
            self._known_inputs[steps] = self._inputs(self._stage_times(steps))
        return self._known_inputs[steps]

    def restarted(self, steps: int) -> Array:
        """States at the end of spans that each start from the spline's own state, (m, spans, n)."""
        if steps not in self._known_ends:
            self._known_ends[steps] = self._through(self.first, self.inputs(steps), steps)
        return self._known_ends[steps]

    def _through(self, state: Array, inputs: Values, steps: int, spans: slice = slice(None)) -> Array:
        """States at the end of spans from those at their start, (m, spans, n)."""
        lengths = (self.lengths[spans] / steps)[:, None]
        for step in range(steps):
            there = {name: values[step, :, spans] for name, values in inputs.items()}
            state = self._stepped(state, there, lengths)[0]
        return state

    def end_to_end(self, steps: int, rough: int, most: float) -> float:
        """Largest gap at any knot of the state that is carried through all spans; inf where it diverges.

        All spans at once, by Newton's method on the errors e_k at their starts (multiple shooting): with J_k
        the slopes of the end of a span by its start, the error at its end is that of the span from x_k + e_k
        plus J_k times the change of e_k, which is carried on. Slopes are kept as long as rounds contract.
        Where that does not settle, span by span.

        rough : steps of a span that are fine enough for its slopes
        most : the largest gap of interest, above which it goes no further
        """
        inputs, count = self.inputs(steps), self.lengths.size
        size = max(1.0, float(np.abs(self.ends).max()))
        offsets = _by_span((self.ends + self.jumps)[:, :-1] - self.first[:, 1:])
        errors, before, worst, change = np.zeros_like(self.first), np.inf, 0.0, np.inf
        slopes, ends = self._slopes(self.first, rough), self.restarted(steps)
        for _ in range(6):  # rounds of Newton's method on the errors at all knots
            if not (np.all(np.isfinite(slopes)) and np.all(np.isfinite(ends))):
                break
            gaps, known = _by_span(ends - self.ends), _by_span(errors)
            error, carried, worst = known[0], np.zeros_like(known), 0.0
            for span in range(count):
                error = gaps[span] + slopes[span] @ (error - known[span])
                worst = max(worst, float(np.abs(error).max()))
                if not worst <= most or span + 1 == count:
                    break
                error = carried[span + 1] = error + offsets[span]
            errors = carried.reshape(count, *self.first.shape[::2]).transpose(1, 0, 2)
            before, last, change = worst, change, abs(worst - before)
            # The round is the last where the largest gap changes by less than a thousandth
            if change <= max(1e-3 * worst, ROUNDING * size):
                return worst
            if change > last:
                break  # rounds lead away
            # A change above a tenth of that of the round before asks for new slopes
            if change > 0.1 * last:
                slopes = self._slopes(self.first + errors, rough)
            ends = self._through(self.first + errors, inputs, steps)
        return self._one_by_one(inputs, steps, most)

    def _slopes(self, first: Array, steps: int) -> Array:
        """(spans, m n, m n) slopes of the states at the ends of spans by those at their starts."""
        m, count, n = first.shape
        at_once = max(1, MOST_SLOPES // (m * n) ** 2)
        spans = (slice(start, start + at_once) for start in range(0, count, at_once))
        return np.concatenate([self._slopes_of(first[:, part], steps, part) for part in spans])

    def _slopes_of(self, first: Array, steps: int, spans: slice) -> Array:
        """Slopes S of some spans: S' = (slopes of the rates) S from the identity, by the states' steps."""
        from scipy.integrate import DOP853

        inputs, (m, count, n), stages = self.inputs(steps), first.shape, DOP853.C.size
        slopes, lengths = np.tile(np.eye(m * n), (count, 1, 1)), (self.lengths[spans] / steps)[:, None]
        changes = np.empty((stages, count, m * n, m * n))
        flat, length, state = changes.reshape(stages, -1), lengths[:, None], first
        for step in range(steps):
            there = {name: values[step, :, spans] for name, values in inputs.items()}
            state, *along = self._stepped(state, there, lengths)
            states, rates = (each.swapaxes(0, 1).reshape(m, -1, n) for each in along)
            together = {name: values.reshape(stages * count, -1) for name, values in there.items()}
            with np.errstate(all="ignore"):
                of_rates = self._rate_slopes(states, together, rates).reshape(changes.shape)
                for stage in range(stages):
                    change = (DOP853.A[stage, :stage] @ flat[:stage]).reshape(slopes.shape)
                    np.matmul(of_rates[stage], slopes + length * change, out=changes[stage])
                slopes = slopes + length * (DOP853.B @ flat).reshape(slopes.shape)
        return slopes

    def _one_by_one(self, inputs: Values, steps: int, most: float) -> float:
        """The largest gap by one span after the other; inf where the state diverges."""
        state, worst = self.first[:, :1], 0.0
        for span in range(self.lengths.size):
            state = self._through(state, inputs, steps, slice(span, span + 1))
            if not np.all(np.isfinite(state)):
                return np.inf
            worst = max(worst, float(np.abs(state[:, 0] - self.ends[:, span]).max()))
            if worst > most:
                return worst
            state = state + self.jumps[:, span : span + 1]
        return worst

    def _stage_times(self, steps: int) -> Array:
        """(steps, stages, spans); at knots, where inputs may jump, those inside."""
        from scipy.integrate import DOP853

        along = (np.arange(steps)[:, None] + DOP853.C[None, :]) / steps
        side = BORDER_SIDE * self.solution.duration
        return np.clip(
            self.starts + self.lengths * along[..., None],
            self.starts + side,
            self.starts + self.lengths - side,
        )

    def _stepped(self, state: Array, inputs: Values, length: Array) -> tuple[Array, Array, Array]:
        """The state after one step of a length, and states and rates at its stages, (stages, m, spans, n).

        inputs : those of the step, (stages, spans, width) each
        """
        from scipy.integrate import DOP853

        states = np.empty((DOP853.C.size, *state.shape))
        rates = np.empty_like(states)
        flat = rates.reshape(len(rates), -1)
        with np.errstate(over="ignore", invalid="ignore"):
            for stage in range(len(rates)):
                change = (DOP853.A[stage, :stage] @ flat[:stage]).reshape(state.shape)
                states[stage] = state + length * change
                rates[stage] = self._rates(
                    states[stage], {name: values[stage] for name, values in inputs.items()}
                )
            return state + length * (DOP853.B @ flat).reshape(state.shape), states, rates


def _by_span(states: Array) -> Array:
    """States (m, spans, n) as one column each, (spans, m n)."""
    m, count, n = states.shape
    return states.transpose(1, 0, 2).reshape(count, m * n)


class _RobotIntegration(_Integration):
    """States (2, spans, n) are q and v, driven by the solution's torques and loads."""

    def __init__(self, solution: Solution, without_residual: bool) -> None:
        self.dynamics: Any = solution.as_built.dynamics
        self.removed = torque_equations(solution.problem) if without_residual else []
        self.loads = {f"{LOAD}{link}": term for link, term in solution.problem.loads.items()}
        self.torques = block_of(solution.as_built, [terms.tau.quantity], solution.problem.loads)
        super().__init__(solution)

    def _states(self, times: Array) -> Array:
        both = self.solution.curve.derivatives(times, (0, 1))
        return np.stack([both[0], both[1]])[..., : self.dynamics.n]

    def _may_jump(self, kept: Array) -> Array:
        return np.stack([kept < 0, kept < 1])

    def _inputs(self, times: Array) -> Values:
        loads = self.solution.problem.loads
        values = self.solution.values([terms.tau, *loads.values()], times)
        torques = values[terms.tau.quantity]
        if self.removed:
            residual = torque_residual(self.solution, self.removed, times.ravel())
            torques = torques - residual.reshape(torques.shape)
        self.finite = self.finite and bool(np.all(np.isfinite(torques)))
        return {**values, terms.tau.quantity: torques}

    def _rates(self, state: Array, inputs: Values) -> Array:
        (q, v), torques, loads = state, inputs[terms.tau.quantity], self.solution.problem.loads
        if loads:
            wrenches = {link: inputs[term.quantity] for link, term in loads.items()}
            a = self.dynamics.loaded_forward_dynamics(q, v, torques, wrenches)
        else:
            a = self.dynamics.forward_dynamics(q, v, torques)
        return np.array([v, a])

    def _rate_slopes(self, state: Array, inputs: Values, rates: Array) -> Array:
        """Exact ones, da/dq = -M^-1 dtau/dq and da/dv = -M^-1 dtau/dv, where tau follows from q, v, a."""
        known = {"q": state[0], "v": state[1], "a": rates[1]}
        known |= {name: inputs[term.quantity] for name, term in self.loads.items()}
        if not self.torques.inputs.keys() <= known.keys():
            return super()._rate_slopes(state, inputs, rates)
        (_, count, n), tau = state.shape, terms.tau.quantity
        partials, zero = self.torques.partials(known), np.zeros((n, n))
        of = [np.broadcast_to(partials.get((tau, name), zero), (count, n, n)) for name in ("q", "v", "a")]
        slopes = np.zeros((count, 2 * n, 2 * n))
        slopes[:, :n, n:] = np.eye(n)
        try:
            slopes[:, n:] = -np.linalg.solve(of[2], np.concatenate(of[:2], axis=2))
        except np.linalg.LinAlgError:  # a coordinate moves no mass there
            slopes[:] = np.nan
        return slopes


def _leaves_at(solution: Solution, needed: set[str], times: Array) -> Values:
    """The leaves of equations at times, each (*times.shape, width)."""
    leaves = solution.leaves(times.ravel(), needed) if needed else {}
    return {name: leaves[name].reshape(*times.shape, -1) for name in sorted(needed)}


def _has_states(problem: Problem) -> bool:
    """True if this is a robot with further states that can be integrated together with its joints."""
    dynamics = problem.dynamics
    if not (isinstance(dynamics, ForwardDynamics) and isinstance(dynamics, AugmentedDynamics)):
        return False
    motors = () if dynamics.torque_term is None else graph_of(problem, [dynamics.torque_term]).blocks
    known_late = {"a", "jerk"} & {name for block in motors for name in block.inputs}
    return dynamics.rates is not None and not problem.loads and not known_late


class _AugmentedIntegration(_Integration):
    """States (1, spans, 2 n + m) are q, v and the further states of a robot, driven by the controls."""

    def __init__(self, solution: Solution) -> None:
        dynamics = solution.as_built.dynamics
        assert isinstance(dynamics, AugmentedDynamics)
        assert dynamics.rate_term is not None
        self.dynamics, self.rate_term = dynamics, dynamics.rate_term
        several = [term for term in (dynamics.torque_term, dynamics.rate_term) if term is not None]
        self.graphs = {term.quantity: graph_of(solution.as_built, [term]) for term in several}
        needed = {name for graph in self.graphs.values() for name in graph.inputs & graph.leaves.keys()}
        self.integrated = ("q", "v", *map(extra_leaf, self.dynamics.states))
        self.needed = needed.difference(self.integrated, ("a",))
        super().__init__(solution)

    def _states(self, times: Array) -> Array:
        leaves = self.solution.leaves(times)
        return np.concatenate([leaves[name] for name in self.integrated], axis=1)[None]

    def _may_jump(self, kept: Array) -> Array:
        return np.zeros(self.first.shape[::2], dtype=bool)  # their motions have one arc

    def _inputs(self, times: Array) -> Values:
        given = _leaves_at(self.solution, self.needed, times)
        if self.dynamics.torque_term is None:
            given["tau"] = self.solution.tau(times)
        return given

    def _rates(self, state: Array, inputs: Values) -> Array:
        widths = [self.dynamics.n, self.dynamics.n, *self.dynamics.states.values()]
        parts = np.split(state[0], np.cumsum(widths)[:-1], axis=1)
        z = {**inputs, **dict(zip(self.integrated, parts, strict=True))}
        if self.dynamics.torque_term is None:
            torques = z.pop("tau")
        else:
            motors = self._value(self.dynamics.torque_term, z)
            torques = self.dynamics.without_springs(z["q"], z["v"], motors)
        z["a"] = self.dynamics.forward_dynamics(z["q"], z["v"], torques)
        return np.concatenate([z["v"], z["a"], self._value(self.rate_term, z)], axis=1)[None]

    def _value(self, term: Term, z: dict[str, Array]) -> Array:
        return self.graphs[term.quantity].values(z)[term.quantity]


class _SystemIntegration(_Integration):
    """States (1, spans, n) of x' = f, driven by the solution's controls."""

    def __init__(self, solution: Solution) -> None:
        self.rates = SystemRates(solution.as_built)
        super().__init__(solution)

    def _states(self, times: Array) -> Array:
        return self.solution.q(times)[None]

    def _may_jump(self, kept: Array) -> Array:
        return (kept < 0)[None]

    def _inputs(self, times: Array) -> Values:
        return _leaves_at(self.solution, self.rates.needed, times)

    def _rates(self, state: Array, inputs: Values) -> Array:
        return self.rates.at(state[0], inputs)[None]

    def _rate_slopes(self, state: Array, inputs: Values, rates: Array) -> Array:
        return self.rates.slopes(state[0], inputs)
