"""Limits that change along the way: closed forms on a line, proofs segment by segment, and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from retimed_robots import MASS, carriage, random_waypoints, ur5
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from tiers import every

import dynamics
from problems import moves
from problems.moves import over_segments
from problems.moves.certificate import largest
from problems.moves.controller.hand_over import _slower
from problems.moves.motion_limits import limits_of
from problems.moves.state_limits import AFTER, check_state
from problems.moves.tasks.task_file import task_of
from problems.moves.tasks.task_statement import statement_of
from trajopt.base import errors

LINE = [[0.0], [1.0], [2.0]]


@every(
    "waypoints, speeds",
    [
        (LINE, over_segments([1.0, 0.5])),
        ([[0.0], [2.0]], over_segments([1.0, 0.5], shares=[0.5])),
        (CubicSpline([0.0, 3.0, 6.0], LINE), over_segments([1.0, 0.5])),
        (LINE, {"cart": over_segments([1.0, 0.5])}),
    ],
)
def test_a_line_with_two_limits_of_speed_takes_the_time_of_its_phases(waypoints, speeds):
    """Up to 1, on, down to 0.5 before the border, on, down to rest: 0.5 + 0.5625 + 0.25 + 1.875 + 0.25 s."""
    limit = {"tool_speed" if isinstance(speeds, dict) else "velocity": speeds}
    motion = moves.retime(carriage(), waypoints, acceleration=2.0, **limit)
    assert motion.duration == pytest.approx(3.4375, rel=1e-5)
    assert motion.converged and motion.verify().holds
    assert {line.evidence for line in motion.certificate.lines} == {"proved"}


@every(
    "limits",
    [
        dict(acceleration=over_segments([1.0, 4.0])),
        dict(torque=over_segments([MASS, 4.0 * MASS])),
        dict(torque=over_segments([[[-MASS, MASS]], 4.0 * MASS]), acceleration=over_segments([9.0, np.inf])),
        dict(torque=over_segments([np.inf, 4.0 * MASS]), acceleration=over_segments([1.0, np.inf])),
    ],
)
def test_each_segment_has_its_own_acceleration(limits):
    """sqrt(2) m/s at the border, sqrt(5) where it brakes."""
    motion = moves.retime(carriage(), LINE, **limits)
    assert motion.duration == pytest.approx(
        np.sqrt(2.0) + (2.0 * np.sqrt(5.0) - np.sqrt(2.0)) / 4.0, rel=1e-5
    )
    assert motion.converged and motion.verify().holds


def phases(v, a, jerks):
    """Seconds, metres, and speed after phases (jerk, seconds)."""
    time = distance = 0.0
    for jerk, t in jerks:
        distance += v * t + a * t**2 / 2.0 + jerk * t**3 / 6.0
        v, a, time = v + a * t + jerk * t**2 / 2.0, a + jerk * t, time + t
    return time, distance, v


def least_time_with_jerk(border):
    """Over 2 m with 1 and 0.5 m/s, 2 m/s^2, 20 m/s^3, where the deceleration c at the border is the best.

    The speed is 0.5 there, falls below it until the acceleration is zero again, and comes back to 0.5.
    """

    def time(c):
        brake = phases(1.0, 0.0, [(-20.0, 0.1), (0.0, (0.3 + c**2 / 40.0) / 2.0), (20.0, (2.0 - c) / 20.0)])
        back = c / np.sqrt(2.0)
        under = phases(0.5, -c, [(20.0, (c + back) / 20.0), (-20.0, back / 20.0)])
        assert brake[2] == pytest.approx(0.5) and under[2] == pytest.approx(0.5)
        rest = (border - 0.3 - brake[1]) + (2.0 - border - 0.0875 - under[1]) / 0.5
        return 0.6 + brake[0] + under[0] + rest + 0.35

    return minimize_scalar(time, bounds=(0.0, 2.0), method="bounded").fun


def test_limits_of_jerk_keep_both_sides_of_a_border():
    speeds = over_segments([1.0, 0.5], shares=[0.4])
    motion = moves.retime(carriage(), [[0.0], [2.0]], velocity=speeds, acceleration=2.0, jerk=20.0)
    least = least_time_with_jerk(0.8)
    assert least * (1.0 - 1e-6) <= motion.duration <= 1.001 * least
    assert motion.converged and motion.verify().holds
    late = np.linspace(0.0, motion.duration, 5001)
    late = late[motion.q(late)[:, 0] > 0.8]
    assert np.abs(motion.v(late)).max() <= 0.5


@pytest.fixture(scope="module")
def slow_end():
    """The last half at half the speed."""
    return moves.retime(carriage(), LINE, velocity=over_segments([1.0, 0.5]), acceleration=2.0, jerk=20.0)


@every("first", [1.0, np.inf])
def test_a_proof_sees_what_exceeds_the_limit_of_its_own_segment(slow_end, first):
    """The last half at twice its limit, which is proved, and where; the first has one, or none."""
    speeds = over_segments([first, 0.25])
    limits = limits_of(slow_end.model, speeds, 2.0, None, 20.0, slow_end.path.waypoints)
    line = replace(slow_end, limits=limits).certified().certificate["speed"]
    assert line.evidence == "proved" and line.excess == pytest.approx(1.0, abs=1e-3)
    assert slow_end.q(line.time)[0] >= 1.0 - 1e-6


@pytest.mark.long
@pytest.mark.parametrize("jerk", [None, over_segments([500.0, 100.0, 500.0])])
def test_a_robot_keeps_limits_of_every_kind_between_its_waypoints(jerk):
    robot, waypoints, own = ur5(), random_waypoints(count=4), ur5().limits
    strong = np.stack([own.torque_lower, own.torque_upper], axis=1)
    limits = dict(
        velocity=over_segments([2.0, 0.7, 2.0]),
        acceleration=over_segments([15.0, 15.0, 4.0]),
        torque=over_segments([0.8 * strong, strong, strong], shares=[0.2, 0.5]),
        jerk=jerk,
    )
    motion = moves.retime(robot, waypoints, **limits)
    assert motion.converged and motion.verify().holds
    t = np.linspace(0.0, motion.duration, 4001)
    s = motion.s(t)
    segment = np.searchsorted(motion.path.waypoints, s) - 1
    assert np.abs(motion.v(t[segment == 1])).max() == pytest.approx(0.7, rel=2e-3)
    assert np.abs(motion.a(t[segment == 2])).max() == pytest.approx(4.0, rel=2e-3)
    early = s < 0.2 * motion.path.breakpoints[-1]
    assert np.all(np.abs(motion.tau(t[early])) <= 0.8 * own.torque_upper * (1.0 + 1e-5))
    if jerk is not None:
        assert np.abs(motion.jerk(t[segment == 1])).max() <= 100.0 * (1.0 + 1e-6)


def test_a_segment_without_a_bound_is_not_lost_among_others():
    """The largest of a NaN and numbers depends on their order in Python: no bound, no proof."""
    known = moves.LimitLine("speed", "proved", -0.1, "carriage", 0.0)
    unknown = replace(known, excess=np.nan)
    for lines in ([known, unknown], [unknown, known]):
        certificate = moves.MotionCertificate(tuple(lines))
        assert largest(lines) is unknown and certificate["speed"] is unknown
        assert np.isnan(certificate.excess) and not certificate.holds


def test_what_is_not_known_is_not_lost_among_numbers(slow_end):
    """Factors of the duration and shares of a tube, as those are Python's max of a NaN in one order."""
    excess = {name: np.array([value]) for name, value in (("speed", 0.1), ("acceleration", np.nan))}
    line = moves.LimitLine("speed", "proved", 0.1, "carriage", 0.0)
    for turn in (1, -1):
        assert np.isnan(slow_end.time_scale(dict(list(excess.items())[::turn])))
        lines = [line, replace(line, name="torque", excess=np.nan)][::turn]
        assert np.isnan(_slower(moves.MotionCertificate(tuple(lines))))


