"""Unknowns of very different sizes: solvers see them divided by powers of two, and the answer is the same."""

import numpy as np
import pytest

import trajopt
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.scaled_program import scaled_point, scaled_program
from trajopt.solvers.solver import ProgramValue, WarmStart

STATES = ("x", "v")


def lifted(unit: float, start=(0.0, 0.5), end=(3.0, 0.0), name="problem") -> trajopt.Problem:
    """A mass is moved under drag with a limited force; x, v and the force are counted in 1 / unit."""

    def rates(node):
        return [node.v, node.u - 0.1 * node.v * node.v / unit]

    @trajopt.term
    def effort(node):
        return (node.u / unit) ** 2

    problem = trajopt.Problem(
        trajopt.system(STATES, ("u",), rates),
        trajopt.Trajectory.collocation(8, 3, duration=2.0),
        name=name,
    )
    problem.control("u", -4.0 * unit, 4.0 * unit, guess=unit)
    if start is not None:
        problem.start_at(x=unit * np.array(start))
    if end is not None:
        problem.end_at(x=unit * np.array(end))
    problem.subject_to(trajopt.state("v"), upper=2.0 * unit)
    problem.minimize(effort)
    return problem


def seen(unit: float) -> tuple[ProgramValue, np.ndarray]:
    """The program as a solver sees it, and a point of it."""
    nlp = trajopt.transcribe(lifted(unit))
    assert nlp.unknown_sizes is not None
    point = nlp.start / nlp.unknown_sizes
    return scaled_program(nlp, nlp.unknown_sizes), point + 0.1 * np.sin(np.arange(point.size))


def test_ordinary_sizes_are_left_alone():
    assert trajopt.transcribe(lifted(1.0)).unknown_sizes is None


def test_a_fixed_duration_of_hours_alone_is_no_reason():
    problem = trajopt.Problem(
        trajopt.system(("x",), ("u",), lambda node: [node.u - node.x**3]),
        trajopt.Trajectory.collocation(5, 3, duration=1e4),
    )
    problem.start_at(x=[1.0])
    problem.minimize(trajopt.state("x") ** 2)
    assert trajopt.transcribe(problem).unknown_sizes is None


def test_sizes_are_powers_of_two():
    sizes = trajopt.transcribe(lifted(3e6)).unknown_sizes
    assert np.array_equal(np.log2(sizes), np.round(np.log2(sizes)))
    assert sizes.min() >= 1.0


@pytest.mark.long
@pytest.mark.parametrize("solver", [trajopt.Ipopt(), trajopt.InteriorPoint()])
def test_the_unit_of_length_changes_neither_optimum_nor_iterations_much(solver):
    metres, micrometres = (trajopt.solve(lifted(unit), solver) for unit in (1.0, 1e6))
    assert micrometres.converged
    assert micrometres.objective == pytest.approx(metres.objective, rel=1e-8)
    assert micrometres.iterations <= metres.iterations + 3
    assert str(micrometres.verify().verdict) == "PASS"
    t = np.linspace(0.0, 2.0, 21)
    np.testing.assert_allclose(micrometres.q(t), 1e6 * metres.q(t), atol=1e-5 * 1e6)


@pytest.mark.long
def test_multipliers_are_those_of_the_program_in_the_units_of_the_user():
    solution = trajopt.solve(lifted(1e6))
    nlp = trajopt.transcribe(lifted(1e6))
    point = solution.point
    slope = nlp.gradient(point.y) + np.bincount(
        nlp.jacobian_columns,
        nlp.jacobian(point.y) * point.row_multipliers[nlp.jacobian_rows],
        minlength=nlp.variable_count,
    )
    off = nlp.unknown_sizes * (slope - point.lower_multipliers + point.upper_multipliers)
    assert np.abs(off).max() < 1e-7
    assert point.upper_multipliers.max() > 0.0
    assert kkt_residuals(nlp, point).error < 1e-7


def test_derivatives_by_the_scaled_unknowns():
    program, z = seen(1e5)
    step, n = 1e-6, program.variable_count
    J = np.zeros((program.row_count, n))
    np.add.at(J, (program.jacobian_rows, program.jacobian_columns), program.jacobian(z))
    along = np.cos(np.arange(n))
    by_differences = (program.rows(z + step * along) - program.rows(z - step * along)) / (2.0 * step)
    np.testing.assert_allclose(J @ along, by_differences, atol=1e-6 * max(1.0, np.abs(by_differences).max()))
    multipliers = np.sin(np.arange(program.row_count))

    def slope(at):
        weights = program.jacobian(at) * multipliers[program.jacobian_rows]
        return program.gradient(at) + np.bincount(program.jacobian_columns, weights, minlength=n)

    H = np.zeros((n, n))
    np.add.at(H, (program.hessian_rows, program.hessian_columns), program.hessian(z, multipliers, 1.0))
    H = H + np.tril(H, -1).T
    turning = (slope(z + step * along) - slope(z - step * along)) / (2.0 * step)
    np.testing.assert_allclose(H @ along, turning, atol=1e-5 * max(1.0, np.abs(turning).max()))


def test_a_point_and_back():
    program, z = seen(1e5)
    bounds, sizes = np.ones(z.size), trajopt.transcribe(lifted(1e5)).unknown_sizes
    scaled = scaled_point(WarmStart(sizes * z, np.zeros(program.row_count), bounds, bounds), sizes)
    np.testing.assert_array_equal(scaled.y, z)
    np.testing.assert_array_equal(scaled.lower_multipliers, sizes)


@pytest.mark.long
def test_phases_with_one_in_large_units_solve_as_in_small_ones():
    def phases(unit):
        first, second = lifted(unit, end=None, name="out"), lifted(unit, start=None, name="on")
        both = trajopt.Phases(first, second)
        both.link(trajopt.q, first.at("end"), second.at("start"))
        return both

    small, large = (trajopt.solve(phases(unit)) for unit in (1.0, 2.0**20))
    assert large.converged
    assert large.objective == pytest.approx(small.objective, rel=1e-8)
