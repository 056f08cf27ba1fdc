"""Several starts: never worse than one, the table tells all of them, and files keep it."""

import numpy as np
import pytest
from tiers import fast_first, long_first

import problems
import trajopt
from benchmarks.robustness.cases import moved_arm, quick_pendulum
from trajopt.base.errors import OptionError
from trajopt.refinement import several_starts as starting
from trajopt.refinement.guess_search import guessed_curves, swinging_guess
from trajopt.refinement.several_starts import ONE, SEARCHED, start_rule
from trajopt.solution.answers import program_of
from trajopt.solvers.solver import Status


@pytest.fixture(scope="module")
def swing():
    """The cart and pole: two optima that differ by 1.5 %."""
    problem = problems.cart_pole.build(intervals=24)
    return problem, trajopt.solve(problem, starts=1), trajopt.solve(problem, starts=4)


@pytest.mark.long
def test_the_best_of_several_starts_is_never_worse_than_one(swing):
    problem, one, best = swing
    assert best.converged
    assert best.problem is problem
    assert best.objective < one.objective * 0.99  # swings back first: 57.95 against 58.82
    assert best.verify().holds


@pytest.mark.long
def test_the_table_tells_every_start(swing):
    _, one, best = swing
    table = best.journal.starts
    assert [start.number for start in table.starts] == [0, 1, 2, 3]
    assert table.starts[0].solves[-1].objective == pytest.approx(one.objective, rel=1e-9)
    chosen = table.starts[table.chosen]
    assert chosen.finished
    assert chosen.solves[-1].objective == best.objective
    assert best.iterations == sum(level.iterations for start in table.starts for level in start.solves)
    assert "best of 4 starts" in str(table)


def test_a_start_that_repeats_an_optimum_names_the_first_one():
    table = trajopt.solve(problems.sliding_mass.build(intervals=10), starts=3).journal.starts
    assert [start.same_as for start in table.starts] == [None, 0, 0]
    assert table.chosen == 0
    assert "1 different optimum" in table.known


@pytest.mark.long
def test_files_keep_the_tables(swing, tmp_path):
    _, _, best = swing
    best.save(tmp_path / "swing.npz")
    loaded = trajopt.Solution.load(tmp_path / "swing.npz")
    assert loaded.journal.starts == best.journal.starts
    assert loaded.journal.levels == best.journal.levels
    assert loaded.verify().holds


@pytest.mark.long
def test_starts_are_the_same_in_every_run(swing):
    problem, _, best = swing
    again = trajopt.solve(problem, starts=4)
    assert np.array_equal(again.curve.control_points[0], best.curve.control_points[0])


@pytest.mark.parametrize("given", [0, -1, 2.0, True, "8"])
def test_a_number_of_starts_is_a_whole_number(given):
    with pytest.raises(OptionError, match=r"starts \('auto' or a number\) = .*: expected a whole number, 1"):
        trajopt.solve(problems.sliding_mass.build(), starts=given)


@pytest.fixture(scope="module")
def reach():
    """Six axes in minimum time, no velocity limited: by default from several starts."""
    problem = moved_arm(10, "ur5", 3, torque_alone=True)
    return problem, trajopt.solve(problem, refine=None)


@pytest.mark.long
def test_many_joints_with_a_free_duration_have_several_starts_by_default(reach):
    problem, found = reach
    one = trajopt.solve(problem, starts=1, refine=None)
    assert one.journal.starts is None
    assert 3 <= len(found.journal.starts.starts) <= 8
    assert found.problem is problem
    assert found.objective <= one.objective * (1.0 + 1e-6)
    assert found.verify().holds_at_nodes


@pytest.mark.long
def test_a_guess_or_few_joints_are_solved_from_one_start():
    assert trajopt.solve(problems.three_link_arm.build(intervals=10)).journal.starts is None
    problem = moved_arm(10, "ur5", 3, torque_alone=True)
    problem.guess(duration=1.0)
    assert trajopt.solve(problem).journal.starts is None
    swing = problems.cart_pole.build(intervals=10, swing_back=True)
    assert trajopt.solve(swing).journal.starts is None


@pytest.mark.long
def test_a_problem_recommends_starts_that_look_for_better_optima_than_its_first_finds():
    problem = problems.sliding_mass.build(intervals=10)
    assert trajopt.solve(problem).journal.starts is None
    problem.recommend(trajopt.Ipopt(), starts=3)
    assert "from 3 starts" in repr(problem)
    found = trajopt.solve(problem)
    assert len(found.journal.starts.starts) == 3 and trajopt.solve(problem, starts=1).journal.starts is None
    short = trajopt.solve(problem, trajopt.Ipopt(max_iterations=1))
    assert not short.converged and short.journal.starts is None
    problem.guess(found)
    assert (
        trajopt.solve(problem).journal.starts is None
    )  # a guess of the user's own says which optimum is wanted
    for wrong in (0, 2.5, True, "8"):
        with pytest.raises(OptionError, match=r"the recommended number of starts = .* a whole number"):
            problem.recommend(trajopt.Ipopt(), starts=wrong)


