"""A model: its contents, its promises, and its refusals."""

import subprocess
import sys

import numpy as np
import pytest
from tiers import every

import dynamics
from dynamics import (
    Body,
    DegreesWarning,
    Frame,
    InertiaError,
    Joint,
    JointError,
    JointLimits,
    ModelError,
    RigidBodyModel,
    Rotor,
    ShapeError,
    TreeError,
    UnknownNameError,
)
from dynamics.model.checks.mass_check import mass_matrix

ROD = np.diag([0.001, 0.02, 0.02])


def link(name, parent=None, joint=None, **matter):
    """A rod of 1 kg on a revolute z joint half a metre out on its parent."""
    joint = joint or Joint(f"{name}_joint", position=(0.5, 0, 0))
    return Body(
        name, joint, parent, **({"mass": 1.0, "centre_of_mass": (0.25, 0, 0), "inertia": ROD} | matter)
    )


def arm(**model):
    return RigidBodyModel((link("upper"), link("fore", "upper")), **model)


def test_importing_the_package_imports_neither_numba_nor_an_xml_parser():
    code = "import dynamics, sys; print([m for m in ('numba', 'defusedxml', 'scipy') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_an_unknown_attribute_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"no attribute 'from_urdf' \(did you mean 'load_urdf'\?\)"):
        _ = dynamics.from_urdf


def test_a_model_knows_its_tree():
    model = RigidBodyModel((link("trunk"), link("left", "trunk"), link("right", "trunk")))
    assert (model.n, model.link_count) == (3, 3)
    assert model.parent.tolist() == [-1, 0, 0]
    assert model.joint_names == ("trunk_joint", "left_joint", "right_joint")
    assert model.link_names == ("trunk", "left", "right")
    assert model.link_index("right") == model.joint_link_index("right_joint") == 2
    assert [joint.name for joint in model.joints] == list(model.joint_names)


def test_a_mimic_joint_shares_the_coordinate_and_tightens_its_limits():
    finger = Joint("left_joint", limits=JointLimits(-1.0, 1.0, 2.0, -5.0, 3.0))
    other = Joint(
        "right_joint", limits=JointLimits(-1.0, 0.5, 1.0), mimics="left_joint", ratio=-2.0, offset=0.1
    )
    model = RigidBodyModel((link("left", joint=finger), link("right", joint=other)))
    assert (model.n, model.link_count, model.coordinate.tolist()) == (1, 2, [0, 0])
    # -1 <= -2 q + 0.1 <= 0.5 is -0.2 <= q <= 0.55, and |2 v| <= 1
    assert model.limits.q_lower == pytest.approx([-0.2])
    assert model.limits.q_upper == pytest.approx([0.55])
    assert model.limits.velocity.tolist() == [0.5]
    assert (model.limits.torque_lower.tolist(), model.limits.torque_upper.tolist()) == ([-5.0], [3.0])


def test_limits_are_those_of_the_joints_in_the_order_of_q():
    limits = JointLimits.symmetric(q=2.0, velocity=3.0, torque=4.0)
    model = RigidBodyModel((link("a"), link("b", "a", Joint("b_joint", limits=limits))))
    assert model.limits.q_upper.tolist() == [np.inf, 2.0]
    assert model.limits.q_lower.tolist() == [-np.inf, -2.0]
    assert model.limits.velocity.tolist() == [np.inf, 3.0]
    assert model.limits.torque_lower.tolist() == [-np.inf, -4.0]
    assert model.limits.torque_upper.tolist() == [np.inf, 4.0]


