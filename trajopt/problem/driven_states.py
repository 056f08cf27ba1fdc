"""States that follow from bounded inputs: controls of a system x' = f(x, u, t, p), or torques of a robot.

Inputs lead terms of the states back the fastest, as far as bounds let them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import HALF_OF_DIGITS
from trajopt.graph.graph import ChainRule
from trajopt.graph.protocols import ForwardDynamics, Values
from trajopt.graph.quantities import extra_leaf
from trajopt.problem.costs_and_constraints import limits_over_path
from trajopt.problem.input_checks import middle_of
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.problem.systems.state_equations import StateEquations
from trajopt.problem.systems.system import System
from trajopt.terms import term as terms


class SystemRates:
    """f of a problem's system x' = f(x, u, t, p).

    needed : leaves that it takes, the states "q" and x' = "v" among them
    """

    def __init__(self, problem: Problem) -> None:
        dynamics: Any = problem.dynamics
        equations = dynamics.equations[0].term
        self._graph, self._equations = graph_of(problem, [equations]), equations.quantity
        self.needed = self._graph.inputs & self._graph.leaves.keys()

    def at(self, x: Array, others: Values) -> Array:
        """f (K, n), which is x' less what the equations x' - f = 0 leave; x' may be anything, so it is zero.

        others : all other leaves that it takes, at these K points
        """
        return -self._graph.values({**others, "q": x, "v": np.zeros_like(x)})[self._equations]

    def slopes(self, x: Array, others: Values) -> Array:
        """df/dx (K, n, n) at the same points."""
        u, chain = self._graph.values({**others, "q": x, "v": np.zeros_like(x)}), self._chain_rule
        D = chain.jacobian(self._graph.partials(u), len(x), np.dtype(float))
        return -D[:, chain.rows[self._equations], chain.columns["q"]]

    @cached_property
    def _chain_rule(self) -> ChainRule:
        return ChainRule(self._graph, [self._equations], [], list(self._graph.leaves))


class RobotRates:
    """Rates of q and v of a robot without loads.

    needed : leaves that it takes beside these, its torques
    """

    def __init__(self, problem: Problem) -> None:
        self._dynamics: Any = problem.dynamics
        self.needed = {terms.tau.quantity}

    def at(self, x: Array, others: Values) -> Array:
        """v and a (K, 2 n) at q and v, x (K, 2 n), under the torques among the others (K, n)."""
        q, v = np.split(x, 2, axis=-1)
        a = self._dynamics.forward_dynamics(q, v, others[terms.tau.quantity])
        return np.concatenate([v, a], axis=-1)


def bounds_of_inputs(problem: Problem) -> dict[str, tuple[Array, Array]]:
    """Leaf -> lower and upper bounds of what drives the states: of a system's controls, or of torques."""
    dynamics = problem.dynamics
    if isinstance(dynamics, System):
        driving = {extra_leaf(name): problem.extras[name] for name in dynamics.controls}
        return {name: (control.lower, control.upper) for name, control in driving.items()}
    return {terms.tau.quantity: limits_over_path(problem.constraints, terms.tau.quantity, dynamics.n)}


def rates_of(problem: Problem) -> SystemRates | RobotRates | None:
    """The rates of a problem's states; None where other than inputs drive them: feet, loops, loads."""
    dynamics: Any = problem.dynamics
    if isinstance(dynamics, System):
        has_inputs = dynamics.controls and dynamics.controls.keys() <= problem.extras.keys()
        return SystemRates(problem) if has_inputs and dynamics.rates is not None else None
    moved = isinstance(dynamics, ForwardDynamics) and getattr(dynamics, "has_forward_dynamics", True)
    others = problem.contacts, problem.closures, problem.loads, problem.passive_joints, problem.designs
    if isinstance(dynamics, StateEquations) or any(others):
        return None
    return RobotRates(problem) if moved else None


PROBED = 3  # steps after which effects of inputs are looked at: they have reached the sixth rate
MOST_PARTS = 16  # of a step whose states change too fast for the midpoint rule


