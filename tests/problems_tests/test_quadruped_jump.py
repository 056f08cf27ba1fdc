"""A quadruped's jump: the ground alone moves it, feet stand still, and starts far apart find one optimum."""

import numpy as np
import pytest
from feet import missing_at_base, slip
from library_solutions import check_script_at_defaults, solved_at_defaults
from scipy.integrate import trapezoid

import dynamics
import trajopt
from problems.gallery.legged.quadruped_jump import build
from problems.gallery.legged.solo import BASE, FEET, STANDING


@pytest.fixture(scope="module")
def jump():
    return solved_at_defaults("quadruped_jump")


def times_in(solution, arc, count=401):
    first, last = solution.curve.starts[arc : arc + 2]
    return np.linspace(first + 1e-9, last - 1e-9, count)


def weight_of(solution):
    return 9.81 * solution.problem.dynamics.total_mass


@pytest.mark.long
def test_it_converges_and_passes(jump):
    report = jump.verify()
    assert jump.converged and report.verdict == "PASS", report.reason
    assert jump.q(jump.duration)[0] - jump.q(0.0)[0] == pytest.approx(0.25, abs=1e-9)
    t = np.linspace(0.0, jump.duration, 4001)
    assert np.abs(jump.value(trajopt.tau[BASE:], t)).max() < 2.7 * 1.001


@pytest.mark.long
def test_its_script_draws_it(jump):
    assert check_script_at_defaults(jump)


@pytest.mark.long
@pytest.mark.parametrize("arc", [0, 1, 2])
def test_the_ground_alone_moves_the_base(jump, arc):
    missing = missing_at_base(jump, times_in(jump, arc)) / weight_of(jump)
    assert np.abs(missing[:, :3]).max() < 2e-2
    assert np.abs(missing[:, 3:]).max() < 1e-2 * STANDING[2]


@pytest.mark.long
def test_the_impulse_of_the_ground_is_weight_times_time(jump):
    """At rest at both ends."""
    impulse = 0.0
    for arc in (0, 2):
        t = times_in(jump, arc, 4001)
        feet = jump.asked.contacts.values()
        impulse += trapezoid(sum(jump.value(foot.force, t)[:, 2] for foot in feet), t)
    assert impulse == pytest.approx(weight_of(jump) * jump.duration, rel=1e-3)


@pytest.mark.long
def test_in_flight_the_centre_of_mass_falls_freely(jump):
    t = times_in(jump, 1)
    height = dynamics.centre_of_mass(jump.problem.dynamics, jump.q(t))[:, 2]
    fall = np.polynomial.Polynomial.fit(t - t[0], height, 2).convert().coef[2]
    assert 2.0 * fall == pytest.approx(-9.81, rel=5e-3)


@pytest.mark.long
def test_feet_stand_still_and_fly(jump):
    for contact in jump.asked.contacts.values():
        assert max(slip(jump, contact, times_in(jump, arc)) for arc in (0, 2)) < 1e-4
        height = jump.value(trajopt.position(contact.frame), times_in(jump, 1))[:, 2]
        assert height[200] > 0.02 * (1.0 - 1e-6) and height.min() > -1e-5


@pytest.mark.thorough("test_it_converges_and_passes stands for it")
@pytest.mark.parametrize("seed", range(3))
def test_starts_far_apart_find_one_optimum(jump, seed):
    rng, problem = np.random.default_rng(seed), build()
    places, turns = rng.uniform(-0.1, 0.1, (4, 3)), rng.uniform(-0.3, 0.3, (4, 3))
    moved = np.hstack([places, turns, rng.uniform(-0.2, 0.2, (4, 12))])
    along = np.linspace(0.0, 0.25, 4)[:, None] * np.eye(STANDING.size)[0]
    durations = np.clip(np.array([0.2, 0.25, 0.25]) * 2.0 ** rng.uniform(-1.0, 1.0, 3), 0.1, 0.5)
    problem.guess(STANDING + along + moved, duration=durations)
    found = trajopt.solve(problem, starts=1, progress="silent")
    assert found.converged and found.objective == pytest.approx(jump.objective, rel=1e-4)


@pytest.mark.long
def test_feet_are_those_of_the_robot():
    assert set(build().contacts) == {f"{foot}_FOOT" for foot in FEET}