def test_nothing_in_a_model_can_be_changed():
    model = arm()
    for array in (
        model.gravity,
        model.parent,
        model.coordinate,
        model.limits.q_lower,
        model.bodies[0].inertia,
        model.bodies[0].joint.axis,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        model.name = "other"


def test_a_model_does_not_follow_later_changes_of_the_arrays_it_was_made_from():
    inertia = ROD.copy()
    body = link("rod", inertia=inertia)
    inertia[0, 0] = 7.0
    assert body.inertia[0, 0] == 0.001


def test_an_axis_of_any_length_is_made_a_unit_vector():
    assert Joint("j", axis=(0, 3, 4)).axis.tolist() == [0.0, 0.6, 0.8]


def test_a_frame_is_found_by_name_and_so_is_the_frame_of_a_link():
    model = arm(frames=(Frame("tool", "fore", position=(0.5, 0, 0)),))
    assert model.frame("tool").position.tolist() == [0.5, 0.0, 0.0]
    assert model.frame("fore").body == "fore"
    with pytest.raises(UnknownNameError, match="no link or frame 'tol'; did you mean tool"):
        model.frame("tol")


def test_unknown_links_and_joints_are_named_with_near_matches():
    with pytest.raises(UnknownNameError, match=r"no link 'uper'; did you mean upper\?"):
        arm().link_index("uper")
    with pytest.raises(UnknownNameError, match="no joint 'wheel'; there are upper_joint, fore_joint"):
        arm().joint_link_index("wheel")


def test_the_mass_matrix_of_a_double_pendulum_is_the_closed_form():
    length, centre, q = 0.5, 0.25, np.array([0.4, -1.1])
    about_z, inertia = np.cos(q[1]), ROD[2, 2]
    m22 = inertia + centre**2
    m12 = m22 + length * centre * about_z
    m11 = inertia + centre**2 + m22 + length**2 + 2 * length * centre * about_z
    np.testing.assert_allclose(mass_matrix(arm(), q), [[m11, m12], [m12, m22]], rtol=1e-14)


def rotor_arm(mode):
    rotor = Rotor(50.0, 0.3, np.diag([1e-4, 1e-4, 2e-4]), position=(0.1, 0, 0), centre_of_mass=(0.02, 0, 0))
    return RigidBodyModel(
        (link("upper"), link("fore", "upper", Joint("elbow", position=(0.5, 0, 0), rotor=rotor))), rotors=mode
    )


def test_a_rotor_adds_its_reflected_inertia_and_exactly_also_the_coupling():
    q = np.array([0.2, 0.7])
    plain, lumped = (mass_matrix(rotor_arm(mode), q) for mode in ("none", "armature"))
    about_axis = 2e-4 + 0.3 * 0.02**2
    assert lumped[1, 1] - plain[1, 1] == pytest.approx(50.0**2 * about_axis, rel=1e-12)
    assert lumped[0, 1] == plain[0, 1]
    # A balanced rotor couples by gear ratio times inertia about parallel axes.
    balanced = Rotor(50.0, 0.3, np.diag([1e-4, 1e-4, 2e-4]), position=(0.1, 0, 0))
    joint = Joint("elbow", position=(0.5, 0, 0), rotor=balanced)
    exact = mass_matrix(RigidBodyModel((link("upper"), link("fore", "upper", joint))), q)
    assert exact[0, 1] - plain[0, 1] == pytest.approx(50.0 * 2e-4, rel=1e-12)
    assert exact[0, 0] - plain[0, 0] == pytest.approx(2e-4 + 0.3 * 0.1**2, rel=1e-10)


def test_with_rotors_returns_another_model_of_the_same_robot():
    model = rotor_arm("exact")
    lumped = model.with_rotors("armature")
    assert (model.rotors, lumped.rotors, lumped.bodies) == ("exact", "armature", model.bodies)
    assert model.with_gravity((0, 0, -1.62)).gravity.tolist() == [0.0, 0.0, -1.62]


def test_a_rotor_of_a_data_sheet_may_be_an_axial_inertia_alone():
    rotor = Rotor(100.0, 0.0, np.diag([0, 0, 1e-4]))
    assert Joint("j", rotor=rotor).rotor.axial_inertia == 1e-4
    assert Rotor(100.0).is_massless


def test_massless_links_between_massive_ones_are_legal():
    model = RigidBodyModel((Body("x", Joint("jx", axis=(1, 0, 0))), link("rod", "x")))
    assert model.bodies[0].is_massless


def test_a_model_prints_itself_as_a_table():
    limits = JointLimits(-1.0, 2.0, 3.0, -10.0, 10.0)
    joint = Joint("elbow", position=(0.5, 0, 0), limits=limits, rotor=Rotor(100.0))
    mirror = Joint("mirror", mimics="elbow", ratio=-1.0)
    model = RigidBodyModel(
        (link("upper"), link("fore", "upper", joint), link("copy", "upper", mirror)),
        name="arm",
        frames=(Frame("tool", "fore"),),
    )
    lines = str(model).splitlines()
    assert lines[0] == "arm: 2 coordinates, 3 links, 3 kg, gravity (0, 0, -9.81) m/s^2, rotors exact"
    assert lines[1].split()[:5] == ["q", "joint", "kind", "link", "on"]
    assert lines[4].split() == [
        "1",
        "elbow",
        "revolute",
        "fore",
        "upper",
        "1",
        "0.25",
        "0",
        "0",
        "[-1,",
        "2]",
        "3",
        "+-10",
        "100",
    ]
    assert lines[5].split()[:2] == ["=1", "mirror"]
    assert lines[-1] == "frames: tool on fore"
    assert repr(model) == "<RigidBodyModel 'arm': 3 links, 2 coordinates>"


# --- what is refused ----------------------------------------------------------------------------------


@every(
    "make, error, message",
    [
        (
            lambda: Joint("j", axis=(0, 0, 0)),
            JointError,
            r"joint 'j': axis is \[0.0, 0.0, 0.0\], which has no dir",
        ),
        (lambda: Joint("j", axis=(0, 1)), ShapeError, r"joint 'j': axis has shape \(2,\) but shape \(3,\)"),
        (lambda: Joint("j", axis="z"), ShapeError, "joint 'j': axis is 'z'; give numbers"),
        (lambda: Joint("j", position=(0, np.nan, 0)), ShapeError, "joint 'j': position is .* must be finite"),
        (lambda: Joint("j", rotation=2 * np.eye(3)), JointError, "joint 'j': rotation is not a rotation"),
        (lambda: Joint("j", rotation=np.diag([1, 1, -1])), JointError, "joint 'j': rotation is a reflection"),
        (lambda: Joint("j", "screw"), JointError, "joint 'j': kind is 'screw'; it must be \"revolute\""),
        (lambda: Joint("j", ratio=0), JointError, "joint 'j': ratio is 0, so the joint cannot move"),
        (lambda: Joint("j", damping=-1), JointError, "joint 'j': damping is -1.0; it must not be negative"),
        (lambda: Joint("j", friction=-1), JointError, "joint 'j': friction is -1.0; it must not be negative"),
        (lambda: Joint("j", mimics=3), ModelError, "joint 'j': mimics is 3; give a name or None"),
        (lambda: Joint(""), ModelError, "a joint has the name ''; give a non-empty string"),
        (
            lambda: Joint("j", limits=JointLimits(1, -1)),
            JointError,
            "joint 'j': q_lower = 1.0 exceeds q_upper",
        ),
        (
            lambda: Joint("j", limits=JointLimits(torque_lower=1, torque_upper=0)),
            JointError,
            "joint 'j': torque_lower = 1.0 exceeds",
        ),
        (
            lambda: Joint("j", limits=JointLimits(velocity=-1)),
            JointError,
            "joint 'j': velocity limit is -1.0",
        ),
        (
            lambda: Joint("j", limits=JointLimits(q_lower=np.nan)),
            JointError,
            "joint 'j': limit q_lower is NaN",
        ),
        (lambda: Joint("j", limits=(0, 1)), JointError, r"joint 'j': limits are \(0, 1\); give JointLimits"),
        (lambda: Joint("j", rotor=5), JointError, "rotor of joint 'j': it is 5; give a Rotor"),
        (lambda: Joint("j", rotor=Rotor(0)), JointError, "rotor of joint 'j': gear_ratio is 0"),
        (lambda: Joint("j", rotor=Rotor(5, -1)), InertiaError, "rotor of joint 'j': mass is -1.0 kg"),
        (
            lambda: Joint("j", rotor=Rotor(5, 1, np.diag([0, 0, 1]))),
            InertiaError,
            "rotor of joint 'j': inertia has principal moments 0, 0, 1 .* which no body can have",
        ),
        (lambda: Joint("j", rotor=Rotor(5, axis=(0, 0, 0))), JointError, "rotor of joint 'j': axis"),
        (lambda: link("b", mass=-1), InertiaError, "body 'b': mass is -1.0 kg; a mass is zero or positive"),
        (lambda: link("b", mass=np.inf), ShapeError, "body 'b': mass is inf; every number must be finite"),
        (lambda: link("b", inertia=-ROD), InertiaError, "body 'b': inertia has .* none may be negative"),
        (
            lambda: link("b", inertia=np.diag([1, 1, 3])),
            InertiaError,
            "body 'b': .* the largest exceeds the sum",
        ),
        (
            lambda: link("b", inertia=np.triu(np.ones((3, 3)))),
            InertiaError,
            "body 'b': inertia is not symmetric",
        ),
        (lambda: link("b", parent=4), ModelError, "body 'b': parent is 4; give a name or None"),
        (lambda: Body("b", "joint"), ModelError, "body 'b': joint is 'joint'; give a Joint"),
        (lambda: Body("b", Joint("j"), inertia=np.eye(2)), ShapeError, "body 'b': inertia has shape"),
        (lambda: Frame("f", 3), ModelError, "frame 'f': body is 3; give a name or None"),
        (lambda: Frame("f", rotation=np.zeros((3, 3))), JointError, "frame 'f': rotation is not a rotation"),
    ],
)
def test_a_part_that_cannot_exist_is_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


def mimicking(name, target, **joint):
    return link(name, joint=Joint(f"{name}_joint", mimics=target, **joint))


ROTOR = Rotor(50.0, 0.3, np.diag([1e-4, 1e-4, 2e-4]))


@every(
    "bodies, error, message",
    [
        ((), ModelError, "a model needs at least one body"),
        (("rod",), ModelError, "bodies holds 'rod'; give Body objects"),
        ((link("a"), link("a")), TreeError, "two bodies are named 'a'"),
        ((link("a"), link("b", joint=Joint("a_joint"))), TreeError, "two joints are named 'a_joint'"),
        ((link("a", "x"),), TreeError, "body 'a' has the unknown parent 'x'; the bodies are a"),
        ((link("a", "b"), link("b")), TreeError, "body 'a' comes before its parent 'b'; list parents first"),
        ((link("a", "b"), link("b", "a")), TreeError, "the parents form a cycle: a -> b -> a"),
        ((link("a", "a"),), TreeError, "the parents form a cycle: a -> a"),
        (
            tuple(map(link, "abcdefgh", "bcdefgha")),
            TreeError,
            r"the parents form a cycle: a -> b -> c -> d -> e -> f -> \(2 more\) -> a;",
        ),
        ((mimicking("a", "x"),), TreeError, "joint 'a_joint' mimics the unknown joint 'x'"),
        (
            (link("a"), mimicking("b", "a_joint"), mimicking("c", "b_joint")),
            TreeError,
            "joint 'c_joint' mimics 'b_joint', which itself mimics 'a_joint'",
        ),
        (
            (
                link("a", joint=Joint("j", rotor=ROTOR)),
                Body("b", Joint("bj", mimics="j", ratio=-50.0), None, 0.3, inertia=ROTOR.inertia),
            ),
            TreeError,
            "body 'b' turns as the rotor of joint 'j' does, so its mass would be counted twice",
        ),
        (
            (link("a"), Body("b", Joint("bj"), "a")),
            InertiaError,
            "body 'b' on joint 'bj' is a leaf without mass",
        ),
        (
            (Body("b", Joint("bj"), None, 1.0),),
            InertiaError,
            "the mass matrix is singular: joint 'bj' can move without moving mass",
        ),
        (
            (link("a"), Body("x", Joint("jx"), "a"), link("b", "x", Joint("jb"))),
            InertiaError,
            "the mass matrix is singular: joint 'j[xb]'",
        ),
        (
            (
                link("a", joint=Joint("j", limits=JointLimits(0, 1))),
                mimicking("b", "j", limits=JointLimits(2, 3)),
            ),
            JointError,
            "joint 'j': with the joints that mimic it no displacement satisfies all limits",
        ),
    ],
)
def test_bodies_that_make_no_robot_are_refused_by_name(bodies, error, message):
    with pytest.raises(error, match=message):
        RigidBodyModel(bodies)


def test_a_body_that_turns_like_a_rotor_but_has_another_mass_is_no_rotor():
    finger = mimicking("b", "j", ratio=-50.0)
    assert RigidBodyModel((link("a", joint=Joint("j", rotor=ROTOR)), finger)).n == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rotors": "some"}, ModelError, "rotors is 'some'; it must be one of exact, armature, none"),
        ({"gravity": (0, 0)}, ShapeError, r"gravity has shape \(2,\) but shape \(3,\) is expected"),
        ({"frames": ("tool",)}, ModelError, "frames holds 'tool'; give Frame objects"),
        ({"frames": (Frame("t"), Frame("t"))}, TreeError, "two frames are named 't'"),
        ({"frames": (Frame("fore"),)}, TreeError, "frame 'fore' has the name of a body"),
        ({"frames": (Frame("t", "leg"),)}, TreeError, "frame 't' is fixed to the unknown body 'leg'"),
    ],
)
def test_options_of_a_model_that_make_no_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        arm(**options)


