"""The condensed system gives Newton's direction, and a matrix with the right signs of its eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
from small_nlps import INF, quadratic_with_rows

from trajopt.solvers.dense.condensed_system import CondensedSystem, Shifts
from trajopt.solvers.dense.newton_step import NewtonStep, Residuals, longest
from trajopt.solvers.dense.slack_program import Iterate, Multipliers, SlackProgram, Slopes
from trajopt.solvers.monitor import Monitor


def iterate(seed=0, n=5, rows=7, equations=2):
    """A program with limits on one side, on both, of unknowns, and none; and a random iterate inside them."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, n))
    lower, upper = np.full(rows, -1.0), np.full(rows, 2.0)
    lower[:equations] = upper[:equations] = rng.standard_normal(equations)
    lower[equations], upper[equations + 1] = -INF, INF
    lower[equations + 2], upper[equations + 2] = -INF, INF
    bounds = {"lower": np.array([-3.0, -INF, -3.0, -INF, -INF]), "upper": np.array([3.0, 3.0, INF, INF, INF])}
    nlp = quadratic_with_rows(
        M @ M.T, rng.standard_normal(n), rng.standard_normal((rows, n)), lower, upper, **bounds
    )
    monitor = Monitor(nlp, None, None, feasibility=1e-6)
    program = SlackProgram(monitor)
    x = rng.uniform(-0.5, 0.5, n)
    point = program.point(x, program.inside(rng.uniform(-0.5, 0.5, program.slack_count), 1e-2))
    y, z = rng.standard_normal(program.slack_count), rng.uniform(0.1, 2.0, program.side.size)
    multipliers = Multipliers(y, rng.standard_normal(equations), z)
    return nlp, program, Iterate(point, program.slopes(x), multipliers)


def test_the_direction_solves_the_whole_linear_system_of_the_optimality_conditions():
    nlp, program, at = iterate()
    barrier, n, s, p = 0.3, program.n, program.slack_count, program.side.size
    point, (y, of_equations, z) = at.point, at.multipliers
    direction = NewtonStep(program, at, barrier, Shifts()).direction(barrier)
    H = nlp.full_hessian(nlp.start, np.zeros(nlp.row_count), 1.0)
    A = np.concatenate([at.slopes.J, np.eye(n)[program.bounded]])
    C = at.slopes.C
    P = np.zeros((p, s))
    P[np.arange(p), program.side] = program.sign
    zero = np.zeros
    q = len(C)
    # Unknowns dx, ds, dy, d(equations), dz; the conditions of the module's docstring, line by line.
    K = np.block(
        [
            [H, zero((n, s)), A.T, C.T, zero((n, p))],
            [zero((s, n)), zero((s, s)), -np.eye(s), zero((s, q)), -P.T],
            [A, -np.eye(s), zero((s, s)), zero((s, q)), zero((s, p))],
            [C, zero((q, s)), zero((q, s)), zero((q, q)), zero((q, p))],
            [zero((p, n)), z[:, None] * P, zero((p, s)), zero((p, q)), np.diag(point.t)],
        ]
    )
    right = -np.concatenate(
        [
            at.slopes.g + A.T @ y + C.T @ of_equations,
            -y - P.T @ z,
            point.G - point.s,
            point.c,
            point.t * z - barrier,
        ]
    )
    dx, ds, dy, d_equations, dz = np.split(np.linalg.solve(K, right), np.cumsum([n, s, s, q]))
    np.testing.assert_allclose(direction.dx, dx, atol=1e-10)
    np.testing.assert_allclose(direction.ds, ds, atol=1e-10)
    np.testing.assert_allclose(direction.y, y + dy, atol=1e-9)
    np.testing.assert_allclose(direction.of_equations, of_equations + d_equations, atol=1e-9)
    np.testing.assert_allclose(direction.dz, dz, atol=1e-9)


def test_residuals_are_those_of_the_conditions():
    _, program, at = iterate(1)
    y, of_equations, z = at.multipliers
    A = np.concatenate([at.slopes.J, np.eye(program.n)[program.bounded]])
    residuals = Residuals(program, at)
    of_unknowns = at.slopes.g + A.T @ y + at.slopes.C.T @ of_equations
    np.testing.assert_allclose(residuals.of_unknowns, of_unknowns, atol=1e-12)
    expected = max(
        np.abs(of_unknowns).max(),
        np.abs(residuals.of_slacks).max(),
        np.abs(at.point.G - at.point.s).max(),
        np.abs(at.point.c).max(),
        np.abs(at.point.t * z - 0.2).max(),
    )
    assert residuals.error(0.2) == pytest.approx(expected)  # multipliers this small are not scaled


def without_limits(H, C, shifts):
    """The condensed system of a program whose only rows are equations."""
    n = len(H)
    unknowns = quadratic_with_rows(np.eye(n), np.zeros(n), np.empty((0, n)), np.empty(0), np.empty(0))
    program = SlackProgram(Monitor(unknowns, None, None, feasibility=1e-6))
    return CondensedSystem(program, H, Slopes(np.zeros(n), np.empty((0, n)), C), np.empty(0), 1e-2, shifts)


@pytest.mark.parametrize("equations", [0, 2])
def test_a_hessian_that_curves_down_is_shifted_until_it_curves_up_along_the_equations(equations):
    rng = np.random.default_rng(2)
    n = 6
    H = rng.standard_normal((n, n))
    H = H + H.T - 2.0 * np.eye(n)
    C = rng.standard_normal((equations, n))
    shifts = Shifts()
    system = without_limits(np.tril(H), C, shifts)
    basis = np.linalg.svd(C)[2][equations:].T if equations else np.eye(n)
    assert np.linalg.eigvalsh(basis.T @ H @ basis).min() < 0.0
    assert system.shift is not None
    shifted = H + system.shift * np.eye(n)
    assert np.linalg.eigvalsh(basis.T @ shifted @ basis).min() > 0.0
    assert shifts.last == system.shift
    right, below = rng.standard_normal(n), rng.standard_normal(equations)
    dx, multipliers = system.solve(right, below)
    np.testing.assert_allclose(shifted @ dx + C.T @ multipliers, right, atol=1e-9)
    np.testing.assert_allclose(C @ dx, below, atol=1e-9)


def test_a_second_shift_begins_with_a_third_of_the_last():
    none = np.empty((0, 2))
    shifts = Shifts(last=30.0)
    assert without_limits(-np.eye(2), none, shifts).shift == pytest.approx(10.0)
    assert without_limits(np.eye(2), none, shifts).shift == 0.0
    assert shifts.last == pytest.approx(10.0)


def test_the_longest_step_leaves_the_share_of_the_value_that_falls_fastest():
    assert longest(np.array([1.0, 2.0]), np.array([-2.0, -1.0]), 0.99) == pytest.approx(0.495)
    assert longest(np.array([1.0, 2.0]), np.array([5.0, -1.0]), 0.99) == 1.0
    assert longest(np.empty(0), np.empty(0), 0.99) == 1.0
