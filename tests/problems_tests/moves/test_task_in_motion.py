"""`moves.Task` with joints that move at its start or at a goal, goals that move, and goals of two frames."""

import json

import numpy as np
import pytest

import dynamics
from problems import moves
from problems.moves.tasks.task_file import task_of
from problems.moves.tasks.task_statement import statement_of
from trajopt.base.errors import InfeasibleBoundsError, OptionError, ShapeError

ACCELERATION, JERK, SPEED = 4.0, 40.0, 1.5


def slides(*names, speed=SPEED, reach=3.0):
    """Slides along x, y, z, each of which carries the next, without gravity."""
    axes = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    bodies, parent = [], None
    for name in names:
        limits = dynamics.JointLimits.symmetric(q=reach, velocity=speed)
        joint = dynamics.Joint(name, "prismatic", axes[name], limits=limits)
        bodies.append(dynamics.Body(f"cart {name}", joint, parent, 1.0))
        parent = f"cart {name}"
    return moves.robot(dynamics.RigidBodyModel(bodies, gravity=(0.0, 0.0, 0.0)))


def task_on(robot, **start):
    task = moves.Task(robot)
    task.start(**start)
    task.limits(acceleration=ACCELERATION, jerk=JERK)
    return task


# From rest over 2 m: ramps of J = A / j, A held for H, likewise down from the limit of speed, which is held
RAMP, HOLD = ACCELERATION / JERK, SPEED / ACCELERATION - ACCELERATION / JERK
PARTS = [(RAMP, JERK), (HOLD, 0.0), (RAMP, -JERK), (0.3, 0.0), (RAMP, -JERK), (HOLD, 0.0), (RAMP, JERK)]
WHOLE = sum(seconds for seconds, _ in PARTS)


def fastest(t):
    """q, v and a of the motion of seven parts at a time; its time is the least from rest to rest."""
    q = v = a = 0.0
    for seconds, jerk in PARTS:
        h = min(seconds, t)
        q, v, a = q + h * (v + h * (a / 2 + h * jerk / 6)), v + h * (a + h * jerk / 2), a + h * jerk
        t -= h
    return q, v, a


@pytest.mark.long
@pytest.mark.parametrize(("first", "last"), [(0.05, 1.0), (0.2, 1.0), (0.5, 1.0), (0.0, 0.6), (0.05, 0.95)])
def test_a_part_of_the_fastest_motion_takes_as_long_as_it_does_there(first, last):
    begin, end = (fastest(share * WHOLE) for share in (first, last))
    task = task_on(slides("x"), q=begin[:1], v=begin[1:2], a=begin[2:])
    task.to(q=end[:1], v=end[1:2], a=end[2:])
    motion = task.solve()
    assert motion.converged, motion
    assert 1.0 - 1e-5 < motion.duration / ((last - first) * WHOLE) < 1.005
    for at, (q, v, a) in ((0.0, begin), (motion.duration, end)):
        assert [*motion.q(at), *motion.v(at), *motion.a(at)] == pytest.approx([q, v, a], abs=1e-6)
    assert motion.verify().holds


@pytest.mark.long
def test_random_states_take_as_long_as_by_ruckig():
    ruckig = pytest.importorskip("ruckig")
    rng, robot = np.random.default_rng(4), slides("x", "y", "z")
    for _ in range(3):
        (q0, q1), (v0, v1), (a0, a1) = (rng.uniform(-x, x, (2, 3)) for x in (1.0, 0.8, 2.0))
        given, best = ruckig.InputParameter(3), ruckig.Trajectory(3)
        given.current_position, given.current_velocity, given.current_acceleration = map(list, (q0, v0, a0))
        given.target_position, given.target_velocity, given.target_acceleration = map(list, (q1, v1, a1))
        given.max_velocity, given.max_acceleration = [SPEED] * 3, [ACCELERATION] * 3
        given.max_jerk = [JERK] * 3
        assert ruckig.Ruckig(3).calculate(given, best) == ruckig.Result.Working
        task = task_on(robot, q=q0, v=v0, a=a0)
        task.to(q=q1, v=v1, a=a1)
        motion = task.solve()
        assert motion.converged, motion
        assert 1.0 - 1e-5 < motion.duration / best.duration < 1.01