def test_limits_in_degrees_are_warned_of():
    with pytest.warns(DegreesWarning, match="joint 'j': q_upper = 170.0 rad looks like degrees"):
        Joint("j", limits=JointLimits(-1, 170))
    Joint("rail", "prismatic", limits=JointLimits(-1, 170))  # metres
    Joint("wheel", limits=JointLimits.symmetric(1e9))  # written for "no limit"


def test_a_frame_that_is_taken_for_a_link_names_the_link():
    model = arm(frames=[Frame("tool", "fore"), Frame("table")])
    with pytest.raises(UnknownNameError, match="'tool' is no link but a frame on the link 'fore': name that"):
        model.link_index("tool")
    with pytest.raises(UnknownNameError, match="'table' is no link but a frame fixed to the ground"):
        model.link_index("table")
    with pytest.raises(UnknownNameError, match="the model has no link 'tol'; there are upper, fore"):
        model.link_index("tol")


def test_further_frames_are_given_on_links_or_on_frames():
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    model = arm(frames=(Frame("tool", "fore", turned, (0.5, 0, 0)),))
    more = model.with_frames(Frame("tip", "tool", turned, (0.1, 0, 0)), Frame("elbow", "fore"))
    assert model.frame_names == ("tool",) and more.frame_names == ("tool", "tip", "elbow")
    assert more.carrier("tip") == "fore" and type(more) is type(model)
    q = np.array([0.3, -0.7])
    tool, tip = (dynamics.forward_kinematics(more, q, [name]) for name in ("tool", "tip"))
    np.testing.assert_allclose(tip.position[0], tool.position[0] + tool.rotation[0] @ [0.1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(tip.rotation[0], tool.rotation[0] @ turned, atol=1e-15)
    with pytest.raises(TreeError, match="unknown body 'hand'"):
        model.with_frames(Frame("tip", "hand"))
    with pytest.raises(TreeError, match="tool"):
        model.with_frames(Frame("tool", "fore"))
    with pytest.raises(ModelError, match="give Frame objects"):
        model.with_frames(["tip"])
