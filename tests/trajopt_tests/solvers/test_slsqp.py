"""SLSQP's adapter keeps the contract of IPOPT's, and both find the same optima."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_nlps import (
    INF,
    equality_quadratic,
    hs071,
    infeasible,
    quadratic_with_rows,
    rosenbrock,
    unbounded,
)
from tiers import fast_first

from trajopt.base.errors import OptionError
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.kkt import kkt_residuals, least_squares_multipliers, linearised_violation
from trajopt.solvers.matrices import dense_jacobian
from trajopt.solvers.slsqp import _STATUSES, Slsqp
from trajopt.solvers.solver import Run, Status, WarmStart


def ranged_quadratic():
    """Projects (3, 3, 3, -1) on 1 <= y0 + y1 <= 2, 0 <= y2 - y3 <= 10, 0 <= y <= 2.5."""
    rows = [[1, 1, 0, 0], [0, 0, 1, -1]]
    return quadratic_with_rows(
        np.eye(4), [-3, -3, -3, 1], rows, [1, 0], [2, 10], lower=np.full(4, 0.0), upper=np.full(4, 2.5)
    )


def contradictory():
    """y0 + y1 = 3 with y <= 1."""
    return quadratic_with_rows(np.eye(2), [0.0, 0.0], [[1.0, 1.0]], [3.0], [3.0], upper=np.ones(2))


@pytest.mark.parametrize("problem", [hs071, rosenbrock, equality_quadratic, ranged_quadratic])
def test_slsqp_and_ipopt_agree_on_point_objective_and_multipliers(problem):
    nlp = problem()
    ours, theirs = Slsqp(tol=1e-12).solve(nlp), Ipopt().solve(nlp)
    assert ours.status is Status.CONVERGED
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-8, abs=1e-12)
    np.testing.assert_allclose(ours.y, theirs.y, atol=1e-6)
    for name in ("row_multipliers", "lower_multipliers", "upper_multipliers"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-6)
    assert kkt_residuals(nlp, ours).error < 1e-6


def test_the_ranged_quadratic_has_the_answer_worked_out_by_hand():
    result = Slsqp().solve(ranged_quadratic())
    np.testing.assert_allclose(result.y, [1.0, 1.0, 2.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(result.row_multipliers, [2.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(result.upper_multipliers, [0, 0, 0.5, 0], atol=1e-9)
    np.testing.assert_allclose(result.lower_multipliers, [0, 0, 0, 1.0], atol=1e-9)


def test_a_run_that_can_go_no_further_has_converged_when_the_kkt_conditions_hold():
    nlp = hs071()
    result = Slsqp(tol=1e-16).solve(nlp)
    assert "linesearch" in result.detail
    assert result.converged
    assert kkt_residuals(nlp, result).error < 1e-8


def test_every_exit_mode_of_slsqp_has_a_status():
    assert set(_STATUSES) == {-1, *range(10)}


@pytest.mark.parametrize(
    ("problem", "settings", "status"),
    [
        (unbounded(), {}, Status.DIVERGING),
        (rosenbrock(), {"max_iterations": 3}, Status.ITERATION_LIMIT),
        (hs071(), {"tol": 1e-16, "kkt_tol": 1e-14}, Status.ACCEPTABLE),
        (hs071(), {"tol": 1e-16, "kkt_tol": 1e-14, "acceptable_tol": 1e-14}, Status.STEP_TOO_SMALL),
        (
            quadratic_with_rows(np.eye(1), [0.0], [[1.0], [2.0]], [1.0, 5.0], [1.0, 5.0]),
            {},
            Status.NOT_ENOUGH_FREEDOM,
        ),
        (contradictory(), {}, Status.INCOMPATIBLE),
        (rosenbrock(), {"tol": 1e-2}, Status.STEP_TOO_SMALL),  # SLSQP itself says mode 0
    ],
    ids=lambda value: value.name if isinstance(value, Status) else "",
)
def test_not_converging_is_a_status_and_a_point(problem, settings, status):
    result = Slsqp(**settings).solve(problem)
    assert result.status is status
    assert not result.converged
    assert np.isfinite(result.y).all()
    assert result.objective == pytest.approx(problem.objective(result.y), rel=1e-12)


@fast_first("seed", range(6))
def test_contradictory_constraints_are_named_whatever_slsqp_says(seed):
    """From some of these starts SLSQP ends with mode 4, from others with 8 or 9."""
    start = np.random.default_rng(seed).normal(size=2)
    result = Slsqp().solve(replace(contradictory(), start=start))
    assert result.status is Status.INCOMPATIBLE
    assert result.infeasibility == pytest.approx(1.0)


@fast_first("seed", range(6), 3)
def test_a_disc_and_a_half_plane_that_do_not_meet_give_a_status_that_fits_the_point(seed):
    """Steps of SLSQP are as large as 1e4 here: where it ends, and what holds there, depends on rounding."""
    start = infeasible().start + 1e-13 * seed
    result = Slsqp().solve(replace(infeasible(), start=start))
    assert result.status in (Status.STEP_TOO_SMALL, Status.INCOMPATIBLE)
    assert result.infeasibility >= 1.37  # at (a, a): 2 a^2 - 1 = 3 - 2 a
    found = linearised_violation(infeasible(), result.y, 1e-6)
    assert (found.least > 1e-6) == (result.status is Status.INCOMPATIBLE)


def test_an_iteration_limit_on_the_way_is_no_contradiction():
    """At the start the linearised row and bounds contradict each other, at later iterates no longer."""
    nlp = quadratic_with_rows(np.eye(2), [0.0, 0.0], [[1.0, 0.0]], [1.0], [1.0])
    bent = replace(nlp, rows=lambda y: y[:1] ** 2, full_jacobian=lambda y: np.array([[2 * y[0], 0.0]]))
    bent = replace(bent, start=np.array([0.2, 0.0]), upper=np.array([2.0, 1.0]))
    assert linearised_violation(bent, bent.start, 1e-6).least > 0.1
    assert Slsqp(max_iterations=1).solve(bent).status is Status.ITERATION_LIMIT
    assert Slsqp().solve(bent).converged


@pytest.mark.parametrize(
    ("y", "here", "least"),
    [
        ([1.0, 1.0], 1.0, 1.0),  # at its bounds
        ([0.0, 1.0], 2.0, 1.0),
        ([-5.0, -5.0], 13.0, 1.0),
    ],
)
def test_the_linearised_violation_of_linear_constraints_is_known_by_hand(y, here, least):
    found = linearised_violation(contradictory(), np.array(y), 1e-6)
    assert (found.here, found.least) == pytest.approx((here, least))


def test_the_linearised_violation_of_rows_that_are_met_or_absent_is_zero():
    assert linearised_violation(hs071(), hs071().solution, 1e-6).least == pytest.approx(0.0, abs=1e-7)
    assert linearised_violation(rosenbrock(), np.zeros(2), 1e-6).least == 0.0


def test_ctrl_c_that_arrives_as_an_exception_in_the_callers_callback_is_an_interrupt_too():
    def callback(iteration):
        if iteration.iteration == 4:
            raise KeyboardInterrupt

    result = Slsqp().solve(rosenbrock(), run=Run(callback=callback))
    assert result.status is Status.INTERRUPTED
    assert result.iterations == 4


def test_the_callback_sees_every_iteration_from_zero():
    seen = []
    result = Slsqp().solve(hs071(), run=Run(callback=seen.append))
    assert [each.iteration for each in seen] == list(range(result.iterations + 1))
    np.testing.assert_array_equal(result.history[:, 0], np.arange(result.iterations + 1))


def test_a_start_replaces_the_point():
    nlp = rosenbrock()
    assert Slsqp().solve(nlp, start=WarmStart(nlp.solution)).iterations <= 1


def test_repeated_triplets_add_up():
    nlp = hs071()
    twice = _Doubled(nlp)
    np.testing.assert_allclose(dense_jacobian(twice, twice.jacobian(nlp.start)), nlp.full_jacobian(nlp.start))
    assert Slsqp().solve(twice).objective == pytest.approx(Slsqp().solve(nlp).objective, rel=1e-9)


class _Doubled:
    """A program whose Jacobian names each entry twice, with half the value."""

    def __init__(self, nlp):
        self._nlp = nlp

    def __getattr__(self, name):
        return getattr(self._nlp, name)

    @property
    def jacobian_rows(self):
        return np.tile(self._nlp.jacobian_rows, 2)

    @property
    def jacobian_columns(self):
        return np.tile(self._nlp.jacobian_columns, 2)

    def jacobian(self, y):
        return np.tile(self._nlp.jacobian(y) / 2, 2)


def test_least_squares_multipliers_of_an_optimum_are_its_multipliers():
    nlp = hs071()
    result = Ipopt().solve(nlp)
    found = least_squares_multipliers(nlp, result.y)
    np.testing.assert_allclose(found.row_multipliers, result.row_multipliers, atol=1e-7)
    np.testing.assert_allclose(found.lower_multipliers, result.lower_multipliers, atol=1e-7)


def test_least_squares_multipliers_have_the_right_signs_even_away_from_an_optimum():
    random = np.random.default_rng(3)
    for _ in range(20):
        nlp = replace(ranged_quadratic(), start=np.zeros(4))
        y = random.choice([0.0, 1.0, 2.5], size=4)
        found = least_squares_multipliers(nlp, y)
        residuals = kkt_residuals(nlp, found)
        assert residuals.sign == 0.0
        assert residuals.stationarity <= np.linalg.norm(nlp.gradient(y))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": -1e-8}, "tol = -1e-08: expected a finite number above 0"),
        ({"max_iterations": True}, "max_iterations = True: expected a whole number"),
        ({"time_limit": INF}, "time_limit = inf: expected a finite number above 0 or None"),
        ({"feasibility": 0}, "feasibility = 0: expected"),
        ({"kkt_tol": None}, "kkt_tol = None: expected"),
        ({"acceptable_tol": [1]}, r"acceptable_tol = \[1\]: expected"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_runs(settings, message):
    with pytest.raises(OptionError, match=message):
        Slsqp(**settings)
