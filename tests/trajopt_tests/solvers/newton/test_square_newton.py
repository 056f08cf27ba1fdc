"""Newton's method on as many equations as unknowns, x^2 + y^2 = 25 and x y = 12: (3, 4) and (4, 3)."""

import signal
from dataclasses import replace

import numpy as np
import pytest
from small_nlps import INF, DenseNLP, hs071, quadratic_with_rows

from trajopt import Ipopt, Status
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.newton.square_newton import SquareNewton
from trajopt.solvers.run import Fallback
from trajopt.solvers.solver import RowTolerances, Run, WarmStart

NEWTON = "Newton step"
TOLERANCES = RowTolerances(rows=1e-11, acceptable=1e-9, acceptable_iterations=3)
NEAR = np.array([2.8, 4.5])  # of (3, 4)


def square(
    start=NEAR, lower=(0.0, 0.0), upper=(INF, INF), difference=(-INF, INF), evaluated=lambda: None
) -> DenseNLP:
    """minimize x + 2 y on the two equations and difference[0] <= x - y <= difference[1].

    evaluated : called with every evaluation of the objective
    """

    def objective(y):
        evaluated()
        return y[0] + 2.0 * y[1]

    return DenseNLP(
        start=np.array(start, dtype=float),
        objective=objective,
        gradient=lambda y: np.array([1.0, 2.0]),
        rows=lambda y: np.array([y @ y, y[0] - y[1], y[0] * y[1]]),
        full_jacobian=lambda y: np.array([2.0 * y, [1.0, -1.0], y[::-1]]),
        full_hessian=lambda y, multipliers, factor: (
            2.0 * multipliers[0] * np.eye(2) + multipliers[2] * (1.0 - np.eye(2))
        ),
        row_lower=np.array([25.0, difference[0], 12.0]),
        row_upper=np.array([25.0, difference[1], 12.0]),
        lower=np.array(lower, dtype=float),
        upper=np.array(upper, dtype=float),
    )


def newton(solver, nlp, start=None, **run):
    """The result of Newton's steps, or of the solver."""
    run = Run(**{"row_tolerances": TOLERANCES, **run})
    return Fallback(SquareNewton(), solver).solve(nlp, start, run)


def solved(nlp, **options):
    return newton(Ipopt(**options), nlp)


def test_the_point_and_its_multipliers_meet_all_conditions_of_an_optimum():
    """J' m = -grad f at (3, 4) with J = [[6, 8], [4, 3]] is m = (-5/14, 2/7)."""
    found = solved(square())
    assert found.status is Status.CONVERGED and NEWTON in found.detail and found.iterations <= 6
    np.testing.assert_allclose(found.y, [3.0, 4.0], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found.row_multipliers, [-5.0 / 14.0, 0.0, 2.0 / 7.0], rtol=0.0, atol=1e-12)
    assert kkt_residuals(square(), found).error < 1e-11
    assert found.objective == pytest.approx(11.0, abs=1e-12)


@pytest.mark.parametrize(
    "nlp",
    [
        square(difference=(0.0, INF)),  # Newton's point (3, 4) violates another row
        square([3.6, 3.8], upper=(INF, 3.9)),  # and here a bound is in its way
        square([3.5, 3.5]),  # the equations depend on each other here
    ],
)
def test_what_newtons_steps_do_not_solve_is_the_solvers_from_the_start(nlp):
    found, own = solved(nlp), Ipopt().solve(nlp, run=Run(row_tolerances=TOLERANCES))
    assert NEWTON not in found.detail and found.status is own.status
    np.testing.assert_array_equal(found.y, own.y)


@pytest.mark.parametrize("apart", [1e-15, 1e-12])
def test_equations_that_depend_on_each_other_up_to_rounding_are_the_solvers(apart):
    """x + y = 1 twice: every point of the line meets both, and (0.3, 0.7), where it starts, is no optimum."""
    A = np.array([[1.0, 1.0], [1.0 + apart, 1.0]])
    line = quadratic_with_rows(np.eye(2), [0.0, 0.0], A, [1.0, 1.0], [1.0, 1.0])
    assert NEWTON not in solved(replace(line, start=np.array([0.3, 0.7]))).detail


