"""`moves.retime` with limits of jerk: closed form, limits for all times, our optimal control on a path."""

import numpy as np
import pytest
from retimed_robots import MASS, REACH, carriage, random_waypoints, ur5
from scipy.interpolate import CubicSpline, PPoly, make_interp_spline
from tiers import every, fast_first

import dynamics
import trajopt
from problems import moves
from problems.moves.motion_limits import limits_of
from problems.moves.spline_path import path_of
from problems.moves.timing.end_states import end_states_of
from problems.moves.timing.jerk_retiming import _span_count
from trajopt.base.errors import InfeasibleBoundsError, OptionError, ProblemError

JERK = 20.0


def test_jerk_alone_takes_the_time_of_four_ramps():
    """J, -J, -J, J for a quarter of T each: D = J T^3 / 32."""
    motion = moves.retime(carriage(), [[0.0], [REACH]], acceleration=1e3, jerk=JERK)
    least = np.cbrt(32.0 * REACH / JERK)
    assert motion.converged
    assert least <= motion.duration <= 1.002 * least
    assert motion.certificate["jerk"].evidence == "proved"
    assert motion.certificate["jerk"].excess > -1e-3  # it is what limits the motion
    np.testing.assert_allclose(motion.q([0.0, motion.duration]), [[0.0], [REACH]], atol=1e-9)
    for rate in (motion.v, motion.a):
        np.testing.assert_allclose(rate([0.0, motion.duration]), 0.0, atol=1e-9)


