"""A solve as a journal: attempts in turn, each with its answer, and totals that are sums over all of them.

A policy is a generator that yields an `Attempt`, is sent its `Entry` and decides by that what to try next.
What an attempt raises is thrown into it, and so is SolvesStopped in place of an attempt after the deadline or
Ctrl-C. Answers on the user's mesh are compared by `objection`. The rounds of a solver that works through
another are one attempt.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.base.tolerances import BETWEEN, ESTIMATED, NOT_ZERO, SAME_OPTIMUM
from trajopt.problem.guess import Motion
from trajopt.problem.phases import Asked
from trajopt.solution.answers import answer_at, program_of
from trajopt.solution.records import OTHER_SOLVERS, JournalTable, MeshSolve, RunRecord, SolveHistory
from trajopt.solution.solution import Answer
from trajopt.solvers.run import INTERRUPTED, OUT_OF_TIME, SolvesStopped, run_solver, without_checkpoints
from trajopt.solvers.solver import (
    FEASIBILITY,
    ROUNDING,
    Callback,
    Iteration,
    Result,
    Run,
    Solver,
    StartKind,
    Status,
    WarmStart,
)
from trajopt.transcription.linked_program import LinkedProgram, unknowns_at_motion
from trajopt.transcription.nlp import NLP

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=Answer)

FOLLOWED = 100  # iterations of each at most: towards an optimum of zero every further one gains something
AS_LARGE = 1e-2  # objectives that fell far are scaled to this
LEAST_ITERATIONS = 100  # of a solve, of which one on a finer mesh may take twice as many


@dataclass(frozen=True, eq=False)
class Attempt:
    """One solve to be made.

    asked : the problem, or the phases, on the mesh to be solved on
    start : an answer, another motion, or the solver's own unknowns; None: the guess of `asked`
    run : what it leaves open is the journal's
    solver : None: that of the journal
    policy, number : whose attempt it is, and of which start; 0 is the user's own guess
    note : what distinguishes it from others of its policy
    own_mesh : whether its answer, on the mesh of the user, is compared with the best one at once
    program : that of `asked` with another factor of the objective; None: it is built
    """

    asked: Asked
    start: Motion | Answer | WarmStart | None = None
    run: Run = field(default_factory=Run)
    solver: Solver | None = None
    policy: str = ""
    number: int = 0
    note: str = ""
    own_mesh: bool = False
    program: NLP | LinkedProgram | None = None


@dataclass(eq=False)
class Entry:
    """One attempt and its answer, or the error that it raised.

    excess, accuracy : the relative error by which a refinement judges the answer, of limits or equations
        between nodes for example, and how much of it is allowed
    explains_rise : whether an excess says how far the objective may rise on a finer mesh
    interrupted : whether Ctrl-C ended it
    histories : objective and violation by iteration, of several solves where others made them
    noted : the rows of those
    solved : program and result, until the attempt is over
    """

    attempt: Attempt
    answer: Any = None
    error: str = ""
    excess: float = 0.0
    accuracy: float = 0.0
    explains_rise: bool = False
    interrupted: bool = False
    histories: tuple[SolveHistory, ...] = ()
    noted: tuple[MeshSolve, ...] = ()
    solved: tuple[NLP | LinkedProgram, Result] | None = None

    @property
    def converged(self) -> bool:
        return self.answer is not None and self.answer.converged

    @property
    def value(self) -> float:
        """The objective; infinity without a converged answer."""
        return self.answer.objective if self.converged else np.inf

    @property
    def rows(self) -> tuple[MeshSolve, ...]:
        """Its line of the table, or those of the solves that others made."""
        attempt = self.attempt
        known = {"policy": attempt.policy, "number": attempt.number, "final_mesh": attempt.own_mesh}
        if self.answer is None:
            return (MeshSolve(0, self.error, False, float("nan"), 0, 0.0, **known),)
        row = MeshSolve.of(self.answer)
        note = f" ({attempt.note})" * (attempt.policy == OTHER_SOLVERS)
        return self.noted or (replace(row, status=row.status + note, **known),)


Policy = Generator[Attempt, Entry, T]


@dataclass(eq=False)
class Journal:
    """All attempts of one solve, and the one place that makes them.

    run : defaults of every attempt, whose own settings take precedence
    record : what is known of the run of the solution
    chosen : the best entry on the mesh of the user, or the refined one that it led to; None before the first
    same_as : number of a start -> of the earlier one that found the same optimum, or None
    several : whether further starts were tried
    checked : seconds that refinements spent besides solves
    raised : what the callback raised, which leaves the solve
    origin : the answer that a refinement by itself begins with, the first entry
    """

    asked: Asked
    solver: Solver
    run: Run = field(default_factory=Run)
    record: RunRecord | None = None
    entries: list[Entry] = field(default_factory=list)
    chosen: Entry | None = None
    same_as: dict[int, int | None] = field(default_factory=dict)
    several: bool = False
    checked: list[float] = field(default_factory=list)
    raised: list[Exception] = field(default_factory=list)
    origin: Answer | None = None

    @staticmethod
    def after(answer: Answer, solver: Solver, run: Run | None = None) -> Journal:
        """The journal of what follows an answer, its first entry."""
        journal = Journal(answer.asked, solver, run or Run(), origin=answer)
        journal.chosen = Entry(Attempt(journal.asked), answer, histories=answer.journal.histories)
        journal.entries.append(journal.chosen)
        return journal

    def within(self, seconds: float | None) -> Journal:
        """This journal for attempts that end so many seconds from now; their entries are those of both."""
        other = copy.copy(self)
        other.run = self.run.within(seconds)
        return other

    def __post_init__(self) -> None:
        callback = self.run.callback
        if callback is None:
            return

        def watched(iteration: Iteration) -> object:
            try:
                return callback(iteration)
            except Exception as error:  # noted, and raised by the solver
                self.raised.append(error)
                raise

        self.run = replace(self.run, callback=watched)

    @property
    def best(self) -> Entry:
        """The entry that is returned unless a better one follows."""
        assert self.chosen is not None
        return self.chosen

    @property
    def iterations(self) -> int:
        """The sum over all attempts."""
        return sum(each.answer.iterations for each in self.entries if each.answer is not None)

    @property
    def seconds(self) -> float:
        """The sum over all attempts, and of what was spent besides."""
        solves = sum(each.answer.seconds for each in self.entries if each.answer is not None)
        return solves + sum(self.checked)

    @property
    def interrupted(self) -> bool:
        """True once Ctrl-C ended an attempt."""
        return any(each.interrupted for each in self.entries)

    @property
    def stopped(self) -> str:
        """Reason why no further attempt is made, by the deadline or Ctrl-C; else nothing."""
        return INTERRUPTED if self.interrupted else OUT_OF_TIME if self.run.expired else ""

    def improve(self, policy: Policy[T]) -> T | None:
        """Run the attempts of a policy until it ends or is stopped, and give what it returns."""
        try:
            return driven(self.attempt, policy)
        except (SolvesStopped, KeyboardInterrupt) as stop:
            if self.chosen is None:
                raise
            self.entries[-1].interrupted |= isinstance(stop, KeyboardInterrupt)
            return None

    def attempt(self, attempt: Attempt) -> Entry:
        """The entry of an attempt, the best where its objective was scaled again.

        Without an answer on the user's mesh there is an attempt even after the deadline, which returns its
        start. Raises what the attempt raises, and SolvesStopped.
        """
        if self.stopped and self.chosen is not None:
            raise SolvesStopped(self.stopped)
        first = len(self.entries)
        try:
            entry = driven(self._solved, rescaled(attempt))
        except KeyboardInterrupt:
            if self.chosen is None:
                raise
            self.entries[-1].interrupted = True
            raise SolvesStopped(INTERRUPTED) from None
        finally:
            for each in self.entries[first:]:
                each.solved = None
        if attempt.own_mesh:
            self.chosen = entry if self.chosen is None else better(self.chosen, entry)
        return entry

    def _solved(self, attempt: Attempt) -> Entry:
        """The entry of one solve, without what follows it."""
        entry, run = Entry(attempt), attempt.run.over(self.run)
        self.entries.append(entry)
        solver = attempt.solver or self.solver
        if attempt.asked is not self.asked:
            solver = without_checkpoints(solver)
        try:
            program = attempt.program or program_of(attempt.asked, check=True)
            start = attempt.start
            if not (start is None or isinstance(start, WarmStart)):  # a motion, or an answer
                start = WarmStart(np.concatenate(unknowns_at_motion(start, attempt.asked, program.programs)))
            if self.interrupted:  # the solver still returns its start
                run = replace(run, deadline=0.0)
            result = run_solver(solver, program, start, run)
            entry.solved = program, result
            entry.histories = (SolveHistory.of(program, result),) * bool(len(result.history))
            answer = answer_at(attempt.asked, program, result)
        except TrajoptError as error:
            entry.error = str(error)
            raise
        if self.interrupted:
            answer = replace(answer, status=Status.INTERRUPTED)
        entry.interrupted = answer.status is Status.INTERRUPTED
        if attempt.own_mesh and attempt.asked is not self.asked:
            known = "known_phases" if hasattr(answer, "known_phases") else "known_problem"
            its_own: dict[str, Any] = {known: self.asked}
            answer = replace(answer, **its_own)
        entry.answer = answer
        return entry

    def answer(self, attempt: Attempt) -> Any:
        """The answer of an attempt; SolvesStopped, too, where Ctrl-C ended it."""
        entry = self.attempt(attempt)
        if self.interrupted:
            raise SolvesStopped(INTERRUPTED)
        return entry.answer

    def other_optima(self) -> list[Entry]:
        """The answers of starts on the user's mesh at other optima than the best one, the lowest first."""
        lowest = self.best.value
        others = [
            each
            for each in self.entries
            if each.attempt.own_mesh
            and np.isfinite(each.value)
            and not same_optimum(each.value, lowest)
            and self.same_as.get(each.attempt.number) is None
        ]
        return sorted(others, key=lambda each: each.value)

    def note(self, attempt: Attempt, answer: Answer, before: Answer) -> Entry:
        """The entry of an answer that others found from one of this journal, with what they took for it."""
        iterations, seconds = answer.iterations - before.iterations, answer.seconds - before.seconds
        of_these = {"iterations": iterations, "seconds": seconds, "timings": {}}
        rows = _further(before.journal.rows, answer.journal.rows)
        histories = _further(before.journal.histories, answer.journal.histories)
        entry = Entry(attempt, replace(answer, **of_these), histories=histories, noted=rows)
        self.entries.append(entry)
        return entry

    def solution(self, entry: Entry) -> Any:
        """The answer of an entry with the sums and the table of the journal."""
        timings: Counter[str] = Counter()
        for each in self.entries:
            timings.update({} if each.answer is None else each.answer.timings)
        of_all = {"iterations": self.iterations, "seconds": self.seconds, "timings": dict(timings)}
        if self.origin is not None:
            kept = {name: getattr(self.origin, name) for name in ("run", "recipe")}
            return replace(entry.answer, **of_all, **kept, journal=self._table(entry))
        known = {"journal": self._table(entry), "run": self.record, "recipe": self.asked.recipe}
        return replace(entry.answer, **of_all, **known)

    def _table(self, entry: Entry) -> JournalTable:
        """The table of a solution: its rows, after those of the answer that a refinement begins with."""
        histories = tuple(history for each in self.entries for history in each.histories)
        refinement = entry.answer.journal.refinement
        if self.origin is None:
            rows = [replace(r, same_as=self.same_as.get(r.number)) for e in self.entries for r in e.rows]
            return JournalTable(tuple(rows), entry.attempt.number, self.several, refinement, histories)
        before = self.origin.journal
        further = (row for each in self.entries[1:] for row in each.rows)
        rows = (*before.rows, *further)
        return replace(before, rows=rows, refinement=refinement, histories=histories)


