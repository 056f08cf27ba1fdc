"""Newton's method from the optimum of an NLP that lacked a few rows, else the solver."""

import signal
from dataclasses import replace

import numpy as np
import pytest
from small_nlps import INF, failing, hs071, quadratic_with_rows, slow, unconstrained
from tiers import every

from trajopt import ConstraintGeneration, Ipopt, Status
from trajopt.base.errors import ShapeError
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.newton import newton as active_set_newton
from trajopt.solvers.newton.newton import MOST_STEPS, NewtonFromMotion
from trajopt.solvers.run import Fallback
from trajopt.solvers.solver import Run, StartKind, WarmStart

NEWTON = "Newton steps"


def nearest_in_polygon(sides):
    """The point nearest to (3, 1) of the plane within these sides of a polygon, (k,) of 60."""
    angles = 2 * np.pi * np.asarray(sides) / 60
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    count = len(rows)
    return quadratic_with_rows(
        np.eye(2), np.array([-3.0, -1.0]), rows, np.full(count, -INF), np.full(count, 1.0)
    )


def first(solver, tol=1e-9):
    return Fallback(NewtonFromMotion(tol), solver)


def test_rows_that_were_missing_are_met_in_a_few_steps_with_the_multipliers_of_all():
    fewer, whole = nearest_in_polygon(range(0, 60, 4)), nearest_in_polygon(range(60))
    start = WarmStart(Ipopt().solve(fewer).y)
    found, same = first(Ipopt()).solve(whole, start), Ipopt().solve(whole)
    assert found.converged and NEWTON in found.detail and found.iterations <= 3
    assert found.y == pytest.approx(same.y, abs=1e-7)
    assert found.row_multipliers == pytest.approx(same.row_multipliers, abs=1e-6)
    assert kkt_residuals(whole, found).error <= 1e-9


def test_a_limit_that_is_stated_twice_is_one():
    """x^2 + (y - 2)^2 with y <= 1 twice and x >= 1/4, from the optimum without the last."""
    A = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    lower, upper = np.array([-INF, -INF, 0.25]), np.array([1.0, 1.0, INF])
    nlp = quadratic_with_rows(2.0 * np.eye(2), [0.0, -4.0], A, lower, upper)
    found = first(Ipopt()).solve(nlp, WarmStart(np.array([0.0, 1.0])))
    assert NEWTON in found.detail
    np.testing.assert_allclose(found.y, [0.25, 1.0], atol=1e-9)
    np.testing.assert_allclose(found.row_multipliers[:2].sum(), 2.0, atol=1e-8)


