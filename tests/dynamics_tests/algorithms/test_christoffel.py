"""Christoffel symbols beside their definition, the article's own algorithm, and a surface of revolution."""

import numpy as np
import pytest
from random_trees import SEEDS, random_state, random_tree, relative_error
from slopes import both_ways, columns
from spanning_tree import spanning_tree
from tiers import every

import dynamics
from dynamics.papers.echeandia_wensing.christoffel_algorithm import christoffel_algorithm

MODES = ("exact", "armature", "none")


def coupled_tree(seed):
    """Rotors on most joints and, on every second tree, a joint that mimics the first one."""
    return random_tree(seed, rotors=True, mimic=seed % 2 == 0).with_rotors(MODES[seed % 3])


def symbols_of(slope):
    """1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) from slope[i, j, k] = dM_ij/dq_k."""
    return 0.5 * (slope + slope.transpose(0, 2, 1) - slope.transpose(2, 1, 0))


def test_a_bead_on_a_turning_rod_has_the_symbols_of_polar_coordinates():
    turn = dynamics.Body("rod", dynamics.Joint("turn"), None, 0.0)
    bead = dynamics.Body("bead", dynamics.Joint("slide", "prismatic", axis=(1.0, 0.0, 0.0)), "rod", 2.0)
    expected = np.zeros((2, 2, 2))
    # M = diag(m r^2, m): Gamma_turn,turn,slide = m r and Gamma_slide,turn,turn = -m r.
    expected[0, 0, 1] = expected[0, 1, 0] = 3.0
    expected[1, 0, 0] = -3.0
    model = dynamics.RigidBodyModel([turn, bead])
    found = dynamics.christoffel_symbols(model, np.array([0.4, 1.5]))
    np.testing.assert_allclose(found, expected, atol=1e-15)


@both_ways
@every("seed", SEEDS, fast=12)
def test_symbols_of_a_geared_tree_are_what_their_definition_says(seed, slope):
    model = coupled_tree(seed)
    q, v = random_state(model, count=2)
    symbols = dynamics.christoffel_symbols(model, q)
    slopes = columns(slope, lambda q: dynamics.crba(model, q), (q,), 0)
    assert relative_error(symbols, symbols_of(slopes)) < 1e-11
    assert relative_error(symbols, christoffel_algorithm(model, q)) < 1e-11
    assert relative_error(symbols + symbols.transpose(1, 0, 2), slopes) < 1e-11
    assert relative_error(symbols @ v, dynamics.coriolis_matrix(model, q, v).C) < 1e-11
    np.testing.assert_array_equal(symbols, symbols.transpose(0, 2, 1))


@pytest.mark.long
@every("seed", SEEDS[::3])
def test_geared_symbols_are_the_reduced_symbols_of_the_spanning_tree(seed):
    model = random_tree(seed, rotors=True, mimic=True)
    tree, G, offset = spanning_tree(model, with_offset=True)
    (q,) = random_state(model, count=1)
    free = dynamics.christoffel_symbols(tree, G @ q + offset)
    expected = np.einsum("abc,ai,bj,ck->ijk", free, G, G, G, optimize=True)
    assert relative_error(dynamics.christoffel_symbols(model, q), expected) < 1e-11


def test_the_plain_body_factor_is_not_the_symbols_times_the_velocity():
    model = random_tree(5, n=7, rotors=True)
    q, v = random_state(model, count=2)
    plain = dynamics.coriolis_matrix(model, q, v, "plain").C
    assert relative_error(plain, dynamics.christoffel_symbols(model, q) @ v) > 1e-2


@pytest.mark.parametrize("rotors", [False, True])
def test_symbols_are_exact_zeros_unless_three_joints_lie_on_one_branch(rotors):
    model = random_tree(7, n=9, rotors=rotors)
    (q,) = random_state(model, 3, count=1)
    symbols, related = dynamics.christoffel_symbols(model, q), model.packed.same_branch
    together = related[:, :, None] & related[:, None, :] & related[None, :, :]
    assert not together.all()
    assert (symbols[:, ~together] == 0.0).all()
    # A joint feels no torque along itself from its own motion with one that carries it: dM_kk/dq_i = 0.
    carries = model.packed.ancestry
    if not rotors:
        for i, k in np.argwhere(carries):
            assert (symbols[:, k, i, k] == 0.0).all()


@pytest.mark.parametrize("seed", [3, 7])  # a chain, whose entries are all written, and a tree
@pytest.mark.parametrize(
    "nodes", [1, 8, 65, 130]
)  # one lane, one block, one more than eight blocks, two rounds
def test_nodes_of_a_batch_do_not_see_each_other(seed, nodes):
    model = random_tree(seed, n=5)
    (q,) = random_state(model, nodes, count=1)
    whole = dynamics.christoffel_symbols(model, q)
    assert whole.shape == (nodes, 5, 5, 5)
    for k in {0, nodes // 2, nodes - 1}:
        np.testing.assert_array_equal(whole[k], dynamics.christoffel_symbols(model, q[k]))


def test_leading_axes_are_kept_and_shapes_checked():
    model = random_tree(3, n=4)
    (q,) = random_state(model, 2, 3, count=1)
    assert dynamics.christoffel_symbols(model, q).shape == (2, 3, 4, 4, 4)
    with pytest.raises(dynamics.ShapeError, match=r"q has shape \(3,\) but the model has n = 4"):
        dynamics.christoffel_symbols(model, q[0, 0, :3])


def test_another_robot_compiles_nothing():
    import sys

    # dynamics.christoffel is the module's name, not an attribute of the package.
    from dynamics.algorithms.christoffel import christoffel_symbols

    kernel = sys.modules[christoffel_symbols.__module__]._christoffel_symbols
    for seed in range(4):
        model = random_tree(seed, rotors=seed > 1)
        dynamics.christoffel_symbols(model, random_state(model, 9, count=1)[0])
    real = [signature for signature in kernel.signatures if "complex128" not in str(signature)]
    assert len(real) == 1