def test_points_of_a_controller_keep_the_slow_segment(slow_end):
    points = moves.hand_over(slow_end)
    assert points.converged
    t = np.linspace(0.0, points.duration, 2001)
    assert np.abs(points.v(t[points.q(t)[:, 0] > 1.01])).max() <= 0.5 * (1.0 + 1e-5)
    slower = slow_end.limits.segments[1].by_name(slow_end.position_limits)
    everywhere = replace(points, source=replace(points.source, bounds_at=lambda t: slower))
    assert everywhere.certificate["speed"].excess == pytest.approx(1.0, abs=1e-3)


def test_points_of_a_controller_see_a_segment_that_is_passed_between_them(slow_end):
    """A segment of a thousandth of the way, passed at twice its limit between two points."""
    speeds = over_segments([1.0, 0.5, 1.0], shares=[0.3003, 0.3013])
    limits = limits_of(slow_end.model, speeds, 2.0, None, 20.0, slow_end.path.waypoints)
    t = np.linspace(0.0, slow_end.duration, 20001)
    borders = [0.0, *np.interp(limits.borders[1:-1], slow_end.s(t), t), slow_end.duration]
    points = moves.hand_over(slow_end)

    def bounds_at(t):
        return limits.at(slow_end.s(t)).by_name(slow_end.position_limits)

    short = replace(points, source=replace(points.source, bounds_at=bounds_at, borders=np.array(borders)))
    line = short.certificate["speed"]
    assert line.excess == pytest.approx(1.0, abs=0.01)
    assert points.q(line.time)[0] == pytest.approx(0.6006, abs=0.05)