@every("seed", range(30), fast=8)
def test_a_vertex_with_more_limits_than_unknowns_is_an_optimum_like_any_other(seed):
    """The point of a polyhedron nearest to a target, all sides but a few going through one vertex."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(9, 3))
    vertex, target, upper = rng.normal(size=3), 3.0 * rng.normal(size=3), rng.uniform(0.0, 1.0, 9)
    upper[:7] = 0.0
    rows[:7] *= np.sign(rows[:7] @ (target - vertex))[:, None]
    limits = rows @ vertex + upper
    whole = quadratic_with_rows(np.eye(3), -target, rows, np.full(9, -INF), limits)
    fewer = quadratic_with_rows(np.eye(3), -target, rows[:5], np.full(5, -INF), limits[:5])
    found = first(Ipopt()).solve(whole, WarmStart(Ipopt().solve(fewer).y))
    assert NEWTON in found.detail
    assert kkt_residuals(whole, found).error <= 1e-9


def test_the_top_of_a_hill_at_a_limit_that_does_not_hold_it_is_no_optimum():
    """f = -y^2, 0 <= y <= 1, from y = -1/2: the step to y = 0 ends where all multipliers are zero."""
    hill = unconstrained(
        [-0.5],
        lambda y: float(-y @ y),
        lambda y: -2.0 * y,
        lambda y: np.full((1, 1), -2.0),
        lower=np.array([0.0]),
        upper=np.array([1.0]),
    )
    found = first(Ipopt()).solve(hill)
    assert found.converged and NEWTON not in found.detail
    np.testing.assert_allclose(found.y, [1.0], atol=1e-6)


def test_a_start_of_another_program_is_refused_as_by_every_solver():
    with pytest.raises(ShapeError, match="the problem has 4 variables"):
        first(Ipopt()).solve(hs071(), WarmStart(np.zeros(3)))


def test_ctrl_c_while_the_multipliers_are_looked_for_is_a_status():
    def press():
        signal.raise_signal(signal.SIGINT)
        return 1.0

    checked = 1  # gradient, by every solver at its start
    found = first(Ipopt()).solve(failing(hs071(), "gradient", checked, press, times=1))
    assert found.status is Status.INTERRUPTED
    np.testing.assert_array_equal(found.y, hs071().start)


@pytest.mark.parametrize("evaluation", range(2))
def test_ctrl_c_during_a_step_is_a_status_even_where_the_step_leads_to_the_optimum(evaluation):
    """The second derivatives of the first step, and those that tell a minimum."""

    def press():
        signal.raise_signal(signal.SIGINT)
        return 1.0

    nlp = quadratic_with_rows(np.eye(2), [-3.0, -1.0], np.eye(2), [-1.0] * 2, [2.0] * 2)
    counted = first(Ipopt()).solve(nlp)
    assert counted.converged and NEWTON in counted.detail
    found = first(Ipopt()).solve(failing(nlp, "hessian", evaluation, press, times=1))
    assert found.status is Status.INTERRUPTED


def test_a_flat_valley_is_crossed_in_a_few_steps():
    """Curvatures of 1e6 and 1e-2: a shift of 1e-6 of the larger one would move by a hundredth each step."""
    valley = quadratic_with_rows(np.diag([1e6, 1e-2]), [0.0, -1e-2], np.eye(2), [-2.0] * 2, [2.0] * 2)
    found = first(Ipopt()).solve(valley, WarmStart(np.zeros(2)))
    assert NEWTON in found.detail and found.iterations <= 3
    np.testing.assert_allclose(found.y, [0.0, 1.0], atol=1e-6)


def test_steps_end_where_rounding_hides_what_they_gain():
    """Unknowns of 1e5 and curvatures near 1: gradients are known to 1e-11, coarser than 1e-3 of the tol."""
    errors = []
    for seed in range(8):  # of one instance the gradient may happen to round to zero
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(6, 6))
        H = root @ root.T + np.eye(6)
        far = quadratic_with_rows(H, -H @ rng.uniform(1e5, 2e5, 6), np.eye(6), [0.0] * 6, [1e6] * 6)
        found = first(Ipopt(), 1e-9).solve(far, WarmStart(np.full(6, 1e5)))
        assert found.converged and NEWTON in found.detail and found.iterations < MOST_STEPS
        errors.append(kkt_residuals(far, found).error)
    assert 1e-12 < max(errors) <= 1e-9


def test_where_the_steps_fail_the_solver_goes_on_without_multipliers():
    given, seen = [], []

    class Recorded(Ipopt):
        def solve(self, nlp, start=None, run=None):
            given.append(start)
            return super().solve(nlp, start, run)

    hill = unconstrained(
        [0.1],
        lambda y: float(-y @ y),
        lambda y: -2.0 * y,
        lambda y: np.full((1, 1), -2.0),
        lower=np.array([-1.0]),
        upper=np.array([1.0]),
    )
    found = first(Recorded()).solve(hill, run=Run(callback=seen.append))
    assert found.converged and abs(found.y[0]) == pytest.approx(1.0, abs=1e-6) and NEWTON not in found.detail
    assert given == [None]
    assert [each.iteration for each in seen] == list(range(found.iterations + 1))


def test_without_second_derivatives_the_solver_solves():
    found = first(Ipopt()).solve(replace(hs071(), has_hessian=False))
    assert found.converged and NEWTON not in found.detail


def test_a_program_with_too_many_rows_for_dense_steps_is_the_solvers(monkeypatch):
    """Two unknowns and 60 rows: a matrix of 62 constraints with 124 entries."""
    polygon = nearest_in_polygon(range(60))
    start = WarmStart(Ipopt().solve(nearest_in_polygon(range(0, 60, 4))).y)
    for most, newton in ((124, True), (123, False)):
        monkeypatch.setattr(active_set_newton, "MOST_ENTRIES", most)
        found = first(Ipopt()).solve(polygon, start)
        assert found.converged and (NEWTON in found.detail) is newton


def test_the_time_limit_is_one_for_both(pass_time):
    found = first(Ipopt()).solve(slow(0.05, pass_time), run=Run().within(0.12))
    assert found.status is Status.TIME_LIMIT and found.seconds < 0.5


@pytest.mark.long
def test_constraint_generation_begins_with_it_where_the_start_lacks_nothing_but_rows():
    start = WarmStart(Ipopt().solve(nearest_in_polygon(range(0, 60, 4))).y)
    whole = nearest_in_polygon(range(60))
    for solver, kind, newton in (
        (Ipopt(), StartKind.SAME_MOTION, True),
        (Ipopt(), StartKind.NEAR_START, False),
        (Ipopt(hessian="lbfgs"), StartKind.SAME_MOTION, False),  # no second derivatives: no Newton steps
    ):
        found = ConstraintGeneration(solver).solve(whole, start, Run(start_kind=kind))
        assert found.converged and (NEWTON in found.detail) is newton


def test_after_its_steps_the_rounds_have_what_is_left_of_the_time_and_a_preset():
    given = []

    class Recorded(Ipopt):
        def solve(self, nlp, start=None, run=None):
            given.append(run)
            return super().solve(nlp, start, run)

    circle = quadratic_with_rows(-np.eye(2), [0.0, 0.0], np.eye(2), [-1.0] * 2, [1.0] * 2)
    near = Run(start_kind=StartKind.SAME_MOTION)
    ConstraintGeneration(Recorded(tol=1e-7, time_limit=20.0), time_limit=30.0).solve(circle, None, near)
    assert given[0].start_kind is StartKind.SAME_MOTION and given[0].tol == 1e-7
    assert 10.0 < given[0].seconds_left < 20.0
