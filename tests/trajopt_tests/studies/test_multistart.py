"""Many starts: one table whatever the number of processes, failures kept in it."""

import numpy as np
import pytest
from hand_written import two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.studies.multistart import multistart


def small():
    return two_link_minimum_time(6)


def broken():
    raise errors.ProblemError("this robot is broken")


class Dying:
    """A solver whose process ends without a word, except where the guess is the problem's own."""

    def solve(self, nlp, start=None, run=None):
        import os

        os._exit(3)


@pytest.mark.long
def test_the_table_is_the_same_for_one_process_and_for_two(forked_workers):
    alone = multistart(small, starts=3, processes=1)
    together = multistart(small, starts=3, processes=2)
    assert [s.objective for s in alone.starts] == [s.objective for s in together.starts]
    assert [s.seed for s in together.starts] == [0, 1, 2]
    assert together.best is not None and np.isclose(together.best.objective, together.optima[0], rtol=1e-12)
    assert np.all(np.isfinite(together.best.tau(0.1)))  # the winner knows its problem


def test_a_problem_of_the_library_is_built_from_its_recipe():
    import problems

    table = multistart(problems.sliding_mass.build(intervals=6), starts=2, processes=1)
    assert all(start.converged for start in table.starts) and len(table.optima) == 1
    assert "2 of 2 starts converged, to one optimum" in str(table)


def test_failures_stay_in_the_table_with_their_message():
    table = multistart(broken, starts=2, processes=1)
    assert table.best is None and table.optima == ()
    assert all("this robot is broken" in start.error for start in table.starts)
    assert "this robot is broken" in str(table)


@pytest.mark.long
def test_a_process_that_dies_becomes_a_row(forked_workers):
    table = multistart(small, starts=1, solver=Dying(), processes=2)
    assert table.starts[0].status == "failed" and "WorkerDiedError" in table.starts[0].error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"starts": 0}, "starts = 0: expected a whole number, 1 or more"),
        ({"processes": 0}, "processes = 0: expected a whole number, 1 or more"),
        ({"spread": -1.0}, "spread is -1.0"),
        (
            {"source": trajopt.Problem},
            "is no problem: give a trajopt.Problem or trajopt.Phases, or give its recipe",
        ),
    ],
)
def test_impossible_requests_are_refused(arguments, message):
    with pytest.raises(errors.OptionError, match=message):
        multistart(**({"source": small} | arguments))


def test_a_problem_without_a_recipe_is_sent_as_it_is():
    """With what was added to it: a recipe would build it without."""
    problem = small()
    problem.minimize(trajopt.tau**2, weight=1.0)
    table = multistart(problem, starts=1, processes=1)
    assert table.best is not None and len(table.best.cost_terms) == 2
