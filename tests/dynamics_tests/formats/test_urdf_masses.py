"""Robots of URDFs in which links have no mass: what is computed, what is refused by name, masses given."""

import re
import warnings

import numpy as np
import pytest
from tiers import every
from urdf_text import INERTIAL, joint, link, robot

import dynamics
from dynamics import InertiaError, InertiaWarning, load_urdf

LIMIT = '<axis xyz="0 1 0"/><origin xyz="0 0 0.3"/><limit lower="-2" upper="2" velocity="3" effort="{}"/>'


def arm(*contents, effort=7):
    """Links l0, l1 ... on revolute joints j1, j2 ..."""
    links = [link(f"l{i}", content) for i, content in enumerate(contents)]
    joints = [
        joint(f"j{i}", f"l{i - 1}", f"l{i}", content=LIMIT.format(effort)) for i in range(1, len(contents))
    ]
    return robot(*links, *joints)


def test_a_robot_without_mass_loads_silently_with_its_kinematics():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load_urdf(arm("", "", "", effort=0))
    assert model.has_no_mass and model.joints_without_mass == ("j1", "j2")
    position = dynamics.forward_kinematics(model, [0.3, 0.4], ["l2"]).position[0]
    np.testing.assert_allclose(position, [0.3 * np.sin(0.3), 0.0, 0.3 + 0.3 * np.cos(0.3)], atol=1e-15)
    assert model.skeleton(np.zeros(2)).shape == (2, 2, 3)
    assert "no link has a mass" in str(model)
    back = dynamics.RigidBodyModel.from_json(model.to_json())
    assert back.has_no_mass and back.to_json() == model.to_json()


@pytest.mark.parametrize(("effort", "limit"), [(0, np.inf), (7, 7.0)])
def test_an_effort_of_zero_is_not_stated_where_no_link_has_a_mass(effort, limit):
    model = load_urdf(arm("", "", "", effort=effort))
    assert model.limits.torque_upper.tolist() == [limit] * 2
    assert model.left_out == (("effort of joints that move no mass: j1, j2",) if effort else ())


def with_limits(*limits, mass=INERTIAL):
    """A chain of links with mass on revolute joints j1, j2 ... that have these <limit> elements."""
    links = [link(f"l{i}", mass) for i in range(len(limits) + 1)]
    joints = [
        joint(f"j{i}", f"l{i - 1}", f"l{i}", content=f'<axis xyz="0 1 0"/>{limit}')
        for i, limit in enumerate(limits, 1)
    ]
    return robot(*links, *joints)


STATED = '<limit lower="-1" upper="1" velocity="3" effort="5"/>'
NO_EFFORT = STATED.replace('"5"', '"0"')
NO_SPEED = STATED.replace('"3"', '"0"')
NO_RANGE = '<limit velocity="0" effort="0"/>'
ZEROS = '<limit lower="0" upper="0" velocity="0" effort="0"/>'


@pytest.mark.parametrize(
    ("limits", "velocity", "effort", "upper", "named"),
    [
        ([STATED, NO_EFFORT], [3, 3], [5, 0], [1, 1], ()),  # a joint without a motor
        ([NO_EFFORT, NO_EFFORT], [3, 3], [np.inf, np.inf], [1, 1], ("effort of 0.*: j1, j2",)),
        ([STATED, NO_SPEED], [3, np.inf], [5, 5], [1, 1], ("velocity of 0.*: j2",)),
        (
            [STATED, NO_SPEED.replace('"5"', '"0"')], [3, np.inf], [5, np.inf], [1, 1],
            ("velocity of 0.*: j2", "effort of 0.*: j2"),
        ),
        (
            [ZEROS, ZEROS, ""], [np.inf] * 3, [np.inf] * 3, [np.inf] * 3,
            ("velocity of 0.*: j1, j2", "effort of 0.*: j1, j2", "range of 0.*: j1, j2"),
        ),
        (
            [ZEROS, NO_RANGE], [np.inf] * 2, [np.inf] * 2, [np.inf] * 2,
            ("velocity of 0.*: j1, j2", "effort of 0.*: j1, j2", "range of 0.*: j1"),
        ),
        ([ZEROS, STATED], [np.inf, 3], [np.inf, 5], [0, 1], ("velocity of 0.*: j1", "effort of 0.*: j1")),
    ],
)  # fmt: skip
def test_limits_of_zero_that_no_robot_has_are_not_stated(limits, velocity, effort, upper, named):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = load_urdf(with_limits(*limits))
    assert model.limits.velocity.tolist() == velocity
    assert (model.limits.torque_upper.tolist(), model.limits.torque_lower.tolist()) == (
        effort, [-x for x in effort],
    )  # fmt: skip
    assert model.limits.q_upper.tolist() == upper
    assert len(model.left_out) == len(named)
    text = str(told[0].message) if named else ""
    for words, line in zip(named, model.left_out, strict=True):
        assert re.fullmatch(words, line) and line in text
    if named:
        assert issubclass(told[0].category, dynamics.JointWarning)
        with pytest.raises(dynamics.UrdfError, match=r"strict: .* of 0, taken as not stated"):
            load_urdf(with_limits(*limits), strict=True)


