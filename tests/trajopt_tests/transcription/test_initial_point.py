"""The default guess: smooth in time whatever the mesh, at the shortest duration that the limits allow."""

import numpy as np
import pytest
from tiers import fast_first

import dynamics
import problems
import trajopt
from trajopt.transcription.initial_point import first_guess, shortest_duration
from trajopt.transcription.transcribe import transcribe
from trajopt.transcription.unknowns import layout_of

S = np.linspace(0.0, 1.0, 101)


def guess(problem):
    nlp = transcribe(problem)
    return nlp.unknowns.curve(nlp.start)


def slide(mass=1.0, force=1.0, distance=1.0, v=(0.0, 0.0), **mesh):
    limits = dynamics.JointLimits.symmetric(torque=force)
    row = dynamics.DhRow(name="slide", kind="prismatic", mass=mass, limits=limits)
    model = dynamics.from_dh([row], gravity=(0.0, 0.0, 0.0), name="slide")
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(**mesh))
    problem.start_at(q=0.0, v=v[0])
    problem.end_at(q=distance, v=v[1])
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


@pytest.mark.parametrize("intervals", [2, 7, 40])
def test_from_rest_to_rest_the_guess_is_the_cubic_without_spikes(intervals):
    curve = guess(problems.two_link_rr.build(intervals=intervals))
    first, last = curve.at_progress(np.array([0.0, 1.0]))
    expected = first + (3.0 * S**2 - 2.0 * S**3)[:, None] * (last - first)
    assert curve.at_progress(S) == pytest.approx(expected, abs=1e-12)


@fast_first("name", ["two_link_rr", "three_link_arm", "six_axis_arm"], 1)
def test_the_guessed_duration_does_not_grow_with_the_mesh(name):
    durations = [guess(getattr(problems, name).build(intervals=n)).duration for n in (10, 40, 160)]
    assert max(durations) <= 1.1 * min(durations)


def test_the_guess_has_the_velocities_and_accelerations_given_at_both_ends():
    problem = slide(v=(0.3, -0.2), intervals=12, degree=5, duration=2.0)
    problem.start_at(a=0.5)
    problem.end_at(a=-0.7)
    layout = layout_of(problem)
    curve = layout.curve(first_guess(problem, layout))
    ends = np.array([0.0, 2.0])
    assert curve(ends, 1)[:, 0] == pytest.approx([0.3, -0.2], abs=1e-10)
    assert curve(ends, 2)[:, 0] == pytest.approx([0.5, -0.7], abs=1e-10)


@pytest.mark.parametrize("seconds", [1e-2, 1.0, 1e2, 2e4])
def test_the_duration_is_found_over_decades(seconds):
    # The cubic over a distance d peaks at an acceleration of 6 d / T^2, which the force allows from T on.
    mass = seconds**2 / 6.0
    assert seconds <= guess(slide(mass=mass, intervals=8)).duration <= 1.04 * seconds


def test_motors_too_weak_for_the_pose_alone_get_a_finite_duration():
    # tau = 2 + 1 / T^2 against a limit of 1: no duration is good, and long ones gain nothing.
    found = shortest_duration(lambda seconds: 1.0 + seconds**-2, 1e-4, np.inf)
    assert 1.0 + found**-2 <= 1.06
    assert found < 10.0


def test_a_violation_without_a_time_scale_leaves_the_fallback():
    assert shortest_duration(lambda seconds: seconds**-2, 1e-4, np.inf) == 1.0


def test_violations_that_are_not_finite_are_passed_over():
    found = shortest_duration(lambda seconds: np.nan if seconds < 3.0 else 0.0, 1e-4, np.inf)
    assert 3.0 <= found <= 3.2
    assert shortest_duration(lambda seconds: np.nan, 1e-4, np.inf) == 1.0


def test_the_duration_stays_within_its_bounds():
    assert shortest_duration(lambda seconds: 0.0, 0.5, 2.0) == 0.5
    assert shortest_duration(lambda seconds: 1.0 / seconds, 0.5, 2.0) <= 2.0
    assert shortest_duration(lambda seconds: 0.0, 1e-6, 1e-5) == 1e-5


def test_rows_that_cost_little_exclude_durations_without_a_look_at_the_others():
    looked_at = []

    def violation(seconds):
        looked_at.append(seconds)
        return max(0.0, 2.0 - seconds, 1.7 - seconds)

    found = shortest_duration(violation, 1e-4, np.inf, lambda seconds: max(0.0, 1.7 - seconds))
    assert min(looked_at) >= 1.7
    assert found == shortest_duration(violation, 1e-4, np.inf)
    # No duration is good: those that the first rows exclude count too.
    least = shortest_duration(lambda seconds: 3.0 + abs(seconds - 1.0), 1e-4, np.inf, lambda seconds: 1.0)
    assert least == shortest_duration(lambda seconds: 3.0 + abs(seconds - 1.0), 1e-4, np.inf)


def test_where_nothing_is_violated_however_short_the_fallback_stays():
    assert shortest_duration(lambda seconds: 0.0, 1e-4, np.inf) == 1.0
