"""The search for a switching structure that all checks confirm.

A structure is read off the uniform solve (`detection.py`), solved on its arcs (`arcs.py`), and corrected by
what that solve says (`correction.py`); where this leads nowhere, it is read again with switches taken for
shorter. Then knots are added where the objective could gain by them, at switches above all, and the structure
is tried once two such meshes in a row are read alike or little is left to gain; where an effort makes
controls continuous, all intervals are halved instead. The finest motion is kept: limits are certified on it
where all of this fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import TrajoptError
from trajopt.problem.problem import Problem
from trajopt.refinement.arc_problem import ArcSettings, arc_problem, is_free, read_back
from trajopt.refinement.knots import doubled, halved_where_it_pays, indicator
from trajopt.refinement.multiplier_signs import held_signs
from trajopt.refinement.structure_correction import (
    COLLAPSED,
    CONTRADICTED,
    SETTLED,
    Contradiction,
    active_slack,
    among_free_joints,
    contradictions,
    corrected_excess,
    corrected_signs,
    without_collapsed,
    without_idle,
)
from trajopt.refinement.structure_detection import SAME_RUN, Reading, detect, is_regular
from trajopt.solution.certificate import Certificate, signs_of
from trajopt.solution.solution import Solution
from trajopt.solution.switching_structure import Structure
from trajopt.solution.violation import Excess, largest_excesses, path_limits, relative_excesses
from trajopt.solvers.solver import Solver, Status
from trajopt.solvers.time_budget import NEAR_BOUNDS, NEAR_START, Budget

if TYPE_CHECKING:
    from trajopt.refinement.certified import Certified

HIGHEST_DEGREE = 16  # beyond it the monomials behind the basis lose more digits than the degree gains
UNCONFIRMED = 1e-2  # of the range between limits: a larger excess means a wrong structure, not a low degree
SETTLED_CHANGE = 1e-7  # of the objective: as much as the weight of settling may change it
AMONG_FREE = (
    0.1  # the same where joints are free: their limits are inequalities at nodes, and may be tightened
)
LEAST_SETTLING = 1e-5  # below it the solver no longer sees it
FREE_DEGREE = 10  # to start from where joints are free: effort makes their motion smooth
MOST_ITERATIONS = 50  # of one solve on arcs: with the right structure it takes 3 to 40
SHORT, MOST_DROPPED = 0.06, 1  # of the whole: arcs dropped, and how many, where a solve does not converge
DOUBLINGS = 2  # of the uniform intervals, while no structure is confirmed
REFINEMENTS = 9  # of the spans with the largest indicators
MOST_INTERVALS = 160
SMALL_GAIN = 5e-5  # of the objective: with less to gain by finer knots, switches are where they seem
# Rows of continuity on arcs of milliseconds are scaled by large slopes: at the solver's own tolerance
# velocities jumped by 1e-6 between arcs. What cannot be had is given up after three iterations.
CONTINUOUS = MappingProxyType(
    {
        "constr_viol_tol": 1e-11,
        "acceptable_tol": 1e-9,
        "acceptable_constr_viol_tol": 1e-9,
        "acceptable_compl_inf_tol": 1e-9,
        "acceptable_iter": 3,
    }
)
OPTIMAL = (
    1e-9  # KKT error, recomputed, at which a solve on arcs that the solver calls acceptable has converged
)
LARGE = 500  # unknowns and rows together of a solve on arcs whose iterations count more than once
MOST_SPENT = 600  # iterations on arcs in one attempt
MOST_WASTED = 800  # in all: beyond them knots are still refined, but no more structures tried


def solved(problem: Problem, solver: Solver) -> Solution:
    """Transcribe and solve."""
    from trajopt.transcription.transcribe import transcribe

    nlp = transcribe(problem)
    return Solution.of(problem, nlp, solver.solve(nlp))


@dataclass
class Search:
    """Attempts from one reading after the other; `found` is the certified solution, if there is one."""

    how: Certified
    solver: Budget
    uniform: Solution
    found: Solution | None = None
    finest: Solution | None = None
    iterations: int = 0
    spent: float = 0.0  # iterations on arcs in one attempt, those of large problems counted by their size
    wasted: float = 0.0  # the same in all attempts
    solves: int = 0

    def run(self) -> str:
        """Set `found`, or say why not."""
        regular = is_regular(self.uniform)
        reason = "the structure read off finer and finer knots does not settle"
        if not self.uniform.converged:
            reason = f"the uniform solve did not converge ({self.uniform.status.value})"
        before, tried, last = None, set(), None
        for motion, reading in self._readings(regular):
            structure = detect(motion, reading)
            settled, before = structure.saturated == before, structure.saturated
            last = motion, structure
            # Where knots are too coarse, joints seem free; and short arcs come and go.
            free = is_free(structure, motion.problem.dynamics.n, regular)
            sharp = settled or _gain(motion) < SMALL_GAIN if reading.fine else not free
            if sharp and structure.saturated not in tried and self.wasted < MOST_WASTED:
                tried.add(structure.saturated)
                reason = self._attempted(motion, structure, regular)
            if self.found is not None:
                return ""
        if last is not None and last[1].saturated not in tried and self.wasted < MOST_WASTED:
            reason = self._attempted(*last, regular)
        return reason

    def _attempted(self, motion: Solution, structure: Structure, regular: bool) -> str:
        free = is_free(structure, motion.problem.dynamics.n, regular)
        degree = min(self.how.degree, FREE_DEGREE) if free else self.how.degree
        self.spent = 0.0
        try:
            return Attempt(self, motion, structure, regular, degree).run()
        except TrajoptError as error:
            return str(error)
        finally:
            self.wasted += self.spent

    def _readings(self, regular: bool) -> Iterator[tuple[Solution, Reading]]:
        """Motions on finer and finer knots, and how to read them."""
        if not self.uniform.converged:
            return
        self.finest = motion = self.uniform
        yield motion, Reading(regular)
        if not regular:
            yield motion, Reading(regular, SAME_RUN)
        for _ in range(DOUBLINGS if regular else REFINEMENTS):
            if motion.knot_times.size > MOST_INTERVALS:
                return
            finer = doubled(motion) if regular else halved_where_it_pays(motion)
            motion = solved(finer, self.solver.near(NEAR_START))
            self.iterations += motion.iterations
            if not motion.converged:
                return
            self.finest = motion
            yield motion, Reading(regular, fine=not regular)

    def solved(self, problem: Problem) -> Solution:
        """Solve on arcs, with few iterations: a wrong structure takes hundreds. Two starts are tried."""
        brief = self.solver.brief(MOST_ITERATIONS)
        answer = self._solved(problem, brief.near({**NEAR_START, **CONTINUOUS}))
        if not answer.converged:
            again = self._solved(problem, brief.near({**NEAR_BOUNDS, **CONTINUOUS}))
            answer = again if again.converged else answer
        return answer

    def _solved(self, problem: Problem, solver: Budget) -> Solution:
        answer = solved(problem, solver)
        if answer.status is Status.ACCEPTABLE and answer.kkt.error <= OPTIMAL:
            answer = replace(answer, status=Status.CONVERGED)
        self.iterations, self.solves = self.iterations + answer.iterations, self.solves + 1
        self.spent += answer.iterations * max(1.0, (answer.n_variables + answer.n_constraints) / LARGE)
        return answer


@dataclass
class Attempt:
    """One structure, corrected until all checks confirm it or something stands against it."""

    search: Search
    motion: Solution
    structure: Structure
    regular: bool
    degree: int
    settings: ArcSettings = field(init=False)
    reason: str = ""
    dropped: int = 0
    guessed_from: Structure | None = None  # before an arc was dropped on the word of an unconverged solve
    held: int = 0  # pairs of arc and held velocity whose multipliers were checked

    def run(self) -> str:
        """Nothing where `search.found` is set, else what stands against the structure."""
        none = tuple((0.0,) * limit.lower.size for limit in path_limits(self.motion))
        self.settings = ArcSettings(self.regular, margins=none, room=none)
        visits: Counter = Counter()
        for _ in range(self.search.how.rounds):
            if self.search.spent > MOST_SPENT:
                before = f"{self.reason}; " if self.reason else ""
                return f"{before}no structure was confirmed within {MOST_SPENT} iterations on arcs"
            visits[(self.structure.saturated, self.degree, self.settings)] += 1
            if max(visits.values()) > 2:
                return f"{self.reason}; corrections go in circles"
            verdict = self._round()
            if verdict is not None:
                return verdict
        return f"{self.reason} after {self.search.how.rounds} rounds"

    def _round(self) -> str | None:
        """Solve and correct; a verdict ends the attempt, None asks for another round."""
        asked = self.search.uniform.problem
        trial = self.search.solved(
            arc_problem(asked, self.structure, self.motion, self.degree, self.settings)
        )
        if not trial.converged and is_free(self.structure, asked.dynamics.n, self.regular):
            return f"the arcs did not converge ({trial.status.value})"  # finer knots tell more than guesses
        now = self.structure.with_times(trial.curve.durations)
        fewer = without_collapsed(now, trial.duration, COLLAPSED if trial.converged else 10 * COLLAPSED)
        if fewer is not now:
            if not trial.converged:  # its durations are a guess, which may name the wrong arc
                self.guessed_from = self.structure
            self.structure, self.reason = fewer, "arcs collapse"
            self.motion = trial if trial.converged else self.motion
            return None
        if not trial.converged and self.dropped < MOST_DROPPED:
            fewer = self._without_short_arc()
            if fewer is not None:
                self.structure, self.dropped, self.reason = fewer, self.dropped + 1, "a short arc was dropped"
                return None
        if not trial.converged:
            before = f"{self.reason}, then " if self.reason else ""
            return f"{before}the arcs did not converge ({trial.status.value})"
        self.structure, self.motion = now, read_back(trial, asked, now)
        self.held, held_wrong = held_signs(trial, asked, now)
        wrong = contradictions(self.motion, now)
        if self._corrected_by_multipliers(wrong):
            return None
        if held_wrong and held_wrong[0].impulse > SETTLED:
            return (
                f"a speed is held where going slower would pay (relative impulse {held_wrong[0].impulse:.1e})"
            )
        both = tuple(sorted((*wrong, *held_wrong), key=lambda each: -each.impulse))
        return self._judged(tuple(largest_excesses(self.motion)), both)

    def _without_short_arc(self) -> Structure | None:
        """This structure, or that before the last guess, without a short arc; None where both have none."""
        for structure in (self.structure, self.guessed_from):
            if structure is not None:
                fewer = without_collapsed(structure, structure.times[-1], SHORT)
                if fewer is not structure:
                    return fewer
        return None

    def _corrected_by_multipliers(self, wrong: tuple[Contradiction, ...]) -> bool:
        free = is_free(self.structure, self.motion.problem.dynamics.n, self.regular)
        if wrong and wrong[0].impulse > (SETTLED if free else CONTRADICTED):
            self.reason = f"multipliers contradict the structure (relative impulse {wrong[0].impulse:.1e})"
            self.structure = corrected_signs(self.structure, wrong[0], self.regular)
            return True
        busy = without_idle(self.motion, self.structure)
        if busy is not self.structure:
            self.structure, self.reason = busy, "saturated limits hold nothing back"
            return True
        return False

    def _judged(self, excesses: tuple[Excess, ...], wrong: tuple[Contradiction, ...]) -> str | None:
        """Confirm what holds; split an arc, raise the degree, or take a small excess off the limits."""
        if not excesses or max(excess.value for excess in excesses) <= self.search.how.tol:
            return self._confirmed(excesses, wrong)
        relative = relative_excesses(self.motion, excesses)
        worst = excesses[int(np.argmax(relative))]
        self.reason = f"the arcs overstep {worst.name} of {worst.component} by {worst.value:.3g}"
        among_free = among_free_joints(self.motion, self.structure, excesses, self.regular)
        if max(relative) > (AMONG_FREE if among_free[int(np.argmax(relative))] else UNCONFIRMED):
            split = corrected_excess(self.motion, self.structure, worst)
            if split is None:
                return self.reason
            self.structure = split
        elif all(f or e.value <= self.search.how.tol for f, e in zip(among_free, excesses, strict=True)):
            room = _tightened(self.settings.room, excesses)
            self.settings = replace(self.settings, room=room)
        elif self.degree + 2 <= HIGHEST_DEGREE:
            self.degree += 2
        else:
            margins = _tightened(self.settings.margins, excesses)
            self.settings = replace(self.settings, margins=margins)
        return None

    def _confirmed(self, excesses: tuple[Excess, ...], wrong: tuple[Contradiction, ...]) -> str | None:
        search, motion = self.search, self.motion
        spline = search.uniform if search.finest is None else search.finest
        bound = spline.objective + 1e-6 * abs(spline.objective) + 1e-12
        if motion.objective > bound and motion.objective > bound + _bought(spline):
            return f"the arcs reach {motion.objective:.8g}, a spline {spline.objective:.8g}"
        doubt = active_slack(motion, self.structure) or self._unsettled()
        if doubt and self._settled_less(doubt):
            return None
        if doubt:
            return doubt
        certificate = Certificate(
            tolerance=search.how.tol,
            excesses=excesses,
            method="switching arcs",
            structure=self.structure,
            rounds=search.solves,
            reason="",
            signs=signs_of(motion, self.structure, wrong, self.regular, self.held),
            settings=self.settings,
            motion=motion,
        )
        search.found = replace(
            motion,
            certificate=certificate,
            recipe=search.uniform.recipe,
            iterations=search.uniform.iterations + search.iterations,
        )
        return ""

    def _settled_less(self, doubt: str) -> bool:
        """Whether the weight of settling can fall: what it asks for may be all that stands in the way."""
        free = is_free(self.structure, self.motion.problem.dynamics.n, self.regular)
        if not free or self.settings.settling <= LEAST_SETTLING:
            return False
        self.settings = replace(self.settings, settling=0.1 * self.settings.settling)
        self.reason = doubt
        return True

    def _unsettled(self) -> str:
        """Why a structure is wrong: the objective depends on how joints move that it leaves free."""
        motion = self.motion
        if not is_free(self.structure, motion.problem.dynamics.n, self.regular):
            return ""
        asked = self.search.uniform.problem
        half = replace(self.settings, settling=0.5 * self.settings.settling)
        problem = arc_problem(asked, self.structure, motion, self.degree, half)
        other = read_back(self.search.solved(problem), asked, self.structure)
        change = abs(other.objective - motion.objective) / max(abs(motion.objective), 1e-300)
        if other.converged and change <= SETTLED_CHANGE:
            return ""
        return (
            "the objective depends on how joints move that the structure leaves free (half the weight of "
            f"their effort changes it by {change:.1e}): they have switches that are not resolved"
        )


def _gain(solution: Solution) -> float:
    """What the objective could gain by finer knots, to first order, relative to it."""
    return sum(float(values.sum()) for values in indicator(solution)) / max(abs(solution.objective), 1e-300)


def _bought(solution: Solution) -> float:
    """What a solution may have gained in objective by overstepping limits between its nodes."""
    over = max(relative_excesses(solution, largest_excesses(solution)), default=0.0)
    return max(over, 0.0) * abs(solution.objective)


def _tightened(
    margins: tuple[tuple[float, ...], ...], excesses: tuple[Excess, ...]
) -> tuple[tuple[float, ...], ...]:
    """Every component's margin grown by its own measured excess, so that what holds already stays exact."""
    over = iter([max(0.0, 1.2 * excess.value) for excess in excesses])
    return tuple(tuple(margin + next(over) for margin in limit) for limit in margins)
