"""The loop of rounds: the better answer is kept, effort is summed, every end has its reason."""

from dataclasses import dataclass

import pytest

from trajopt.refinement.rounds import NoFurtherRound, run_rounds, unless_smaller
from trajopt.solution.journal import INTERRUPTED
from trajopt.solvers.run import OUT_OF_TIME, SolvesStopped
from trajopt.solvers.solver import Status


@dataclass(frozen=True)
class Found:
    """An answer with nothing but its error and effort."""

    error: float
    status: Status = Status.CONVERGED
    iterations: int = 10
    seconds: float = 0.5
    recipe: str = "own"
    run: str = "own"

    @property
    def converged(self):
        return self.status.converged


def refined(errors, stop=None, rounds=5):
    """Rounds over answers of these errors, whose end is an exception where one is given."""

    def finer(so_far):
        if so_far.count + 1 < len(errors):
            return errors[so_far.count + 1]
        raise stop

    return run_rounds(
        errors[0],
        measure=lambda answer: answer.error,
        ended=lambda so_far: "all rounds" if so_far.count == rounds else None,
        finer=finer,
        objection=unless_smaller(lambda error: error),
    )


def test_the_best_answer_is_kept_with_the_effort_of_all():
    first = Found(3.0, recipe="asked", run="first")
    found = refined([first, Found(1.0), Found(2.0)], rounds=2)
    assert found.reason == "all rounds" and not found.stopped and found.count == 2
    assert [each.objection for each in found.tried] == ["", "", "not better"]
    answer = found.answer()
    assert answer.error == 1.0 and answer.iterations == 30 and answer.seconds == 1.5
    assert answer.recipe == "asked" and answer.run == "first"


def test_an_answer_that_did_not_converge_replaces_none():
    found = refined([Found(3.0), Found(1.0, Status.ITERATION_LIMIT)], rounds=1)
    assert found.best.answer.error == 3.0
    assert found.last.objection == Status.ITERATION_LIMIT.value


@pytest.mark.parametrize(
    ("stop", "reason", "stopped"),
    [
        (NoFurtherRound("nothing finer"), "nothing finer", False),
        (NoFurtherRound(), "", False),
        (SolvesStopped(OUT_OF_TIME), OUT_OF_TIME, True),
        (KeyboardInterrupt(), INTERRUPTED, True),
    ],
)
def test_an_end_before_all_rounds_says_why(stop, reason, stopped):
    found = refined([Found(3.0), Found(2.0)], stop)
    assert (found.reason, found.stopped) == (reason, stopped)
    assert found.best.answer.error == 2.0
    assert found.answer().iterations == 20


def test_other_errors_are_those_of_the_caller():
    with pytest.raises(ZeroDivisionError):
        refined([Found(3.0)], ZeroDivisionError())
