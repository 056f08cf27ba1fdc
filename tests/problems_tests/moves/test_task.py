"""`moves.Task`: goals are reached, rules hold on the way, loads count, limits hold by a check of our own."""

from importlib.resources import files

import numpy as np
import pytest
from library_solutions import once_in_a_run
from scipy.spatial.transform import Rotation

import dynamics
from problems import moves
from problems.moves.tasks.frame_target import FrameTarget
from problems.moves.tasks.goal import Goal
from problems.moves.tasks.orientation import rotation_vectors
from problems.moves.tasks.reaching import poses_that_reach
from problems.moves.tasks.task_problem import narrowed
from trajopt.base.errors import InfeasibleBoundsError, OptionError, UnknownNameError

DOWN = [np.pi, 0.0, 0.0]  # z of the tool points to the ground
ROBOTS = files("problems") / "robots"
UR5_HOME = [0.0, -1.2, 1.4, -1.8, -1.57, 0.0]
PANDA_HOME = [0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8]


def ur5(**options):
    return moves.robot((ROBOTS / "ur5.urdf").read_text(encoding="utf-8"), **options)


def panda():
    return moves.robot(
        (ROBOTS / "panda.urdf").read_text(encoding="utf-8"), locked={"panda_finger_joint1": 0.04}
    )


def pick_and_place(robot, tool, home):
    task = moves.Task(robot)
    task.start(q=home)
    task.to(tool, position=(0.45, -0.2, 0.2), rotation=DOWN, tolerance=(1e-3, 0.01))
    task.attach("cup", tool, mass=0.4, centre_of_mass=(0.0, 0.0, 0.05))
    task.via(tool, position=(0.45, 0.0, 0.5))
    task.to(tool, position=(0.4, 0.3, 0.2), rotation=DOWN)
    task.detach("cup")
    task.limits(acceleration=15.0, jerk=500.0, tool_speed=1.5)
    return task


@pytest.fixture(scope="module", params=["panda", pytest.param("ur5", marks=pytest.mark.thorough)])
def solved(request):
    if request.param == "ur5":
        robot, tool, home = ur5(), "tool0", UR5_HOME
    else:
        robot, tool, home = panda(), "panda_hand_tcp", PANDA_HOME
    motion = once_in_a_run(f"{request.param} places", pick_and_place(robot, tool, home).solve)
    return robot, tool, home, motion


def test_limits_that_are_not_narrowed_stay_and_infinite_ones_too():
    lower, upper = np.array([-np.inf, -1.0, 0.0]), np.array([np.inf, 3.0, np.inf])
    for share, expected in ((0.0, [[*lower], [*upper]]), (0.5, [[-np.inf, 0.0, 0.0], [np.inf, 2.0, np.inf]])):
        np.testing.assert_array_equal(narrowed(lower, upper, share), expected)


@pytest.mark.long
def test_pick_and_place_converges_and_its_certificate_and_check_hold(solved):
    *_, motion = solved
    assert motion.converged and motion.certificate.holds
    assert motion.verify().holds
    assert motion.solution.verify().holds
    proved = [line.name for line in motion.certificate.lines if line.evidence == "proved"]
    assert proved == ["position", "speed", "acceleration", "jerk"]


@pytest.mark.long
def test_the_motion_is_where_the_goals_say_when_it_says(solved):
    robot, tool, home, motion = solved
    poses = dynamics.forward_kinematics(robot.model, motion.q(motion.times), [tool])
    position = poses.position[:, 0]
    assert np.abs(motion.q(0.0) - home).max() < 1e-9
    assert np.linalg.norm(position[1] - (0.45, -0.2, 0.2)) < 1e-3 + 1e-9
    assert np.linalg.norm(position[2] - (0.45, 0.0, 0.5)) < 1e-8
    assert np.linalg.norm(position[3] - (0.4, 0.3, 0.2)) < 1e-8
    turned = Rotation.from_matrix(poses.rotation[[1, 3], 0] @ np.diag([1.0, -1.0, -1.0])).magnitude()
    assert turned[0] < 0.01 + 1e-9 and turned[1] < 1e-8


@pytest.mark.long
def test_it_rests_at_goals_and_passes_vias(solved):
    *_, motion = solved
    speed = np.abs(motion.v(motion.times)).max(axis=1)
    assert speed[[0, 1, 3]].max() < 1e-9 < 1e-2 < speed[2]
    assert np.abs(motion.a(motion.times[[0, 1, 3]])).max() < 1e-6


