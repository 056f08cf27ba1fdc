"""Walks of a model of the user's own: our skeleton comes back from its own export, and what is refused."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from osim_files import published

import dynamics
import trajopt
from problems import gait, running
from problems.human.body.model import ACTIVE, skeleton, standing
from problems.human.body.own_model import own_mass, own_skeleton, range_of, ways
from problems.human.body.person import Person
from problems.human.motions.names import joint_angles, read_frames
from problems.human.motions.tracking import angles_of_markers
from problems.human.opensim.coordinates import coordinates
from problems.human.opensim.osim_model import osim_model
from trajopt.base.errors import OptionError, ProblemError


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "body.osim"
    osim_model(skeleton(), 1.0).write(path, encoding="utf-8", xml_declaration=True)
    return path


@pytest.mark.long
def test_our_skeleton_comes_back_from_its_export(exported):
    """Poses, torques and strengths, but for the order in which the pelvis turns."""
    ours, own = skeleton(moving=ACTIVE), own_skeleton(exported, Person())
    assert set(own.joint_names) == set(ours.joint_names)
    assert own_mass(exported) == pytest.approx(75.0)
    order = [own.joint_names.index(name) for name in ours.joint_names]
    rng = np.random.default_rng(4)
    q, v, a = 0.3 * rng.normal(size=(3, 5, ours.n))
    turned = [ours.joint_names.index(f"global_{name}") for name in ("yaw", "list", "tilt")]
    for x in (q, v, a):
        x[:, turned[:2]] = 0.0  # of one turn the order does not matter
    q_own, v_own, a_own = (np.zeros((5, own.n)) for _ in range(3))
    for x, y in ((q, q_own), (v, v_own), (a, a_own)):
        y[:, order] = x
    same = [i for i in range(ours.n) if i not in turned[:2]]  # moments of yaw and list have other axes
    tau, expected = dynamics.rnea(own, q_own, v_own, a_own)[:, order], dynamics.rnea(ours, q, v, a)
    np.testing.assert_allclose(tau[:, same], expected[:, same], rtol=0.0, atol=1e-8)
    points = ["heel_r", "ball_l", "toe_r", "hand_l"]
    found, expected = (
        dynamics.forward_kinematics(model, x, points).position for model, x in ((own, q_own), (ours, q))
    )
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(own.limits.torque_upper[order], ours.limits.torque_upper)
    np.testing.assert_allclose(own.limits.torque_lower[order], ours.limits.torque_lower)


@pytest.mark.long
def test_an_upright_model_stands_on_its_soles(exported):
    own = own_skeleton(exported, Person())
    points = ["heel_r", "ball_r", "toe_r", "heel_l", "ball_l", "toe_l"]
    found = dynamics.forward_kinematics(own, standing(own.joint_names), points).position
    np.testing.assert_allclose(found[:, 1], 0.0, atol=1e-12)


def with_axis(text, coordinate, old, new):
    """The text of a model whose joint of a coordinate has another axis."""
    at = text.index(f'name="{coordinate}"')
    assert f"<axis>{old}</axis>" in text[at:]
    return text[:at] + text[at:].replace(f"<axis>{old}</axis>", f"<axis>{new}</axis>", 1)


@pytest.mark.long
def test_coordinates_of_our_export_turn_as_the_table_of_names_says(exported):
    for joint, way in ways(dynamics.load_osim(exported)).items():
        assert way == coordinates()[joint].sign, joint


@pytest.mark.long
@pytest.mark.parametrize(
    ("coordinate", "joint"), [("mtp_angle_r", "toe_r_ext"), ("hip_flexion_l", "hip_l_flex")]
)
def test_joints_bend_as_ours_whichever_way_the_file_counts(coordinate, joint, exported):
    """As in gait2392, whose knees count extension; a robot of ours then moves the same point the same way."""
    text = exported.read_text(encoding="utf-8")
    other = with_axis(text, coordinate, "0.0 0.0 1.0", "0.0 0.0 -1.0")
    assert ways(dynamics.load_osim(other))[joint] == -1.0
    places = []
    for each in (text, other):
        own = own_skeleton(each, Person())
        q = standing(own.joint_names)
        q[own.joint_names.index(joint)] = 0.3
        places.append(dynamics.forward_kinematics(own, q, ["toe_r", "toe_l"]).position)
    np.testing.assert_allclose(*places, atol=1e-12)


@pytest.mark.long
def test_toes_turn_about_an_axis_across_the_foot(exported):
    """About the oblique axis of the file the tip of the foot would swing sideways by 9 mm."""
    oblique = with_axis(exported.read_text(encoding="utf-8"), "mtp_angle_r", "0.0 0.0 1.0", "-0.58 0.0 0.81")
    own = own_skeleton(oblique, Person())
    flat = standing(own.joint_names)
    raised = flat.copy()
    raised[own.joint_names.index("toe_r_ext")] = 0.5
    change = np.diff(
        [dynamics.forward_kinematics(own, q, ["toe_r"]).position[0] for q in (flat, raised)], axis=0
    )[0]
    assert abs(change[2]) < 1e-12 and change[1] > 0.01


@pytest.mark.long
def test_joints_of_a_file_without_real_ranges_have_those_of_people(exported):
    """One joint for the whole lumbar spine has the range of all of ours that turn about its axis."""
    wide = re.sub(r"<range>[^<]*</range>", "<range>-4.0 4.0</range>", exported.read_text(encoding="utf-8"))
    own, ours = own_skeleton(wide, Person()), skeleton(moving=ACTIVE)
    order = [own.joint_names.index(name) for name in ours.joint_names]
    np.testing.assert_allclose(own.limits.q_lower[order], ours.limits.q_lower)
    np.testing.assert_allclose(own.limits.q_upper[order], ours.limits.q_upper)
    lumbar = dynamics.load_osim(wide.replace("lumbar_upper_extension", "other"))
    assert range_of("spine1_flex", lumbar, Person()) == pytest.approx(np.deg2rad([-16.0, 40.0]))


@pytest.mark.long
def test_models_without_legs_or_with_turned_feet_are_refused(exported):
    text = exported.read_text(encoding="utf-8")
    with pytest.raises(ProblemError, match="no coordinate knee_angle_r, which a walk needs"):
        own_skeleton(text.replace("knee_angle_r", "knie"), Person())
    at = text.index('name="ankle_angle_r"')
    bent = text[:at] + text[at:].replace("<default_value>0.0<", "<default_value>0.4<", 1)
    with pytest.raises(
        ProblemError, match="let the model stand upright, x forward and y up, with its feet flat"
    ):
        own_skeleton(bent, Person())


@pytest.mark.thorough("test_our_exported_skeleton_walks_with_predicted_contact_as_ours_does stands for it")
def test_the_exported_skeleton_walks_as_ours_does(exported):
    ours = trajopt.solve(gait.build(cost="thesis"), progress="silent", refine=None)
    own = trajopt.solve(gait.build(cost="thesis", model=str(exported)), progress="silent", refine=None)
    assert ours.converged and own.converged
    assert own.objective == pytest.approx(ours.objective, rel=2e-2)


def test_a_published_model_with_coupled_knees_has_soles_under_its_ankles():
    own = own_skeleton(published("Rajagopal2016.osim"), Person(mass=75.3))
    found = own.forward_kinematics(standing(own.joint_names), ["heel_r", "ball_r", "toe_l"]).position
    np.testing.assert_allclose(found[:, 1], 0.0, atol=1e-12)
    assert len(own.joint_names) == 33
    functions = [follower.function for follower in own.followers.values()]
    assert all(function.smoothed.parts == function.parts for function in functions)  # already are


def with_markers(path, into, bodies):
    """The model file with three more markers on each of some bodies; their names."""
    tree = ElementTree.parse(path)
    objects = next(tree.iter("MarkerSet")).find("objects")
    places = ("0.1 0 0", "0 0.1 0.05", "0 -0.05 0.1")
    names = [f"{body} {i}" for body in bodies for i in range(len(places))]
    for name, place in zip(names, places * len(bodies), strict=True):
        marker = ElementTree.SubElement(objects, "Marker", name=name)
        ElementTree.SubElement(marker, "socket_parent_frame").text = f"/bodyset/{name.partition(' ')[0]}"
        ElementTree.SubElement(marker, "location").text = place
    tree.write(into)
    return names


@pytest.mark.long
def test_markers_of_a_model_give_back_the_angles_that_moved_them(exported, tmp_path):
    """In the names and signs of our skeleton; 50 rows of which a window of few is fitted, in mm."""
    own = tmp_path / "own.osim"
    names = with_markers(exported, own, ["pelvis", "thigh_r", "shank_r"])
    osim = dynamics.load_osim(own)
    t = np.linspace(0.0, 1.0, 51)
    q = np.tile(osim.default_pose, (t.size, 1))
    moved = {"pelvis_ty": 0.9 + 0.02 * t, "hip_flexion_r": 0.4 * np.sin(3 * t), "knee_angle_r": 0.3 + t}
    for name, values in moved.items():
        q[:, osim.robot.joint_names.index(name)] = values
    places = 1e3 * dynamics.forward_kinematics(osim.robot, q, names).position.reshape(t.size, -1)
    rows = [
        f"{i + 1}\t{time}\t" + "\t".join(map(str, x))
        for i, (time, x) in enumerate(zip(t, places, strict=True))
    ]
    shown = [f"seen {name}" for name in names]
    header = ["PathFileType\t4\t(X/Y/Z)\twalk.trc", "Units\tNumMarkers", f"mm\t{len(names)}"]
    header += ["Frame#\tTime\t" + "\t\t\t".join(shown), "\t\tX1"]
    (tmp_path / "walk.trc").write_text("\n".join(header + rows) + "\n", encoding="utf-8")
    pairs = [f"{one},{other}" for one, other in zip(shown, names, strict=True)]
    (tmp_path / "names.csv").write_text("\n".join(["marker,frame", *pairs]) + "\n", encoding="utf-8")
    given = str(tmp_path / "walk.trc"), (0.41, 0.5), str(tmp_path / "names.csv"), str(own)
    table, chosen = angles_of_markers(*given)
    assert table.time.size <= 7
    found = joint_angles(table, chosen, ACTIVE)
    assert "spine1_flex" not in found
    np.testing.assert_allclose(found["knee_r_flex"], 0.3 + table.time, atol=1e-6)
    np.testing.assert_allclose(found["hip_r_flex"], 0.4 * np.sin(3 * table.time), atol=1e-6)
    np.testing.assert_allclose(found["knee_l_flex"], found["knee_l_flex"][0], atol=1e-12)
    problem = gait.build(
        contact="predicted", intervals=1, model=str(own), track=given[0], track_window=(0.42, 0.48),
        track_names=given[2],
    )  # fmt: skip
    assert "distance to the measured motion" in {cost.term.name for cost in problem.costs}


@pytest.mark.parametrize("build", [gait.build, running.build])
def test_a_backpack_on_a_model_of_ones_own_is_refused(build):
    with pytest.raises(OptionError, match=r"backpack is 10 kg, but the masses are those of 'own\.osim'"):
        build(model="own.osim", backpack=10.0)


def test_a_table_of_markers_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ProblemError, match=r"there is no table of markers .*: write one with the columns"):
        read_frames(tmp_path / "names.csv")
