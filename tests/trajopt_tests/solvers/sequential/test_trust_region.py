"""Sequential quadratic programming: its elastic programs beside HiGHS; limits that bend away from steps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from small_nlps import DenseNLP, infeasible, violated
from tiers import every

import trajopt
from trajopt.base.errors import OptionError
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.sequential.elastic_program import ElasticProgram, _longest

N, ROWS, PENALTY = 8, 20, 3.0


def random_program(seed, H, spread):
    rng = np.random.default_rng(seed)
    A, middle = rng.standard_normal((ROWS, N)), rng.standard_normal(ROWS)
    A[rng.random(A.shape) < 0.5 * (seed % 2)] = 0.0
    A[-1] = 0.0  # a row that no step changes
    lower = np.where(rng.random(ROWS) < 0.3, -np.inf, middle - spread)
    upper = np.where(rng.random(ROWS) < 0.3, np.inf, middle + spread)
    least, most = -rng.uniform(0.0, 1.0, N), rng.uniform(0.5, 1.0, N)
    least[0] = 0.0  # a box whose side d = 0 lies on
    return ElasticProgram(H, rng.standard_normal(N), A, lower, upper, least, most, PENALTY)


def misses(program, d):
    rows = program.A @ d
    return float(np.maximum(np.maximum(program.lower - rows, rows - program.upper), 0.0).sum())


def linear_optimum(program):
    """min g' d + penalty sum e, A d + e >= lower, A d - e <= upper, by HiGHS."""
    low, high = np.isfinite(program.lower), np.isfinite(program.upper)
    own = np.eye(ROWS)
    rows = np.vstack([np.hstack([-program.A, -own])[low], np.hstack([program.A, -own])[high]])
    limits = np.concatenate([-program.lower[low], program.upper[high]])
    box = [*zip(program.least, program.most, strict=True), *[(0.0, None)] * ROWS]
    cost = np.concatenate([program.g, np.full(ROWS, PENALTY)])
    return linprog(cost, A_ub=rows, b_ub=limits, bounds=box, method="highs").fun


@every("seed", range(5))
@every("spread", [0.1, 1.0, 5.0])  # limits that contradict each other, that bind, that do not
def test_linear_programs_have_the_optimum_of_highs(seed, spread):
    program = random_program(seed, np.zeros((N, N)), spread)
    step = program.solved(1e-10)
    found = program.g @ step.d + PENALTY * misses(program, step.d)
    best = linear_optimum(program)
    assert best - 1e-9 <= found <= best + 2e-2 * max(1.0, abs(best))  # a hundredth of what is gained
    assert np.all(step.d >= program.least) and np.all(step.d <= program.most)
    assert np.abs(step.multipliers).max() <= PENALTY


@pytest.mark.parametrize("seed", range(5))
def test_multipliers_meet_the_conditions_of_an_optimum(seed):
    """H d + g + A' y - least + most = 0, the signs of y at each side, and none where there is room."""
    half = np.random.default_rng(100 + seed).standard_normal((N, N))
    program = random_program(seed, half @ half.T, 0.5)
    step = program.solved(1e-10)
    gained = -(program.g @ step.d + 0.5 * step.d @ program.H @ step.d)
    gained += PENALTY * (misses(program, np.zeros(N)) - misses(program, step.d))
    left = program.H @ step.d + program.g + program.A.T @ step.multipliers - step.of_least + step.of_most
    assert np.abs(left).max() <= 0.02 * gained * np.abs(program.g).max()
    rows, y = program.A @ step.d, step.multipliers
    room = np.where(y > 0.0, program.upper - rows, rows - program.lower)
    room = np.where(np.isfinite(room), room, 0.0)
    inside = room > 0.0  # elsewhere the limit is missed, and the multiplier tends to the penalty
    assert float((np.abs(y) * room)[inside].sum()) <= 0.02 * gained
    assert float(((PENALTY - np.abs(y)) * -room)[~inside].sum()) <= 0.02 * gained


def test_the_longest_step_leaves_the_share_of_the_value_that_falls_fastest():
    assert _longest(np.array([1.0, 2.0]), np.array([-2.0, -1.0]), 0.99) == pytest.approx(0.495)
    assert _longest(np.array([1.0, 2.0]), np.array([5.0, -1.0]), 0.99) == 1.0
    assert _longest(np.empty(0), np.empty(0), 0.99) == 1.0
    assert np.isnan(_longest(np.ones(3), np.array([-1.0, np.nan, -1.0]), 0.99))


def nlp(objective, gradient, hessian, rows, jacobian, row_hessian, limits, start, **bounds):
    """A program of two unknowns and one row."""
    lower, upper = bounds.get("lower", [-np.inf] * 2), bounds.get("upper", [np.inf] * 2)
    return DenseNLP(
        lower=np.array(lower, float),
        upper=np.array(upper, float),
        row_lower=np.array(limits[:1], float),
        row_upper=np.array(limits[1:], float),
        start=np.array(start, float),
        objective=objective,
        gradient=gradient,
        rows=rows,
        full_jacobian=jacobian,
        full_hessian=lambda y, z, factor: factor * hessian(y) + z[0] * row_hessian(y),
    )