@pytest.mark.long
def test_limits_hold_at_a_thousand_hertz(solved):
    robot, tool, _, motion = solved
    t = np.linspace(0.0, motion.duration, int(1000 * motion.duration) + 2)
    assert np.all(np.abs(motion.v(t)) <= robot.model.limits.velocity + 1e-6)
    assert np.abs(motion.a(t)).max() <= 15.0 * (1.0 + 1e-6)
    assert np.abs(motion.jerk(t)).max() <= 500.0 * (1.0 + 1e-6)
    rate = dynamics.frame_velocity(robot.model, motion.q(t), motion.v(t), tool)[:, 3:]
    assert np.linalg.norm(rate, axis=1).max() <= 1.5 * (1.0 + 1e-6)


@pytest.mark.long
def test_the_torque_carries_the_cup_from_the_first_goal_on(solved):
    robot, tool, _, motion = solved
    bare, loaded = np.array([0.5, 1.5]) * motion.times[1]
    for t, mass in ((bare, 0.0), (loaded, 0.4)):
        q, v, a = motion.q(t), motion.v(t), motion.a(t)
        tau = dynamics.rnea(robot.model, q, v, a)
        tau += np.array([j.damping for j in robot.model.joints]) * v
        step = 1e-5
        times = t + np.array([-step, 0.0, step])
        poses = dynamics.forward_kinematics(robot.model, motion.q(times), [tool])
        place = poses.position[:, 0] + poses.rotation[:, 0] @ (0.0, 0.0, 0.05)
        force = mass * ((place[0] - 2.0 * place[1] + place[2]) / step**2 + (0.0, 0.0, 9.81))
        jacobian = dynamics.frame_jacobian(robot.model, q, tool)
        moment = np.cross(place[1] - poses.position[1, 0], force)
        tau += jacobian[:3].T @ moment + jacobian[3:].T @ force
        assert motion.tau(t) == pytest.approx(tau, abs=2e-3)


@pytest.mark.long
def test_a_line_and_an_arc_are_followed_and_the_tool_stays_upright():
    robot = ur5()
    task = moves.Task(robot)
    task.start(q=UR5_HOME)
    task.to("tool0", position=(0.45, -0.2, 0.3), rotation=DOWN, name="above")
    task.keep("tool0", tolerance=0.05)
    task.line("tool0", position=(0.45, -0.2, 0.15), distance=1e-3, stop=False, name="down")
    task.line("tool0", position=(0.45, 0.2, 0.15), through=(0.55, 0.0, 0.15), distance=2e-3, name="around")
    task.limits(acceleration=10.0, jerk=300.0)
    motion = task.solve()
    assert motion.converged, motion
    t = np.linspace(motion.times[1], motion.times[2], 300)
    straight = motion.place("tool0", t) - (0.45, -0.2, 0.0)
    assert np.linalg.norm(straight[:, :2], axis=1).max() < 1e-3 + 1e-8
    t = np.linspace(motion.times[2], motion.times[3], 300)
    # The circle through (0.45, -0.2), (0.55, 0) and (0.45, 0.2): x_c = 0.3, as 0.15^2 + 0.2^2 = 0.25^2.
    around = motion.place("tool0", t) - (0.3, 0.0, 0.15)
    off = np.hypot(np.linalg.norm(around[:, :2], axis=1) - 0.25, around[:, 2])
    assert off.max() < 2e-3 + 1e-8
    axes = dynamics.forward_kinematics(robot.model, motion.q(t), ["tool0"]).rotation[:, 0, :, 2]
    assert np.arccos(-axes[:, 2]).max() < 0.05 + 1e-6
    assert np.abs(motion.v(motion.times[2])).max() > 1e-2


@pytest.mark.long
def test_joint_goals_leave_joints_free_that_are_none():
    task = moves.Task(ur5())
    task.start(q=UR5_HOME)
    task.to(q=[0.5, None, None, None, None, None])
    task.to("tool0", position=(None, None, 0.4), q={"wrist_3_joint": 1.0})
    motion = task.solve()
    assert motion.converged
    assert motion.q(motion.times[1])[0] == pytest.approx(0.5, abs=1e-9)
    assert motion.q(motion.duration)[5] == pytest.approx(1.0, abs=1e-9)
    assert motion.place("tool0", motion.duration)[2] == pytest.approx(0.4, abs=1e-8)


RIGID_WRIST = {"wrist_1_joint": -1.8, "wrist_2_joint": -1.57, "wrist_3_joint": 0.0}