@pytest.mark.long
def test_a_stopped_motion_goes_on_from_where_it_was():
    """From the middle of a motion, by its own state, the rest takes no longer than it did."""
    task = task_on(slides("x", "y"), q=(0.0, 0.0))
    task.to(q=(1.0, -0.7))
    whole = task.solve()
    at = 0.4 * whole.duration
    task = task_on(slides("x", "y"), q=whole.q(at), v=whole.v(at), a=whole.a(at))
    task.to(q=(1.0, -0.7))
    rest = task.solve()
    assert rest.converged
    assert rest.duration == pytest.approx(whole.duration - at, rel=5e-3)


@pytest.mark.long
def test_a_goal_that_moves_is_met_with_its_velocity():
    robot, velocity = slides("x", "y").with_tool("tip", "cart y", (0.0, 0.0, 0.1)), np.array([0.5, 0.0, 0.0])
    task = task_on(robot, q=(0.5, 0.0))
    place = np.array([-0.5, 0.6, 0.1])
    task.to("tip", position=place, velocity=velocity, moving=True)
    motion = task.solve()
    assert motion.converged, motion
    end = motion.duration
    assert motion.place("tip", end) == pytest.approx(place + velocity * end, abs=1e-6)
    assert motion.v(end) == pytest.approx([0.5, 0.0], abs=1e-6)
    # In axes that move with the goal: a start with the opposite velocity, and a goal that stands still.
    other = task_on(robot, q=(1.0, 0.0), v=-velocity[:2])
    other.to("tip", position=(0.0, 0.6, 0.1), velocity=(0.0, 0.0, 0.0))
    other.limits(velocity=(SPEED + 0.5, SPEED), acceleration=ACCELERATION, jerk=JERK)
    assert end == pytest.approx(other.solve().duration, rel=5e-3)


@pytest.mark.long
def test_a_passed_goal_has_the_speed_that_is_asked_for():
    task = task_on(slides("x", "y"), q=(0.0, 0.0))
    task.via(q=(0.6, None), v=(0.3, None))
    task.to(q=(1.2, 0.4))
    motion = task.solve()
    assert motion.converged
    assert motion.v(motion.times[1])[0] == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize(
    ("start", "goal", "message"),
    [
        ({"v": (1.6, 0.0)}, {}, r"start: the speed of joint 'x' is 1\.6, and its limit is 1\.5"),
        ({"a": (0.0, 4.1)}, {}, r"start: the acceleration of joint 'y' is 4\.1"),
        ({"v": (1.45, 0.0), "a": (3.0, 0.0)}, {}, r"is 1\.5625 after it, as the jerk is limited"),
        ({}, {"v": (1.45, 0.0), "a": (-3.0, 0.0)}, r"goal 1: .* speed of joint 'x' is 1\.5625 before it"),
        (
            {"q": (2.9, 0.0), "v": (1.0, 0.0)},
            {},
            r"position of joint 'x' is 3\.025 after it, where it can stop first",
        ),
        ({}, {"q": (-2.95, 0.0), "v": (1.0, 0.0)}, r"position of joint 'x' is 3\.075 before it"),
    ],
)
def test_rates_from_which_no_motion_keeps_its_limits_are_refused(start, goal, message):
    task = task_on(slides("x", "y"), **({"q": (0.0, 0.0)} | start))
    task.to(**({"q": (1.0, 1.0)} | goal))
    with pytest.raises(InfeasibleBoundsError, match=message):
        task.solve()


def test_a_torque_that_rates_need_is_compared_with_its_limit():
    task = moves.Task(slides("x"))
    task.start(q=[0.0], a=[3.0])
    task.to(q=[1.0])
    task.limits(torque=2.0)
    with pytest.raises(InfeasibleBoundsError, match="joint 'x' needs 3 for q, v and a there"):
        task.solve()