@pytest.mark.long
def test_joints_without_motors_have_several_starts_by_default(swing):
    """The pole may swing to either side first."""
    problem, one, _ = swing
    found = trajopt.solve(problem)
    assert len(found.journal.starts.starts) > 1
    assert found.objective < one.objective * 0.99
    written = problems.cart_pole.build(intervals=24)
    written.constraints = [c for c in written.constraints if c.name != "no motor at pole"]
    written.subject_to(problems.cart_pole.pole_torque, equals=0.0, name="free joint")
    assert trajopt.solve(written).objective == pytest.approx(found.objective, rel=1e-9)


@pytest.mark.long
def test_a_long_turn_in_a_free_duration_has_several_starts_by_default():
    """Two links that turn by 2.5 and 3 rad: the straight guess leads to one 3 % slower than others do."""
    far = problems.two_link_rr.build(q_start=(0.0, 1.5), q_end=(2.5, -1.5))
    one, found = (trajopt.solve(far, starts=starts, refine=None) for starts in (1, "auto"))
    assert one.journal.starts is None and one.converged
    assert found.objective < one.objective * 0.975 and found.verify().holds_at_nodes
    slide = problems.two_link_rr.build(duration=(0.6, 0.6), q_start=(0.0, 1.5), q_end=(2.5, -1.5))
    assert start_rule(slide, trajopt.Ipopt()) == ONE  # nothing is free that another way could shorten


def test_limits_of_all_velocities_leave_one_start_by_default():
    """Torque limits alone have many optima; where velocities are limited as well one start finds the best."""
    alone, limited = (moved_arm(10, "ur5", 35, torque_alone=alone) for alone in (True, False))
    assert start_rule(alone, trajopt.Ipopt()) == SEARCHED and start_rule(limited, trajopt.Ipopt()) == ONE
    one_joint_free = moved_arm(10, "ur5", 35, torque_alone=True)
    limits = np.where(np.arange(6) == 2, np.inf, 3.0)
    one_joint_free.subject_to(trajopt.v, lower=-limits, upper=limits)
    assert start_rule(one_joint_free, trajopt.Ipopt()) == SEARCHED


@pytest.mark.thorough("test_many_joints_with_a_free_duration_have_several_starts_by_default stands for it")
def test_the_default_is_never_worse_than_one_start():
    """On 20 spans coarse meshes hide the optimum of this move that its own guess leads to."""
    problem = moved_arm(20, "ur5", 35, torque_alone=True)
    one, found = (trajopt.solve(problem, starts=starts, refine=None) for starts in (1, "auto"))
    assert found.objective <= one.objective * (1.0 + 1e-9)
    assert found.journal.starts.starts[0].solves[-1].objective == one.objective


@pytest.mark.long
def test_an_interrupted_start_leaves_what_an_earlier_one_found(reach):
    first = reach[1].journal.starts.starts[0].solves[0]
    problem, seen = reach[0], []

    def stop(iteration):
        seen.append(iteration)
        if len(seen) > first.iterations + 5:
            raise KeyboardInterrupt

    stopped = trajopt.solve(problem, progress=stop)
    assert stopped.converged
    assert [start.number for start in stopped.journal.starts.starts] == [0, 1]
    assert stopped.objective == first.objective
    assert stopped.problem is problem


@pytest.mark.long
def test_time_that_is_over_ends_the_starts(reach):
    problem, _ = reach
    stopped = trajopt.solve(problem, time_limit=1e-3)
    assert stopped.status is Status.TIME_LIMIT
    assert len(stopped.journal.starts.starts) == 1
    assert stopped.problem is problem


@pytest.mark.long
def test_a_guess_that_leads_nowhere_is_followed_by_others():
    problem = problems.pendulum_swing_up.build(intervals=10)
    assert not trajopt.solve(problem, starts=1).converged
    found = trajopt.solve(problem, refine=None)
    assert found.converged and found.verify().holds_at_nodes
    assert found.problem is problem
    assert not found.journal.starts.starts[0].solves[-1].converged
    assert found.journal.starts.chosen > 0
    assert "the problem's own guess did not (converged to a point where the violation is smallest" in str(
        found
    )


