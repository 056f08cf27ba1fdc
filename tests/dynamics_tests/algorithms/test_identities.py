"""Identities of mechanics that hold for every robot, on fifty seeded random trees with and without rotors."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from random_trees import (
    SEEDS,
    floating_tree,
    random_state,
    random_tree,
    random_wrenches,
    relative_error,
)
from slopes import both_ways, columns
from spanning_tree import spanning_tree
from tiers import every

import dynamics
from dynamics.model.checks.mass_check import mass_matrix


@cache
def models():
    trees = [(random_tree, seed) for seed in SEEDS] + [(floating_tree, seed) for seed in SEEDS[:10]]
    return [make(seed, rotors=seed % 2 == 1) for make, seed in trees]


def times(matrix, vector):
    return np.einsum("...ij,...j->...i", matrix, vector)


def bias(model, q, v):
    return dynamics.rnea(model, q, v, np.zeros_like(q)) - gravity(model, q)


def gravity(model, q):
    return dynamics.rnea(model, q, np.zeros_like(q), np.zeros_like(q))


@every("model", models)
def test_torques_are_mass_times_acceleration_plus_coriolis_plus_gravity(model):
    q, v, a = random_state(model, 2)
    C, M = dynamics.coriolis_matrix(model, q, v).C, dynamics.crba(model, q)
    expected = times(M, a) + times(C, v) + gravity(model, q)
    assert relative_error(dynamics.rnea(model, q, v, a), expected) < 1e-12


@every("model", models)
def test_forward_dynamics_inverts_inverse_dynamics_under_external_wrenches(model):
    q, v, a = random_state(model, 2)
    W = random_wrenches(model, 2)
    tau = dynamics.rnea(model, q, v, a, W)
    assert relative_error(dynamics.aba(model, q, v, tau, W), a) < 1e-9
    # The residual is free of the condition number of M.
    assert relative_error(dynamics.rnea(model, q, v, dynamics.aba(model, q, v, tau, W), W), tau) < 1e-11


@both_ways
@every("model", models)
def test_coriolis_matrix_is_symbols_times_velocity_and_half_the_slope_of_the_bias(model, slope):
    q, v, a = random_state(model, 2)
    found, symbols = dynamics.coriolis_matrix(model, q, v), dynamics.christoffel_symbols(model, q)
    assert relative_error(np.einsum("...ijk,...k->...ij", symbols, v), found.C) < 1e-11
    assert relative_error(dynamics.rnea_derivatives(model, q, v, a).dtau_dv, 2 * found.C) < 1e-11
    assert relative_error(found.C + np.swapaxes(found.C, -1, -2), found.Mdot) < 1e-12
    assert relative_error(slope(lambda t: dynamics.crba(model, q + t * v)), found.Mdot) < 1e-11


@both_ways
@every("model", models)
def test_symbols_are_symmetric_and_are_slopes_of_the_mass_matrix(model, slope):
    (q,) = random_state(model, count=1)
    symbols = dynamics.christoffel_symbols(model, q)
    assert relative_error(np.swapaxes(symbols, -1, -2), symbols) == 0.0
    slopes = columns(slope, lambda q: dynamics.crba(model, q), (q,), 0)
    assert relative_error(symbols + np.swapaxes(symbols, 0, 1), slopes) < 1e-11


@every("model", models)
def test_products_of_the_coriolis_matrix_need_no_matrix(model):
    q, v, w = random_state(model, 2)
    C = dynamics.coriolis_matrix(model, q, v).C
    assert relative_error(dynamics.coriolis_product(model, q, v, w), times(C, w)) < 1e-11
    transposed = dynamics.coriolis_transposed_product(model, q, v, w)
    assert relative_error(transposed, times(np.swapaxes(C, -1, -2), w)) < 1e-11


@every("model", models)
def test_entries_between_branches_are_exactly_zero(model):
    q, v, a = random_state(model, 2)
    apart = ~model.packed.same_branch
    slopes = dynamics.rnea_derivatives(model, q, v, a)
    seconds = dynamics.rnea_second_derivatives(model, q, v, a, a)
    matrices = [
        dynamics.crba(model, q),
        dynamics.coriolis_matrix(model, q, v).C,
        slopes.dtau_dq,
        slopes.dtau_dv,
    ]
    for matrix in [*matrices, slopes.dtau_da, seconds.qq, seconds.qv, seconds.qa, seconds.vv]:
        assert not matrix[:, apart].any()
    symbols = dynamics.christoffel_symbols(model, q)
    related = ~apart
    triple = related[:, :, None] & related[:, None, :] & related[None, :, :]
    assert not symbols[:, ~triple].any()


@both_ways
@every("model", models)
def test_power_of_the_torques_is_the_rate_of_the_energy(model, slope):
    q, v, a = random_state(model)

    def energy(q, v):
        return dynamics.kinetic_energy(model, q, v) + dynamics.potential_energy(model, q)

    rate = slope(lambda t: energy(q + t * v, v + t * a))
    assert rate == pytest.approx(dynamics.rnea(model, q, v, a) @ v, rel=1e-10, abs=1e-10)
    assert dynamics.kinetic_energy(model, q, v) == pytest.approx(
        v @ dynamics.crba(model, q) @ v / 2, rel=1e-12
    )


@both_ways
@every("model", models)
def test_base_wrench_is_rate_of_momentum_less_weight_and_external_wrenches(model, slope):
    q, v, a = random_state(model)
    W = random_wrenches(model)
    rate = slope(lambda t: dynamics.momentum(model, q + t * v, v + t * a))
    masses = [body.mass for body in model.bodies]
    masses += [body.joint.rotor.mass for body in model.bodies if body.joint.rotor is not None]
    weight = sum(masses) * model.gravity
    centre = dynamics.centre_of_mass(model, q)
    expected = rate - np.concatenate([np.cross(centre, weight), weight]) - W.sum(axis=0)
    assert relative_error(dynamics.base_wrench(model, q, v, a, W), expected) < 1e-11


def test_wrench_of_a_joint_along_its_axis_is_its_torque():
    for seed in SEEDS[:10]:
        model = random_tree(seed)
        q, v, a = random_state(model)
        W = random_wrenches(model)
        wrenches, tau = dynamics.joint_wrenches(model, q, v, a, W), dynamics.rnea(model, q, v, a, W)
        for i, joint in enumerate(model.joints):
            part = wrenches[i, :3] if joint.kind == "revolute" else wrenches[i, 3:]
            assert joint.axis @ part == pytest.approx(tau[i], rel=1e-11, abs=1e-11)


@pytest.mark.long
@both_ways
def test_every_link_is_in_balance_under_joints_gravity_and_external_wrenches(slope):
    for seed in SEEDS[:20]:
        model = random_tree(seed)
        q, v, a = random_state(model)
        W = random_wrenches(model)
        poses, wrenches = dynamics.forward_kinematics(model, q), dynamics.joint_wrenches(model, q, v, a, W)
        for i, body in enumerate(model.bodies):
            acting = W[i] + world_wrench(poses, i, wrenches[i])
            for child in np.flatnonzero(model.parent == i):
                acting = acting - world_wrench(poses, child, wrenches[child])
            rate = slope(lambda t, i=i: link_momentum(model, i, q + t * v, v + t * a))  # noqa: B023
            weight = body.mass * model.gravity
            centre = poses.position[i] + poses.rotation[i] @ body.centre_of_mass
            acting = acting + np.concatenate([np.cross(centre, weight), weight])
            assert np.abs(acting - rate).max() < 1e-11 * max(1.0, np.abs(wrenches).max())


def world_wrench(poses, link, wrench):
    """A wrench in link axes about the link's origin, about the world origin."""
    moment, force = poses.rotation[link] @ wrench[:3], poses.rotation[link] @ wrench[3:]
    return np.concatenate([moment + np.cross(poses.position[link], force), force])


