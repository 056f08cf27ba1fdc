"""Rounds of a refinement: solve a finer problem, keep the better answer, give the reason of the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from trajopt.solution.journal import INTERRUPTED
from trajopt.solvers.run import SolvesStopped

M = TypeVar("M")


class NoFurtherRound(Exception):
    """Raised in place of a finer answer where there is none, with the reason."""


@dataclass(frozen=True, eq=False)
class Round(Generic[M]):
    """One answer, of a problem or of phases.

    answer : its iterations and seconds are those of all rounds up to it
    measure : what it is judged by
    objection : why it did not replace the best one before; empty where it did
    """

    answer: Any
    measure: M
    objection: str = ""


@dataclass(frozen=True, eq=False)
class Rounds(Generic[M]):
    """What was tried, the answer to refine first.

    reason : why no further round followed
    stopped : whether a deadline or Ctrl-C was the reason
    """

    tried: tuple[Round[M], ...]
    reason: str = ""
    stopped: bool = False

    @property
    def count(self) -> int:
        """How many finer problems were solved."""
        return len(self.tried) - 1

    @property
    def last(self) -> Round[M]:
        return self.tried[-1]

    @property
    def best(self) -> Round[M]:
        return next(each for each in reversed(self.tried) if not each.objection)

    def answer(self, **changes: Any) -> Any:
        """The best answer with the iterations and seconds of all, and the origin of the first."""
        first, last = self.tried[0].answer, self.last.answer
        changes = {"recipe": first.recipe, "run": first.run, **changes}
        return replace(self.best.answer, iterations=last.iterations, seconds=last.seconds, **changes)


def unless_smaller(size: Callable[[M], float]) -> Callable[[Round[M], Round[M]], str]:
    """The objection to answers that did not converge, or whose measure is not of a smaller size."""

    def objection(best: Round[M], new: Round[M]) -> str:
        if not new.answer.converged:
            return new.answer.status.value
        return "" if size(new.measure) < size(best.measure) else "not better"

    return objection


def run_rounds(
    first: Any,
    *,
    measure: Callable[[Any], M],
    ended: Callable[[Rounds[M]], str | None],
    finer: Callable[[Rounds[M]], Any],
    objection: Callable[[Round[M], Round[M]], str],
) -> Rounds[M]:
    """Refine an answer until nothing more is wanted, a finer problem has no answer, or the time is over.

    measure : what an answer is judged by
    ended : why no further round is needed or allowed, perhaps without words; None where one is
    finer : the answer to a finer problem; raises NoFurtherRound where there is none that counts
    objection : (the best round before, the new one) -> why it does not replace it; empty where it does
    """
    rounds = Rounds((Round(first, measure(first)),))
    while (reason := ended(rounds)) is None:
        try:
            answer = finer(rounds)
        except NoFurtherRound as end:
            return replace(rounds, reason=str(end))
        except (SolvesStopped, KeyboardInterrupt) as stop:
            return replace(rounds, reason=str(stop) or INTERRUPTED, stopped=True)
        before = rounds.last.answer
        iterations, seconds = before.iterations + answer.iterations, before.seconds + answer.seconds
        answer = replace(answer, iterations=iterations, seconds=seconds)
        found = Round(answer, measure(answer))
        found = replace(found, objection=objection(rounds.best, found))
        rounds = replace(rounds, tried=(*rounds.tried, found))
    return replace(rounds, reason=reason)
