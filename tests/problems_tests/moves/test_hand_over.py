"""`moves.hand_over`: files interpolated by the formulas of ROS 2's controller keep the limits."""

import json
import shutil
import struct
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from retimed_robots import REACH, carriage, random_waypoints, ur5, with_joints
from scipy.interpolate import BPoly

import dynamics
import problems
import trajopt
from problems import moves
from problems.moves.controller.files import write_c_header, write_urscript
from problems.moves.controller.segments import interpolant
from trajopt.base.errors import OptionError

ACCELERATION = 15.0


@pytest.fixture(scope="module")
def motion():
    return moves.retime(ur5(), random_waypoints(), acceleration=ACCELERATION, intervals=500)


@pytest.fixture(scope="module")
def solution():
    return trajopt.solve(problems.urdf_arm.build(intervals=12))


def controller(message, times):
    """q, v and a as `interpolate_between_points` of ros2_controllers states them."""
    points = message["points"]
    stamps = [p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in points]
    rows = []
    for t in times:
        i = min(max(np.searchsorted(stamps, t, side="right") - 1, 0), len(points) - 2)
        T, s = stamps[i + 1] - stamps[i], t - stamps[i]
        (p0, v0, a0), (p1, v1, a1) = (
            [np.array(points[k][name]) for name in ("positions", "velocities", "accelerations")]
            for k in (i, i + 1)
        )
        c = [p0, v0]
        if a0.size == 0:
            c.append((-3.0 * p0 + 3.0 * p1 - 2.0 * v0 * T - v1 * T) / T**2)
            c.append((2.0 * p0 - 2.0 * p1 + v0 * T + v1 * T) / T**3)
        else:
            c.append(0.5 * a0)
            c.append((-20 * p0 + 20 * p1 - 3 * a0 * T**2 + a1 * T**2 - 12 * v0 * T - 8 * v1 * T) / (2 * T**3))
            c.append(
                (30 * p0 - 30 * p1 + 3 * a0 * T**2 - 2 * a1 * T**2 + 16 * v0 * T + 14 * v1 * T) / (2 * T**4)
            )
            c.append((-12 * p0 + 12 * p1 - a0 * T**2 + a1 * T**2 - 6 * v0 * T - 6 * v1 * T) / (2 * T**5))
        curve = np.polynomial.Polynomial
        each = [curve([term[j] for term in c]) for j in range(len(p0))]
        rows.append([[p.deriv(order)(s) if order else p(s) for p in each] for order in range(3)])
    return np.moveaxis(np.array(rows), 1, 0)