def long_climb():
    """Goddard's rocket, whose climb takes 0.2, from the line between its ends in 50."""
    problem = problems.goddard_rocket.build()
    problem.guess(x=[[1.0, 0.0, 1.0], [1.0, 0.0, 0.6]], duration=50.0)
    return problem


@fast_first("is_default", [True, False])
def test_a_duration_that_leads_nowhere_is_left_out_of_the_guess(is_default, monkeypatch):
    few = trajopt.Ipopt(max_iterations=60)
    if is_default:
        monkeypatch.setattr(starting, "create", lambda: few)
    climb = trajopt.solve(long_climb(), few, refine=None)
    assert len(climb.journal.rows) == 1 + is_default  # a limit of the user's own is the last word
    assert climb.converged == is_default
    if is_default:
        assert climb.objective == pytest.approx(problems.goddard_rocket.REFERENCE, abs=1e-4)
        assert climb.journal.rows[1].number >= starting.RETRIES.count  # no number of another guess


def test_one_start_keeps_its_duration(monkeypatch):
    few = trajopt.Ipopt(max_iterations=5)
    monkeypatch.setattr(starting, "create", lambda: few)
    assert len(trajopt.solve(long_climb(), few, refine=None, starts=1).journal.rows) == 1


@pytest.mark.long
def test_starts_that_lead_nowhere_on_a_coarse_mesh_are_followed_by_others_on_the_own_one():
    """A motor too weak to hold the pendulum level: it swings to and fro; ten spans hold no such motion."""
    problem = quick_pendulum(20, torque=3.0)
    assert not trajopt.solve(problem, starts=1).converged
    found = trajopt.solve(problem, starts=3, refine=None)
    assert found.converged and found.verify().holds_at_nodes
    table = found.journal.starts
    assert not any(start.solves[0].converged for start in table.starts[:3])
    assert len({start.number for start in table.starts}) == len(table.starts)
    assert table.starts[table.chosen].solves[-1].objective == found.objective
    assert found.iterations == sum(solve.iterations for start in table.starts for solve in start.solves)
    seconds = sum(solve.seconds for start in table.starts for solve in start.solves)
    assert found.seconds == pytest.approx(seconds)


@pytest.mark.long
def test_of_several_optima_the_best_once_its_limits_hold_between_nodes_is_returned():
    """Start 7 is 0.06 % below start 6 at the nodes, and above it with further nodes for limits."""
    problem = moved_arm(16, "ur5", 8, torque_alone=True)
    one, best = trajopt.solve(problem, starts=1), trajopt.solve(problem, starts=8)
    assert best.verify().holds and best.objective <= one.objective * (1.0 + 1e-6)
    rows = {
        start.number: start.solves[-1].objective for start in best.journal.starts.starts if start.finished
    }
    assert rows[best.journal.starts.chosen] > min(rows.values())
    assert "was lower before its limits held between nodes" in best.journal.starts.known
    assert best.iterations > sum(
        level.iterations for start in best.journal.starts.starts for level in start.solves
    )


@long_first("intervals", [15, 80])
def test_a_weak_motor_swings_up_by_guesses_that_swing(intervals):
    """No perturbed guess of nine leads there on 15 spans; on 80 the own guess ends at 10.6 s, alone."""
    found = trajopt.solve(quick_pendulum(intervals, torque=3.0), refine=None)
    assert found.converged and found.verify().holds_at_nodes
    assert found.objective < 4.7  # 3.88 s on fine meshes
    swings = found.q(np.linspace(0.0, found.duration, 200))
    assert swings.min() < -0.5 and found.journal.starts.chosen > 0  # it goes back before it goes up


def test_swings_keep_both_ends_of_a_guess_and_grow_in_between():
    problem = problems.two_link_rr.build()
    base = guessed_curves(program_of(problem))[0]
    guess, durations = swinging_guess(base, 2, swings=2)
    s = np.array([0.0, 0.5, 1.0])
    first, middle, last = base.at_progress(s)
    np.testing.assert_allclose(guess(s), [first, first + 0.5 * (middle - first), last], atol=1e-12)
    turned = guess(np.array([0.25, 0.75]))  # cos(2 pi k (1 - s)) = -1
    away = base.at_progress(np.array([0.25, 0.75])) - first
    np.testing.assert_allclose(turned, first - [[0.25], [0.75]] * away, atol=1e-12)
    assert durations == pytest.approx(2.0 * base.durations)


@pytest.mark.long
def test_what_no_guess_solves_says_so():
    problem = problems.two_link_rr.build(intervals=4, duration=(0.05, 0.1))
    found = trajopt.solve(problem)
    assert not found.converged
    assert found.journal.starts.known == f"none of {len(found.journal.starts.starts)} starts converged"
    assert found.journal.starts.chosen == 0