@pytest.mark.long
def test_a_path_that_is_given_is_a_start_and_the_better_motion_is_returned():
    task = moves.Task(ur5(locked=RIGID_WRIST))
    task.start(q=UR5_HOME[:3])
    task.to(q=[1.0, -1.0, 1.2])
    task.limits(acceleration=10.0, jerk=300.0)
    detour = [UR5_HOME[:3], [0.3, -1.6, 1.6], [1.0, -1.0, 1.2]]
    alone, both = task.solve(), task.solve(paths=[detour])
    assert both.converged and both.duration <= alone.duration * (1.0 + 1e-6)


@pytest.mark.long
def test_a_heavier_load_takes_longer_where_the_torque_is_short():
    def duration(mass):
        task = moves.Task(ur5(locked=RIGID_WRIST))
        task.start(q=UR5_HOME[:3])
        task.attach("block", "tool0", mass=mass)
        task.to(q=[1.0, -0.6, 0.9])
        task.limits(torque=[150.0, 110.0, 75.0], jerk=2000.0)
        motion = task.solve()
        assert motion.converged
        return motion.duration

    assert duration(4.0) > 1.02 * duration(0.1)


def test_an_arm_of_five_axes_takes_an_orientation_within_its_tolerance():
    """Turned by 0.03 rad about an axis that no joint has left, it is not reached exactly."""
    robot = ur5(locked={"wrist_2_joint": -1.57})
    home = np.delete(UR5_HOME, 4)
    pose = dynamics.forward_kinematics(robot.model, home, ["tool0"])
    position, rotation = pose.position[0], pose.rotation[0] @ Rotation.from_rotvec([0, 0.03, 0]).as_matrix()

    def reached(**tolerance):
        goal = Goal("goal", np.full(5, np.nan), (FrameTarget("tool0", position, rotation, **tolerance),))
        return poses_that_reach(robot, goal, home)

    poses = dynamics.forward_kinematics(robot.model, reached(distance=2e-3, angle=0.05)[:1], ["tool0"])
    turn = Rotation.from_matrix(rotation.T @ poses.rotation[0, 0]).magnitude()
    assert 0.01 < turn < 0.05 and np.linalg.norm(poses.position[0, 0] - position) < 2e-3
    with pytest.raises(InfeasibleBoundsError, match=r"misses it by .* \(tolerance: 0 m and 0\.01 rad\)"):
        reached(angle=0.01)


def test_locked_joints_and_the_mounting_pose_give_the_same_robot():
    whole = dynamics.load_urdf((ROBOTS / "panda.urdf").read_text(encoding="utf-8"))
    robot = panda()
    q = np.array(PANDA_HOME)
    full = np.concatenate([q, [0.04]]) if whole.n == 8 else np.concatenate([q, [0.04, 0.04]])
    torque = dynamics.rnea(whole, full, 0.0 * full, 0.0 * full)[:7]
    assert dynamics.rnea(robot.model, q, 0.0 * q, 0.0 * q) == pytest.approx(torque, abs=1e-10)
    at = dynamics.forward_kinematics(whole, full, ["panda_leftfinger"]).position
    assert dynamics.forward_kinematics(robot.model, q, ["panda_leftfinger"]).position == pytest.approx(at)
    base = ((0.0, 0.0, 1.0), [0.0, 0.0, np.pi / 2.0])
    mounted = ur5(base=base).model
    place = dynamics.forward_kinematics(ur5().model, UR5_HOME, ["tool0"]).position[0]
    moved = dynamics.forward_kinematics(mounted, UR5_HOME, ["tool0"]).position[0]
    assert moved == pytest.approx([-place[1], place[0], place[2] + 1.0])


def test_orientations_are_matrices_quaternions_or_rotation_vectors():
    vector = np.array([0.3, -1.2, 0.7])
    wanted = Rotation.from_rotvec(vector)
    for given in (wanted.as_matrix(), wanted.as_quat(), vector):
        task = moves.Task(ur5())
        task.start("tool0", rotation=given)
        assert task.origin.targets[0].rotation == pytest.approx(wanted.as_matrix(), abs=1e-14)
    assert rotation_vectors(wanted.as_matrix()) == pytest.approx(vector, abs=1e-14)


def test_a_tool_is_a_frame_at_a_pose_in_another_one():
    robot = ur5().with_tool("tip", "tool0", ((0.0, 0.0, 0.1), [0.0, 0.0, np.pi / 2.0]))
    both = dynamics.forward_kinematics(robot.model, UR5_HOME, ["tool0", "tip"])
    assert both.position[1] == pytest.approx(both.position[0] + 0.1 * both.rotation[0][:, 2])
    assert both.rotation[1][:, 0] == pytest.approx(both.rotation[0][:, 1])