@pytest.mark.parametrize(("segments", "orders"), [("cubic", 2), ("quintic", 3)])
def test_segments_are_hermite_interpolation(segments, orders):
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.1, 0.9, 6))
    values = rng.normal(size=(3, 6, 2))
    curve = interpolant(segments, times, *values)
    other = BPoly.from_derivatives(times, np.moveaxis(values[:orders], 0, 1))
    t = np.linspace(times[0], times[-1], 201)
    for order in range(3):
        np.testing.assert_allclose(curve(t, order), other(t, nu=order), rtol=1e-9, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("segments", ["cubic", "quintic"])
def test_a_file_interpolated_as_by_the_controller_keeps_the_limits(tmp_path, motion, segments):
    points = motion.to_ros(tmp_path / "motion.json", segments, cycle=0.002)
    assert points.converged, points
    assert points.duration < 1.01 * motion.duration
    message = json.loads((tmp_path / "motion.json").read_text(encoding="utf-8"))
    assert message["joint_names"] == list(motion.model.joint_names)
    t = np.linspace(0.0, points.duration, 3001)
    q, v, a = controller(message, t)
    np.testing.assert_allclose([q, v], [points.q(t), points.v(t)], atol=1e-9)
    np.testing.assert_allclose(a, points.a(t), atol=1e-5)
    limits = motion.limits
    assert np.all(np.abs(v) <= limits.velocity * (1.0 + 1e-6))
    assert np.all(np.abs(a) <= ACCELERATION * (1.0 + 1e-6))
    tau = dynamics.rnea(motion.model, q, v, a)
    assert np.all((tau >= limits.torque_lower - 1e-4) & (tau <= limits.torque_upper + 1e-4))


@pytest.mark.long
def test_the_former_name_of_the_time_scale_warns_at_the_line_that_reads_it():
    points = moves.hand_over(moves.retime(ur5(), random_waypoints(1), acceleration=ACCELERATION))
    with pytest.warns(FutureWarning, match="HandOver.stretch is HandOver.time_scale") as warned:
        assert points.stretch == points.time_scale
    assert [each.filename for each in warned] == [__file__]


def test_torque_limits_hold_between_the_points():
    motion = moves.retime(ur5(), random_waypoints(1), torque=[60, 90, 60, 10, 10, 10], intervals=500)
    assert motion.certificate["torque"].excess > -1e-3  # the torque is what limits it
    points = moves.hand_over(motion)
    assert points.certificate["torque"].excess <= 1e-6
    assert points.time_scale < 1.01
    t = np.linspace(0.0, points.duration, 20001)
    tau = points.tau(t)
    excess = np.abs(tau) / motion.limits.torque_upper - 1.0
    assert excess.max() < 1e-4  # at other times than those sampled


def test_friction_and_springs_are_among_the_torques():
    model = with_joints(carriage(torque=4.0), damping=0.5, friction=0.3, stiffness=0.2)
    motion = moves.retime(model, [[0.0], [REACH]], intervals=200)
    points = moves.hand_over(motion)
    t = 0.4 * points.duration
    force = 2.0 * points.a(t) + 0.5 * points.v(t) + 0.3 + 0.2 * points.q(t)
    np.testing.assert_allclose(points.tau(t), force, rtol=1e-9)
    assert points.certificate["torque"].excess <= 1e-6


@pytest.mark.long
def test_yaml_is_the_same_message(tmp_path, motion):
    yaml = pytest.importorskip("yaml")
    for ending in ("json", "yaml"):
        moves.hand_over(motion, "cubic").to_ros(tmp_path / f"motion.{ending}")
    message = yaml.safe_load((tmp_path / "motion.yaml").read_text(encoding="utf-8"))
    assert message == json.loads((tmp_path / "motion.json").read_text(encoding="utf-8"))
    assert message["points"][3]["accelerations"] == []


def test_a_spline_of_degree_four_is_handed_over_exactly(solution):
    points = moves.hand_over(solution)
    assert len(points.times) == len(solution.knot_times)
    assert points.deviation < 1e-10
    assert points.time_scale < 1.002  # limits hold to 0.1 % between the nodes
    assert points.converged and {line.name for line in points.certificate.lines} == {
        "position",
        "speed",
        "jerk",
        "torque",
    }


@pytest.mark.long
@pytest.mark.parametrize("gap", [1e-5, 1e-7, 1e-9])
def test_waypoints_close_to_each_other_slow_nothing_down(gap):
    motion = moves.retime(
        carriage(torque=1e3), [[0.0], [1.0], [1.0 + gap], [1.5]], acceleration=8.0, jerk=100.0
    )
    handed = moves.hand_over(motion)
    assert handed.converged
    assert handed.time_scale < 1.001
    t = np.linspace(0.0, motion.duration, 500)
    np.testing.assert_allclose(handed.q(t * handed.duration / motion.duration), motion.q(t), atol=1e-4)


@pytest.mark.parametrize(
    ("distance", "most"),
    [
        pytest.param(1e-6, 1.001, marks=pytest.mark.long),
        pytest.param(1e-8, 1.05, marks=pytest.mark.long),
        (1e-10, 1.1),
    ],
)
def test_short_motions_are_handed_over_as_fast_as_rounding_lets_them(distance, most):
    motion = moves.retime(carriage(torque=1e3), [[0.7], [0.7 + distance]], acceleration=8.0, jerk=100.0)
    assert motion.duration == pytest.approx(np.cbrt(32.0 * distance / 100.0), rel=2e-3)
    handed = moves.hand_over(motion)
    assert handed.converged
    assert handed.time_scale < most


@pytest.mark.parametrize(("cycle", "speed"), [(0.002, 1.0), (0.008, 0.5)])
def test_durations_are_whole_cycles_and_an_override_slows_down(solution, cycle, speed):
    points = moves.hand_over(solution, cycle=cycle, speed=speed)
    count = points.duration / cycle
    assert count == pytest.approx(round(count), abs=1e-6)
    assert 0.0 <= points.duration * speed - solution.duration < 0.004 * solution.duration + cycle
    np.testing.assert_allclose(points.q(points.duration), solution.q(solution.duration), atol=1e-12)


@pytest.mark.long
def test_more_accuracy_takes_more_points(motion):
    coarse, fine = (moves.hand_over(motion, accuracy=e, deviation=e) for e in (1e-2, 1e-3))
    assert len(coarse.times) < len(fine.times)
    assert fine.duration < coarse.duration


@pytest.mark.long
def test_smoothing_leaves_the_path_by_its_square(motion):
    """A jump of 2 a is spread over the width w: a w^2 / 24 where the acceleration is constant around it."""
    found = [moves.hand_over(motion, smoothing=w, deviation=1e-7).deviation for w in (0.004, 0.008)]
    assert found[1] < 2.0 * ACCELERATION * 0.008**2 / 24.0
    assert found[1] / found[0] == pytest.approx(4.0, rel=0.3)


def test_the_table_has_a_row_for_every_cycle(tmp_path, solution):
    points = moves.hand_over(solution, cycle=0.002)
    points.to_csv(tmp_path / "motion.csv", rate=500)
    lines = (tmp_path / "motion.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("t [s],q shoulder_pan_joint [rad],")
    assert len(lines) == 2 + round(points.duration * 500)
    np.testing.assert_allclose(
        [float(x) for x in lines[-1].split(",")[1:7]], solution.q(solution.duration), atol=1e-9
    )


def test_a_program_of_universal_robots_sends_every_cycle(tmp_path, solution):
    points = moves.hand_over(solution, cycle=0.002)
    points.to_urscript(tmp_path / "motion.script")
    text = (tmp_path / "motion.script").read_text(encoding="utf-8")
    assert text.count("servoj(") == round(points.duration * 500)
    with pytest.raises(OptionError, match=r"hand over with cycle=1/125"):
        moves.hand_over(solution, cycle=0.0021).to_urscript(tmp_path / "motion.script", 125)
    cart = moves.hand_over(moves.retime(carriage(), [[0.0], [REACH]], acceleration=1.0))
    with pytest.raises(OptionError, match="the robot has 1 joints"):
        cart.to_urscript(tmp_path / "motion.script")


def test_tables_for_small_controllers(tmp_path, solution):
    points = moves.hand_over(solution)
    points.to_c_header(tmp_path / "move.h", "move")
    text = (tmp_path / "move.h").read_text(encoding="utf-8")
    assert f"#define MOVE_POINTS {len(points.times)}\n" in text
    assert f" {float(points.velocities[3, 2])!r}," in text
    if compiler := shutil.which("cc"):
        subprocess.run([compiler, "-fsyntax-only", "-Wall", "-Werror", tmp_path / "move.h"], check=True)
    points.to_binary(tmp_path / "move.bin")
    content = (tmp_path / "move.bin").read_bytes()
    assert content[:8] == b"TRAJOPT1"
    joints, count = struct.unpack("<II", content[8:16])
    rows = np.frombuffer(content[16:], "<f8").reshape(count, 1 + 3 * joints)
    np.testing.assert_array_equal(rows[:, 0], points.times)
    np.testing.assert_array_equal(rows[:, 13:], points.accelerations)


@pytest.mark.parametrize(
    "name", ["j\n  set_digital_out(0, True)\n  # ", "*\\\n/ int evil(void); /*", "*/ x /*", "\ud800"]
)
def test_names_become_no_lines_of_a_program(tmp_path, name):
    rows, names = np.zeros((2, 1 + 3 * 6)), [name, *"bcdef"]
    write_urscript(tmp_path / "move.script", names, lambda t: np.zeros((len(t), 6)), 0.01, 100.0)
    lines = (tmp_path / "move.script").read_text(encoding="utf-8").splitlines()
    assert [line.split()[0] for line in lines] == [
        "def",
        "#",
        "movej([0.0,",
        "servoj([0.0,",
        "stopj(2.0)",
        "end",
    ]
    write_c_header(tmp_path / "move.h", "move", names, rows)
    comment, *code = (tmp_path / "move.h").read_text(encoding="utf-8").splitlines()
    assert comment.count("*/") == 1 and comment.endswith("*/") and code[0] == "#ifndef MOVE_H"


def test_what_no_slower_motion_mends_is_said(solution):
    """At rest the arm holds its own weight: a torque limit below that is exceeded at every speed."""
    points = moves.hand_over(solution)
    limits = points.source.bounds_at(np.zeros(1)) | {"torque": (np.full(6, -1.0), np.full(6, 1.0))}
    again = moves.HandOver(
        replace(points.source, bounds_at=lambda t: limits),
        "quintic",
        points.times,
        points.positions,
        points.velocities,
        points.accelerations,
        0.0,
        1.0,
    )
    assert not again.converged and again.certificate["torque"].excess > 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(segments="linear"), 'give "cubic" or "quintic"'),
        (dict(accuracy=0.0), "accuracy = 0.0"),
        (dict(cycle=-1.0), "cycle = -1.0"),
        (dict(speed=1.5), "an override is at most 1"),
        (dict(smoothing=-1.0), "smoothing = -1.0"),
    ],
)
def test_wrong_options_are_refused(motion, options, message):
    with pytest.raises(OptionError, match=message):
        moves.hand_over(motion, **options)


