"""Denavit-Hartenberg tables: both conventions describe the same robot, and bad rows are named."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tiers import every

from dynamics import (
    DegreesWarning,
    DhError,
    DhRow,
    InertiaError,
    Joint,
    JointError,
    JointLimits,
    JointWarning,
    Rotor,
    ShapeError,
    from_dh,
    from_modified_dh,
)
from dynamics.model.checks.mass_check import mass_matrix, moved_state

ROD = np.diag([0.001, 0.02, 0.02])


def transform(rotation, position):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, position
    return matrix


def turn(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    i, j = [(1, 2), (2, 0), (0, 1)]["xyz".index(axis)]
    rotation = np.eye(3)
    rotation[i, i] = rotation[j, j] = c
    rotation[i, j], rotation[j, i] = -s, s
    return transform(rotation, np.zeros(3))


def move(x=0.0, y=0.0, z=0.0):
    return transform(np.eye(3), (x, y, z))


def standard(row, q):
    """The textbook: Rz(theta) Tz(d) Tx(a) Rx(alpha)."""
    theta, d = (row.theta + q, row.d) if row.kind == "revolute" else (row.theta, row.d + q)
    return turn("z", theta) @ move(z=d) @ move(x=row.a) @ turn("x", row.alpha)


def modified(row, q):
    """The textbook: Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
    theta, d = (row.theta + q, row.d) if row.kind == "revolute" else (row.theta, row.d + q)
    return turn("x", row.alpha) @ move(x=row.a) @ turn("z", theta) @ move(z=d)


def link_poses(model, q):
    """World poses of the links, by the motion each Joint states."""
    ground = (np.eye(3), np.zeros(3), np.zeros((6, model.n)))
    states = []
    for i, body in enumerate(model.bodies):
        carrier = ground if model.parent[i] < 0 else states[model.parent[i]]
        states.append(moved_state(carrier, body.joint, model.coordinate[i], q[model.coordinate[i]]))
    return [transform(rotation, origin) for rotation, origin, _ in states]


def random_rows(seed, count=6):
    generator = np.random.default_rng(seed)
    for i in range(count):
        theta, alpha = generator.uniform(-3, 3, 2)
        d, a = generator.uniform(-0.5, 0.5, 2)
        axes = np.linalg.qr(generator.normal(size=(3, 3)))[0]
        moments = generator.uniform(0.1, 0.15, 3)
        yield DhRow(
            theta,
            d,
            a,
            alpha,
            "prismatic" if i % 3 == 1 else "revolute",
            generator.uniform(0.5, 2.0),
            generator.uniform(-0.3, 0.3, 3),
            axes @ np.diag(moments) @ axes.T,
        )


