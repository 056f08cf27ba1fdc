"""The condensed system gives Newton's direction, and a matrix with the right signs of its eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
from small_nlps import INF, quadratic_with_rows

from trajopt.solvers.interior import line_search
from trajopt.solvers.interior.band_kernels import add_row_residuals, refined_solution
from trajopt.solvers.interior.line_search import centred
from trajopt.solvers.interior.newton_step import EXACT, CondensedSystem, NewtonStep, Residuals, Shifts
from trajopt.solvers.interior.slack_program import Iterate, Multipliers, SlackProgram
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
    y, z = rng.standard_normal(program.slack_count + equations), rng.uniform(0.1, 2.0, program.side.size)
    return nlp, program, Iterate(point, program.slopes(x), Multipliers(y, z))


def full_slopes(program, slopes):
    """G (rows, n) as a matrix."""
    layout = program.layout
    G = np.zeros((layout.row_count, layout.n))
    G[np.repeat(np.arange(layout.row_count), np.diff(layout.starts)), layout.columns] = slopes.values
    return G


def test_the_direction_solves_the_whole_linear_system_of_the_optimality_conditions():
    nlp, program, at = iterate()
    barrier, n, s, p = 0.3, program.n, program.slack_count, program.side.size
    point, (y, z) = at.point, at.multipliers
    direction = NewtonStep(program, at, barrier, Shifts()).direction(barrier)
    H = nlp.full_hessian(nlp.start, np.zeros(nlp.row_count), 1.0)[np.ix_(program.free, program.free)]
    G = full_slopes(program, at.slopes)
    m = len(G)
    P = np.zeros((p, m))
    P[np.arange(p), program.side] = program.sign
    of_slacks = np.eye(m)[:, :s]
    zero = np.zeros
    # Unknowns dx, ds, dy, dz; the conditions of the module's docstring, line by line.
    K = np.block(
        [
            [H, zero((n, s)), G.T, zero((n, p))],
            [zero((s, n)), zero((s, s)), -of_slacks.T, -P[:, :s].T],
            [G, -of_slacks, zero((m, m)), zero((m, p))],
            [zero((p, n)), z[:, None] * P[:, :s], zero((p, m)), np.diag(point.t)],
        ]
    )
    right = -np.concatenate(
        [at.slopes.g + G.T @ y, -y[:s] - P[:, :s].T @ z, point.apart, point.t * z - barrier]
    )
    dx, ds, dy, dz = np.split(np.linalg.solve(K, right), np.cumsum([n, s, m]))
    np.testing.assert_allclose(direction.dx, dx, atol=1e-10)
    np.testing.assert_allclose(direction.ds, ds, atol=1e-10)
    np.testing.assert_allclose(direction.y, y + dy, atol=1e-9)
    np.testing.assert_allclose(direction.dz, dz, atol=1e-9)


@pytest.mark.parametrize("steepness", [1.0, 1e5, 1e6])
def test_a_direction_is_refined_to_its_tolerance_or_to_what_rounding_leaves(steepness):
    """Third differences of 40 unknowns, which steep rows know to eps |G| |x| and no better."""
    n = 40
    G = steepness * np.diff(np.eye(n), 3, axis=0)
    nlp = quadratic_with_rows(np.eye(n), np.zeros(n), G, np.full(n - 3, -1.0), np.ones(n - 3))
    program = SlackProgram(Monitor(nlp, None, None, feasibility=1e-6))
    x, rng = np.linspace(-1.0, 1.0, n), np.random.default_rng(0)
    point = program.point(x, np.zeros(n - 3))
    at = Iterate(
        point, program.slopes(x), Multipliers(np.zeros(n - 3), rng.uniform(0.1, 1.0, program.sign.size))
    )
    system = NewtonStep(program, at, 0.1, Shifts()).system
    of_unknowns, of_rows = rng.standard_normal(n), np.zeros(n - 3)
    dx, y, applied, left = refined_solution(*system.factors, of_unknowns, of_rows, EXACT, 14)
    G = full_slopes(program, at.slopes)
    known = np.finfo(float).eps * float(np.linalg.norm(np.abs(G) @ np.abs(dx)))
    size = float(np.linalg.norm(of_unknowns))
    found = [np.zeros(n - 3), np.zeros(n), np.zeros(n - 3)]
    rows = (*program.layout.row_arrays, at.slopes.values, system.D, system.flexibility, of_rows, dx)
    length = add_row_residuals(*rows, *found)
    assert length == pytest.approx(known / np.finfo(float).eps, rel=1e-12)
    G, dx, y = (np.asarray(each, dtype=np.longdouble) for each in (G, dx, y))
    missed = np.concatenate([of_unknowns - dx - G.T @ y, of_rows - G @ dx + system.flexibility * y])
    assert np.linalg.norm(missed.astype(float)) <= max(EXACT * size, 4.0 * known)
    assert applied <= 4 and left <= max(EXACT, 2.0 * known / size)


def test_residuals_are_those_of_the_conditions():
    _, program, at = iterate(1)
    y, z = at.multipliers
    G, count = full_slopes(program, at.slopes), program.slack_count
    residuals = Residuals(program, at)
    of_unknowns = at.slopes.g + G.T @ y
    np.testing.assert_allclose(residuals.of_unknowns, of_unknowns, atol=1e-12)
    np.testing.assert_allclose(
        residuals.of_slacks, y[:count] + program.by_slack(program.sign * z), atol=1e-14
    )
    expected = max(
        np.abs(of_unknowns).max(),
        np.abs(residuals.of_slacks).max(),
        np.abs(at.point.apart).max(),
        np.abs(at.point.t * z - 0.2).max(),
    )
    assert residuals.error(0.2) == pytest.approx(expected)  # multipliers this small are not scaled


def test_products_of_gaps_are_divided_by_the_size_of_large_multipliers():
    """s_c of Wächter and Biegler (2006), equation 6: the mean multiplier of limits by 100."""
    _, program, at = iterate(1)
    z = np.full_like(at.multipliers.z, 3e4)
    point = at.point._replace(t=np.full_like(at.point.t, 7.0))
    residuals = Residuals(program, at._replace(point=point, multipliers=at.multipliers._replace(z=z)))
    by_products = (7.0 * 3e4 - 0.2) / 300.0
    assert residuals.error(0.2) == pytest.approx(max(residuals.infeasibility, by_products))
    assert residuals.infeasibility < by_products


def test_a_kept_correction_brings_products_towards_the_barrier_and_lengthens_the_steps(monkeypatch):
    """Gondzio's correctors: products beyond a tenth and ten times the barrier, at steps .3 longer."""
    monkeypatch.setattr(line_search, "CORRECTIONS", 1)
    barrier, kept = 0.1, 0
    for seed in range(20):
        _, program, at = iterate(seed)
        newton, t, z = NewtonStep(program, at, barrier, Shifts()), at.point.t, at.multipliers.z
        plain = newton.direction(barrier)
        primal, dual = newton.lengths(plain)
        target, step = centred(newton, np.full(t.size, barrier), barrier)
        if (target == barrier).all():
            continue
        kept += 1
        assert sum(newton.lengths(step)) > primal + dual + 0.02
        ahead = (t + min(1.0, primal + 0.3) * plain.dt) * (z + min(1.0, dual + 0.3) * plain.dz)
        expected = barrier + np.clip(ahead, 0.1 * barrier, 10.0 * barrier) - ahead
        assert target == pytest.approx(np.maximum(expected, -9.0 * barrier))
    assert kept >= 3


