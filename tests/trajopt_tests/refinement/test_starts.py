"""Several starts: never worse than one, the table tells all of them, and files keep it."""

import numpy as np
import pytest

import problems
import trajopt
from trajopt.errors import OptionError
from trajopt.solvers.solver import Status


@pytest.fixture(scope="module")
def swing():
    """The cart and pole: two optima that differ by 1.5 %."""
    problem = problems.cart_pole.build(intervals=24)
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


@pytest.fixture(scope="module")
def reach():
    """Six axes in minimum time: by default from several starts."""
    problem = problems.six_axis_arm.build(intervals=10)
    return problem, trajopt.solve(problem)


def test_many_joints_with_a_free_duration_have_several_starts_by_default(reach):
    problem, found = reach
    one = trajopt.solve(problem, starts=1)
    assert one.starts is None
    assert 3 <= len(found.starts.starts) <= 8
    assert found.problem is problem
    assert found.objective <= one.objective * (1.0 + 1e-6)
    assert found.verify().holds_at_nodes


def test_a_guess_or_few_joints_are_solved_from_one_start():
    assert trajopt.solve(problems.three_link_arm.build(intervals=10)).starts is None
    problem = problems.six_axis_arm.build(intervals=10)
    problem.guess(duration=1.0)
    assert trajopt.solve(problem).starts is None


@pytest.mark.parametrize(("intervals", "status"), [(10, Status.CONVERGED), (20, Status.INTERRUPTED)])
def test_an_interrupted_start_ends_all_of_them(reach, intervals, status):
    """What an earlier start found on the problem's own mesh stays; from a coarse mesh its motion does."""
    first = reach[1].starts.starts[0].solves[0]
    problem, seen = problems.six_axis_arm.build(intervals=intervals), []

    def stop(iteration):
        seen.append(iteration)
        if len(seen) > first.iterations + 5:
            raise KeyboardInterrupt

    stopped = trajopt.solve(problem, progress=stop)
    assert stopped.status is status
    assert [start.number for start in stopped.starts.starts] == [0, 1]
    assert stopped.objective == pytest.approx(first.objective, rel=1e-2)
    assert stopped.problem is problem


def test_time_that_is_over_ends_the_starts(reach):
    problem, _ = reach
    stopped = trajopt.solve(problem, time_limit=1e-3)
    assert stopped.status is Status.TIME_LIMIT
    assert len(stopped.starts.starts) == 1
    assert stopped.problem is problem


def test_a_guess_that_leads_nowhere_is_followed_by_others():
    problem = problems.pendulum_swing_up.build(intervals=10)
    assert not trajopt.solve(problem, starts=1).converged
    found = trajopt.solve(problem)
    assert found.converged and found.verify().holds_at_nodes
    assert found.problem is problem
    assert not found.starts.starts[0].solves[-1].converged
    assert found.starts.chosen > 0
    assert "the problem's own guess did not (converged to a point where the violation is smallest" in str(
        found
    )


def test_what_no_guess_solves_says_so():
    problem = problems.two_link_rr.build(intervals=10, duration=(0.05, 0.1))
    found = trajopt.solve(problem)
    assert not found.converged
    assert found.starts.known == f"none of {len(found.starts.starts)} starts converged"
    assert found.starts.chosen == 0