@pytest.mark.parametrize("seed", range(5))
def test_frame_i_of_a_standard_table_is_where_the_textbook_puts_it(seed):
    rows = list(random_rows(seed))
    model = from_dh(rows)
    q = np.random.default_rng(seed + 100).uniform(-2, 2, model.n)
    expected = np.eye(4)
    for row, q_i, pose, frame in zip(rows, q, link_poses(model, q), model.frames, strict=True):
        expected = expected @ standard(row, q_i)
        np.testing.assert_allclose(pose @ transform(frame.rotation, frame.position), expected, atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_frame_i_of_a_modified_table_is_the_link_frame(seed):
    rows = list(random_rows(seed))
    model = from_modified_dh(rows)
    q = np.random.default_rng(seed + 100).uniform(-2, 2, model.n)
    expected = np.eye(4)
    for row, q_i, pose in zip(rows, q, link_poses(model, q), strict=True):
        expected = expected @ modified(row, q_i)
        np.testing.assert_allclose(pose, expected, atol=1e-14)


def modified_from_standard(rows):
    """The same robot: alpha and a move one row down, masses into the frame on the joint axis."""
    alpha = a = 0.0
    for row in rows:
        about_x = turn("x", row.alpha)[:3, :3]
        yield replace(
            row,
            alpha=alpha,
            a=a,
            centre_of_mass=np.array([row.a, 0, 0]) + about_x @ row.centre_of_mass,
            inertia=about_x @ row.inertia @ about_x.T,
        )
        alpha, a = row.alpha, row.a


@pytest.mark.parametrize("seed", range(5))
def test_both_conventions_give_the_same_mass_matrix(seed):
    rows = list(random_rows(seed))
    one, other = from_dh(rows), from_modified_dh(modified_from_standard(rows))
    for q in np.random.default_rng(seed).uniform(-2, 2, (3, one.n)):
        np.testing.assert_allclose(mass_matrix(one, q), mass_matrix(other, q), rtol=1e-12, atol=1e-13)


def test_the_planar_arm_of_barman_has_its_closed_form_mass_matrix():
    length, inertia = 0.4, 0.1
    row = DhRow(
        a=length, mass=0.5, centre_of_mass=(-length / 2, 0, 0), inertia=np.diag([0, inertia, inertia])
    )
    q = np.array([0.3, -1.2])
    m22 = inertia + 0.5 * (length / 2) ** 2
    m12 = m22 + 0.5 * length * (length / 2) * math.cos(q[1])
    m11 = 2 * m12 - m22 + m22 + 0.5 * length**2
    matrix = mass_matrix(from_dh([row, row]), q)
    np.testing.assert_allclose(matrix, [[m11, m12], [m12, m22]], rtol=1e-14)


def test_rows_may_be_mappings_and_are_named_in_order():
    row = {"a": 0.4, "mass": 1.0, "centre_of_mass": (-0.2, 0, 0), "inertia": ROD}
    model = from_dh([row, {**row, "name": "elbow"}], gravity=(0, 0, 0), name="rr")
    assert model.joint_names == model.link_names == ("joint1", "elbow")
    assert model.frame_names == ("joint1_tip", "elbow_tip")
    assert (model.name, model.gravity.tolist()) == ("rr", [0.0, 0.0, 0.0])


def test_parents_make_branches():
    row = {"a": 0.4, "mass": 1.0, "centre_of_mass": (-0.2, 0, 0), "inertia": ROD}
    names = ("trunk", "left", "hand", "right", "tree")
    parents = (None, None, None, "trunk", "ground")
    model = from_dh([{**row, "name": n, "parent": p} for n, p in zip(names, parents, strict=True)])
    assert model.parent.tolist() == [-1, 0, 1, 0, -1]
    assert model.bodies[3].joint.position.tolist() == [0.4, 0.0, 0.0]
    assert model.bodies[4].joint.position.tolist() == [0.0, 0.0, 0.0]


def test_the_base_can_be_placed_in_the_world():
    rows = list(random_rows(3))
    tilt, shift = turn("y", 0.7)[:3, :3], np.array([1.0, -2.0, 0.5])
    q = np.linspace(-1, 1, len(rows))
    placed = from_dh(rows, base_rotation=tilt, base_position=shift)
    for pose, moved in zip(link_poses(from_dh(rows), q), link_poses(placed, q), strict=True):
        np.testing.assert_allclose(moved, transform(tilt, shift) @ pose, atol=1e-14)


def test_a_rotor_is_placed_from_the_origin_of_the_frame_before_in_either_convention():
    rows = list(random_rows(4))
    q = np.linspace(-1, 1, len(rows))
    tilt, shift = turn("y", 0.7)[:3, :3], np.array([1.0, -2.0, 0.5])
    matrices = []
    for make, table in ((from_dh, rows), (from_modified_dh, list(modified_from_standard(rows)))):
        for i in (0, 3):
            # on the joint's own axis, which is z of the frame before in a standard table
            to_frame = np.eye(3) if make is from_dh else turn("x", table[i].alpha)[:3, :3]
            at = np.zeros(3) if make is from_dh else np.array([table[i].a, 0, 0])
            spin = to_frame @ np.diag([1e-3, 1e-3, 2e-3]) @ to_frame.T
            along = to_frame @ (0, 0, 0.1)
            rotor = Rotor(30.0, 0.4, spin, to_frame @ (0, 0, 1), at + along, to_frame @ (0.01, 0.02, 0))
            table[i] = replace(table[i], rotor=rotor)
        matrices.append(mass_matrix(make(table, base_rotation=tilt, base_position=shift), q))
    np.testing.assert_allclose(*matrices, rtol=1e-12, atol=1e-13)


def test_limits_friction_and_mimicry_reach_the_joint():
    limits = JointLimits.symmetric(1.0, 2.0, 3.0)
    row = DhRow(
        a=0.4, mass=1.0, centre_of_mass=(-0.2, 0, 0), inertia=ROD, limits=limits, damping=0.1, friction=0.2
    )
    model = from_dh([row, replace(row, mimics="joint1", ratio=-1.0)])
    joint = model.bodies[0].joint
    assert (joint.damping, joint.friction, joint.limits) == (0.1, 0.2, limits)
    assert (model.n, model.link_count) == (1, 2)


GOOD = DhRow(a=0.4, mass=1.0, centre_of_mass=(-0.2, 0, 0), inertia=ROD)


@every(
    "rows, error, message",
    [
        ([], DhError, "the table has no rows"),
        ([(0, 0, 1, 0)], DhError, r"row 1 is \(0, 0, 1, 0\); give a DhRow or a mapping"),
        ([{"alfa": 0}], DhError, "row 1 has the unknown key 'alfa'; did you mean alpha"),
        ([GOOD, {"colour": 0}], DhError, "row 2 has the unknown key 'colour'; a row has theta, d, a"),
        ([replace(GOOD, name="a"), replace(GOOD, name="a")], DhError, "row 2: the name 'a' is taken"),
        ([replace(GOOD, parent="b")], DhError, "row 'joint1': the parent 'b' is not an earlier row"),
        ([replace(GOOD, d=np.nan)], ShapeError, "row 'joint1': d is nan; every number must be finite"),
        ([replace(GOOD, theta="x")], ShapeError, "row 'joint1': theta is 'x'; give numbers"),
        ([replace(GOOD, kind="fixed")], JointError, "joint 'joint1': kind is 'fixed'"),
        ([replace(GOOD, centre_of_mass=(0, 0))], ShapeError, "body 'joint1': centre_of_mass has shape"),
        ([replace(GOOD, mass=-1)], InertiaError, "body 'joint1': mass is -1.0 kg"),
        ([replace(GOOD, mass=0, inertia=0 * ROD)], InertiaError, "body 'joint1' .* is a leaf without mass"),
        ([replace(GOOD, rotor=Rotor(1, position=(0,)))], ShapeError, "rotor of joint 'joint1': position has"),
        ([replace(GOOD, rotor="big")], JointError, "rotor of joint 'joint1': it is 'big'; give a Rotor"),
    ],
)
@every("make", [from_dh, from_modified_dh])
def test_a_bad_row_is_refused_by_name(make, rows, error, message):
    with pytest.raises(error, match=message):
        make(rows)


def test_a_bad_base_is_refused():
    with pytest.raises(JointError, match="base_rotation is not a rotation"):
        from_dh([GOOD], base_rotation=np.zeros((3, 3)))
    with pytest.raises(ShapeError, match="base_position has shape"):
        from_dh([GOOD], base_position=(0, 1))


def test_angles_in_degrees_are_warned_of():
    with pytest.warns(DegreesWarning, match="row 'joint1': alpha = 90.0 rad looks like degrees"):
        from_dh([replace(GOOD, alpha=90)])


@pytest.mark.parametrize("key", ["a", "d"])
def test_lengths_in_millimetres_are_warned_of(key):
    with pytest.warns(JointWarning, match=f"row 'joint1': {key} = -400 m looks like millimetres"):
        from_dh([replace(GOOD, **{key: -400.0})])
    from_dh([replace(GOOD, **{key: 40.0})])  # a crane: warnings are errors here


def test_a_joint_of_a_table_is_a_plain_joint():
    assert isinstance(from_dh([GOOD]).bodies[0].joint, Joint)
