"""Several starts: never worse than one, the table tells all of them, and files keep it."""

import numpy as np
import pytest

import problems
import trajopt
from trajopt.errors import OptionError


@pytest.fixture(scope="module")
def swing():
    """The cart and pole: two optima that differ by 1.5 %."""
    problem = problems.cart_pole.build(intervals=16)
    return problem, trajopt.solve(problem), trajopt.solve(problem, starts=4)


def test_the_best_of_several_starts_is_never_worse_than_one(swing):
    problem, one, best = swing
    assert best.converged
    assert best.problem is problem
    assert best.objective < one.objective * 0.99  # swings back first: 57.95 against 58.82
    assert best.verify().holds


def test_the_table_tells_every_start(swing):
    _, one, best = swing
    table = best.starts
    assert [start.number for start in table.starts] == [0, 1, 2, 3]
    assert table.starts[0].solves[-1].objective == pytest.approx(one.objective, rel=1e-9)
    chosen = table.starts[table.chosen]
    assert chosen.finished
    assert chosen.solves[-1].objective == best.objective
    assert best.iterations == sum(level.iterations for start in table.starts for level in start.solves)
    assert "best of 4 starts" in str(table)


def test_a_start_that_repeats_an_optimum_names_the_first_one():
    table = trajopt.solve(problems.sliding_mass.build(intervals=10), starts=3).starts
    assert [start.same_as for start in table.starts] == [None, 0, 0]
    assert table.chosen == 0
    assert "1 different optimum" in table.known


def test_files_keep_the_tables(swing, tmp_path):
    _, _, best = swing
    best.save(tmp_path / "swing.npz")
    loaded = trajopt.Solution.load(tmp_path / "swing.npz")
    assert loaded.starts == best.starts
    assert loaded.levels == best.levels
    assert loaded.verify().holds


def test_starts_are_the_same_in_every_run(swing):
    problem, _, best = swing
    again = trajopt.solve(problem, starts=4)
    assert np.array_equal(again.curve.control_points[0], best.curve.control_points[0])


@pytest.mark.parametrize("given", [0, -1, 2.0, True, "8"])
def test_a_number_of_starts_is_a_whole_number(given):
    with pytest.raises(OptionError, match=r"starts is .*: give a whole number of at least 1"):
        trajopt.solve(problems.sliding_mass.build(), starts=given)
