"""Minima of random quadratic programs, reached from those of others, meet the optimality conditions."""

from dataclasses import replace

import numpy as np
import pytest
from tiers import every

from trajopt.solvers.matrices import Triplets
from trajopt.solvers.newton.quadratic_program import QuadraticProgram, minimum_by_homotopy


def random_program(rng, n=6, m=14):
    """Strictly convex, feasible at a random point, with an equation in the first row."""
    factor = rng.standard_normal((n, n))
    A, inside = rng.standard_normal((m, n)), rng.standard_normal(n)
    lower, upper = A @ inside - rng.uniform(0.1, 1.0, m), A @ inside + rng.uniform(0.1, 1.0, m)
    upper[m // 2 :] = np.inf
    lower[0] = upper[0] = A[0] @ inside
    return QuadraticProgram(factor @ factor.T + 0.1 * np.eye(n), rng.standard_normal(n), A, lower, upper)


def assert_optimal(program, found):
    values = program.A @ found.d
    assert np.all(values >= program.lower - 1e-8) and np.all(values <= program.upper + 1e-8)
    gradient = program.H @ found.d + program.g + program.A.T @ found.multipliers
    np.testing.assert_allclose(gradient, 0.0, atol=1e-8)
    free = program.lower < program.upper
    assert np.all(found.multipliers[free & (values > program.lower + 1e-7)] >= -1e-9)
    assert np.all(found.multipliers[free & (values < program.upper - 1e-7)] <= 1e-9)


@every("seed", range(20))
def test_a_minimum_is_reached_from_any_active_set_that_is_independent(seed):
    rng = np.random.default_rng(seed)
    one, other = random_program(rng), random_program(rng)
    only_equation = (np.arange(one.lower.size) == 0).astype(int)
    first = minimum_by_homotopy(one, np.zeros(one.lower.size), only_equation, 100)
    assert first is not None and first.tau == 1.0
    assert_optimal(one, first)
    second = minimum_by_homotopy(other, first.multipliers, first.side, 100)
    assert second is not None and second.tau == 1.0
    assert_optimal(other, second)
    again = minimum_by_homotopy(other, second.multipliers, second.side, 100)
    assert again is not None and again.changes == 0
    np.testing.assert_allclose(again.d, second.d, atol=1e-9)


@every("seed", range(10), fast=5)
def test_a_minimum_with_the_same_active_set_is_that_of_the_homotopy(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    dense = random_program(rng)
    one = replace(dense, H=triplets(dense.H), A=triplets(dense.A))
    first = minimum_by_homotopy(one, np.zeros(dense.lower.size), (np.arange(14) == 0).astype(int), 100)
    assert first is not None and first.tau == 1.0
    other = replace(one, g=one.g + 1e-3 * rng.standard_normal(6))
    found = minimum_by_homotopy(other, first.multipliers, first.side, 100)
    monkeypatch.setattr("trajopt.solvers.newton.quadratic_program._with_same_active", lambda *_: None)
    followed = minimum_by_homotopy(other, first.multipliers, first.side, 100)
    assert found is not None and followed is not None
    assert_optimal(replace(other, H=dense.H, A=dense.A), found)
    assert found.changes == followed.changes and np.array_equal(found.side, followed.side)
    np.testing.assert_allclose(found.d, followed.d, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.multipliers, followed.multipliers, rtol=1e-9, atol=1e-10)


def triplets(dense):
    rows, columns = np.nonzero(np.ones_like(dense))
    return Triplets(rows, columns, dense.ravel(), dense.shape)


def test_a_minimum_found_by_updates_of_the_inverse_is_that_of_a_new_factorization(monkeypatch):
    rng = np.random.default_rng(3)
    one, other = random_program(rng), random_program(rng)
    only_equation = (np.arange(one.lower.size) == 0).astype(int)
    first = minimum_by_homotopy(one, np.zeros(one.lower.size), only_equation, 100)
    assert first is not None
    updated = minimum_by_homotopy(other, first.multipliers, first.side, 100)
    monkeypatch.setattr("trajopt.solvers.newton.quadratic_program.ACCURATE", -1.0)
    factorized = minimum_by_homotopy(other, first.multipliers, first.side, 100)
    assert updated is not None and factorized is not None and updated.changes > 0
    np.testing.assert_allclose(updated.d, factorized.d, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(updated.multipliers, factorized.multipliers, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_many_limits_that_are_violated_at_first_are_met_without_cycling(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, 12, 45)
    found = minimum_by_homotopy(program, np.zeros(45), np.zeros(45, dtype=int), 100)
    assert found is not None and found.tau == 1.0
    assert_optimal(program, found)


@every("seed", range(20), fast=5)
def test_no_more_constraints_are_active_than_there_are_unknowns_however_ill_conditioned_the_program(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, 12, 45)
    axes = np.linalg.qr(program.A[:12])[0]
    H = axes * 10.0 ** rng.uniform(-7.0, 5.0, 12) @ axes.T
    found = minimum_by_homotopy(
        replace(program, H=(H + H.T) / 2.0), np.zeros(45), np.zeros(45, dtype=int), 1000
    )
    assert found is None or np.count_nonzero(found.side) <= 12


def test_contradicting_limits_end_the_way_before_its_end():
    program = QuadraticProgram(
        np.eye(2),
        np.zeros(2),
        np.array([[1.0, 0.0], [1.0, 0.0]]),
        np.array([1.0, -np.inf]),
        np.array([np.inf, 0.5]),
    )
    found = minimum_by_homotopy(program, np.zeros(2), np.zeros(2, dtype=int), 10)
    assert found is None or found.tau < 1.0


def test_a_way_whose_last_exchange_fails_ends_where_it_is():
    """The exchange drops a row for one that is 1e-8 beside the other row, which still does not go in."""
    first, last = np.array([0.5, np.sqrt(0.75)]), np.array([0.0, 1.0])
    between = last + 1.5e-8 * first
    A, end = np.stack([first, between / np.linalg.norm(between), last]), np.array([1.0, 2.0])
    lower, upper = np.array([-np.inf, -np.inf, 2.0]), A @ end
    upper[1:] = upper[1] * (1.0 - 1e-13), np.inf  # between them the limit is met just before the end
    program = QuadraticProgram(np.eye(2), last - first - end, A, lower, upper)
    found = minimum_by_homotopy(program, np.array([1.0, 0.0, -1.0]), np.array([1, 0, -1]), 10)
    assert (A @ found.d <= upper + 1e-9).all()
    np.testing.assert_allclose(found.d, end, rtol=1e-9)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("factor", [1.0, 3.0, -1.0])
def test_a_sparse_way_leaves_out_limits_that_depend_on_equations(factor, strict):
    """x + y = 1, and a limit of its multiple that it meets, both of them active at first."""
    A = np.array([[1.0, 1.0, 0.0], [factor, factor, 0.0], [0.0, 0.0, 1.0]])
    lower, upper = np.array([1.0, factor, -0.5]), np.array([1.0, np.inf, np.inf])
    program = QuadraticProgram(triplets(np.eye(3)), np.array([0.0, 0.0, 1.0]), triplets(A), lower, upper)
    side = np.array([1, -1, 0])
    found = minimum_by_homotopy(program, np.zeros(3), side, 100, strict=strict)
    assert found is not None and found.tau == 1.0
    np.testing.assert_allclose(found.d, [0.5, 0.5, -0.5], atol=1e-12)
    assert_optimal(replace(program, H=np.eye(3), A=A), found)


def test_equations_that_depend_on_each_other_have_no_strict_way():
    A = np.array([[1.0, 1.0], [2.0, 2.0]])
    program = QuadraticProgram(triplets(np.eye(2)), np.zeros(2), triplets(A), np.ones(2), np.ones(2))
    assert minimum_by_homotopy(program, np.zeros(2), np.ones(2, dtype=int), 10, strict=True) is None


@pytest.mark.parametrize("kind", [np.asarray, triplets], ids=["dense", "sparse"])
def test_a_strict_way_does_not_begin_at_a_saddle(kind):
    """x^2 - y^2 with y between -1 and 2: a minimum along y = 2, a saddle without it."""
    H, A = np.diag([2.0, -2.0]), np.array([[0.0, 1.0]])
    limits = np.array([-1.0]), np.array([2.0])
    program = QuadraticProgram(kind(H), np.array([1.0, 0.0]), kind(A), *limits)
    at_saddle = minimum_by_homotopy(program, np.zeros(1), np.zeros(1, dtype=int), 10)
    assert at_saddle is not None and not at_saddle.is_strict
    assert minimum_by_homotopy(program, np.zeros(1), np.zeros(1, dtype=int), 10, strict=True) is None
    found = minimum_by_homotopy(program, np.array([4.0]), np.ones(1, dtype=int), 10, strict=True)
    assert found is not None and found.is_strict
    np.testing.assert_allclose(found.d, [-0.5, 2.0], atol=1e-12)