def test_a_start_faster_than_its_segment_is_refused():
    slow = over_segments([0.5, 1.0])
    with pytest.raises(errors.InfeasibleBoundsError, match=r"begins with start_velocity: 0\.5 of it"):
        moves.retime(carriage(), LINE, velocity=slow, acceleration=2.0, start_velocity=[1.0])


def test_a_border_at_an_end_is_none():
    speeds = over_segments([1.0, 0.5, 1.0], shares=[1e-12, 1.0 - 1e-12])
    limits = limits_of(carriage(), speeds, None, None, places=np.array([0.0, 2.0]))
    assert len(limits.segments) == 1 and limits.velocity == 0.5


BAD = [
    (lambda: over_segments(1.0), errors.OptionError, "values are 1.0: give a list"),
    (lambda: over_segments(np.array(1.0)), errors.OptionError, "give a list of limits"),
    (lambda: over_segments([]), errors.OptionError, r"values are \[\]"),
    (lambda: over_segments([over_segments([1.0])]), errors.OptionError, "given over segments itself"),
    (lambda: over_segments([1.0, 2.0], [0.2, 0.4]), errors.ShapeError, r"have shape \(2,\): give \(1,\)"),
    (lambda: over_segments([1.0, 2.0, 3.0], [0.4, 0.4]), errors.OptionError, "give increasing ones between"),
    (lambda: over_segments([1.0, 2.0], [1.0]), errors.OptionError, "between 0 and 1"),
    (lambda: over_segments([1.0, 2.0], [np.nan]), errors.NotFiniteError, "shares"),
    (lambda: over_segments([1.0, 2.0, 3.0]), errors.ShapeError, "velocity has 3 values over .* there are 2"),
    (lambda: over_segments([1.0, -2.0]), errors.OptionError, "velocity over segment 1 of joint 'carriage'"),
    (lambda: over_segments([1.0, [1.0, 2.0]]), errors.ShapeError, r"velocity over segment 1 has shape \(2,"),
    (lambda: over_segments([1.0, np.inf]), errors.UnboundedError, "torque over segment 1, so that"),
]


@every("speeds, error, message", BAD)
def test_bad_segments_are_named(speeds, error, message):
    with pytest.raises(error, match=message):
        moves.retime(carriage(), LINE, velocity=speeds())


def test_a_motion_that_has_no_segments_refuses_limits_over_them():
    with pytest.raises(errors.OptionError, match="velocity is given over segments: give a limit"):
        limits_of(carriage(), over_segments([1.0, 2.0]), None, None)


