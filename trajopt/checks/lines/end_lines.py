"""Statements that compare ends: periodicity, continuity at the borders of arcs, durations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from trajopt.checks.check_times import node_samples
from trajopt.checks.equations.equation_scales import periodicity_scales
from trajopt.checks.lines.statement_line import AT_TIMES, EXACT, Evidence, StatementLine
from trajopt.solvers.optimality.violation import side_violations
from trajopt.splines.polynomial_bounds import pieces_of
from trajopt.transcription.unknowns import continuity_name

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData


def periodicity_lines(solution: SolutionData) -> Iterator[StatementLine]:
    """term(T)_i - signs_i term(0)_order(i) - offset_i."""
    problem, T = solution.problem, solution.duration
    if not problem.periodicities:
        return
    scales = periodicity_scales(solution, node_samples(solution))
    for periodicity in problem.periodicities:
        first, last = solution.value(periodicity.term, np.array([0.0, T]))
        gap = np.abs(last - periodicity.signs * first[periodicity.order] - periodicity.offset)
        names = problem.component_names(periodicity.term.quantity, gap.size)
        for name, miss, scale in zip(names, gap, scales[periodicity.term.quantity], strict=True):
            yield _equation(periodicity.name, name, float(miss), T, float(scale))


def continuity_lines(solution: SolutionData) -> Iterator[StatementLine]:
    """Jumps at the borders of arcs of what is continuous there, the worst of each joint."""
    curve, problem = solution.curve, solution.problem
    if len(curve.bases) == 1:
        return
    refined = len(problem.trajectory.arcs) != len(curve.bases)  # at switches torques may jump
    shape = len(curve.bases) - 1, problem.dynamics.n
    kept = np.ones(shape) if refined else problem.continuity_at_borders
    for order in range(int(kept.max()) + 1):
        for joint, name in enumerate(problem.dynamics.joint_names):
            pieces = pieces_of(curve, joint, order)
            at_border = np.isin(pieces.start[1:], curve.starts[1:-1][kept[:, joint] >= order])
            if not at_border.any():
                continue
            jumps = np.abs(pieces.coefficients[1:, 0] - pieces.coefficients[:-1, -1]) * at_border
            worst = int(np.argmax(jumps))
            scale = float(np.abs(pieces.coefficients).max()) or 1.0
            label = continuity_name(("q", "v", "a")[order])
            yield _equation(label, name, float(jumps[worst]), float(pieces.start[1:][worst]), scale)


def duration_lines(solution: SolutionData) -> Iterator[StatementLine]:
    """Durations of arcs within their bounds; of the whole motion where one arc was cut into several."""
    arcs, durations = solution.problem.trajectory.arcs, np.asarray(solution.curve.durations)
    asked = [arc.duration_bounds for arc in arcs]
    if len(arcs) == 1:
        durations = np.array([solution.duration])
    for index, (shortest, longest) in enumerate(asked if durations.size == len(asked) else ()):
        T = float(durations[index])
        miss = float(np.maximum(*side_violations(T, shortest, longest)))
        name = "duration" if len(arcs) == 1 else f"duration of arc {index}"
        time = float(solution.curve.starts[index])
        fixed = shortest == longest
        evidence: Evidence = "identity" if fixed and abs(miss) <= EXACT * T else "evaluated"
        yield StatementLine(name, "", miss, time, AT_TIMES * T, evidence, scale=T, equation=fixed)


def _equation(name: str, component: str, miss: float, time: float, scale: float) -> StatementLine:
    evidence: Evidence = "identity" if miss <= EXACT * scale else "evaluated"
    return StatementLine(name, component, miss, time, AT_TIMES * scale, evidence, scale=scale, equation=True)