@pytest.mark.long
def test_what_is_no_motion_is_refused(tmp_path, motion):
    with pytest.raises(OptionError, match=r"give a trajopt\.Solution"):
        moves.hand_over(3.0)
    with pytest.raises(OptionError, match=r"written as .json or .yaml"):
        motion.to_ros(tmp_path / "motion.txt")
    with pytest.raises(OptionError, match="give a name of C"):
        moves.hand_over(motion).to_c_header(tmp_path / "motion.h", "2nd")


@pytest.mark.long
def test_a_load_of_a_task_is_among_the_torques():
    robot = moves.robot(problems.urdf_arm.source("ur5"))
    task = moves.Task(robot)
    task.start(q=[0.0, -1.2, 1.4, -1.8, -1.5, 0.0])
    task.via(q=[0.3, -1.1, 1.3, -1.7, -1.4, 0.2])
    task.attach("part", robot.frame("tool0"), mass=2.0)
    task.to(q=[0.8, -1.0, 1.2, -1.6, -1.2, 0.4])
    task.limits(acceleration=10.0, jerk=300.0)
    motion = task.solve()
    points = moves.hand_over(motion)
    assert points.converged and points.certificate["jerk"].excess <= 1e-6
    assert points.deviation < 1e-9
    for share in (0.2, 0.9):  # before the part is taken, and with it
        found, planned = points.tau(share * points.duration), motion.tau(share * motion.duration)
        np.testing.assert_allclose(found, planned, atol=0.05)  # the points take up to 1e-3 longer
    empty = dynamics.rnea(
        robot.model, *(curve(0.9 * motion.duration) for curve in (motion.q, motion.v, motion.a))
    )
    assert np.abs(empty - planned).max() > 5.0
