"""Robots with further states, motor currents say: equations, accuracy, simulation, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dynamics
import trajopt
from trajopt.base.errors import OptionError, ProblemError, ShapeError, UnknownNameError

MASS, FORCE_CONSTANT, RESISTANCE, INDUCTANCE = 2.0, 4.0, 1.5, 0.3


def slide(damping=0.0):
    row = dynamics.DhRow(name="slide", kind="prismatic", mass=MASS)
    robot = dynamics.from_dh([row], gravity=(0.0, 0.0, 0.0))
    body = replace(robot.bodies[0], joint=replace(robot.bodies[0].joint, damping=damping))
    return replace(robot, bodies=(body,))


def current_rate(node):
    """L i' = u - R i - k v."""
    return (node.voltage - RESISTANCE * node.current - FORCE_CONSTANT * node.v) / INDUCTANCE


def linear_motor(rates=current_rate, damping=0.0, **more):
    more = {"torques": lambda node: FORCE_CONSTANT * node.current} | more
    return trajopt.system(("current",), ("voltage",), rates, dynamics=slide(damping), **more)


def least_heat(system=None, intervals=6, order=3):
    """Rest to rest over one metre in one second with the least integral of i^2: i = m a / k, a = 6 - 12 t."""
    problem = trajopt.Problem(
        system or linear_motor(), trajopt.Trajectory.collocation(intervals, order, duration=1.0)
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.state("current") ** 2)
    return problem


def test_a_motor_that_moves_a_mass_has_the_closed_form_of_the_mass():
    solution = trajopt.solve(least_heat())
    t = np.linspace(0.0, 1.0, 21)
    a = 6.0 - 12.0 * t
    current = MASS * a / FORCE_CONSTANT
    voltage = (
        RESISTANCE * current
        + FORCE_CONSTANT * (6 * t - 6 * t**2)
        + INDUCTANCE * MASS * -12.0 / FORCE_CONSTANT
    )
    assert solution.converged
    assert solution.objective == pytest.approx(12.0 * (MASS / FORCE_CONSTANT) ** 2, rel=1e-10)
    assert solution.value(trajopt.state("current"), t)[:, 0] == pytest.approx(current, abs=1e-8)
    assert solution.value(trajopt.state("voltage"), t)[:, 0] == pytest.approx(voltage, abs=1e-6)
    assert solution.tau(t)[:, 0] == pytest.approx(MASS * a, abs=1e-8)


def test_states_go_on_where_arcs_of_free_duration_meet():
    motion = trajopt.Trajectory.collocation(4, 3)
    arcs = tuple(replace(motion.arcs[0], duration=(0.1, 0.9)) for _ in range(2))
    problem = trajopt.Problem(linear_motor(), replace(motion, arcs=arcs))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(trajopt.duration, equals=1.0)
    problem.minimize(trajopt.state("current") ** 2)
    solution = trajopt.solve(problem)
    border = solution.curve.durations[0] + np.array([-1e-9, 1e-9])
    current = solution.value(trajopt.state("current"), border)[:, 0]
    assert solution.objective == pytest.approx(12.0 * (MASS / FORCE_CONSTANT) ** 2, rel=1e-8)
    assert current == pytest.approx(MASS * (6.0 - 12.0 * border) / FORCE_CONSTANT, abs=1e-5)


@pytest.mark.long
def test_states_are_integrated_with_the_robot_under_its_controls():
    report = trajopt.solve(least_heat()).verify()
    assert report.holds
    assert report.free_simulation is not None and report.free_simulation.end_to_end < 1e-8


@pytest.mark.long
def test_a_motor_beside_a_damper_gives_what_the_damper_takes():
    """k i = m v' + c v; the integral of its square is least where m^2 v'' - c^2 v is constant: a cosh."""
    c = 3.0
    solution = trajopt.solve(least_heat(linear_motor(damping=c), intervals=8, order=5))
    t, alpha = np.linspace(0.0, 1.0, 21), c / MASS
    scale = 1.0 / (1.0 - 2.0 / alpha * np.tanh(alpha / 2.0))
    v = scale * (1.0 - np.cosh(alpha * (t - 0.5)) / np.cosh(alpha / 2.0))
    a = -scale * alpha * np.sinh(alpha * (t - 0.5)) / np.cosh(alpha / 2.0)
    current = (MASS * a + c * v) / FORCE_CONSTANT
    assert solution.v(t)[:, 0] == pytest.approx(v, abs=1e-6)
    assert solution.value(trajopt.state("current"), t)[:, 0] == pytest.approx(current, abs=1e-5)
    report = solution.verify()
    assert report.holds
    assert report.free_simulation is not None and report.free_simulation.end_to_end < 1e-6


