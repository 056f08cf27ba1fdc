"""The regressor against Pinocchio and against inverse dynamics, and its gradient against slopes."""

from dataclasses import replace

import numpy as np
import pytest
from random_trees import floating_tree, random_state, random_tree, relative_error
from slopes import both_ways
from tiers import every

import dynamics
from dynamics import Body, Joint, RigidBodyModel, Rotor

SEEDS = range(8)


def balanced(model):
    """The same tree with rotors that are symmetric about their axes."""

    def with_balanced_rotor(body):
        rotor = body.joint.rotor
        if rotor is None:
            return body
        inertia = 0.003 * np.eye(3) + 0.002 * np.outer(rotor.axis, rotor.axis)
        own = replace(rotor, inertia=inertia, centre_of_mass=0.07 * rotor.axis)
        return replace(body, joint=replace(body.joint, rotor=own))

    return replace(model, bodies=tuple(map(with_balanced_rotor, model.bodies)))


def torques(model, q, v, a):
    return dynamics.rnea(model, q, v, a) - dynamics.friction(model, v).force


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_of_links_agree_with_pinocchio(seed):
    pinocchio = pytest.importorskip("pinocchio")
    from pinocchio_trees import pinocchio_model

    model = random_tree(seed)
    peer = pinocchio_model(model)
    data = peer.createData()
    rows = [peer.joints[peer.getJointId(name)].idx_v for name in model.joint_names]
    order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # theirs: xx, xy, yy, xz, yz, zz
    columns = [
        10 * (peer.getJointId(body.joint.name) - 1) + place for body in model.bodies for place in order
    ]
    for state in random_state(model, 5, seed=seed).swapaxes(0, 1):
        moved = np.empty_like(state)
        moved[:, rows] = state
        theirs = pinocchio.computeJointTorqueRegressor(peer, data, *moved)[np.ix_(rows, columns)]
        ours = dynamics.regressor(model, *state)[:, : 10 * model.link_count]
        assert relative_error(ours, theirs) < 1e-12


@every("rotors", ["none", "armature", "exact"])
@every("seed", SEEDS)
def test_regressor_times_parameters_is_inverse_dynamics(seed, rotors):
    model = balanced(random_tree(seed, rotors=True, mimic=seed % 2 == 1)).with_rotors(rotors)
    motion = random_state(model, 9)
    Y, pi = dynamics.regressor(model, *motion), dynamics.dynamic_parameters(model)
    assert Y.shape == (9, model.n, len(dynamics.dynamic_parameter_names(model)))
    assert relative_error(Y @ pi, torques(model, *motion)) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_regressor_of_free_bases_and_ball_joints(seed):
    model = floating_tree(seed).with_rotors("armature")
    motion = random_state(model, 9)
    found = dynamics.regressor(model, *motion) @ dynamics.dynamic_parameters(model)
    assert relative_error(found, torques(model, *motion)) < 1e-12


@pytest.mark.long
@both_ways
@pytest.mark.parametrize("rotors", ["armature", "exact"])
@pytest.mark.parametrize("seed", range(4))
def test_gradient_is_that_of_slopes(seed, rotors, slope):
    model = balanced(random_tree(seed, rotors=True, mimic=seed % 2 == 1)).with_rotors(rotors)
    motion = random_state(model, 3)
    Y = dynamics.regressor(model, *motion, smoothing=0.3)
    weights = np.random.default_rng(seed).normal(size=Y.shape)
    gradient = dynamics.regressor_gradient(model, *motion, weights, smoothing=0.3)
    expected = np.empty((3, model.n, 3))
    for which, k in np.ndindex(3, model.n):
        direction = np.zeros_like(motion)
        direction[which, :, k] = 1.0
        rate = slope(lambda t, along=direction: dynamics.regressor(model, *motion + t * along, smoothing=0.3))
        expected[which, k] = (rate * weights).sum(axis=(1, 2))
    assert relative_error(gradient, np.moveaxis(expected, -1, 0)) < 1e-12


def test_leading_axes_are_kept():
    model = random_tree(1)
    motion = random_state(model, 2, 5)
    found = dynamics.regressor(model, *motion)
    assert found.shape[:2] == (2, 5)
    np.testing.assert_array_equal(found[1, 3], dynamics.regressor(model, *motion[:, 1, 3]))
    gradient = dynamics.regressor_gradient(model, *motion, found)
    np.testing.assert_allclose(
        gradient[1, 3], dynamics.regressor_gradient(model, *motion[:, 1, 3], found[1, 3])
    )


def test_the_robot_is_made_of_its_parameters():
    model = balanced(random_tree(0, rotors=True)).with_rotors("exact")
    motion = random_state(model, 7)
    made = dynamics.with_dynamic_parameters(model, dynamics.dynamic_parameters(model))
    assert relative_error(torques(made, *motion), torques(model, *motion)) < 1e-12
    again = dynamics.dynamic_parameters(made)
    np.testing.assert_allclose(again, dynamics.dynamic_parameters(model), rtol=1e-12, atol=1e-14)


