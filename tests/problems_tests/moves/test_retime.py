"""`moves.retime` against closed forms, toppra, our own optimal control, and the structure of the optimum."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from retimed_robots import MASS, REACH, carriage, random_waypoints, ur5, with_joints
from scipy.interpolate import BSpline, CubicSpline, PPoly, make_interp_spline
from scipy.optimize import brentq
from tiers import fast_first, long_first

import dynamics
import trajopt
from problems import moves
from problems.gallery.mechanisms import line_in_least_time
from problems.moves.limit_excess import with_peaks
from problems.moves.motion_limits import limits_of
from problems.moves.path_quantities import acceleration_on, squared_speed_on, torque_on
from problems.moves.retiming import Retiming
from problems.moves.speed_profile import fastest_profile
from problems.moves.spline_path import path_of
from trajopt.base import errors


def extrapolated(motions):
    """The duration for segments of no width, of two motions whose segments differ by a factor of two."""
    return 2.0 * motions[1].duration - motions[0].duration


def test_one_joint_accelerates_then_brakes():
    motion = moves.retime(carriage(), [[0.0], [REACH]], acceleration=1.5)
    assert motion.converged
    assert motion.duration == pytest.approx(2.0 * np.sqrt(REACH / 1.5), rel=1e-9)
    np.testing.assert_allclose(motion.a(0.3 * motion.duration), [1.5], rtol=1e-9)
    np.testing.assert_allclose(motion.a(0.7 * motion.duration), [-1.5], rtol=1e-9)


def test_one_joint_keeps_its_limit_of_speed():
    """T = D / v + v / a; the change to the limit lies between two grid points."""
    motion = moves.retime(carriage(), [[0.0], [REACH]], velocity=1.2, acceleration=1.5)
    assert motion.duration == pytest.approx(REACH / 1.2 + 1.2 / 1.5, rel=1e-6)


@pytest.mark.parametrize(
    ("limits", "duration"),
    [
        (dict(acceleration=2.0), 4.0 / np.sqrt(2.0)),
        (dict(acceleration=2.0, velocity=0.8), 2.0 * (1.0 / 0.8 + 0.8 / 2.0)),
        (dict(velocity=0.8), 2.0 / 0.8),
    ],
)
def test_a_joint_that_turns_back_loses_no_time(limits, duration):
    """Where it turns p' = 0: neither s'' nor a limit of speed has any influence there."""
    motion = moves.retime(carriage(), [[0.0], [1.0], [0.0]], **limits)
    assert motion.converged and motion.verify().holds
    assert motion.duration == pytest.approx(duration, rel=1e-3)


def test_the_shortest_grid_is_enough_for_a_straight_line():
    motion = moves.retime(carriage(), [[0.0], [REACH]], acceleration=1.5, intervals=2)
    assert motion.duration == pytest.approx(2.0 * np.sqrt(REACH / 1.5), rel=1e-12)


def test_coulomb_friction_delays_the_start_and_helps_to_brake():
    """Accelerations (F - c) / m and (F + c) / m, so that T = sqrt(2 D (1 / a + 1 / b))."""
    motion = moves.retime(carriage(friction=1.0, torque=4.0), [[0.0], [REACH]])
    rates = (4.0 - 1.0) / MASS, (4.0 + 1.0) / MASS
    assert motion.converged
    assert motion.duration == pytest.approx(np.sqrt(2.0 * REACH * sum(1.0 / a for a in rates)), rel=1e-6)


def test_viscous_friction_as_in_the_closed_form():
    """m v' = +-F - d v: v = (F/d)(1 - exp(-d t/m)) up to t1, then down to rest at T."""
    F, d = 4.0, 2.0
    k, top = d / MASS, F / d

    def parts(first):
        speed = top * (1.0 - np.exp(-k * first))
        second = np.log1p(speed / top) / k
        way = top * first - speed / k + (speed + top) * (1.0 - np.exp(-k * second)) / k - top * second
        return way, first + second

    first = brentq(lambda t: parts(t)[0] - REACH, 1e-3, 50.0, xtol=1e-13)
    motions = [
        moves.retime(carriage(damping=d, torque=F), [[0.0], [REACH]], intervals=count)
        for count in (2000, 4000)
    ]
    assert all(motion.converged and motion.verify().holds for motion in motions)
    assert extrapolated(motions) == pytest.approx(parts(first)[1], rel=1e-6)