def test_a_velocity_of_zero_is_not_stated_where_no_link_has_a_mass():
    with pytest.warns(dynamics.JointWarning, match=r"^velocity of 0, taken as not stated: j1: write them"):
        model = load_urdf(with_limits(NO_SPEED.replace('"5"', '"0"'), NO_EFFORT, mass=""))
    assert model.limits.velocity.tolist() == [np.inf, 3.0]
    assert model.limits.torque_upper.tolist() == [np.inf, np.inf]


def test_masses_that_are_given_count_for_limits_of_zero():
    """A joint without a motor stays one; efforts of 0 of all joints are named."""
    text = with_limits(STATED, NO_EFFORT, mass="")
    masses = {name: (1.0, (0.1, 0.0, 0.0), np.eye(3)) for name in ("l1", "l2")}
    model = load_urdf(text, masses=masses)
    assert model.limits.torque_upper.tolist() == [5.0, 0.0] and model.left_out == ()
    with pytest.warns(dynamics.JointWarning, match="effort of 0, taken as not stated: j1, j2"):
        model = load_urdf(text.replace('"5"', '"0"'), masses=masses)
    assert model.limits.torque_upper.tolist() == [np.inf] * 2


def test_the_effort_of_a_joint_that_mimics_another_drives_nothing():
    text = with_limits(NO_EFFORT, f'{STATED}<mimic joint="j1"/>')
    with pytest.warns(dynamics.JointWarning, match=r"^effort of 0, taken as not stated: j1: "):
        assert load_urdf(text).limits.torque_upper.tolist() == [np.inf]


def test_a_mass_on_the_ground_moves_nothing():
    model = load_urdf(arm(INERTIAL, "", "", effort=0))
    assert model.has_no_mass and model.limits.torque_upper[0] == np.inf and model.ground_mass == 1.0


@every(
    "compute",
    [
        lambda model, x: dynamics.rnea(model, x, x, x),
        lambda model, x: dynamics.rnea_derivatives(model, x, x, x),
        lambda model, x: dynamics.rnea_second_derivatives(model, x, x, x, x),
        lambda model, x: dynamics.base_wrench(model, x, x, x),
        lambda model, x: dynamics.joint_wrenches(model, x, x, x),
        lambda model, x: dynamics.crba(model, x),
        lambda model, x: dynamics.aba(model, x, x, x),
        lambda model, x: dynamics.aba_derivatives(model, x, x, x),
        lambda model, x: dynamics.coriolis_matrix(model, x, x),
        lambda model, x: dynamics.coriolis_product(model, x, x, x),
        lambda model, x: dynamics.christoffel_symbols(model, x),
        lambda model, x: dynamics.centre_of_mass(model, x),
        lambda model, x: dynamics.momentum(model, x, x),
        lambda model, x: dynamics.kinetic_energy(model, x, x),
        lambda model, x: dynamics.potential_energy(model, x),
        lambda model, x: model.block(["tau"]),
        lambda model, x: model.block(["motor_torque"]),
        lambda model, x: model.block(["position:l2"], loads=["l2"]),
        lambda model, x: model.check_quantity("wrench:j1"),
    ],
)
def test_all_that_needs_a_mass_says_so_and_how_to_give_one(compute):
    with pytest.raises(
        InertiaError, match=r"needs masses, .*l1, l2.*masses=\{'l2': 2.0.*limits\(torque=None\)"
    ):
        compute(load_urdf(arm("", "", "")), np.zeros(2))


def test_quantities_of_a_robot_without_mass_are_those_that_need_none():
    assert sorted(load_urdf(arm("", "", "")).quantities) == ["orientation", "position", "velocity"]


def test_joints_that_move_no_mass_are_named_and_inverse_dynamics_stays():
    with pytest.warns(InertiaWarning, match=r"joints that move no mass: j2;.*masses="):
        model = load_urdf(arm("", INERTIAL, ""))
    assert model.joints_without_mass == ("j2",) and not model.has_no_mass
    assert "joints that move no mass: j2" in str(model)
    whole = load_urdf(arm("", INERTIAL, INERTIAL))
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 2))
    alone = load_urdf(arm("", INERTIAL))
    np.testing.assert_allclose(
        dynamics.rnea(model, q, v, a), [dynamics.rnea(alone, q[:1], v[:1], a[:1])[0], 0.0], atol=1e-15
    )
    assert whole.has_forward_dynamics and not model.has_forward_dynamics
    for compute in (dynamics.aba, dynamics.aba_derivatives):
        with pytest.raises(
            InertiaError, match="forward dynamics needs mass on every joint, and j2 moves none"
        ):
            compute(model, q, v, a)


