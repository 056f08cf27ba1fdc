"""`moves.Task` in a scene: clear at a rate of our own check, loads count, what overlaps is named."""

import itertools
from importlib.resources import files

import numpy as np
import pytest

import dynamics
import trajopt
from problems import moves
from trajopt.base import errors

SOURCE = (files("problems") / "robots" / "ur5.urdf").read_text(encoding="utf-8")
HOME = [0.0, -1.2, 1.4, -1.8, -1.57, 0.0]
ARM = (
    moves.capsule(0.06, 0.42, at=(0.0, 0.0, 0.21), carrier="upper_arm_link"),
    moves.capsule(0.05, 0.39, at=(0.0, 0.0, 0.2), carrier="forearm_link"),
    moves.sphere(0.05, carrier="wrist_1_link"),
    moves.sphere(0.05, carrier="wrist_2_link"),
    moves.sphere(0.05, carrier="wrist_3_link"),
)
WALL = moves.box((0.5, 0.04, 0.5), at=(0.6, 0.0, 0.2), name="wall")
LEFT, RIGHT = (0.45, 0.3, 0.25), (0.45, -0.3, 0.25)
AT_LEFT = [0.385, -1.373, 1.832, -2.029, -1.571, -1.186]  # with the elbow up
DOWN = [np.pi, 0.0, 0.0]


def arm():
    return moves.robot(SOURCE, shapes=ARM, allowed=[("forearm_link", "wrist_2_link")])


def around(scene, **load):
    task = moves.Task(arm(), scene, clearance=0.01)
    task.start(q=AT_LEFT)
    if load:
        task.attach("rod", "tool0", **load)
    task.to("tool0", position=RIGHT, rotation=DOWN)
    task.limits(acceleration=10.0, jerk=300.0)
    return task


@pytest.fixture(scope="module")
def past_the_wall():
    return around(moves.Scene([WALL])).solve()


def least_distance(motion, model, scene):
    """By the capsules' own points: 21 along every axis, at 2 kHz, to the box."""
    t = np.linspace(0.0, motion.duration, int(2000 * motion.duration))
    (box,) = scene.shapes
    least = np.inf
    for shape in model.shapes:
        poses = dynamics.forward_kinematics(model, motion.q(t), [shape.carrier])
        half = 0.5 * shape.size[1] if shape.kind == "capsule" else 0.0
        for along in np.linspace(-half, half, 21):
            point = shape.position + along * shape.rotation[:, 2]
            place = poses.position[:, 0] + poses.rotation[:, 0] @ point
            outside = np.maximum(np.abs((place - box.position) @ box.rotation) - 0.5 * box.size, 0.0)
            least = min(least, float(np.linalg.norm(outside, axis=1).min()) - shape.size[0])
    return least


@pytest.mark.long
def test_a_wall_is_passed_with_the_clearance_asked_for(past_the_wall):
    motion = past_the_wall
    assert motion.converged, motion
    assert least_distance(motion, arm().model, moves.Scene([WALL])) > 0.01 - 1e-5
    lines = [line for line in motion.certificate.lines if line.name == "clearance"]
    assert [line.evidence for line in lines] == ["proved"]
    assert motion.verify().holds
    report = motion.solution.verify()
    assert report.verdict == "PASS", report.reason


@pytest.mark.long
def test_the_wall_costs_time(past_the_wall):
    free = around(moves.Scene()).solve()
    assert free.converged and free.duration < past_the_wall.duration - 0.05
    assert least_distance(free, arm().model, moves.Scene([WALL])) < 0.0


@pytest.mark.long
def test_the_shape_of_a_load_keeps_clear_too():
    rod = moves.capsule(0.02, 0.2, at=(0.0, 0.0, 0.12))  # from the tool to 0.24 m below it
    scene = moves.Scene([moves.box((0.5, 0.04, 0.2), at=(0.6, 0.0, 0.02), name="kerb")])
    bare, loaded = around(scene).solve(), around(scene, mass=0.2, shape=rod).solve()
    assert bare.converged and loaded.converged, loaded
    with_rod = loaded.loaded[0]
    assert len(with_rod.shapes) == len(ARM) + 1
    assert least_distance(loaded, with_rod, scene) > 0.01 - 1e-5
    assert least_distance(bare, with_rod, scene) < 0.0


@pytest.mark.long
def test_a_start_and_a_goal_in_collision_name_pair_and_depth():
    task = moves.Task(arm(), moves.Scene([moves.sphere(0.2, at=(0.45, 0.3, 0.25), name="ball")]))
    task.start("tool0", position=LEFT, rotation=DOWN)
    task.to(q=HOME)
    with pytest.raises(errors.InfeasibleBoundsError, match=r"start: wrist_\d_link and ball overlap by 0"):
        task.solve()
    task = moves.Task(arm(), moves.Scene([moves.sphere(0.2, at=RIGHT, name="ball")]))
    task.start("tool0", position=LEFT, rotation=DOWN)
    task.to("tool0", position=RIGHT, rotation=DOWN, name="place")
    with pytest.raises(errors.InfeasibleBoundsError, match=r"place: .* and ball overlap by .* of \d+ poses"):
        task.solve()


