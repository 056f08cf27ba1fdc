"""Sparse factors with a Schur complement of changes, beside the dense inverse that they stand for."""

from types import SimpleNamespace

import numpy as np
import pytest
from small_nlps import INF, quadratic_with_rows

import problems
import trajopt
from trajopt import Ipopt
from trajopt.solvers import matrices
from trajopt.solvers.kkt import kkt_residuals
from trajopt.solvers.matrices import Matrices, row_lengths, shifted, sparse_steps_pay
from trajopt.solvers.newton.newton import ActiveSetNewton
from trajopt.solvers.newton.quadratic_program import DenseKkt, factorized
from trajopt.solvers.newton.sparse_kkt import SparseKkt
from trajopt.solvers.run import Fallback
from trajopt.solvers.solver import WarmStart

N, M = 12, 9


def program(rng, twice=False):
    """A program of which only sizes and patterns are read, and entries of its derivatives."""
    places = np.unique(rng.integers(0, M * N, 40))
    i, j = np.tril_indices(N, -1)
    kept = rng.random(i.size) < 0.2
    rows, columns = np.append(i[kept], np.arange(N)), np.append(j[kept], np.arange(N))
    jacobian_rows, jacobian_columns = places // N, places % N
    if twice:  # an entry of the Jacobian may stand twice
        jacobian_rows = np.append(jacobian_rows, jacobian_rows[:3])
        jacobian_columns = np.append(jacobian_columns, jacobian_columns[:3])
    nlp = SimpleNamespace(
        variable_count=N,
        row_count=M,
        jacobian_rows=jacobian_rows,
        jacobian_columns=jacobian_columns,
        hessian_rows=rows,
        hessian_columns=columns,
    )
    of_hessian = np.append(rng.normal(size=kept.sum()), rng.uniform(5.0, 9.0, N))
    return nlp, rng.normal(size=jacobian_rows.size), of_hessian