def on_the_line(**limits):
    task = moves.Task(moves.robot(carriage(velocity=9.0, torque=100.0)))
    task.start(q=[0.0])
    task.via(q=[1.0])
    task.to(q=[2.0])
    task.limits(**limits)
    return task


def test_a_robot_without_any_limit_gets_them_from_the_task():
    """2 m within 2 m/s^2 take 2 s and ramps of the spline; without a limit the task has no least time."""
    task = moves.Task(moves.robot(carriage()))
    task.start(q=[0.0])
    task.to(q=[2.0])
    with pytest.raises(errors.UnboundedError, match="no joint has a limit of speed"):
        task.solve()
    task.limits(acceleration=2.0)
    motion = task.solve()
    assert motion.converged and 2.0 <= motion.duration <= 2.2


@pytest.mark.long
def test_a_task_has_limits_on_the_way_to_each_goal(tmp_path):
    speeds, accelerations = over_segments([1.0, 0.5]), over_segments([2.0, 1.0])
    motion = on_the_line(velocity=speeds, acceleration=accelerations, jerk=20.0).solve(intervals=20)
    assert motion.converged and motion.verify().holds
    assert {motion.certificate[name].evidence for name in ("speed", "acceleration", "jerk")} == {"proved"}
    t = np.linspace(0.0, motion.duration, 4001)
    late = t > motion.times[1]
    for curve, first, last in ((motion.v, 1.0, 0.5), (motion.a, 2.0, 1.0)):
        assert np.abs(curve(t)[~late]).max() == pytest.approx(first, rel=5e-3)
        assert np.abs(curve(t)[late]).max() == pytest.approx(last, rel=5e-3)
    motion.save(tmp_path / "line.npz")
    again = moves.load_motion(tmp_path / "line.npz")
    assert str(again.certificate) == str(motion.certificate)
    slower = replace(motion.task.limits.segments[1], velocity=np.array([0.25]))
    limits = replace(motion.limits, segments=(motion.limits.segments[0], slower))
    beyond = replace(motion, task=replace(motion.task, limits=limits)).certificate["speed"]
    assert beyond.excess == pytest.approx(1.0, abs=1e-2) and beyond.time >= motion.times[1]


@pytest.mark.long
def test_a_task_with_a_load_keeps_torques_and_speeds_of_each_segment():
    robot = moves.robot(ur5())
    task = moves.Task(robot)
    task.start(q=[0.0, -1.2, 1.4, -1.8, -1.5, 0.0])
    task.to(q=[0.8, -1.0, 1.2, -1.6, -1.2, 0.4])
    task.attach("part", "tool0", mass=2.0)
    task.to(q=[1.4, -0.9, 0.8, -1.0, -1.4, 0.0])
    strong = ur5().limits.torque_upper
    torque = over_segments([0.7 * strong, strong])
    task.limits(velocity=over_segments([2.0, 0.6]), acceleration=15.0, jerk=500.0, torque=torque)
    motion = task.solve()
    assert motion.converged and motion.verify().holds
    t = np.linspace(0.0, motion.duration, 2001)
    early = t < motion.times[1] - 1e-6
    assert np.all(np.abs(motion.tau(t[early])) <= 0.7 * strong * (1.0 + 1e-5))
    assert np.abs(motion.v(t[~early])).max() == pytest.approx(0.6, rel=5e-3)


def test_a_task_refuses_limits_that_do_not_fit_its_goals():
    with pytest.raises(errors.OptionError, match="given over 3 segments, and the task has 2 goals"):
        on_the_line(velocity=over_segments([1.0, 2.0, 1.0])).solve()
    with pytest.raises(errors.OptionError, match="shares are of a path"):
        on_the_line(velocity=over_segments([1.0, 2.0], shares=[0.5]))
    with pytest.raises(errors.ShapeError, match="acceleration has 3 values over segments, and there are 2"):
        on_the_line(velocity=over_segments([1.0, 2.0]), acceleration=over_segments([1.0, 2.0, 3.0]))