def link_momentum(model, i, q, v):
    """[angular about the world origin; linear] of one link, from its pose and velocity alone."""
    body, poses = model.bodies[i], dynamics.forward_kinematics(model, q)
    velocity = dynamics.frame_velocity(model, q, v, body.name)
    rotation, lever = poses.rotation[i], poses.rotation[i] @ body.centre_of_mass
    linear = body.mass * (velocity[3:] + np.cross(velocity[:3], lever))
    spin = rotation @ body.inertia @ rotation.T @ velocity[:3]
    return np.concatenate([spin + np.cross(poses.position[i] + lever, linear), linear])


@every("seed", SEEDS[:12])
def test_geared_robot_is_its_spanning_tree_seen_through_the_gears(seed):
    geared = random_tree(seed, rotors=True)
    tree, G = spanning_tree(geared)
    q, v, a = random_state(geared)
    M, C = dynamics.crba(tree, G @ q), dynamics.coriolis_matrix(tree, G @ q, G @ v).C
    assert relative_error(dynamics.crba(geared, q), G.T @ M @ G) < 1e-11
    assert relative_error(dynamics.coriolis_matrix(geared, q, v).C, G.T @ C @ G) < 1e-11
    symbols = np.einsum("ai,abc,bj,ck->ijk", G, dynamics.christoffel_symbols(tree, G @ q), G, G)
    assert relative_error(dynamics.christoffel_symbols(geared, q), symbols) < 1e-11
    expected = G.T @ dynamics.rnea(tree, G @ q, G @ v, G @ a)
    assert relative_error(dynamics.rnea(geared, q, v, a), expected) < 1e-11
    tau = random_state(geared, count=1, seed=7)[0]
    rest = tau - G.T @ dynamics.rnea(tree, G @ q, G @ v, 0 * (G @ a))
    assert relative_error(dynamics.aba(geared, q, v, tau), np.linalg.solve(G.T @ M @ G, rest)) < 1e-11


