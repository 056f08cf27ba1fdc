"""Exact derivatives of the whole NLP: complex step for first order, Taylor slopes for both."""

from dataclasses import replace

import numpy as np
import pytest
from hand_written import CubicTerm, PointMasses, two_link_minimum_time
from scipy import sparse

import trajopt
from problems import catalogue
from trajopt import Arc, SplineBasis, Trajectory


def cubic_problem(arcs: int = 1) -> trajopt.Problem:
    """Every leaf, both kinds of costs, windows, ends, parameters, periodicity, several arcs."""
    basis = SplineBasis.clamped([0.0, 0.3, 0.5, 1.0], 4, [1, 2])
    short = SplineBasis.uniform(2, 3)
    trajectory = Trajectory((Arc(basis), Arc(short, (0.1, 3.0)), Arc(basis))[:arcs], continuity=1)
    problem = trajopt.Problem(PointMasses(2, 2.0, 50.0), trajectory)
    problem.start_at(q=[0.3, -0.2])
    problem.end_at(v=0.1)
    problem.subject_to(CubicTerm(), -5.0, 7.0)
    if arcs == 1:
        problem.subject_to(CubicTerm(), upper=3.0, over=(0.3, 0.5), name="window")
        problem.subject_to_periodic(CubicTerm(), signs=[1.0, -1.0])
        problem.minimize(CubicTerm() ** 2, weight=0.3, over=(0.0, 0.5))
    payload = problem.parameter("payload", 0.1, 2.0)
    problem.minimize(payload**2, weight=0.5)
    problem.minimize(CubicTerm() ** 2, weight=0.2)
    problem.minimize(CubicTerm(), weight=-0.7, over="end")
    problem.minimize(trajopt.jerk**2, weight=1e-3)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


def driven_pendulum(points="gauss", duration=(0.05, np.inf)) -> trajopt.Problem:
    """A system on two arcs: controls with bases of their own, time, a parameter, free or fixed durations."""
    system = trajopt.system(
        ("angle", "speed", "work"),
        ("torque", "brake"),
        lambda node: [
            node.speed,
            node.torque * np.cos(node.t) - node.parameter("gravity") * np.sin(node.angle) - node.brake,
            node.torque * node.speed**2,
        ],
    )
    mesh = Trajectory.collocation([0.0, 0.4, 1.0], 3, points, duration)
    problem = trajopt.Problem(system, replace(mesh, arcs=mesh.arcs * 2))
    problem.control("torque", -5.0, 5.0, degree=1)
    problem.control("brake", degree=2, continuous=True)
    problem.parameter("gravity", 1.0, 20.0)
    problem.start_at(x=[0.1, None, 0.0])
    problem.end_at(x=[1.0, -0.3, None])
    problem.subject_to(trajopt.state("speed"), -3.0, 3.0)
    problem.minimize(trajopt.state("torque") ** 2, weight=0.3)
    problem.minimize(trajopt.state("work"), over="end")
    problem.minimize(trajopt.duration)
    return problem


def random_point(nlp, seed=0):
    rng = np.random.default_rng(seed)
    y = np.clip(nlp.start + 0.3 * rng.standard_normal(nlp.variable_count), nlp.lower + 0.05, nlp.upper - 0.05)
    y[nlp.unknowns.durations] = rng.uniform(0.8, 1.2, nlp.unknowns.durations.size)  # far above Taylor steps
    return y, rng.standard_normal(nlp.row_count)


def dense_jacobian(nlp, y):
    shape = (nlp.row_count, nlp.variable_count)
    return sparse.coo_array(
        (nlp.jacobian(y), (nlp.jacobian_rows, nlp.jacobian_columns)), shape=shape
    ).toarray()


def dense_hessian(nlp, y, multipliers, factor=1.0):
    values = nlp.hessian(y, multipliers, factor)
    lower = sparse.coo_array(
        (values, (nlp.hessian_rows, nlp.hessian_columns)), shape=(y.size, y.size)
    ).toarray()
    assert np.all(nlp.hessian_rows >= nlp.hessian_columns)
    return lower + np.tril(lower, -1).T


@pytest.mark.parametrize("arcs", [1, 3])
def test_first_derivatives_are_those_of_the_complex_step(arcs):
    nlp = trajopt.transcribe(cubic_problem(arcs))
    y, _ = random_point(nlp)
    jacobian, gradient = dense_jacobian(nlp, y), nlp.gradient(y)
    for i in range(y.size):
        step = y.astype(complex)
        step[i] += 1e-30j
        column, slope = nlp.rows(step).imag / 1e-30, nlp.objective(step).imag / 1e-30
        assert np.allclose(jacobian[:, i], column, rtol=1e-11, atol=1e-11 * np.abs(jacobian).max())
        assert np.isclose(gradient[i], slope, rtol=1e-11, atol=1e-11 * np.abs(gradient).max())