def test_of_two_joints_on_one_axis_with_one_mass_between_them_one_is_named():
    """The first turns the second's massless carrier: together they move the mass, apart they need not."""
    text = robot(
        *(link("l0", ""), link("l1", ""), link("l2")),
        joint("j1", "l0", "l1"),
        joint("j2", "l1", "l2"),
    )
    with pytest.warns(InertiaWarning, match="joints that move no mass: j[12];"):
        model = load_urdf(text)
    assert len(model.joints_without_mass) == 1


def test_a_link_without_mass_that_mimics_one_with_mass_moves_mass():
    text = arm("", INERTIAL, "").replace("</joint></robot>", '<mimic joint="j1"/></joint></robot>')
    model = load_urdf(text)
    assert model.n == 1 and model.has_forward_dynamics
    dynamics.aba(model, [0.1], [0.2], [0.3])


SOLIDS = {
    '<sphere radius="0.1"/>': np.full(3, 0.4 * 0.01),
    '<box size="0.1 0.2 0.3"/>': np.array([0.13, 0.10, 0.05]) / 12.0,
    '<cylinder radius="0.1" length="0.4"/>': np.array([0.25 * 0.01 + 0.16 / 12.0] * 2 + [0.5 * 0.01]),
}


@pytest.mark.parametrize("solid", SOLIDS)
def test_a_mass_is_spread_evenly_over_the_solid_of_its_link(solid):
    shape = f'<origin xyz="0.1 0 0.2"/><geometry>{solid}</geometry>'
    model = load_urdf(arm("", f"<collision>{shape}</collision>"), masses={"l1": 2.0})
    (body,) = model.bodies
    assert body.mass == 2.0
    np.testing.assert_allclose(body.centre_of_mass, [0.1, 0.0, 0.2], atol=1e-15)
    np.testing.assert_allclose(body.inertia, np.diag(2.0 * SOLIDS[solid]), atol=1e-15)


@pytest.mark.parametrize("inertial", ['<mass value="5"/>', '<density value="500"/>', '<mass value="heavy"/>'])
def test_a_mass_that_is_given_stands_in_place_of_one_that_cannot_be_read(inertial):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    text = arm("", f"<inertial>{inertial}</inertial>{ball}")
    with pytest.raises(dynamics.UrdfError, match="link 'l1': "):
        load_urdf(text)
    model = load_urdf(text, masses={"l1": 2.0})
    np.testing.assert_allclose(model.bodies[0].inertia, 2.0 * np.diag([0.004] * 3), atol=1e-15)
    assert len(dynamics.load_scene(text).shapes) == 1  # an obstacle needs no mass


def test_a_capsule_is_a_cylinder_between_two_halves_of_a_sphere():
    """Its inertia across against the integral over slices of thickness dz: pi s^2 (s^2 / 4 + z^2) dz."""
    capsule = '<capsule radius="0.1" length="0.4"/>'
    model = load_urdf(arm("", f"<visual><geometry>{capsule}</geometry></visual>"), masses={"l1": 3.0})
    z = (np.arange(200_000) + 0.5) / 200_000 * 0.6 - 0.3
    square = 0.01 - np.maximum(np.abs(z) - 0.2, 0.0) ** 2
    across = (square * (0.25 * square + z**2)).sum() / square.sum()
    along = (0.5 * square**2).sum() / square.sum()
    np.testing.assert_allclose(model.bodies[0].inertia, 3.0 * np.diag([across, across, along]), rtol=1e-9)


def test_masses_with_a_centre_and_an_inertia_are_taken_as_they_are():
    inertia = np.diag([0.1, 0.2, 0.25])
    model = load_urdf(
        arm("", INERTIAL, ""), masses={"l1": (3.0, (0.1, 0.2, 0.3), inertia), "l2": (1.0, (0, 0, 1))}
    )
    first, last = model.bodies
    assert (first.mass, first.inertia.tolist()) == (3.0, inertia.tolist())
    assert (last.mass, last.centre_of_mass.tolist()) == (1.0, [0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("masses", "error", "message"),
    [
        ({"l3": 1.0}, dynamics.UnknownNameError, "masses: the robot has no link 'l3': there are l0, l1, l2"),
        ({"l1": 1.0}, InertiaError, r"masses\['l1'\]: the link has no solid .* give \(kg, centre"),
        ({"l1": -1.0}, InertiaError, r"masses\['l1'\] is -1.0 kg"),
        (
            {"l1": (1.0, (0, 0, 0), np.diag([1, 1, 3]))},
            InertiaError,
            r"masses\['l1'\]: the inertia has principal",
        ),
        ({"l1": (1, 2, 3, 4)}, InertiaError, r"masses\['l1'\] is \(1, 2, 3, 4\): give kg, \(kg, centre\)"),
        (3.0, InertiaError, "masses is 3.0: give a dictionary"),
    ],
)
def test_masses_that_cannot_be_are_refused_by_name(masses, error, message):
    with pytest.raises(error, match=message):
        load_urdf(arm("", "", ""), masses=masses)
