"""Newton's method on an active set: steps from the optimum of other values, else the solver."""

import itertools
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from small_nlps import INF, failing, hs071, quadratic_with_rows, rosenbrock, slow, unconstrained

from trajopt import InteriorPoint, Ipopt, Status
from trajopt.solvers import monitor
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.newton import newton as active_set_newton
from trajopt.solvers.newton.newton import MOST_STEPS, ActiveSetNewton, RealTimeIteration
from trajopt.solvers.run import Fallback
from trajopt.solvers.solver import Run, WarmStart

NO_STEPS = WarmStart(rosenbrock().start, np.zeros(0), np.zeros(2), np.zeros(2))
NEWTON = "Newton steps"


def newton(solver=None):
    """Newton's method to the tolerance of the solver that goes on where it fails."""
    solver = solver or Ipopt()
    return Fallback(ActiveSetNewton(solver.tol), solver)


def test_from_the_optimum_of_other_limits_a_few_steps_lead_to_the_new_one():
    start = Ipopt().solve(hs071()).warm_start
    moved = replace(hs071(), row_lower=np.array([25.5, 41.0]), row_upper=np.array([INF, 41.0]))
    cold, warm = Ipopt().solve(moved), newton(Ipopt()).solve(moved, start)
    assert NEWTON in warm.detail and warm.converged and warm.iterations <= 5
    np.testing.assert_allclose(warm.y, cold.y, atol=1e-7)
    assert kkt_residuals(moved, warm).error <= Ipopt().tol
    assert warm.objective == moved.objective(warm.y) and warm.infeasibility <= Ipopt().tol


def test_a_homotopy_of_many_changes_is_left_to_a_solver_from_the_same_multipliers():
    """Targets from -0.01 to 10 in the unit box: all limits are left at a thousandth of the way."""
    n = 30
    targets = 10.0 + np.arange(n) / n
    box = {"lower": np.zeros(n), "upper": np.ones(n)}
    nlp = quadratic_with_rows(np.eye(n), -targets, np.ones((1, n)), [-INF], [2.0 * n], **box)
    start = WarmStart(np.zeros(n), np.zeros(1), 0.01 + 1e-4 * np.arange(n), np.zeros(n))
    all_of_them = ActiveSetNewton(1e-9).solve(nlp, start)
    assert all_of_them.detail.endswith(f" {2 * n} changes of the active set")
    few = ActiveSetNewton(1e-9, most_changes=20)
    assert few.solve(nlp, start).status is Status.STEP_TOO_SMALL
    after = Fallback(few, InteriorPoint().alone).solve(nlp, start)
    assert after.converged and NEWTON not in after.detail
    for found in (all_of_them, after):
        np.testing.assert_allclose(found.y, np.ones(n), atol=1e-7)


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_valley_flatter_than_the_first_shift_is_crossed_in_a_few_steps(size):
    """Curvatures of 1 and 1e-7: with a shift of 1e-6 all steps leave ten elevenths of the error."""
    H = size * np.diag([1.0, 1e-7])
    nlp = quadratic_with_rows(H, [0.0, -1e-7 * size], np.eye(2), [-2.0] * 2, [2.0] * 2)
    start = WarmStart(np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2))
    found = ActiveSetNewton(1e-12 * size).solve(nlp, start)
    assert found.converged and found.iterations <= 4
    np.testing.assert_allclose(found.y, [0.0, 1.0], atol=1e-4)


def test_near_the_optimum_steps_solve_no_quadratic_program(monkeypatch):
    """Once a step with known matrices is enough for the tolerance, no others are made."""
    programs, solved = [], active_set_newton.minimum_by_homotopy
    monkeypatch.setattr(active_set_newton, "minimum_by_homotopy", lambda *a: programs.append(a) or solved(*a))
    start = Ipopt().solve(hs071()).warm_start
    moved = replace(hs071(), row_lower=np.array([25.5, 41.0]), row_upper=np.array([INF, 41.0]))
    found = newton(Ipopt(tol=1e-10)).solve(moved, start)
    assert NEWTON in found.detail and 0 < len(programs) < found.iterations
    assert kkt_residuals(moved, found).error <= 1e-10


def test_the_active_set_changes_on_the_way():
    """The nearest point of a square to a target that goes from beyond one side to beyond another."""

    def nearest(x, y):
        return quadratic_with_rows(np.eye(2), [-x, -y], np.eye(2), [-1.0, -1.0], [1.0, 1.0])

    start = Ipopt().solve(nearest(2.0, 0.0)).warm_start
    found = newton().solve(nearest(0.5, -3.0), start)
    assert NEWTON in found.detail and "2 changes" in found.detail
    np.testing.assert_allclose(found.y, [0.5, -1.0], atol=1e-9)
    np.testing.assert_allclose(found.row_multipliers, [0.0, -2.0], atol=1e-9)