def without_limits(H, C, shifts):
    """The condensed system of a program whose only rows are equations."""
    n, zeros = len(H), np.zeros(len(C))
    nlp = quadratic_with_rows(H, np.zeros(n), C, zeros, zeros)
    program = SlackProgram(Monitor(nlp, None, None, feasibility=1e-6))
    x = np.zeros(n)
    H, values = program.hessian(x, Multipliers(zeros, np.zeros(0))), program.slopes(x).values
    return CondensedSystem(program.layout, H, values, zeros, shifts)


@pytest.mark.parametrize("equations", [0, 2])
def test_a_hessian_that_curves_down_is_shifted_until_it_curves_up_along_the_equations(equations):
    rng = np.random.default_rng(2)
    n = 6
    H = rng.standard_normal((n, n))
    H = H + H.T - 2.0 * np.eye(n)
    C = rng.standard_normal((equations, n))
    shifts = Shifts()
    system = without_limits(H, C, shifts)
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


def test_an_error_beyond_rounding_leaves_out_what_the_rounding_of_unknowns_explains_and_no_more():
    """Distances of 4 eps |g| |x| of a row with slopes g at x are zero, and none above 1e-6 is."""
    slope, eps = np.array([3e7, -4e7]), np.finfo(float).eps
    for factor, share, counts in ((1.0, 0.9, False), (1.0, 1.1, True), (1e6, 0.9, True), (0.0, 1.0, False)):
        nlp = quadratic_with_rows(np.eye(2), [0.0, 0.0], [factor * slope], [-1.0], [1.0])
        program = SlackProgram(Monitor(nlp, None, None, feasibility=1e-6))
        x = np.array([2.0, -1.0])
        distance = share * 4.0 * eps * factor * float(np.abs(slope * x).sum())
        point = program.point(x, np.zeros(1))._replace(apart=np.array([distance]))
        slopes = program.slopes(x)._replace(g=np.zeros(2))
        residuals = Residuals(program, Iterate(point, slopes, Multipliers(np.zeros(1), np.zeros(2))))
        assert residuals.error() == distance
        assert residuals.error_beyond_rounding() == (distance if counts else 0.0)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e17])
def test_multipliers_that_cancel_leave_the_rounding_of_their_sum(size):
    """One equation three times at an optimum: beyond a million its gradient is known to eps |G|' |y|."""
    nlp = quadratic_with_rows(np.eye(2), np.zeros(2), [[3.0, -1.0]] * 3, np.zeros(3), np.zeros(3))
    program = SlackProgram(Monitor(nlp, None, None, feasibility=1e-6))
    x, y = np.zeros(2), size * np.array([1.0, 1.0, -2.0])
    at = Iterate(program.point(x, np.zeros(0)), program.slopes(x), Multipliers(y, np.zeros(0)))
    residuals = Residuals(program, at)
    rounding = np.finfo(float).eps * 3.0 * 4.0 * size if size > 1e6 else 0.0
    assert residuals.dual == residuals.error() == 0.0
    assert residuals.undivided_dual() == pytest.approx(rounding, rel=1e-12)
