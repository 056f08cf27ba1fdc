"""IPOPT's adapter: known optima, every way of ending, and what may never be lost on the way."""

from __future__ import annotations

import os
import signal
import sys
import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from small_nlps import (
    equality_quadratic,
    failing,
    hs071,
    infeasible,
    quadratic_with_rows,
    rosenbrock,
    sluggish,
    unbounded,
    unconstrained,
)
from tiers import every, fast_first

from trajopt.base.errors import OptionError
from trajopt.solvers import ipopt as bundled_ipopt
from trajopt.solvers.ipopt import _STATUSES, Ipopt, _library, _option_table
from trajopt.solvers.ipopt_options import parsed_options
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.solver import BOUND_RELAXATION, Run, Status, WarmStart, relaxations, unrelaxed


@pytest.fixture(autouse=True, params=["casadi", "cyipopt"])
def library(request, monkeypatch):
    """Every test runs with the IPOPT in CasADi's wheels, and with cyipopt's, as where CasADi has none."""
    if request.param == "cyipopt":
        pytest.importorskip("cyipopt")
        monkeypatch.setattr(bundled_ipopt, "NAMES", ("absent.so",))
    else:
        monkeypatch.setitem(sys.modules, "cyipopt", None)
    clear_caches()
    assert (_library(None) is bundled_ipopt) == (request.param == "casadi")
    yield
    clear_caches()


def clear_caches():
    bundled_ipopt.library.cache_clear()
    _option_table.cache_clear()


FUNCTIONS = ("objective", "gradient", "rows", "jacobian", "hessian")


@pytest.mark.parametrize("hessian", ["exact", "lbfgs"])
@pytest.mark.parametrize("problem", [hs071, rosenbrock, equality_quadratic])
def test_known_optima_are_found_and_satisfy_the_kkt_conditions(problem, hessian):
    nlp = problem()
    result = Ipopt(hessian=hessian).solve(nlp)
    assert result.status is Status.CONVERGED
    assert result.converged
    np.testing.assert_allclose(result.y, nlp.solution, atol=2e-7)
    assert kkt_residuals(nlp, result).error < 1e-8


def test_newton_solves_an_equality_quadratic_in_one_iteration_with_its_multipliers():
    nlp = equality_quadratic()
    result = Ipopt().solve(nlp)
    assert result.iterations == 1
    np.testing.assert_allclose(result.row_multipliers, nlp.multipliers, rtol=1e-10)


