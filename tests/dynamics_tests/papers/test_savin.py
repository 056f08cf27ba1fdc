"""Savin's lecture: forms of C v, and generalized forces against Newton and Euler."""

from __future__ import annotations

import numpy as np
import pytest
from paper_models import GEARED, largest, random_model, state

from dynamics.papers.barman.newton_euler import Load, newton_euler
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm
from dynamics.papers.savin.lagrangian import Lagrangian


@pytest.fixture(scope="module")
def model():
    return random_model(1, geared=GEARED)


@pytest.fixture(scope="module")
def lagrangian(model):
    return Lagrangian(model)


def test_mass_and_coriolis_matrix_are_those_of_the_recursion(model, lagrangian):
    q, v, _ = state(2, model.n)
    expected = coriolis_algorithm(model, q, v)
    assert largest(lagrangian.mass_matrix(q) - expected.M, expected.M) < 1e-12
    assert largest(lagrangian.coriolis_matrix(q, v) - expected.C, expected.C) < 1e-12


def test_direct_and_kronecker_form_give_the_same_product(model, lagrangian):
    q, v, _ = state(3, model.n)
    expected = coriolis_algorithm(model, q, v).C @ v
    assert largest(lagrangian.coriolis_direct(q, v) - expected, expected) < 1e-12
    assert largest(lagrangian.coriolis_kronecker(q, v) - expected, expected) < 1e-12


def test_the_matrix_read_off_the_kronecker_form_is_not_admissible(model, lagrangian):
    q, v, _ = state(4, model.n)
    C, expected = lagrangian.kronecker_matrix(q, v), coriolis_algorithm(model, q, v)
    assert largest(C @ v - expected.C @ v, expected.C @ v) < 1e-12
    assert largest(C + C.T - expected.Mdot, expected.Mdot) > 1e-2


def test_forces_and_torques_on_a_link_relieve_the_joints_by_their_generalized_forces(model):
    links = model.with_rotors("none")  # so that bodies of the Lagrangian are links
    lagrangian = Lagrangian(links)
    q = state(5, links.n)[0]
    force, torque, point = state(6, 3)
    at_rest = (q, 0 * q, 0 * q)
    relief = (
        newton_euler(links, *at_rest).tau
        - newton_euler(links, *at_rest, [Load("link6", force, torque, point)]).tau
    )
    expected = lagrangian.force(6, point, force, q) + lagrangian.torque(6, torque, q)
    assert largest(relief - expected, expected) < 1e-12


def test_gravity_and_springs_are_slopes_of_their_potentials(model, lagrangian):
    q = state(7, model.n)[0]
    weight = newton_euler(model, q, 0 * q, 0 * q).tau
    found = lagrangian.conservative(lagrangian.gravity_potential(), q)
    assert largest(found + weight, weight) < 1e-12  # g of (22) stands on the right-hand side
    pulled = lagrangian.conservative(lagrangian.spring_potential({1: (50.0, 0.2), 4: (3.0, 0.0)}), q)
    expected = np.zeros(model.n)
    expected[1], expected[4] = -50.0 * (q[1] - 0.2), -3.0 * q[4]
    assert np.abs(pulled - expected).max() < 1e-12
