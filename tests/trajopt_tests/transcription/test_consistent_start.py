"""Algebraic variables without a guess start on their equations: circuit, rod, equilibrium, a stiff system."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import trajopt
from trajopt.transcription.transcribe import transcribe

state = trajopt.state
RESISTANCE, CAPACITY, SATURATION, THERMAL = 100.0, 1e-6, 1e-12, 0.02585  # ohm, F, A, V
WATER, ACETIC = 1e-14, 1.8e-5  # mol^2/l^2, mol/l
GRAVITY = 9.81


def problem_of(states, controls, rates, intervals, duration):
    system = trajopt.system(states, controls, rates)
    return trajopt.Problem(system, trajopt.Trajectory.collocation(intervals, 3, duration=duration))


def hold(problem, law: Callable[[Any], Any]):
    """Make law = 0 an equation over the path."""
    problem.subject_to(trajopt.term(law, name="law"), equals=0.0)


def circuit():
    """A source charges a capacitor to 5 V through a resistor and a diode with the least heat."""
    problem = problem_of(("v",), ("source", "i", "drop"), lambda node: [node.i / CAPACITY], 4, 1e-3)
    problem.control("source", 0.0, 12.0)
    problem.control("i", 0.0, 0.2)
    problem.control("drop", 0.0, 1.0)

    def laws(node):
        through = SATURATION * (np.exp(node.drop / THERMAL) - 1.0)
        return [node.source - RESISTANCE * node.i - node.drop - node.v, node.i - through]

    hold(problem, laws)
    problem.start_at(x=[0.0])
    problem.end_at(x=[5.0])
    problem.minimize(RESISTANCE * state("i") ** 2)
    return problem


def titration():
    """A lye is added to an acid until its pH, which the charges of all ions give, is 5.5."""

    def rates(node):
        return [-node.flow * node.acid / node.volume, node.flow * (0.1 - node.salt) / node.volume, node.flow]

    problem = problem_of(("acid", "salt", "volume"), ("flow", "pH"), rates, 6, (1.0, 100.0))
    problem.control("flow", 0.0, 0.05)
    problem.control("pH", 0.0, 14.0)
    hold(problem, lambda node: charge(node, node.pH))
    problem.start_at(x=[0.05, 0.0, 1.0])
    problem.subject_to(state("pH"), lower=5.5, over="end")
    problem.minimize(trajopt.duration)
    return problem


def charge(node, pH):
    protons = 10.0 ** (-pH)
    return node.salt + protons - WATER / protons - ACETIC * node.acid / (ACETIC + protons)


def swing(algebraic):
    """A pendulum pushed from rest to 0.6 rad: by its point and the force of its rod, or by its angle."""
    end = np.array([np.sin(0.6), -np.cos(0.6)])
    if algebraic:
        states = ("x", "y", "vx", "vy")
        problem = problem_of(states, ("push", "rod"), point_on_rod, 6, 1.0)
        hold(problem, rod_law)
        problem.start_at(x=[0.0, -1.0, 0.0, 0.0])
        problem.end_at(x=[end[0], None, 0.0, None])
    else:
        problem = problem_of(("angle", "spin"), ("push",), pendulum, 6, 1.0)
        problem.start_at(x=[0.0, 0.0])
        problem.end_at(x=[0.6, 0.0])
    problem.minimize(state("push") ** 2)
    return problem


def pendulum(node):
    return [node.spin, node.push - GRAVITY * np.sin(node.angle)]


def point_on_rod(node):
    return [
        node.vx,
        node.vy,
        -node.rod * node.x - node.push * node.y,
        -node.rod * node.y + node.push * node.x - GRAVITY,
    ]


def rod_law(node):
    """The second derivative of x^2 + y^2 = 1."""
    return node.rod * (node.x**2 + node.y**2) - node.vx**2 - node.vy**2 + GRAVITY * node.y


def stiff():
    """A state that settles within 1e-6 s where an algebraic variable, as a state, has it; a slow one."""

    def rates(node):
        return [1e6 * (node.slow * node.z - node.fast), -node.slow + node.u]

    problem = problem_of(("fast", "slow"), ("z", "u"), rates, 4, 1.0)
    problem.control("u", -1.0, 1.0, guess=0.25)
    hold(problem, lambda node: node.z + np.exp(-node.fast) - 2.0)
    problem.guess([[5.0, 1.0], [5.0, 2.0]])
    problem.minimize(state("u") ** 2)
    return problem


def at_start(problem, *names):
    """States and controls where the solve starts, at the nodes that hold equations."""
    program = transcribe(problem)
    x = program.unknowns.elimination.expand(program.start)
    leaves = program.spline_map.leaf_values(x, {"q", *(f"extra:{name}" for name in problem.extras)})
    held = program.spline_map.nodes.weight > 0.0
    known = dict(zip(problem.dynamics.states, leaves["q"].T, strict=True))
    known |= {name: leaves[f"extra:{name}"][:, 0] for name in problem.extras}
    return [known[name][held] for name in names]


def test_circuit_starts_on_its_laws_and_charges_with_constant_current():
    v, source, i, drop = at_start(circuit(), "v", "source", "i", "drop")
    np.testing.assert_allclose(source - RESISTANCE * i - drop, v, atol=1e-6)
    np.testing.assert_allclose(SATURATION * (np.exp(drop / THERMAL) - 1.0), i, rtol=1e-5)
    solution = trajopt.solve(circuit(), starts=1)
    current = 5.0 * CAPACITY / 1e-3
    assert solution.objective == pytest.approx(RESISTANCE * current**2 * 1e-3, rel=1e-6)
    assert solution.verify().holds


def test_equilibrium_starts_at_the_root_of_every_node():
    for salt, acid, pH in zip(*at_start(titration(), "salt", "acid", "pH"), strict=True):
        root = brentq(partial(charge, SimpleNamespace(salt=salt, acid=acid)), 0.0, 14.0)
        assert pH == pytest.approx(root, abs=1e-6)
    assert trajopt.solve(titration(), starts=1).verify().holds


@pytest.mark.long
def test_pendulum_of_index_one_has_the_optimum_of_its_angle():
    x, y, vx, vy, rod = at_start(swing(algebraic=True), "x", "y", "vx", "vy", "rod")
    np.testing.assert_allclose(rod * (x**2 + y**2), vx**2 + vy**2 - GRAVITY * y, atol=1e-6)
    by_point, by_angle = (trajopt.solve(swing(each), starts=1) for each in (True, False))
    assert by_point.verify().holds
    assert by_point.objective == pytest.approx(by_angle.objective, rel=1e-4)


def test_fast_states_settle_and_slow_ones_stay():
    fast, slow, z, u = at_start(stiff(), "fast", "slow", "z", "u")
    np.testing.assert_allclose(z, 2.0 - np.exp(-fast), atol=1e-6)
    np.testing.assert_allclose(fast, slow * z, rtol=1e-2)
    assert np.abs(slow - np.linspace(1.0, 2.0, slow.size)).max() < 0.6
    np.testing.assert_allclose(u, 0.25)


def test_a_guess_is_kept():
    problem = titration()
    problem.control("pH", 0.0, 14.0, guess=9.0)
    np.testing.assert_allclose(at_start(problem, "pH")[0], 9.0)


def test_equations_without_a_solution_leave_the_start_alone():
    problem = problem_of(("x",), ("z",), lambda node: [node.z], 3, 1.0)
    problem.control("z", -1.0, 3.0)
    hold(problem, lambda node: node.z**2 + 0.5)
    problem.start_at(x=[0.0])
    problem.minimize(state("x") ** 2)
    np.testing.assert_allclose(at_start(problem, "z")[0], 1.0)