def test_timings_add_up_to_the_wall_time_and_the_history_has_every_iterate():
    result = Ipopt().solve(hs071())
    assert sum(result.timings.values()) == pytest.approx(result.seconds, rel=1e-12)
    assert all(result.timings[kind] > 0 for kind in FUNCTIONS)
    np.testing.assert_array_equal(result.history[:, 0], np.arange(result.iterations + 1))
    assert result.history[-1, 1] == pytest.approx(result.objective, rel=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        result.y[0] = 0.0


def test_a_warm_start_from_the_answer_needs_at_most_two_iterations():
    nlp = hs071()
    cold = Ipopt().solve(nlp)
    warm = Ipopt().solve(nlp, start=cold.warm_start)
    assert warm.converged
    assert warm.iterations <= 2 < cold.iterations
    np.testing.assert_allclose(warm.y, cold.y, atol=1e-7)


def test_a_start_without_multipliers_replaces_only_the_point():
    nlp = rosenbrock()
    assert Ipopt().solve(nlp, start=WarmStart(nlp.solution)).iterations == 0


@pytest.mark.parametrize(
    ("problem", "settings", "status"),
    [
        (infeasible(), {}, Status.INFEASIBLE),
        (unbounded(), {}, Status.DIVERGING),
        (rosenbrock(), {"max_iterations": 3}, Status.ITERATION_LIMIT),
        (rosenbrock(), {"options": {"max_cpu_time": 1e-9}}, Status.TIME_LIMIT),
        (
            rosenbrock(),
            {"tol": 1e-300, "options": {"acceptable_tol": 1.0, "acceptable_iter": 1}},
            Status.ACCEPTABLE,
        ),
        (
            quadratic_with_rows(np.zeros((1, 1)), [0.0], [[1.0], [2.0]], [1.0, 5.0], [1.0, 5.0]),
            {},
            Status.NOT_ENOUGH_FREEDOM,
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Status) else "",
)
def test_not_converging_is_a_status_and_a_point(problem, settings, status):
    result = Ipopt(**settings).solve(problem)
    assert result.status is status
    assert not result.converged
    assert np.isfinite(result.y).all()
    assert result.objective == pytest.approx(problem.objective(result.y), rel=1e-12)


def test_a_square_problem_solved_counts_as_converged():
    square = quadratic_with_rows(np.zeros((1, 1)), [0.0], [[2.0]], [5.0], [5.0])
    result = Ipopt().solve(square)
    assert result.status in (Status.CONVERGED, Status.FEASIBLE_POINT)
    assert result.converged
    np.testing.assert_allclose(result.y, [2.5], rtol=1e-12)


@fast_first("seeds", [range(5), range(5, 20), range(20, 200)], 1, 1)
def test_where_constraints_repeat_each_other_what_counts_as_converged_is_the_optimum(seeds):
    """They have multipliers of any size, by whose mean IPOPT divides its errors."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n, rows = int(rng.integers(4, 12)), int(rng.integers(4, 12))
        root, A = rng.standard_normal((n, n)), rng.standard_normal((rows, n))
        value = A @ rng.uniform(-0.5, 0.5, n)
        upper = value + rng.uniform(0.0, 1.0, rows)
        lower = np.where(np.arange(rows) < 1, value, value - rng.integers(0, 2, rows))
        upper[0] = value[0]
        twice = np.concatenate([np.arange(rows), [0, 0], rng.integers(0, rows, rows)])
        stated = [
            quadratic_with_rows(root @ root.T, np.ones(n), A[chosen], lower[chosen], upper[chosen])
            for chosen in (np.arange(rows), twice)
        ]
        once, repeated = (Ipopt().solve(replace(nlp, start=np.full(n, 0.5))) for nlp in stated)
        if repeated.converged:
            assert repeated.objective == pytest.approx(once.objective, rel=1e-6, abs=1e-6), seed


def test_every_return_code_of_ipopt_has_a_status():
    documented = {
        int(code) for code in pytest.importorskip("ipopt_wrapper", reason="of cyipopt").STATUS_MESSAGES
    }
    assert documented <= _STATUSES.keys() | {-12}


def test_the_best_point_is_the_lowest_objective_among_feasible_iterates():
    result = Ipopt(max_iterations=6).solve(hs071())
    feasible = result.history[:, 2] <= 1e-6
    assert not feasible.any()
    assert result.infeasibility == pytest.approx(result.history[:, 2].min(), rel=1e-12)
    loose = Ipopt(max_iterations=6, feasibility=0.5).solve(hs071())
    feasible = loose.history[:, 2] <= 0.5
    assert loose.objective == pytest.approx(loose.history[feasible, 1].min(), rel=1e-12)


def test_what_second_derivatives_raise_leaves_solve_unchanged():
    def outcome():
        raise ZeroDivisionError("in the model")

    with pytest.raises(ZeroDivisionError, match="in the model"):
        Ipopt().solve(failing(hs071(), "hessian", 6, outcome))


def test_second_derivatives_that_become_nan_are_a_status_that_names_them():
    result = Ipopt().solve(failing(hs071(), "hessian", 6, lambda: np.nan))
    assert result.status is Status.EVALUATION_ERROR
    assert "hessian" in result.detail and "not finite" in result.detail
    assert np.isfinite(result.y).all() and np.isfinite(result.objective)


def test_a_single_nan_objective_only_shortens_a_step():
    assert Ipopt().solve(failing(hs071(), "objective", 6, lambda: np.nan, times=1)).converged


def test_a_second_ctrl_c_breaks_into_a_callback_that_hangs():
    waited_in_vain = []

    def press():
        signal.raise_signal(signal.SIGINT)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        threading.Event().wait(600)
        waited_in_vain.append(True)
        return 1.0

    result = Ipopt().solve(failing(rosenbrock(), "objective", 5, press, times=1))
    assert result.status is Status.INTERRUPTED
    assert not waited_in_vain


def test_solving_in_another_thread_leaves_signals_alone():
    results = []
    thread = threading.Thread(target=lambda: results.append(Ipopt().solve(rosenbrock())))
    thread.start()
    thread.join()
    assert results[0].converged


def test_the_callback_sees_every_iteration():
    seen = []
    result = Ipopt().solve(hs071(), run=Run(callback=seen.append))
    assert [each.iteration for each in seen] == list(range(result.iterations + 1))
    assert seen[-1].dual_infeasibility < 1e-8
    assert np.all(np.diff([each.seconds for each in seen]) > 0)


def test_without_second_derivatives_one_line_says_so_and_lbfgs_solves(caplog):
    result = Ipopt().solve(replace(rosenbrock(), has_hessian=False))
    assert result.converged
    assert result.timings["hessian"] == 0
    assert [record.message for record in caplog.records] == [
        "no second derivatives: IPOPT uses L-BFGS instead"
    ]


@pytest.mark.long
def test_memory_grows_with_iterations_by_the_history_alone():
    peaks = []
    for limit in (200, 800):
        tracemalloc.start()
        assert Ipopt(max_iterations=limit).solve(sluggish()).iterations == limit
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Three doubles an iteration, held twice when the result copies them, and some slack of the growing array.
    assert peaks[1] - peaks[0] < 600 * 3 * 8 * 3


def test_a_stray_options_file_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "ipopt.opt").write_text("max_iter 1\n")
    monkeypatch.chdir(tmp_path)
    assert Ipopt().solve(rosenbrock()).converged


def test_nothing_is_printed(capfd):
    Ipopt(options={"mu_strategy": "adaptive"}).solve(hs071())
    assert capfd.readouterr() == ("", "")


@every(
    "settings, message",
    [
        ({"tol": 0.0}, "tol = 0.0: expected a finite number above 0"),
        ({"tol": "small"}, "tol = 'small': expected a finite number above 0"),
        ({"max_iterations": 2.5}, "max_iterations = 2.5: expected a whole number, 0 or more"),
        ({"time_limit": -1}, "time_limit = -1: expected a finite number above 0 or None"),
        ({"feasibility": np.nan}, "feasibility = nan: expected"),
        ({"hessian": "bfgs"}, "hessian = 'bfgs': expected 'exact' or 'lbfgs'"),
        (
            {"options": {"max_iter": 5}},
            r"options\['max_iter'\]: set it as Ipopt\(max_iterations=...\), --option max_iterations=",
        ),
        ({"options": {"mu_stratgy": "adaptive"}}, "'mu_stratgy' is not an option .*mean 'mu_strategy'"),
        ({"options": {"xyzzy": 1}}, "'xyzzy' is not an option of IPOPT; they are listed"),
        ({"options": {"mu_strategy": "both"}}, "mu_strategy = 'both': expected one of monotone, adaptive"),
        ({"options": {"mu_strategy": 3}}, "mu_strategy = 3: expected one of monotone, adaptive"),
        ({"options": {"output_file": 3}}, "output_file = 3: expected a string"),
        ({"options": {"bound_frac": 0.6}}, "bound_frac = 0.6: expected 0 < bound_frac <= 0.5"),
        ({"options": {"mu_init": "x"}}, "mu_init = 'x': expected a number"),
        ({"options": {"mu_init": np.nan}}, "mu_init = nan: expected 0 < mu_init"),
        ({"options": {"acceptable_iter": 2.5}}, "acceptable_iter = 2.5: expected a whole number"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_runs(settings, message):
    with pytest.raises(OptionError, match=message):
        Ipopt(**settings)


def test_a_linear_solver_that_is_not_installed_is_an_option_error():
    with pytest.raises(OptionError, match="IPOPT refuses these options together"):
        Ipopt(options={"linear_solver": "ma57", "hsllib": "absent.so"}).solve(hs071())


def test_values_are_given_to_ipopt_in_its_own_types():
    options = {"mu_init": 1, "max_resto_iter": np.int64(7), "honor_original_bounds": True}
    converted = Ipopt(options=options | {"resto.mu_strategy": "adaptive"}).options
    assert converted == {
        "mu_init": 1.0,
        "max_resto_iter": 7,
        "honor_original_bounds": "yes",
        "resto.mu_strategy": "adaptive",
    }
    assert type(converted["mu_init"]) is float
    assert type(converted["max_resto_iter"]) is int
    assert Ipopt(options=converted).solve(hs071()).converged


def test_the_listing_is_read_whole_and_ipopt_takes_what_the_table_takes(capfd):
    table = _option_table(None)
    assert len(table) > 200
    assert {"tol", "mu_strategy", "linear_solver", "bound_relax_factor"} <= set(table)
    problem = _library(None).Problem(n=1, m=0, problem_obj=Objective(), lb=[-1.0], ub=[1.0], cl=[], cu=[])
    for option in table.values():
        for value in examples(option):
            problem.add_option(option.name, option.convert(value))
    assert capfd.readouterr().out == ""


def examples(option):
    """Values at the ends of the range, or each choice."""
    if option.kind == "string":
        return option.choices or ("anything",)
    low = 0.0 if np.isinf(option.lowest) else option.lowest
    high = low if np.isinf(option.highest) else option.highest
    return (low, high) if option.kind == "real" else (np.ceil(low), np.floor(high))


class Objective:
    def objective(self, y):
        return 0.0

    def gradient(self, y):
        return np.zeros(1)


def test_ranges_with_powers_of_ten_are_read():
    listing = (
        "<strong>width</strong> (<em>advanced</em>): Width.\n<blockquote>\n The valid range for this real "
        "option is -2 &middot; 10<sup>-03</sup> &le; width < 10<sup>+02</sup> and its default value is 0.\n"
        "</blockquote>\n"
    )
    width = parsed_options(listing)["width"]
    assert (width.lowest, width.highest) == (-2e-3, np.nextafter(1e2, 0.0))
    assert width.convert(-2e-3) == -2e-3
    with pytest.raises(OptionError, match="width = 100: expected -2e-03 <= width < 1e"):
        width.convert(100)


def test_bounds_near_zero_are_relaxed_by_a_part_of_themselves():
    """IPOPT moves by 1e-10 of one unit: those of zero, of a unit, or nearly met are left to it."""
    lower = np.array([-np.inf, 0.0, 1e-6, -2.0, 0.5, 1e-6])
    upper = np.array([np.inf, 1e-5, 1.0, -1e-6, 0.5, 1e-6 + 1e-12])
    low, high = unrelaxed(lower, upper, 1e-10)
    assert np.array_equal(low[[0, 1, 3, 4, 5]], lower[[0, 1, 3, 4, 5]])
    assert np.array_equal(high[[0, 2, 4, 5]], upper[[0, 2, 4, 5]])
    relaxed = np.array([upper[1] - high[1], low[2] - lower[2], upper[3] - high[3]])
    assert 1e-10 - relaxed == pytest.approx([1e-12, 1e-13, 1e-13], rel=1e-3)


def test_a_bound_that_is_zero_but_for_rounding_is_relaxed_as_zero_is():
    bounds = np.array([0.0, 0.1 * 3 - 0.3, -1e-13])
    assert np.array_equal(relaxations(bounds), np.full(3, BOUND_RELAXATION))
    huge = np.full(1, 1e308)
    assert np.array_equal(unrelaxed(-huge, huge, 1e-10), (-huge, huge))


@every("factor", [1e-2, 0.0])
def test_a_stated_relaxation_of_bounds_is_the_one_that_ipopt_has(factor):
    """IPOPT moves bounds by constr_viol_tol at most: a stated hundredth held y >= 0.05 at 0.06."""
    nlp = unconstrained(
        [1.0], lambda y: float(y[0]), lambda y: np.ones(1), lambda y: np.zeros((1, 1)), lower=np.full(1, 0.05)
    )
    found = Ipopt(options={"bound_relax_factor": factor}).solve(nlp)
    assert found.converged and found.y[0] == pytest.approx(0.05, abs=1e-6)


def test_an_objective_whose_square_overflows_is_a_number_like_others():
    """The sum of squares that tells finite numbers warned of an overflow beyond 1e154."""
    nlp = unconstrained(
        [3.0], lambda y: float(1e200 + y[0] ** 2), lambda y: 2.0 * y, lambda y: np.full((1, 1), 2.0)
    )
    found = Ipopt(max_iterations=3).solve(nlp)
    assert found.objective == 1e200 and found.status is not Status.EVALUATION_ERROR


def test_a_gradient_in_one_row_is_one():
    """Users' programs may give it as (1, n), as rows of a Jacobian are."""
    nlp = quadratic_with_rows(np.eye(2), [-1.0, 2.0], [[3.0, -1.0]], [0.0], [0.0])
    found = Ipopt().solve(replace(nlp, gradient=lambda y: nlp.gradient(y)[None]))
    assert found.status is Status.CONVERGED and found.y == pytest.approx([-0.5, -1.5], abs=1e-6)