def test_a_spring_is_part_of_the_torque():
    motion = moves.retime(carriage(stiffness=0.4, torque=4.0), [[0.0], [REACH]])
    t = 0.4 * motion.duration
    np.testing.assert_allclose(motion.tau(t), MASS * motion.a(t) + 0.4 * motion.q(t), rtol=1e-12)
    np.testing.assert_allclose(np.abs(motion.tau(t)), [4.0], rtol=5e-4)  # s'' is constant on a segment


@fast_first("seed", range(3), 1)
def test_on_the_same_grid_toppra_needs_the_same_time(seed):
    """Equal rows, those of its interpolation scheme at both ends of a segment: equal to 1e-6."""
    toppra = pytest.importorskip("toppra")
    model, waypoints = ur5(), random_waypoints(seed, 12)
    path = path_of(model, waypoints)
    limits = limits_of(model, None, 15.0, 0.4 * model.limits.torque_upper)
    grid = path.grid(500)
    quantities = acceleration_on(path, grid, limits), torque_on(model, path, grid, limits)
    rows = np.concatenate([quantity.rows(at_ends=True) for quantity in quantities], axis=1)
    rate = np.sqrt(fastest_profile(rows, (limits.velocity / np.abs(path(grid, 1))).min(axis=1) ** 2))

    scheme = toppra.constraint.DiscretizationType.Interpolation
    names = "velocity", "acceleration", "torque_upper"
    bound = {name: np.stack([-getattr(limits, name), getattr(limits, name)], 1) for name in names}
    constraints = [
        toppra.constraint.JointVelocityConstraint(bound["velocity"]),
        toppra.constraint.JointAccelerationConstraint(bound["acceleration"], discretization_scheme=scheme),
        toppra.constraint.JointTorqueConstraint(
            lambda q, v, a: dynamics.rnea(model, q, v, a),
            bound["torque_upper"],
            np.zeros(model.n),
            discretization_scheme=scheme,
        ),
    ]
    spline = toppra.SplineInterpolator(path.waypoints, waypoints)
    np.testing.assert_allclose(spline(grid), path(grid), atol=1e-12)
    instance = toppra.algorithm.TOPPRA(constraints, spline, gridpoints=grid, solver_wrapper="seidel")
    theirs = instance.compute_parameterization(0.0, 0.0)[1]
    durations = [np.sum(2.0 * np.diff(grid) / (x[1:] + x[:-1])) for x in (rate, theirs)]
    assert durations[0] == pytest.approx(durations[1], rel=1e-6)


def test_our_optimal_control_on_a_path_ends_at_the_same_time():
    """`line_in_least_time` solves the problem by collocation; its optimum by the phase plane is 0.69293 s."""
    problem = line_in_least_time.build()
    robot = problem.dynamics
    s = np.linspace(robot.path.first, robot.path.last, 200)
    path = CubicSpline(s, robot.path(s))
    motions = [moves.retime(robot.robot, path, intervals=count) for count in (2000, 4000)]
    assert all(motion.converged for motion in motions)
    assert motions[0].duration == pytest.approx(0.69293, rel=3e-4)
    assert extrapolated(motions) == pytest.approx(0.69293, rel=4e-5)


@pytest.mark.long
def test_on_path_with_speed_and_torque_takes_as_long():
    model, waypoints = ur5(), random_waypoints(4, 3)
    motion = moves.retime(model, waypoints)
    path = path_of(model, waypoints)
    on_path = trajopt.on_path(model, PPoly(path.coefficients, path.breakpoints), (0.0, path.breakpoints[-1]))
    problem = trajopt.Problem(on_path, trajopt.Trajectory.uniform(intervals=60))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=path.breakpoints[-1], v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)
    assert solution.converged
    assert motion.duration == pytest.approx(solution.duration, rel=1e-2)
    assert motion.duration <= solution.duration * (1.0 + 1e-3)


