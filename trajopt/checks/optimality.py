"""Multipliers of a solution over time: the gain of finer knots in every span, and costates; labels of rows.

To first order, for every limit with the multiplier density lambda(t) (a dual weighted residual),

    gain of a span = integral of |lambda(t)| |value(t) - bound(t)| dt,

where bound(t) is the bound at which the sign of lambda says that the limit is active. The indicator is large
at switches, and where a spline ripples below an active limit.

The costates lambda of a system x' = f(x, u, t, p) are the change of the optimal cost per unit of each state.

    lambda(t) = dJ / dx(t),    -lambda' = dL/dx + lambda f_x

J is the cost that is left from t on, with all constraints. In the program the equations 0 = x' - f at node k
have multipliers mu_k. As sum_k mu_k (x' - f)_k stands for the integral of -lambda (x' - f),

    lambda_k = -mu_k / (w_k T),

with the weight w_k of the node in the normalised time of its arc, and T the duration of that arc (Hager,
Runge-Kutta methods in optimal control and the transformed adjoint system, 2000; Garg et al., 2010, for Radau
points). Between the nodes of a span it is their polynomial, of one degree less than the states.

Labels name the rows and bounds of a program: constraint, component, time and unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import check_known
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.base.tolerances import NOT_ZERO
from trajopt.checks.peaks_between_nodes import limits_over
from trajopt.problem.phases import Asked
from trajopt.problem.problem import ProblemData
from trajopt.problem.systems.state_equations import EQUATIONS, StateEquations
from trajopt.solution.solution import Solution, confirmed_mesh_of
from trajopt.solvers.kkt import bound_violation
from trajopt.splines.basis import SplineBasis
from trajopt.splines.curve import Curve
from trajopt.splines.trajectory import Trajectory
from trajopt.transcription.linked_program import LinkedProgram, placed_parts
from trajopt.transcription.nlp import NLP
from trajopt.transcription.unknowns import Label, RowLabel, UnknownLabels

SAMPLES_PER_SPAN = 16  # times at which the distance from a limit is averaged
SIGNIFICANT_DENSITY = 1e-5  # of the largest: below it a multiplier is one that an inactive limit is left with


def gains_of_limits(
    solution: Solution, samples: int = SAMPLES_PER_SPAN, significant: float = SIGNIFICANT_DENSITY
) -> list[NDArray[np.float64]]:
    """Gain in units of the objective, (spans,) for every arc; zeros where there are no path limits.

    samples : times per span
    significant : multipliers per second below this part of the largest are taken as zero
    """
    return [
        _gain_by_span(solution, edges, samples, significant) for edges in solution.curve.knot_times_of_arcs
    ]


def _gain_by_span(solution: Solution, edges: Array, samples: int, significant: float) -> Array:
    """Gain of every span between neighbouring edges in seconds, (spans,).

    A violated limit counts in addition, its violation relative to its range times the objective's share of
    the span: it may have no multiplier.
    """
    lengths, times = np.diff(edges), times_in_spans(edges, samples).T
    total = np.zeros(lengths.size)
    for limit in solution.problem.path_limits():
        values = solution.value(limit.term, times)
        width = limit.upper - limit.lower
        width = np.where(np.isfinite(width), np.maximum(width, NOT_ZERO), 1.0)
        lower, upper = limits_over(limit, solution.curve, times)
        violation = bound_violation(values, lower, upper) / width
        share = lengths / solution.duration * abs(solution.objective)
        total += share * np.maximum(violation, 0.0).mean(axis=0).sum(axis=1)
        multipliers = solution.multipliers.get(limit.name)
        if multipliers is not None and multipliers.shape[0] == solution.node_times.size:
            density = _density(multipliers, solution.node_times, edges, significant)
            bound = np.where(density > 0.0, upper, lower)
            deviation = np.where(density != 0.0, np.abs(values - bound), 0.0).mean(axis=0)
            total += (np.abs(density) * deviation).sum(axis=1) * lengths
    return total


def times_in_spans(edges: Array, samples: int) -> Array:
    """The middles of so many equal parts of every span between neighbouring edges, (spans, samples)."""
    return edges[:-1, None] + np.diff(edges)[:, None] * ((np.arange(samples) + 0.5) / samples)


def _density(multipliers: Array, times: Array, edges: Array, significant: float) -> Array:
    """Multipliers per second, (spans, width), each averaged over three spans.

    multipliers : (nodes, width), at these times
    """
    span = np.searchsorted(edges, times, side="right") - 1
    inside = (times >= edges[0]) & (times <= edges[-1])
    impulse = np.zeros((edges.size - 1, multipliers.shape[1]))
    np.add.at(impulse, np.clip(span[inside], 0, edges.size - 2), multipliers[inside])
    window, lengths = np.ones(3), np.diff(edges)
    summed = np.stack([np.convolve(column, window)[1:-1] for column in impulse.T], axis=1)
    density = summed / np.convolve(lengths, window)[1:-1, None]
    return np.where(np.abs(density) > significant * max(np.abs(density).max(), NOT_ZERO), density, 0.0)


def costate(solution: Solution, state: str) -> Curve:
    """See `Solution.costate`."""
    dynamics = solution.problem.dynamics
    if not isinstance(dynamics, StateEquations) or dynamics.rates is None:
        raise OptionError(
            f"'{solution.name}' has no states of x' = f(x, u, t, p), whose costates these are: write its "
            "equations as trajopt.system(states, controls, rates)"
        )
    names = [name for name, _, _ in dynamics.rates_of_states]
    check_known(f"state of '{solution.name}'", state, dict.fromkeys(names))
    own = [i for i, name in enumerate(names) if name == state]
    multipliers, mesh = solution.multipliers.get(EQUATIONS), confirmed_mesh_of(solution)
    if multipliers is None or mesh is None:
        raise OptionError(
            f"the solution of '{solution.name}' has no multipliers of '{EQUATIONS}' at its problem's nodes"
        )
    return costate_curve(mesh, solution.curve.durations, multipliers[:, own])


def costate_curve(mesh: Trajectory, durations: Array, multipliers: Array) -> Curve:
    """Polynomials through -mu / (w T) on every span, from the multipliers mu (K, width) at all nodes."""
    nodes, bases, points = mesh.nodes, [], []
    for number, arc in enumerate(mesh.arcs):
        collocated = np.flatnonzero((nodes.arc == number) & (nodes.weight > 0.0))
        weights = nodes.weight[collocated] * durations[number]
        values, span = -multipliers[collocated] / weights[:, None], nodes.span[collocated]
        order = int(np.sum(arc.unit_rule[1] > 0.0))
        basis = SplineBasis.with_continuity(arc.basis.breakpoints, order - 1, -1)
        at = basis.local_values(span - span[0], nodes.s[collocated])[0]
        pieces = np.linalg.solve(at.reshape(-1, order, order), values.reshape(-1, order, values.shape[1]))
        bases.append(basis)
        points.append(pieces.reshape(values.shape))
    return Curve(tuple(bases), tuple(points), durations)


@dataclass(frozen=True)
class LimitPlace:
    """One row or bound of a problem, named."""

    limit: str
    component: str
    time: float | None

    def __str__(self) -> str:
        when = "" if self.time is None else f" at t = {self.time:.4f} s"
        return f"{self.limit}{', ' * bool(self.component)}{self.component}{when}"


class LimitLabels:
    """Names, times and units of the rows and bounds of a program, (m + n,) each.

    Of phases the name of each limit begins with that of its phase; the equations between phases have none.

    keys : (constraint, component)
    units, parts : factors from a scaled violation to one in the limit's unit, and to a part of the limit
    """

    def __init__(self, asked: Asked, program: NLP | LinkedProgram, y: Array) -> None:
        phases, problems, coupled = [""], asked.parts, ()
        if isinstance(program, LinkedProgram):
            phases = [f"{name}: " for name in program.phases.phase_names]
            problems, coupled = program.linked.problems, program.coupling.labels
        rows, bounds = [], []
        for phase, problem, (nlp, place, *_) in zip(phases, problems, placed_parts(program), strict=True):
            lines = _lines(phase, problem, nlp, np.ascontiguousarray(y[place]))
            rows += lines[: nlp.row_count]
            bounds += lines[nlp.row_count :]
        rows += [_Line(f"link of {each}", "", None, f"link of {each}", 1.0, 1.0) for each in coupled]
        self._lines = [*rows, *bounds]
        self.units, self.parts = (np.array([line[k] for line in self._lines]) for k in (-2, -1))
        self.keys = [line[:2] for line in self._lines]

    def name(self, index: int) -> str:
        """A row by its phase, constraint, component and time, an unknown by its phase and its own label."""
        return self._lines[index].name

    def members(self, place: LimitPlace) -> Array:
        """All rows and bounds of a component of a limit, of all components where none is named."""
        asked = (place.limit, place.component)[: 1 + bool(place.component)]
        return np.flatnonzero([key[: len(asked)] == asked for key in self.keys])

    def place(self, index: int) -> LimitPlace:
        return LimitPlace(*self._lines[index][:3])


class _Line(NamedTuple):
    """One row or bound, in the order of the lists of `LimitLabels`."""

    limit: str
    component: str
    time: float | None
    name: str
    unit: float
    part: float


def _lines(phase: str, problem: ProblemData, nlp: NLP, y: Array) -> list[_Line]:
    """The rows, then the bounds, of the program of one problem."""
    unknowns, count = UnknownLabels(problem, nlp.unknowns.layout), nlp.row_count
    labels: list[Label] = [*nlp.row_labels]
    labels += [unknowns.label(int(column)) for column in nlp.unknowns.elimination.free]
    times = nlp.unknowns.node_times(y)
    units = np.concatenate([1.0 / nlp.row_scale, np.ones(nlp.variable_count)])
    parts = np.ones(units.size)
    _measure_velocities(problem, nlp, float(np.mean(nlp.unknowns.curve(y).durations)), units, parts)
    for place in nlp.durations:
        known = [b for b in (nlp.lower[place], nlp.upper[place]) if np.isfinite(b) and b > 0.0]
        parts[count + place] = 1.0 / max(known, default=1.0)
    found = []
    for label, unit, part in zip(labels, units, parts, strict=True):
        node = label.node if isinstance(label, RowLabel) else None
        own = LimitPlace(label.constraint, label.component, None if node is None else float(times[node]))
        name = own if isinstance(label, RowLabel) else label
        found.append(_Line(phase + own.limit, own.component, own.time, f"{phase}{name}", unit, part))
    return found


def _measure_velocities(problem: ProblemData, nlp: NLP, duration: float, units: Array, parts: Array) -> None:
    """Rows of velocity hulls are multiplied by the duration and bounded by zero."""
    limits = {c.name: c for c in problem.constraints if c.hold == "hull" and c.term.quantity == "v"}
    joints = list(problem.dynamics.joint_names)
    for row, label in enumerate(nlp.linear.labels):
        if isinstance(label, RowLabel):
            limit, joint = limits[label.constraint], joints.index(label.component)
            sizes = np.abs([limit.lower[joint], limit.upper[joint]])
            units[row] /= duration
            parts[row] = units[row] / (sizes[np.isfinite(sizes)].max(initial=0.0) or 1.0)