@pytest.mark.long
@pytest.mark.parametrize("jerk", [None, 50.0])
def test_the_tool_of_an_arm_keeps_its_speeds_on_a_path_and_behind_a_controller(jerk):
    robot = ur5()
    tool, limits = robot.link_names[-1], (0.6, 0.2)
    motion = moves.retime(
        robot, random_waypoints(0, 3), acceleration=10.0, jerk=jerk, tool_speed={tool: over_segments(limits)}
    )
    assert motion.certificate["tool speed"].evidence == "proved" and motion.converged
    assert -1e-3 < motion.verify()["tool speed"].excess <= 1e-6
    handed = moves.hand_over(motion)
    assert handed.converged and handed.time_scale < 1.02
    for curves in (motion, handed):
        t = np.linspace(0.0, curves.duration, 4001)
        rates = dynamics.frame_velocity(robot, curves.q(t), curves.v(t), tool)[:, 3:]
        border = motion.path.waypoints[1]
        past = motion.s(t * (motion.duration / curves.duration)) > border + 0.01 * motion.path.length
        for here, limit in ((slice(None), limits[0]), (past, limits[1])):
            fastest = np.linalg.norm(rates[here], axis=1).max()
            assert (0.97 if curves is handed else 0.999) * limit < fastest <= (1.0 + 1e-6) * limit
    half = replace(motion.limits, tool_speed=0.5 * motion.limits.tool_speed, segments=())
    assert replace(motion, limits=half).verify()["tool speed"].excess == pytest.approx(1.0, abs=1e-3)


@pytest.mark.long
def test_a_tool_may_begin_at_its_limit_and_have_none_on_a_part():
    motion = moves.retime(
        carriage(), LINE, acceleration=2.0, tool_speed={"cart": over_segments([np.inf, 0.5])}
    )
    line = motion.certificate["tool speed"]
    assert line.evidence == "proved" and abs(line.excess) < 1e-9
    for jerk in (None, 20.0):  # squares of what nothing reaches overflow
        limits = {"velocity": 1.0, "acceleration": 2.0, "jerk": jerk}
        plain = moves.retime(carriage(), LINE, **limits)
        assert moves.retime(carriage(), LINE, **limits, tool_speed={"cart": 1e200}).duration == plain.duration
    robot, waypoints = ur5(), random_waypoints(0, 4)  # whose first part slows the tool down
    tool, free = robot.link_names[-1], {"velocity": 30.0, "acceleration": 80.0, "torque": np.inf}
    motion = moves.retime(robot, waypoints, **free, tool_speed={tool: 0.4}, intervals=100)
    finer = moves.retime(robot, waypoints, **free, tool_speed={tool: 0.4}, intervals=400)
    assert abs(motion.duration / finer.duration - 1.0) < 4e-3  # of second order in the segments' width
    q, slope = motion.path(0.0), motion.path(0.0, 1)
    start = slope * (0.4 / np.linalg.norm(dynamics.frame_velocity(robot, q, slope, tool)[3:]))
    motion = moves.retime(robot, waypoints, **free, tool_speed={tool: 0.4}, start_velocity=start)
    assert motion.converged and motion.certificate["tool speed"].excess < 1e-9


@pytest.mark.long
def test_a_tool_that_stands_still_limits_nothing():
    robot, turn = ur5(), np.zeros((2, 6))
    turn[1, 5] = 1.0
    for frame in (robot.link_names[-1], robot.link_names[0]):
        motion = moves.retime(robot, turn, velocity=1.0, acceleration=2.0, tool_speed={frame: 1e-3})
        assert motion.duration == pytest.approx(1.5, rel=1e-4) and motion.converged