def test_all_limits_hold_at_all_times_and_the_speeds_are_exact_derivatives():
    motion = moves.retime(ur5(), random_waypoints(), acceleration=15.0, torque=75.0)
    assert motion.converged
    assert motion.certificate.excess <= 1e-6
    assert [
        motion.certificate[name].evidence for name in ("speed", "acceleration", "position", "torque")
    ] == [
        "proved",
        "proved",
        "proved",
        "sampled",
    ]
    report = motion.verify()
    assert report.holds, report
    t, h = np.linspace(0.1, 0.9, 50) * motion.duration, 1e-5
    np.testing.assert_allclose((motion.q(t + h) - motion.q(t - h)) / (2.0 * h), motion.v(t), atol=1e-3)
    np.testing.assert_allclose(motion.q(0.0), random_waypoints()[0], atol=1e-12)
    np.testing.assert_allclose(motion.q(motion.duration), random_waypoints()[-1], atol=1e-9)
    np.testing.assert_allclose(motion.v([0.0, motion.duration]), 0.0, atol=1e-9)


def test_on_nearly_every_segment_a_limit_is_active():
    """The optimum is bang-bang: only where the limit changes may a segment have room."""
    motion = moves.retime(ur5(), random_waypoints(), acceleration=15.0, torque=75.0)
    limits, grid = motion.limits, motion.grid
    room = [
        (quantity.excess(motion.speeds) / size).max(axis=1)
        for quantity, size in (
            (squared_speed_on(motion.path, grid, limits), limits.velocity**2),
            (acceleration_on(motion.path, grid, limits), limits.acceleration),
            (torque_on(motion.model, motion.path, grid, limits), limits.torque_upper),
        )
    ]
    active = np.max(room, axis=0) > -1e-5
    assert active.mean() > 0.98


def test_the_way_back_takes_as_long():
    """Without friction the torques of q(T - t) are those of q(t) in reverse order."""
    durations = [
        moves.retime(ur5(), points, acceleration=15.0, torque=75.0).duration
        for points in (random_waypoints(), random_waypoints()[::-1])
    ]
    assert durations[0] == pytest.approx(durations[1], rel=1e-7)


def test_finer_grids_never_take_longer():
    """A profile on a grid is one on its halves, and halves have smaller Bernstein coefficients."""
    path = PPoly(0.5 * random_waypoints(1, 4)[:, None], [0.0, 1.0])
    durations = [
        moves.retime(ur5(), path, 1e4, 15.0, torque=1e4, intervals=count).duration
        for count in (64, 128, 256, 512, 1024)
    ]
    gains = -np.diff(durations)
    assert np.all(gains >= 0.0)
    assert gains[-1] < 0.2 * gains[0]


def test_time_scales_with_the_square_root_of_acceleration():
    one, four = (moves.retime(ur5(), random_waypoints(), 1e4, a, torque=1e6).duration for a in (2.0, 8.0))
    assert one == pytest.approx(2.0 * four, rel=1e-9)


@pytest.mark.long
def test_friction_of_all_joints_is_within_the_torque():
    model = with_joints(ur5(), damping=2.0, friction=1.5)
    motion = moves.retime(model, random_waypoints(), torque=75.0)
    assert motion.converged
    assert motion.verify().holds
    t = np.linspace(0.05, 0.95, 7) * motion.duration
    v = motion.v(t)
    friction = -dynamics.friction(model, v, smoothing=1e-9).force
    np.testing.assert_allclose(
        motion.tau(t), dynamics.rnea(model, motion.q(t), v, motion.a(t)) + friction, atol=1e-9
    )
    assert motion.duration > moves.retime(ur5(), random_waypoints(), torque=75.0).duration


@fast_first("degree", [3, 5], 1)
def test_a_spline_of_scipy_is_followed_as_it_is(degree):
    points = random_waypoints(2)
    s = np.linspace(0.0, 1.0, len(points))
    spline = make_interp_spline(s, points, k=degree)
    assert isinstance(spline, BSpline)
    motion = moves.retime(ur5(), spline, acceleration=15.0)
    assert motion.converged
    t = np.linspace(0.0, motion.duration, 40)
    np.testing.assert_allclose(motion.q(t), spline(motion.s(t)), atol=1e-12)


def test_a_path_whose_curvature_jumps_keeps_its_limits_on_both_sides():
    """A straight line that becomes a parabola: p'' jumps, p' does not."""
    path = PPoly(np.array([[[0.0], [0.5]], [[1.0], [1.0]], [[0.0], [1.0]]]), np.array([0.0, 1.0, 2.0]))
    motion = moves.retime(carriage(), path, velocity=1.5, acceleration=1.0)
    assert motion.converged
    assert motion.verify().holds


