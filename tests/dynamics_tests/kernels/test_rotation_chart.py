"""Rotation vectors by themselves: functions of |p|^2, the serial chart, lengths at which formulas change."""

from fractions import Fraction
from math import factorial, pi

import numba
import numpy as np
import pytest
from random_trees import (
    floating_tree,
    random_rotation,
    random_state,
    random_tree,
    random_wrenches,
    relative_error,
)
from scipy.spatial.transform import Rotation
from slopes import both_ways
from tiers import every

import dynamics
from dynamics.kernels.rotation_vectors.polynomial import MONOMIALS
from dynamics.kernels.rotation_vectors.rotation_chart import serial_chart
from dynamics.kernels.rotation_vectors.stumpff import functions


def rotation(p):
    """Exp(p), by SciPy."""
    return Rotation.from_rotvec(p).as_matrix()


@numba.njit
def compiled_functions(s, highest, out):
    functions(s, highest, out)  # only compiled code can call it


@pytest.mark.parametrize("s", [0.0, 2.0**-40, 2.0**-10, 1.0, 9.875, 10.125, 39.0, 400.0])  # short fractions
def test_functions_of_the_squared_length_are_exact_near_zero_and_far_from_it(s):
    powers = [(-Fraction(s)) ** j for j in range(120)]
    exact = [float(sum(power / factorial(2 * j + k) for j, power in enumerate(powers))) for k in range(11)]
    found = np.empty(11)
    compiled_functions(s, 10, found)
    np.testing.assert_allclose(found[:4], exact[:4], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(found, exact, rtol=2e-13, atol=1e-15)


@every("length", [0.0, 1e-9, 0.7, pi / 2, pi, 5.0])
@every("degree", [1, 2, 3, 4])
def test_the_serial_chart_is_approached_with_the_order_of_its_polynomials(length, degree):
    """The remainder of degree d falls by 2^(d+1) when the step is halved."""
    p = length * np.array([[0.36, -0.48, 0.8]])
    R, polynomials = (part[0].reshape(3, -1) for part in serial_chart(p, degree))
    remainders = []
    for h in (4e-2, 2e-2):
        d = h * np.array([0.3, -0.5, 0.7])
        C = R.T @ rotation(p[0] + d)
        exact = np.array([np.arctan2(-C[1, 2], C[2, 2]), np.arcsin(C[0, 2]), np.arctan2(-C[0, 1], C[0, 0])])
        powers = [np.prod(d ** np.array(powers)) for powers in MONOMIALS[: polynomials.shape[1]]]
        remainders.append(np.abs(polynomials @ powers - exact).max())
    assert abs(np.log2(remainders[0] / remainders[1]) - (degree + 1)) < 0.2


@both_ways
@pytest.mark.parametrize("length", [0.0, 1e-8, 1.0, pi / 2, 3.0, 5.5])
def test_everything_is_exact_at_every_length_of_the_vector(length, slope):
    """No angle of the chart is singular below 2 pi, half turns and right angles of pitch included."""
    model = floating_tree(1, 4, rotors=True)
    q, v, a = random_state(model, 2)
    directions = np.array([[0.0, 1.0, 0.0], [0.6, 0.0, 0.8]])
    for joint in model.rotation_joints:
        q[:, joint.coordinates] = length * directions
    tau, M = dynamics.rnea(model, q, v, a), dynamics.crba(model, q)
    assert relative_error(dynamics.aba(model, q, v, tau), a) < 1e-8
    energy = 0.5 * np.einsum("ki,kij,kj->k", v, M, v)
    assert relative_error(dynamics.kinetic_energy(model, q, v), energy) < 1e-12
    by_q = dynamics.rnea_derivatives(model, q, v, a).dtau_dq
    found = [slope(lambda t, e=e: dynamics.rnea(model, q + t * e, v, a)) for e in np.eye(model.n)]
    assert relative_error(by_q, np.stack(found, axis=-1)) < 1e-11


@pytest.mark.parametrize("length", [2 * pi, 4 * pi, 2 * pi * (1 + 1e-9), 1e8])
def test_a_chart_that_ends_has_no_accelerations(length):
    """Rounding would decide them: 30 to 250 rad/s^2 beside accelerations of 0.5."""
    model = floating_tree(1, 4, rotors=True)
    q, v, tau = random_state(model, 2)
    q[1, model.rotation_joints[0].coordinates] = length * np.array([0.6, 0.0, 0.8])
    found = dynamics.aba(model, q, v, tau)
    assert np.isfinite(found[0]).all() and np.isnan(found[1]).all()


@both_ways
@pytest.mark.parametrize("length", [1e-8, 1.0, 3.1, 3.2, 5.5])
def test_the_kernels_of_rotation_vectors_agree_with_those_of_joints_in_series(length, slope):
    """Second derivatives, Coriolis matrices and loads are computed in another chart, by other kernels."""
    model = floating_tree(4, 4, rotors=True)
    q, v, a = random_state(model, 3)
    W = random_wrenches(model, 3)
    for joint in model.rotation_joints:
        q[:, joint.coordinates] *= length / np.linalg.norm(q[:, joint.coordinates], axis=1)[:, None]
    first = dynamics.rnea_derivatives(model, q, v, a, W)
    C = dynamics.coriolis_matrix(model, q, v)
    assert relative_error(dynamics.crba(model, q), C.M) < 1e-12
    assert relative_error(first.dtau_da, C.M) < 1e-12
    still, zero = np.zeros_like(v), dynamics.rnea(model, q, 0.0 * v, 0.0 * a)
    centrifugal = dynamics.rnea(model, q, v, still) - zero
    assert relative_error(np.einsum("kij,kj->ki", C.C, v), centrifugal) < 1e-11
    lever = dynamics.external_derivatives(model, q).dtau
    loaded = np.einsum("kimr,kmr->ki", lever, W)
    assert relative_error(dynamics.rnea(model, q, still, still, W) - zero, loaded) < 1e-11
    weights = np.random.default_rng(0).normal(size=q.shape)
    second = dynamics.rnea_second_derivatives(model, q, v, a, weights, external=W)
    for name, plane in (("dtau_dq", second.qq), ("dtau_dv", second.qv), ("dtau_da", second.qa)):
        for j, e in enumerate(np.eye(model.n)):
            moved = slope(
                lambda t, e=e, name=name: getattr(dynamics.rnea_derivatives(model, q + t * e, v, a, W), name)
            )
            by_q = np.einsum("ki,kij->kj", weights, moved)
            assert relative_error(by_q, plane[:, j]) < 1e-9


def test_numbers_of_a_node_do_not_depend_on_its_neighbours():
    """Both forms of the functions of |p|^2 are computed in every lane, and one is chosen there."""
    model = floating_tree(5, 4)
    q, v, a = random_state(model, 8)
    q[:, model.rotation_joints[0].coordinates] *= np.linspace(0.0, 6.0, 8)[:, None]
    together, M = dynamics.rnea(model, q, v, a), dynamics.crba(model, q)
    for k in range(8):
        np.testing.assert_array_equal(dynamics.rnea(model, q[k], v[k], a[k]), together[k])
        np.testing.assert_array_equal(dynamics.crba(model, q[k]), M[k])


def test_the_same_motion_about_other_centres_has_the_same_poses_velocities_and_forces():
    model, rng = floating_tree(2, 4), np.random.default_rng(0)
    other = model.with_centres({name: random_rotation(rng) for name in ("trunk", "arm")})
    q, v, a = random_state(model, 5)
    moved = dynamics.recentred(model, other, q, v, a)
    for function, count in ((dynamics.momentum, 2), (dynamics.base_wrench, 3)):
        there = function(other, *moved[:count])
        assert relative_error(function(model, *(q, v, a)[:count]), there) < 1e-11
    back = dynamics.recentred(other, model, *moved)
    for array, given in zip(back, dynamics.recentred(model, model, q, v, a), strict=True):
        assert relative_error(array, given) < 1e-11
    np.testing.assert_allclose(dynamics.recentred(model, other, q), moved[0], rtol=0.0, atol=1e-14)


def test_the_rotation_vector_of_a_rotation_is_exact_for_every_angle():
    directions = np.random.default_rng(0).normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for length in (1e-12, 1e-5, 1.0, 3.0, pi - 1e-9):
        p = length * directions
        np.testing.assert_allclose(dynamics.rotation_vector(rotation(p)), p, rtol=0.0, atol=3e-15)
    assert not dynamics.rotation_vector(np.eye(3)).any()
    with pytest.raises(dynamics.ShapeError, match=r"give \(..., 3, 3\)"):
        dynamics.rotation_vector(np.eye(4))
    with pytest.raises(dynamics.ModelError, match="other joints"):
        dynamics.recentred(floating_tree(2, 4), random_tree(2), np.zeros(14))
    with pytest.raises(dynamics.ModelError, match="a is given without v"):
        dynamics.recentred(floating_tree(2, 4), floating_tree(2, 4), np.zeros(14), a=np.zeros(14))


@both_ways
def test_wrenches_on_links_of_a_rotation_vector_act_on_the_link_that_it_turns(slope):
    model = floating_tree(3, 4)
    q, v, a = random_state(model, 2)
    W = random_wrenches(model, 2)
    together = W.copy()
    for joint in model.rotation_joints:
        first = joint.first_link
        together[:, first + 2] += together[:, first] + together[:, first + 1]
        together[:, first : first + 2] = 0.0
    found = dynamics.rnea(model, q, v, a, W)
    assert relative_error(found, dynamics.rnea(model, q, v, a, together)) < 1e-12
    assert relative_error(dynamics.aba(model, q, v, found, W), a) < 1e-9
    wrenches = dynamics.joint_wrenches(model, q, v, a, W)
    by = dynamics.joint_wrench_derivatives(model, q, v, a, external=W)
    assert relative_error(by.wrench, wrenches) < 1e-12
    for j, e in enumerate(np.eye(model.n)):
        stepped = slope(lambda t, e=e: dynamics.joint_wrenches(model, q + t * e, v, a, W))
        assert relative_error(by.dq[..., j], stepped) < 1e-11
    for joint in model.rotation_joints:
        np.testing.assert_array_equal(wrenches[:, joint.first_link], wrenches[:, joint.first_link + 2])
