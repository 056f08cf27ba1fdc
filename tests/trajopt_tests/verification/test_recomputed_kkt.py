"""KKT residuals computed again: the factor of the objective is that of the solve, within bounds."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import problems
import trajopt
from trajopt.base.errors import ShapeError
from trajopt.solvers.kkt import kkt_residuals, kkt_residuals_of
from trajopt.solvers.solver import WarmStart
from trajopt.verification.verify import COARSEST, point_and_kkt, rebuilt_program


@pytest.fixture(scope="module")
def of_a_costly_guess():
    """A solve whose tolerance is a loose one, from a guess that costs far more than the answer; and the
    problem with its own guess."""
    problem = problems.cart_pole.build(intervals=20)
    shaken = problems.cart_pole.build(intervals=20)
    s = np.linspace(0.0, 1.0, 41)
    shaken.guess(np.outer(s, [1.0, np.pi]) + np.outer(np.sin(9.0 * np.pi * s), [0.0, 0.04]))
    found = trajopt.solve(shaken, solver=trajopt.Ipopt(tol=1e-3), starts=1)
    return replace(found, known_problem=problem)


def test_the_error_computed_again_is_that_of_the_solve_whatever_guess_its_factors_are_from(of_a_costly_guess):
    found, program = of_a_costly_guess, rebuilt_program(of_a_costly_guess)
    ratio = program.nlp.scaling.objective / found.scaling.objective
    assert 1.2 < ratio < COARSEST and found.kkt.stationarity > 1e-6
    _, again = point_and_kkt(program, found)
    assert again.stationarity == pytest.approx(found.kkt.stationarity, rel=1e-3)


def test_a_factor_told_by_a_file_makes_no_error_a_hundred_times_smaller_or_more(of_a_costly_guess):
    found, program = of_a_costly_guess, rebuilt_program(of_a_costly_guess)
    bent = program._replace(y=program.y + 1e-3)
    own = replace(found, scaling=program.nlp.scaling, point=None)
    forged = replace(own, scaling=replace(program.nlp.scaling, objective=1e-30))
    assert point_and_kkt(bent, forged)[1].error >= point_and_kkt(bent, own)[1].error / COARSEST


def _half(name, start=None, end=None):
    system = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=(0.1, 1.9)), name=name)
    problem.minimize(trajopt.state("u") ** 2)
    if start is not None:
        problem.start_at(x=start)
    if end is not None:
        problem.end_at(x=end)
    return problem


@pytest.mark.long
def test_links_that_are_stated_twice_pass_at_the_optimum_alone():
    """Their multipliers cancelled at 1e16: 6.098 for 0.875 was stationary to 1e-9, and passed.

    Which point a solve ends at hangs on rounding, as such multipliers are not unique.
    """
    first, second = _half("first", start=[0.0, 0.0]), _half("second", end=[2.0, 0.0])
    phases = trajopt.Phases(first, second)
    for name in ("meet", "meet again"):
        phases.link(trajopt.q, first.at("end"), second.at("start"), name=name)
    solution = trajopt.solve(phases, refine=None)
    optimum = 12.0 * 2.0**2 / 3.8**3
    assert solution.objective == pytest.approx(optimum, rel=1e-5) or not solution.verify().holds


def _row_three_times():
    """0.5 |y - 1|^2, and one row three times."""
    rows = np.repeat(np.arange(3), 2)
    return SimpleNamespace(
        variable_count=2, row_count=3, unknown_sizes=None,
        jacobian_rows=rows, jacobian_columns=np.tile([0, 1], 3),
        row_lower=np.zeros(3), row_upper=np.zeros(3), lower=np.full(2, -np.inf), upper=np.full(2, np.inf),
        rows=lambda y: np.repeat(y[0] - y[1], 3), jacobian=lambda y: np.tile([1.0, -1.0], 3),
        gradient=lambda y: y - 1.0,
    )  # fmt: skip


@pytest.mark.parametrize("cancelling", [0.0, 1e3, 1e17])
def test_a_gradient_that_huge_multipliers_take_in_counts(cancelling):
    """0.5 |y - 1|^2 at y = 0, and one row three times: no multipliers make a stationary point of it."""
    program = _row_three_times()
    point = WarmStart(np.zeros(2), cancelling * np.array([1.0, 1.0, -2.0]))
    found = kkt_residuals(program, point)
    assert found.error > 0.1 and kkt_residuals(program, WarmStart(np.ones(2))).error == 0.0
    assert cancelling < 1e6 or found.stationarity >= 4.0 * np.finfo(float).eps * cancelling
    steps = kkt_residuals_of(program, point, program.rows(point.y), np.zeros(2))  # a sum that cancelled
    assert (steps.error > 0.1) == (cancelling > 1e15)


@pytest.mark.parametrize("lengths", [(2, 2, 2), (4, 2, 2), (3, 1, 2), (3, 1, 3), (3, 2, 3), (2, 3, 2)])
def test_multipliers_of_other_lengths_than_the_program_has_are_refused(lengths):
    program, of_lagrangian = _row_three_times(), np.zeros(2)
    point = WarmStart(np.ones(2), *map(np.zeros, lengths))
    with pytest.raises(ShapeError, match="a point of 2 unknowns and 3 rows has multipliers of rows"):
        kkt_residuals_of(program, point, np.zeros(3), of_lagrangian)
