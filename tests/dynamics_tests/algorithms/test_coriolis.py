"""The Coriolis matrix beside a closed form, the article's own algorithm, and a factor that must fail."""

import numpy as np
import pytest
from random_trees import SEEDS, random_state, random_tree, relative_error
from slopes import both_ways, columns
from spanning_tree import spanning_tree
from tiers import every, fast_first

import dynamics
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm

FACTORS = ("christoffel", "plain")
MODES = ("exact", "armature", "none")


def coupled_tree(seed):
    """Rotors on most joints and, on every second tree, a joint that mimics the first one."""
    return random_tree(seed, rotors=True, mimic=seed % 2 == 0).with_rotors(MODES[seed % 3])


def two_links(offset=0.0):
    """Rods in a plane: lengths 1 and 0.7 m, centres 0.5 and 0.3 m out, 1.5 and 0.8 kg."""
    rods = []
    for i, (mass, centre, moment) in enumerate(((1.5, 0.5, 0.1), (0.8, 0.3, 0.05))):
        joint = dynamics.Joint(f"joint{i}", position=(float(i), 0.0, offset * i))
        parent = f"rod{i - 1}" if i else None
        rods.append(dynamics.Body(f"rod{i}", joint, parent, mass, (centre, 0.0, 0.0), moment * np.eye(3)))
    return dynamics.RigidBodyModel(rods)


def test_two_links_have_the_matrix_of_the_textbook():
    q, (v1, v2) = np.array([0.3, 1.1]), (0.7, -1.9)
    h = -0.8 * 1.0 * 0.3 * np.sin(q[1])
    expected = np.array([[h * v2, h * (v1 + v2)], [-h * v1, 0.0]])
    found = dynamics.coriolis_matrix(two_links(), q, np.array([v1, v2]))
    np.testing.assert_allclose(found.C, expected, atol=1e-14)
    np.testing.assert_allclose(found.Mdot, expected + expected.T, atol=1e-14)


@every("seed", SEEDS, fast=12)
def test_every_matrix_of_a_geared_tree_is_that_of_algorithm_1(seed):
    model = coupled_tree(seed)
    q, v = random_state(model, count=2)
    for factor in FACTORS:
        found, expected = (
            dynamics.coriolis_matrix(model, q, v, factor),
            coriolis_algorithm(model, q, v, factor),
        )
        assert relative_error(found.C, expected.C) < 1e-11
        assert relative_error(found.Mdot, expected.Mdot) < 1e-11
        assert relative_error(found.M, expected.M) < 1e-12


@both_ways
@fast_first("factor", FACTORS, 1)
def test_skew_symmetry_and_velocity_torques_hold_for_both_body_factors(factor, slope):
    for seed in SEEDS:
        model = coupled_tree(seed)
        q, v = random_state(model, count=2)
        found, still = dynamics.coriolis_matrix(model, q, v, factor), np.zeros(model.n)
        bias = dynamics.rnea(model, q, v, still) - dynamics.rnea(model, q, still, still)
        assert relative_error(found.C @ v, bias) < 1e-11
        assert relative_error(found.C + found.C.T, found.Mdot) < 1e-12
        rate = slope(lambda t, m=model, q=q, v=v: dynamics.crba(m, q + t * v))
        assert relative_error(found.Mdot, rate) < 1e-11
        assert relative_error(found.M, dynamics.crba(model, q)) < 1e-12


@pytest.mark.long
@both_ways
def test_only_the_christoffel_factor_is_half_the_slope_of_the_velocity_torques(slope):
    for seed in SEEDS:
        model = coupled_tree(seed)
        q, v = random_state(model, count=2)
        found = columns(slope, lambda q, v, m=model: dynamics.rnea(m, q, v, np.zeros(m.n)), (q, v), 1, 1.0)
        ours, plain = (2 * dynamics.coriolis_matrix(model, q, v, factor).C for factor in FACTORS)
        assert relative_error(ours, found) < 1e-11
        # The difference is skew-symmetric and takes v to zero: between two coordinates nothing is left of it.
        error, threes = relative_error(plain, ours), three_on_a_branch(model)
        assert error > 1e-2 if threes else error < 1e-12


def three_on_a_branch(model):
    """True if any three coordinates lie on one branch."""
    related = model.packed.same_branch & ~np.eye(model.n, dtype=bool)
    return bool((related[:, :, None] & related[:, None, :] & related[None, :, :]).any())


@every("seed", SEEDS[::3])
def test_geared_matrix_is_the_reduced_matrix_of_the_spanning_tree(seed):
    model = random_tree(seed, rotors=True, mimic=True)
    tree, G, offset = spanning_tree(model, with_offset=True)
    q, v = random_state(model, count=2)
    free = dynamics.coriolis_matrix(tree, G @ q + offset, G @ v)
    geared = dynamics.coriolis_matrix(model, q, v)
    for name in ("C", "Mdot", "M"):
        assert relative_error(getattr(geared, name), G.T @ getattr(free, name) @ G) < 1e-11


@pytest.mark.parametrize("factor", FACTORS)
def test_branches_that_do_not_carry_each_other_do_not_interact(factor):
    model = random_tree(7, n=9, rotors=True)
    q, v = random_state(model, 3, count=2)
    apart = ~model.packed.same_branch
    assert apart.any()
    found = dynamics.coriolis_matrix(model, q, v, factor)
    for matrix in (found.C, found.Mdot, found.M):
        assert (matrix[:, apart] == 0.0).all()


def test_products_with_a_vector_are_those_of_the_matrix_and_symmetric_in_both_velocities():
    for seed in SEEDS[::5]:
        model = coupled_tree(seed)
        q, v, w = random_state(model)
        C = dynamics.coriolis_matrix(model, q, v).C
        product = dynamics.coriolis_product(model, q, v, w)
        assert relative_error(product, C @ w) < 1e-11
        assert relative_error(dynamics.coriolis_product(model, q, w, v), product) < 1e-11
        assert relative_error(dynamics.coriolis_transposed_product(model, q, v, w), C.T @ w) < 1e-11


@pytest.mark.parametrize("factor", FACTORS)
def test_nodes_of_a_batch_do_not_see_each_other(factor):
    model = random_tree(4, n=6, rotors=True)
    q, v = random_state(model, 2, 9, count=2)
    whole = dynamics.coriolis_matrix(model, q, v, factor)
    for index in np.ndindex(2, 9):
        single = dynamics.coriolis_matrix(model, q[index], v[index], factor)
        for name in ("C", "Mdot", "M"):
            np.testing.assert_array_equal(getattr(whole, name)[index], getattr(single, name))


def test_another_body_factor_is_refused():
    model = two_links()
    with pytest.raises(dynamics.DynamicsError, match=r"body_factor is 'skew'; choose \"christoffel\" or"):
        dynamics.coriolis_matrix(model, np.zeros(2), np.zeros(2), "skew")  # pyright: ignore
    with pytest.raises(dynamics.ShapeError, match=r"v has shape \(3,\) but the model has n = 2"):
        dynamics.coriolis_matrix(model, np.zeros(2), np.zeros(3))


def test_not_a_number_stays_in_its_node():
    model = random_tree(2)
    q, v = random_state(model, 5, count=2)
    v[2] = np.nan
    C = dynamics.coriolis_matrix(model, q, v).C
    assert np.isnan(C[2]).any()
    assert np.isfinite(np.delete(C, 2, axis=0)).all()
