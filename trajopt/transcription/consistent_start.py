"""Algebraic variables of a system at the start: 0 = h(x, u, t, p) solved for controls without a guess.

Equations over the path besides those of the states make a system of differential and algebraic equations,
x' = f(x, u), 0 = h(x, u), with the algebraic variables among the controls. Users can guess the states, but
rarely these. Amid their bounds they give rates that are far off. Solved for at the guess alone they may do so
as well, where stiff equations leave the guessed states within a small part of an interval. So Newton's method
puts them onto the equations, and the guess follows the system from every node for the time of an interval, by
implicit Euler steps that grow: what is fast settles, what is slow stays near the guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from trajopt.base.arrays import Array
from trajopt.base.tolerances import HALF_OF_DIGITS
from trajopt.graph.graph import ChainRule
from trajopt.graph.protocols import Values
from trajopt.graph.quantities import extra_leaf
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint
from trajopt.problem.guess import GuessedCurve
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.problem.systems.state_equations import EQUATIONS
from trajopt.problem.systems.system import System
from trajopt.solvers.solver import ROUNDING
from trajopt.splines.node_sets import PATH
from trajopt.transcription.bounds import Bounds
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.leaf_map import SplineMap
from trajopt.transcription.unknowns import Unknowns

SETTLED = HALF_OF_DIGITS  # of the sizes of states and the widths of controls: a change that is no more


def consistent_start(
    problem: Problem, unknowns: Unknowns, spline_map: SplineMap, bounds: Bounds, start: Array
) -> Array:
    """The start with algebraic variables on their equations, or as it is where these are not solved.

    Controls with a guess, durations and parameters stay. Where controls without one are more than equations,
    Newton's steps are the shortest ones, relative to the widths between bounds.
    """
    dynamics = problem.dynamics
    equations = [
        each
        for each in problem.constraints
        if each.over == PATH and each.name != EQUATIONS and bool(np.all(each.lower == each.upper))
    ]
    assert isinstance(dynamics, System)
    if not equations:
        return start
    free = _controls_without_guess(problem, dynamics, equations)
    width = sum(curve.lower.size for curve in free.values())
    if width == 0 or width < sum(each.lower.size for each in equations):
        return start
    layout, elimination = unknowns.layout, unknowns.elimination
    system, needed = _Algebraic.of(problem, dynamics, equations, free), {"q", *map(extra_leaf, free)}
    x = elimination.expand(start)
    leaves = spline_map.leaf_values(x, needed | system.needed)
    with np.errstate(all="ignore"):
        q, z = system.solved(leaves, _interval_times(unknowns, start))
        if z is None:
            return start
        other = first_guess(problem, layout, curve=_through(q, unknowns))
        states = layout.groups[0].stop
        other[states:] = x[states:]
        other = elimination.expand(bounds.clipped(elimination.reduce(other)))
        leaves = spline_map.leaf_values(other, needed | system.needed)
        kept = system.on_equations(leaves, leaves["q"], z)
    for leaf, values in system.by_control(z if kept is None else kept).items():
        _set_control_points(other, values, spline_map, leaf)
    return bounds.clipped(elimination.reduce(other))


def _through(values: Array, unknowns: Unknowns) -> GuessedCurve:
    """The curve by normalised time that joins values at the nodes (K, n) by lines."""
    nodes = unknowns.nodes
    along = (nodes.arc + nodes.s) / (nodes.arc[-1] + 1)
    return lambda s: np.stack([np.interp(s, along, column) for column in values.T], axis=-1)


def _set_control_points(x: Array, values: Array, spline_map: SplineMap, leaf: str) -> None:
    """Give a control the control points with these values (K, width) at the nodes that hold equations."""
    spline, nodes = spline_map.spline[leaf], np.flatnonzero(spline_map.nodes.weight > 0.0)
    group = spline_map.groups[spline.group]
    for curve, wanted in enumerate(values.T, start=group.own(spline.curves).start):
        places, column = np.unique(group.columns[nodes, :, curve], return_inverse=True)
        row = np.repeat(np.arange(nodes.size), group.columns.shape[1])
        entries = (group.basis[0][nodes].ravel(), (row, column.ravel()))
        at_nodes = sparse.csc_array(entries, shape=(nodes.size, places.size))
        x[places] = splu(sparse.csc_array(at_nodes.T @ at_nodes)).solve(at_nodes.T @ wanted[nodes])


def _controls_without_guess(
    problem: Problem, dynamics: System, equations: Sequence[Constraint]
) -> dict[str, AdditionalCurve]:
    """The controls that enter these equations and that no guess names; none where rates enter them, too."""
    guess = problem.guessed_curve
    if guess is not None and np.shape(guess(np.zeros(1)))[-1] > dynamics.n:
        return {}
    graph = graph_of(problem, [each.term for each in equations])
    entering = {leaf for each in equations for leaf in graph.leaf_pattern(each.term.quantity)}
    if "v" in entering:
        return {}
    curves = {name: problem.extras[name] for name in dynamics.controls}
    return {
        name: curve for name, curve in curves.items() if extra_leaf(name) in entering and not curve.is_guessed
    }


def _interval_times(unknowns: Unknowns, y: Array) -> Array:
    """Seconds of the interval that each node lies in, (K, 1)."""
    curve = unknowns.curve(y)
    lengths = [
        duration * np.diff(basis.breakpoints)
        for basis, duration in zip(curve.bases, curve.durations, strict=True)
    ]
    return np.concatenate(lengths)[unknowns.nodes.span, None]


@dataclass(frozen=True, eq=False)
class _Algebraic:
    """x' = f(x, z), 0 = h(x, z) at all nodes at once, with z the controls `free`, (K, width).

    rates : the quantity x' - f, None of a system whose rates are not stated
    targets : of h, (m,);  lower, upper : of z, (width,)
    """

    chain: ChainRule
    rates: str | None
    equations: tuple[str, ...]
    targets: Array
    free: tuple[str, ...]
    lower: Array
    upper: Array

    @staticmethod
    def of(
        problem: Problem,
        dynamics: System,
        equations: Sequence[Constraint],
        free: Mapping[str, AdditionalCurve],
    ) -> _Algebraic:
        states = () if dynamics.rates is None else dynamics.equations
        names = [each.term.quantity for each in (*states, *equations)]
        graph = graph_of(problem, [each.term for each in (*states, *equations)])
        return _Algebraic(
            ChainRule(graph, names, [], list(graph.leaves)),
            names[0] if states else None,
            tuple(each.term.quantity for each in equations),
            np.concatenate([each.lower for each in equations]),
            tuple(extra_leaf(name) for name in free),
            np.concatenate([curve.lower for curve in free.values()]),
            np.concatenate([curve.upper for curve in free.values()]),
        )

    @property
    def needed(self) -> set[str]:
        graph = self.chain.graph
        return set(graph.inputs & graph.leaves.keys())

    def solved(self, leaves: Values, times: Array) -> tuple[Array, Array | None]:
        """x, and z on the equations, after the times (K, 1); z is None where it is not found."""
        x = leaves["q"]
        z = self.on_equations(leaves, x, np.concatenate([leaves[name] for name in self.free], axis=1))
        return (x, z) if z is None or self.rates is None else self._followed(leaves, x, z, times)

    def by_control(self, z: Array) -> Values:
        """The leaf of every control -> its columns of z."""
        ends = np.cumsum([self.chain.graph.width[name] for name in self.free])
        return dict(zip(self.free, np.split(z, ends[:-1], axis=1), strict=True))

    def _at(self, leaves: Values, x: Array, z: Array) -> tuple[Array, Array, Array, Array]:
        """f, h (K, n), (K, m), and their derivatives by x and z, (K, n + m, n + width)."""
        at = {**leaves, "q": x, "v": np.zeros_like(x), **self.by_control(z)}
        u, partials = self.chain.graph.values_and_partials({leaf: at[leaf] for leaf in self.needed})
        columns = [self.chain.columns[leaf] for leaf in ("q", *self.free)]
        D = self.chain.jacobian(partials, len(x), x.dtype)[:, :, np.r_[tuple(columns)]]
        rows = [D[:, self.chain.rows[name]] for name in self.equations]
        h = np.concatenate([u[name] for name in self.equations], axis=1) - self.targets
        if self.rates is None:
            return np.zeros_like(x), h, np.zeros((*x.shape, D.shape[2])), np.concatenate(rows, axis=1)
        return -u[self.rates], h, -D[:, self.chain.rows[self.rates]], np.concatenate(rows, axis=1)

    @property
    def _widths(self) -> Array:
        width = self.upper - self.lower
        return np.where(np.isfinite(width) & (width > 0.0), width, 1.0)

    def on_equations(self, leaves: Values, x: Array, z: Array) -> Array | None:
        """z on h(x, z) = 0 by Newton's method with halved steps, node by node."""
        n, widths = x.shape[1], self._widths
        for _ in range(30):  # steps of Newton's method
            _, h, _, D = self._at(leaves, x, z)
            sizes = np.abs(D[:, :, n:] * widths).sum(axis=2)
            if not np.all(np.isfinite(D) & np.isfinite(h)[..., None] & (sizes > 0.0)[..., None]):
                return None
            step = _steps(D[:, :, n:], h, widths)
            if step is None:
                return None
            if np.all(np.abs(step) <= SETTLED * widths):
                return z
            share, before, trial = np.ones((len(x), 1)), np.abs(h / sizes).max(axis=1), z
            for _ in range(10):  # halvings of a step
                trial = np.clip(z + share * step, self.lower, self.upper)
                now = np.abs(self._at(leaves, x, trial)[1] / sizes).max(axis=1)
                less = now <= np.maximum((1.0 - 0.1 * share[:, 0]) * before, ROUNDING)  # False of NaN
                if less.all():
                    break
                share[~less] /= 2.0
            z = trial
        return None

    def _followed(self, leaves: Values, x: Array, z: Array, times: Array) -> tuple[Array, Array]:
        """x and z after these times, or after the part of them in which steps of Euler's are solved."""
        gone, part = 0.0, 1e-7  # of an interval: the first step of Euler's method
        largest = np.abs(x).max(axis=0)
        sizes = np.concatenate([np.where(largest > 0.0, largest, 1.0), self._widths])
        for _ in range(100):  # steps of Euler's method, at most
            if gone >= 1.0:
                break
            after = self._euler(leaves, x, z, min(part, 1.0 - gone) * times, sizes)
            if after is None:
                part /= 4.0
                continue
            (x, z), gone, part = after, gone + part, 2.0 * part
        return x, z

    def _euler(
        self, leaves: Values, x: Array, z: Array, times: Array, sizes: Array
    ) -> tuple[Array, Array] | None:
        """x and z after one implicit step, x+ = x + times f(x+, z+), 0 = h(x+, z+); None if not solved."""
        n, first = x.shape[1], x
        for _ in range(6):  # steps of Newton's method within one step of Euler's
            f, h, of_f, of_h = self._at(leaves, x, z)
            of_x = -times[..., None] * of_f
            of_x[:, :, :n] += np.eye(n)
            residual = np.concatenate([x - first - times * f, h], axis=1)
            step = _steps(np.concatenate([of_x, of_h], axis=1), residual, sizes)
            if step is None or not np.all(np.isfinite(step)):
                return None
            x, z = x + step[:, :n], np.clip(z + step[:, n:], self.lower, self.upper)
            if np.all(np.abs(step) <= SETTLED * sizes):
                return x, z
        return None


def _steps(matrix: Array, residual: Array, sizes: Array) -> Array | None:
    """Newton's steps (K, columns), the shortest relative to the sizes where columns are more than rows."""
    scaled = matrix * sizes
    try:
        if matrix.shape[1] == matrix.shape[2]:
            return -sizes * np.linalg.solve(scaled, residual[..., None])[..., 0]
        return -sizes * (np.linalg.pinv(scaled) @ residual[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return None