def test_a_joint_without_rotor_gets_one_of_the_inertia_asked_for():
    model = random_tree(3).with_rotors("armature")
    pi = dynamics.dynamic_parameters(model)
    names = dynamics.dynamic_parameter_names(model)
    pi[names.index("joint0.rotor_inertia")] = 0.7
    made = dynamics.with_dynamic_parameters(model, pi)
    q = random_state(model, 1)[0]
    difference = dynamics.crba(made, q) - dynamics.crba(model, q)
    assert difference[0, 0, 0] == pytest.approx(0.7, rel=1e-9)


@pytest.mark.parametrize(("lever", "balanced_enough"), [(1e-8, True), (1e-7, False)])
def test_a_rotor_without_extent_may_be_off_its_axis_by_hundredths_of_a_micrometre(lever, balanced_enough):
    """Its lever is compared with a radius of gyration of a millimetre, below which inertias are rounding."""
    model = random_tree(0, rotors=True)
    place = next(k for k, body in enumerate(model.bodies) if body.joint.rotor is not None)
    body = model.bodies[place]
    rotor, across = body.joint.rotor, np.cross(body.joint.rotor.axis, [1.0, 2.0, 3.0])
    centre = lever * across / np.linalg.norm(across)
    point = replace(rotor, mass=2.0, inertia=np.zeros((3, 3)), centre_of_mass=centre)
    bodies = [replace(each, joint=replace(each.joint, rotor=None)) for each in model.bodies]
    bodies[place] = replace(body, joint=replace(body.joint, rotor=point))
    exact = replace(model, bodies=tuple(bodies)).with_rotors("exact")
    if balanced_enough:
        assert np.isfinite(dynamics.dynamic_parameters(exact)).all()
    else:
        with pytest.raises(dynamics.JointError, match="is not balanced about its axis"):
            dynamics.dynamic_parameters(exact)


def test_a_rotor_of_no_symmetric_inertia_is_refused_however_light_it_is():
    model = random_tree(0, rotors=True)
    bodies = []
    for body in model.bodies:
        rotor = body.joint.rotor
        if rotor is not None:
            rotor = replace(rotor, mass=1e-6, inertia=1e-6 * rotor.inertia, centre_of_mass=np.zeros(3))
        bodies.append(replace(body, joint=replace(body.joint, rotor=rotor)))
    with pytest.raises(dynamics.JointError, match="rotor of joint 'joint0' is not balanced"):
        dynamics.dynamic_parameters(replace(model, bodies=tuple(bodies)).with_rotors("exact"))


def test_what_is_refused():
    model = random_tree(3).with_rotors("armature")
    pi, names = dynamics.dynamic_parameters(model), dynamics.dynamic_parameter_names(model)
    floating = floating_tree(0)
    free = (*random_state(floating, 2), np.zeros((2, floating.n, 1)))
    with pytest.raises(dynamics.ShapeError, match=r"parameters have shape \(3,\): give \(\d+,\) finite"):
        dynamics.with_dynamic_parameters(model, [1.0, 2.0, 3.0])
    with pytest.raises(dynamics.ShapeError, match="finite numbers"):
        dynamics.with_dynamic_parameters(model, np.nan * pi)
    negative = [-1.0 if "rotor" in name else p for name, p in zip(names, pi, strict=True)]
    with pytest.raises(dynamics.ModelError, match=r"rotor inertia is -1\.0; it must not be negative"):
        dynamics.with_dynamic_parameters(model, negative)
    with pytest.raises(dynamics.JointError, match="rotor of joint 'joint0' is not balanced"):
        dynamics.dynamic_parameters(random_tree(0, rotors=True).with_rotors("exact"))
    with pytest.raises(dynamics.DynamicsError, match=r"smoothing is 0\.0; it is a rate"):
        dynamics.regressor(model, *random_state(model, 2), smoothing=0.0)
    with pytest.raises(dynamics.ModelError, match="is part of a rotation vector"):
        dynamics.regressor_gradient(floating, *free)
    with pytest.raises(dynamics.ShapeError, match="weights has shape"):
        dynamics.regressor_gradient(model, *random_state(model, 2), np.zeros((2, 3)))


def pendulum(rotor=None):
    joint = Joint("pivot", axis=(0.0, 1.0, 0.0), rotor=rotor)
    link = Body("link", joint, None, 2.0, (0.5, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]))
    return RigidBodyModel((link,), name="pendulum").with_rotors("armature")


def test_the_regressor_of_a_pendulum_is_what_books_have():
    model = pendulum(Rotor(10.0, inertia=np.diag([0.0, 1e-3, 0.0]), axis=(0.0, 1.0, 0.0)))
    q, v, a = 0.3, 0.7, -1.1
    row = dynamics.regressor(model, [q], [v], [a])[0]
    found = dict(zip(dynamics.dynamic_parameter_names(model), row, strict=True))
    assert found["link.moment_x"] == pytest.approx(-9.81 * np.cos(q))  # a turn about y lowers the x axis
    assert found["link.moment_z"] == pytest.approx(-9.81 * np.sin(q))
    assert found["link.inertia_yy"] == pytest.approx(a)
    assert found["pivot.damping"] == pytest.approx(v)
    assert found["pivot.friction"] == pytest.approx(np.tanh(70.0))
    assert found["pivot.rotor_inertia"] == pytest.approx(a)
    assert found["link.mass"] == 0.0
    assert dynamics.dynamic_parameters(model)[-1] == pytest.approx(0.1)