def test_rates_that_are_none_are_refused():
    task = task_on(slides("x", "y"), q=(0.0, 0.0))
    with pytest.raises(ShapeError, match="goal 1: v has 1 values"):
        task.to(q=(1.0, 0.0), v=[0.1])
    with pytest.raises(OptionError, match="a goal that moves has a velocity"):
        task.to("cart y", position=(0.1, 0.0, 0.0), moving=True)
    with pytest.raises(OptionError, match="a velocity is that of a frame"):
        task.to(q=(1.0, 0.0), velocity=(0.1, 0.0, 0.0))
    with pytest.raises(OptionError, match="give one of both"):
        task.to("cart y", position=(0.1, 0.0, 0.0), v=(0.0, 0.0), velocity=(0.1, 0.0, 0.0))
    task.to("cart y", position=(0.1, 0.0, 0.0))
    with pytest.raises(OptionError, match="has its place there already"):
        task.also("cart y", position=(0.1, 0.0, 0.0))


def two_arms():
    """A torso that turns with an arm of three joints on either side, in a plane; hands "left" and "right"."""
    limits = dynamics.JointLimits.symmetric(q=2.5, velocity=2.0, torque=60.0)
    bodies = [
        dynamics.Body("torso", dynamics.Joint("waist", limits=limits), None, 8.0, inertia=0.2 * np.eye(3))
    ]
    for side, y in (("left", 0.2), ("right", -0.2)):
        parent, place = "torso", (0.0, y, 0.0)
        for number in range(3):
            joint = dynamics.Joint(f"{side} {number}", position=place, limits=limits)
            name = f"{side} link {number}"
            bodies.append(dynamics.Body(name, joint, parent, 1.0, (0.15, 0, 0), 0.01 * np.eye(3)))
            parent, place = name, (0.3, 0.0, 0.0)
    robot = moves.robot(dynamics.RigidBodyModel(bodies, gravity=(0.0, 0.0, -9.81)))
    for side in ("left", "right"):
        robot = robot.with_tool(side, f"{side} link 2", (0.2, 0.0, 0.0))
    return robot


def both_hands(robot):
    task = moves.Task(robot)
    task.start(q=[0.0, 0.8, -0.8, -0.5, -0.8, 0.8, 0.5])
    task.to("left", position=(0.45, 0.35, 0.0), rotation=[0.0, 0.0, -0.5 * np.pi], name="grasp")
    task.also("right", position=(0.45, 0.05, 0.0), rotation=[0.0, 0.0, 0.5 * np.pi])
    task.limits(acceleration=10.0)
    return task


@pytest.mark.long
def test_both_hands_are_where_one_goal_says_at_once():
    robot = two_arms()
    motion = both_hands(robot).solve()
    assert motion.converged, motion
    end = motion.duration
    poses = dynamics.forward_kinematics(robot.model, motion.q(end), ["left", "right"])
    assert poses.position == pytest.approx(np.array([[0.45, 0.35, 0.0], [0.45, 0.05, 0.0]]), abs=1e-6)
    assert poses.rotation[:, :2, 0] == pytest.approx(np.array([[0.0, -1.0], [0.0, 1.0]]), abs=1e-6)


def test_hands_too_far_apart_for_both_are_refused_by_the_worse_one():
    task = both_hands(two_arms())
    task.to("left", position=(0.3, 0.6, 0.0), name="stretch")
    task.also("right", position=(0.3, -1.6, 0.0))
    with pytest.raises(InfeasibleBoundsError, match=r"stretch: frame '(left|right)' cannot reach it"):
        task.solve()


def test_a_file_says_the_same_of_rates_and_of_both_hands(tmp_path):
    task = both_hands(two_arms())
    task.via(q=[0.1] * 7, v={"waist": 0.2})
    task.to("left", position=(0.4, 0.3, 0.0), velocity=(0.1, 0.0, 0.0), moving=True)
    said = statement_of(task.stated)
    assert statement_of(task_of(json.loads(json.dumps(said)), tmp_path, "file").stated) == said
    assert [key for step in said["steps"] for key in step] == ["start", "to", "also", "via", "to", "limits"]