def test_a_load_has_the_energies_of_a_body_at_its_frame():
    """A load of 2 kg at p with inertia I has m g z, and (m |v|^2 + w' I w) / 2 with p and R moved along v."""
    at, spread = np.array([0.02, -0.03, 0.1]), np.diag([0.01, 0.02, 0.025])
    bare = ur5().with_tool("load", "tool0", at)
    loaded = bare.with_load("tool0", 2.0, at, spread)
    q, v = np.random.default_rng(3).uniform(-1.0, 1.0, (2, 6))
    step = 1e-6
    before, here, after = (
        dynamics.forward_kinematics(bare.model, q + s * v, ["load"]) for s in (-step, 0.0, step)
    )
    velocity = (after.position[0] - before.position[0]) / (2.0 * step)
    turned = Rotation.from_matrix(before.rotation[0].T @ after.rotation[0]).as_rotvec() / (2.0 * step)
    kinetic = 0.5 * (2.0 * velocity @ velocity + turned @ spread @ turned)
    for energy, expected, arguments in (
        (dynamics.kinetic_energy, kinetic, (q, v)),
        (dynamics.potential_energy, 2.0 * 9.81 * here.position[0][2], (q,)),
    ):
        more = energy(loaded.model, *arguments) - energy(bare.model, *arguments)
        assert more == pytest.approx(expected, rel=1e-8)
    with pytest.raises(UnknownNameError, match="did you mean 'tool0'"):
        bare.with_load("tool", 2.0)
    with pytest.raises(OptionError, match="the mass of 'load at tool0' = -2"):
        bare.with_load("tool0", -2.0)


@pytest.mark.long
def test_tables_have_the_joints_as_columns(tmp_path):
    task = moves.Task(ur5())
    task.start(q=UR5_HOME)
    task.to(q=[0.2, -1.2, 1.4, -1.8, -1.57, 0.0])
    motion = task.solve()
    motion.to_csv(tmp_path / "move.csv", rate=250.0)
    head, *rows = (tmp_path / "move.csv").read_text(encoding="utf-8").splitlines()
    assert head.split(",")[1] == "q shoulder_pan_joint [rad]"
    assert len(rows) == int(np.floor(motion.duration * 250.0)) + 2


@pytest.mark.long
def test_a_slide_with_limits_of_jerk_takes_half_a_percent_longer_than_seven_ramps_at_most():
    """From rest to rest over 1 m: T = d / v + v / a + a / j, as speed and acceleration are reached."""
    limits = dynamics.JointLimits.symmetric(velocity=1.5, torque=1e3)
    joint = dynamics.Joint("slide", "prismatic", limits=limits)
    model = dynamics.RigidBodyModel([dynamics.Body("cart", joint, None, mass=1.0)], gravity=(0, 0, 0))
    task = moves.Task(moves.robot(model))
    task.start(q=[0.0])
    task.to(q=[1.0])
    task.limits(acceleration=8.0, jerk=100.0)
    motion = task.solve()
    least = 1.0 / 1.5 + 1.5 / 8.0 + 8.0 / 100.0
    assert motion.converged
    assert least <= motion.duration <= 1.005 * least


@pytest.mark.long
@pytest.mark.parametrize(
    ("limits", "least"),
    [
        ({"velocity": 2e-3, "acceleration": 1.0}, 500.0),
        ({"acceleration": 1e-4}, 200.0),
        ({"acceleration": 1.0, "tool_speed": 2e-3}, 500.0),
    ],
)
def test_a_motion_may_take_minutes(limits, least):
    """A slide over 1 m, a ramp up and one down: as long as a speed v, 1 / v + v / a, or 2 sqrt(1 / a)."""
    joint = dynamics.Joint("slide", "prismatic", (1.0, 0.0, 0.0))
    model = dynamics.RigidBodyModel([dynamics.Body("cart", joint, None, 1.0)], gravity=(0.0, 0.0, 0.0))
    task = moves.Task(moves.robot(model))
    task.start(q=[0.0])
    task.to("cart", position=(1.0, None, None))
    task.limits(**limits)
    motion = task.solve()
    assert motion.converged and motion.certificate.holds
    assert least * (1.0 - 1e-6) < motion.duration < 1.2 * least