@pytest.mark.long
def test_the_simulation_sees_a_mesh_that_is_too_coarse():
    """A temperature that decays a hundred times faster than an interval lasts is wrong between the points."""
    fast = trajopt.system(
        ("heat",),
        (),
        lambda node: -500.0 * (node.heat - node.tau**2),
        dynamics=slide(),
    )
    problem = trajopt.Problem(fast, trajopt.Trajectory.collocation(3, 2, duration=1.0))
    problem.start_at(q=0.0, v=0.0, x=100.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.tau**2)
    report = trajopt.solve(problem, refine=None).verify()
    assert report.simulation is not None and report.simulation.restarted > 0.1
    assert not report.holds


def test_states_without_motor_equations_follow_the_torques():
    """w' = tau^2 from w = 0 with free torques: at the end w is the integral of tau^2 = 12 m^2."""
    warm = trajopt.system(("heat",), (), lambda node: node.tau**2, dynamics=slide())
    problem = trajopt.Problem(warm, trajopt.Trajectory.collocation(4, 3, duration=1.0))
    problem.start_at(q=0.0, v=0.0, x=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.state("heat"), over="end")
    solution = trajopt.solve(problem, starts=1)
    assert solution.objective == pytest.approx(12.0 * MASS**2, rel=1e-8)
    report = solution.verify()
    assert report.simulation is not None and report.simulation.end_to_end < 1e-8


def test_the_implicit_form_has_the_same_optimum():
    implicit = linear_motor(
        None, residuals=lambda node: INDUCTANCE * (node.rate("current") - current_rate(node))
    )
    solution = trajopt.solve(least_heat(implicit))
    assert solution.objective == pytest.approx(12.0 * (MASS / FORCE_CONSTANT) ** 2, rel=1e-10)


