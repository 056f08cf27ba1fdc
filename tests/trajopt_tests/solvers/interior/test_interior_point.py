"""The interior-point method finds IPOPT's optima, and hands over to IPOPT what it cannot solve."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

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
    unconstrained,
)
from tiers import fast_first

import trajopt
from problems import catalogue, sliding_mass
from trajopt import InteriorPoint, Ipopt
from trajopt.base.errors import OptionError
from trajopt.solvers.interior.slack_program import zero_limit_factors
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.solver import Run, Status
from trajopt.transcription.transcribe import transcribe

# Free time, effort, both; linear and nonlinear equations; limits of positions, velocities, torques, paths.
LIBRARY = {
    "double_integrator": {},
    "sliding_mass": {"velocity": 3.0},
    "two_link_rr": {"intervals": 20},
    "cart_pole": {"intervals": 10},
    "minimum_fuel": {},
    "gear_ratio": {},
    "kirk": {},
    "betts_robot_arm": {"intervals": 10},
    "two_link_pr": {"intervals": 20},
    "six_axis_arm": {"intervals": 10},
    "urdf_arm": {"intervals": 10, "u": 0.5},
    "arm_design": {},
    "van_der_pol": {},
}


@fast_first("name", LIBRARY, 4)
def test_library_problems_have_ipopts_optimum_and_satisfy_the_kkt_conditions(name):
    nlp = transcribe(catalogue.build(name, LIBRARY[name]))
    ours, theirs = InteriorPoint().solve(nlp), Ipopt().solve(nlp)
    assert ours.converged and "IPOPT" not in ours.detail
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-8)
    # Limits are moved by 1e-10, as by IPOPT, so that a product with a multiplier of 10 is 1e-9 off.
    assert kkt_residuals(nlp, ours).error < 3e-9


def test_a_hessian_that_curves_down_in_many_steps_is_no_obstacle():
    """In minimum time under force limits alone the motion of joints that do not decide the time is free."""
    nlp = transcribe(catalogue.build("two_link_pr", {"u": 0.0, "intervals": 20}))
    result = InteriorPoint().solve(nlp)
    assert result.converged and "IPOPT" not in result.detail
    assert kkt_residuals(nlp, result).error < 3e-9


def random_program(seed, equations=1, rows=6, n=5, scale=1.0):
    """A quadratic objective, not convex, in a box, with linear rows; some of them stand there twice."""
    rng = np.random.default_rng(seed)
    M, A = rng.standard_normal((n, n)), rng.standard_normal((rows, n))
    inside = rng.uniform(-0.5, 0.5, n)
    value = A @ inside
    lower, upper = value - rng.uniform(0.1, 1.0, rows), value + rng.uniform(0.1, 1.0, rows)
    lower[:equations] = upper[:equations] = value[:equations]
    lower[equations : equations + 2], upper[-2:] = -INF, INF
    twice = np.concatenate([np.arange(rows), [rows - 1, rows - 1]])
    sizes = scale ** rng.uniform(-1.0, 1.0, twice.size)
    return quadratic_with_rows(
        M + M.T,
        rng.standard_normal(n),
        sizes[:, None] * A[twice],
        sizes * lower[twice],
        sizes * upper[twice],
        lower=np.full(n, -1.0),
        upper=np.full(n, 1.0),
    )


@pytest.mark.long
@pytest.mark.parametrize("scale", [1.0, 1e3], ids=["rows of one size", "rows of sizes from 1e-3 to 1e3"])
def test_random_programs_with_repeated_rows_are_solved_where_ipopt_solves_them(scale):
    worse = 0
    for seed in range(25):
        nlp = random_program(seed, scale=scale)
        ours, theirs = InteriorPoint().solve(nlp), Ipopt().solve(nlp)
        assert ours.converged and theirs.converged
        # Limits are moved by 1e-10 of theirs, and multipliers are as large as rows are small.
        assert kkt_residuals(nlp, ours).error < 1e-6
        worse += ours.objective > theirs.objective + 1e-6
    assert worse <= 5  # other local optima


def test_equations_that_repeat_each_other_are_solved():
    """A projection onto y0 + y1 = 1, which is stated three times, the last time doubled."""
    nlp = quadratic_with_rows(np.eye(2), [0.0, -1.0], [[1, 1], [1, 1], [2, 2]], [1, 1, 2], [1, 1, 2])
    # As many equations as unknowns or more would be IPOPT's; a third unknown leaves room.
    wider = quadratic_with_rows(
        np.eye(4), [0.0, -1.0, 0.0, 0.0], np.pad(nlp.full_jacobian(nlp.start), ((0, 0), (0, 2))),
        [1, 1, 2], [1, 1, 2],
    )  # fmt: skip
    result = InteriorPoint().solve(wider)
    assert result.converged and "IPOPT" not in result.detail
    np.testing.assert_allclose(result.y, [0.0, 1.0, 0.0, 0.0], atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_rounding_keeps_from_their_tolerance_are_met_in_a_few_steps(seed):
    """The points of a sequence nearest to given ones, whose third differences are at most 1e-7.

    Rows of slopes of 1e7 are known to 1e-8. Without limits on them the points lie on a parabola, the one of
    least squares; 1e-7 in every third difference moves them by some 1e-4.
    """
    rng, s = np.random.default_rng(seed), np.linspace(-1.0, 1.0, 30)
    given, differences = rng.uniform(1.0, 2.0, s.size), np.diff(np.eye(s.size), n=3, axis=0)
    one = np.ones(len(differences))
    nlp = quadratic_with_rows(np.eye(s.size), -given, 1e7 * differences, -one, one)
    result = InteriorPoint().solve(nlp)
    assert result.converged and "IPOPT" not in result.detail
    assert result.iterations < 15
    np.testing.assert_allclose(result.y, np.polyval(np.polyfit(s, given, 2), s), atol=1e-3)


def test_rows_whose_limits_are_zero_have_no_unit():
    """A row times 2^-10 and its limit of zero are the same row: all steps are, to the last bit.

    minimize |y - (2, 1)|^2 / 2 with (y0 - y1) / 128 <= 0: y0 = y1 = 3/2, and the multiplier is 64.
    """
    results = []
    for unit in (1.0, 2.0**-10):
        rows, start = [[unit / 128.0, -unit / 128.0]], np.array([1.0, 2.0])
        nlp = quadratic_with_rows(np.eye(2), [-2.0, -1.0], rows, [-INF], [0.0], start=start)
        results.append(InteriorPoint().solve(nlp))
    one, other = results
    assert one.converged and "IPOPT" not in one.detail and one.iterations == other.iterations
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_allclose(one.y, [1.5, 1.5], atol=1e-8)
    assert one.row_multipliers[0] == pytest.approx(64.0, abs=1e-5)
    assert other.row_multipliers[0] == 2.0**10 * one.row_multipliers[0]


def test_rows_on_zero_at_the_start_are_divided_by_the_median_of_the_others():
    """Other rows, with limits of their own or large values, keep their unit, as do all that start on zero."""
    values = np.array([0.0, 0.001, -0.002, 0.003, 7.0, 1e-3])
    lower, upper = np.array([0.0, 0.0, -INF, 0.0, 0.0, -1.0]), np.array([INF, INF, 0.0, INF, INF, INF])
    factors = zero_limit_factors(values, lower, upper)
    np.testing.assert_allclose(factors, [400.0, 400.0, 400.0, 1.0 / 0.003, 1.0, 1.0], rtol=1e-12)
    none = zero_limit_factors(np.array([0.0, 1e-17]), lower[:2], upper[:2])
    np.testing.assert_array_equal(none, [1.0, 1.0])


@pytest.mark.parametrize("size", [2.0**-9, 2.0**-7, 0.01, 0.0125, 0.015])
def test_rounding_of_a_row_at_the_start_does_not_decide_its_factor(size):
    """Speeds of 1 on 100 intervals of a second give rows of 0.01, on 128 a power of two."""
    below, at, above = (
        zero_limit_factors(np.array([size * (1.0 + e)]), np.zeros(1), np.array([INF]))[0]
        for e in (-1e-12, 0.0, 1e-12)
    )
    assert below == pytest.approx(at, rel=1e-10) and above == pytest.approx(at, rel=1e-10)
    assert at == pytest.approx(1.0 / size if size <= 0.01 else size ** (-3.0 + 200.0 * size))


def jerk_limited_mass(intervals):
    problem = sliding_mass.build(intervals=intervals, degree=4, velocity=3.0)
    problem.subject_to(trajopt.jerk, -2000.0, 2000.0, name="jerk limits")
    return transcribe(problem)


@pytest.mark.long
@pytest.mark.parametrize("intervals", [1000, 2000])
def test_fine_meshes_take_as_many_steps_as_coarse_ones(intervals):
    """Jerk, intervals cubed times the coefficients, is known to 1e-8 of its limit."""
    coarse, fine = (InteriorPoint().solve(jerk_limited_mass(count)) for count in (300, intervals))
    assert fine.converged and "IPOPT" not in fine.detail
    assert fine.iterations <= 2 * coarse.iterations
    assert fine.objective == pytest.approx(coarse.objective, rel=1e-5)


@fast_first("by", [1e-2, 0.0, 1e-6, 1e-3])
def test_steps_from_a_disturbed_optimum_begin_with_the_gaps_of_its_multipliers(by):
    """With a barrier parameter of 1e-7 and gaps of 1e-9 it took 62 steps from 1 % off, and 22 cold."""
    nlp = transcribe(catalogue.build("cart_pole", {}))
    cold = InteriorPoint().alone.solve(nlp)
    rng = np.random.default_rng(0)
    y = cold.y + by * np.maximum(np.abs(cold.y), 0.01) * rng.standard_normal(cold.y.size)
    start = replace(cold.warm_start, y=np.clip(y, nlp.lower, nlp.upper))
    warm = InteriorPoint().alone.solve(nlp, start)
    assert warm.converged and warm.iterations <= cold.iterations // 2
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


@pytest.mark.parametrize("factor", [0.0, 1e-12, 1e3, 1e16])
def test_multipliers_of_any_size_begin_at_gaps_that_are_not_zero(factor):
    """A gap of 1e-25 is rounded to zero beside its limit, and mu / t to infinity."""
    bounds = {"lower": np.zeros(3), "upper": np.array([1.0, 0.5, INF])}
    nlp = quadratic_with_rows(np.eye(3), [-1.0, -2.0, -3.0], np.ones((1, 3)), [-INF], [1.5], **bounds)
    cold = InteriorPoint().alone.solve(nlp)
    start = cold.warm_start
    names = ("row_multipliers", "lower_multipliers", "upper_multipliers")
    scaled = {name: factor * getattr(start, name) for name in names}
    warm = InteriorPoint().alone.solve(nlp, replace(start, y=start.y + 1e-3, **scaled))
    assert warm.converged and warm.iterations <= 2 * cold.iterations
    np.testing.assert_allclose(warm.y, cold.y, atol=1e-6)


def test_a_linear_objective_ends_in_a_corner():
    nlp = quadratic_with_rows(
        np.zeros((2, 2)), [-1.0, -2.0], [[1.0, 1.0]], [-INF], [1.5], lower=np.zeros(2), upper=np.ones(2)
    )
    result = InteriorPoint().solve(nlp)
    assert result.converged and "IPOPT" not in result.detail
    np.testing.assert_allclose(result.y, [0.5, 1.0], atol=1e-7)
    np.testing.assert_allclose(result.row_multipliers, [1.0], atol=1e-7)
    np.testing.assert_allclose(result.upper_multipliers, [0.0, 1.0], atol=1e-7)


def test_unknowns_with_equal_bounds_stay_and_have_multipliers():
    """minimize |y|^2 / 2 with y0 + y1 + y2 >= 3 and y1 = 2: y0 = y2 = 1/2, and dL/dy1 = 2 - 1/2."""
    nlp = quadratic_with_rows(
        np.eye(3), np.zeros(3), [[1.0, 1.0, 1.0]], [3.0], [INF],
        lower=np.array([-INF, 2.0, -INF]), upper=np.array([INF, 2.0, INF]),
    )  # fmt: skip
    result = InteriorPoint().solve(nlp)
    assert result.converged and "IPOPT" not in result.detail
    np.testing.assert_allclose(result.y, [0.5, 2.0, 0.5], atol=1e-8)
    np.testing.assert_allclose(result.lower_multipliers, [0.0, 1.5, 0.0], atol=1e-8)
    assert kkt_residuals(nlp, result).error < 1e-9


def test_the_order_of_rows_and_last_digits_of_the_start_do_not_matter():
    nlp = transcribe(catalogue.build("two_link_rr", {"intervals": 10}))
    first = InteriorPoint().solve(nlp)
    rng = np.random.default_rng(0)
    for _ in range(5):
        start = nlp.start * (1.0 + 1e-13 * rng.standard_normal(nlp.start.size))
        other = InteriorPoint().solve(replace(nlp, start=start))
        assert other.converged and other.objective == pytest.approx(first.objective, rel=1e-9)


def test_what_contradicts_itself_ends_as_with_ipopt_and_says_who_found_it():
    seen = []
    ours, theirs = (
        InteriorPoint().solve(infeasible(), run=Run(callback=seen.append)),
        Ipopt().solve(infeasible()),
    )
    assert ours.status is theirs.status and "by IPOPT after" in ours.detail
    numbers = [each.iteration for each in seen]  # IPOPT counts an iterate twice where it restores feasibility
    assert numbers == sorted(numbers) and set(numbers) == set(range(ours.iterations + 1))
    assert ours.iterations > theirs.iterations and len(ours.history) == len(seen)


@pytest.mark.parametrize("seed", range(4))
def test_last_digits_of_the_start_do_not_decide_whether_limits_are_in_conflict(seed):
    """From beside the least violation, IPOPT took from 100 to more than 1000 iterations, by rounding."""
    nlp = infeasible()
    moved = nlp.start * (1.0 + 1e-14 * np.random.default_rng(seed).standard_normal(2))
    result = InteriorPoint().solve(replace(nlp, start=moved))
    assert result.status is Status.INFEASIBLE and result.iterations <= 100


def test_what_has_no_minimum_diverges():
    result = InteriorPoint().solve(unbounded())
    assert result.status is Status.DIVERGING


@pytest.mark.long
@pytest.mark.parametrize(
    "program",
    [
        replace(rosenbrock(), has_hessian=False),
        quadratic_with_rows(np.eye(2), [0.0, 0.0], np.eye(2), [1.0, 2.0], [1.0, 2.0]),
        unconstrained(np.ones(1501), lambda y: float(y @ y), lambda y: 2 * y, lambda y: 2 * np.eye(1501)),
    ],
    ids=["no second derivatives", "as many equations as unknowns", "1501 unknowns in no known order"],
)
def test_programs_that_it_is_not_made_for_are_ipopts(program):
    ours, theirs = InteriorPoint().solve(program), Ipopt().solve(program)
    assert ours.status is theirs.status and ours.converged
    np.testing.assert_array_equal(ours.y, theirs.y)
    assert ours.iterations == theirs.iterations


def test_iterations_and_seconds_of_both_count_towards_the_limits():
    nlp = infeasible()
    alone = InteriorPoint().solve(nlp)
    steps = int(alone.detail.rpartition("after ")[2].split()[0])
    limited = InteriorPoint(max_iterations=steps + 3).solve(nlp)
    assert limited.status is Status.ITERATION_LIMIT and limited.iterations <= steps + 3
    ended = InteriorPoint(max_iterations=steps).solve(nlp)
    assert ended.status is Status.ITERATION_LIMIT and ended.iterations <= steps


@pytest.mark.parametrize("problem", [hs071, equality_quadratic, partial(random_program, 3)])
def test_multipliers_are_ipopts(problem):
    nlp = problem()
    ours, theirs = InteriorPoint().solve(nlp), Ipopt().solve(nlp)
    for name in ("row_multipliers", "lower_multipliers", "upper_multipliers"):
        np.testing.assert_allclose(getattr(ours, name).sum(), getattr(theirs, name).sum(), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol = 0.0: expected"),
        ({"max_iterations": -1}, "max_iterations = -1: expected"),
        ({"time_limit": -1.0}, "time_limit = -1.0: expected"),
        ({"feasibility": "tight"}, "feasibility = 'tight': expected"),
    ],
)
def test_settings_out_of_range_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        InteriorPoint(**options)


def test_a_problem_is_solved_by_name_and_tells_the_solver():
    problem = catalogue.build("two_link_rr", {"intervals": 10})
    solution = trajopt.solve(problem, InteriorPoint(), starts=1, coarse_to_fine=False)
    assert solution.converged and solution.verify().holds


def test_a_program_without_any_curvature_is_solved():
    system = trajopt.system(["x"], ["u"], rates=lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 2, duration=1.0))
    problem.start_at(x=[0.0])
    problem.end_at(x=[0.0])
    peak = problem.parameter("peak", 0.0, guess=3.0)
    problem.subject_to(
        trajopt.term(lambda node: node.parameter("peak") - node.x, name="gap"), lower=2.0, over="end"
    )
    problem.minimize(peak)
    solution = trajopt.solve(problem, trajopt.InteriorPoint(), refine=None)
    assert solution.converged and solution.objective == pytest.approx(2.0, abs=1e-6)


@pytest.mark.long
@fast_first("weight", [1.0, 1e-3, 1e-6, 1e3])
def test_a_cost_that_falls_for_ever_does_not_converge(weight):
    """Multipliers that grow with it divided the error away at 1e14."""
    problem = sliding_mass.build(intervals=8)
    problem.parameter("k", 0.0, guess=0.0)
    problem.minimize(trajopt.term(lambda node: -node.parameter("k"), name="falls"), weight=weight)
    solution = trajopt.solve(problem, trajopt.InteriorPoint(), starts=1)
    assert solution.status is Status.DIVERGING and not solution.converged
