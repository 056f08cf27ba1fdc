"""Paths of muscles: closed forms in the plane, moment arms as differences of lengths, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
from muscle_arms import RADIUS, arm, over_pulley, pulley

import dynamics
from dynamics import MuscleError
from dynamics.couplings.coupled_tree import Follower
from dynamics.couplings.joint_function import polynomial
from dynamics.muscles.geometry_path import Condition, GeometryPath, PathPoint, PathWrap, WrapSurface
from dynamics.muscles.muscle_paths import MusclePaths


def paths_of(*paths):
    return MusclePaths(arm(), paths)


def by_differences(paths, q, step=1e-6):
    """-dL/dq by central differences, (m, n)."""
    ways = step * np.eye(len(q))
    return -(paths.lengths(q + ways) - paths.lengths(q - ways)).T / (2.0 * step)


def test_a_path_over_a_pulley_has_the_radius_as_moment_arm():
    paths = paths_of(over_pulley(pulley("+y")))
    q = np.column_stack([np.linspace(-1.0, 1.0, 9), np.linspace(-2.5, -0.5, 9)])
    first, last = math.hypot(0.2, 0.07), math.hypot(0.2, 0.06)
    tangents = [math.sqrt(far**2 - RADIUS**2) for far in (first, last)]
    taken = math.acos(RADIUS / first) + math.acos(RADIUS / last)
    between = math.pi - math.atan2(0.07, 0.2) - math.atan2(0.06, 0.2) - q[:, 1]
    expected = sum(tangents) + RADIUS * (between - taken)
    assert paths.lengths(q)[:, 0] == pytest.approx(expected, abs=1e-14)
    arms = paths.moment_arms(q)[:, 0]
    assert arms[:, 0] == pytest.approx(0.0, abs=1e-14)
    assert arms[:, 1] == pytest.approx(RADIUS, abs=1e-14)
    assert paths.speeds(q, np.ones(2)) == pytest.approx(-RADIUS, abs=1e-14)


def test_moment_arms_are_differences_of_lengths():
    follower = Follower("elbow", polynomial([0.01, 0.02, -0.01]))
    moving = PathPoint("fore", (0.1, 0.02, 0.0), moves=((np.array([0.0, 1.0, 0.2]), follower),))
    conditional = PathPoint(
        "upper", (0.25, 0.1, 0.0), Condition(Follower("elbow", polynomial([0, 1])), 0.0, 9.0)
    )
    ends = PathPoint(None, (-0.1, 0.1, 0.05)), PathPoint("fore", (0.2, 0.03, 0.01))
    paths = paths_of(
        GeometryPath("straight", (ends[0], conditional, moving)),
        GeometryPath("on one link", (moving, ends[1])),
        over_pulley(pulley()),
        over_pulley(pulley("-y"), name="extensor"),
    )
    rng = np.random.default_rng(0)
    for q in rng.uniform(-1.2, 1.2, (6, 2)):
        assert paths.moment_arms(q) == pytest.approx(by_differences(paths, q), abs=1e-8)


def test_a_conditional_point_counts_in_its_range_alone():
    ends = PathPoint("upper", (0.0, 0.1, 0.0)), PathPoint("fore", (0.2, 0.0, 0.0))
    value = Follower("elbow", polynomial([0.0, 1.0]))
    via = PathPoint("upper", (0.3, 0.2, 0.0), Condition(value, -0.5, 0.5))
    paths = paths_of(GeometryPath("via", (ends[0], via, ends[1])), GeometryPath("none", ends))
    inside, outside = paths.lengths([[0.0, 0.2], [0.0, 0.6]])
    assert inside[0] > inside[1] + 0.01
    assert outside[0] == outside[1]


def test_a_path_that_misses_the_cylinder_is_straight():
    beyond = over_pulley(pulley(length=1e-3), (0.1, -0.01, 0.3), (0.2, -0.01, 0.3))
    above = over_pulley(pulley("+y"), (0.1, 0.07, 0.0), (0.2, 0.06, 0.0), "above")
    lengths = paths_of(beyond, above).lengths([0.0, 0.0])
    assert lengths == pytest.approx([0.4, math.hypot(0.4, 0.01)], abs=1e-14)


OTHER: Any = "other"
POINTS = (PathPoint("upper", (0.0, 0.0, 0.0)), PathPoint("fore", (0.1, 0.0, 0.0)))
REFUSED = {
    "one point": (lambda: GeometryPath("m", POINTS[:1]), "path 'm' has 1 points"),
    "range": (lambda: GeometryPath("m", POINTS, (PathWrap(pulley(), 0, 2),)), "between its points 1 and 3"),
    "method": (lambda: GeometryPath("m", POINTS, (PathWrap(pulley(), 0, 1, OTHER),)), "by 'other'"),
    "conditions": (
        lambda: GeometryPath(
            "m", (PathPoint("upper", (0, 0, 0), Condition(Follower("elbow", polynomial([0, 1])), 0, 1)),) * 2
        ),
        "conditional points alone",
    ),
    "kind": (lambda: WrapSurface("s", OTHER, (1.0,), None, np.eye(3), np.zeros(3)), "'s' is a 'other'"),
    "size": (
        lambda: WrapSurface("s", "sphere", (0.0,), None, np.eye(3), np.zeros(3)),
        "wrap surface 's' has radius 0 m, which is no surface",
    ),
    "torus": (
        lambda: WrapSurface("s", "torus", (2.0, 1.0), None, np.eye(3), np.zeros(3)),
        "inner radius 2 and outer 1 m",
    ),
    "quadrant": (
        lambda: WrapSurface("s", "sphere", (1.0,), None, np.eye(3), np.zeros(3), "up"),
        "'s' has the quadrant 'up'",
    ),
    "sizes": (
        lambda: WrapSurface("s", "sphere", (1.0, 2.0), None, np.eye(3), np.zeros(3)),
        "1 finite numbers are expected",
    ),
    "names": (lambda: paths_of(*[GeometryPath("m", POINTS)] * 2), "several paths are named m"),
    "link": (
        lambda: paths_of(GeometryPath("m", (*POINTS, PathPoint("hand", (0, 0, 0))))),
        "hand",
    ),
    "missing": (lambda: paths_of(GeometryPath("m", POINTS)).only(["n"]), "there is no muscle n"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_path_is_refused(case):
    make, message = REFUSED[case]
    with pytest.raises(dynamics.DynamicsError, match=message):
        make()


def test_points_in_one_place_do_not_pull_on_each_other():
    """A path through the elbow's centre, by a point on either link: no moment arm there, and no NaN."""
    on_upper = [PathPoint("upper", (x, 0.0, 0.0)) for x in (0.1, 0.3)]
    on_fore = [PathPoint("fore", (x, 0.0, 0.0)) for x in (0.0, 0.1)]
    paths = paths_of(GeometryPath("through", (*on_upper, *on_fore)))
    q = np.zeros((2, 2))
    assert paths.lengths(q) == pytest.approx(0.3, abs=1e-14)
    assert paths.moment_arms(q) == pytest.approx(0.0, abs=1e-14)


def test_no_poses_have_no_lengths():
    paths = paths_of(over_pulley(pulley("+y")))
    assert paths.lengths(np.zeros((0, 2))).shape == (0, 1)
    assert paths.moment_arms(np.zeros((0, 2))).shape == (0, 1, 2)


def test_poses_of_another_robot_are_refused():
    paths = paths_of(GeometryPath("m", POINTS))
    with pytest.raises(dynamics.ShapeError, match=r"q has shape \(3,\) but the model has n = 2"):
        paths.lengths(np.zeros(3))
    assert paths.moment_arms(np.zeros((0, 2))).shape == (0, 1, 2)
    assert issubclass(MuscleError, dynamics.ModelError)
