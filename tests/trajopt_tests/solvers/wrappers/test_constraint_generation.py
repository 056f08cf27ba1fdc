"""Rows in rounds: the same optimum and multipliers as with all rows, from a few of them."""

from dataclasses import replace

import numpy as np
import pytest
from hand_written import TwoLinkArm
from small_nlps import hs071, infeasible, quadratic_with_rows

import trajopt
from problems import catalogue
from trajopt import ConstraintGeneration, Ipopt, Slsqp, Status
from trajopt.base.errors import OptionError
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.solver import Run


def polygon(sides=60):
    """The point of a regular polygon nearest to (3, 1): two of its sides are active, or one."""
    angles = 2 * np.pi * np.arange(sides) / sides
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    return quadratic_with_rows(
        np.eye(2), np.array([-3.0, -1.0]), rows, np.full(sides, -np.inf), np.ones(sides)
    )


@pytest.mark.parametrize("solver", [Ipopt(), Slsqp()], ids=["ipopt", "slsqp"])
def test_the_optimum_and_all_multipliers_are_those_of_the_whole_program(solver):
    whole, rounds = solver.solve(polygon()), ConstraintGeneration(solver).solve(polygon())
    assert rounds.converged and rounds.y == pytest.approx(whole.y, abs=1e-8)
    assert rounds.row_multipliers == pytest.approx(whole.row_multipliers, abs=1e-6)
    assert kkt_residuals(polygon(), rounds).error < 1e-7


def test_most_rows_never_enter():
    detail = ConstraintGeneration(Ipopt()).solve(polygon()).detail
    entered = int(detail.rpartition("; ")[2].split(" of 60 rows")[0])
    assert 1 <= entered <= 30


@pytest.mark.long
def test_an_answer_far_beyond_what_was_left_out_is_no_start():
    # Minimum time without limits is none: its answer exceeds nearly all of them, some a thousandfold. From
    # there 221 iterations led to the optimum; from the start all rows take eleven.
    nlp = trajopt.transcribe(catalogue.build("urdf_arm", {}))
    whole, rounds = Ipopt().solve(nlp), ConstraintGeneration(Ipopt()).solve(nlp)
    assert rounds.converged and rounds.objective == pytest.approx(whole.objective, rel=1e-8)
    assert rounds.detail.startswith("960 of 960 rows in 2 rounds")
    assert rounds.iterations < 2 * whole.iterations


def test_what_is_infeasible_from_the_answer_of_a_round_is_tried_from_the_start():
    # Two gates in one row: |y| >= 1 by y^2 >= 1, and y >= -1/2. Least (y + 1)^2 without the second row is
    # y = -1, where the other one repels; from the start y = 2 all rows lead to y = 1.
    gates = replace(
        quadratic_with_rows(
            np.eye(1), np.ones(1), np.ones((2, 1)), np.array([1.0, -0.5]), np.full(2, np.inf)
        ),
        start=np.array([2.0]),
        rows=lambda y: np.array([y[0] ** 2, y[0]]),
        full_jacobian=lambda y: np.array([[2.0 * y[0]], [1.0]]),
        full_hessian=lambda y, m, factor: np.array([[factor + 2.0 * m[0]]]),
    )
    answer = ConstraintGeneration(Ipopt()).solve(gates)
    assert answer.converged and answer.y == pytest.approx(1.0, abs=1e-6)


def test_equalities_and_nonlinear_rows_are_kept_from_the_start():
    result = ConstraintGeneration(Ipopt()).solve(hs071())
    assert result.converged and result.y == pytest.approx(hs071().solution, abs=1e-6)


def test_without_its_rows_the_program_is_unbounded_and_with_them_infeasible():
    assert ConstraintGeneration(Ipopt()).solve(infeasible()).status is Status.INFEASIBLE


def test_iterations_count_on_over_the_rounds():
    seen = []
    result = ConstraintGeneration(Ipopt()).solve(polygon(), run=Run(callback=seen.append))
    numbers = [iteration.iteration for iteration in seen]
    assert numbers == list(range(result.iterations + 1)) == result.history[:, 0].tolist()
    assert np.all(np.diff([iteration.seconds for iteration in seen]) >= 0)