def test_a_motion_that_is_too_fast_is_seen():
    """Negative control: one per cent more speed breaks every active limit."""
    motion = moves.retime(ur5(), random_waypoints(), acceleration=15.0, torque=75.0)
    faster = replace(motion, speeds=1.01 * motion.speeds)
    report = faster.verify()
    assert not report.holds
    assert report["acceleration"].excess == pytest.approx(0.01, rel=0.1)
    assert report["torque"].excess > 1e-4
    assert not Retiming(motion.model, motion.path, motion.limits, motion.grid).certificate(faster).holds


def test_a_large_limit_of_one_side_hides_no_excess_of_the_other():
    """Measured by 1e9, 4e-5 of the upper limit would be none; eight samples of a coarse segment miss 1e-5."""
    torque = np.array([[-1e9, 75.0]] * 3 + [[-1e9, 14.0]] * 3)
    waypoints = np.random.default_rng(3).uniform(-1.0, 1.0, (6, 6))
    motion = moves.retime(ur5(), waypoints, torque=torque, intervals=60)
    assert motion.converged
    tau = motion.tau(np.linspace(0.0, motion.duration, 20_001))
    assert (tau / torque[:, 1]).max() <= 1.0 + 2e-5
    assert replace(motion, speeds=1.01 * motion.speeds).verify()["torque"].excess > 1e-4


