"""Friction and springs: where they come from, that friction only takes energy, and exact derivatives."""

import numpy as np
import pytest
from random_trees import random_state, random_tree, relative_error
from slopes import both_ways, columns

import dynamics

MODEL = random_tree(2, rotors=True)


@both_ways
def test_friction_opposes_motion_and_has_the_slope_given(slope):
    for model in (MODEL, random_tree(1, n=5, mimic=True)):
        (v,) = random_state(model, 4, count=1)
        found = dynamics.friction(model, v, smoothing=0.1)
        assert ((found.force * v).sum(axis=-1) < 0.0).all()
        expected = columns(slope, lambda v, m=model: dynamics.friction(m, v, 0.1).force, (v[0],), 0)
        assert relative_error(found.dv[0], expected) < 1e-11
        assert not found.dq.any()


def test_friction_far_from_rest_is_damping_plus_coulomb():
    v = np.full(MODEL.n, 5.0)
    expected = [-(joint.damping * 5.0 + joint.friction) for joint in MODEL.joints]
    np.testing.assert_allclose(dynamics.friction(MODEL, v).force, expected, rtol=1e-14)


def test_joint_springs_are_minus_the_slope_of_their_energy():
    (q,) = random_state(MODEL, count=1)
    found = dynamics.joint_springs(MODEL, q, stiffness=3.0, rest=0.2)
    np.testing.assert_allclose(found.force, -3.0 * (q - 0.2))
    np.testing.assert_array_equal(found.dq, -3.0 * np.eye(MODEL.n))


@both_ways
@pytest.mark.parametrize("length", [0.0, 0.4])
def test_point_spring_is_minus_the_slope_of_its_energy_and_its_slope_is_exact(length, slope):
    (q,) = random_state(MODEL, count=1)

    def energy(q):
        ends = dynamics.forward_kinematics(MODEL, q, ("link0", "tool")).position
        d = ends[..., 1, :] - ends[..., 0, :]
        return 25.0 * (np.sqrt((d * d).sum(axis=-1)) - length) ** 2

    found = dynamics.point_spring(MODEL, q, "link0", "tool", 50.0, length)
    assert relative_error(found.force, -columns(slope, energy, (q,), 0)) < 1e-11
    stepped = columns(
        slope, lambda q: dynamics.point_spring(MODEL, q, "link0", "tool", 50.0, length).force, (q,), 0
    )
    assert relative_error(found.dq, stepped) < 1e-11
    batch = dynamics.point_spring(MODEL, np.stack([q, q]), "link0", "tool", 50.0, length)
    np.testing.assert_array_equal(batch.force[1], found.force)


def test_misuse_is_named():
    with pytest.raises(dynamics.DynamicsError, match=r"smoothing is 0.0; it is a rate"):
        dynamics.friction(MODEL, np.zeros(MODEL.n), smoothing=0.0)
    with pytest.raises(dynamics.ShapeError, match=r"stiffness has shape \(2,\); give one number or \(n,\)"):
        dynamics.joint_springs(MODEL, np.zeros(MODEL.n), stiffness=[1.0, 2.0])