class DrivenStates:
    """Motions under constant inputs from one state, x of a system, q and v of a robot, many at a time.

    known : the leaves of the rates beside states, inputs and t, (1, width) each
    """

    def __init__(self, problem: Problem, rates: SystemRates | RobotRates, known: Mapping[str, Array]) -> None:
        self._rates, self._known, self._bounds = rates, known, bounds_of_inputs(problem)
        lower, upper = np.concatenate(list(self._bounds.values()), axis=1)
        self._bounded, self.middle = np.isfinite(lower) & np.isfinite(upper), middle_of(lower, upper)
        with np.errstate(invalid="ignore"):
            # Inputs that lead back go 0.9 of the way to a bound, which leaves some of it
            self._reach = np.where(self._bounded, 0.5 * 0.9 * (upper - lower), 1.0)

    def after(self, x: Array, u: Array, start: float, step: float, parts: int = 1) -> Array:
        """x (K, n) after a step of seconds under inputs u (K, m), by the midpoint rule on equal parts."""
        h = step / parts
        for time in start + h * np.arange(parts):
            middle = x + 0.5 * h * self._at(x, u, time)
            x = x + h * self._at(middle, u, time + 0.5 * h)
        return x

    def _parts(self, x: Array, step: float) -> int:
        """Parts of a step that no eigenvalue of the rates' slopes at x (n,) multiplied by exceeds one."""
        h = HALF_OF_DIGITS * np.maximum(1.0, np.abs(x))
        moved = np.concatenate([x[None], x + np.diag(h)])
        rates = self._at(moved, np.repeat(self.middle[None], len(moved), axis=0), 0.0)
        slopes = ((rates[1:] - rates[0]) / h[:, None]).T
        if not np.all(np.isfinite(slopes)):
            return MOST_PARTS + 1
        return int(np.ceil(np.clip(step * np.abs(np.linalg.eigvals(slopes)).max(), 1.0, MOST_PARTS + 1)))

    def _at(self, x: Array, u: Array, time: float) -> Array:
        z, first = {}, 0
        for leaf, (lower, _) in self._bounds.items():
            z[leaf] = u[:, first : first + lower.size]
            first += lower.size
        z |= {name: np.broadcast_to(value, (len(x), value.shape[1])) for name, value in self._known.items()}
        return self._rates.at(x, z | {"t": np.full((len(x), 1), time)})

    def led_back(self, x: Array, value: Callable[[Array, float], Array], sign: Array, times: Array) -> Array:
        """Values (times, width) times sign while inputs lead each term, alone, to where that is below zero.

        The inputs of a term that change it most are 0.9 of the way to the bounds by which it falls. Zeros
        stand behind the time when no term is positive or rises. NaN where an input without bounds counts or
        states do not stay finite; all are NaN where states change too fast for these steps.

        x : (n,) the state;  value : terms of states (K, n) at a time, (K, width)
        sign : (width,) +1 of terms that are to fall, -1 of terms that are to rise, 0 of others
        times : s, from zero
        """
        # Inputs change by 1e-3 of the way to a bound to see their effects
        probes = self.middle + np.concatenate([np.zeros((1, self.middle.size)), 1e-3 * np.diag(self._reach)])
        states, steps = np.repeat(x[None], len(probes), axis=0), np.diff(times)
        along, parts = np.zeros((times.size, sign.size)), self._parts(x, float(steps.max()))
        if parts > MOST_PARTS:
            return np.full_like(along, np.nan)
        for time, step in zip(times[:PROBED], steps[:PROBED], strict=False):
            states = self.after(states, probes, time, step, parts)
        ends = value(states, times[:PROBED][-1])
        effects = (ends[1:] - ends[0]).T  # (width, inputs)
        # Effects below a tenth of the largest one of all inputs are left out
        effects[np.abs(effects) <= 0.1 * np.abs(effects).max(axis=1, keepdims=True)] = 0.0
        u = self.middle - sign[:, None] * np.sign(effects) * self._reach
        states, own = np.repeat(x[None], sign.size, axis=0), np.arange(sign.size)
        along[0] = sign * value(x[None], times[0])[0]
        for k, (time, step) in enumerate(zip(times, steps, strict=False), start=1):
            states = self.after(states, u, time, step, parts)
            along[k] = sign * value(states, times[k])[own, own]
            if not np.any((along[k] > 0.0) | (along[k] > along[k - 1])):
                break
        unknown = (effects[:, ~self._bounded] != 0.0).any(axis=1) | ~np.isfinite(along).all(axis=0)
        return np.where(unknown, np.nan, along)
