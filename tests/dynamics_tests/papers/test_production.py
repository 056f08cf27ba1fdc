"""The production matrices, symbols and accelerations against the papers' algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from paper_models import GEARED, largest, random_chain, random_model, state

import dynamics
from dynamics.papers.echeandia_thesis.gauss_principle import gauss_accelerations
from dynamics.papers.echeandia_thesis.maba import maba
from dynamics.papers.echeandia_wensing.christoffel_algorithm import christoffel_algorithm
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm


@pytest.fixture(params=["exact", "armature", "none"])
def model(request):
    return random_model(1, geared=GEARED).with_rotors(request.param)


def test_production_matrices_are_those_of_algorithm_1(model):
    q, v, _ = state(2, model.n)
    expected, production = coriolis_algorithm(model, q, v), dynamics.coriolis_matrix(model, q, v)
    for name in ("M", "Mdot", "C"):
        assert largest(getattr(production, name) - getattr(expected, name), getattr(expected, name)) < 1e-12
    assert largest(dynamics.crba(model, q) - expected.M, expected.M) < 1e-12


def test_production_symbols_are_those_of_algorithm_2(model):
    q = state(3, model.n)[0]
    expected = christoffel_algorithm(model, q)
    assert largest(dynamics.christoffel_symbols(model, q) - expected, expected) < 1e-12


def test_production_symbols_of_a_chain_are_those_of_safeeas_recursion_for_whole_batches():
    chain = random_chain(4, ("revolute", "prismatic", "revolute", "revolute"))
    q = np.random.default_rng(5).normal(size=(2, 3, 4))
    expected = dynamics.christoffel_symbols_serial(chain, q)
    assert largest(dynamics.christoffel_symbols(chain, q) - expected, expected) < 1e-12


def test_production_accelerations_are_those_of_maba(model):
    q, v, tau = state(6, model.n)
    expected = maba(model, q, v, tau)
    assert largest(dynamics.aba(model, q, v, tau) - expected, expected) < 1e-11


def test_production_accelerations_minimize_the_constraint_of_gauss():
    model = random_model(7, geared=GEARED)
    q, v, tau = state(8, model.n)
    expected = gauss_accelerations(model, q, v, tau)
    assert largest(dynamics.aba(model, q, v, tau) - expected, expected) < 1e-11
