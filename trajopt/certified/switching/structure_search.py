"""Search for a switching structure that all checks confirm, over finer and finer splines.

A structure is detected in the uniform solve (`structure_detection`), then solved on its arcs and corrected
(`structure_attempt`). Where that fails, it is detected again with a smaller limit for the length of a switch.
Then knots are added where the objective could gain by them, at switches above all; a structure is tried once
two such meshes in a row show the same one, or once little is left to gain. In problems with continuous
controls all spans are halved instead. The finest spline solution is kept for the case that all of this fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.base.tolerances import NOT_ZERO
from trajopt.certificates.arc_problem import is_free
from trajopt.certificates.switching_structure import Structure
from trajopt.certified.remaining_gain import gain_of_control_points
from trajopt.certified.search_settings import DEFAULT, SearchSettings
from trajopt.certified.switching.structure_attempt import ArcSolves, StructureAttempt
from trajopt.certified.switching.structure_detection import DetectionOptions, detect, fits_ends, is_regular
from trajopt.checks.optimality import gains_of_limits
from trajopt.problem.problem import Problem
from trajopt.solution.journal import Attempt, Journal
from trajopt.solution.solution import Solution
from trajopt.solvers.solver import Run, StartKind
from trajopt.splines.knots import split


@dataclass
class StructureSearch:
    """Attempts at one detected structure after the other.

    uniform : the solution that is refined
    tol, degree, rounds : as in `Certified`
    found : the certified solution, None while there is none
    finest : the last spline solution that converged
    moderate : the last of them with at most `bracket_first` spans
    """

    uniform: Solution
    journal: Journal
    tol: float
    degree: int
    rounds: int
    settings: SearchSettings = DEFAULT
    found: Solution | None = None
    finest: Solution | None = None
    moderate: Solution | None = None
    arcs: ArcSolves = field(init=False)

    def __post_init__(self) -> None:
        self.arcs = ArcSolves(self.journal, self.settings)

    def run(self) -> str:
        """Set `found`, or return the reason why no structure is confirmed."""
        regular = is_regular(self.uniform, self.settings)
        reason = "the structure detected on finer and finer knots does not settle"
        if not self.uniform.converged:
            reason = f"the uniform solve did not converge ({self.uniform.status.value})"
        before, tried, last = None, set(), None
        for motion, options in self._splines(regular):
            structure = detect(motion, options, self.settings)
            settled, before = structure.saturated == before, structure.saturated
            last = motion, structure
            # On coarse knots joints seem free, and short arcs come and go.
            free = is_free(structure, motion.problem.dynamics.n, regular)
            if not fits_ends(motion, structure, self.settings.boundary_margin):
                tried.add(structure.saturated)
            if options.fine:
                sharp = settled or self._small_gain(motion)
            else:
                sharp = not free and self._size_on_arcs(structure) <= self.settings.coarse_program
            if sharp and structure.saturated not in tried and not self.arcs.exhausted:
                tried.add(structure.saturated)
                reason = self.attempt(motion, structure, regular)
            if self.found is not None:
                return ""
        if last is not None and last[1].saturated not in tried and not self.arcs.exhausted:
            reason = self.attempt(*last, regular)
        return reason

    def _size_on_arcs(self, structure: Structure) -> int:
        """About how many unknowns and rows the program on arcs has, where limits determine all joints."""
        return 2 * structure.arc_count * self.uniform.problem.dynamics.n * self.degree

    def _small_gain(self, solution: Solution) -> bool:
        """True if finer knots could improve the objective only a little, to first order."""
        gain = float(indicator(solution, self.settings).sum())
        return gain / max(abs(solution.objective), NOT_ZERO) < self.settings.small_gain

    def attempt(self, motion: Solution, structure: Structure, regular: bool) -> str:
        """Set `found`, or return the reason why the structure is not confirmed."""
        problem = self.uniform.problem
        free = is_free(structure, problem.dynamics.n, regular)
        s, arcs, seconds = self.settings, structure.arc_count, structure.durations
        held = float(seconds @ [len(each) for each in structure.saturated])
        if free and held < s.least_held * problem.dynamics.n * float(seconds.sum()):
            return "limits leave most joints free for most of the time"
        if free and s.arc_iterations * s.effort(self._size_on_arcs(structure)) > s.total_iterations:
            return f"{arcs} arcs with free joints ask for more iterations than are allowed"
        attempt = StructureAttempt(
            solves=self.arcs,
            asked=problem,
            spline=self.uniform if self.finest is None else self.finest,
            motion=motion,
            structure=structure,
            regular=regular,
            degree=min(self.degree, self.settings.free_degree) if free else self.degree,
            tol=self.tol,
            rounds=self.rounds,
            settings=self.settings,
        )
        try:
            outcome = attempt.run()
        except TrajoptError as error:
            return str(error)
        if isinstance(outcome, str):
            return outcome
        self.found = replace(outcome, recipe=self.uniform.recipe)
        return ""

    def _splines(self, regular: bool) -> Iterator[tuple[Solution, DetectionOptions]]:
        """Solutions on finer and finer knots, and how to detect their structure."""
        if not self.uniform.converged:
            return
        s = self.settings
        self.finest = motion = self.uniform
        yield motion, DetectionOptions(regular, s.longest_switch)
        if not regular:
            yield motion, DetectionOptions(regular, s.longest_gap)
        for _ in range(s.doublings if regular else s.refinements):
            finer = motion.on_halved_spans() if regular else adaptively_refined(motion, s)
            spans = finer.trajectory.arcs[0].basis.span_count
            if spans < motion.knot_times.size or spans > s.most_intervals:  # none was halved, or too many
                return
            before = motion.objective
            near = Run(max_iterations=s.bracket_iterations, start_kind=StartKind.NEAR_START)
            motion = self.journal.answer(Attempt(finer, run=near, policy="finer splines"))
            if not motion.converged:
                return
            self.finest = motion
            if motion.knot_times.size <= s.bracket_first + 1:
                self.moderate = motion
            yield motion, DetectionOptions(regular, s.longest_switch, fine=not regular)
            little = not regular and before - motion.objective < s.objective_tolerance * abs(before)
            if little or s.effort_of(motion) > s.mesh_total:
                return


def indicator(solution: Solution, settings: SearchSettings = DEFAULT) -> Array:
    """Possible gain of finer knots in every span, (spans,), on one arc; ones where nothing is gained."""
    (gains,) = gains_of_limits(solution, settings.samples_per_span, settings.significant_density)
    gains = gains + gain_of_control_points(solution).sum(axis=1)
    return gains if gains.max() > 0.0 else np.ones(gains.size)


def adaptively_refined(solution: Solution, settings: SearchSettings = DEFAULT) -> Problem:
    """The problem, on one arc, with spans halved whose indicator is large, those with the largest twice.

    Those with the largest first, as long as `most_intervals` leaves room.
    """
    values = indicator(solution, settings)
    room = max(settings.most_intervals - values.size, 0)
    order = np.argsort(-values, kind="stable")
    mark, heavy = np.zeros((2, values.size), dtype=bool)
    mark[order[:room]] = values[order[:room]] >= settings.marked_share * values.max()
    left = room - int(mark.sum())
    heavy[order[: left // 2]] = values[order[: left // 2]] >= settings.quartered_share * values.max()
    halved = split(solution.problem.trajectory, [mark])
    return solution.asked_on(split(halved, [np.repeat(heavy & mark, 1 + mark)]))
