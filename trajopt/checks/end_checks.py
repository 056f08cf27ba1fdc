"""Checks what compares ends of a motion and of its arcs: periodicity, continuity, durations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trajopt.checks.check_result import CheckResult
from trajopt.checks.check_times import node_samples
from trajopt.checks.peaks import Worst
from trajopt.checks.scales import periodicity_scales
from trajopt.problem.units import units_of
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import side_violations
from trajopt.splines.polynomial_bounds import pieces_of
from trajopt.terms import term as terms
from trajopt.transcription.unknowns import continuity_name


def end_checks(solution: SolutionData) -> Iterator[CheckResult]:
    """Periodicities, then continuity at the borders of arcs, then durations."""
    yield from _periodicities(solution)
    yield from _continuity(solution)
    yield from _durations(solution)


def _periodicities(solution: SolutionData) -> Iterator[CheckResult]:
    """term(T)_i - signs_i term(0)_order(i) - offset_i = 0."""
    problem, T = solution.problem, solution.duration
    if not problem.periodicities:
        return
    scales = periodicity_scales(solution, node_samples(solution))
    for periodicity in problem.periodicities:
        first, last = solution.value(periodicity.term, np.array([0.0, T]))
        gap = last - periodicity.signs * first[periodicity.order] - periodicity.offset
        names = problem.component_names(periodicity.term.quantity, gap.size)
        units = units_of(problem, periodicity.term, gap.size)
        each = zip(names, np.abs(gap), scales[periodicity.term.quantity], units, strict=True)
        for name, miss, scale, unit in each:
            yield _equation(periodicity.name, name, unit, float(scale), float(miss), T)


def _continuity(solution: SolutionData) -> Iterator[CheckResult]:
    """Jumps at the borders of arcs of what is continuous there, the worst of each joint."""
    curve, problem = solution.curve, solution.problem
    n, borders = problem.dynamics.n, len(curve.bases) - 1
    if not borders:
        return
    units = [units_of(problem, leaf, n) for leaf in (terms.q, terms.v, terms.a)]
    cut = borders != len(problem.trajectory.arcs) - 1  # by a refinement: at its switches torques may jump
    kept = np.ones((borders, n)) if cut else problem.continuity_at_borders
    for order in range(int(kept.max(initial=-1)) + 1):
        sizes = np.abs(curve(solution.node_times, order)[:, :n]).max(axis=0)
        sizes = np.maximum(sizes, 1e-6 * sizes.max()) if sizes.max() > 0.0 else np.ones(n)
        for joint, name in enumerate(problem.dynamics.joint_names):
            pieces = pieces_of(curve, joint, order)
            at_border = np.isin(pieces.start[1:], curve.starts[1:-1][kept[:, joint] >= order])
            if not at_border.any():
                continue
            jumps = np.abs(pieces.coefficients[1:, 0] - pieces.coefficients[:-1, -1]) * at_border
            worst = int(np.argmax(jumps))
            label, unit = continuity_name(("q", "v", "a")[order]), units[order][joint]
            yield _equation(
                label, name, unit, float(sizes[joint]), float(jumps[worst]), float(pieces.start[1:][worst])
            )


def _durations(solution: SolutionData) -> Iterator[CheckResult]:
    """Durations of arcs within their bounds; of the whole motion where one arc was cut into several."""
    arcs, durations = solution.problem.trajectory.arcs, np.asarray(solution.curve.durations)
    if len(arcs) == 1:
        durations = np.array([solution.duration])
    if len(arcs) != durations.size:
        return
    for index, (arc, T) in enumerate(zip(arcs, durations.tolist(), strict=True)):
        shortest, longest = arc.duration_bounds
        lower, upper = side_violations(T, shortest, longest)
        time = float(solution.curve.starts[index])
        sides = Worst(float(lower), time), Worst(float(upper), time)
        name = "duration" if len(arcs) == 1 else f"duration of arc {index}"
        yield CheckResult(name, "", "s", shortest, longest, (T, T), sides, None, "evaluated", size=T)


def _equation(name: str, component: str, unit: str, scale: float, miss: float, time: float) -> CheckResult:
    sides = Worst(-miss, time), Worst(miss, time)
    return CheckResult(name, component, unit, 0.0, 0.0, (scale, scale), sides, None, "evaluated", size=scale)
