"""One switching structure, solved on its arcs and corrected until all checks confirm it or one refutes it.

The checks: the solve converges; multipliers have the signs of the bounds (`structure_correction`); no limit
is violated between Gauss points; inactive limits have no multipliers; the objective does not depend on joints
that the structure leaves free; no spline is better.

Its solves on switching arcs are brief, begin from several starts, and are counted.
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from trajopt.base.arguments import pluralize
from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.base.tolerances import NOT_ZERO
from trajopt.certificates.arc_problem import arc_problem, is_free, read_back
from trajopt.certificates.certificate import Certificate
from trajopt.certificates.switching_structure import (
    ArcSettings,
    Contradiction,
    Saturation,
    Structure,
    component_label,
    sign_check,
)
from trajopt.certified.search_settings import SearchSettings
from trajopt.certified.switching.arc_resolution import ArcGain, arc_gain, finer
from trajopt.certified.switching.boundary_arcs import boundary_sign_check
from trajopt.certified.switching.structure_correction import (
    active_outside_structure,
    contradictions,
    corrected_signs,
    corrected_violation,
    of_free_joints,
    without_collapsed,
    without_idle,
)
from trajopt.checks.line import Line
from trajopt.checks.violations import largest_violations
from trajopt.problem.problem import Problem
from trajopt.solution.journal import Attempt, Journal
from trajopt.solution.solution import Solution
from trajopt.solvers.newton.square_newton import SquareNewton
from trajopt.solvers.run import Fallback, SolvesStopped
from trajopt.solvers.solver import Run, StartKind, Status


@dataclass
class ArcSolves:
    """Solves on switching arcs, and a count of what they took.

    Where limits determine all joints there are as many equations as unknowns, which Newton's method solves;
    the solver of the journal solves the other programs, and what Newton's steps do not.

    count : of all solves
    effort, largest : as `SearchSettings.effort_of` counts it, of all solves and of one
    """

    journal: Journal
    settings: SearchSettings
    count: int = 0
    effort: float = 0.0
    largest: float = 0.0

    @property
    def exhausted(self) -> bool:
        """True if a further solve may exceed what all are allowed."""
        return self.effort + self.largest >= self.settings.total_iterations

    def solve(self, problem: Problem, like: Solution | None = None, free: bool = False) -> Solution:
        """Solve with few iterations: on a wrong structure a solve takes hundreds.

        Joints that are free start near their bounds; else a second start is tried, with these near theirs.

        like : the solution of the same arcs with other margins and weights, tried as a start before
        free : whether joints are free on some arc, so that limits are inequalities there
        """
        if like is not None:
            solution = self._solve(problem, None, like)
            if solution.converged:
                return solution
        if not free:
            solution = self._solve(problem, StartKind.NEAR_START)
            if solution.converged or self.exhausted:
                return solution
        return self._solve(problem, StartKind.NEAR_BOUNDS)

    def _solve(self, problem: Problem, kind: StartKind | None, like: Solution | None = None) -> Solution:
        s, start = self.settings, None if like is None else like.point
        brief = Run(max_iterations=s.arc_iterations, start_kind=kind, row_tolerances=s.row_tolerances)
        newton = Fallback(SquareNewton(), self.journal.solver)
        found = self.journal.answer(Attempt(problem, start, brief, newton, policy="switching arcs"))
        solution = converged_to_rounding(found, s)
        self.count += 1
        effort = self.settings.effort_of(solution)
        self.effort, self.largest = self.effort + effort, max(self.largest, effort)
        return solution


def converged_to_rounding(solution: Solution, settings: SearchSettings) -> Solution:
    """Converged, where an acceptable point has rows as exact as ever and stationarity to `optimal`.

    Multipliers only have to show their signs.
    """
    kkt = solution.kkt
    exact = max(kkt.primal, kkt.complementarity, kkt.sign) <= settings.acceptable_tolerance
    if solution.status is Status.ACCEPTABLE and exact and kkt.stationarity <= settings.optimal:
        return replace(solution, status=Status.CONVERGED)
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
    trial: Solution = field(init=False)  # `motion` as it was solved, with the multipliers of its own rows
    gain: ArcGain = field(init=False)
    before: StructureAttempt | None = None  # a solve whose limits hold, while finer arcs are tried
    solved: tuple[frozenset[Saturation], ...] | None = None  # of the structure that `motion` solves
    violations: tuple[Line, ...] = ()
    wrong: tuple[Contradiction, ...] = ()
    boundaries_checked: int = 0  # pairs of arc and state at its limit whose multipliers were checked

    def run(self) -> Solution | str:
        """The certified solution, or why the structure is not confirmed."""
        try:
            outcome = self._corrected()
        except (SolvesStopped, KeyboardInterrupt, TrajoptError):
            kept = self._kept()
            if kept is None:
                raise
            return kept
        return self._kept() or outcome if isinstance(outcome, str) else outcome

    def _kept(self) -> Solution | None:
        """The coarser solution whose limits held, if it is confirmed without another solve."""
        outcome = None if self.before is None else self.before._confirmed()
        return outcome if isinstance(outcome, Solution) else None

    def _corrected(self) -> Solution | str:
        """Rounds of solves and corrections until one confirms the structure or refutes it."""
        no_margins = tuple((0.0,) * limit.lower.size for limit in self.motion.problem.path_limits())
        self.arc_settings = ArcSettings(self.regular, self.settings.effort_weight, no_margins, no_margins)
        visits: Counter = Counter()
        allowed, spent = self.settings.attempt_iterations, self.solves.effort
        for _ in range(self.rounds):
            if self.solves.effort - spent > allowed or self.solves.exhausted:
                because = f"{self.reason}; " if self.reason else ""
                return f"{because}no structure was confirmed within {allowed} iterations on arcs"
            visits[(self.structure.saturated, self.degree, self.arc_settings)] += 1
            if max(visits.values()) > 2:
                return f"{self.reason}; corrections repeat themselves"
            outcome = self._round()
            if outcome is not None:
                return outcome
        return f"{self.reason} after {pluralize(self.rounds, 'round')}"

    def _round(self) -> Solution | str | None:
        """Solve and correct; None asks for another round."""
        trial = self.solves.solve(
            self._on_arcs(self.arc_settings), self._solved_alike(), self._has_free_joints()
        )
        if not trial.converged and self._has_free_joints():
            # Finer knots help more than corrections.
            return f"the arcs did not converge ({trial.status.value})"
        now = self.structure.with_times(trial.curve.durations)
        s = self.settings
        collapsed = s.collapsed if trial.converged else s.collapsed_unconverged
        whole = now.merged()
        fewer = without_collapsed(whole, trial.duration, collapsed)
        if fewer is not whole:
            if not trial.converged:  # its durations are no evidence which arc collapses
                self.doubtful_from = self.doubtful_from or self.structure
            self.structure, self.reason = fewer, "arcs collapse"
            self.motion = trial if trial.converged else self.motion
            return None
        if not trial.converged:
            return self._after_no_convergence(trial)
        self.structure, self.motion, self.solved = now, read_back(trial, self.asked, now), now.saturated
        self.trial, self.gain = trial, arc_gain(trial, self.asked, now, self.arc_settings)
        if self._with_finer_arcs(self.gain.held / s.unresolved, "arcs are too coarse for what they hold"):
            return None
        self.boundaries_checked, wrong_states = boundary_sign_check(trial, self.asked, now)
        wrong = contradictions(self.motion, now)
        if self._corrected_by_multipliers(wrong):
            return None
        if wrong_states and wrong_states[0].impulse > s.contradicted_free:
            held = component_label(self.motion, wrong_states[0].saturation)
            return (
                f"multipliers of {held} at its limit have the wrong sign: leaving it would pay "
                f"(relative impulse {wrong_states[0].impulse:.1e})"
            )
        both = tuple(sorted((*wrong, *wrong_states), key=lambda each: -each.impulse))
        self.violations, self.wrong = largest_violations(self.motion), both
        return self._judged()

    def _on_arcs(self, settings: ArcSettings) -> Problem:
        """The problem on the arcs of the structure, guessed by the last motion."""
        shortest = self.settings.shortest_arc
        return arc_problem(self.asked, self.structure, self.motion, self.degree, settings, shortest)

    def _solved_alike(self) -> Solution | None:
        """The last solution, if it is one of these arcs and this degree."""
        arcs = self.motion.problem.trajectory.arcs
        same = self.solved == self.structure.saturated and arcs[0].basis.degree == self.degree
        return self.motion if same else None

    def _has_free_joints(self) -> bool:
        return is_free(self.structure, self.asked.dynamics.n, self.regular)

    def _after_no_convergence(self, trial: Solution) -> str | None:
        """Cut long arcs, or remove a short one, and ask for another round; else return the reason.

        Both a limited number of times.
        """
        if trial.status is not Status.NOT_ENOUGH_FREEDOM and self._with_long_arcs_cut():
            return None
        if self.before is None and self.short_arcs_removed < self.settings.most_short_arcs:
            fewer = self._without_short_arc()
            if fewer is not None:
                self.structure, self.reason = fewer, "a short arc was removed"
                self.short_arcs_removed += 1
                return None
        because = f"{self.reason}, then " if self.reason else ""
        return f"{because}the arcs did not converge ({trial.status.value})"

    def _with_long_arcs_cut(self) -> bool:
        """Cut the arcs that are longer than the mean, once: a motion too coarse for its arcs has none."""
        whole = self.structure.merged()
        if self.before is not None or whole.arc_count < self.structure.arc_count:
            return False
        parts = np.where(whole.durations > whole.durations.mean(), 2, 1)
        self.structure, self.reason = whole.in_parts(parts), "long arcs were cut"
        return whole.arc_count > 1

    def _without_short_arc(self) -> Structure | None:
        """The structure without a short arc: that before a doubtful removal, else this one, else None.

        After a doubtful removal that led to another failure, this one is what the doubt was about.
        """
        for structure in (self.doubtful_from, self.structure):
            if structure is not None:
                whole = structure.merged()
                fewer = without_collapsed(whole, whole.times[-1], self.settings.short_arc)
                if fewer is not whole:
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

    def _judged(self) -> Solution | str | None:
        """Confirm the structure if its limits hold; else split an arc, raise the degree or tighten limits."""
        violations, s = self.violations, self.settings
        if all(violation.value <= self.tol for violation in violations):
            return None if self._sharpened() else self._confirmed()
        relative = [violation.share for violation in violations]
        largest = int(np.argmax(relative))
        worst = violations[largest]
        self.reason = f"the arcs violate {worst.name} of {worst.component} by {worst.value:.3g}"
        free = of_free_joints(self.motion, self.structure, violations, self.regular)
        if max(relative) > (s.wrong_structure_free if free[largest] else s.wrong_structure):
            split = corrected_violation(self.motion, self.structure, worst, s)
            if split is None:
                return self.reason
            self.structure = split
        elif all(f or violation.value <= self.tol for f, violation in zip(free, violations, strict=True)):
            margins = self._grown(self.arc_settings.free_margins, violations)
            self.arc_settings = replace(self.arc_settings, free_margins=margins)
        elif not self._with_finer_arcs(self._excess(), self.reason):
            margins = self._grown(self.arc_settings.margins, violations)
            self.arc_settings = replace(self.arc_settings, margins=margins)
        return None

    def _sharpened(self) -> bool:
        """Ask for finer arcs where oversteps gain too much; this solution is kept for the case they fail."""
        gain = self._relative_gain()
        known = np.inf if self.before is None else self.before._relative_gain()
        if gain <= self.settings.overstep_gain or gain >= known:
            return False
        now = copy(self)
        now.before = None
        if not self._with_finer_arcs(self._excess(), "oversteps gain"):
            return False
        self.before = now
        return True

    def _relative_gain(self) -> float:
        """Gain from oversteps, relative to the objective."""
        return self.gain.relative(self.motion.objective).of_oversteps

    def _excess(self) -> Array:
        """Factors by which violations exceed the tolerance, or gain more than their part, (arcs,)."""
        excess, oversteps = np.zeros(self.structure.arc_count), self.gain.oversteps
        heavy = oversteps > 0.1 * oversteps.max()
        share = self.settings.overstep_gain * abs(self.motion.objective) / heavy.sum()
        excess[heavy] = oversteps[heavy] / share
        for violation in self.violations:
            arc = self.structure.arc_at(violation.time)
            excess[arc] = max(excess[arc], violation.value / self.tol)
        return excess

    def _with_finer_arcs(self, excess: Array, reason: str) -> bool:
        """A higher degree, or arcs cut in parts, where the excess (arcs,) is above one; False at the most."""
        s = self.settings
        change = finer(self.motion.curve, self.structure.parts, s.highest_degree, excess)
        if change is None or sum(change.parts) > s.most_arcs:
            return False
        self.degree, self.reason = change.degree, reason
        self.structure = self.structure.merged().in_parts(change.parts)
        return True

    def _grown(
        self, margins: tuple[tuple[float, ...], ...], violations: tuple[Line, ...]
    ) -> tuple[tuple[float, ...], ...]:
        """Every component's margin grown by its own violation: limits that hold stay exact."""
        factor = self.settings.margin_factor
        growth = iter([max(0.0, factor * violation.value) for violation in violations])
        return tuple(tuple(margin + next(growth) for margin in limit) for limit in margins)

    def _confirmed(self) -> Solution | str | None:
        motion, spline = self.motion, self.spline
        bound = spline.objective + self.settings.objective_tolerance * abs(spline.objective) + 1e-12
        if motion.objective > bound and motion.objective > bound + _gained_by_violation(spline):
            return f"the arcs reach {motion.objective:.8g}, a spline {spline.objective:.8g}"
        doubt = active_outside_structure(motion, self.structure, self.settings) or self._undetermined()
        if doubt and self._with_less_effort_weight(doubt):
            return None
        if doubt:
            return doubt
        signs = sign_check(motion, self.structure, self.wrong, self.regular, self.boundaries_checked)
        certificate = Certificate(
            tolerance=self.tol,
            method="switching arcs",
            structure=self.structure.merged(),
            rounds=self.solves.count,
            reason="",
            signs=signs,
            settings=self.arc_settings,
            # With the costs and constraints that were asked.
            motion=replace(motion, known_problem=self.asked),
            gain=self.gain.relative(motion.objective),
        )
        if certificate.first_violation:
            return f"on the arcs {certificate.first_violation}"
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

    def _leave_out_effort(self, lighter: Solution) -> None:
        """Gains and costs by the objective's own multipliers, without those by the effort of free joints.

        lighter : the same arcs with half the weight of that effort
        """
        known, at_half = self.trial.multipliers, lighter.multipliers  # between them multipliers are linear
        own = {name: 2.0 * half - known[name] for name, half in at_half.items() if name in known}
        alone = replace(self.trial, multipliers=own)
        self.gain = arc_gain(alone, self.asked, self.structure, self.arc_settings)

    def _undetermined(self) -> str:
        """Reason against a structure whose objective depends on the motion of its free joints, or nothing."""
        if not self._has_free_joints():
            return ""
        motion = self.motion
        half = replace(self.arc_settings, effort_weight=0.5 * self.arc_settings.effort_weight)
        lighter = self.solves.solve(self._on_arcs(half), self._solved_alike(), free=True)
        other = read_back(lighter, self.asked, self.structure)
        change = abs(other.objective - motion.objective) / max(abs(motion.objective), NOT_ZERO)
        if other.converged and change <= self.settings.objective_change:
            self._leave_out_effort(lighter)
            return ""
        return (
            "the objective depends on how joints move that the structure leaves free (half the weight of "
            f"their effort changes it by {change:.1e}): they have switches that are not resolved"
        )


def _gained_by_violation(solution: Solution) -> float:
    """Estimate of what a solution gained in objective by violating limits between its nodes."""
    largest = max((violation.share for violation in largest_violations(solution)), default=0.0)
    return max(largest, 0.0) * abs(solution.objective)
