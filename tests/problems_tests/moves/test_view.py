"""`moves.view`: what the page shows is read from its recording and held against the robot's kinematics."""

import base64
import re
import sys

import numpy as np
import pytest
from retimed_robots import random_waypoints, ur5

import dynamics
import problems
import trajopt
from problems import moves
from problems.moves.view.limit_use import colour_of, share_used
from problems.moves.view.seen_motion import SeenMotion, seen_motion
from problems.moves.view.solids import robot_solids
from problems.moves.view.surroundings import MotionSegment, Surroundings
from trajopt.base.errors import OptionError, TrajoptError

trimesh = pytest.importorskip("trimesh")
TOOL = "tool0"


@pytest.fixture(scope="module")
def motion():
    return moves.retime(ur5(), random_waypoints(count=4), acceleration=8.0)


def evenly(duration):
    return np.linspace(0.0, duration, 41)


class Page:
    """The recording within a page, by the format that its own scripts read."""

    def __init__(self, path):
        import msgspec
        import zstandard

        self.text = path.read_text(encoding="utf-8")
        packed = base64.b64decode(re.search(r'__VISER_EMBED_DATA__="([^"]*)"', self.text)[1])
        size = int.from_bytes(packed[:8], "little")
        content = zstandard.ZstdDecompressor().decompress(packed[8:], max_output_size=size)
        length = int.from_bytes(content[:8], "little")
        recording = msgspec.msgpack.decode(content[8 : 8 + length])
        self.duration, self.messages = recording["durationSeconds"], recording["messages"]

    def names(self, kind):
        return [each["name"] for _, each in self.messages if each["type"] == kind]

    def last(self, name, key, until=np.inf):
        """The last value that a node of the scene has until a time."""
        found = [
            each.get(key, each.get("updates", {}).get(key))
            for time, each in self.messages
            if each.get("name") == name and time <= until
        ]
        return [each for each in found if each is not None][-1]


@pytest.fixture(scope="module")
def page(motion, tmp_path_factory):
    pytest.importorskip("viser")
    path = tmp_path_factory.mktemp("view") / "motion.html"
    scene = moves.Scene([moves.box((0.2, 0.3, 0.4), (1.0, 0.0, 0.2), name="crate")])
    motion.view(path, scene=scene, tools=[TOOL])
    return Page(path)


@pytest.mark.long
def test_links_stand_where_the_robot_has_them(page, motion):
    t = 0.5 * motion.duration
    for time in (0.0, motion.duration):
        poses = dynamics.forward_kinematics(motion.model, motion.q(time))
        for k, name in enumerate(motion.model.link_names):
            place = page.last(f"/robot/{name}", "position", until=time + 1e-9)
            np.testing.assert_allclose(place, poses.position[k], atol=1e-12)
            w, x, y, z = page.last(f"/robot/{name}", "wxyz", until=time + 1e-9)
            np.testing.assert_allclose(
                dynamics.box((1, 1, 1), rotation=(x, y, z, w)).rotation, poses.rotation[k], atol=1e-12
            )
    assert page.duration == pytest.approx(motion.duration)
    assert page.last("/robot/wrist_3_link", "position", until=t) != page.last(
        "/robot/wrist_3_link", "position"
    )


@pytest.mark.long
def test_the_axes_of_the_tool_move_with_it(page, motion):
    assert f"/tools/{TOOL}" in page.names("FrameMessage") and "axes of the tool" in page.text
    for time in (0.0, motion.duration):
        poses = dynamics.forward_kinematics(motion.model, motion.q(time), [TOOL])
        np.testing.assert_allclose(
            page.last(f"/tools/{TOOL}", "position", until=time + 1e-9), poses.position[0], atol=1e-12
        )
        w, x, y, z = page.last(f"/tools/{TOOL}", "wxyz", until=time + 1e-9)
        turned = dynamics.box((1, 1, 1), rotation=(x, y, z, w)).rotation
        np.testing.assert_allclose(turned, poses.rotation[0], atol=1e-12)