@pytest.mark.long
def test_curves_are_derivatives_of_each_other_and_torques_those_of_the_robot():
    motion = moves.retime(carriage(damping=0.5, torque=40.0), [[0.0], [0.3], [REACH]], jerk=JERK)
    t, h = np.linspace(0.1, 0.9, 40) * motion.duration, 1e-5
    for curve, rate in ((motion.q, motion.v), (motion.v, motion.a), (motion.a, motion.jerk)):
        np.testing.assert_allclose((curve(t + h) - curve(t - h)) / (2.0 * h), rate(t), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(motion.tau(t), MASS * motion.a(t) + 0.5 * motion.v(t), rtol=1e-9, atol=1e-9)
    assert motion.verify().holds


@fast_first("jerk", [1e-9, 20.0, 1e7], 1)
def test_times_go_with_the_cube_root_of_the_jerk_however_small_it_is(jerk):
    """One line, no other limit that matters: T^3 J / D = 32."""
    motion = moves.retime(carriage(), [[0.0], [REACH]], jerk=jerk)
    assert motion.converged
    assert 32.0 <= motion.duration**3 * jerk / REACH <= 32.0 * 1.003


@pytest.mark.long
def test_a_robot_that_friction_holds_back_goes_as_fast_as_torque_and_friction_allow():
    """Damping 500 N s/m and 4 N: 8 mm/s but for both ends, D / (tau / c) = 375 s."""
    for jerk in (None, 20.0):
        motion = moves.retime(carriage(damping=500.0, torque=4.0), [[0.0], [REACH]], jerk=jerk)
        assert motion.converged
        assert 375.0 < motion.duration < 375.3


def test_slower_motions_keep_the_path_and_their_limits_fall_with_powers_of_the_time():
    motion = moves.retime(carriage(), [[0.0], [0.3], [REACH]], acceleration=5.0, jerk=JERK)
    slow, t = motion.slower(2.0), np.linspace(0.0, motion.duration, 30)
    for curve, other, power in ((motion.q, slow.q, 0), (motion.v, slow.v, 1), (motion.jerk, slow.jerk, 3)):
        np.testing.assert_allclose(other(2.0 * t), curve(t) / 2.0**power, rtol=1e-9, atol=1e-12)


def test_coulomb_friction_that_takes_all_the_torque_is_named():
    with pytest.raises(InfeasibleBoundsError, match=r"'carriage' needs 0 to hold still .*friction included"):
        moves.retime(carriage(friction=4.0, torque=4.0), [[0.0], [REACH]], jerk=JERK)


def test_a_proof_ends_where_a_motion_that_is_too_fast_begins():
    motion = moves.retime(carriage(), [[0.0], [0.3], [REACH]], acceleration=5.0, jerk=JERK)
    fast = motion.slower(0.9).certified()
    assert not fast.converged
    np.testing.assert_allclose(fast.certificate["jerk"].excess, 0.9**-3.0 - 1.0, rtol=0.01)


@every("velocity", [None, moves.over_segments([2.0, 1.0], shares=[0.25 + 1e-7])])
def test_a_path_whose_third_derivative_jumps_is_refused(velocity):
    """However near to one of its own breakpoints a limit changes."""
    s = np.linspace(0.0, 1.0, 5)
    path = CubicSpline(s, np.sin(3.0 * s)[:, None])
    with pytest.raises(ProblemError, match=r"third derivative of the path jumps at s = .*four or more"):
        moves.retime(carriage(), path, velocity=velocity, acceleration=5.0, jerk=JERK)


@pytest.mark.long
def test_limits_of_torque_are_proved_where_all_joints_but_one_stand_still():
    """The path of a joint at rest at zero is the number 0.0, of which no sine had been known."""
    arm = dynamics.from_dh([{"a": 0.5, "mass": 1.0}] * 2, gravity=(0.0, 0.0, -9.81))  # level: nothing to hold
    motion = moves.retime(arm, [[0.0, 0.0], [0.2, 0.0]], acceleration=1e3, torque=50.0, jerk=JERK)
    assert motion.converged and motion.certificate["torque"].evidence == "proved"
    least = np.cbrt(32.0 * 0.2 / JERK)
    assert least <= motion.duration <= 1.02 * least


def test_a_limit_of_jerk_is_positive():
    with pytest.raises(OptionError, match="jerk of joint 'carriage' is -1"):
        moves.retime(carriage(), [[0.0], [REACH]], acceleration=5.0, jerk=-1.0)


def in_motion(first, last, distance=2.0, **limits):
    """Along a line within 1 m/s, 2 m/s^2 and 20 m/s^3; first, last : speed and acceleration."""
    ends = {"start_velocity": first[:1], "start_acceleration": first[1:]}
    ends |= {"end_velocity": last[:1], "end_acceleration": last[1:]}
    limits = {"velocity": 1.0, "acceleration": 2.0, "jerk": JERK} | limits
    return moves.retime(carriage(), [[0.0], [distance]], **limits, **ends)


@fast_first(
    "first, last, least",
    [
        ([0.5, 0.0], [0.0, 0.0], 0.35 + 1.4375 + 0.6),  # up to 1 m/s, on, down to rest
        ([0.5, 0.0], [0.3, 0.0], 0.35 + 1.445 + 0.45),
        ([0.5, 2.0], [0.5, 0.0], 0.3 + 1.5 + 1.0 / 1200.0 + 0.35),  # at the limit of acceleration
        ([1.0, 0.0], [1.0, 0.0], 2.0),  # at that of speed
    ],
    1,
)
def test_a_motion_from_and_to_motion_takes_the_time_of_its_phases(first, last, least):
    motion = in_motion(first, last)
    assert motion.converged and {line.evidence for line in motion.certificate.lines} == {"proved"}
    assert least * (1.0 - 1e-6) <= motion.duration <= 1.001 * least
    ends = [0.0, motion.duration]
    np.testing.assert_allclose(motion.v(ends)[:, 0], [first[0], last[0]], atol=1e-9)
    np.testing.assert_allclose(motion.a(ends)[:, 0], [first[1], last[1]], atol=1e-7)
    checked = motion.verify()
    assert checked.holds and checked["ends"].excess < 1e-8


def test_a_slower_motion_has_a_certificate_and_ends_of_its_own():
    motion = in_motion([0.5, 0.0], [0.5, 0.0], 1e-3)
    slow = motion.slower(2.0)
    assert slow.converged and slow.certificate["speed"].excess < motion.certificate["speed"].excess
    assert slow.verify().holds and slow.ends.v[0] == 0.25
    assert not motion.slower(0.4).converged  # 1.25 m/s where 1 m/s is allowed


def test_a_way_too_short_to_change_a_speed_is_passed_at_it():
    motion = in_motion([0.5, 0.0], [0.5, 0.0], 1e-3)
    assert motion.converged and motion.duration == pytest.approx(2e-3, rel=1e-4)


@pytest.mark.long
def test_random_states_on_a_line_take_as_long_as_by_ruckig():
    ruckig, rng = pytest.importorskip("ruckig"), np.random.default_rng(3)
    for _ in range(10):
        (v, w), (a, b), distance = rng.uniform(0.05, 0.9, 2), rng.uniform(-0.5, 0.5, 2), rng.uniform(0.8, 2.0)
        given, best = ruckig.InputParameter(1), ruckig.Trajectory(1)
        given.current_velocity, given.current_acceleration = [v], [a]
        given.target_position, given.target_velocity, given.target_acceleration = [distance], [w], [b]
        given.max_velocity, given.max_acceleration, given.max_jerk = [1.0], [2.0], [JERK]
        assert ruckig.Ruckig(1).calculate(given, best) == ruckig.Result.Working
        motion = in_motion([v, a], [w, b], distance)
        assert motion.converged
        assert best.duration * (1.0 - 1e-6) <= motion.duration <= 1.004 * best.duration


@pytest.mark.long
def test_a_part_of_the_fastest_motion_is_the_fastest_between_its_states():
    """Six joints on a curve, with torques; from rest, to rest, and from motion to motion."""
    model, waypoints = ur5(), 0.6 * random_waypoints(2, 5)
    limits = dict(acceleration=15.0, torque=0.4 * model.limits.torque_upper, jerk=500.0)
    whole = moves.retime(model, waypoints, **limits)
    for part in ([0.0, 0.4], [0.4, 1.0], [0.3, 0.7]):
        t = np.array(part) * whole.duration
        s, v, a = whole.s(t), whole.v(t), whole.a(t)
        path = whole.path.divided(s)
        inside = (path.breakpoints > s[0] - 1e-9) & (path.breakpoints < s[1] + 1e-9)
        piece = PPoly(path.coefficients[:, inside[:-1] & inside[1:]], path.breakpoints[inside])
        ends = dict(start_velocity=v[0], start_acceleration=a[0], end_velocity=v[1], end_acceleration=a[1])
        motion = moves.retime(model, piece, **limits, **ends)
        assert motion.converged and motion.verify().holds
        assert motion.duration == pytest.approx(t[1] - t[0], rel=4e-3)


@pytest.mark.long
def test_waypoints_are_joined_in_the_direction_and_with_the_bend_of_states():
    u, a = np.array([0.3, 0.5, 0.0, 0.0, 0.0, 0.0]), np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    w = np.array([0.0, 0.0, 0.0, 0.2, 0.0, 0.2])
    waypoints = [np.zeros(6), [0.5, 0.2, 0.0, 0.0, 0.3, 0.0], [0.8, 0.0, 0.0, 0.3, 0.0, 1.0]]
    for given, ends in ((waypoints, {"end_velocity": w}), (waypoints[:2], {})):
        motion = moves.retime(
            ur5(), given, acceleration=15.0, jerk=500.0, start_velocity=u, start_acceleration=a, **ends
        )
        assert motion.converged and motion.verify().holds
        for curve, wanted in ((motion.v, [u, ends.get("end_velocity", 0.0 * u)]), (motion.a, [a, 0.0 * a])):
            np.testing.assert_allclose(curve([0.0, motion.duration]), wanted, atol=1e-7)


@every(
    "first, last, distance, message",
    [
        ([1.0, 0.0], [0.0, 0.0], 0.05, r"begins with start_velocity: 0\.4472 of it"),
        ([1.0, 0.0], [0.0, 0.0], 0.26, "no motion on this path within the limits was found that has these"),
        (
            [1.0, 1.0],
            [0.0, 0.0],
            2.0,
            r"start: the speed of joint 'carriage' is 1\.025 after it, as the jerk",
        ),
        ([0.0, 0.0], [1.0, -1.0], 2.0, r"end: the speed of joint 'carriage' is 1\.025 before it"),
        ([0.5, 3.0], [0.0, 0.0], 2.0, "start: the acceleration of joint 'carriage' is 3, and its limit is 2"),
        ([0.01, -2.0], [0.0, 0.0], 2.0, "no motion on this path within the limits was found"),
    ],
    fast=5,
)
def test_states_that_no_motion_within_the_limits_has_are_refused(first, last, distance, message):
    with pytest.raises(InfeasibleBoundsError, match=message):
        in_motion(first, last, distance)


def test_an_acceleration_that_the_path_does_not_allow_is_refused_with_those_that_it_does():
    s = np.linspace(0.0, 1.0, 6)
    path = make_interp_spline(s, np.stack([s, np.sin(s)], axis=1), k=5)
    robot = dynamics.from_dh([{"a": 0.5, "mass": 1.0}] * 2, gravity=(0.0, 0.0, -9.81))
    for a in ([0.0, 1.0], [1.0, 0.5]):
        message = r"start_acceleration is .* allows \[.*\] and any multiple of \[.*\] in addition"
        with pytest.raises(InfeasibleBoundsError, match=message):
            moves.retime(
                robot, path, velocity=9.0, jerk=JERK, start_velocity=path(0.0, 1), start_acceleration=a
            )


def test_a_joint_may_have_neither_a_limit_of_jerk_nor_one_of_acceleration():
    """The numerical warning of infinity by infinity would be an error here."""
    limits = limits_of(ur5(), 2.0, [2.0] * 5 + [np.inf], None, [100.0] * 5 + [np.inf])
    assert _span_count(20.0, limits) == 400 and _span_count(5.0, limits) == 250


def rates_of(model, waypoints, v, a):
    ends = end_states_of(model, (None, v), (None, a))
    path = path_of(model, waypoints, True, ends)
    return ends.rates(path.at_ends(1), path.at_ends(2), path.length)


def test_rounding_refuses_no_speed_without_an_acceleration():
    """The end of a line through waypoints has a second derivative of rounding, and so have its turns."""
    model = ur5()
    for count in range(2, 6):
        waypoints = random_waypoints(count, count)
        v = np.random.default_rng(count).normal(size=6)
        r, second = rates_of(model, waypoints, v, 0.0 * v)[1]
        assert r > 0.0 and abs(second) < 1e-9 * r**2


def test_speeds_near_zero_have_a_direction_and_their_turns_a_radius():
    robot = dynamics.from_dh([{"a": 0.5, "mass": 1.0}] * 2, gravity=(0.0, 0.0, -9.81))
    line = [[0.0, 0.0], [1.0, 2.0]]
    for size in (1e-9, 1e-200, 5e-324):
        rate, second = rates_of(robot, line, [0.0, size], [0.0, 0.0])[1]
        assert rate == pytest.approx(size, rel=0.5, abs=0.0) and abs(second) <= 1e-9 * rate**2
    with pytest.raises(InfeasibleBoundsError, match=r"turns end_velocity .* a radius of 1\.0e-12 rad or m"):
        rates_of(robot, line, [0.0, 1e-6], [1.0, 0.0])


@pytest.mark.long
def test_all_limits_are_proved_and_the_time_is_near_that_of_on_path():
    model, waypoints = ur5(), 0.6 * random_waypoints(2, 5)
    torque = 0.4 * model.limits.torque_upper
    motion = moves.retime(model, waypoints, acceleration=15.0, torque=torque, jerk=500.0)
    assert motion.converged
    assert {line.evidence for line in motion.certificate.lines} == {"proved"}
    for name, dense in motion.excess_at(np.linspace(0.0, motion.duration, 200_001), motion.limits).items():
        assert dense.max() <= motion.certificate[name].excess  # no sample beyond what is proved
    path = path_of(model, waypoints, smooth=True)
    along = trajopt.on_path(model, PPoly(path.coefficients, path.breakpoints), (0.0, path.breakpoints[-1]))
    problem = trajopt.Problem(along, trajopt.Trajectory.uniform(80, 4))
    problem.start_at(q=0.0, v=0.0, a=0.0)
    problem.end_at(q=path.breakpoints[-1], v=0.0, a=0.0)
    problem.minimize(trajopt.duration)
    for name, bound in (
        ("joint_velocity", model.limits.velocity),
        ("joint_acceleration", 15.0),
        ("joint_jerk", 500.0),
        ("tau", torque),
    ):
        problem.subject_to(trajopt.Quantity(name), -bound, bound)
    problem.guess(lambda s: motion.s(np.asarray(s) * motion.duration)[..., None], duration=motion.duration)
    least = trajopt.solve(problem, trajopt.TrustRegionSqp(tol=1e-4), refine=None, starts=1)
    assert least.converged
    assert motion.duration <= 1.001 * least.duration
