"""Arcs on which a state is at its limit: exact optima, confirmed or bracketed, and signs of multipliers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root
from tiers import fast_first

import dynamics
import trajopt
from trajopt.certificates.arc_problem import ArcRows, arc_problem
from trajopt.certificates.switching_structure import ArcSettings, Saturation, Structure
from trajopt.certified.search_settings import SearchSettings
from trajopt.certified.switching.boundary_arcs import boundary_sign_check
from trajopt.certified.switching.shooting import switching_times
from trajopt.solution.journal import Attempt, Journal
from trajopt.splines.quadrature import gauss

RADIUS, LEAST, ANGLE = 0.6, 0.3, 2.0  # m, m, rad: of the turning arm
PATIENT = trajopt.Certified(time_limit=300.0)
ROUNDING = 1e-9  # of an objective
MASS, FORCE, TORQUE = 2.0, 30.0, 3.0  # kg, N, N m


def thrown_at_a_wall(distance: float, hold: str = "nodes") -> trajopt.Problem:
    """Bryson and Denham (J. Appl. Mech. 29, 1962): there and back within one second at least effort."""
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(10, 4, duration=1.0))
    problem.start_at(q=0.0, v=1.0)
    problem.end_at(q=0.0, v=-1.0)
    problem.minimize(trajopt.a**2)
    problem.subject_to(trajopt.q, upper=distance, hold=hold, name="wall")
    return problem


@pytest.mark.parametrize("hold", ["nodes", "hull"])
@fast_first("distance", [0.05, 0.1, 0.15], 1)
def test_a_wall_is_followed_from_three_distances_on(distance, hold):
    """The integral of a^2 is 8 / (9 l), on the wall from 3 l to 1 - 3 l."""
    solution = trajopt.solve(thrown_at_a_wall(distance, hold), refine=PATIENT)
    certificate = solution.certificate
    assert certificate.holds and certificate.method == "switching arcs"
    np.testing.assert_allclose(solution.objective, 8.0 / (9.0 * distance), rtol=1e-9)
    np.testing.assert_allclose(
        certificate.structure.times[1:-1], [3.0 * distance, 1.0 - 3.0 * distance], atol=1e-6
    )
    assert certificate.signs.checked == 1 and certificate.signs.unchecked == 0
    assert certificate.signs.wrong < 1e-6
    assert certificate.gain.of_oversteps < 1e-9 and certificate.gain.of_margins < 1e-9


@pytest.mark.long
@pytest.mark.parametrize("hold", ["nodes", "hull"])
def test_a_wall_that_is_only_touched_is_bracketed(hold):
    """Between 1/6 and 1/4 m the wall is touched at one instant: the integral is 4 + 12 (1 - 4 l)^2."""
    few = SearchSettings(doublings=0, bracket_rounds=4)
    solution = trajopt.solve(
        thrown_at_a_wall(0.2, hold), refine=trajopt.Certified(time_limit=300.0, settings=few)
    )
    bracket = solution.certificate.bracket
    assert solution.certificate.holds and solution.certificate.method == "added nodes"
    assert bracket.lower <= 4.48 <= bracket.upper * (1.0 + ROUNDING) and bracket.width < 2e-3


def on_the_wall():
    """The motion on its three arcs, with the multipliers of all rows."""
    problem = thrown_at_a_wall(0.1)
    held = frozenset({Saturation(0, 0, 1)})
    structure = Structure((0.0, 0.3, 0.7, 1.0), (frozenset(), held, frozenset()))
    settings = ArcSettings(regular=True)
    on_arcs = arc_problem(problem, structure, trajopt.solve(problem), 8, settings)
    trial = Journal(on_arcs, trajopt.Ipopt()).answer(Attempt(on_arcs))
    return trial, problem, structure.with_times(trial.curve.durations)


def test_the_measure_of_a_followed_wall_is_two_impulses():
    """The wall pushes at the entry and at the exit alone: nu falls linearly from one to the other."""
    trial, problem, structure = on_the_wall()
    checked, wrong = boundary_sign_check(trial, problem, structure)
    assert checked == 1 and all(each.impulse < 1e-6 for each in wrong)
    nu = trial.multipliers[ArcRows(0, 1, "held").name][:, 0] / gauss(7)[1] / structure.durations[1]
    from_exit = 1.0 - gauss(7)[0]
    np.testing.assert_allclose(nu / from_exit, (nu / from_exit)[0], rtol=1e-5)
    assert nu[0] > 0.0


def test_a_wall_that_is_followed_in_vain_is_found_by_its_multipliers():
    trial, problem, structure = on_the_wall()
    turned = replace(trial, multipliers={name: -values for name, values in trial.multipliers.items()})
    _, wrong = boundary_sign_check(turned, problem, structure)
    assert wrong[0].impulse > 0.9 and wrong[0].saturation == Saturation(0, 0, 1)


def turning_arm(hold: str) -> trajopt.Problem:
    """A mass on a rod that turns about its end and slides out and in, but no nearer than `LEAST`."""
    reach = dynamics.JointLimits(LEAST, 1.0, math.inf, -FORCE, FORCE)
    rows = [
        dynamics.DhRow(name="turn", alpha=math.pi / 2, limits=dynamics.JointLimits.symmetric(torque=TORQUE)),
        dynamics.DhRow(name="reach", kind="prismatic", mass=MASS, limits=reach),
    ]
    arm = dynamics.from_dh(rows, gravity=(0.0, 0.0, 0.0))
    problem = trajopt.Problem(arm, trajopt.Trajectory.uniform(20, duration=(0.05, 10.0)))
    problem.start_at(q=[0.0, RADIUS], v=0.0)
    problem.end_at(q=[ANGLE, RADIUS], v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits(position=False)
    problem.subject_to(trajopt.q, [-10.0, LEAST], [10.0, 1.0], hold=hold, name="position limits")
    return problem


def fastest_turn() -> float:
    """Half of the way: pull in, brake at the nearest place, stay there; integrated in polar coordinates.

    r'' = f / m + r theta'^2,   (m r^2 theta')' = torque.
    """

    def pushed(force: float, seconds: float, state):
        def rate(_, y):
            angle_rate, r, r_rate = y[1:]
            turning = TORQUE / (MASS * r**2) - 2.0 * angle_rate * r_rate / r
            return [angle_rate, turning, r_rate, force / MASS + r * angle_rate**2]

        return solve_ivp(rate, (0.0, seconds), state, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]

    def missed(seconds):
        state = pushed(FORCE, seconds[1], pushed(-FORCE, seconds[0], [0.0, 0.0, RADIUS, 0.0]))
        there = state[0] + state[1] * seconds[2] + 0.5 * TORQUE / (MASS * LEAST**2) * seconds[2] ** 2
        return [state[2] - LEAST, state[3], there - 0.5 * ANGLE]

    answer = root(missed, [0.2, 0.15, 0.1], tol=1e-13)
    assert np.abs(answer.fun).max() < 1e-10
    return 2.0 * float(answer.x.sum())


@pytest.mark.long
@pytest.mark.parametrize("hold", ["nodes", "hull"])
def test_a_position_limit_that_the_fastest_turn_follows_is_confirmed(hold):
    """Near its axis a mass turns faster: it is pulled in as far as it may, and stays there."""
    solution = trajopt.solve(turning_arm(hold), refine=PATIENT)
    certificate = solution.certificate
    assert certificate.holds and certificate.method == "switching arcs"
    np.testing.assert_allclose(solution.objective, fastest_turn(), rtol=1e-9)
    assert "q of reach = +0.3" in str(certificate)
    assert certificate.signs.unchecked == 0 and certificate.signs.wrong < 1e-4
    assert certificate.gain.of_oversteps < 1e-9 and certificate.gain.of_margins < 1e-9
    check = switching_times(solution)
    assert check.converged and check.difference < 1e-9


def sliding() -> trajopt.Problem:
    """A mass of 2 kg pushed over 1 m by 50 N in minimum time."""
    problem = trajopt.Problem(
        PointMasses(1, 2.0, 50.0), trajopt.Trajectory.uniform(20, duration=(0.05, 10.0))
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


@pytest.mark.long
def test_an_own_term_of_forces_is_held_on_an_arc():
    """Motor power: full force up to v1 = P / F, then m v v' = P up to v2, then full brake."""
    power = 100.0

    @trajopt.term
    def motor_power(node):
        return node.tau * node.v

    problem = sliding()
    problem.subject_to(motor_power, upper=power, name="power")
    solution = trajopt.solve(problem, refine=PATIENT)
    first = power / 50.0

    def missing(last):
        return (first**2 + last**2) / 50.0 + 2.0 * (last**3 - first**3) / (3.0 * power) - 1.0

    last = brentq(missing, first, 10.0)
    exact = (first + last) / 25.0 + (last**2 - first**2) / power
    certificate = solution.certificate
    assert certificate.holds and certificate.method == "switching arcs"
    np.testing.assert_allclose(solution.objective, exact, rtol=1e-9)
    np.testing.assert_allclose(
        certificate.structure.times[1:-1], [first / 25.0, exact - last / 25.0], atol=1e-7
    )


@pytest.mark.long
def test_an_own_term_of_states_that_is_followed_is_bracketed():
    """v + c q <= b is followed as v' = -c v: no arc holds it, and the bracket has the exact optimum in it."""
    c, b, a = 0.8, 2.5, 25.0

    @trajopt.term
    def speed_and_place(node):
        return node.v + c * node.q

    problem = sliding()
    problem.subject_to(speed_and_place, upper=b, name="speed and place")
    few = SearchSettings(refinements=1, bracket_width=1e-5)
    certificate = trajopt.solve(problem, refine=trajopt.Certified(time_limit=300.0, settings=few)).certificate
    first = (math.sqrt(1.0 + 2.0 * c * b / a) - 1.0) * a / c
    entry = first**2 / (2.0 * a)
    leaving = brentq(lambda q: (b - c * q) ** 2 / (2.0 * a) - (1.0 - q), entry, 1.0)
    exact = (first + b - c * leaving) / a + math.log((b - c * entry) / (b - c * leaving)) / c
    assert certificate.holds and certificate.method == "added nodes"
    assert certificate.bracket.lower <= exact <= certificate.bracket.upper
    assert certificate.bracket.width < 2e-5