def driven(run: Callable[[Attempt], Entry], policy: Policy[T]) -> T:
    """The value that a policy returns after its attempts; what one raises is thrown into it."""
    following: Callable[[], Attempt] = partial(next, policy)
    while True:
        try:
            attempt = following()
        except StopIteration as end:
            return end.value
        try:
            following = partial(policy.send, run(attempt))
        except Exception as error:
            following = partial(policy.throw, error)


def rescaled(attempt: Attempt) -> Policy[Entry]:
    """An attempt, then the same with larger factors of the objective where that fell far: the best entry.

    The objective is scaled at the start. Where it falls to a hundred-thousandth of that, tolerances ask for
    little: a quadruped's trot had passed them at ten times the optimum. Durations without a limit are left
    alone, as they make some costs as small as one likes. An attempt that stops before it converges, at a
    motion that meets the rows and costs less, is the best all the same where costs are left there: the one
    before is no optimum.
    """
    best = yield attempt
    for _ in range(3):  # rescalings at most
        assert best.solved is not None
        program, result = best.solved
        size = abs(program.objective(result.y))
        unlimited = np.any(np.isinf(program.upper[program.durations]))
        if unlimited or result.status is not Status.CONVERGED or not is_far_below(size):
            break
        most = FOLLOWED if attempt.run.max_iterations is None else min(FOLLOWED, attempt.run.max_iterations)
        near = replace(attempt.run, start_kind=StartKind.NEAR_START, max_iterations=most)
        finer = program.with_objective_times(AS_LARGE / size)
        again = yield replace(attempt, program=finer, start=WarmStart(result.y), run=near)
        assert again.solved is not None
        then = again.solved[1]
        if then.status is Status.CONVERGED and finer.objective(then.y) < finer.objective(result.y):
            best = again
            continue
        is_met = then.infeasibility <= FEASIBILITY
        return again if is_met and costs_less(finer, result.y, then.y) else best
    return best


