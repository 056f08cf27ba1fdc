"""Arrays that the dynamics takes and returns, and how misuse is named."""

from collections import Counter

import numpy as np
import pytest
from random_trees import floating_tree, random_state, random_tree, random_wrenches
from tiers import every

import dynamics
from dynamics.kernels.node_batch import Batch
from dynamics.kernels.transposition import nodes_first

MODEL = random_tree(0, n=3)


def test_leading_axes_broadcast_and_come_back():
    q, v, a = random_state(MODEL, 4, 1)
    found = dynamics.rnea(MODEL, q, v[0, 0], np.broadcast_to(a[0], (5, 3)))
    assert found.shape == (4, 5, 3)
    np.testing.assert_array_equal(found[2, 3], dynamics.rnea(MODEL, q[2, 0], v[0, 0], a[0, 0]))
    assert dynamics.crba(MODEL, q).shape == (4, 1, 3, 3)
    assert dynamics.rnea(MODEL, q[0, 0], v[0, 0], a[0, 0]).shape == (3,)
    slopes = dynamics.joint_wrench_derivatives(MODEL, q, v, a, joints=("joint1",))
    assert slopes.wrench.shape == (4, 1, 1, 6)
    assert slopes.dq.shape == (4, 1, 1, 6, 3)


@every("kind", [float, complex])
@every("widths", [(3, 2), (8,), (5, 3, 7)])
@every("nodes", [0, 1, 7, 8, 9, 33])
def test_results_with_nodes_last_become_arrays_with_nodes_first(nodes, widths, kind):
    batch = Batch((np.zeros((nodes, 1)),), (nodes,), np.dtype(kind))
    slots = batch.slots(*widths)
    slots[...] = np.random.default_rng(nodes).normal(size=slots.shape)
    last = batch.nodes_last(slots)
    for part in (last, last[:2], last[..., ::2]):
        found = nodes_first(part)
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, np.moveaxis(part, -1, 0))


@pytest.mark.parametrize("nodes", [0, 1, 7, 8, 9, 33])
def test_any_number_of_nodes_is_served(nodes):
    q, v, a = random_state(MODEL, nodes)
    assert dynamics.rnea(MODEL, q, v, a).shape == (nodes, 3)
    assert dynamics.rnea_derivatives(MODEL, q, v, a).dtau_dq.shape == (nodes, 3, 3)
    assert dynamics.centre_of_mass(MODEL, q).shape == (nodes, 3)


def test_layout_type_and_writability_of_inputs_do_not_matter_and_they_are_left_alone():
    q, v, a = random_state(MODEL, 6)
    expected = dynamics.rnea(MODEL, q, v, a)
    frozen = q.copy()
    frozen.flags.writeable = False
    for same_q in (np.asfortranarray(q), frozen, q.tolist(), np.repeat(q, 2, axis=0)[::2], q.astype(">f8")):
        np.testing.assert_array_equal(dynamics.rnea(MODEL, same_q, v, a), expected)
    whole = dynamics.rnea(MODEL, np.ones(3, dtype=np.int32), np.zeros(3), [0, 0, 0])
    np.testing.assert_array_equal(whole, dynamics.rnea(MODEL, np.ones(3), np.zeros(3), np.zeros(3)))
    assert (frozen == q).all()


def test_nan_stays_in_its_node():
    q, v, a = random_state(MODEL, 9)
    expected = dynamics.rnea(MODEL, q, v, a)
    q[4, 0] = np.nan
    found = dynamics.rnea(MODEL, q, v, a)
    assert np.isnan(found[4]).any()
    np.testing.assert_array_equal(np.delete(found, 4, axis=0), np.delete(expected, 4, axis=0))
    assert np.isnan(dynamics.crba(MODEL, q)[4]).any()
    assert not np.isnan(np.delete(dynamics.crba(MODEL, q), 4, axis=0)).any()


def test_wrong_shapes_are_named_with_the_joints_of_the_model():
    q = np.zeros(3)
    with pytest.raises(
        dynamics.ShapeError, match=r"v has shape \(2,\) but the model has n = 3 joints \(joint0, "
    ):
        dynamics.rnea(MODEL, q, np.zeros(2), q)
    with pytest.raises(dynamics.ShapeError, match=r"q has shape \(\) but"):
        dynamics.crba(MODEL, 1.0)
    with pytest.raises(
        dynamics.ShapeError, match=r"external has shape \(3,\) but \(\.\.\., 3, 6\) is expected"
    ):
        dynamics.rnea(MODEL, q, q, q, external=q)
    with pytest.raises(dynamics.ShapeError, match=r"do not broadcast together: q \(4,\), v \(3,\), a \(\)"):
        dynamics.rnea(MODEL, np.zeros((4, 3)), np.zeros((3, 3)), q)
    with pytest.raises(dynamics.ShapeError, match="q is 'zero'; give numbers"):
        dynamics.crba(MODEL, "zero")
    with pytest.raises(dynamics.ShapeError, match="adjoint has shape"):
        dynamics.rnea_second_derivatives(MODEL, q, q, q, np.zeros(4))


def test_names_and_options_that_do_not_exist_are_refused():
    q = np.zeros(3)
    with pytest.raises(dynamics.UnknownNameError, match="no joint 'elbow'"):
        dynamics.joint_wrench_derivatives(MODEL, q, q, q, joints=("elbow",))
    with pytest.raises(dynamics.UnknownNameError, match="no link or frame 'hand'"):
        dynamics.frame_jacobian(MODEL, q, "hand")
    with pytest.raises(dynamics.DynamicsError, match="body_factor is 'newton'"):
        dynamics.coriolis_matrix(MODEL, q, q, body_factor="newton")


@pytest.mark.parametrize("zero", [0.0, pytest.param(0j, marks=pytest.mark.long)])
def test_every_robot_runs_through_the_same_compiled_code(zero):
    from dynamics.algorithms.rnea import _rnea
    from dynamics.algorithms.rnea_derivatives import _rnea_derivatives

    robots = [random_tree(seed, rotors=seed == 2) for seed in (0, 1, 2)]
    for model in (*robots, floating_tree(2), floating_tree(4)):
        q, v, a = random_state(model, 5)
        for external in (None, random_wrenches(model)):
            dynamics.rnea(model, q, v, a, external)
            dynamics.rnea(model, np.asfortranarray(q), v[0], a + zero, external)
            dynamics.rnea_derivatives(model, q, v, a, external)
    for compiled in (_rnea, _rnea_derivatives):  # without and with rotation vectors, float64 and complex128
        kinds = Counter(str(of_arguments[2]) for of_arguments in compiled.signatures)
        assert len(kinds) == 2 and max(kinds.values()) <= 2


def test_sine_and_cosine_are_right_to_the_last_digits_for_a_million_radians():
    spinner = dynamics.RigidBodyModel(
        (dynamics.Body("arm", dynamics.Joint("hinge"), mass=1.0, centre_of_mass=np.array([1.0, 0.0, 0.0])),)
    )
    rng = np.random.default_rng(0)
    for span, error in ((4.0, 4e-16), (1e3, 4e-16), (1e6, 4e-16)):
        angle = rng.uniform(-span, span, 20_000)
        position = dynamics.centre_of_mass(spinner, angle[:, None])
        assert np.abs(position[:, 0] - np.cos(angle)).max() < error
        assert np.abs(position[:, 1] - np.sin(angle)).max() < error
    assert np.isnan(dynamics.centre_of_mass(spinner, [np.inf])[:2]).all()
