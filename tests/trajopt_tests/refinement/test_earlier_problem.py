"""A problem as the guess of another: solved first, its answer the start; what stands where none is solved."""

import numpy as np
import pytest

import problems
import trajopt
from trajopt.base.errors import OptionError, ShapeError

ALONE = {"refine": None, "starts": 1, "coarse_to_fine": False}


def wave(s):
    return (s**3 - 1.0)[:, None]


def slide(intervals, guess=None, **solver):
    problem = problems.double_integrator.build(intervals=intervals)
    problem.recommend(trajopt.Ipopt(**solver))
    if guess is not None:
        problem.guess(guess)
    return problem


def test_each_problem_starts_from_the_answer_of_the_one_before():
    coarse, middle, fine = slide(8, wave, tol=1e-3), slide(12, tol=1e-5), slide(16)
    middle.guess(coarse)
    fine.guess(middle)
    found = trajopt.solve(fine, **ALONE)
    by_hand, answers = wave, []
    for intervals, tol in ((8, 1e-3), (12, 1e-5), (16, 1e-9)):
        answers.append(trajopt.solve(slide(intervals, by_hand, tol=tol), **ALONE))
        by_hand = answers[-1]
    t = np.linspace(0.0, found.duration, 9)
    assert np.array_equal(found.q(t), answers[-1].q(t))
    assert [row.spans for row in found.journal.levels] == [8, 12, 16]
    assert [row.iterations for row in found.journal.levels] == [each.iterations for each in answers]
    assert found.iterations == sum(each.iterations for each in answers)
    assert found.problem is fine and found.converged


def test_an_answer_that_did_not_converge_is_a_start_all_the_same():
    coarse, fine = slide(10, wave, max_iterations=2), slide(10)
    fine.guess(coarse)
    found = trajopt.solve(fine, **ALONE)
    assert [row.converged for row in found.journal.levels] == [False, True]
    assert found.journal.levels[0].iterations == 2


def test_a_guess_that_follows_takes_the_place_of_the_problem():
    coarse, fine = slide(8), slide(10)
    fine.guess(coarse)
    assert fine.earlier is coarse
    fine.guess(wave)
    assert fine.earlier is None and fine.guessed_curve is wave
    fine.guess(coarse)
    assert fine.guessed_curve is wave  # where nothing is solved before
    assert fine.on(fine.trajectory).earlier is None


def test_a_solver_of_the_caller_is_of_the_last_problem_alone():
    coarse, fine = slide(8, wave, max_iterations=3), slide(10)
    fine.guess(coarse)
    found = trajopt.solve(fine, trajopt.Ipopt(max_iterations=1), **ALONE)
    assert [row.iterations for row in found.journal.levels] == [3, 1]


def test_problems_that_cannot_come_before_are_refused(tmp_path):
    coarse, fine = slide(8), slide(10)
    with pytest.raises(OptionError, match="cannot start from itself"):
        fine.guess(fine)
    coarse.guess(fine)
    with pytest.raises(OptionError, match="cannot start from itself"):
        fine.guess(coarse)
    with pytest.raises(ShapeError, match=r"the earlier problem moves .* but the problem"):
        fine.guess(problems.cart_pole.build(intervals=8))
    with pytest.raises(OptionError, match="leave out duration"):
        fine.guess(slide(8), duration=1.0)
    with pytest.raises(OptionError, match="checkpoints are of one solve"):
        trajopt.solve(coarse, trajopt.Checkpointed(trajopt.Ipopt(), tmp_path / "point.npz"))


def test_several_starts_and_meshes_follow_the_problem_before():
    coarse, fine = slide(6, wave, tol=1e-3), slide(20)
    fine.guess(coarse)
    found = trajopt.solve(fine, refine=None, starts=1, coarse_to_fine=True)
    assert [row.spans for row in found.journal.levels] == [6, 10, 20] and found.converged


def test_in_phases_the_guess_from_before_stands():
    coarse, fine = slide(8, max_iterations=1), slide(10, wave)
    fine.guess(coarse)
    phases = trajopt.Phases(fine, slide(10, wave))
    assert len(trajopt.solve(phases, **ALONE).journal.rows) == 1