def is_far_below(size: float) -> bool:
    """True of a scaled objective so small that tolerances ask for little: it is scaled to `AS_LARGE`."""
    return bool(np.finfo(float).tiny < size < 1e-5)


def costs_less(program: NLP | LinkedProgram, before: Array, now: Array, bought: float = 0.0) -> bool:
    """True if the objective falls by more than 1 % from one point to another, and costs are left there.

    An optimum that costs nothing is approached without end: more than 1 % must be left, and the objective be
    more than rounding.

    bought : by violations of rows, added to the objective there
    """
    here, there = float(program.objective(before)), float(program.objective(now)) + bought
    least = BETWEEN * max(abs(here), abs(there))
    return here - there > least and abs(there) > least and is_above_rounding(program, before)


def is_above_rounding(program: NLP | LinkedProgram, y: Array) -> bool:
    """True if the objective at y is more than rounding d of unknowns, 1e-12 |y|, leaves of it.

    That is |f'| d + d |f''| d / 2.
    """
    if not program.has_hessian:
        return False
    here = float(program.objective(y))
    d, i, j = ROUNDING * np.abs(y), program.hessian_rows, program.hessian_columns
    entries = np.abs(program.hessian(y, np.zeros(program.row_count))) * np.where(i == j, 0.5, 1.0)
    return bool(abs(here) > np.abs(program.gradient(y)) @ d + entries @ (d[i] * d[j]))