def test_the_end_of_a_state_converges_as_the_points_promise():
    """i' = -w i with w = 3 beside a resting mass: Radau points of order 2 give errors like h^3."""
    errors = []
    for intervals in (4, 8):
        decay = trajopt.system(("current",), (), lambda node: -3.0 * node.current, dynamics=slide())
        problem = trajopt.Problem(decay, trajopt.Trajectory.collocation(intervals, 2, duration=1.0))
        problem.start_at(q=0.0, v=0.0, x=1.0)
        problem.end_at(q=0.0, v=0.0)
        problem.minimize(trajopt.tau**2)
        solution = trajopt.solve(problem, refine=None)
        errors.append(abs(solution.value(trajopt.state("current"), 1.0)[0] - np.exp(-3.0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3.0, abs=0.35)


@pytest.mark.long
def test_a_limit_of_a_state_holds_where_its_start_is_free():
    problem = least_heat()
    problem.subject_to(trajopt.state("current"), -2.5, 2.5)  # 3 A without it
    solution = trajopt.solve(problem)
    current = solution.value(trajopt.state("current"), np.linspace(0.0, 1.0, 11))
    assert abs(current[0, 0]) <= 2.5 + 1e-6 and np.abs(current).max() == pytest.approx(2.5, abs=0.05)


@pytest.mark.long
def test_vector_states_have_one_equation_per_component(tmp_path):
    arm = dynamics.from_dh(
        [dynamics.DhRow(name=name, a=0.4, mass=1.0) for name in ("shoulder", "elbow")],
        gravity=(0.0, 0.0, -9.81),
    )
    motors = trajopt.system(
        {"current": 2, "winding": 2},
        {"voltage": 2},
        lambda node: [(node.voltage - node.current - 2.0 * node.v) / 0.1, node.current**2 - node.winding],
        dynamics=arm,
        torques=lambda node: 2.0 * node.current,
    )
    problem = trajopt.Problem(motors, trajopt.Trajectory.collocation(16, 3, duration=1.0))
    problem.control("voltage", -12.0, [12.0, 11.0])
    problem.start_at(q=[0.0, 0.5], v=0.0, x=[None, None, 0.0, 0.0])
    problem.end_at(q=[0.6, 1.0], v=0.0)
    problem.minimize(trajopt.state("current") ** 2)
    solution = trajopt.solve(problem)
    assert solution.converged and solution.verify().holds
    solution.save(tmp_path / "x.npz")
    again = trajopt.Solution.load(tmp_path / "x.npz", problem)
    t = np.linspace(0.0, 1.0, 5)
    assert np.array_equal(
        again.value(trajopt.state("winding"), t), solution.value(trajopt.state("winding"), t)
    )
    finer = problem.on(trajopt.Trajectory.collocation(8, 4, duration=1.0))
    finer.guess(solution)
    assert trajopt.solve(finer).objective == pytest.approx(solution.objective, rel=1e-3)


# -- bad input ----------------------------------------------------------------------------------------------


def test_equations_of_the_wrong_number_are_refused_with_the_states():
    with pytest.raises(ShapeError, match=r"2 components but there are 1 states \(current\)"):
        trajopt.solve(least_heat(linear_motor(lambda node: [node.current, node.v])))
    with pytest.raises(ShapeError, match=r"2 components but there are 1 joints \(slide\)"):
        trajopt.solve(least_heat(linear_motor(torques=lambda node: [node.current, node.v])))


def test_rates_that_depend_on_rates_are_refused():
    with pytest.raises(OptionError, match="depend on rates themselves"):
        trajopt.solve(least_heat(linear_motor(lambda node: node.voltage - node.rate("current"))))


def test_a_further_state_whose_rate_enters_no_residual_has_no_equation():
    static = linear_motor(None, residuals=lambda node: node.voltage - node.current)
    with pytest.raises(ProblemError, match=r"the state 'current' has no equation"):
        trajopt.solve(least_heat(static))


def test_names_of_the_robots_quantities_are_refused():
    with pytest.raises(OptionError, match="'tau' is a quantity of the robot already"):
        trajopt.system(("tau",), (), len, dynamics=slide())


def test_what_only_robots_have_is_refused_without_one():
    with pytest.raises(OptionError, match="torques are given"):
        trajopt.system(("x",), (), len, torques=len)
    with pytest.raises(ProblemError, match="has no `n`"):
        trajopt.system(("x",), (), len, dynamics=object())
    with pytest.raises(ProblemError, match=r"the dynamics is 'arm': give dynamics.load_urdf"):
        trajopt.system(("x",), (), len, dynamics="arm")


def test_meshes_controls_and_values_that_do_not_fit_are_refused():
    with pytest.raises(OptionError, match=r"use Trajectory.collocation"):
        trajopt.Problem(linear_motor(), trajopt.Trajectory.uniform(10))
    with pytest.raises(UnknownNameError, match="no control of the system is called 'volt'"):
        least_heat().control("volt", -1.0, 1.0)
    with pytest.raises(ShapeError, match="has 1 component"):
        least_heat().control("voltage", [-1.0, -1.0], 1.0)
    with pytest.raises(ShapeError, match=r"1 components \(current\)"):
        least_heat().start_at(x=[1.0, 2.0])


def test_a_robot_with_further_states_stands_on_the_ground():
    """A mass on a vertical slide without a motor: the ground carries it."""
    slide = dynamics.Joint("height", "prismatic", np.array([0.0, 0.0, 1.0]))
    mass = dynamics.RigidBodyModel(
        [dynamics.Body("mass", slide, None, mass=2.0, inertia=np.eye(3))], gravity=(0.0, 0.0, -9.81),
        frames=[dynamics.Frame("foot", "mass")],
    )  # fmt: skip
    warm = trajopt.system(("heat",), ("power",), lambda node: node.power, dynamics=mass)
    problem = trajopt.Problem(warm, trajopt.Trajectory.collocation(intervals=2, order=2, duration=1.0))
    contact = problem.contact("foot", [0], held="z")
    problem.passive("height")
    problem.control("power", 0.0, 1.0)
    problem.minimize(trajopt.state("heat") ** 2)
    with pytest.raises(UnknownNameError, match="no control of the system is called 'powr'"):
        problem.control("powr", 0.0, 1.0)
    solution = trajopt.solve(problem, refine=None, starts=1)
    assert solution.value(contact.force, 0.5)[2] == pytest.approx(2.0 * 9.81, rel=1e-6)