def test_the_table_has_the_motion_at_a_rate(tmp_path):
    motion = moves.retime(carriage(torque=4.0), [[0.0], [REACH]])
    motion.to_csv(tmp_path / "motion.csv", rate=250)
    lines = (tmp_path / "motion.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "t [s],q carriage [m],v carriage [m/s],a carriage [m/s^2],tau carriage [N]"
    table = np.array([[float(x) for x in line.split(",")] for line in lines[1:]])
    np.testing.assert_allclose(table[-1, :2], [motion.duration, REACH], atol=1e-12)
    np.testing.assert_allclose(table[1, 0], 1.0 / 250)
    np.testing.assert_array_equal(table[:, 4], motion.tau(table[:, 0])[:, 0])


def test_the_jerk_is_the_slope_of_the_acceleration_within_a_segment():
    motion = moves.retime(ur5(), random_waypoints(), acceleration=15.0)
    i = len(motion.grid) // 3
    t, h = 0.5 * (motion.times[i] + motion.times[i + 1]), 0.1 * np.diff(motion.times)[i]
    slope = (motion.a(t + h) - motion.a(t - h)) / (2.0 * h)
    np.testing.assert_allclose(motion.jerk(t), slope, rtol=1e-5, atol=1e-4 * np.abs(slope).max())


def test_a_motion_prints_what_is_proved():
    motion = moves.retime(carriage(q=5.0, torque=4.0), [[0.0], [REACH]])
    text = repr(motion)
    assert "RetimedMotion of 2.44" in text
    assert "every limit holds" in text
    assert "torque" in text and "sampled at" in text and "proved" in text


@fast_first("seed", [1, 0, 2, 3, 4, 5])
def test_limits_of_random_motions_hold_between_all_grid_points(seed):
    """Torques that only just hold the robot, with friction or without, and five to forty waypoints."""
    rng = np.random.default_rng(seed)
    model = with_joints(ur5(), damping=seed % 2 * 2.0, friction=seed % 3 * 1.0)
    waypoints = rng.uniform(-1.0, 1.0, (5 + 7 * seed, 6))
    rest = np.abs(dynamics.rnea(model, waypoints, 0.0 * waypoints, 0.0 * waypoints)).max(axis=0)
    motion = moves.retime(model, waypoints, 3.0, 10.0 ** rng.uniform(0.0, 1.5), torque=1.5 * rest + 8.0)
    assert motion.converged, motion
    assert motion.verify().holds, motion.verify()


def test_a_peak_between_samples_is_found_by_a_parabola():
    t = np.array([0.0, 1.0, 2.0, 3.0])[None, :, None]
    peaks = [0.2, 1.4, 2.9]
    values = 5.0 - 2.0 * (t - np.array(peaks)) ** 2
    np.testing.assert_allclose(with_peaks(values), [[5.0, 5.0, 5.0]], rtol=1e-12)
    np.testing.assert_allclose(with_peaks(2.0 * t), [[6.0]])


@pytest.mark.parametrize(
    ("first", "last"), [(0.0, 0.0), (1.0, 0.0), (0.0, 2.0), (1.5, 0.5), (0.5, 3.0), (2.0, 2.0)]
)
def test_a_joint_that_moves_at_its_ends_accelerates_then_brakes_as_in_the_closed_form(first, last):
    """Peak speed p with (p^2 - u^2) / 2a + (p^2 - w^2) / 2a = distance, each part (p - u) / a."""
    a, peak = 4.0, np.sqrt(4.0 * REACH + 0.5 * (first**2 + last**2))
    model = carriage(velocity=50.0)
    motion = moves.retime(
        model, [[0.0], [REACH]], acceleration=a, start_velocity=[first], end_velocity=[last]
    )
    assert motion.converged
    assert motion.duration == pytest.approx((2.0 * peak - first - last) / a, rel=1e-5)
    assert [*motion.v(0.0), *motion.v(motion.duration)] == pytest.approx([first, last], abs=1e-9)
    assert motion.verify().holds


@pytest.mark.long
def test_a_path_takes_the_directions_of_its_speeds_and_a_way_back_as_long():
    model, waypoints = ur5(), random_waypoints(count=5)
    u, w = np.full(6, 0.3), np.array([0.2, 0.0, -0.1, 0.3, 0.0, 0.1])
    motion = moves.retime(model, waypoints, acceleration=15.0, start_velocity=u, end_velocity=w)
    assert motion.converged and motion.verify().holds
    assert motion.v(0.0) == pytest.approx(u, abs=1e-9)
    assert motion.v(motion.duration) == pytest.approx(w, abs=1e-9)
    without = {"acceleration": 15.0, "torque": 1e6}
    there = moves.retime(model, waypoints, start_velocity=u, end_velocity=w, **without)
    back = moves.retime(model, waypoints[::-1], start_velocity=-w, end_velocity=-u, **without)
    assert back.duration == pytest.approx(there.duration, rel=1e-4)
    assert there.duration <= motion.duration * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("ends", "error", "message"),
    [
        ({"start_velocity": [5.0]}, errors.InfeasibleBoundsError, "begins with start_velocity: 0.9798 of it"),
        ({"end_velocity": [5.0]}, errors.InfeasibleBoundsError, "ends with end_velocity: 0.9798 of it"),
        ({"start_velocity": [-1.0]}, errors.InfeasibleBoundsError, "the path there goes along"),
        ({"start_velocity": [1.0, 0.0]}, errors.ShapeError, "a value per joint"),
        ({"end_velocity": [np.nan]}, errors.NotFiniteError, "end_velocity"),
        ({"end_velocity": [1.0], "tube": 0.1}, errors.OptionError, "use moves.Task"),
        ({"start_acceleration": [1.0]}, errors.OptionError, "without a limit of jerk it may jump"),
        ({"end_acceleration": np.ones(2)}, errors.OptionError, "without a limit of jerk it may jump"),
    ],
)
def test_speeds_at_ends_that_no_motion_has_are_refused(ends, error, message):
    straight = CubicSpline([0.0, 1.0], [[0.0], [REACH]])
    with pytest.raises(error, match=message):
        moves.retime(carriage(q=REACH, velocity=50.0), straight, acceleration=4.0, **ends)


NEARLY_TWICE = [[0, 1, 1, 0], [0, 1, 1, 2, 3], [0, 1, 2, 2], [0, 0, 1, 2]]
COINCIDING = list(itertools.product(NEARLY_TWICE, [None, 500.0], [1e-2, 1e-4, 1e-9]))


@long_first(("which", "jerk", "apart"), sorted(COINCIDING, key=lambda case: COINCIDING.index(case) % 4), 6)
def test_waypoints_that_nearly_coincide_make_no_loops(which, jerk, apart):
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.0, 1.0, (4, 6))[which]
    second = next(k for k in range(1, len(which)) if which[k] == which[k - 1])
    points[second] += apart * rng.normal(size=6)
    limits = {"acceleration": 15.0, "torque": 1e4, "jerk": jerk}
    once, twice = (moves.retime(ur5(), each, **limits) for each in (np.delete(points, second, 0), points))
    assert once.converged and twice.converged
    assert twice.duration < 1.25 * once.duration


def test_waypoints_with_chords_of_like_length_keep_their_path():
    points = random_waypoints()
    chords = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    np.testing.assert_array_equal(path_of(ur5(), points).waypoints, chords)
