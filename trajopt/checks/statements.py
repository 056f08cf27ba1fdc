"""Every statement of a problem evaluated on a solution: at its nodes, between them, at both sides of knots.

Violations are compared with the range of a limit or the scale of an equation. NaN counts as a violation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from trajopt.checks.check_times import Samples, node_samples, samples, trajectory_of
from trajopt.checks.equations.equation_scales import periodicity_scales
from trajopt.checks.equations.residual_forces import UNIT, residual_forces
from trajopt.checks.lines.acceleration_jumps import acceleration_jumps
from trajopt.checks.lines.integral_lines import measured_violations
from trajopt.checks.lines.integral_ranges import QUADRATURE
from trajopt.checks.lines.statement_line import StatementLine
from trajopt.checks.lines.violation_tracks import Track, narrowed, tracks
from trajopt.checks.proved_limits import MOST_JOINTS, Lines, proved_limits
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.implied_constraints import all_constraints
from trajopt.problem.units import units_of
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.violation import side_violations
from trajopt.terms import term as terms
from trajopt.transcription.unknowns import continuity_name


@dataclass(frozen=True)
class Violation:
    """Largest violation of a component of a statement, at nodes and on the dense grid; 0 where it holds.

    scale : range of the limit or scale of the equation, in its unit
    node_relative, dense_relative : the violation largest for its scale, divided by it; NaN where a value is
    equation : whether the statement is an equation
    nodes_only : it is stated for nodes, so that `dense_violation` is that at the nodes
    over_time : it is meant for all times of a part of the motion, and may be missed between nodes alone
    evidence : how what is told of the times between nodes is known: "proved", by an enclosure no violation
        exceeds the accuracy at any time, "sampled", or "evaluated" where it is stated for single times
    """

    name: str
    component: str
    node_violation: float
    node_time: float
    dense_violation: float
    dense_time: float
    limit: float = 1.0  # the largest finite bound
    scale: float = 1.0
    unit: str = ""
    node_relative: float = 0.0
    dense_relative: float = 0.0
    equation: bool = False
    nodes_only: bool = False
    over_time: bool = False
    evidence: Literal["proved", "sampled", "evaluated"] = "sampled"

    @property
    def label(self) -> str:
        """The constraint, and the component where there are several."""
        return f"{self.name}, {self.component}" if self.component else self.name

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"{self.label}: "
            f"{self.node_violation:.3g}{unit} at nodes (t = {self.node_time:.4f} s), "
            f"{self.dense_violation:.3g}{unit} between them (t = {self.dense_time:.4f} s)"
        )


def violations(solution: SolutionData, accuracy: float | None = None) -> list[Violation]:
    """One entry per bounded component of every statement, in the order in which they were made.

    accuracy : relative, between nodes; what is within it by samples is tried to be proved, if it is given
    """
    stated = all_constraints(solution.problem)
    nodes, dense = samples(solution)
    both = list(tracks(solution, stated, nodes, dense))
    narrowed(solution, [track for _, _, track in both if track is not None])
    lines = {} if accuracy is None else proved_limits(solution, both, accuracy)
    found = [
        entry
        for constraint, at, between in both
        for entry in _entries(solution, constraint, at, between, lines)
    ]
    found += _forces_together(solution, nodes, dense)
    found += _integrals(solution, accuracy)
    return [*found, *_periodicities(solution, nodes), *_continuity(solution), *_durations(solution)]


def _entries(
    solution: SolutionData, constraint: Constraint, at: Track, between: Track | None, lines: Lines
) -> Iterator[Violation]:
    problem = solution.problem
    quantity, width = constraint.term.quantity, constraint.lower.size
    labels, units = problem.component_names(quantity, width), units_of(problem, constraint.term, width)
    bounded = np.flatnonzero(np.isfinite(constraint.lower) | np.isfinite(constraint.upper))
    for component in map(int, bounded):
        node, dense = at.worst(component), (between or at).worst(component)
        line = lines.get((constraint, component))
        if line is not None and line.value > max(line.tolerance, dense.violation):  # met between samples
            dense = replace(dense, violation=line.value, time=line.time, scale=line.scale)
        jumps = acceleration_jumps(solution, constraint, component)
        if jumps.size:  # whatever it is on both sides
            dense = replace(dense, violation=np.inf, time=float(jumps[0]))
        yield Violation(
            constraint.name,
            labels[component],
            node.violation,
            node.time,
            dense.violation,
            dense.time,
            _largest_bound(constraint, component),
            dense.scale,
            units[component],
            node.relative,
            dense.relative,
            bool(constraint.lower[component] == constraint.upper[component]),
            between is None,
            between is not None and constraint.over.integrates,
            evidence=_evidence(constraint, line),
        )


def _evidence(
    constraint: Constraint, line: StatementLine | None
) -> Literal["proved", "sampled", "evaluated"]:
    if not constraint.over.integrates:
        return "evaluated"
    return "proved" if line is not None and line.evidence == "enclosure" and line.holds else "sampled"


def _largest_bound(constraint: Constraint, component: int) -> float:
    bounds = np.abs([constraint.lower[component], constraint.upper[component]])
    return float(bounds[np.isfinite(bounds)].max(initial=0.0))


def _forces_together(solution: SolutionData, nodes: Samples, dense: Samples) -> Iterator[Violation]:
    """The residuals of torque equations that hold together, as one force; at nodes each speaks for itself."""
    largest = {entry.owners: entry.largest for entry in residual_forces(solution, nodes)}
    for entry in residual_forces(solution, dense):
        worst, times = int(np.argmax(entry.missing)), dense.times[entry.at]
        miss, scale = float(entry.missing[worst]), max(entry.largest, largest.get(entry.owners, 0.0))
        yield Violation(
            "residual forces",
            f"{times.min():.3g} to {times.max():.3g} s",
            *(0.0, 0.0),
            miss,
            float(times[worst]),
            0.0,
            scale,
            UNIT,
            0.0,
            miss / scale,
            equation=True,
            over_time=True,
        )


def _integrals(solution: SolutionData, accuracy: float | None) -> Iterator[Violation]:
    """Bounded integrals as the motion gives them, "between nodes", and by the program's own quadrature.

    The motion's are enclosed, for up to 8 joints and if there is an accuracy, or by adaptive quadrature.
    """
    problem, trajectory = solution.problem, trajectory_of(solution)
    enclose = accuracy is not None and problem.dynamics.n <= MOST_JOINTS
    for bounded in problem.integrals:
        several = measured_violations(solution, bounded, accuracy or QUADRATURE, enclose)
        at_nodes = np.array([found.least for found in several])
        if trajectory is not None:
            T = solution.curve.durations[trajectory.nodes.arc]
            weights = T * bounded.over.cost_weights(trajectory)
            own = weights @ solution.value(bounded.term, node_samples(solution).times)
            at_nodes = bounded.violation(own)
        units, end = units_of(problem, bounded.term, len(several)), solution.duration
        for i, (found, unit) in enumerate(zip(several, units, strict=True)):
            miss, proved = float(at_nodes[i]), found.evidence == "enclosure"
            yield Violation(
                bounded.name,
                str(i) if len(several) > 1 else "",
                miss,
                end,
                found.value,
                found.time or end,
                found.scale,
                found.scale,
                f"{unit} s" if unit else "",
                miss / found.scale,
                found.value / found.scale,
                bool(bounded.lower[i] == bounded.upper[i]),
                evidence="proved" if proved and found.value <= (accuracy or 0.0) * found.scale else "sampled",
            )


def _periodicities(solution: SolutionData, nodes: Samples) -> Iterator[Violation]:
    problem = solution.problem
    scales = periodicity_scales(solution, nodes)
    for periodicity in problem.periodicities:
        first, last = solution.value(periodicity.term, np.array([0.0, solution.duration]))
        gap = last - periodicity.signs * first[periodicity.order] - periodicity.offset
        names = problem.component_names(periodicity.term.quantity, gap.size)
        units = units_of(problem, periodicity.term, gap.size)
        scale = scales[periodicity.term.quantity]
        for name, miss, size, unit in zip(names, np.abs(gap), scale, units, strict=True):
            yield _at_one_time(periodicity.name, name, float(miss), solution.duration, float(size), unit)


def _continuity(solution: SolutionData) -> Iterator[Violation]:
    """Jumps at the borders of arcs of what must be continuous there."""
    curve, problem = solution.curve, solution.problem
    n, borders = problem.dynamics.n, len(curve.bases) - 1
    units = [units_of(problem, leaf, n) for leaf in (terms.q, terms.v, terms.a)]
    same = borders == len(problem.trajectory.arcs) - 1  # not where refinement has cut its one arc
    kept = problem.continuity_at_borders if same else np.full((borders, n), problem.trajectory.continuity)
    for order in range(int(kept.max(initial=-1)) + 1):
        ends = [
            np.stack([basis.evaluate(points, np.array([s]), order)[0, :n] for s in (0.0, 1.0)]) / T**order
            for basis, points, T in zip(curve.bases, curve.control_points, curve.durations, strict=True)
        ]
        size = np.abs(curve(solution.node_times, order)[:, :n]).max(axis=0)
        size = np.maximum(size, 1e-6 * size.max()) if size.max() > 0.0 else np.ones(n)
        jumps = np.abs([later[0] - earlier[1] for earlier, later in pairwise(ends)]) * (kept >= order)
        for joint, name in enumerate(problem.dynamics.joint_names):
            if not np.any(kept[:, joint] >= order):
                continue
            worst = int(np.argmax(jumps[:, joint]))
            miss, when = float(jumps[worst, joint]), float(curve.starts[worst + 1])
            label = continuity_name(("q", "v", "a")[order])
            yield _at_one_time(label, name, miss, when, float(size[joint]), units[order][joint])


def _durations(solution: SolutionData) -> Iterator[Violation]:
    """Durations of arcs against their bounds; of the whole motion where refinement has cut its one arc."""
    arcs, durations = solution.problem.trajectory.arcs, np.asarray(solution.curve.durations)
    if len(arcs) == 1:
        durations = np.array([solution.duration])
    if len(arcs) != durations.size:
        return
    for index, (arc, T) in enumerate(zip(arcs, durations, strict=True)):
        shortest, longest = arc.duration_bounds
        miss = float(np.maximum(np.max(side_violations(T, shortest, longest)), 0.0))
        name = "duration" if len(arcs) == 1 else f"duration of arc {index}"
        yield _at_one_time(name, "", miss, float(solution.curve.starts[index]), float(T), "s")


def _at_one_time(name: str, component: str, miss: float, time: float, scale: float, unit: str) -> Violation:
    ratio = miss / scale
    seen = (miss, time, miss, time, 0.0, scale, unit, ratio, ratio)
    return Violation(name, component, *seen, equation=True, nodes_only=True, evidence="evaluated")