@pytest.mark.parametrize("twice", [False, True])
def test_both_kinds_of_matrices_are_the_same(twice):
    nlp, jacobian, hessian = program(np.random.default_rng(0), twice)
    dense, sparse = Matrices(nlp, False), Matrices(nlp, True)
    A, B = dense.constraints(jacobian), sparse.constraints(jacobian)
    np.testing.assert_allclose(B.toarray(), A, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(B[2], A[2], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(B[[3, 1, M + 2]].toarray(), A[[3, 1, M + 2]], rtol=0.0, atol=1e-15)
    H, K = (shifted(kind.hessian(hessian), 0.5) for kind in (dense, sparse))
    np.testing.assert_allclose(K.toarray(), H, rtol=0.0, atol=1e-15)
    x, y = np.arange(N) - 5.0, np.arange(M + N) - 3.0
    np.testing.assert_allclose(B @ x, A @ x, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(B.T @ y, A.T @ y, rtol=0.0, atol=1e-13)
    if not twice:
        np.testing.assert_allclose(row_lengths(B), row_lengths(A), rtol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_constraints_come_and_go_in_both_kinds_of_factors_alike(seed):
    rng = np.random.default_rng(seed)
    nlp, jacobian, hessian = program(rng)
    dense, sparse = Matrices(nlp, False), Matrices(nlp, True)
    A, H = dense.constraints(jacobian), dense.hessian(hessian)
    active = [0, 3, M + 5]
    every = [
        factorized(H, A, active, {}),
        factorized(sparse.hessian(hessian), sparse.constraints(jacobian), active, {}),
    ]
    assert all(each.first.is_strict for each in every)
    added, dropped = [6, M + 1, M + 8], [3, M + 1, 0]  # of the first ones, and one that was added
    for constraint, side in [*((each, 1) for each in added), *((each, 0) for each in dropped), (3, 1)]:
        for factors in every:
            if side:
                factors.add(constraint, A[constraint])
            else:
                place = factors.active.index(constraint)
                assert factors.flexibility(place) < 0.0
                factors.drop(place)
        for factors in every:
            W = A[factors.active]
            K = np.block([[H, W.T], [W, np.zeros((len(W), len(W)))]])
            right = rng.normal(size=len(K))
            np.testing.assert_allclose(factors.solve(right), np.linalg.solve(K, right), atol=1e-10)
    assert sorted(every[0].active) == sorted(every[1].active)


def test_signs_of_pivots_tell_whether_the_hessian_is_positive_definite_along_the_constraints():
    """x^2 - y^2: along y = 0 it is, along x = 0 it is not."""
    nlp = quadratic_with_rows(np.diag([2.0, -2.0]), np.zeros(2), np.eye(2), [-1.0] * 2, [1.0] * 2)
    kinds = Matrices(nlp, is_sparse=True)
    H = kinds.hessian(nlp.hessian(np.zeros(2), np.zeros(2), 1.0))
    A = kinds.constraints(nlp.jacobian(np.zeros(2)))
    for row, strict in ((0, False), (1, True)):
        factors = factorized(H, A, [row], {})
        assert factors is not None and factors.first.is_strict is strict


def test_constraints_that_depend_on_each_other_have_no_sparse_factors():
    nlp = quadratic_with_rows(np.eye(2), np.zeros(2), [[1.0, 1.0], [2.0, 2.0]], [-1.0] * 2, [1.0] * 2)
    kinds = Matrices(nlp, is_sparse=True)
    H = kinds.hessian(nlp.hessian(np.zeros(2), np.zeros(2), 1.0))
    assert factorized(H, kinds.constraints(nlp.jacobian(np.zeros(2))), [0, 1], {}) is None


def test_a_limit_that_is_stated_twice_is_one_for_sparse_steps_too(monkeypatch):
    monkeypatch.setattr(matrices, "DENSEST", np.inf)
    A = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    lower, upper = np.array([-INF, -INF, 0.25]), np.array([1.0, 1.0, INF])
    nlp = quadratic_with_rows(2.0 * np.eye(2), [0.0, -4.0], A, lower, upper)
    start = WarmStart(np.array([0.0, 1.0]), np.array([1.0, 1.0, 0.0]), np.zeros(2), np.zeros(2))
    found = Fallback(ActiveSetNewton(1e-9), Ipopt()).solve(nlp, start)
    assert "Newton steps" in found.detail
    np.testing.assert_allclose(found.y, [0.25, 1.0], atol=1e-9)


def test_a_system_of_first_order_is_solved_again_by_sparse_steps():
    """A double integrator's least effort, from the optimum for another goal: a quadratic program."""
    mass = trajopt.system(states=("x", "v"), controls=("u",), rates=lambda node: [node.v, node.u])
    problem = trajopt.Problem(mass, trajopt.Trajectory.collocation(20, 3, duration=1.0))
    problem.control("u", -8.0, 8.0)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])

    @trajopt.term
    def effort(node):
        return node.u**2

    problem.minimize(effort)
    compiled = trajopt.compile(problem)
    first = compiled.solve()
    assert sparse_steps_pay(compiled.program()[0])
    warm, cold = compiled.solve(x_end=[1.1, 0.2], start=first), compiled.solve(x_end=[1.1, 0.2])
    assert "Newton steps" in warm.detail and warm.converged
    assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
    program, _ = compiled.program(x_end=[1.1, 0.2])
    assert warm.point is not None and kkt_residuals(program, warm.point).error <= 1e-9


@pytest.mark.long
def test_an_arm_that_is_solved_again_has_sparse_steps_until_they_fail(monkeypatch):
    """A hundred unknowns are enough; where limits depend on each other, dense steps follow for good."""
    small = trajopt.compile(problems.two_link_rr.build(intervals=6)).program()[0]
    compiled = trajopt.compile(problems.six_axis_arm.build(intervals=18))
    nlp = compiled.program()[0]
    assert sparse_steps_pay(nlp, often=True) and not sparse_steps_pay(nlp)
    assert not sparse_steps_pay(small, often=True)
    first, goal = compiled.solve(), [1.48, -0.9, 0.81, -0.4, -1.6, 0.8]
    warm, cold = compiled.solve(q_end=goal, start=first), compiled.solve(q_end=goal)
    assert "Newton steps" in warm.detail and compiled._matrices[0].is_sparse
    with monkeypatch.context() as patched:
        patched.setattr(SparseKkt, "exists", False)
        dense = compiled.solve(q_end=goal, start=first)
    assert not compiled._matrices[0].is_sparse
    again = compiled.solve(q_end=goal, start=first)
    assert [each.objective for each in (warm, dense, again)] == pytest.approx([cold.objective] * 3, rel=1e-9)


@pytest.mark.parametrize("n", [20, 60])
def test_dense_factors_refuse_constraints_that_depend_on_each_other(n):
    """Rounding leaves a pivot of up to 1e-13 of the largest entry; rows that are apart by 1e-4 are taken."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        H, k = rng.normal(size=(n, n)), int(rng.integers(2, n))
        H, A = (H @ H.T + 0.1 * np.eye(n)) / 10.0 ** rng.uniform(-3.0, 3.0), rng.normal(size=(k, n))
        A /= np.linalg.norm(A, axis=1)[:, None]
        A[-1] = rng.normal(size=k - 1) @ A[:-1]
        A[-1] /= np.linalg.norm(A[-1])
        assert not DenseKkt(H, A).exists
        A[-1] += 1e-4 * rng.normal(size=n)
        assert DenseKkt(H, A).is_strict
