"""The cart with two balanced rods, against Pontryagin's principle with Lagrange's equations by hand."""

import casadi
import numpy as np
import pytest
from scipy.integrate import solve_bvp

import problems
import trajopt

M, ROD, L, G, T, WAY = 1.0, 0.2, 0.5, 9.81, 2.0, 1.0  # kg, kg, m, m/s^2, s, m


def acceleration(q, v, force):
    """q'' of the cart and the rods' angles from the vertical, M q'' = Q, from the positions of the rods."""
    rod_ends = casadi.vertcat(L * casadi.sin(q[1]), L * casadi.cos(q[1]))
    lower = casadi.vertcat(q[0], 0.0) + rod_ends / 2.0
    tilt = casadi.vertcat(casadi.sin(q[2]), casadi.cos(q[2]))
    upper = casadi.vertcat(q[0], 0.0) + rod_ends + L / 2.0 * tilt
    kinetic = M * v[0] ** 2 / 2.0 + ROD * L**2 / 24.0 * (v[1] ** 2 + v[2] ** 2)
    for centre in (lower, upper):
        kinetic += ROD / 2.0 * casadi.sumsqr(casadi.jacobian(centre, q) @ v)
    potential = ROD * G * (lower[1] + upper[1])
    momentum = casadi.gradient(kinetic, v)
    others = casadi.gradient(kinetic - potential, q) - casadi.jacobian(momentum, q) @ v
    return casadi.solve(casadi.jacobian(momentum, v), others + casadi.vertcat(force, 0.0, 0.0))


def principle():
    """(x, lambda, J)' for the least integral of F^2, with F where d/dF (F^2 + lambda . f) = 0."""
    x, costate, force = casadi.SX.sym("x", 6), casadi.SX.sym("costate", 6), casadi.SX.sym("force")
    rates = casadi.vertcat(x[3:], acceleration(x[:3], x[3:], force))
    hamiltonian = force**2 + casadi.dot(costate, rates)
    best = -casadi.jacobian(casadi.dot(costate, rates), force) / 2.0
    both = casadi.vertcat(rates, -casadi.gradient(hamiltonian, x), force**2)
    return casadi.Function("principle", [casadi.vertcat(x, costate)], [casadi.substitute(both, force, best)])


@pytest.mark.long
def test_the_balanced_rods_move_as_pontryagins_principle_says():
    equations = principle()
    states = casadi.SX.sym("states", 12)
    slopes = casadi.Function("slopes", [states], [casadi.jacobian(equations(states), states)])

    def rates(t, y):
        return equations(y[:12]).full()

    def jacobian(t, y):
        by_state = slopes(y[:12]).full().reshape(13, t.size, 12).transpose(0, 2, 1)
        return np.concatenate([by_state, np.zeros((13, 1, t.size))], axis=1)

    def ends(start, end):
        return np.concatenate([start[:6], end[:6] - [WAY, 0.0, 0.0, 0.0, 0.0, 0.0], start[12:]])

    t = np.linspace(0.0, T, 81)
    guess = np.zeros((13, t.size))
    guess[0], guess[3] = WAY * t / T, WAY / T
    extremal = solve_bvp(rates, ends, t, guess, fun_jac=jacobian, tol=1e-6)
    assert extremal.success, extremal.message
    effort = extremal.sol(T)[12]
    assert effort == pytest.approx(problems.double_pendulum_cart.REFERENCE, rel=1e-8)

    solution = trajopt.solve(problems.double_pendulum_cart.build(), starts=1)
    times = np.linspace(0.0, T, 21)
    x, lower, upper = extremal.sol(times)[:3]
    assert solution.objective == pytest.approx(effort, rel=2e-7)
    assert np.allclose(solution.q(times), np.stack([x, lower, upper - lower], axis=1), atol=1e-6)