def on_the_circle(angle, **bounds):
    """Maratos: min 2 (x^2 + y^2 - 1) - x on the unit circle, whose optimum is (1, 0) with multiplier -3/2."""
    return nlp(
        lambda y: float(2.0 * (y @ y - 1.0) - y[0]),
        lambda y: 4.0 * y - np.array([1.0, 0.0]),
        lambda y: 4.0 * np.eye(2),
        lambda y: np.array([y @ y]),
        lambda y: 2.0 * y[None],
        lambda y: 2.0 * np.eye(2),
        (1.0, 1.0),
        (np.cos(angle), np.sin(angle)),
        **bounds,
    )


def test_corrected_rows_let_full_steps_through_on_a_circle():
    """Maratos (1978): every full step along the tangent makes both the objective and the violation larger."""
    found = trajopt.TrustRegionSqp(tol=1e-8).solve(on_the_circle(0.8))
    assert found.converged and found.iterations <= 8
    np.testing.assert_allclose(found.y, [1.0, 0.0], atol=1e-7)
    assert found.row_multipliers == pytest.approx([-1.5], abs=1e-6)


def test_errors_fall_with_the_square():
    sizes = [np.linalg.norm(np.subtract(trajopt.TrustRegionSqp(max_iterations=k).solve(
        on_the_circle(0.5)).y, [1.0, 0.0])) for k in range(2, 5)]  # fmt: skip
    assert sizes[2] < 10.0 * sizes[1] ** 2 and sizes[1] < 10.0 * sizes[0] ** 2


def test_fixed_unknowns_stay_and_have_multipliers():
    program = on_the_circle(0.8, lower=[-np.inf, 0.6], upper=[np.inf, 0.6])
    found = trajopt.TrustRegionSqp(tol=1e-8).solve(program)
    assert found.converged
    np.testing.assert_allclose(found.y, [0.8, 0.6], atol=1e-8)
    assert kkt_residuals(program, found).error < 1e-8
    assert found.lower_multipliers[1] - found.upper_multipliers[1] != 0.0


def test_rows_of_a_program_in_which_all_unknowns_are_fixed_are_met_or_not():
    for row, converged in ((1.0, True), (2.0, False)):
        program = replace(
            on_the_circle(0.0, lower=[1.0, 0.0], upper=[1.0, 0.0]),
            row_lower=np.array([row]),
            row_upper=np.array([row]),
        )
        found = trajopt.TrustRegionSqp().solve(program)
        assert found.converged is converged
        assert found.status is trajopt.Status.CONVERGED or found.status is trajopt.Status.INCOMPATIBLE


CANNOT = {
    "a disc and a half plane": (infeasible(), np.sqrt([0.5, 0.5]), 3.0 - np.sqrt(2.0)),
    "y^2 + 1 <= 0": (
        violated(lambda y: y**2 + 1.0, lambda y: 2.0 * y, lambda y, m: 2.0 * m[0], (-np.inf, 0.0), [3.0]),
        [0.0],
        1.0,
    ),
    "two discs": (
        violated(
            lambda y: [y @ y, (y - 3.0) @ (y - 3.0)],
            lambda y: [2.0 * y, 2.0 * (y - 3.0)],
            lambda y, m: 2.0 * m.sum(),
            ([-np.inf, -np.inf], [1.0, 1.0]),
            [2.0, -1.0],
        ),
        [1.5, 1.5],
        7.0,
    ),
    "2 cosh y = 1.9": (
        violated(
            lambda y: 2.0 * np.cosh(y),
            lambda y: 2.0 * np.sinh(y),
            lambda y, m: 2.0 * m[0] * np.cosh(y[0]),
            (1.9, 1.9),
            [2.0],
        ),
        [0.0],
        0.1,
    ),
}  # each with the point where the sum of violations is least, and that sum


@pytest.mark.long
@pytest.mark.parametrize("name", CANNOT)
def test_where_violations_are_least_a_program_is_infeasible(name):
    program, point, least = CANNOT[name]
    seen: list[float] = []

    def sum_of_violations(y):
        rows = program.rows(y)
        misses = np.maximum(np.maximum(program.row_lower - rows, rows - program.row_upper), 0.0)
        seen.append(float(misses.sum()))
        return rows

    found = trajopt.TrustRegionSqp().solve(replace(program, rows=sum_of_violations))
    assert found.status is trajopt.Status.INFEASIBLE and not found.converged
    assert trajopt.Ipopt().solve(program).status is trajopt.Status.INFEASIBLE
    assert sum_of_violations(np.asarray(point)).size and seen[-1] == pytest.approx(least, rel=1e-12)
    assert min(seen) >= least - 1e-9 and min(seen) <= least + 1e-6


@pytest.mark.parametrize("slope", [1e-3, 1e-5, 1e-7])
def test_rows_that_are_flat_are_met_all_the_same(slope):
    program = violated(
        lambda y: slope * y**3,
        lambda y: 3.0 * slope * y**2,
        lambda y, m: 6.0 * slope * m[0] * y[0],
        (125.0 * slope, np.inf),
        [3.0],
    )
    found = trajopt.TrustRegionSqp().solve(program)  # whose multiplier is 1 / (75 slope)
    assert found.converged and found.y == pytest.approx([5.0], abs=1e-5)


def test_a_radius_is_positive():
    with pytest.raises(OptionError, match="radius"):
        trajopt.TrustRegionSqp(radius=0.0)