def test_a_warm_start_with_multipliers_of_all_rows_is_taken():
    first = Ipopt().solve(polygon())
    again = ConstraintGeneration(Ipopt()).solve(polygon(), first.warm_start)
    assert again.converged and again.y == pytest.approx(first.y, abs=1e-8)


def test_the_time_limit_holds_for_all_rounds_together():
    assert ConstraintGeneration(Ipopt(), time_limit=1e-9).solve(polygon()).status is Status.TIME_LIMIT


@pytest.mark.filterwarnings("ignore:invalid value encountered in sqrt")
def test_a_row_that_was_left_out_may_not_hide_that_it_is_nan():
    # (y + 1)^2 least where sqrt(y - 1) >= 1/2; without the row the optimum is -1, where the root is NaN.
    wall = replace(
        quadratic_with_rows(np.eye(1), np.ones(1), np.ones((1, 1)), np.array([0.5]), np.array([np.inf])),
        start=np.array([4.0]),
        rows=lambda y: np.sqrt(y - 1.0),
        full_jacobian=lambda y: 0.5 / np.sqrt(y - 1.0)[:, None],
        full_hessian=lambda y, m, factor: factor * np.eye(1) - 0.25 * m * (y - 1.0)[:, None] ** -1.5,
    )
    result = ConstraintGeneration(Ipopt()).solve(wall)
    assert result.converged and result.y == pytest.approx(1.25, rel=1e-6)


@pytest.mark.long
def test_a_problem_recommends_its_solver_and_another_one_can_be_given():
    problem = trajopt.Problem(TwoLinkArm(), trajopt.Trajectory.uniform(8))
    problem.start_at(q=[0, -2], v=0)
    problem.end_at(q=[1, -1], v=0)
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.tau, -10, 10)
    plain = trajopt.solve(problem, refine=None)
    problem.recommend(ConstraintGeneration(Ipopt()))
    recommended = trajopt.solve(problem, refine=None)
    assert "rounds" in recommended.detail and "rounds" not in trajopt.solve(problem, Ipopt()).detail
    assert recommended.duration == pytest.approx(plain.duration, rel=1e-7)


def test_what_cannot_work_is_refused():
    with pytest.raises(OptionError, match="works through a solver with a tol, not 3"):
        ConstraintGeneration(3)
    with pytest.raises(OptionError, match="margin = -1: expected"):
        ConstraintGeneration(Ipopt(), margin=-1)
    with pytest.raises(OptionError, match="the recommended solver is 'ipopt'"):
        trajopt.Problem(TwoLinkArm()).recommend("ipopt")


def test_a_solve_without_hope_ends_where_its_rows_are_violated_least():
    seen = []
    contradiction = quadratic_with_rows(
        np.eye(2), np.zeros(2), np.eye(2)[[0, 0]], [4.0, -np.inf], [np.inf, 1.0], start=np.array([2.0, 0.0])
    )
    result = ConstraintGeneration(Ipopt(), patience=3).solve(contradiction, run=Run(callback=seen.append))
    assert result.status is Status.INFEASIBLE and "none of 3 iterates came near its rows" in result.detail
    assert result.iterations == 3 == seen[-1].iteration and len(result.history) == 4
    assert result.y[0] == pytest.approx(2.5, abs=1e-6)  # between y_0 >= 4 and y_0 <= 1
    assert result.infeasibility == pytest.approx(1.5, abs=1e-6)


def test_a_solve_that_was_only_slow_goes_on_where_the_rows_hold():
    hard = replace(hs071(), start=np.array([5.0, 5.0, 5.0, 5.0]))  # far from y'y = 40
    result = ConstraintGeneration(Ipopt(), patience=1).solve(hard)
    assert result.converged and result.y == pytest.approx(hs071().solution, abs=1e-6)
    assert "none of 1" not in result.detail and result.iterations > 1


def test_patience_is_a_whole_number():
    with pytest.raises(OptionError, match="patience = 0: expected a whole number, 1 or more"):
        ConstraintGeneration(Ipopt(), patience=0)
