"""Refusals of `moves.retime`, by joint, waypoint or limit, and answers that units do not change."""

import numpy as np
import pytest
from retimed_robots import REACH, carriage, ur5
from scipy.interpolate import CubicSpline, PPoly, make_interp_spline
from tiers import every

from problems import moves
from trajopt.base import errors

LIMITED = dict(acceleration=15.0)
BAD = [
    (dict(waypoints=np.zeros((3, 5))), errors.ShapeError, r"waypoints have shape \(3, 5\): give \(k, 6\)"),
    (dict(waypoints=np.zeros((1, 6))), errors.ShapeError, "at least two rows"),
    (dict(waypoints=[["a"] * 6] * 2), errors.ShapeError, "waypoints"),
    (
        dict(waypoints=[[0.0] * 6, [0, 0, np.nan, 0, 0, 0]]),
        errors.NotFiniteError,
        "waypoint 1, joint 'elbow",
    ),
    (
        dict(waypoints=[[0.0] * 6, [0.1] * 6, [0.1] * 6]),
        errors.OptionError,
        "waypoints 1 and 2 are the same",
    ),
    (
        dict(waypoints=[[0.0] * 6, [0.0, 0.0, 9.0, 0.0, 0.0, 0.0]]),
        errors.InfeasibleBoundsError,
        "waypoint 1, joint 'elbow_joint' is at 9",
    ),
    (dict(waypoints="path"), errors.OptionError, "the path is 'path'"),
    (dict(waypoints=CubicSpline([0.0, 1.0], np.eye(2))), errors.ShapeError, r"has shape \(2,\): expected"),
    (
        dict(waypoints=make_interp_spline([0.0, 1.0, 2.0], [[0.0] * 6, [1.0] * 6, [0.0] * 6], k=1)),
        errors.ProblemError,
        "the direction of the path jumps at s = 1, joint 'shoulder_pan_joint'",
    ),
    (
        dict(waypoints=PPoly(np.zeros((4, 2, 6)), [1.0, 0.5, 0.0])),
        errors.OptionError,
        "the breakpoints of the path are .*: give increasing ones",
    ),
    (dict(velocity=0.0), errors.OptionError, "velocity of joint 'shoulder_pan_joint' is 0.0"),
    (dict(acceleration=[1.0, 2.0]), errors.ShapeError, r"acceleration has shape \(2,\)"),
    (dict(acceleration=np.nan), errors.OptionError, "acceleration of joint"),
    (dict(torque=np.ones((6, 3))), errors.ShapeError, r"torque has shape \(6, 3\)"),
    (dict(torque=[[-1.0, 1.0], [1.0]]), errors.ShapeError, "torque is .*give a number or an array"),
    (dict(torque=[[1.0, -1.0]] * 6), errors.OptionError, "give the lower limit"),
    (dict(torque=5.0), errors.InfeasibleBoundsError, "joint 'shoulder_lift_joint' needs .* to hold still"),
    (dict(intervals=0), errors.OptionError, "intervals = 0"),
]


@every("changes, error, message", BAD)
def test_bad_input_is_named(changes, error, message):
    given = {"waypoints": [[0.0] * 6, [0.5] * 6], **changes}
    with pytest.raises(error, match=message):
        moves.retime(ur5(), given.pop("waypoints"), **given)


def test_coefficients_that_are_not_finite_are_refused():
    spline = PPoly(np.full((4, 1, 1), np.inf), [0.0, 1.0])
    with pytest.raises(errors.NotFiniteError, match="coefficients of the path"):
        moves.retime(carriage(), spline, acceleration=1.0)


def test_a_spline_that_leaves_the_range_between_waypoints_is_refused():
    with pytest.raises(errors.InfeasibleBoundsError, match="after waypoint 0, outside its limits -1 to 1"):
        moves.retime(carriage(q=1.0), [[0.0], [0.99], [0.85], [0.0]], acceleration=1.0)


def test_without_any_limit_there_is_no_least_time():
    with pytest.raises(errors.UnboundedError, match="no joint has a limit"):
        moves.retime(carriage(), [[0.0], [1.0]])


def test_a_joint_that_moves_without_limit_is_named():
    with pytest.raises(errors.UnboundedError, match=r"nothing limits the speed .* \(wrist_3_joint\)"):
        moves.retime(ur5(), [[0.0] * 6, [0.0] * 5 + [1.0]], velocity=[1.0] * 5 + [np.inf], torque=np.inf)


def test_a_path_that_stands_still_is_refused():
    with pytest.raises(errors.UnboundedError, match=r"move there \(none: leave this part out\)"):
        moves.retime(carriage(), CubicSpline([0.0, 1.0, 2.0], np.ones((3, 1))), acceleration=1.0)


@pytest.mark.parametrize("length", [1e-7, 1e8])
def test_the_unit_of_the_path_coordinate_has_no_influence(length):
    motion = moves.retime(carriage(), CubicSpline([0.0, length], [[0.0], [REACH]]), acceleration=1.5)
    assert motion.converged
    assert motion.duration == pytest.approx(2.0 * np.sqrt(REACH / 1.5), rel=1e-9)


def test_a_joint_of_a_model_that_must_not_move_is_named():
    with pytest.raises(errors.OptionError, match=r"velocity of joint 'carriage' is 0\.0"):
        moves.retime(carriage(velocity=0.0), [[0.0], [1.0]], acceleration=1.0)


def test_a_time_beyond_the_motion_is_refused():
    motion = moves.retime(carriage(), [[0.0], [1.0]], acceleration=1.0)
    with pytest.raises(errors.OptionError, match="not within the motion: give times from 0 to 2 s"):
        motion.q(2.1)
