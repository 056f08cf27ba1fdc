"""Damped Newton steps: minima from starts that are far away, whole programs after a coarse round."""

import numpy as np
import pytest
from small_nlps import INF, DenseNLP, failing, hs071, quadratic_with_rows, rosenbrock, slow, unconstrained

from trajopt import ConstraintGeneration, Ipopt, Status
from trajopt.base.errors import OptionError
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.newton.damped_newton import DampedIterates, DampedNewton
from trajopt.solvers.solver import Run, WarmStart

DAMPED = "damped Newton steps"


def steps(nlp, start=None, tol=1e-9, callback=None, time_limit=None):
    at = WarmStart(nlp.start if start is None else np.asarray(start, dtype=float))
    return DampedNewton(tol).solve(nlp, at, Run(callback=callback).within(time_limit))


def polygon(sides=60):
    """The point of a regular polygon nearest to (3, 1)."""
    angles = 2 * np.pi * np.arange(sides) / sides
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    return quadratic_with_rows(np.eye(2), np.array([-3.0, -1.0]), rows, np.full(sides, -INF), np.ones(sides))


def on_circle(angle):
    """2 (x^2 + y^2 - 1) - x on the unit circle, least at (1, 0), from another point of it (Maratos 1978)."""
    return DenseNLP(
        start=np.array([np.cos(angle), np.sin(angle)]),
        objective=lambda y: float(2.0 * (y @ y - 1.0) - y[0]),
        gradient=lambda y: 4.0 * y - np.array([1.0, 0.0]),
        rows=lambda y: np.array([y @ y]),
        full_jacobian=lambda y: 2.0 * y[None],
        full_hessian=lambda y, multipliers, factor: (4.0 * factor + 2.0 * multipliers[0]) * np.eye(2),
        row_lower=np.ones(1),
        row_upper=np.ones(1),
        lower=np.full(2, -INF),
        upper=np.full(2, INF),
    )


def test_the_minimum_of_a_curved_valley_is_found_from_its_other_side():
    found = steps(rosenbrock(), (-1.2, 1.0))
    assert found.converged and found.y == pytest.approx([1.0, 1.0], abs=1e-8)
    values = found.history[:, 1]
    assert np.all(np.diff(values) <= 1e-12)  # nothing is violated: the merit function is the objective


def test_rows_and_bounds_hold_at_the_optimum_with_multipliers_of_both():
    found = steps(hs071())
    assert found.converged and found.y == pytest.approx(hs071().solution, abs=1e-7)
    assert kkt_residuals(hs071(), found).error <= 1e-9


def test_two_of_sixty_limits_become_active_with_the_multipliers_of_all():
    found, whole = steps(polygon(), (0.0, 0.0)), Ipopt().solve(polygon())
    assert found.converged and found.y == pytest.approx(whole.y, abs=1e-7)
    assert found.row_multipliers == pytest.approx(whole.row_multipliers, abs=1e-6)


def test_a_saddle_is_left_along_its_negative_curvature():
    """x^2 - y^2 + y^4 / 2 from beside the saddle (0, 0): both minima, y = -1 and 1, have -1/2."""
    saddle = unconstrained(
        [1.0, 1e-4],
        lambda y: float(y[0] ** 2 - y[1] ** 2 + 0.5 * y[1] ** 4),
        lambda y: np.array([2.0 * y[0], -2.0 * y[1] + 2.0 * y[1] ** 3]),
        lambda y: np.diag([2.0, -2.0 + 6.0 * y[1] ** 2]),
    )
    found = steps(saddle)
    assert found.converged and found.objective == pytest.approx(-0.5, abs=1e-12)


@pytest.mark.parametrize("angle", [0.2, 0.8, 1.5, 2.5])
def test_steps_along_a_curved_constraint_are_corrected_and_not_shortened(angle):
    """A full step raises objective and violation, however near the optimum is: the effect of Maratos."""
    found = steps(on_circle(angle))
    assert found.converged and found.y == pytest.approx([1.0, 0.0], abs=1e-8)
    assert found.iterations <= 12


def test_a_step_to_where_nothing_is_finite_is_shortened():
    """y - log y has its minimum at 1; the step of Newton's method from 3 ends at -3."""
    barrier = unconstrained(
        [3.0],
        lambda y: float(y[0] - np.log(y[0])),
        lambda y: 1.0 - 1.0 / y,
        lambda y: np.diag(1.0 / y**2),
    )
    with np.errstate(invalid="ignore"):
        found = steps(barrier)
    assert found.converged and found.y == pytest.approx([1.0], abs=1e-8)


def test_a_time_limit_and_a_callback_end_the_steps_with_the_best_iterate(pass_time):
    late = steps(slow(0.05, pass_time), (-1.2, 1.0), time_limit=0.2)
    assert late.status is Status.TIME_LIMIT and np.isfinite(late.objective)

    def press(iteration):
        if iteration.iteration == 3:
            raise KeyboardInterrupt

    stopped = steps(rosenbrock(), (-1.2, 1.0), callback=press)
    assert stopped.status is Status.INTERRUPTED and len(stopped.history) == 4


def test_rounds_end_with_newton_steps_at_the_same_optimum():
    seen = []
    whole = Ipopt().solve(polygon())
    found = ConstraintGeneration(Ipopt(), newton=1e-3).solve(polygon(), run=Run(callback=seen.append))
    assert found.converged and DAMPED in found.detail
    assert found.y == pytest.approx(whole.y, abs=1e-7)
    assert found.row_multipliers == pytest.approx(whole.row_multipliers, abs=1e-6)
    assert [each.iteration for each in seen] == sorted(each.iteration for each in seen)
    assert len(found.history) == len(seen)


def test_rounds_go_on_where_newton_steps_find_no_optimum(monkeypatch):
    monkeypatch.setattr(DampedIterates, "most_steps", 0)
    found = ConstraintGeneration(Ipopt(), newton=1e-3).solve(polygon())
    assert found.converged and DAMPED not in found.detail
    assert found.y == pytest.approx(Ipopt().solve(polygon()).y, abs=1e-7)


def test_iterations_count_on_after_newton_steps_that_found_no_optimum(monkeypatch):
    monkeypatch.setattr(DampedIterates, "most_steps", 2)
    seen = []
    found = ConstraintGeneration(Ipopt(), coarse=0.0, newton=1e-3).solve(
        hs071(), run=Run(callback=seen.append)
    )
    assert found.converged and DAMPED not in found.detail
    numbers = [each.iteration for each in seen]
    assert numbers == list(range(found.iterations + 1)) == found.history[:, 0].tolist()


def test_newton_steps_need_second_derivatives():
    found = ConstraintGeneration(Ipopt(hessian="lbfgs"), newton=1e-3).solve(polygon())
    assert found.converged and DAMPED not in found.detail


def test_second_derivatives_that_are_not_finite_end_the_steps_without_an_optimum():
    found = steps(failing(rosenbrock(), "hessian", 1, lambda: np.nan), (-1.2, 1.0))
    assert found.status is Status.STEP_TOO_SMALL


def test_a_tolerance_for_newton_steps_is_positive():
    with pytest.raises(OptionError, match="newton"):
        ConstraintGeneration(Ipopt(), newton=0.0)
