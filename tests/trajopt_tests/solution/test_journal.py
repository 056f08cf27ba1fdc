"""The journal of a solve: policies are sent entries, errors and ends; totals are sums; one rule of better."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

import problems
import trajopt
from trajopt.base.errors import EvaluationError
from trajopt.solution.journal import INTERRUPTED, Attempt, Entry, Journal, better, objection
from trajopt.solvers.run import OUT_OF_TIME, SolvesStopped
from trajopt.solvers.solver import Run, Status


@dataclass(frozen=True)
class Ends:
    """Ipopt, whose solves end with the given statuses in turn, or raise the given errors."""

    ends: tuple

    def solve(self, nlp, start=None, run=None):
        end = self.ends[len(CALLS)] if len(CALLS) < len(self.ends) else Status.CONVERGED
        CALLS.append(run)
        if isinstance(end, BaseException):
            raise end
        return replace(trajopt.Ipopt().solve(nlp, start, run), status=end)


CALLS: list = []


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def journal_of(*ends, **options):
    problem = problems.sliding_mass.build(intervals=5)
    return problem, Journal(problem, Ends(ends), **options)


def test_totals_are_those_of_all_attempts_whatever_is_kept():
    problem, journal = journal_of()

    def policy():
        first = yield Attempt(problem, own_mesh=True)
        coarse = yield Attempt(problem.on(problem.trajectory), note="another")
        assert not coarse.attempt.own_mesh and journal.best is first
        return first

    entry = journal.improve(policy())
    answer = journal.solution(entry)
    each = [entry.answer for entry in journal.entries]
    assert len(each) == 2 and answer.iterations == sum(one.iterations for one in each) > each[0].iterations
    assert answer.seconds == sum(one.seconds for one in each)
    assert answer.problem is problem


def test_what_an_attempt_raises_is_thrown_into_the_policy_and_noted():
    problem, journal = journal_of(EvaluationError("not finite"))

    def policy():
        with pytest.raises(EvaluationError, match="not finite"):
            yield Attempt(problem, own_mesh=True)
        yield Attempt(problem, own_mesh=True)

    journal.improve(policy())
    assert [entry.error for entry in journal.entries] == ["not finite", ""]
    assert journal.best is journal.entries[1]


def test_without_an_answer_what_is_raised_leaves():
    problem, journal = journal_of(EvaluationError("not finite"))
    with pytest.raises(EvaluationError):
        journal.improve(iter_of(Attempt(problem, own_mesh=True)))


def iter_of(*attempts):
    """A policy that yields these, whatever they lead to."""
    entries = []
    for attempt in attempts:
        entries.append((yield attempt))
    return entries


@pytest.mark.parametrize("how", ["deadline", "interrupt"])
def test_after_the_end_of_the_time_no_attempt_follows_an_answer(how):
    interrupt = how == "interrupt"
    problem, journal = journal_of(*([Status.INTERRUPTED] if interrupt else []))
    if not interrupt:
        journal.run = Run(deadline=0.0)
    journal.improve(iter_of(Attempt(problem, own_mesh=True)))  # there is an answer even then
    reasons = []

    def policy():
        try:
            yield Attempt(problem, own_mesh=True)
        except SolvesStopped as stop:
            reasons.append(str(stop))

    journal.improve(policy())
    journal.improve(iter_of(Attempt(problem, own_mesh=True)))
    assert reasons == [INTERRUPTED if interrupt else OUT_OF_TIME]
    assert len(journal.entries) == 1


def test_ctrl_c_outside_a_solver_ends_with_the_best_answer():
    problem, journal = journal_of(Status.CONVERGED, KeyboardInterrupt())
    journal.improve(iter_of(*2 * [Attempt(problem, own_mesh=True)]))
    assert journal.interrupted and journal.best.converged
    problem, journal = journal_of(Status.CONVERGED)
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        Journal(problem, Ends((KeyboardInterrupt(),))).improve(iter_of(Attempt(problem, own_mesh=True)))


def test_an_interrupted_coarse_solve_leaves_an_answer_on_the_own_mesh_that_says_so():
    problem, journal = journal_of(Status.INTERRUPTED)
    coarse = Attempt(problem.on(problem.trajectory))
    journal.improve(iter_of(coarse, Attempt(problem, own_mesh=True)))
    assert journal.best.answer.status is Status.INTERRUPTED
    assert CALLS[1].deadline == 0.0


def test_answers_on_the_own_mesh_hold_the_problem_that_was_asked():
    problem, journal = journal_of()
    guessed = problem.on(problem.trajectory)
    guessed.guess(duration=2.0)
    journal.improve(iter_of(Attempt(guessed, number=1, own_mesh=True)))
    assert journal.best.answer.problem is problem


@pytest.fixture(scope="module")
def answer():
    return trajopt.solve(problems.sliding_mass.build(intervals=5), refine=None)


def entry_of(answer, objective=1.0, status=Status.CONVERGED, **judged: Any):
    return Entry(Attempt(None), replace(answer, objective=objective, status=status), **judged)


def test_the_better_of_two_answers(answer):
    one, lower, same = (entry_of(answer, value) for value in (1.0, 0.9, 1.0 - 1e-8))
    assert better(one, lower) is lower and better(lower, one) is lower
    assert better(one, same) is one  # the same optimum from another start
    failed = entry_of(answer, 0.1, Status.ITERATION_LIMIT)
    assert better(one, failed) is one and better(failed, one) is one
    closer = replace(failed, answer=replace(failed.answer, kkt=replace(failed.answer.kkt, primal=-1.0)))
    assert better(failed, closer) is closer and better(closer, failed) is closer
    other = replace(closer, attempt=Attempt(None, number=1))
    assert better(failed, other) is failed  # the user's own guess tells more


def test_an_excess_counts_as_far_as_it_is_above_the_accuracy(answer):
    judged: Any = {"accuracy": 1e-3}
    missed, holds, better_yet = (entry_of(answer, 1.0, excess=e, **judged) for e in (5e-3, 9e-4, 1e-5))
    dearer = entry_of(answer, 1.2, excess=1e-5, **judged)
    assert better(missed, holds) is holds and better(missed, dearer) is dearer
    assert better(holds, better_yet) is holds and better(better_yet, missed) is better_yet
    explained = replace(missed, explains_rise=True)
    assert objection(explained, dearer).startswith("another local optimum: 20.0% higher")
    finer = replace(better_yet, explains_rise=True)
    assert better(replace(holds, explains_rise=True), finer) is finer  # of one optimum on a finer mesh