def test_rotors_left_out_or_weightless_are_the_plain_robot():
    geared = random_tree(4, rotors=True)
    q, v, a = random_state(geared)
    plain = dynamics.rnea(geared.with_rotors("none"), q, v, a)
    bare = dynamics.RigidBodyModel(
        tuple(without_rotor(body) for body in geared.bodies), geared.gravity, frames=geared.frames
    )
    assert relative_error(dynamics.rnea(bare, q, v, a), plain) == 0.0
    assert relative_error(dynamics.rnea(geared, q, v, a), plain) > 1e-2


def without_rotor(body):
    return replace(body, joint=replace(body.joint, rotor=None))


def test_armature_adds_the_squared_ratio_to_the_diagonal_and_the_mass_to_the_parent():
    geared = random_tree(4, rotors=True)
    (q,) = random_state(geared, count=1)
    armature, none = geared.with_rotors("armature"), geared.with_rotors("none")
    added = dynamics.crba(armature, q) - dynamics.crba(none, q)
    assert relative_error(added, mass_matrix(armature, q) - mass_matrix(none, q)) < 1e-10
    _, v, a = random_state(geared)
    tau = dynamics.rnea(armature, q, v, a)
    assert relative_error(dynamics.aba(armature, q, v, tau), a) < 1e-10


@every("seed", SEEDS[:6])
def test_mimic_joints_share_a_coordinate_anywhere_in_the_tree(seed):
    model = random_tree(seed, n=6, mimic=True)
    tree, G, offset = spanning_tree(model, with_offset=True)
    q, v, a = random_state(model)
    expected = G.T @ dynamics.rnea(tree, G @ q + offset, G @ v, G @ a)
    assert relative_error(dynamics.rnea(model, q, v, a), expected) < 1e-11
    W = random_wrenches(model)
    tau = dynamics.rnea(model, q, v, a, W)
    assert relative_error(dynamics.aba(model, q, v, tau, W), a) < 1e-10


def test_plain_body_factor_has_the_same_velocity_torques_and_is_another_matrix():
    for seed in SEEDS[:10]:
        model = random_tree(seed, rotors=True)
        q, v, _ = random_state(model)
        ours, plain = (dynamics.coriolis_matrix(model, q, v, factor) for factor in ("christoffel", "plain"))
        assert relative_error(plain.C @ v, ours.C @ v) < 1e-11
        assert relative_error(plain.C + plain.C.T, ours.Mdot) < 1e-11
        assert relative_error(plain.C, ours.C) > 1e-6


def test_a_batch_equals_a_loop_and_calling_twice_gives_the_same():
    model = random_tree(1, rotors=True)
    q, v, a = random_state(model, 3, 7)
    W = random_wrenches(model, 3, 7)
    calls = {
        "rnea": lambda i: dynamics.rnea(model, q[i], v[i], a[i], W[i]),
        "base": lambda i: dynamics.base_wrench(model, q[i], v[i], a[i], W[i]),
        "wrenches": lambda i: dynamics.joint_wrenches(model, q[i], v[i], a[i], W[i]),
        "crba": lambda i: dynamics.crba(model, q[i]),
        "aba": lambda i: dynamics.aba(model, q[i], v[i], a[i], W[i]),
        "slopes": lambda i: dynamics.rnea_derivatives(model, q[i], v[i], a[i], W[i]).dtau_dq,
        "wrench slopes": lambda i: dynamics.joint_wrench_derivatives(model, q[i], v[i], a[i]).dv,
        "second": lambda i: dynamics.rnea_second_derivatives(model, q[i], v[i], a[i], a[i], W[i]).qv,
        "coriolis": lambda i: dynamics.coriolis_matrix(model, q[i], v[i]).C,
        "symbols": lambda i: dynamics.christoffel_symbols(model, q[i]),
        "poses": lambda i: dynamics.forward_kinematics(model, q[i]).rotation,
        "jacobian": lambda i: dynamics.frame_jacobian(model, q[i], "tool"),
        "momentum": lambda i: dynamics.momentum(model, q[i], v[i]),
    }
    for name, call in calls.items():
        whole = call(np.s_[:])
        np.testing.assert_array_equal(whole, call(np.s_[:]), err_msg=name)
        single = np.array([[call((i, j)) for j in range(7)] for i in range(3)])
        np.testing.assert_array_equal(whole, single, err_msg=name)
