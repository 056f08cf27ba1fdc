"""Barman's recursion and its sensitivities: complex step, free bodies, and the production kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from paper_models import GEARED, STEP, largest, random_model, state

import dynamics
from dynamics import ShapeError, UnknownNameError
from dynamics.papers.barman.newton_euler import Load, newton_euler
from dynamics.papers.barman.sensitivities import newton_euler_sensitivities
from dynamics.papers.echeandia_thesis.mcrba import gravity_forces
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm
from dynamics.papers.trees.linkage import linkage_of

NODES = 3


MORE_ROTORS = [pytest.param(mode, marks=pytest.mark.long) for mode in ("armature", "none")]


@pytest.fixture(params=["exact", *MORE_ROTORS])
def model(request):
    return random_model(1, geared=GEARED).with_rotors(request.param)


def motion(seed, n):
    return np.random.default_rng(seed).normal(size=(3, NODES, n))


def some_loads(seed):
    rng = np.random.default_rng(seed)
    return [
        Load("link3", rng.normal(size=(NODES, 3)), rng.normal(size=3), rng.normal(size=3)),
        Load("link6", force=rng.normal(size=3), point=rng.normal(size=3)),
        Load("link5", rng.normal(size=3), rng.normal(size=(NODES, 3)), rng.normal(size=3)),
    ]


def test_torques_are_those_of_the_equations_of_motion(model):
    q, v, a = motion(2, model.n)
    tau = newton_euler(model, q, v, a).tau
    for node in range(NODES):
        matrices = coriolis_algorithm(model, q[node], v[node])
        expected = matrices.M @ a[node] + matrices.C @ v[node] + gravity_forces(model, q[node])
        assert largest(tau[node] - expected, expected) < 1e-12


@pytest.mark.parametrize("by", ["q", "v", "a"])
def test_sensitivities_equal_complex_differences(model, by):
    arguments = dict(zip("qva", motion(3, model.n), strict=True))
    loads = some_loads(4)
    found = newton_euler_sensitivities(model, **arguments, loads=loads)
    for i in range(model.n):
        moved = {**arguments, by: arguments[by] + 1j * STEP * np.eye(model.n)[i]}
        step = newton_euler(model, **moved, loads=loads)
        for output in ("force", "moment", "tau"):
            expected = getattr(step, output).imag / STEP
            column = getattr(getattr(found, output), by)[..., i]
            assert np.abs(column - expected).max() < 1e-11 * np.abs(getattr(getattr(found, output), by)).max()


@pytest.mark.parametrize("rotors", ["exact", "armature"])
def test_torques_by_accelerations_are_the_mass_matrix(rotors):
    model = random_model(1, geared=GEARED).with_rotors(rotors)
    q, v, a = (x[0] for x in motion(3, model.n))
    M = coriolis_algorithm(model, q, v).M
    assert largest(newton_euler_sensitivities(model, q, v, a).tau.a - M, M) < 1e-12


@pytest.mark.parametrize("by", ["force", "moment"])
def test_sensitivities_to_loads_equal_complex_differences(model, by):
    q, v, a = motion(5, model.n)
    loads = some_loads(6)
    found = newton_euler_sensitivities(model, q, v, a, loads)
    for place, load in enumerate(loads):
        for i in range(3):
            moved = list(loads)
            moved[place] = replace(load, **{by: getattr(load, by) + 1j * STEP * np.eye(3)[i]})
            step = newton_euler(model, q, v, a, moved)
            for output in ("force", "moment", "tau"):
                expected = getattr(step, output).imag / STEP
                column = getattr(found.loads[place], f"{output}_by_{by}", np.zeros((1, 3)))[..., i]
                assert np.abs(column - expected).max() < 1e-12


def test_the_values_beside_the_sensitivities_are_those_of_the_recursion(model):
    q, v, a = motion(7, model.n)
    loads = some_loads(8)
    plain, found = (
        newton_euler(model, q, v, a, loads),
        newton_euler_sensitivities(model, q, v, a, loads).value,
    )
    assert np.array_equal(plain.tau, found.tau)
    assert np.array_equal(plain.moment, found.moment)


def test_an_own_column_of_a_prismatic_joint_needs_both_terms_that_3_83_lacks():
    # A prismatic link slides away from its proximal point: without e x F_G and e x F_d the derivative is
    # wrong by exactly those two terms. The thesis' examples have one prismatic joint, at the base, whose
    # column of the moment nothing reads.
    model = random_model(9)
    q, v, a = motion(10, model.n)
    slider = model.joint_names.index("joint1")
    column = newton_euler_sensitivities(model, q, v, a).moment.q[..., slider, :, slider]
    force = newton_euler(model, q, v, a).force[..., slider, :]
    both_terms = np.cross(model.bodies[slider].joint.axis, force)
    assert largest(both_terms, column) > 1e-2


def test_power_of_the_torques_is_the_rate_of_the_kinetic_energy(model):
    weightless = model.with_gravity((0, 0, 0))
    q, v, a = (x[0] for x in motion(11, model.n))
    matrices = coriolis_algorithm(weightless, q, v)
    rate = 0.5 * v @ matrices.Mdot @ v + v @ matrices.M @ a
    assert newton_euler(weightless, q, v, a).tau @ v == pytest.approx(rate, rel=1e-11)


def test_a_load_that_balances_gravity_leaves_nothing_to_transmit():
    model = random_model(12).with_rotors("none")
    q = state(13, model.n)[0]
    loads = [
        Load(body.name, force=-body.mass * model.gravity, point=body.centre_of_mass) for body in model.bodies
    ]
    rest = newton_euler(model, q, 0 * q, 0 * q, loads)
    weight = np.abs(newton_euler(model, q, 0 * q, 0 * q).force).max()
    for output in (rest.force, rest.moment, rest.tau):
        assert np.abs(output).max() < 1e-13 * weight


def test_projections_on_the_joint_axes_are_the_joint_torques():
    model = random_model(14)
    q, v, a = motion(15, model.n)
    forces = newton_euler(model, q, v, a, some_loads(16))
    for i, body in enumerate(model.bodies):
        wrench = forces.moment if body.joint.kind == "revolute" else forces.force
        assert np.abs(wrench[..., i, :] @ body.joint.axis - forces.tau[..., i]).max() < 1e-12


def test_a_dh_table_gives_the_vectors_of_the_thesis():
    # e = (0, sin alpha, cos alpha) and Delta x_j = (a, d sin alpha, d cos alpha), d = d_0 + q when prismatic.
    rows = [
        {
            "theta": 0.3,
            "d": 0.2,
            "a": 0.4,
            "alpha": 0.7,
            "mass": 1.0,
            "centre_of_mass": (-0.2, 0.1, 0.0),
            "inertia": np.diag([0.1, 0.2, 0.2]),
            "kind": "revolute",
        },
        {
            "theta": -0.5,
            "d": 0.3,
            "a": 0.1,
            "alpha": -1.1,
            "mass": 2.0,
            "centre_of_mass": (0.0, 0.1, 0.3),
            "inertia": np.diag([0.3, 0.2, 0.2]),
            "kind": "prismatic",
        },
        {
            "theta": 0.1,
            "d": 0.0,
            "a": 0.5,
            "alpha": 0.2,
            "mass": 0.5,
            "centre_of_mass": (-0.1, 0.0, 0.2),
            "inertia": np.diag([0.1, 0.1, 0.1]),
            "kind": "revolute",
        },
    ]
    model = dynamics.from_dh(rows)
    first, second = model.bodies[0].joint, model.bodies[1].joint
    assert np.allclose(first.axis, [0.0, np.sin(0.7), np.cos(0.7)], atol=1e-15)
    assert np.allclose(second.position, [0.4, 0.2 * np.sin(0.7), 0.2 * np.cos(0.7)], atol=1e-15)
    q, v, a = motion(17, 3)
    found = newton_euler_sensitivities(model, q, v, a)
    for i in range(3):
        moved = q + 1j * STEP * np.eye(3)[i]
        expected = newton_euler(model, moved, v, a).moment.imag / STEP
        assert np.abs(found.moment.q[..., i] - expected).max() < 1e-12


def test_a_batch_equals_a_loop():
    model = random_model(18, geared=GEARED)
    q, v, a = motion(19, model.n)
    batch = newton_euler_sensitivities(model, q, v, a)
    for node in range(NODES):
        single = newton_euler_sensitivities(model, q[node], v[node], a[node])
        assert np.abs(batch.moment.q[node] - single.moment.q).max() < 1e-12
        assert np.abs(batch.tau.v[node] - single.tau.v).max() < 1e-12


def test_wrong_shapes_and_unknown_links_are_named():
    model = random_model(20)
    q, v, a = motion(21, model.n)
    with pytest.raises(ShapeError, match=r"v has shape \(3, 6\) but there are n = 7 coordinates"):
        newton_euler(model, q, v[:, :6], a)
    with pytest.raises(UnknownNameError, match="no link 'link9'"):
        newton_euler(model, q, v, a, [Load("link9")])


# --- against the production kernels ------------------------------------------------------------------


def world_origins(model, q):
    """(links, 3) m, origins of the link frames in the world."""
    linkage = linkage_of(model.with_rotors("none"))
    rotations, origins = [], []
    for link, q_i in zip(linkage.links, q, strict=True):
        carrier, origin = np.eye(3), np.zeros(3)
        if link.parent >= 0:
            carrier, origin = rotations[link.parent], origins[link.parent]
        rotation, position = link.motion.pose(np.array([q_i]))
        rotations.append(carrier @ rotation)
        origins.append(origin + carrier @ position)
    return np.array(origins)


def about_joint_frames(model, q, force, moment):
    """Moments about the link frames, which a prismatic joint has moved away from the proximal points."""
    moved = moment.copy()
    for i, body in enumerate(model.bodies):
        if body.joint.kind == "prismatic":
            moved[..., i, :] -= np.cross(body.joint.axis * q[..., i, None], force[..., i, :])
    return np.concatenate([moved, force], axis=-1)


def test_production_torques_and_wrenches_are_barmans(model):
    q, v, a = motion(22, model.n)
    forces = newton_euler(model, q, v, a)
    tau = dynamics.rnea(model, q, v, a)
    assert largest(tau - forces.tau, forces.tau) < 1e-12
    wrenches = dynamics.joint_wrenches(model, q, v, a)
    expected = about_joint_frames(model, q, forces.force, forces.moment)
    assert largest(wrenches - expected, expected) < 1e-12


def test_production_derivatives_are_barmans_sensitivities(model):
    q, v, a = motion(23, model.n)
    found = newton_euler_sensitivities(model, q, v, a)
    production = dynamics.rnea_derivatives(model, q, v, a)
    for ours, theirs in (
        (found.tau.q, production.dtau_dq),
        (found.tau.v, production.dtau_dv),
        (found.tau.a, production.dtau_da),
    ):
        assert largest(theirs - ours, ours) < 1e-11


def test_production_wrench_derivatives_are_barmans_sensitivities(model):
    q, v, a = motion(24, model.n)
    found = newton_euler_sensitivities(model, q, v, a)
    production = dynamics.joint_wrench_derivatives(model, q, v, a)
    forces = {"dq": found.force.q, "dv": found.force.v, "da": found.force.a}
    moments = {"dq": found.moment.q, "dv": found.moment.v, "da": found.moment.a}
    for by, force in forces.items():
        moment = moments[by].copy()
        for i, body in enumerate(model.bodies):
            if body.joint.kind == "prismatic":  # d(slide x F): slide = axis q
                axis = body.joint.axis
                moment[..., i, :, :] -= np.cross(
                    axis[:, None] * q[:, i, None, None], force[..., i, :, :], axis=-2
                )
                if by == "dq":
                    moment[..., i, :, i] -= np.cross(axis, found.value.force[..., i, :])
        expected = np.concatenate([moment, force], axis=-2)
        assert largest(getattr(production, by) - expected, expected) < 1e-11


def test_production_external_wrenches_act_as_barmans_loads():
    model = random_model(25, geared=GEARED)
    rng = np.random.default_rng(26)
    q, v, a = state(27, model.n)
    force, moment = rng.normal(size=(2, model.link_count, 3))
    loads = [Load(f"link{i}", force[i], moment[i]) for i in range(model.link_count)]
    origins = world_origins(model, q)
    external = np.concatenate([moment + np.cross(origins, force), force], axis=-1)
    expected = newton_euler(model, q, v, a, loads).tau
    assert largest(dynamics.rnea(model, q, v, a, external=external) - expected, expected) < 1e-12