def test_scenes_need_shapes_of_the_robot():
    with pytest.raises(errors.OptionError, match="the robot has no shapes that could touch"):
        moves.Task(moves.robot(SOURCE), moves.Scene([WALL]))
    with pytest.raises(errors.OptionError, match=r"the scene is 'shelf\.json'"):
        moves.Task(arm(), "shelf.json")
    with pytest.raises(errors.OptionError, match="clearance"):
        moves.Task(arm(), moves.Scene([WALL]), clearance=0.0)
    with pytest.raises(errors.OptionError, match="shapes is"):
        moves.robot(SOURCE, shapes=["sphere"])
    with pytest.raises(errors.OptionError, match="shapes is 'fits', and there is no such file"):
        moves.robot(SOURCE, shapes="fits")
    with pytest.raises(errors.OptionError, match='"fit" finds no shape in the URDF'):
        moves.robot(dynamics.load_urdf(SOURCE), shapes="fit")
    with pytest.raises(errors.OptionError, match='"fit" reads a URDF'):
        moves.robot(
            dynamics.RigidBodyModel([dynamics.Body("a", dynamics.Joint("j"), None, 1.0, (1, 0, 0))]),
            shapes="fit",
        )


def test_links_that_nearly_always_touch_may_do_so():
    source = """<robot name="r"><link name="a"/>{links}{joints}</robot>"""
    link = (
        '<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
        'iyz="0"/></inertial><collision><geometry><sphere radius="{radius}"/></geometry></collision></link>'
    )
    joint = (
        '<joint name="to_{child}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        '<origin xyz="0.2 0 0"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="9" velocity="2"/></joint>'
    )
    names = "abcd"
    links = "".join(link.format(name=n, radius=r) for n, r in zip("bcd", (0.25, 0.1, 0.25), strict=True))
    joints = "".join(joint.format(parent=p, child=c) for p, c in itertools.pairwise(names))
    robot = moves.robot(source.format(links=links, joints=joints), shapes="fit")
    assert robot.model.allowed_pairs == (("d", "b", "touch in nearly all poses"),)


@pytest.mark.long
def test_where_the_first_solver_finds_no_optimum_the_default_does(past_the_wall, monkeypatch):
    stopped = trajopt.InteriorPoint(max_iterations=3)
    monkeypatch.setattr("problems.moves.tasks.task_solve.AMONG_OBSTACLES", stopped)
    motion = around(moves.Scene([WALL])).solve()
    assert motion.converged
    assert motion.duration == pytest.approx(past_the_wall.duration, rel=1e-3)


@pytest.mark.long
def test_a_time_limit_holds_for_both_solvers_together(monkeypatch):
    calls = []

    def solve(asked, solver=None, **options):
        calls.append(options["time_limit"])
        return solved(asked, solver, **options)

    solved = trajopt.solve
    monkeypatch.setattr("trajopt.solve", solve)
    motion = around(moves.Scene([WALL])).solve(time_limit=1e-3)
    assert not motion.converged and calls[0] == 1e-3 and all(limit < 1e-3 for limit in calls[1:])


@pytest.mark.long
def test_the_report_of_a_task_of_several_arcs_agrees_that_all_of_it_holds():
    """Continuity between arcs and goals to 1e-6 of their scales, as `verify` asks for."""
    task = moves.Task(arm(), moves.Scene([WALL]), clearance=0.01)
    task.start(q=AT_LEFT)
    task.attach("can", "tool0", mass=1.0)
    task.via("tool0", position=(0.45, 0.0, 0.6))
    task.to("tool0", position=RIGHT, rotation=DOWN, tolerance=(1e-3, 0.01))
    task.detach("can")
    task.to(q=AT_LEFT)
    task.limits(acceleration=15.0, jerk=500.0, tool_speed=1.5)
    motion = task.solve()
    assert motion.converged, motion
    report = motion.solution.verify()
    assert report.verdict == "PASS", report.reason


