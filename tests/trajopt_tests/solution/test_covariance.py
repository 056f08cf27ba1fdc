"""Covariances of fitted parameters: exact for linear models, of first order by Monte Carlo, and refusals."""

import numpy as np
import pytest

import trajopt
from trajopt.base.errors import EvaluationError, OptionError
from trajopt.parametric.covariance import _semidefinite

TIMES = np.linspace(0.1, 2.0, 12)
NOISE = np.array([0.03, -0.01, -0.05, 0.04, 0.02, -0.02, 0.01, -0.04, 0.05, -0.03, 0.0, 0.02])


def fit(rates, values, guesses, lower=None):
    """x' = f(x, p) from a free x(0), fitted to values (k,) at the times."""
    problem = trajopt.Problem(
        trajopt.system(("x",), (), rates), trajopt.Trajectory.collocation(6, 4, duration=2.0)
    )
    for name, guess in guesses.items():
        problem.parameter(name, lower=(lower or {}).get(name, -np.inf), guess=guess)
    problem.data("measured", TIMES, values)
    problem.minimize(trajopt.term(squared_residual), over=TIMES, name="misfit")
    problem.guess(x=[[1.0], [1.0]])
    return problem


def squared_residual(node):
    return (node.x - node.data("measured")) ** 2


def line(node):
    return [node.parameter("slope") + 2.0 * node.parameter("bend") * node.t]


def decay(node):
    return [-node.parameter("k") * node.x]


@pytest.mark.parametrize("unit", [1.0, 1e-5])
def test_a_linear_model_has_the_covariance_of_a_regression(unit):
    """x = x(0) + slope t + bend t^2 is linear in all three; parameters may be as small as rates are."""

    def scaled(node):
        return [node.parameter("slope") / unit + 2.0 * node.parameter("bend") * node.t]

    solution = trajopt.solve(fit(scaled, 1.0 - TIMES + NOISE, {"slope": 0.0, "bend": 0.0}))
    X = np.vander(TIMES, 3, increasing=True)
    best, (squares,), *_ = np.linalg.lstsq(X, 1.0 - TIMES + NOISE, rcond=None)
    expected = squares / (TIMES.size - 3) * np.linalg.inv(X.T @ X)[1:, 1:]
    found = solution.covariance(measurements=TIMES.size)
    factors = np.array([unit, 1.0])
    assert found.labels == ("slope", "bend") and found.freedom == TIMES.size - 3
    assert np.allclose(found.values, best[1:] * factors, rtol=1e-6)
    assert np.allclose(found.matrix, expected * np.outer(factors, factors), rtol=1e-6)
    known = solution.covariance(variance=found.variance)
    assert known.freedom is None and np.allclose(known.matrix, found.matrix, rtol=1e-12)


def test_intervals_are_those_of_student_and_of_the_normal_distribution():
    solution = trajopt.solve(fit(line, 1.0 - TIMES + NOISE, {"slope": 0.0, "bend": 0.0}))
    found, known = solution.covariance(measurements=12), solution.covariance(variance=1.0)
    half = 0.5 * np.diff(found.intervals(0.95), axis=1)[:, 0]
    assert np.allclose(half, 2.262157 * found.deviations, rtol=1e-6)  # nine degrees of freedom
    assert np.allclose(known.intervals(0.95)[:, 1] - known.values, 1.959964 * known.deviations, rtol=1e-6)
    assert np.allclose(np.diag(found.correlation), 1.0) and found.correlation[0, 1] < -0.9
    assert "slope" in str(found) and "95 % interval" in str(found)


def test_a_nonlinear_fit_without_a_residual_has_the_covariance_of_its_linearization():
    """x = x(0) exp(-k t), so J = [exp(-k t), -t x] by x(0) and k, and C = s^2 inv(J' J)."""
    k, first = 0.9, 1.3
    true = first * np.exp(-k * TIMES)
    J = np.stack([true / first, -TIMES * true], axis=1)
    found = trajopt.solve(fit(decay, true, {"k": 0.5})).covariance(variance=0.02**2)
    assert found.values == pytest.approx([k], rel=1e-5)
    assert found.matrix == pytest.approx(0.02**2 * np.linalg.inv(J.T @ J)[1:, 1:], rel=1e-4)


