"""The motor-driven arm against equations written by hand, and energy that is neither made nor lost."""

import numpy as np
import pytest
from library_solutions import solved_at_defaults
from scipy.integrate import solve_ivp

import problems
import trajopt

GEAR, CONSTANT, RESISTANCE, INDUCTANCE, GRAVITY = 25.0, 0.05, 0.4, 4e-3, 9.81
M1, M2, L1, R1, R2 = 3.0, 1.5, 0.4, 0.2, 0.2  # kg; m, the elbow and the two centres of mass along the links


@pytest.fixture(scope="module")
def solution():
    return solved_at_defaults("motor_arm")


def forces(q, v):
    """Mass matrix and the other generalized forces of two point masses, by Lagrange."""
    c, s = np.cos(q[1]), np.sin(q[1])
    coupled = M2 * L1 * R2
    mass = np.array(
        [
            [M1 * R1**2 + M2 * (L1**2 + R2**2) + 2 * coupled * c, M2 * R2**2 + coupled * c],
            [M2 * R2**2 + coupled * c, M2 * R2**2],
        ]
    )
    centrifugal = coupled * s * np.array([-v[1] * (2 * v[0] + v[1]), v[0] ** 2])
    lower = M2 * R2 * GRAVITY * np.cos(q[0] + q[1])
    gravity = np.array([(M1 * R1 + M2 * L1) * GRAVITY * np.cos(q[0]) + lower, lower])
    return mass, centrifugal + gravity


def rates(voltage):
    def at(t, x):
        q, v, i = np.split(x, 3)
        mass, others = forces(q, v)
        electric = (voltage(t) - RESISTANCE * i - GEAR * CONSTANT * v) / INDUCTANCE
        return np.concatenate([v, np.linalg.solve(mass, GEAR * CONSTANT * i - others), electric])

    return at


@pytest.mark.long
def test_the_voltages_drive_the_motors_and_the_arm_to_the_goal(solution):
    u = lambda t: solution.value(trajopt.state("voltage"), t)  # noqa: E731
    i = solution.value(trajopt.state("current"), 0.0)
    start = np.concatenate([solution.q(0.0), solution.v(0.0), i])
    end = solve_ivp(rates(u), (0.0, 0.5), start, rtol=1e-8, atol=1e-8, max_step=2e-3).y[:, -1]
    assert end[:2] == pytest.approx([0.5, 1.0], abs=2e-3)
    assert end[2:4] == pytest.approx([0.0, 0.0], abs=2e-2)


@pytest.mark.long
def test_what_the_motors_take_in_is_lifted_heats_or_stays_in_the_inductances(solution):
    t, weights = np.polynomial.legendre.leggauss(400)
    t, weights = 0.25 * (t + 1.0), 0.25 * weights
    u, i = (solution.value(trajopt.state(name), t) for name in ("voltage", "current"))
    taken = weights @ (u * i).sum(axis=1)
    energy = np.ptp(solution.value(trajopt.library.energy, np.array([0.0, 0.5])))
    ends = (solution.value(trajopt.state("current"), np.array([0.0, 0.5])) ** 2).sum(axis=1)
    heat = RESISTANCE * weights @ (i**2).sum(axis=1)
    assert heat == pytest.approx(solution.objective, rel=1e-3)
    assert taken == pytest.approx(energy + heat + 0.5 * INDUCTANCE * (ends[1] - ends[0]), rel=1e-3)


@pytest.mark.long
def test_the_limit_of_the_winding_costs_heat_elsewhere(solution):
    winding = solution.value(trajopt.state("winding"), np.linspace(0.0, 0.5, 51))
    warm = trajopt.solve(problems.motor_arm.build(hottest=1000.0))
    free = warm.value(trajopt.state("winding"), np.linspace(0.0, 0.5, 51))
    assert winding.max() == pytest.approx(32.5, abs=0.1)
    assert free.max() > 33.0
    assert warm.objective < solution.objective


def test_the_least_effort_in_the_least_time_is_the_budget():
    """Minimum time under a budget and minimum effort in that time have the same motion."""
    quick = trajopt.solve(problems.arm_energy_budget.build(intervals=20), starts=1)
    assert quick.converged
    given = quick.problem
    slow = trajopt.Problem(given.dynamics, trajopt.Trajectory.uniform(20, duration=quick.duration))
    slow.start_at(q=quick.q(0.0), v=0.0)
    slow.end_at(q=quick.q(quick.duration), v=0.0)
    slow.minimize(trajopt.tau**2)
    slow.guess(quick)
    least = trajopt.solve(slow)
    assert least.objective == pytest.approx(400.0, rel=1e-6)
    t = np.linspace(0.0, quick.duration, 21)
    assert np.allclose(least.q(t), quick.q(t), atol=1e-5)