def test_rounding_that_ends_the_steps_first_is_acceptable():
    """Rows of a size of 25 are known to 4e-15, less exactly than 1e-30."""
    exact = RowTolerances(rows=1e-30, acceptable=1e-9, acceptable_iterations=3)
    nlp = square([2.9, 4.1])
    found = newton(Ipopt(), nlp, row_tolerances=exact)
    assert found.status in (Status.ACCEPTABLE, Status.CONVERGED) and NEWTON in found.detail
    np.testing.assert_allclose(found.y, [3.0, 4.0], rtol=0.0, atol=1e-12)


def test_fewer_equations_than_unknowns_and_fixed_unknowns_are_the_solvers():
    assert NEWTON not in solved(hs071()).detail
    assert NEWTON not in solved(square(NEAR, lower=(3.0, 0.0), upper=(3.0, INF))).detail


def test_the_callback_sees_every_step_and_what_it_raises_leaves_solve():
    seen = []
    found = newton(Ipopt(), square(), callback=seen.append)
    assert [each.iteration for each in seen] == list(range(found.iterations + 1)) and len(
        found.history
    ) == len(seen)

    def callback(iteration):
        if iteration.iteration == 1:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        newton(Ipopt(), square(), callback=callback)


def test_what_the_solver_does_after_the_steps_is_counted_and_seen_after_them():
    nlp, seen, alone = square(difference=(0.0, INF)), [], []  # (3, 4), Newton's point, violates another row
    found = newton(Ipopt(), nlp, callback=seen.append)
    own = Ipopt().solve(nlp, run=Run(row_tolerances=TOLERANCES, callback=alone.append))
    steps = found.iterations - own.iterations
    assert steps >= 3
    assert [each.iteration for each in seen] == [*range(steps), *(steps + each.iteration for each in alone)]
    np.testing.assert_array_equal(found.history[steps:], own.history + np.array([steps, 0.0, 0.0]))
    seconds = [each.seconds for each in seen]
    assert seconds == sorted(seconds) and found.seconds >= seconds[-1]


def test_ctrl_c_and_the_time_limit_end_the_steps_with_the_best_point(pass_time):
    before = signal.getsignal(signal.SIGINT)
    found = newton(Ipopt(), square(), callback=lambda each: signal.raise_signal(signal.SIGINT))
    assert found.status is Status.INTERRUPTED and signal.getsignal(signal.SIGINT) is before
    found = solved(square(evaluated=lambda: pass_time(0.05)), time_limit=0.12)
    assert len(found.history) - 1 <= found.iterations <= len(found.history)
    # The start is evaluated twice before the steps, which takes 0.1 s: no second step begins.
    assert found.status is Status.TIME_LIMIT and found.seconds >= 0.12 and found.iterations <= 1


def test_no_more_steps_are_taken_than_the_solver_may_take():
    found = solved(square(), max_iterations=2)
    assert NEWTON not in found.detail and found.status is Status.ITERATION_LIMIT
    assert solved(square(), max_iterations=6).converged


def test_the_solver_that_goes_on_has_what_is_left_of_the_time(pass_time):
    given = []

    class Recorded(Ipopt):
        def solve(self, nlp, start=None, run=None):
            given.append(run.seconds_left)
            return super().solve(nlp, start, run)

    newton(Recorded(time_limit=300.0), square(difference=(0.0, INF), evaluated=lambda: pass_time(0.01)))
    assert 0.0 < given[0] <= 300.0 - 3 * 0.01  # at least three evaluations of the objective came before


def test_an_unknown_may_be_right_from_the_start():
    """x = 3 solves its own equation, so that no step moves it."""
    linear = quadratic_with_rows(np.eye(2), [0.0, 0.0], np.eye(2), [3.0, 4.0], [3.0, 4.0])
    found = solved(replace(linear, start=np.array([3.0, 0.0])))
    assert NEWTON in found.detail and found.iterations == 1
    np.testing.assert_array_equal(found.y, [3.0, 4.0])


def test_it_starts_where_it_is_told():
    found = newton(Ipopt(), square(), WarmStart(np.array([4.4, 2.9])))
    assert NEWTON in found.detail
    np.testing.assert_allclose(found.y, [4.0, 3.0], rtol=0.0, atol=1e-12)
