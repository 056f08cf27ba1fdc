"""Refinements in turn; knot insertion until errors are small, `solve(problem, refine=Refined(tol=1e-6))`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from trajopt.base.arguments import check_choice, check_count, check_positive, pluralize
from trajopt.base.errors import warn_user
from trajopt.base.tolerances import BETWEEN
from trajopt.problem.phases import Asked
from trajopt.problem.problem_parts import Refinement
from trajopt.refinement.error_estimate import ErrorEstimate, estimated, estimated_between_nodes, little_gain
from trajopt.refinement.limit_nodes import LimitNodes
from trajopt.solution.journal import (
    Attempt,
    ByAttempts,
    Entry,
    Journal,
    Policy,
    better,
    iterations_on,
    objection,
)
from trajopt.solution.records import RefinementRecord, RefinementRound
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.run import SolvesStopped, TimedSolver, without_checkpoints
from trajopt.solvers.solver import Run, StartKind
from trajopt.splines.knots import split
from trajopt.splines.trajectory import Trajectory

MARKED_SHARE = 0.1  # of the largest error: spans above it are halved
SPANS = "halved spans"
MOST_WITHOUT_GAIN = 3  # rounds in a row whose error does not fall


@dataclass(frozen=True)
class Refined(ByAttempts):
    """Refinement of knots: `solve(problem, refine=Refined())` halves spans until the errors are small.

    Two relative errors are estimated in every span: that of path equations between nodes, and what finer
    knots could gain of the objective. An answer is replaced only by one whose larger error is smaller;
    `solution.journal.refinement` says what was tried, and whether the tolerance was reached. `LimitNodes()`
    follows in `solve`.

    tol : relative error below which refinement ends
    rounds : largest number of rounds in which spans are halved
    spans : "adaptive", those with the largest errors, or "uniform", all of them
    most : number of spans of an arc at which no more are added
    errors : "both", or "equations", only that of path equations between nodes
    """

    holds_limits: ClassVar[bool] = False

    tol: float = 1e-6
    rounds: int = 6
    spans: Literal["adaptive", "uniform"] = "adaptive"
    most: int = 400
    errors: Literal["both", "equations"] = "both"

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)
        check_count("rounds", self.rounds, 1)
        check_count("most", self.most, 1)
        check_choice("spans", self.spans, ("adaptive", "uniform"))
        check_choice("errors", self.errors, ("both", "equations"))

    def attempts(self, journal: Journal, first: Entry) -> Policy[Entry]:
        """Halve spans of the last answer until its errors are small, and return the best, with its record."""
        run = Run(max_iterations=iterations_on(journal.iterations), start_kind=StartKind.NEAR_START)
        best, last, note, change = first, first, "", np.inf
        errors = least = self._measured(first)
        rounds, notes = [_row(first, errors, note)], [note]
        while not (reason := self._end(last, errors, least, notes, change)):
            finer, before = self._finer(last.answer, errors), last.value
            try:
                last = yield Attempt(finer, None, run, policy=SPANS, number=first.attempt.number)
            except SolvesStopped as stop:
                reason = str(stop)
                break
            errors = self._measured(last)
            change = abs(last.value - before) / (last.answer.size_of_costs or 1.0)
            note = objection(best, last)
            best, least = (best, least) if note else (last, errors)
            rounds.append(_row(last, errors, note))
            notes.append(note)
        if best is first and self.is_silent(rounds):
            return first
        former = first.answer.journal.refinement
        all_rounds = tuple(rounds) if former is None else (*former.rounds, *rounds[1:])
        record = RefinementRecord(self.tol, all_rounds, reason)
        return replace(best, answer=best.answer.refined_by(record))

    def is_silent(self, rounds: Sequence[RefinementRound]) -> bool:
        """True if an answer that needed no finer mesh gets no record."""
        return False

    def estimate(self, solution: Solution) -> ErrorEstimate:
        """The errors that are asked for, in every span of a solution."""
        return estimated(solution, optimality=self.errors == "both")

    def size(self, errors: ErrorEstimate) -> float:
        """The number that must be smaller of an answer that replaces another."""
        return errors.largest

    def _measured(self, entry: Entry) -> ErrorEstimate:
        """The errors of an answer, which its entry is judged by."""
        errors = self._estimates(entry.answer)
        entry.excess, entry.accuracy, entry.explains_rise = self.size(errors), self.tol, True
        return errors

    def _estimates(self, answer: Answer) -> ErrorEstimate:
        """The errors of all arcs of all parts, the gains relative to the costs of all.

        What phases share is held at its value.
        """
        errors = [self.estimate(part) for part in answer.parts]
        total = answer.size_of_costs or 1.0
        shares = [(part.size_of_costs or 1.0) / total for part in answer.parts]
        each = zip(shares, errors, strict=True)
        return ErrorEstimate(
            tuple(values for one in errors for values in one.equations),
            tuple(share * values for share, one in each for values in one.optimality),
            tuple(values for one in errors for values in one.pointwise),
        )

    def _finer(self, answer: Answer, errors: ErrorEstimate) -> Asked:
        """The problem or the phases with the spans halved that have large errors, or all."""
        meshes: list[Trajectory] = []
        left = errors.marks(self.tol, MARKED_SHARE)
        if self.spans == "uniform":
            left = [np.ones_like(mark) for mark in left]
        for problem in answer.asked.parts:
            arcs = len(problem.trajectory.arcs)
            meshes.append(split(problem.trajectory, left[:arcs]))
            del left[:arcs]
        return answer.asked_on(*meshes)

    def _end(
        self, last: Entry, errors: ErrorEstimate, least: ErrorEstimate, notes: Sequence[str], change: float
    ) -> str:
        """Reason why no further round is needed or allowed; empty where one is.

        A residual at single times is no error where a control jumps, and one where halving its spans changes
        the objective by more than a little, or may.

        least : the errors of the best answer;  notes : of every round, why it did not replace the best one
        change : of the objective by the last round, relative to the size of the costs
        """
        rounds, status = len(notes) - 1, last.answer.status.value
        if not rounds and not last.converged:
            return f"the solve did not converge ({status})"
        if notes[-1]:
            without_gain = all(notes[-MOST_WITHOUT_GAIN:])
            if not last.converged or errors.largest < least.largest or without_gain:
                return f"the finer answer was not better: {notes[-1]}"
        changes = max(change, errors.of_optimality)
        if errors.largest <= self.tol and (
            errors.at_single_times <= self.tol or changes <= little_gain(self.tol)
        ):
            return "the errors are below the tolerance"
        most = max(values.size for values in errors.equations)
        if most >= self.most:
            return f"an arc has {most} spans, the most allowed are {self.most}"
        return f"{pluralize(rounds, 'round')}, the most allowed" * (rounds >= self.rounds)


@dataclass(frozen=True)
class RefinedUntilVerified(Refined):
    """The default refinement of `solve` with path equations: halve spans until `verify` passes them.

    tol : the accuracy between nodes that `verify` asks for
    """

    tol: float = BETWEEN
    rounds: int = 12
    errors: Literal["both", "equations"] = "equations"

    def is_silent(self, rounds: Sequence[RefinementRound]) -> bool:
        """An answer that is fine enough is no refined one."""
        return len(rounds) == 1

    def estimate(self, solution: Solution) -> ErrorEstimate:
        """The errors that `verify` looks at, in every span of a solution."""
        return estimated_between_nodes(solution)

    def size(self, errors: ErrorEstimate) -> float:
        """The error of equations; where `tol` allows it, a number below `tol` that rises with the changes."""
        changes = errors.of_optimality
        within = self.tol * changes / (1.0 + changes)
        return errors.of_equations if errors.of_equations > self.tol else within


def _row(entry: Entry, errors: ErrorEstimate, note: str) -> RefinementRound:
    spans = sum(values.size for values in errors.equations)
    figures = errors.of_equations, errors.of_optimality
    return RefinementRound(spans, entry.answer.objective, *figures, kept=not note, note=note)


def default_refinement(asked: Asked) -> Refinement:
    """The recommendation of a problem; else nodes for limits, after halved spans with path equations."""
    if asked.refinement is not None:
        return asked.refinement
    equations = any(c.is_path_equation for part in asked.parts for c in part.constraints)
    return RefinedUntilVerified() if equations else LimitNodes()


def refinements(journal: Journal, refine: Refinement | None) -> Policy[None]:
    """Refine the best answer as asked; with limit nodes, lower optima that the starts found, too.

    Nodes for limits may reverse the order of two optima.
    """
    others = journal.other_optima() if isinstance(refine, LimitNodes) else []
    journal.chosen = yield from _in_turn(journal, refine, journal.best)
    for other in others:
        if other.value < journal.best.value and not journal.stopped:
            journal.chosen = better(journal.best, (yield from _in_turn(journal, refine, other)))


def _in_turn(journal: Journal, refine: Refinement | None, first: Entry) -> Policy[Entry]:
    """An answer after its refinement, and after limit nodes where it leaves limits between nodes to them.

    Equations may be missed by more on these nodes than before: where they are, both follow once more.
    """
    best = yield from _by(refine, journal, first)
    if getattr(refine, "holds_limits", True):
        return best
    count = len(journal.entries)
    held = yield from _by(LimitNodes(), journal, best)
    if len(journal.entries) == count or not getattr(held.answer.journal.refinement, "reached", True):
        return held
    count = len(journal.entries)
    finer = yield from _by(refine, journal, held)
    return held if len(journal.entries) == count else (yield from _by(LimitNodes(), journal, finer))


def _by(refine: Any, journal: Journal, entry: Entry) -> Policy[Entry]:
    """The entry that one refinement leads to; the former one where a deadline or an error ends it.

    What the callback raises leaves the solve.
    """
    if refine is None or (journal.stopped and not isinstance(refine, LimitNodes)):
        return entry  # limits are looked at even then
    try:
        if hasattr(refine, "attempts"):
            steps: Policy[Entry] = refine.attempts(journal, entry)
            return (yield from steps)
        return _by_others(refine, journal, entry)
    except SolvesStopped:
        return entry
    except Exception as error:  # whatever it is, the finished solve must not be lost
        if any(error is each for each in journal.raised):
            raise
        warn_user(
            f"the refinement ended in an error, the solution is as it was before ({type(error).__name__}: "
            f"{error})"
        )
        return entry


def _by_others(refine: Refinement, journal: Journal, entry: Entry) -> Entry:
    """The entry of a refinement that makes solves of its own."""
    solver = without_checkpoints(journal.solver)
    limited = TimedSolver(solver, journal.run) if np.isfinite(journal.run.deadline) else solver
    before = journal.solution(entry)
    answer = refine.refine(before, limited, journal.run.callback)
    if answer is before:
        return entry
    attempt = Attempt(entry.attempt.asked, policy=type(refine).__name__, number=entry.attempt.number)
    return journal.note(attempt, answer, before)
