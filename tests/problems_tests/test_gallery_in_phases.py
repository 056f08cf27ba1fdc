"""Problems of the gallery that have phases, against integrations and formulas that they do not use."""

from itertools import pairwise

import numpy as np
import pytest
from library_solutions import solved_at_defaults
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import problems
import trajopt
from problems.gallery.mechanisms import five_link_walker as walker


def solved(name, **parameters):
    if not parameters:
        return solved_at_defaults(name)
    solution = trajopt.solve(getattr(problems, name).build(**parameters))
    assert solution.converged, solution.status
    return solution


def masses_and_lengths():
    """Mass, inertia and points of the walker's links, as its module states them."""
    return np.array(walker.MASS), np.array(walker.INERTIA), walker.JOINTS, walker.CENTRES


# d (virtual work) / d q = WORK u: a joint's torque turns the link behind it against the one before; at the
# hip u_3 is what the stance thigh gives to trunk and swing leg together, u_4 what the swing leg gets of it.
WORK = np.array(
    [
        [1.0, -1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, -1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, -1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, -1.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)


def jacobian(points, q):
    """d (x, y) / d q of points that are sums of (-sin q, cos q), (points, 2, 5)."""
    return np.stack([-points * np.cos(q), -points * np.sin(q)], axis=1)


def mass_matrix(q):
    """M of the pinned biped from its kinetic energy, (5, 5)."""
    mass, inertia, _, centres = masses_and_lengths()
    J = jacobian(centres, q)
    return np.einsum("i,ixa,ixb->ab", mass, J, J) + np.diag(inertia)


def forward(q, w, u):
    """Angular accelerations by Lagrange's equations, the derivatives of M by differences."""
    mass, _, _, centres = masses_and_lengths()
    step = 1e-6
    slopes = [(mass_matrix(q + step * e) - mass_matrix(q - step * e)) / (2.0 * step) for e in np.eye(5)]
    dM = np.stack(slopes, axis=-1)  # dM_ab / dq_c
    coriolis = np.einsum("abc,b,c->a", dM, w, w) - 0.5 * np.einsum("abc,a,b->c", dM, w, w)
    gravity = 9.81 * np.einsum("i,ia->a", mass, jacobian(centres, q)[:, 1])
    return np.linalg.solve(mass_matrix(q), WORK @ u - coriolis - gravity)


def speeds_after_impact(q, w):
    """Floating base: the foot that strikes stops, by an impulse there, and the other foot is free."""
    mass, inertia, joints, centres = masses_and_lengths()
    J = np.concatenate([np.tile(np.eye(2), (5, 1, 1)), jacobian(centres, q)], axis=2)  # by (x, y, q)
    M = np.einsum("i,ixa,ixb->ab", mass, J, J)
    M[2:, 2:] += np.diag(inertia)
    foot = np.concatenate([np.eye(2), jacobian(joints[5:], q)[0]], axis=1)
    before = np.concatenate([np.zeros(2), w])
    kkt = np.block([[M, -foot.T], [foot, np.zeros((2, 2))]])
    return np.linalg.solve(kkt, np.concatenate([M @ before, np.zeros(2)]))[2:7]


@pytest.fixture(scope="module")
def step():
    return solved("five_link_walker")


@pytest.mark.long
def test_the_walkers_impact_is_that_of_a_free_body_whose_foot_stops(step):
    (gait,) = step.phases
    start, end = gait.q(0.0), gait.q(gait.duration)
    assert np.allclose(start[:5], end[4::-1], atol=1e-9)
    assert np.allclose(start[5:], speeds_after_impact(end[:5], end[5:])[::-1], atol=1e-7)


@pytest.mark.long
def test_the_walker_follows_lagranges_equations_and_lands_where_it_should(step):
    (gait,) = step.phases
    torques = [trajopt.state(f"u{i}") for i in range(1, 6)]

    def rates(t, x):
        u = np.concatenate([gait.value(torque, min(t, gait.duration)) for torque in torques])
        return np.concatenate([x[5:], forward(x[:5], x[5:], u)])

    times = np.linspace(0.0, gait.duration, 11)
    state = gait.q(0.0)
    for t0, t1 in pairwise(times):  # the torques jump between intervals
        state = solve_ivp(rates, (t0, t1 - 1e-12), gait.q(t0), rtol=1e-8, atol=1e-10).y[:, -1]
        assert np.allclose(state, gait.q(t1), atol=2e-4 * max(1.0, np.abs(state).max()))
    foot = walker.JOINTS[5]
    assert foot @ np.cos(state[:5]) == pytest.approx(0.0, abs=1e-4)
    assert -foot @ np.sin(state[:5]) == pytest.approx(0.5, abs=1e-4)


def test_shooting_along_the_singular_arc_climbs_as_high():
    """One unknown, the end of the boost, where drag and weight balance; the rest is integration."""
    module, thrust, empty = problems.goddard_in_phases, 3.5, 0.6

    class State:
        def __init__(self, x):
            self.h, self.v = x[:2]

    def burning(f):
        def rates(t, x):
            given = f(State(x))
            return [x[1], module.speed_rate(State(x), given, x[2]), -2.0 * given]

        return rates

    def until(event, rates, x):
        def stop(t, y):
            return event(y)

        stop.terminal = True  # pyright: ignore
        return solve_ivp(rates, (0.0, 0.5), x, events=stop, rtol=1e-11, atol=1e-13).y_events[0][0]

    full = burning(lambda state: thrust)

    def boosted(T):
        return solve_ivp(full, (0.0, T), [1.0, 0.0, 1.0], rtol=1e-11, atol=1e-13).y[:, -1]

    def imbalance(T):
        return module.singular_mass(State(boosted(T))) - boosted(T)[2]

    x = boosted(brentq(imbalance, 0.01, 0.04, xtol=1e-14))
    x = until(lambda y: y[2] - empty, burning(module.singular_thrust), x)
    top = until(lambda y: y[1], lambda t, y: [y[1], module.speed_rate(State(y), 0.0, empty)], x[:2])
    assert top[0] == pytest.approx(-module.REFERENCE, abs=2e-11)


@pytest.mark.long
def test_the_quadrotor_passes_its_gates_in_one_smooth_flight():
    flight = solved("quadrotor_gates", gates=((2.0, 1.0), (4.0, 0.0)), goal=(6.0, 0.0), intervals=12)
    first, second, _ = flight.phases
    thrust, turn = trajopt.state("thrust"), trajopt.state("turn")
    assert np.allclose(first.q(first.duration), second.q(0.0), atol=1e-9)
    x, z = first.q(first.duration)[:2]
    assert x == pytest.approx(2.0, abs=1e-9) and 0.75 - 1e-6 <= z <= 1.25 + 1e-6
    for leg in flight.phases:
        t = np.linspace(0.0, leg.duration, 400)
        assert np.all(leg.value(thrust, t) >= 1.0 - 1e-6) and np.all(leg.value(thrust, t) <= 20.0 + 1e-6)
        assert np.all(np.abs(leg.value(turn, t)) <= 10.0 + 1e-6)
    assert flight.verify().holds