class ByAttempts(ABC):
    """A refinement of a single problem, or of phases, by attempts in a journal."""

    takes_links: ClassVar[bool] = True

    @abstractmethod
    def attempts(self, journal: Journal, first: Entry) -> Policy[Entry]:
        """Make attempts after the first entry, and return the best one, or the first."""

    def refine(self, solution: AnswerT, solver: Solver, progress: Callback | None = None) -> AnswerT:
        """The answer that the attempts lead to from another one, with the sums of both, or that one itself.

        progress : called with every iteration of every solve
        """
        journal = Journal.after(solution, solver, Run(callback=progress))
        first = journal.best
        entry = journal.improve(self.attempts(journal, first))
        return solution if entry is None or entry is first else journal.solution(entry)


def objection(best: Entry, new: Entry) -> str:
    """Reason why an answer does not replace the best one before; empty where it does.

    Both are on the user's knots or finer. Converged ones go before others; of those of one start the less
    infeasible, if none is. Then the smaller excess counts, as far as it is above the accuracy, and then the
    objective. A rise that the errors of the former do not explain means another local optimum.
    """
    if not new.converged:
        alike = not best.converged and best.attempt.number == new.attempt.number
        closer = alike and new.answer.kkt.primal <= best.answer.kkt.primal
        return "" if closer else new.answer.status.value
    if not best.converged:
        return ""
    error, accuracy = best.excess, best.accuracy
    rise = (new.value - best.value) / max(abs(best.value), NOT_ZERO)
    if max(error, new.excess) <= accuracy:  # on a finer mesh the same optimum is a better answer
        most = ROUNDING if new.explains_rise else -SAME_OPTIMUM
        return f"its objective is {rise:.1e} higher at errors below the tolerance" * (rise > most)
    if not new.excess < error:
        return f"its largest relative error is {new.excess:.1e}, not below {error:.1e}"
    if best.explains_rise and rise > ESTIMATED * error:
        return f"another local optimum: {rise:.1%} higher, which errors of {error:.1e} do not explain"
    return ""


def better(best: Entry, new: Entry) -> Entry:
    """The new entry where it replaces the best one before, else that."""
    return best if objection(best, new) else new


def same_optimum(one: float, other: float) -> bool:
    """True if two objectives are those of one and the same optimum."""
    return bool(np.isfinite(one) and abs(one - other) <= SAME_OPTIMUM * max(abs(one), NOT_ZERO))


def iterations_on(spent: int = 0) -> int:
    """The most iterations of a solve on a finer mesh after so many of all attempts before."""
    return 2 * max(spent, LEAST_ITERATIONS)


def _further(before: tuple[T, ...], now: tuple[T, ...]) -> tuple[T, ...]:
    """The values after those that were there before; all of them where these are others."""
    return now[len(before) :] if now[: len(before)] == before else now
