"""Refinements of the best answer in turn, those of other optima of the starts after it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from trajopt.problem.refinement_protocol import Refinement
from trajopt.refinement.limit_nodes import LimitNodes
from trajopt.refinement.starts.several_starts import other_optima
from trajopt.solution.journal import Attempt, Entry, Journal, Policy, better
from trajopt.solvers.run import SolvesStopped, TimedSolver, without_checkpoints


def refinements(journal: Journal, refine: Refinement | None) -> Policy[None]:
    """Refine the best answer as asked; with limit nodes, lower optima that the starts found, too.

    Nodes for limits may reverse the order of two optima.
    """
    others = other_optima(journal) if isinstance(refine, LimitNodes) else []
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
    if len(journal.entries) == count or not getattr(held.answer.refinement, "reached", True):
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
            return (yield from refine.attempts(journal, entry))
        return _by_others(refine, journal, entry)
    except SolvesStopped:
        return entry
    except Exception as error:  # whatever it is, the finished solve must not be lost
        if any(error is each for each in journal.raised):
            raise
        warnings.warn(
            f"the refinement ended in an error, the solution is as it was before ({type(error).__name__}: "
            f"{error})",
            stacklevel=2,
        )
        return entry


def _by_others(refine: Refinement, journal: Journal, entry: Entry) -> Entry:
    """The entry of a refinement that makes solves of its own."""
    solver: Any = without_checkpoints(journal.solver)
    limited = TimedSolver(solver, journal.run) if np.isfinite(journal.run.deadline) else solver
    before = journal.solution(entry)
    answer = refine.refine(before, limited, journal.run.callback)
    if answer is before:
        return entry
    attempt = Attempt(entry.attempt.asked, policy=type(refine).__name__, number=entry.attempt.number)
    return journal.note(attempt, answer, before)