@pytest.mark.long
def test_the_page_needs_no_network_and_shows_the_scene(page):
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page.text)
    assert "/obstacles/crate" in page.names("MeshMessage")
    assert f"/paths/{TOOL}" in page.names("LineSegmentsMessage")
    assert 0.5e6 < len(page.text) < 2e6


@pytest.mark.long
def test_the_colour_of_a_link_is_that_of_the_limit_that_is_nearest(page, motion):
    limits, t = motion.limits, motion.duration
    own = motion.model.limits
    middle, half = 0.5 * (own.q_upper + own.q_lower), 0.5 * (own.q_upper - own.q_lower)
    shares = [
        np.abs(motion.q(t) - middle) / half,
        np.abs(motion.v(t)) / limits.velocity,
        np.abs(motion.tau(t)) / limits.torque_upper,
    ]
    for name, share in zip(motion.model.link_names, np.max(shares, axis=0), strict=True):
        assert tuple(page.last(f"/robot/{name}", "color")) == colour_of(float(share))


def test_shares_of_limits_in_closed_form():
    lower, upper = np.array([-2.0, 1.0, -np.inf, 3.0]), np.array([2.0, 5.0, 4.0, 3.0])
    value = np.array([[0.0, 3.0, 1.0, 3.0], [-2.0, 5.0, 1.0, 3.0], [3.0, 2.0, 1.0, 3.0]])
    found = share_used(value, lower, upper)
    np.testing.assert_allclose(found[:, :2], [[0.0, 0.0], [1.0, 1.0], [1.5, 0.5]])
    assert np.isnan(found[:, 2:]).all()  # one limit alone, and both the same


def test_the_colour_at_a_limit_is_red_and_beyond_it_too():
    assert colour_of(1.0) == colour_of(7.0) == (194, 42, 0)
    assert colour_of(np.nan) == (184, 188, 192)
    reds = [colour_of(share)[0] - colour_of(share)[2] for share in np.linspace(0.0, 1.0, 21)]
    assert reds == sorted(reds) or np.argmin(reds) == 10  # bluest in the middle, then ever more red


def loaded(motion):
    """The motion with a can that is carried from 0.3 to 0.7 of the duration."""
    can = dynamics.cylinder(0.03, 0.1, (0.0, 0.0, 0.05), name="can", carrier=TOOL)
    model, t = motion.model, motion.duration * np.array([0.0, 0.3, 0.7, 1.0])
    segments = [MotionSegment(model.with_shapes([can] * (k == 1)), t[k], t[k + 1]) for k in range(3)]
    seen = seen_motion(motion, evenly)
    around = Surroundings(tuple(segments), dynamics.Scene())
    return SeenMotion("", model, seen.times, seen.curve, seen.shares, around), t


def test_a_load_waits_is_carried_and_stays_where_it_was_put(motion):
    seen, (_, picked, placed, _) = loaded(motion)
    ((shape, segments),) = seen.loads
    rotation, position = seen.carried_poses(shape, segments)
    tool = dynamics.forward_kinematics(motion.model, motion.q(np.clip(seen.times, picked, placed)), [TOOL])
    np.testing.assert_allclose(position, tool.position[:, 0], atol=1e-12)
    np.testing.assert_allclose(rotation, tool.rotation[:, 0], atol=1e-12)
    assert np.ptp(position[seen.times <= picked], axis=0).max() == 0.0
    assert np.ptp(position[seen.times >= placed], axis=0).max() == 0.0


def test_the_path_of_a_tool_passes_through_it(motion):
    seen = seen_motion(motion, evenly)
    (path,) = seen.tool_paths().values()
    np.testing.assert_allclose(path, motion.model.skeleton(motion.q(seen.times))[:, -1, 1], atol=1e-12)


INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
LINK = f'<link name="{{name}}"><inertial><mass value="1"/>{INERTIA}</inertial>{{looks}}</link>'
GEOMETRY = '<geometry><mesh filename="package://arm/{file}" scale="2 2 2"/></geometry>'
MESH = f'<{{tag}}><origin xyz="0 0 1"/>{GEOMETRY}</{{tag}}>'
JOINT = '<joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint>'


def two_links(*looks):
    links = [LINK.format(name=name, looks=each) for name, each in zip(("base", "arm"), looks, strict=True)]
    return f'<robot name="arm">{"".join(links)}{JOINT}</robot>'


def element(tag, file):
    return MESH.format(tag=tag, file=file)


@pytest.fixture
def folder(tmp_path):
    trimesh.creation.box(extents=(0.1, 0.2, 0.3)).export(tmp_path / "box.stl")
    return tmp_path


def bounds(solid):
    return np.array([solid.vertices.min(axis=0), solid.vertices.max(axis=0)])


def test_meshes_of_a_urdf_have_its_scale_and_place(folder):
    urdf = two_links("", element("visual", "box.stl"))
    found = robot_solids(dynamics.load_urdf(urdf), urdf, [folder])
    ((solid,), drawn) = found.solids, found.drawn
    assert (solid.carrier, drawn, found.missing) == ("arm", "meshes", ())
    np.testing.assert_allclose(bounds(solid), [[-0.1, -0.2, 0.7], [0.1, 0.2, 1.3]], atol=1e-12)


def test_a_link_whose_visual_mesh_is_missing_is_drawn_by_its_collision_mesh(folder):
    looks = element("visual", "gone.stl") + element("collision", "box.stl")
    urdf = two_links("", looks)
    found = robot_solids(dynamics.load_urdf(urdf), urdf, [folder])
    assert found.drawn == "meshes" and len(found.solids) == 1
    (told,) = found.missing
    assert "link 'arm', visual 0: the mesh 'package://arm/gone.stl' is in none of the folders" in told


def test_a_link_without_meshes_is_drawn_by_its_shapes_and_a_robot_without_either_by_lines(folder):
    urdf = two_links(element("visual", "box.stl"), "")
    model = dynamics.load_urdf(urdf)
    shaped = model.with_shapes([dynamics.sphere(0.25, (1.0, 0.0, 0.0), carrier="arm")])
    base, arm = robot_solids(shaped, urdf, [folder]).solids
    assert (base.carrier, arm.carrier) == ("base", "arm")
    np.testing.assert_allclose(bounds(arm)[:, 0], [0.75, 1.25], atol=0.01)
    assert robot_solids(shaped).drawn == "shapes"
    assert robot_solids(ur5()).drawn == "lines"


@pytest.mark.parametrize(
    ("shape", "half"),
    [
        (dynamics.sphere(0.2), (0.2, 0.2, 0.2)),
        (dynamics.capsule(0.1, 0.4), (0.1, 0.1, 0.3)),
        (dynamics.cylinder(0.1, 0.4), (0.1, 0.1, 0.2)),
        (dynamics.box((0.2, 0.4, 0.6)), (0.1, 0.2, 0.3)),
        (dynamics.point_cloud([[0.3, 0.0, 0.0], [-0.3, 0.0, 0.0]], 0.1), (0.4, 0.1, 0.1)),
    ],
    ids=lambda each: getattr(each, "kind", ""),
)
def test_triangles_of_a_shape_have_its_size(shape, half):
    from problems.moves.view.solids import solid_of

    found = bounds(solid_of(shape))
    np.testing.assert_allclose(found, [-np.array(half), half], atol=0.02 * max(half))


