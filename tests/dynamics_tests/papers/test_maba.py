"""Forward dynamics with rotors: the corrected algorithm, Gauss' principle, each misprint, and tables 4.2 to
4.5.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from paper_models import GEARED, largest, random_model, random_rotor, state  # pyright: ignore
from tiers import fast_first

from dynamics import Body, InertiaError, Joint, RigidBodyModel, TreeError, UnknownNameError
from dynamics.model.rotor import Rotor
from dynamics.papers.barman.newton_euler import newton_euler
from dynamics.papers.echeandia_thesis.gauss_principle import gauss_accelerations
from dynamics.papers.echeandia_thesis.maba import maba
from dynamics.papers.echeandia_thesis.maba_as_printed import MISPRINTS, maba_as_printed
from dynamics.papers.echeandia_thesis.mcrba import gravity_forces, mcrba
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm
from dynamics.papers.trees.autotree import autotree


@pytest.fixture
def model():
    return random_model(1, geared=GEARED)


def constrained_spanning_tree(model, q, v, tau):
    """(G' M G)^-1 (tau - G' C G v - G' g), of the tree in which every rotor moves on its own."""
    matrices = coriolis_algorithm(model, q, v)
    return np.linalg.solve(matrices.M, tau - matrices.C @ v - gravity_forces(model, q))


@pytest.mark.parametrize("rotors", ["exact", "armature", "none"])
def test_maba_equals_the_constrained_spanning_tree(model, rotors):
    treated = model.with_rotors(rotors)
    q, v, tau = state(2, model.n)
    expected = constrained_spanning_tree(treated, q, v, tau)
    assert largest(maba(treated, q, v, tau) - expected, expected) < 1e-11


@pytest.mark.parametrize("rotors", ["exact", "none"])
def test_maba_minimizes_the_constraint_of_gauss(model, rotors):
    treated = model.with_rotors(rotors)
    q, v, tau = state(3, model.n)
    expected = gauss_accelerations(treated, q, v, tau)
    assert largest(maba(treated, q, v, tau) - expected, expected) < 1e-11


def test_forward_dynamics_inverts_newton_and_euler(model):
    q, v, a = state(4, model.n)
    tau = newton_euler(model, q, v, a).tau
    assert largest(maba(model, q, v, tau) - a, a) < 1e-11


@pytest.mark.parametrize("place", [0, 2, 6])
def test_exactly_one_rotor_at_the_base_on_a_sibling_or_on_a_leaf(place):
    model = random_model(5, geared=[i == place for i in range(7)])
    q, v, tau = state(6, model.n)
    expected = gauss_accelerations(model, q, v, tau)
    assert largest(maba(model, q, v, tau) - expected, expected) < 1e-11
    assert largest(maba(model.with_rotors("none"), q, v, tau) - expected, expected) > 1e-4


def test_without_rotors_it_is_the_articulated_body_algorithm(model):
    q, v, tau = state(7, model.n)
    weightless = RigidBodyModel(
        tuple(
            replace(body, joint=replace(body.joint, rotor=body.joint.rotor and Rotor(5.0)))
            for body in model.bodies
        )
    )
    expected = maba(model.with_rotors("none"), q, v, tau)
    assert largest(maba(weightless, q, v, tau) - expected, expected) < 1e-12


def test_mending_every_misprint_of_algorithm_6_gives_the_corrected_algorithm(model):
    q, v, tau = state(8, model.n)
    expected = maba(model, q, v, tau)
    assert largest(maba_as_printed(model, q, v, tau, MISPRINTS) - expected, expected) < 1e-12


@pytest.mark.parametrize("misprint", MISPRINTS)
def test_each_misprint_of_algorithm_6_alone_spoils_the_accelerations(model, misprint):
    q, v, tau = state(9, model.n)
    others = [name for name in MISPRINTS if name != misprint]
    expected = maba(model, q, v, tau)
    assert largest(maba_as_printed(model, q, v, tau, others) - expected, expected) > 1e-3  # pyright: ignore


def test_algorithm_6_as_printed_does_not_invert_newton_and_euler(model):
    q, v, a = state(10, model.n)
    weightless = model.with_gravity((0, 0, 0))
    tau = newton_euler(weightless, q, v, a).tau
    assert largest(maba_as_printed(weightless, q, v, tau) - a, a) > 1e-2


def test_an_unknown_misprint_is_an_error(model):
    with pytest.raises(UnknownNameError, match="no misprint 'commas'; they are cross terms, torque"):
        maba_as_printed(model, *state(1, 7), mended=["commas"])  # pyright: ignore


def test_joints_that_share_a_coordinate_are_refused():
    inertia = np.eye(3)
    bodies = [
        Body("a", Joint("turn"), None, 1.0, np.zeros(3), inertia),
        Body("b", Joint("copy", mimics="turn"), "a", 1.0, np.ones(3), inertia),
    ]
    with pytest.raises(TreeError, match="2 joints share 1 coordinates"):
        maba(RigidBodyModel(tuple(bodies)), np.zeros(1), np.zeros(1), np.zeros(1))


def test_gauss_principle_refuses_a_massless_body():
    inertia = np.eye(3)
    bodies = [
        Body("hollow", Joint("turn")),
        Body("solid", Joint("tilt", axis=np.array([1.0, 0, 0])), "hollow", 1.0, np.ones(3), inertia),
    ]
    with pytest.raises(InertiaError, match="body 'hollow' has a singular spatial inertia"):
        gauss_accelerations(RigidBodyModel(tuple(bodies)), np.zeros(2), np.zeros(2), np.zeros(2))


def test_gauss_principle_names_a_singular_rotor():
    rng = np.random.default_rng(11)
    rotor = replace(random_rotor(rng), mass=0.0)
    body = Body("arm", Joint("turn", rotor=rotor), None, 1.0, np.ones(3), np.eye(3))
    with pytest.raises(InertiaError, match="the rotor of joint 'turn'"):
        gauss_accelerations(RigidBodyModel((body,)), np.zeros(1), np.zeros(1), np.zeros(1))


# --- the thesis' own tables ---------------------------------------------------------------------------

# "Rotors have a mass of 0.5 kg and a gear ratio of 5"; 1 kg m^2 about the axis is what reproduces the tables.
THESIS_ROTOR = Rotor(5.0, 0.5, np.diag([0.5, 0.5, 1.0]))
TABLE_4_3 = {5: 23.15, 10: 39.18, 15: 57.79}
TABLE_4_4 = {5: 28.19, 10: 79.69, 15: 179.47}
TABLE_4_5 = {5: 84.06, 10: 179.53, 15: 836.16}


def thesis_case(count, branching, rate=0.0):
    numbers = np.arange(1.0, count + 1)
    return autotree(count, branching, rotor=THESIS_ROTOR), numbers, np.full(count, rate), numbers


@pytest.mark.parametrize(("branching", "table"), [(1, TABLE_4_3), (2, TABLE_4_4)])
@fast_first("count", [5, 10, 15], 1)
def test_mcrba_less_aba_gives_tables_4_3_and_4_4_to_every_digit(count, branching, table):
    model, q, v, tau = thesis_case(count, branching)
    difference = mcrba(model, q, v, tau) - maba(model.with_rotors("none"), q, v, tau)
    assert round(np.abs(difference).max(), 2) == table[count]


@pytest.mark.parametrize("count", [5, 10, 15])
def test_table_4_5_is_mcrba_with_the_coriolis_term_left_out(count):
    model, q, v, tau = thesis_case(count, 1, np.pi / 2)
    plain = maba(model.with_rotors("none"), q, v, tau)
    without = np.abs(mcrba(model, q, v, tau, coriolis=False) - plain).max()
    assert round(without, 2) == TABLE_4_5[count]
    assert np.abs(mcrba(model, q, v, tau) - plain).max() < without - 0.5


@pytest.mark.parametrize("count", [5, 10, 15])
def test_without_rotor_inertia_all_three_algorithms_agree_as_in_table_4_2(count):
    model, q, v, tau = thesis_case(count, 1)
    plain = model.with_rotors("none")
    expected = maba(plain, q, v, tau)
    assert largest(mcrba(plain, q, v, tau) - expected, expected) < 1e-12
    assert largest(maba_as_printed(plain, q, v, tau) - expected, expected) < 1e-12
