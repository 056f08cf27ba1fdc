"""Four independent routes to the Christoffel symbols, theorem 1, and Safeea's article."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from paper_models import GEARED, PARENTS, STEP, largest, random_chain, random_model, state
from tiers import fast_first

import dynamics
from dynamics import ShapeError, TreeError
from dynamics.model.checks.mass_check import mass_matrix
from dynamics.papers.barman.newton_euler import newton_euler
from dynamics.papers.echeandia_wensing.christoffel_algorithm import christoffel_algorithm
from dynamics.papers.echeandia_wensing.coordinate_change import changed_matrices, changed_symbols
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm
from dynamics.papers.safeea.christoffel_recursion import (
    christoffel_symbols_serial,
    relative_error,
    safeea_recursion,
)
from dynamics.papers.safeea.operation_count import Tally, counted_chain, operation_count
from dynamics.papers.safeea.path_form import path_form
from dynamics.papers.safeea.serial_chain import serial_chain
from dynamics.papers.savin.lagrangian import Lagrangian

R, P = "revolute", "prismatic"
CHAINS = ((R, R, R, R, R, R), (R, P, R, P, R), (P, R, R, P, P), (P, P, R, R), (R,))


def symbols_of(mass_slope):
    """(4): Gamma_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) from dM_ij/dq_k."""
    return (mass_slope + mass_slope.transpose(0, 2, 1) - mass_slope.transpose(2, 1, 0)) / 2


def mass_slope(tree, q):
    """dM_ij / dq_k by complex step."""
    n = len(q)
    steps = [coriolis_algorithm(tree, q + 1j * STEP * unit, np.zeros(n)).M.imag / STEP for unit in np.eye(n)]
    return np.stack(steps, axis=-1)


@fast_first("kinds", CHAINS, 2)
def test_four_routes_to_the_symbols_of_a_chain_agree(kinds):
    model = random_chain(len(kinds), kinds, offset=0.4)
    q = state(1, model.n)[0]
    tree = christoffel_algorithm(model, q)
    scale = max(np.abs(tree).max(), 1.0)
    assert np.abs(christoffel_symbols_serial(model, q) - tree).max() < 1e-12 * scale
    assert np.abs(symbols_of(mass_slope(model, q)) - tree).max() < 1e-12 * scale
    assert np.abs(Lagrangian(model).christoffel_symbols(q) - tree).max() < 1e-12 * scale


@fast_first("rotors", ["exact", "armature", "none"], 1)
def test_three_routes_to_the_symbols_of_a_branched_geared_tree_agree(rotors):
    model = random_model(2, geared=GEARED).with_rotors(rotors)
    q = state(3, model.n)[0]
    tree = christoffel_algorithm(model, q)
    assert largest(symbols_of(mass_slope(model, q)) - tree, tree) < 1e-12
    assert largest(Lagrangian(model).christoffel_symbols(q) - tree, tree) < 1e-12


def test_symbols_are_symmetric_and_give_slopes_of_the_mass_matrix_and_the_coriolis_matrix():
    model = random_model(4, geared=GEARED)
    q, v, _ = state(5, model.n)
    gamma = christoffel_algorithm(model, q)
    assert np.array_equal(gamma, gamma.transpose(0, 2, 1))
    slope = mass_slope(model, q)
    assert largest(gamma + gamma.transpose(1, 0, 2) - slope, slope) < 1e-12
    assert largest(gamma @ v - coriolis_algorithm(model, q, v).C, gamma) < 1e-12


def test_symbols_off_the_branch_are_exact_zeros():
    model = random_model(6)
    gamma = christoffel_algorithm(model, state(7, model.n)[0])
    above = [{i} for i in range(model.n)]
    for i, parent in enumerate(PARENTS):
        above[i] |= above[parent] if parent >= 0 else set()
    related = np.array([[i in above[j] or j in above[i] for j in range(model.n)] for i in range(model.n)])
    mutual = related[:, :, None] & related[:, None, :] & related[None, :, :]
    assert not mutual.all()
    assert (gamma[~mutual] == 0.0).all()


def bent(qbar):
    """A nonlinear change of coordinates q(qbar)."""
    return 1.3 * qbar + 0.2 * np.sin(np.roll(qbar, 1)) + 0.1 * qbar * np.roll(qbar, -2)


def bent_jacobian(qbar):
    """A = dq/dqbar, (n, n), analytic so that a complex step can differentiate it again."""
    n, unit = len(qbar), np.eye(len(qbar))
    columns = [
        1.3 * e
        + 0.2 * np.cos(np.roll(qbar, 1)) * np.roll(e, 1)
        + 0.1 * (e * np.roll(qbar, -2) + qbar * np.roll(e, -2))
        for e in unit
    ]
    return np.stack(columns, axis=1).reshape(n, n)


def test_theorem_1_the_change_of_coordinates_keeps_the_christoffel_consistent_matrix():
    model = random_model(8, geared=GEARED)
    qbar, vbar, _ = state(9, model.n) * 0.5
    q, A = bent(qbar), bent_jacobian(qbar)
    along = np.stack([bent(qbar + 1j * STEP * e).imag / STEP for e in np.eye(model.n)], axis=1)
    assert np.abs(A - along).max() < 1e-14
    gradient = np.stack([bent_jacobian(qbar + 1j * STEP * e).imag / STEP for e in np.eye(model.n)], axis=-1)
    slopes = []
    for e in np.eye(model.n):
        moved = qbar + 1j * STEP * e
        J = bent_jacobian(moved)
        slopes.append((J.T @ coriolis_algorithm(model, bent(moved), 0 * vbar).M @ J).imag / STEP)
    expected = symbols_of(np.stack(slopes, axis=-1))
    inner = coriolis_algorithm(model, q, A @ vbar)
    symbols = changed_symbols(christoffel_algorithm(model, q), inner.M, A, gradient)
    changed = changed_matrices(inner.M, inner.C, A, gradient @ vbar)
    assert largest(symbols - expected, expected) < 1e-12
    assert largest(changed.C - expected @ vbar, expected @ vbar) < 1e-12


def test_a_batch_equals_a_loop_and_a_second_call():
    model = random_chain(10, (R, P, R, R))
    q = np.random.default_rng(11).normal(size=(2, 3, 4))
    batch = christoffel_symbols_serial(model, q)
    assert batch.shape == (2, 3, 4, 4, 4)
    assert np.array_equal(batch, christoffel_symbols_serial(model, q))
    for index in np.ndindex(2, 3):
        assert np.abs(batch[index] - christoffel_symbols_serial(model, q[index])).max() < 1e-13


def test_the_public_name_is_safeeas_recursion():
    assert dynamics.christoffel_symbols_serial is christoffel_symbols_serial


def test_rotors_as_armature_leave_a_chain_serial():
    model = random_model(12, (-1, 0, 1), (R, R, R), (True, True, True)).with_rotors("armature")
    q = state(13, 3)[0]
    expected = christoffel_algorithm(model, q)
    assert largest(christoffel_symbols_serial(model, q) - expected, expected) < 1e-12


def test_safeea_refuses_branches_and_wrong_shapes():
    with pytest.raises(TreeError, match="needs a serial chain of 7 joints"):
        christoffel_symbols_serial(random_model(1), np.zeros(7))
    with pytest.raises(TreeError, match="with_rotors"):
        christoffel_symbols_serial(random_model(1, (-1, 0), (R, R), (True, True)), np.zeros(2))
    with pytest.raises(ShapeError, match=r"q has shape \(3,\) but the model has n = 2 joints"):
        christoffel_symbols_serial(random_chain(1, (R, R)), np.zeros(3))


def test_error_metric_of_safeea_ignores_zeros_and_counts_all_symbols():
    reference = np.zeros((2, 2, 2))
    reference[0, 0, 1], reference[1, 1, 1] = 1.0, -3.0
    assert relative_error(reference, reference) == 0.0
    # One symbol of eight off by one percent: e = 2/8 * 0.01 / 2.01.
    off = reference.copy()
    off[0, 0, 1] = 1.01
    assert relative_error(off, reference) == pytest.approx(0.25 * 0.01 / 2.01)


def counted_run(n):
    model = random_chain(n, (R,) * n)
    tally = Tally()
    safeea_recursion(counted_chain(serial_chain(model, state(14, n)[0]), tally))
    return tally


def test_operation_count_is_a_cubic_below_that_of_table_2():
    count = operation_count(counted_run)
    assert count.additions == (7, 13, 54, -3)
    assert count.multiplications == (Fraction(15, 2), Fraction(39, 2), 75, 0)
    eight = counted_run(8)
    assert eight.additions == 7 * 8**3 + 13 * 8**2 + 54 * 8 - 3
    published = 12 * 8**3 + 19 * 8**2 + 40 * 8 - 1
    assert eight.additions < published


def test_counted_numbers_compute_what_floats_compute():
    model, q = random_chain(15, (R, R, R)), state(16, 3)[0]
    counted = safeea_recursion(counted_chain(serial_chain(model, q), Tally()))
    values = np.vectorize(lambda number: number.value)(counted)
    assert np.abs(values - christoffel_symbols_serial(model, q)).max() < 1e-13


@pytest.mark.parametrize("kinds", CHAINS[:3])
def test_path_form_gives_the_torques_of_travelling_along_a_path(kinds):
    model = random_chain(17, kinds)
    q, slope, bend = state(18, model.n)
    rate, acceleration = 1.7, -0.6
    form = path_form(model, q, slope, bend)
    expected = newton_euler(model, q, slope * rate, slope * acceleration + bend * rate**2).tau
    assert largest(form.torque(rate, acceleration) - expected, expected) < 1e-12


def test_modified_dh_table_and_tree_give_the_same_symbols():
    rows = [
        {
            "a": a,
            "alpha": alpha,
            "d": d,
            "mass": 1.0 + d,
            "centre_of_mass": (0.1, 0.2, 0.3),
            "inertia": np.eye(3),
        }
        for a, alpha, d in state(19, 5).T * 0.5 + 0.2
    ]
    model = dynamics.from_modified_dh(rows)
    q = state(20, 5)[0]
    slope = np.stack(
        [(mass_matrix(model, q + 1e-6 * e) - mass_matrix(model, q - 1e-6 * e)) / 2e-6 for e in np.eye(5)], -1
    )
    symbols = christoffel_symbols_serial(model, q)
    assert largest(symbols - christoffel_algorithm(model, q), symbols) < 1e-13
    assert largest(symbols - symbols_of(slope), symbols) < 1e-8  # the limit of central differences
