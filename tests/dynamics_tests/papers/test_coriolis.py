"""Echeandia and Wensing's Algorithm 1 and its remarks: identities of any right Coriolis matrix."""

from __future__ import annotations

import numpy as np
import pytest
from paper_models import (
    GEARED,
    STEP,
    largest,
    random_inertia,
    random_model,
    random_rotation,
    state,
)

from dynamics import TreeError
from dynamics.model.checks.mass_check import mass_matrix
from dynamics.papers.barman.newton_euler import newton_euler
from dynamics.papers.echeandia_wensing.body_jacobians import matrices_of_jacobians
from dynamics.papers.echeandia_wensing.centre_of_mass_coordinates import centroidal_matrices
from dynamics.papers.echeandia_wensing.christoffel_algorithm import christoffel_algorithm
from dynamics.papers.echeandia_wensing.coordinate_change import changed_forces, changed_matrices
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm
from dynamics.papers.echeandia_wensing.coriolis_product import coriolis_product
from dynamics.papers.trees.joint_motion import X_AXIS, Y_AXIS, Z_AXIS, Floating, Screw, Spherical, euler_axes
from dynamics.papers.trees.joint_motion import euler_axes_rate as axes_rate
from dynamics.papers.trees.linkage import Link, Linkage

MODES = ("exact", "armature", "none")


@pytest.fixture(params=MODES)
def model(request):
    return random_model(1, geared=GEARED).with_rotors(request.param)


def bias(tree, q, v):
    return coriolis_algorithm(tree, q, v).C @ v


def rate_of_mass_matrix(tree, q, q_rate):
    return coriolis_algorithm(tree, q + 1j * STEP * q_rate, 0 * q_rate).M.imag / STEP


def test_mass_matrix_equals_the_sum_over_bodies_of_jacobian_products(model):
    q, v, _ = state(2, model.n)
    assert largest(coriolis_algorithm(model, q, v).M - mass_matrix(model, q), mass_matrix(model, q)) < 1e-13


@pytest.mark.parametrize("factor", ["christoffel", "plain"])
def test_coriolis_matrix_and_its_transpose_sum_to_the_rate_of_the_mass_matrix(model, factor):
    q, v, _ = state(3, model.n)
    result = coriolis_algorithm(model, q, v, factor)
    rate = rate_of_mass_matrix(model, q, v)
    assert largest(result.Mdot - rate, rate) < 1e-12
    assert largest(result.C + result.C.T - rate, rate) < 1e-12


@pytest.mark.parametrize("factor", ["christoffel", "plain"])
def test_coriolis_matrix_times_velocity_is_what_newton_and_euler_ask_for(model, factor):
    q, v, _ = state(4, model.n)
    weightless = model.with_gravity((0, 0, 0))
    expected = newton_euler(weightless, q, v, 0 * v).tau
    assert largest(coriolis_algorithm(model, q, v, factor).C @ v - expected, expected) < 1e-12


def test_derivative_of_the_bias_by_velocity_is_twice_the_christoffel_consistent_matrix(model):
    q, v, _ = state(5, model.n)
    columns = [bias(model, q, v + 1j * STEP * unit).imag / STEP for unit in np.eye(model.n)]
    slope = np.stack(columns, axis=1)
    assert largest(slope - 2 * coriolis_algorithm(model, q, v).C, slope) < 1e-12


def test_plain_body_factor_passes_every_skew_test_and_is_not_the_christoffel_one(model):
    q, v, _ = state(5, model.n)
    plain, exact = (coriolis_algorithm(model, q, v, factor).C for factor in ("plain", "christoffel"))
    assert largest(plain @ v - exact @ v, exact @ v) < 1e-12
    assert largest(plain - exact, exact) > 1e-2


def test_product_with_a_reference_velocity_needs_no_matrix_and_is_symmetric(model):
    q, v, reference = state(6, model.n)
    product = coriolis_product(model, q, v, reference)
    assert largest(product - coriolis_algorithm(model, q, v).C @ reference, product) < 1e-12
    assert largest(product - coriolis_product(model, q, reference, v), product) < 1e-12
    plain = coriolis_product(model, q, v, reference, "plain")
    assert largest(plain - coriolis_algorithm(model, q, v, "plain").C @ reference, plain) < 1e-12


@pytest.mark.parametrize("factor", ["christoffel", "plain"])
def test_sums_over_body_jacobians_give_the_same_matrices(model, factor):
    q, v, _ = state(7, model.n)
    fast, plain = coriolis_algorithm(model, q, v, factor), matrices_of_jacobians(model, q, v, factor)
    assert largest(plain.M - fast.M, fast.M) < 1e-12
    assert largest(plain.C - fast.C, fast.C) < 1e-12


def limb(rng, parent):
    """A revolute link on a skew axis."""
    axis = rng.normal(size=3)
    motion = Screw("revolute", axis / np.linalg.norm(axis), random_rotation(rng), rng.normal(size=3))
    return Link(motion, parent, 1.3, rng.normal(size=3), random_inertia(rng))