@pytest.mark.thorough("the covariance of its linearization stands for it, and the linear model's intervals")
def test_a_nonlinear_fit_has_the_scatter_of_repeated_measurements():
    """k and x(0) of a decay, fitted to 400 sets of samples with normal errors of 0.02."""
    true, rng = 1.3 * np.exp(-0.9 * TIMES), np.random.default_rng(0)
    program = trajopt.compile(fit(decay, true, {"k": 0.5}))
    exact = program.solve(measured=true[:, None])
    sets = true + 0.02 * rng.standard_normal((400, TIMES.size))
    solutions = [program.solve(measured=each[:, None], start=exact) for each in sets]
    fitted = np.array([each.parameters["k"][0] for each in solutions])
    deviation = exact.covariance(variance=0.02**2).deviations[0]
    assert np.std(fitted) == pytest.approx(deviation, rel=3.0 / np.sqrt(2 * 400))
    within = [
        np.ptp(np.sign(each.covariance(measurements=TIMES.size).intervals()[0] - 0.9)) > 0
        for each in solutions[:200]
    ]
    assert np.mean(within) == pytest.approx(0.95, abs=3.0 * np.sqrt(0.95 * 0.05 / 200))


def test_a_parameter_at_a_bound_has_no_variance():
    problem = fit(line, 1.0 - TIMES + NOISE, {"slope": 0.0, "bend": 0.3}, lower={"bend": 0.2})
    found = trajopt.solve(problem).covariance(measurements=12)
    assert found.deviations[1] == pytest.approx(0.0, abs=1e-9) and found.freedom == 10
    assert found.deviations[0] > 1e-3


def test_a_variance_that_rounding_made_negative_is_zero():
    inverse = np.array([[2.0, 1e-14], [1e-14, -1e-14]])
    np.testing.assert_array_equal(_semidefinite(inverse, np.ones(2)), [[2.0, 0.0], [0.0, 0.0]])
    with pytest.raises(EvaluationError, match="the fit is no minimum"):
        _semidefinite(inverse - 1e-6, np.ones(2))


@pytest.mark.long
def test_phases_share_parameters_and_samples():
    """Two halves of one motion give what the whole gives."""
    whole = trajopt.solve(fit(decay, 1.3 * np.exp(-0.9 * TIMES) + NOISE, {"k": 0.5}))
    parts = []
    for number in range(2):
        mesh = trajopt.Trajectory.collocation(3, 4, duration=1.0)
        part = trajopt.Problem(trajopt.system(("x",), (), decay), mesh, name=f"half {number}")
        part.parameter("k", guess=0.5)
        own = (number < TIMES) & (number + 1 >= TIMES)
        values = (1.3 * np.exp(-0.9 * TIMES) + NOISE)[own]
        part.data("measured", TIMES[own] - number, values)
        part.minimize(trajopt.term(squared_residual), over=TIMES[own] - number, name="misfit")
        part.guess(x=[[1.0], [1.0]])
        parts.append(part)
    phases = trajopt.Phases(*parts)
    phases.link(trajopt.state("x"), parts[0].at("end"), parts[1].at("start"))
    both = trajopt.solve(phases)
    found, expected = both.covariance(measurements=12), whole.covariance(measurements=12)
    assert found.labels == ("k",) and found.freedom == 10
    assert np.allclose(found.matrix, expected.matrix, rtol=1e-4)


def test_what_gives_no_covariance_is_refused():
    problem = fit(decay, np.exp(-TIMES) + NOISE, {"k": 0.5})
    solution = trajopt.solve(problem)
    with pytest.raises(OptionError, match="give either how many numbers were measured"):
        solution.covariance()
    with pytest.raises(OptionError, match="2 measurements for 2 free unknowns leave none"):
        solution.covariance(measurements=2)
    with pytest.raises(OptionError, match="the variance of a residual is -1: minimize squares"):
        solution.covariance(variance=-1.0)
    with pytest.raises(OptionError, match="level is 95: give a number between 0 and 1"):
        solution.covariance(12).intervals(95)  # pyright: ignore[reportArgumentType]
    problem.minimize(trajopt.state("x") ** 2, name="size")
    with pytest.raises(OptionError, match="no sum of squared residuals, as 'size' is an integral"):
        trajopt.solve(problem).covariance(12)


def test_samples_that_do_not_determine_a_parameter_are_refused():
    def twice(node):
        return [-(node.parameter("k") + node.parameter("more")) * node.x]

    solution = trajopt.solve(fit(twice, np.exp(-TIMES) + NOISE, {"k": 0.5, "more": 0.2}))
    with pytest.raises(EvaluationError, match="the optimum is not strict"):
        solution.covariance(12)


def test_a_fit_without_parameters_is_refused():
    problem = fit(lambda node: [-node.x], np.exp(-TIMES) + NOISE, {})
    with pytest.raises(OptionError, match="has no parameters"):
        trajopt.solve(problem).covariance(12)
