"""`moves.retime` within a tube around the path: slopes of the least time, closed form, distances."""

from dataclasses import replace

import numpy as np
import pytest
from retimed_robots import REACH, random_waypoints, ur5

import dynamics
from problems import moves
from problems.moves.motion_limits import limits_of
from problems.moves.spline_path import path_of
from problems.moves.timing import tube_search
from problems.moves.timing.tube import Tube
from problems.moves.timing.tube_search import TubeSearch
from trajopt.base.errors import OptionError, ShapeError

JERK = 20.0


def gantry():
    """Two prismatic joints at right angles."""
    along, across = (
        dynamics.Joint(name, "prismatic", axis=axis) for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)))
    )
    bodies = [
        dynamics.Body("beam", along, None, mass=2.0, inertia=np.eye(3)),
        dynamics.Body("cart", across, "beam", mass=1.0, inertia=np.eye(3)),
    ]
    return dynamics.RigidBodyModel(bodies, gravity=(0.0, 0.0, -9.81))


BENT = [[0.0, 0.0], [0.4 * REACH, 1.5], [REACH, 0.0]]


def search(model, waypoints, tube=0.1, **given):
    path = path_of(model, waypoints, smooth=True)
    kinds = (given.get(kind) for kind in ("velocity", "acceleration", "torque", "jerk"))
    limits = limits_of(model, *kinds, path.waypoints)
    return TubeSearch(model, path, limits, np.full(model.n, tube))


@pytest.mark.long
@pytest.mark.parametrize(
    ("velocity", "jerk"), [(None, None), (moves.over_segments([np.inf, 1.5] * 2), 500.0)]
)
def test_the_slope_of_the_least_time_is_that_of_differences(velocity, jerk, monkeypatch):
    monkeypatch.setattr(tube_search, "GAP", 1e-9)
    model = ur5()
    own = search(
        model,
        random_waypoints(1, 5),
        velocity=velocity,
        acceleration=15.0,
        torque=0.4 * model.limits.torque_upper,
        jerk=jerk,
    )
    rng = np.random.default_rng(0)
    at, direction = 0.2 * rng.uniform(-1.0, 1.0, own.unit.size), rng.normal(size=own.unit.size)
    slope, h = own.time_and_slope(at)[1] @ direction, 1e-4
    ahead, behind = (own.time_and_slope(at + sign * h * direction)[0] for sign in (1.0, -1.0))
    np.testing.assert_allclose(slope, (ahead - behind) / (2.0 * h), rtol=0.01)


@pytest.mark.long
def test_a_detour_within_the_tube_is_not_made():
    """x alone takes (32 D / J)^(1/3), and y may stay at zero."""
    least = np.cbrt(32.0 * REACH / JERK)
    on_path = moves.retime(gantry(), BENT, jerk=JERK)
    motion = moves.retime(gantry(), BENT, jerk=JERK, tube=[0.2, 2.0])
    assert motion.converged
    assert on_path.duration > 1.02 * least
    assert least <= motion.duration <= 1.005 * least


@pytest.mark.long
def test_joints_stay_in_the_tube_and_a_wider_one_takes_less_time():
    model, before = gantry(), np.inf
    for tube in (0.01, 0.05, 0.2):
        motion = moves.retime(model, BENT, acceleration=4.0, jerk=JERK, tube=tube)
        assert motion.converged and motion.certificate["tube"].evidence == "proved"
        s = motion.s(np.linspace(0.0, motion.duration, 5001))
        assert np.abs(motion.path(s) - motion.tube.path(s)).max() <= tube * (1.0 + 1e-9)
        np.testing.assert_allclose(motion.q([0.0, motion.duration]), [BENT[0], BENT[-1]], atol=1e-9)
        assert motion.duration < before
        before = motion.duration
    assert motion.verify().holds and motion.verify()["tube"].excess == motion.certificate["tube"].excess


@pytest.mark.long
def test_the_tool_stays_within_its_distance_for_all_times():
    model, waypoints = ur5(), 0.6 * random_waypoints(2, 5)
    given = {"acceleration": 15.0, "jerk": 500.0}
    motion = moves.retime(model, waypoints, tube=0.1, tool_tube={"tool0": 0.01}, **given)
    assert motion.converged
    assert motion.duration < moves.retime(model, waypoints, **given).duration
    s = motion.s(np.linspace(0.0, motion.duration, 20_001))
    block = model.block(["position:tool0"])
    one, other = (block.value({"q": path(s)})["position:tool0"] for path in (motion.path, motion.tube.path))
    largest = np.linalg.norm(one - other, axis=1).max()
    assert 0.008 < largest <= 0.01  # the bound is met, and used
    line = motion.certificate.lines[-1]
    assert (line.name, line.joint, line.evidence) == ("tube", "tool0", "proved")
    np.testing.assert_allclose(1.0 + line.excess, largest / 0.01, rtol=1e-3)


def test_a_path_beside_the_tube_is_seen():
    model = gantry()
    path, other = path_of(model, BENT), path_of(model, [BENT[0], [0.4 * REACH, 1.6], BENT[2]])
    line = Tube(model, path, np.array([0.05, 0.05]), {"cart": 0.05}).lines(other)
    assert not any(each.holds for each in line)


@pytest.mark.long
def test_a_joint_keeps_its_range_within_the_tube():
    joints = gantry().bodies
    high = dynamics.JointLimits(q_lower=-1.0, q_upper=1.6)
    limited = replace(joints[1], joint=replace(joints[1].joint, limits=high))
    model = dynamics.RigidBodyModel([joints[0], limited], gravity=(0.0, 0.0, -9.81))
    motion = moves.retime(model, BENT, acceleration=4.0, jerk=JERK, tube=0.2)
    assert motion.converged and motion.certificate["position"].excess <= 0.0


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"tube": -1.0}, OptionError, r"tube of joint 'x' is -1.0: give a number above zero"),
        ({"tube": np.nan}, OptionError, r"tube of joint 'x' is nan"),
        ({"tube": [0.1] * 3}, ShapeError, r"tube has shape \(3,\): give one number or \(2,\)"),
        ({"tool_tube": {"cart": 0.1}}, OptionError, r"tool_tube= is given without tube="),
        ({"tube": 0.1, "tool_tube": 0.1}, OptionError, r"tool_tube is 0.1: give distances by frame"),
        (
            {"tube": 0.1, "tool_tube": {"cart": 0.0}},
            OptionError,
            r"tool_tube of 'cart' is 0.0: give a number above",
        ),
        ({"tube": 0.1, "tool_tube": {"cap": 0.1}}, dynamics.UnknownNameError, r"no link or frame 'cap'"),
    ],
)
def test_what_is_no_tube_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        moves.retime(gantry(), BENT, jerk=JERK, **given)