ROUND = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
CAN = np.array([(0.03 * np.cos(a), 0.03 * np.sin(a), z) for a in ROUND for z in (0.0, 0.1)])
PARTS = {
    "box": moves.box((0.06, 0.06, 0.1), at=(0.0, 0.0, 0.05)),
    "cylinder": moves.cylinder(0.03, 0.1, at=(0.0, 0.0, 0.05)),
    "hull": moves.hull(CAN),
    "plate": moves.box((0.2, 0.15, 0.002), at=(0.0, 0.0, 0.099)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_put_down_five_millimetres_above_a_table(name):
    scene = moves.Scene([moves.box((2.0, 2.0, 0.1), at=(0.0, 0.0, -0.05), name="table")])
    task = moves.Task(arm(), scene, clearance=0.002)
    task.start(q=HOME)
    task.attach("part", "tool0", mass=0.5, shape=PARTS[name])
    task.to("tool0", position=(0.5, 0.2, 0.105), rotation=DOWN)
    motion = task.solve()
    assert motion.converged, motion
    assert motion.certificate["clearance"].evidence == "proved"
    t = np.linspace(0.0, motion.duration, 2000)
    tool = dynamics.forward_kinematics(motion.loaded[0], motion.q(t), ["tool0"])
    corners = (
        CAN
        if name == "hull"
        else PARTS[name].position
        + np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        * (PARTS[name].size if "box" in PARTS[name].kind else (0.04, 0.04, 0.1))
    )
    heights = tool.position[:, 0, 2, None] + tool.rotation[:, 0, 2] @ corners.T
    assert 0.002 - 1e-6 < heights.min() < 0.005 + 1e-6


@pytest.mark.long
def test_what_is_carried_without_a_shape_is_named_beside_the_proof():
    """The rod, had it its shape, would be nearer to the wall than anything that the proof looks at."""
    wall = moves.box((0.02, 0.3, 0.3), at=(0.0, 0.6, 0.15), name="wall")
    robot = moves.robot(SOURCE, shapes=ARM[:1])
    task = moves.Task(robot, moves.Scene([wall]), clearance=0.01)
    task.start(q=[1.0, -1.4, 1.6, -1.77, -1.57, 0.0])
    task.attach("rod", "tool0", mass=0.4)
    task.attach("ball", "tool0", mass=0.1, shape=moves.sphere(0.01))
    task.to(q=[1.2, -1.4, 1.6, -1.77, -1.57, 0.0])
    task.detach("rod")
    task.to(q=[1.0, -1.4, 1.6, -1.77, -1.57, 0.0])
    task.limits(acceleration=15.0, jerk=500.0)
    motion = task.solve()
    with_rod, without = [line for line in motion.certificate.lines if line.name == "clearance"]
    assert with_rod.evidence == without.evidence == "proved"
    assert with_rod.note.endswith("; carried without a shape, so that it may touch anything: rod")
    assert "carried" not in without.note


def test_a_part_put_down_too_deep_is_named():
    scene = moves.Scene([moves.box((2.0, 2.0, 0.1), at=(0.0, 0.0, -0.05), name="table")])
    task = moves.Task(arm(), scene, clearance=0.002)
    task.start(q=HOME)
    task.attach("part", "tool0", mass=0.5, shape=PARTS["box"])
    task.to("tool0", position=(0.5, 0.2, 0.101), rotation=DOWN)
    with pytest.raises(errors.InfeasibleBoundsError, match=r"goal 1: part and table are 0\.001 m apart"):
        task.solve()


def ball_on_slides():
    """A ball of 0.1 m that slides along x and y."""
    limits = dynamics.JointLimits.symmetric(q=1.0, velocity=2.0)
    slides = [dynamics.Joint(name, "prismatic", axis, limits=limits) for name, axis in AXES.items()]
    bodies = [
        dynamics.Body("carriage", slides[0], None, 1.0),
        dynamics.Body("hand", slides[1], "carriage", 1.0),
    ]
    model = dynamics.RigidBodyModel(bodies, gravity=(0.0, 0.0, -9.81))
    return moves.robot(model.with_shapes([moves.sphere(0.1, carrier="hand")]))


AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0)}


@pytest.mark.long
@pytest.mark.parametrize("more", [0.0, 5e-5, 1.5e-4, 3e-4])
@pytest.mark.parametrize("goal", [(0.5, 0.0), (0.5, 0.4), (0.0, 0.7)])
def test_ends_as_near_as_the_clearance_are_no_contradiction(more, goal):
    wall = moves.box((3.0, 0.2, 1.0), at=(0.0, -0.2, 0.0))  # its face is at y = -0.1
    clearance = 0.002
    task = moves.Task(ball_on_slides(), moves.Scene([wall]), clearance=clearance)
    first = np.array([-0.5, clearance + more])
    task.start(q=first)
    task.to(q=first + goal)
    task.limits(acceleration=4.0, jerk=100.0)
    motion = task.solve()
    assert motion.converged, motion
    gap = motion.q(np.linspace(0.0, motion.duration, 4000))[:, 1]
    assert gap.min() > clearance - 1e-6