def test_without_viser_the_message_says_what_to_install(motion, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(OptionError, match=r"needs the package viser: pip install 'trajopt-splines\[view\]'"):
        motion.view(tmp_path / "motion.html")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_shown_is_refused(motion, tmp_path):
    pytest.importorskip("viser")
    with pytest.raises(OptionError, match=r"motion.htm: the name of a view ends in .html, .gif or .mp4"):
        motion.view(tmp_path / "motion.htm")
    with pytest.raises(OptionError, match=r"3 is no solution|the motion is 3"):
        moves.view(3, tmp_path / "motion.html")
    with pytest.raises(TrajoptError, match="no link or frame 'tol0'; did you mean tool0"):
        motion.view(tmp_path / "motion.html", tools=["tol0"])
    with pytest.raises(OptionError, match=r"speed is 0.5: a page is played at any speed; leave it out"):
        motion.view(tmp_path / "motion.html", speed=0.5)
    with pytest.raises(OptionError, match=r"the scene is 'box': give moves.Scene"):
        motion.view(tmp_path / "motion.html", scene="box")
    assert not list(tmp_path.iterdir())


def test_a_system_without_bodies_is_refused(tmp_path):
    pytest.importorskip("viser")
    solution = trajopt.solve(problems.van_der_pol.build(), starts=1)
    with pytest.raises(OptionError, match="has no bodies: a view needs a robot"):
        moves.view(solution, tmp_path / "motion.html")


def test_a_solution_is_shown_with_its_obstacles(tmp_path):
    pytest.importorskip("viser")
    arm = trajopt.Problem(
        dynamics.from_dh([{"a": 0.5, "mass": 1.0}] * 2), trajopt.Trajectory.uniform(4, duration=1.0)
    )
    arm.start_at(q=[0.0, 0.5], v=0.0)
    arm.end_at(q=[1.0, -0.5], v=0.0)
    tip = arm.dynamics.link_names[-1]
    arm.subject_to(trajopt.library.sphere_clearance(tip, (3.0, 0.0, 0.0), 0.1), lower=0.0)
    solution = trajopt.solve(arm, refine=None, starts=1)
    found = moves.view(solution, tmp_path / "motion.html")
    page = Page(found.path)
    assert found.drawn == "lines" and page.duration == pytest.approx(solution.duration)
    assert len([name for name in page.names("MeshMessage") if name.startswith("/obstacles")]) == 1


def test_a_robot_on_a_path_is_shown_with_its_joints():
    ends = np.array([[0.0, 0.5], [1.0, -0.5]])
    arm = dynamics.from_dh(
        [{"a": 0.5, "mass": 1.0, "limits": dynamics.JointLimits.symmetric(torque=50.0)}] * 2
    )
    on_path = trajopt.on_path(arm, lambda s: (1.0 - s) * ends[0] + s * ends[1])
    problem = trajopt.Problem(on_path, trajopt.Trajectory.uniform(6))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    seen = seen_motion(trajopt.solve(problem, refine=None, starts=1), evenly)
    assert seen.model.link_names == arm.link_names
    np.testing.assert_allclose(seen.q[[0, -1]], ends, atol=1e-9)
    assert np.nanmax(seen.shares) == pytest.approx(1.0, abs=0.05)  # the least time needs all of the torque


def test_an_obstacle_of_a_film_has_the_corners_and_ends_of_its_shape():
    from problems.moves.view.film import drawn_obstacle

    (box,) = drawn_obstacle(dynamics.box((0.2, 0.4, 0.6), (1.0, 0.0, 0.0), (0.0, 0.0, np.pi / 2)))
    np.testing.assert_allclose(np.ptp(box.corners, axis=0), [0.4, 0.2, 0.6])
    (tube,) = drawn_obstacle(dynamics.capsule(0.1, 0.4, (0.0, 0.0, 1.0)))
    assert (tube.start, tube.end, tube.radius) == ((0.0, 0.0, 0.8), (0.0, 0.0, 1.2), 0.1)
    (can,) = drawn_obstacle(dynamics.cylinder(0.1, 0.4))
    np.testing.assert_allclose(np.abs(can.corners).max(axis=0), [0.1, 0.1, 0.2])
    assert drawn_obstacle(dynamics.half_space()) == []


def test_a_film_draws_solids_where_the_robot_is_and_divides_large_faces(motion):
    from problems.moves.view.film import LONGEST, Faces, triangles_of
    from problems.moves.view.solids import solid_of

    ball = dynamics.sphere(0.05, carrier=TOOL)
    seen = seen_motion(motion, evenly)
    faces = Faces(seen, robot_solids(seen.model.with_shapes([ball])))
    places = dynamics.forward_kinematics(motion.model, seen.q, [TOOL]).position[:, 0]
    for picture in (0, len(seen.times) - 1):
        triangles, colours = faces.at(picture)
        away = np.linalg.norm(triangles - places[picture], axis=2)
        np.testing.assert_allclose(away, 0.05, atol=1e-12)
        assert np.all((colours >= 0.0) & (colours <= 1.0))
    plate = triangles_of(solid_of(dynamics.box((1.0, 0.7, 0.02))))
    edges = np.roll(plate, -1, axis=1) - plate
    assert np.linalg.norm(edges, axis=2).max() <= LONGEST
    area = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum()
    assert area == pytest.approx(2.0 * (0.7 + 0.02 + 0.014))


@pytest.mark.long
def test_a_film_has_a_picture_for_each_time_and_needs_no_viser(motion, tmp_path, monkeypatch):
    from PIL import Image

    monkeypatch.setitem(sys.modules, "viser", None)
    found = motion.view(tmp_path / "motion.gif", rate=4, scene=moves.Scene([moves.box((0.2, 0.3, 0.4))]))
    with Image.open(found.path) as film:
        assert film.n_frames >= found.pictures - 1  # equal neighbours are one
    assert found.pictures == round(4 * motion.duration) + 1


def test_a_film_as_mp4_needs_ffmpeg(motion, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionError, match=r"motion.mp4 needs the program ffmpeg"):
        motion.view(tmp_path / "motion.mp4")
    assert not list(tmp_path.iterdir())


def test_a_figure_of_snapshots_has_the_whole_path(motion):
    from problems.moves.plot.snapshots import snapshots

    figure = snapshots(motion, 3)
    (space,) = [axis for axis in figure.axes if hasattr(axis, "get_zlim")]
    longest = max((line.get_data_3d() for line in space.lines), key=lambda data: len(data[0]))
    ends = motion.model.skeleton(motion.q(np.array([0.0, motion.duration])))[:, -1, 1]
    np.testing.assert_allclose(np.transpose(longest)[[0, -1]], ends, atol=1e-12)
    with pytest.raises(OptionError, match="count = 1"):
        snapshots(motion, 1)


@pytest.mark.long
def test_phases_follow_each_other_and_a_load_stays_where_the_first_put_it():
    arm = dynamics.from_dh([{"a": 0.5, "mass": 1.0}] * 2)
    ball = dynamics.sphere(0.05, (0.1, 0.0, 0.0), name="ball", carrier=arm.link_names[-1])
    poses = np.array([[0.0, 0.5], [1.0, -0.5], [0.3, 0.2], [0.0, 0.0]])
    parts = []
    for k, model in enumerate((arm.with_shapes([ball]), arm, arm)):
        part = trajopt.Problem(model, trajopt.Trajectory.uniform(4, duration=1.0), name=f"part {k}")
        part.start_at(q=poses[k], v=0.0)
        part.end_at(q=poses[k + 1], v=0.0)
        part.minimize(trajopt.tau**2)
        parts.append(part)

    def thirds(duration):
        return np.linspace(0.0, duration, 61)

    seen = seen_motion(trajopt.solve(trajopt.Phases(*parts), refine=None, starts=1), thirds)
    np.testing.assert_allclose(seen.q[[0, 20, 40, 60]], poses, atol=1e-8)
    assert seen.model.shapes == ()
    ((shape, segments),) = seen.loads
    position = seen.carried_poses(shape, segments)[1]
    links = dynamics.forward_kinematics(arm, seen.q, [shape.carrier]).position[:, 0]
    np.testing.assert_allclose(position[:21], links[:21], atol=1e-7)
    np.testing.assert_allclose(position[20:], np.broadcast_to(links[20], (41, 3)), atol=1e-7)
