"""The search for guesses: different curves on which limits hold in a shorter time, the same in every run."""

import numpy as np
import pytest

import problems
import trajopt
from trajopt.refinement.guess_search import searched_guesses
from trajopt.transcription.transcribe import transcribe


@pytest.fixture(scope="module")
def arm():
    """An arm that turns half around: the more it folds in on its way, the less inertia it turns."""
    problem = problems.three_link_arm.build(intervals=10, q_start=(0.0, -2.0, 1.5), q_end=(2.0, 1.0, -1.5))
    nlp = transcribe(problem)
    return problem, nlp, searched_guesses(nlp, 3, 4)


def program_at(problem, guess):
    guessed = problem.on(problem.trajectory)
    guessed.guess(*guess)
    return transcribe(guessed)


@pytest.mark.long
def test_guesses_keep_the_limits_in_a_shorter_time_than_the_guess_of_the_problem(arm):
    problem, nlp, guesses = arm
    seconds = [float(durations.sum()) for _, durations in guesses]
    assert seconds == sorted(seconds)
    assert seconds[0] < 0.95 * nlp.unknowns.curve(nlp.start).duration
    for guess in guesses:
        other = program_at(problem, guess)
        assert other.unknowns.curve(other.start).duration == pytest.approx(float(guess[1].sum()), rel=1e-12)
        rows = other.rows(other.start)
        assert other.row_bounds.violation(rows) <= 1e-6
        assert other.bounds.violation(other.start) == 0.0


@pytest.mark.long
def test_a_guess_that_breaks_limits_is_not_among_those_found(arm):
    """The problem's own curve counts with the duration that it needs, not with one that is short."""
    problem, nlp, _ = arm
    hasty = problem.on(problem.trajectory)
    hasty.guess(duration=0.75 * nlp.unknowns.curve(nlp.start).duration)
    guesses = searched_guesses(transcribe(hasty), 3, 8)
    assert len(guesses) > 1
    for guess in guesses:
        other = program_at(problem, guess)
        assert other.row_bounds.violation(other.rows(other.start)) <= 1e-6


def test_guesses_are_different_curves_between_the_same_poses(arm):
    _, nlp, guesses = arm
    at, base = np.linspace(0.0, 1.0, 51), nlp.unknowns.curve(nlp.start)
    assert len(guesses) > 1
    curves = [curve(at) for curve, _ in guesses]
    for index, curve in enumerate(curves):
        assert np.allclose(curve[[0, -1]], base.at_progress(at[[0, -1]]), atol=1e-12)
        assert all(np.abs(curve - other).max() > 0.1 for other in curves[:index])


@pytest.mark.long
def test_the_search_is_the_same_in_every_run(arm):
    problem, _, guesses = arm
    again = searched_guesses(transcribe(problem), 3, 4)
    for (one, first), (other, second) in zip(guesses, again, strict=True):
        assert np.array_equal(first, second)
        assert np.array_equal(one(np.array([0.3, 0.7])), other(np.array([0.3, 0.7])))


@pytest.mark.parametrize("name", ["cart_pole", "kirk"])
def test_nothing_is_searched_where_equations_or_a_fixed_duration_leave_no_choice(name):
    problem = problems.cart_pole.build(intervals=10) if name == "cart_pole" else problems.kirk.build()
    assert searched_guesses(transcribe(problem), problem.dynamics.n, 4) == []


def test_a_motion_without_travel_is_not_searched():
    arm = problems.three_link_arm.build(intervals=10)
    still = trajopt.Problem(arm.dynamics, arm.trajectory)
    still.start_at(q=0.0, v=0.0)
    still.end_at(q=0.0, v=0.0)
    still.minimize(trajopt.duration)
    still.subject_to_joint_limits()
    assert searched_guesses(transcribe(still), 3, 4) == []