def test_speeds_of_tools_on_a_path_are_checked():
    for wrong, message in (
        (0.5, "tool_speed is 0.5: give speeds by frame"),
        ({"cart": -1.0}, "tool_speed of cart is -1.0: give a number above zero"),
        ({"cart": [1.0]}, "tool_speed of cart is"),
    ):
        with pytest.raises(errors.OptionError, match=message):
            moves.retime(carriage(), LINE, acceleration=2.0, tool_speed=wrong)
    with pytest.raises(dynamics.UnknownNameError, match="wagon"):
        moves.retime(carriage(), LINE, acceleration=2.0, tool_speed={"wagon": 1.0})
    with pytest.raises(errors.OptionError, match="leave it or the tube out"):
        moves.retime(carriage(), LINE, acceleration=2.0, tool_speed={"cart": 1.0}, tube=0.1)


def with_tool(tool_speed):
    task = moves.Task(moves.robot(carriage(velocity=9.0, torque=100.0)))
    task.start(q=[0.0])
    task.via("cart", position=(None, None, 1.0))
    task.to("cart", position=(None, None, 2.0))
    task.limits(acceleration=2.0, tool_speed=tool_speed)
    return task


@pytest.mark.long
def test_a_tool_is_slower_on_the_way_to_the_second_goal(tmp_path):
    """The closed form of the line, 3.4375 s, and ramps of the spline."""
    motion = with_tool(over_segments([1.0, 0.5])).solve(intervals=20)
    assert motion.converged and motion.verify().holds
    assert 3.4375 <= motion.duration <= 1.03 * 3.4375
    t = np.linspace(0.0, motion.duration, 4001)
    for here, speed in ((t <= motion.times[1], 1.0), (t > motion.times[1], 0.5)):
        assert np.abs(motion.v(t[here])).max() == pytest.approx(speed, rel=5e-3)
    slower = replace(motion, task=replace(motion.task, tool_speed=(1.0, 0.25)))
    assert slower.certificate["tool speed"].excess == pytest.approx(1.0, abs=0.01)
    motion.save(tmp_path / "tool.npz")
    assert str(moves.load_motion(tmp_path / "tool.npz").certificate) == str(motion.certificate)


def test_speeds_of_tools_over_segments_are_checked_and_written(tmp_path):
    stated = with_tool(over_segments([np.inf, 0.5])).stated
    assert stated.tool_speed == (np.inf, 0.5)
    assert task_of(statement_of(stated), tmp_path, "task").stated.tool_speed == (np.inf, 0.5)
    with pytest.raises(errors.OptionError, match="over 3 segments, and the task has 2 goals"):
        _ = with_tool(over_segments([1.0, 0.5, 1.0])).stated
    with pytest.raises(errors.OptionError, match="shares are of a path"):
        with_tool(over_segments([1.0, 0.5], shares=[0.5]))
    for wrong in (-1.0, "fast", [1.0, 2.0], None):
        with pytest.raises(errors.TrajoptError, match="tool_speed"):
            with_tool(over_segments([1.0, wrong]))


def test_a_goal_in_motion_keeps_the_limits_of_both_of_its_ways():
    task = moves.Task(moves.robot(carriage(velocity=9.0, torque=100.0)))
    task.start(q=[0.0])
    task.to(q=[1.0], v=[0.8])
    task.to(q=[2.0])
    task.limits(velocity=over_segments([1.0, 0.5]), acceleration=2.0)
    with pytest.raises(errors.InfeasibleBoundsError, match=r"speed of joint 'carriage' is 0\.8.* is 0\.5"):
        task.solve()


def test_a_speed_that_the_wider_limits_of_the_next_segment_hold_is_not_refused():
    """0.95 m/s at 1 m/s^2: by 5 m/s^3 up to 1.05 m/s, but for the next segment, where that may be reached."""
    robot, state = carriage(), (np.zeros(1), np.array([0.95]), np.ones(1))
    limits = limits_of(robot, 1.0, 2.0, None, over_segments([5.0, 200.0]), np.arange(3.0))
    check_state("start", robot, limits, 0, state, AFTER)
    for given, number in ((limits.of(0), 0), (limits, 1)):
        fast = state if number == 0 else (state[0], np.array([1.05]), np.zeros(1))
        with pytest.raises(errors.InfeasibleBoundsError, match=r"'carriage' is 1\.05.* its limit is 1:"):
            check_state("start", robot, given, number, fast, AFTER)