@pytest.mark.parametrize("arcs", [1, 3])
def test_the_hessian_is_the_complex_step_of_the_gradient_of_the_lagrangian(arcs):
    nlp = trajopt.transcribe(cubic_problem(arcs))
    y, multipliers = random_point(nlp, 1)
    hessian = dense_hessian(nlp, y, multipliers, 0.7)
    for i in range(y.size):
        step = y.astype(complex)
        step[i] += 1e-30j
        weights = nlp.jacobian(step) * multipliers[nlp.jacobian_rows]
        gradient = 0.7 * nlp.gradient(step)
        np.add.at(gradient, nlp.jacobian_columns, weights)
        column = gradient.imag / 1e-30
        assert np.allclose(hessian[:, i], column, rtol=1e-11, atol=1e-11 * np.abs(hessian).max())


@pytest.mark.parametrize(
    "make",
    [
        cubic_problem,
        lambda: cubic_problem(3),
        two_link_minimum_time,
        driven_pendulum,
        lambda: driven_pendulum("radau", 0.9),
    ],
)
def test_taylor_remainders_of_the_lagrangian_fall_with_slopes_two_and_three(make):
    nlp = trajopt.transcribe(make())
    y, multipliers = random_point(nlp, 2)
    direction = np.random.default_rng(3).standard_normal(y.size)
    direction /= np.linalg.norm(direction)

    def lagrangian(point):
        return nlp.objective(point) + multipliers @ nlp.rows(point)

    value = lagrangian(y)
    slope = (nlp.gradient(y) + dense_jacobian(nlp, y).T @ multipliers) @ direction
    bend = direction @ dense_hessian(nlp, y, multipliers) @ direction
    steps = np.array([4e-2, 2e-2, 1e-2])
    values = np.array([lagrangian(y + step * direction) for step in steps])
    first = np.abs(values - value - steps * slope)
    second = np.abs(values - value - steps * slope - 0.5 * steps**2 * bend)
    assert np.allclose(np.diff(np.log2(first)), -2.0, atol=0.35)
    assert np.allclose(np.diff(np.log2(second)), -3.0, atol=0.35)


@pytest.mark.parametrize("make", [cubic_problem, driven_pendulum])
def test_patterns_are_the_same_at_every_point_and_hold_every_nonzero(make):
    nlp = trajopt.transcribe(make())
    pattern = np.zeros((nlp.row_count, nlp.variable_count), bool)
    pattern[nlp.jacobian_rows, nlp.jacobian_columns] = True
    assert (
        len(set(zip(nlp.jacobian_rows.tolist(), nlp.jacobian_columns.tolist(), strict=True))) == pattern.sum()
    )
    y, _ = random_point(nlp, 4)
    for i in range(y.size):
        moved = y.copy()
        moved[i] += 1e-3
        changed = np.abs(nlp.rows(moved) - nlp.rows(y)) > 1e-12
        assert not np.any(changed & ~pattern[:, i])


def test_a_repeated_evaluation_gives_the_same_bits_and_a_fresh_program_too():
    first, second = (trajopt.transcribe(two_link_minimum_time(10)) for _ in range(2))
    y, multipliers = random_point(first, 5)
    once = first.hessian(y, multipliers, 1.0)
    first.rows(first.start)
    assert np.array_equal(once, first.hessian(y, multipliers, 1.0))
    assert np.array_equal(once, second.hessian(y, multipliers, 1.0))


def test_values_have_the_same_bits_whether_derivatives_are_asked_for_before_or_after():
    """Threads may share a program: what one of them asks for may not change what another is given."""
    first, second = (trajopt.transcribe(catalogue.build("urdf_arm", {"intervals": 4})) for _ in range(2))
    y = first.start + 0.01
    rows = first.rows(y)
    second.jacobian(y)
    assert np.array_equal(second.rows(y), rows)


@pytest.mark.parametrize("make", [driven_pendulum, lambda: driven_pendulum("radau", 0.9)])
def test_a_program_is_evaluated_where_something_is_asked_of_it(make):
    """Three points of every interval have equations; its ends carry costs "at the end" alone."""
    problem = make()
    nlp, nodes = trajopt.transcribe(problem), problem.trajectory.nodes
    asked = (nodes.weight > 0.0) | (np.arange(nodes.count) == nodes.count - 1)
    limited = [each for each in problem.constraints if each.name == "speed"]
    assert len(limited) == 1 and nlp.leaf_map.nodes < nodes.count
    assert set(np.flatnonzero(asked)) <= set(nlp.leaf_map.kept)
    values = nlp.spline_map.leaf_values(nlp.unknowns.elimination.expand(nlp.start), {"q"})["q"]
    np.testing.assert_allclose(nlp.at(nlp.start).values["q"], values[nlp.leaf_map.kept], atol=1e-14)