def ball_and_three_hinges():
    """A ball joint with a limb, and the same as a chain with two massless links."""
    rng = np.random.default_rng(8)
    rotation, position, centre, inertia = random_rotation(rng), *rng.normal(size=(2, 3)), random_inertia(rng)
    ball = Link(Spherical(rotation, position), -1, 2.0, centre, inertia)
    hinges = [
        Link(Screw("revolute", Z_AXIS, rotation, position), -1),
        Link(Screw("revolute", Y_AXIS, np.eye(3), np.zeros(3)), 0),
        Link(Screw("revolute", X_AXIS, np.eye(3), np.zeros(3)), 1, 2.0, centre, inertia),
    ]
    arm = limb(rng, 0)
    return Linkage([ball, arm]), Linkage([*hinges, Link(arm.motion, 2, 1.3, arm.centre_of_mass, arm.inertia)])


def test_a_ball_joint_gives_the_matrices_of_three_hinges_without_mass_between():
    # Its axes turn in the link (ring Phi is not zero), which Proposition 2 excludes. With coordinates, as
    # here, C is Christoffel-consistent all the same: it is that of hinges, for which the proposition holds.
    ball, hinges = ball_and_three_hinges()
    q, v, _ = state(9, 4)
    one, three = coriolis_algorithm(ball, q, v), coriolis_algorithm(hinges, q, v)
    for name in ("M", "Mdot", "C"):
        assert largest(getattr(one, name) - getattr(three, name), getattr(three, name)) < 1e-13
    assert largest(one.C - christoffel_algorithm(hinges, q) @ v, one.C) < 1e-12
    assert largest(matrices_of_jacobians(ball, q, v).C - one.C, one.C) < 1e-13


def test_angular_velocity_as_generalized_speed_gives_the_transformed_matrices():
    ball, _ = ball_and_three_hinges()
    speeds = Linkage(
        [
            Link(
                Spherical(ball.motion(0).rotation, ball.motion(0).position, "angular velocity"),
                -1,
                2.0,
                ball.links[0].centre_of_mass,
                ball.links[0].inertia,
            ),
            ball.links[1],
        ]
    )
    q, v, tau = state(10, 4)
    E, E_rate = euler_axes(q[:3]), axes_rate(q[:3], v[:3])
    inverse = np.linalg.inv(E)
    A, A_rate = np.eye(4), np.zeros((4, 4))  # qdot = A nu with nu = [omega, last joint]
    A[:3, :3], A_rate[:3, :3] = inverse, -inverse @ E_rate @ inverse
    nu = np.linalg.solve(A, v)
    coordinates = coriolis_algorithm(ball, q, v)
    changed = changed_matrices(coordinates.M, coordinates.C, A, A_rate)
    direct = coriolis_algorithm(speeds, q, nu)
    assert largest(direct.M - changed.M, changed.M) < 1e-13
    assert largest(direct.C @ nu - changed.C @ nu, changed.C @ nu) < 1e-12
    for C in (direct.C, changed.C):
        assert largest(C + C.T - direct.Mdot, direct.Mdot) < 1e-12
    acceleration = np.linalg.solve(changed.M, changed_forces(tau, A) - changed.C @ nu)
    expected = np.linalg.solve(coordinates.M, tau - coordinates.C @ v)
    assert largest(A @ acceleration + A_rate @ nu - expected, expected) < 1e-11


def floating_tree():
    rng = np.random.default_rng(11)
    base = Link(Floating(), -1, 2.0, rng.normal(size=3), random_inertia(rng))
    return Linkage([base, limb(rng, 0), limb(rng, 0), limb(rng, 1)])


def test_rate_of_the_mass_matrix_of_a_floating_tree():
    tree = floating_tree()
    q, v, _ = state(12, tree.n)
    result, rate = coriolis_algorithm(tree, q, v), rate_of_mass_matrix(tree, q, v)
    assert largest(result.C + result.C.T - rate, rate) < 1e-12


def test_centre_of_mass_as_base_coordinate_decouples_mass_and_coriolis_matrix():
    tree = floating_tree()
    q, v, _ = state(13, tree.n)
    result = centroidal_matrices(tree, q, v)
    total = sum(link.mass for link in tree.links)
    assert np.abs(result.M[:3, :3] - total * np.eye(3)).max() < 1e-12
    assert np.abs(result.M[:3, 3:]).max() < 1e-12
    assert np.abs(result.C[:3]).max() < 1e-12
    assert np.abs(result.C[:, :3]).max() < 1e-12
    assert np.abs(result.C[3:, 3:]).max() > 1.0


def test_centroidal_coordinates_need_one_floating_base():
    tree = floating_tree()
    two = Linkage([tree.links[0], Link(tree.links[1].motion, -1, 1.0)])
    with pytest.raises(TreeError, match=r"links \[0, 1\] hang on the ground"):
        centroidal_matrices(two, np.zeros(7), np.zeros(7))


def test_a_linkage_lists_parents_first():
    tree = floating_tree()
    with pytest.raises(TreeError, match="link 0 has the parent 1"):
        Linkage([Link(tree.links[1].motion, 1)])


def test_christoffel_algorithm_refuses_joints_of_several_dof():
    with pytest.raises(TreeError, match="9 DOF on 4 joints"):
        christoffel_algorithm(floating_tree(), np.zeros(9))