@pytest.mark.parametrize(("curvature", "left"), [(-2.0, True), (-4e-8, True), (-1e-8, False), (0.0, False)])
def test_a_saddle_is_left_to_the_solver_but_for_the_flattest(curvature, left):
    """f = x^2 + curvature y^2 / 2 on a square, from its stationary point: the bound is -2e-8."""
    nlp = quadratic_with_rows(np.diag([2.0, curvature]), np.zeros(2), np.eye(2), [-1.0, -1.0], [1.0, 1.0])
    start = WarmStart(np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2))
    assert (NEWTON not in newton().solve(nlp, start).detail) is left


def test_the_callback_sees_every_step():
    seen = []
    found = newton().solve(rosenbrock(), NO_STEPS, Run(callback=seen.append))
    assert NEWTON in found.detail
    assert [each.iteration for each in seen] == list(range(found.iterations + 1))
    assert len(found.history) == len(seen)


def test_the_time_limit_ends_the_steps_with_the_best_point(pass_time):
    solver = newton(Ipopt(time_limit=0.12))
    found = solver.solve(slow(0.05, pass_time), NO_STEPS)
    assert found.status is Status.TIME_LIMIT and 0.12 <= found.seconds < 0.5
    assert found.objective <= rosenbrock().objective(rosenbrock().start)


def test_the_time_limit_ends_a_step_between_two_changes_of_its_active_set(monkeypatch):
    """The nearest corner of a cube of 50 unknowns: 50 changes in a step, by a clock that ticks when read."""
    far = -np.linspace(2.0, 9.0, 50)
    corner = quadratic_with_rows(np.eye(50), far, np.zeros((0, 50)), [], [], upper=np.ones(50))
    start = WarmStart(np.zeros(50), np.zeros(0), np.zeros(50), np.zeros(50))
    assert "2 Newton steps, 50 changes" in newton().solve(corner, start).detail
    ticks = itertools.count()
    monkeypatch.setattr(monitor, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    found = newton(Ipopt(time_limit=40.0)).solve(corner, start)
    assert found.status is Status.TIME_LIMIT and found.seconds < 50.0
    assert found.objective < 0.0 and found.infeasibility < 1e-12


def test_the_solver_that_goes_on_has_what_is_left_of_the_time():
    """No step leaves the top of f = -y^2; a limit of 300 s holds for the steps and the solver together."""
    given = []

    class Recorded(Ipopt):
        def solve(self, nlp, start=None, run=None):
            given.append(run.seconds_left)
            return super().solve(nlp, start, run)

    hill = unconstrained(
        [0.0],
        lambda y: float(-y @ y),
        lambda y: -2.0 * y,
        lambda y: np.full((1, 1), -2.0),
        lower=np.array([-1.0]),
    )
    start = WarmStart(np.zeros(1), np.zeros(0), np.zeros(1), np.zeros(1))
    newton(Recorded(time_limit=300.0)).solve(hill, start)
    assert 0.0 < given[0] < 300.0


def test_ctrl_c_between_steps_is_a_status_and_the_best_point():
    before = signal.getsignal(signal.SIGINT)

    def press():
        signal.raise_signal(signal.SIGINT)
        return 1.0

    nlp = failing(rosenbrock(), "gradient", 4, press, times=1)
    found = newton().solve(nlp, NO_STEPS)
    assert found.status is Status.INTERRUPTED
    assert found.objective <= rosenbrock().objective(rosenbrock().start)
    assert signal.getsignal(signal.SIGINT) is before


def test_after_ctrl_c_no_solver_goes_on_where_the_steps_fail():
    """The key is pressed during the only step, for which y = 0 and y = 1 contradict each other."""

    def press():
        signal.raise_signal(signal.SIGINT)
        return 1.0

    both = quadratic_with_rows(np.eye(1), np.zeros(1), np.ones((2, 1)), [0.0, 1.0], [0.0, 1.0])
    start = WarmStart(np.zeros(1), np.zeros(2), np.zeros(1), np.zeros(1))
    found = newton().solve(failing(both, "hessian", 0, press, times=1), start)
    assert found.status is Status.INTERRUPTED and found.iterations == 0


def test_what_the_callback_raises_leaves_solve_unchanged():
    def callback(iteration):
        if iteration.iteration == 1:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        newton().solve(rosenbrock(), NO_STEPS, Run(callback=callback))


def test_without_multipliers_the_solver_solves():
    found = newton().solve(hs071(), WarmStart(hs071().start))
    assert found.converged and NEWTON not in found.detail and found.iterations < MOST_STEPS


def test_a_step_of_real_time_iteration_leads_to_no_maximum():
    """Between two valleys, at 1 and -1, Newton's step from 0.4 goes to the hill at 0 and beyond it."""
    valleys = unconstrained(
        [0.4], lambda y: (y[0] ** 2 - 1.0) ** 2 / 4.0, lambda y: y**3 - y, lambda y: np.diag(3.0 * y**2 - 1.0)
    )
    start = WarmStart(valleys.start, np.zeros(0), np.zeros(1), np.zeros(1))
    found = RealTimeIteration(1e-9).solve(valleys, start)
    assert found.status is Status.ITERATION_LIMIT and found.iterations == 1
    assert found.y[0] > 0.4 and found.objective < valleys.objective(valleys.start)
