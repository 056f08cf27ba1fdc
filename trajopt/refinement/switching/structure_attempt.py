"""One switching structure, solved on its arcs and corrected until all checks confirm it or one refutes it.

The checks: the solve converges; multipliers have the signs of the bounds (`structure_correction`,
`multiplier_signs`); no limit is violated between Gauss points; inactive limits have no multipliers; the
objective does not depend on joints that the structure leaves free; no spline is better.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from trajopt.errors import TrajoptError
from trajopt.problem.problem import Problem
from trajopt.refinement.search_settings import SearchSettings
from trajopt.refinement.switching.arc_gain import arc_gain
from trajopt.refinement.switching.arc_problem import arc_problem, is_free, read_back
from trajopt.refinement.switching.multiplier_signs import velocity_sign_check
from trajopt.refinement.switching.structure_correction import (
    active_outside_structure,
    contradictions,
    corrected_signs,
    corrected_violation,
    of_free_joints,
    without_collapsed,
    without_idle,
)
from trajopt.solution.certificate import Certificate
from trajopt.solution.first_order_gain import FirstOrderGain
from trajopt.solution.sign_check import Contradiction, sign_check
from trajopt.solution.solution import Solution
from trajopt.solution.solve_once import solve_once
from trajopt.solution.switching_structure import ArcSettings, Structure
from trajopt.solution.violation import LimitViolation, largest_violations, path_limits, relative_violations
from trajopt.solvers.capabilities import StartPreset
from trajopt.solvers.solver import Status
from trajopt.solvers.time_budget import SolvesStopped, TimeBudget


@dataclass
class ArcSolves:
    """Solves on switching arcs, and a count of what they took.

    iterations, count : of all solves
    effort : iterations, those of large programs in proportion to their size
    """

    solver: TimeBudget
    settings: SearchSettings
    iterations: int = 0
    count: int = 0
    effort: float = 0.0

    def solve(self, problem: Problem) -> Solution:
        """Solve with few iterations, from two starts: on a wrong structure a solve takes hundreds."""
        brief = self.solver.with_max_iterations(self.settings.arc_iterations)
        brief = brief.with_row_tolerances(self.settings.row_tolerances)
        solution = self._solve(problem, brief.with_start_preset(StartPreset.NEAR_START))
        if not solution.converged:
            again = self._solve(problem, brief.with_start_preset(StartPreset.NEAR_BOUNDS))
            solution = again if again.converged else solution
        return solution

    def _solve(self, problem: Problem, solver: TimeBudget) -> Solution:
        solution = solve_once(problem, solver)
        if solution.status is Status.ACCEPTABLE and solution.kkt.error <= self.settings.optimal:
            solution = replace(solution, status=Status.CONVERGED)
        size = solution.n_variables + solution.n_constraints
        self.iterations, self.count = self.iterations + solution.iterations, self.count + 1
        self.effort += solution.iterations * max(1.0, size / self.settings.large_program)
        return solution


@dataclass
class StructureAttempt:
    """Solves and corrections of one structure.

    solves : the solver on arcs, with its counts
    asked : the problem to solve
    spline : the finest spline solution; arcs may not be worse
    motion : the solution that the structure was read from, then the last one on arcs
    regular : controls are continuous
    degree : of the arcs
    tol : largest violation of a limit, in its unit
    rounds : largest number of corrections
    """

    solves: ArcSolves
    asked: Problem
    spline: Solution
    motion: Solution
    structure: Structure
    regular: bool
    degree: int
    tol: float
    rounds: int
    settings: SearchSettings
    arc_settings: ArcSettings = field(init=False)
    reason: str = ""
    short_arcs_removed: int = 0
    doubtful_from: Structure | None = None  # before an arc was removed after an unconverged solve
    gain: FirstOrderGain | None = None
    confirmed: Solution | None = None  # while arcs of higher degree are tried
    velocities_checked: int = 0  # pairs of arc and velocity at its limit whose multipliers were checked

    def run(self) -> Solution | str:
        """The certified solution, or why the structure is not confirmed."""
        try:
            outcome = self._corrected()
        except (SolvesStopped, KeyboardInterrupt, TrajoptError):
            if self.confirmed is None:
                raise
            return self.confirmed
        return self.confirmed if isinstance(outcome, str) and self.confirmed is not None else outcome

    def _corrected(self) -> Solution | str:
        """Rounds of solves and corrections until one confirms the structure or refutes it."""
        none = tuple((0.0,) * limit.lower.size for limit in path_limits(self.motion))
        self.arc_settings = ArcSettings(self.regular, self.settings.effort_weight, none, none)
        visits: Counter = Counter()
        allowed, before = self.settings.attempt_iterations, self.solves.effort
        for _ in range(self.rounds):
            if self.solves.effort - before > allowed:
                because = f"{self.reason}; " if self.reason else ""
                return f"{because}no structure was confirmed within {allowed} iterations on arcs"
            visits[(self.structure.saturated, self.degree, self.arc_settings)] += 1
            if max(visits.values()) > 2:
                return f"{self.reason}; corrections repeat themselves"
            outcome = self._round()
            if outcome is not None:
                return outcome
        return f"{self.reason} after {self.rounds} rounds"

    def _round(self) -> Solution | str | None:
        """Solve and correct; None asks for another round."""
        trial = self.solves.solve(
            arc_problem(
                self.asked,
                self.structure,
                self.motion,
                self.degree,
                self.arc_settings,
                self.settings.shortest_arc,
            )
        )
        if not trial.converged and self._has_free_joints():
            return (
                f"the arcs did not converge ({trial.status.value})"  # finer knots say more than corrections
            )
        now = self.structure.with_times(trial.curve.durations)
        s = self.settings
        collapsed = s.collapsed if trial.converged else s.collapsed_unconverged
        fewer = without_collapsed(now, trial.duration, collapsed)
        if fewer is not now:
            if not trial.converged:  # its durations are no evidence which arc collapses
                self.doubtful_from = self.structure
            self.structure, self.reason = fewer, "arcs collapse"
            self.motion = trial if trial.converged else self.motion
            return None
        if not trial.converged:
            return self._after_no_convergence(trial)
        self.structure, self.motion = now, read_back(trial, self.asked, now)
        self.velocities_checked, wrong_velocities = velocity_sign_check(trial, self.asked, now)
        wrong = contradictions(self.motion, now)
        if self._corrected_by_multipliers(wrong):
            return None
        if wrong_velocities and wrong_velocities[0].impulse > s.contradicted_free:
            return (
                "multipliers of a velocity at its limit have the wrong sign: going slower would pay "
                f"(relative impulse {wrong_velocities[0].impulse:.1e})"
            )
        both = tuple(sorted((*wrong, *wrong_velocities), key=lambda each: -each.impulse))
        violations = tuple(largest_violations(self.motion))
        self.gain = arc_gain(trial, self.asked, now, violations, self.arc_settings)
        return self._judged(violations, both)

    def _sharpened(self, outcome: Solution | str | None) -> Solution | str | None:
        """Ask for arcs of higher degree while oversteps gain; a solution that is confirmed is kept."""
        if not isinstance(outcome, Solution) or self.gain is None:
            return outcome
        before = None if self.confirmed is None else self.confirmed.certificate
        known = np.inf if before is None or before.gain is None else before.gain.of_oversteps
        if known <= self.gain.of_oversteps:
            return self.confirmed
        self.confirmed = outcome
        sharp = self.gain.of_oversteps <= self.settings.overstep_gain
        return outcome if sharp or not self._with_higher_degree("oversteps gain") else None

    def _has_free_joints(self) -> bool:
        return is_free(self.structure, self.asked.dynamics.n, self.regular)

    def _after_no_convergence(self, trial: Solution) -> str | None:
        """Remove a short arc and ask for another round, a limited number of times; else say what happened."""
        if self.short_arcs_removed < self.settings.most_short_arcs:
            fewer = self._without_short_arc()
            if fewer is not None:
                self.structure, self.reason = fewer, "a short arc was removed"
                self.short_arcs_removed += 1
                return None
        because = f"{self.reason}, then " if self.reason else ""
        return f"{because}the arcs did not converge ({trial.status.value})"

    def _without_short_arc(self) -> Structure | None:
        """The structure, or that before a doubtful removal, without a short arc; None if neither has one."""
        for structure in (self.structure, self.doubtful_from):
            if structure is not None:
                fewer = without_collapsed(structure, structure.times[-1], self.settings.short_arc)
                if fewer is not structure:
                    return fewer
        return None

    def _corrected_by_multipliers(self, wrong: tuple[Contradiction, ...]) -> bool:
        s = self.settings
        if wrong and wrong[0].impulse > (s.contradicted_free if self._has_free_joints() else s.contradicted):
            self.reason = f"multipliers contradict the structure (relative impulse {wrong[0].impulse:.1e})"
            self.structure = corrected_signs(self.structure, wrong[0], self.regular, s)
            return True
        fewer = without_idle(self.motion, self.structure, s)
        if fewer is not self.structure:
            self.structure, self.reason = fewer, "saturated limits have no multipliers"
            return True
        return False

    def _judged(
        self, violations: tuple[LimitViolation, ...], wrong: tuple[Contradiction, ...]
    ) -> Solution | str | None:
        """Confirm the structure if its limits hold; else split an arc, raise the degree or tighten limits."""
        if not violations or max(violation.value for violation in violations) <= self.tol:
            return self._sharpened(self._confirmed(violations, wrong))
        relative = relative_violations(self.motion, violations)
        largest = int(np.argmax(relative))
        worst = violations[largest]
        self.reason = f"the arcs violate {worst.name} of {worst.component} by {worst.value:.3g}"
        free = of_free_joints(self.motion, self.structure, violations, self.regular)
        s = self.settings
        if max(relative) > (s.wrong_structure_free if free[largest] else s.wrong_structure):
            split = corrected_violation(self.motion, self.structure, worst, s)
            if split is None:
                return self.reason
            self.structure = split
        elif all(f or violation.value <= self.tol for f, violation in zip(free, violations, strict=True)):
            margins = self._grown(self.arc_settings.free_margins, violations)
            self.arc_settings = replace(self.arc_settings, free_margins=margins)
        elif not self._with_higher_degree(self.reason):
            margins = self._grown(self.arc_settings.margins, violations)
            self.arc_settings = replace(self.arc_settings, margins=margins)
        return None

    def _with_higher_degree(self, reason: str) -> bool:
        """Raise the degree of the arcs; False at the highest."""
        if self.degree + 2 > self.settings.highest_degree:
            return False
        self.degree, self.reason = self.degree + 2, reason
        return True

    def _grown(
        self, margins: tuple[tuple[float, ...], ...], violations: tuple[LimitViolation, ...]
    ) -> tuple[tuple[float, ...], ...]:
        """Every component's margin grown by its own violation: limits that hold stay exact."""
        factor = self.settings.margin_factor
        growth = iter([max(0.0, factor * violation.value) for violation in violations])
        return tuple(tuple(margin + next(growth) for margin in limit) for limit in margins)

    def _confirmed(
        self, violations: tuple[LimitViolation, ...], wrong: tuple[Contradiction, ...]
    ) -> Solution | str | None:
        motion, spline = self.motion, self.spline
        bound = spline.objective + self.settings.objective_tolerance * abs(spline.objective) + 1e-12
        if motion.objective > bound and motion.objective > bound + _gained_by_violation(spline):
            return f"the arcs reach {motion.objective:.8g}, a spline {spline.objective:.8g}"
        doubt = active_outside_structure(motion, self.structure, self.settings) or self._undetermined()
        if doubt and self._with_less_effort_weight(doubt):
            return None
        if doubt:
            return doubt
        signs = sign_check(motion, self.structure, wrong, self.regular, self.velocities_checked)
        certificate = Certificate(
            tolerance=self.tol,
            violations=violations,
            method="switching arcs",
            structure=self.structure,
            rounds=self.solves.count,
            reason="",
            signs=signs,
            settings=self.arc_settings,
            motion=replace(motion, known_problem=self.asked),  # its statements are those that were asked
            gain=self.gain,
        )
        if certificate.failing:
            return f"on the arcs {certificate.failing[0]}"
        return replace(motion, certificate=certificate)

    def _with_less_effort_weight(self, doubt: str) -> bool:
        """Lower the effort weight of free joints, which may be the cause of a doubt; False at the least."""
        weight = self.arc_settings.effort_weight
        if not self._has_free_joints() or weight <= self.settings.least_effort_weight:
            return False
        weight *= self.settings.effort_weight_factor
        self.arc_settings = replace(self.arc_settings, effort_weight=weight)
        self.reason = doubt
        return True

    def _undetermined(self) -> str:
        """Why a structure is wrong whose objective depends on the motion of its free joints, or nothing."""
        if not self._has_free_joints():
            return ""
        motion = self.motion
        half = replace(self.arc_settings, effort_weight=0.5 * self.arc_settings.effort_weight)
        problem = arc_problem(
            self.asked, self.structure, motion, self.degree, half, self.settings.shortest_arc
        )
        other = read_back(self.solves.solve(problem), self.asked, self.structure)
        change = abs(other.objective - motion.objective) / max(abs(motion.objective), 1e-300)
        if other.converged and change <= self.settings.objective_change:
            return ""
        return (
            "the objective depends on how joints move that the structure leaves free (half the weight of "
            f"their effort changes it by {change:.1e}): they have switches that are not resolved"
        )


def _gained_by_violation(solution: Solution) -> float:
    """Estimate of what a solution gained in objective by violating limits between its nodes."""
    largest = max(relative_violations(solution, largest_violations(solution)), default=0.0)
    return max(largest, 0.0) * abs(solution.objective)
