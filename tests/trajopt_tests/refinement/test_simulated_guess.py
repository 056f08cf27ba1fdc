"""Guesses by simulation: motions of the system itself, pulled onto the end that is asked for."""

import numpy as np
import pytest
from tiers import long_first

import dynamics
import trajopt
from benchmarks.robustness.cases import quick_pendulum
from trajopt.refinement.guess_search import (
    SWITCHES,
    _most_different,
    simulated_guesses,
)
from trajopt.refinement.several_starts import can_be_simulated


def mass(lower=-1.0, upper=1.0, rates=None, arcs=1, duration=(0.5, 8.0)):
    system = trajopt.system(("x", "v"), ("u",), rates or (lambda node: [node.v, node.u]))
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(8, 3, duration=duration, arcs=arcs))
    problem.control("u", lower, upper)
    problem.start_at(x=[0.0, 0.2])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.duration)
    return problem


def robot(torque=1.0, gravity=0.0):
    """A point of 1 kg, 1 m below its pivot, turned by pi."""
    limits = dynamics.JointLimits.symmetric(torque=torque)
    pivot = dynamics.Joint("pivot", "revolute", axis=np.array([0.0, -1.0, 0.0]), limits=limits)
    body = dynamics.Body("rod", pivot, mass=1.0, centre_of_mass=np.array([0.0, 0.0, -1.0]))
    model = dynamics.RigidBodyModel([body], (0.0, 0.0, -gravity), "pendulum")
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(10, duration=(0.5, 8.0)))
    problem.start_at(q=0.0, v=0.5)
    problem.end_at(q=np.pi, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


def fighter(intervals=30):
    """F-8, least time: Kaya and Noakes, JOTA 117 (2003), 3.78086 s; a guess along the line finds 5.76 s."""

    def rates(node):
        a, b, c, w = node.a, node.b, node.c, node.w
        return [
            (-0.877 * a + c - 0.088 * a * c + 0.47 * a * a - 0.019 * b * b - a * a * c + 3.846 * a**3)
            + (-0.215 * w + 0.28 * a * a * w + 0.47 * a * w * w + 0.63 * w**3),
            c,
            (-4.208 * a - 0.396 * c - 0.47 * a * a - 3.564 * a**3)
            + (-20.967 * w + 6.265 * a * a * w + 46.0 * a * w * w + 61.4 * w**3),
        ]

    problem = trajopt.Problem(
        trajopt.system(("a", "b", "c"), ("w",), rates),
        trajopt.Trajectory.collocation(intervals, 3, duration=(1.0, 8.0)),
    )
    problem.control("w", -0.05236, 0.05236)
    problem.start_at(x=[0.4655, 0.0, 0.0])
    problem.end_at(x=[0.0, 0.0, 0.0])
    problem.minimize(trajopt.duration)
    return problem


def guesses(problem, count=6):
    return simulated_guesses(problem, trajopt.transcribe(problem), count)


def test_guesses_begin_and_end_as_the_problem_does_in_an_allowed_duration():
    found = guesses(mass())
    assert len(found) == 6
    for curve, durations in found:
        np.testing.assert_allclose(curve(np.array([0.0, 1.0])), [[0.0, 0.2], [1.0, 0.0]], atol=1e-12)
        assert 0.5 <= durations[0] <= 8.0


def test_a_guess_is_a_motion_of_the_system_under_controls_at_their_bounds_plus_a_line():
    s = np.linspace(0.0, 1.0, 201)
    for curve, durations in guesses(mass()):
        x, v = curve(s).T
        forces = np.diff(v) / (durations[0] / 200)
        # Three levels, shifted by the pull of the line, and a mean of two in each step with a switch.
        assert len(np.unique(np.round(forces, 6))) <= 3 + SWITCHES
        assert np.ptp(forces) <= 2.0 + 1e-9
        assert np.isfinite(x).all()


def test_a_robots_guess_is_its_motion_under_torques_at_their_limits_plus_a_line():
    s = np.linspace(0.0, 1.0, 201)
    found = guesses(robot())
    assert len(found) == 6
    for curve, durations in found:
        q = curve(s)[:, 0]
        np.testing.assert_allclose(q[[0, -1]], [0.0, np.pi], atol=1e-12)
        accelerations = np.diff(q, 2) / (durations[0] / 200) ** 2  # of the inertia 1 kg m^2, without gravity
        assert np.abs(accelerations).max() <= 1.0 + 1e-6
        between = np.minimum.reduce([np.abs(accelerations - level) for level in (-1.0, 0.0, 1.0)]) > 1e-6
        assert between.sum() <= 2 * SWITCHES  # differences over a switch


def test_the_same_guesses_in_every_run():
    for (one, first), (other, second) in zip(guesses(mass()), guesses(mass()), strict=True):
        assert first == second
        np.testing.assert_array_equal(one(np.linspace(0, 1, 9)), other(np.linspace(0, 1, 9)))


def test_time_parameters_and_data_are_known_to_the_simulation():
    def rates(node):
        return [node.v, node.u * node.parameter("gain") + 0.1 * node.t + 0.0 * node.data("wind")]

    problem = mass(rates=rates)
    problem.parameter("gain", 0.5, 2.0, guess=1.5)
    problem.data("wind", [0.0, 1.0], [0.0, 1.0])
    assert len(guesses(problem)) == 6


def test_motions_that_diverge_are_left_out():
    found = guesses(mass(rates=lambda node: [node.v, node.u + 50.0 * node.x**3]))
    for curve, _ in found:
        assert np.abs(curve(np.linspace(0.0, 1.0, 50))).max() < 100.0


def test_what_cannot_be_simulated():
    assert can_be_simulated(mass())
    assert not can_be_simulated(mass(upper=np.inf))
    assert not can_be_simulated(mass(arcs=2))
    assert can_be_simulated(robot(gravity=9.81))
    assert not can_be_simulated(robot())  # needs no swing
    assert not can_be_simulated(robot(gravity=9.81, torque=np.inf))
    weak = robot(gravity=9.81)
    weak.subject_to(trajopt.v, equals=1.0, name="constant speed")
    assert not can_be_simulated(weak)
    implicit = trajopt.system(("x",), ("u",), residuals=lambda node: [node.rate("x") - node.u])
    assert not can_be_simulated(trajopt.Problem(implicit, trajopt.Trajectory.collocation(4)))


def test_the_most_different_of_some_motions():
    motions = np.array([0.0, 0.1, 5.0, -4.0])[None, :, None]
    assert _most_different(motions, 3) == [0, 2, 3]
    assert _most_different(motions, 9) == [0, 2, 3, 1]


@long_first("starts", ["auto", 8])
def test_the_fighter_finds_the_published_optimum(starts):
    found = trajopt.solve(fighter(), starts=starts)
    assert found.converged
    assert found.objective == pytest.approx(3.78086, rel=1e-3)


@pytest.mark.long
def test_one_start_of_the_fighter_is_where_the_line_leads():
    assert trajopt.solve(fighter(), starts=1).objective > 5.0


@long_first(("intervals", "best"), [(10, 5.403), (15, 4.597), (40, 3.948)])
def test_weak_motors_swing_up_as_fast_as_is_known(intervals, best):
    """Perturbed guesses and growing swings lead to 5.600, 4.674 and 4.028 s."""
    found = trajopt.solve(quick_pendulum(intervals, torque=3.0), refine=None)
    assert found.converged and found.objective < 1.002 * best
