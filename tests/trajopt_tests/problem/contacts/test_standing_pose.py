"""A pose with feet on the ground: heights by forward kinematics, and what cannot stand."""

from pathlib import Path

import numpy as np
import pytest

import dynamics
import trajopt
from problems.gallery.legged.solo import STANDING
from trajopt.base.errors import InfeasibleBoundsError, NotFiniteError, OptionError, ShapeError

ROBOTS = Path(__file__).parents[3] / "support" / "robots"
SOLO = dynamics.load_urdf(ROBOTS / "solo12.urdf", floating_base="free")
FEET = [f"{foot}_FOOT" for foot in ("FL", "FR", "HL", "HR")]


def problem_on(ground, robot=SOLO, feet=FEET, **options):
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(2, 3, arcs=2, duration=0.1))
    for foot in feet:
        problem.contact(foot, [0], 0.7, ground=ground, **options)
    return problem


def heights(q, frames=FEET):
    return dynamics.forward_kinematics(SOLO, q, frames).position[:, 2]


@pytest.mark.long
def test_feet_touch_the_ground_and_nothing_but_the_height_changes():
    ground = trajopt.Ground(height=0.1)
    found = problem_on(ground).standing_pose(STANDING)
    np.testing.assert_allclose(heights(found), 0.1, atol=1e-15)
    np.testing.assert_array_equal(np.delete(found, 2), np.delete(STANDING, 2))
    np.testing.assert_array_equal(problem_on(ground).standing_pose(found), found)


def test_the_lowest_point_of_a_sole_touches():
    sole = np.array([[0.02, 0.01, -0.01], [0.02, -0.01, -0.01], [-0.02, 0.0, -0.03]])
    found = problem_on(trajopt.Ground(), feet=FEET[:1], sole=sole).standing_pose(STANDING)
    pose = dynamics.forward_kinematics(SOLO, found, FEET[:1])
    points = pose.position[0] + sole @ pose.rotation[0].T
    assert abs(points[:, 2].min()) < 1e-15 and points[:, 2].max() > 0.01


def test_a_slope_is_met_where_the_foot_is():
    ground = trajopt.Ground(slope=(0.2, -0.1), shape=lambda x, y: 0.05 * x**2)
    found = problem_on(ground, feet=FEET[2:3]).standing_pose(STANDING)
    x, y, z = dynamics.forward_kinematics(SOLO, found, FEET[2:3]).position[0]
    assert z == pytest.approx(0.2 * x - 0.1 * y + 0.05 * x**2, abs=1e-15)


def started(on_feet):
    """Half a second from a pose at rest, whose base is as high as puts it on its feet, or as it is."""
    problem = trajopt.Problem(SOLO, trajopt.Trajectory.collocation(2, 3, duration=0.5))
    for foot in FEET:
        problem.contact(foot, [0], 0.7)
    problem.passive_base()
    problem.start_at(q=problem.standing_pose(STANDING) if on_feet else STANDING, v=0)
    problem.minimize(trajopt.tau**2)
    return trajopt.solve(problem, refine=None, starts=1, progress="silent")


@pytest.mark.long
def test_the_robot_starts_from_a_pose_that_stands_and_from_no_other():
    assert started(on_feet=True).converged
    with pytest.raises(InfeasibleBoundsError, match=r"touches down, arc 0' is .* whatever the motion"):
        started(on_feet=False)


def test_what_cannot_stand_is_refused_with_what_to_do():
    problem = problem_on(trajopt.Ground())
    crouched = STANDING.copy()
    crouched[7] += 0.1
    away = float(np.ptp(heights(crouched)))
    with pytest.raises(InfeasibleBoundsError, match=rf"'FL_FOOT' is {away:.6g} m above .* arc 0; change the"):
        problem.standing_pose(crouched)
    with pytest.raises(OptionError, match="no foot stands in arc 1: add its contacts first"):
        problem.standing_pose(STANDING, 1)
    with pytest.raises(OptionError, match="no foot stands in arc 0"):
        trajopt.Problem(SOLO, problem.trajectory).standing_pose(STANDING)
    with pytest.raises(ShapeError, match=r"the pose has shape \(17,\): give \(18,\)"):
        problem.standing_pose(STANDING[:-1])
    with pytest.raises(NotFiniteError, match="the pose"):
        problem.standing_pose(np.full(18, np.nan))
    held = dynamics.load_urdf(ROBOTS / "solo12.urdf", floating_base=False)
    with pytest.raises(OptionError, match='by its free base: load it with floating_base="free"'):
        problem_on(trajopt.Ground(), held).standing_pose(np.zeros(12))


UNEVEN = STANDING + np.random.default_rng(0).uniform(-2e-3, 2e-3, SOLO.n) * (np.arange(SOLO.n) > 5)
WIDE = np.full(SOLO.n, 5.0)


@pytest.mark.long
@pytest.mark.parametrize("stop", [WIDE, np.where(np.arange(SOLO.n) > 5, 0.0, WIDE)])
def test_feet_that_a_file_rounds_apart_are_all_put_on_the_ground(stop):
    """Heights that differ by a third of a millimetre; joints turn by little, and not beyond their limits."""
    assert 1e-4 < np.ptp(heights(UNEVEN)) < 1e-3
    problem = problem_on(trajopt.Ground())
    problem.subject_to(trajopt.q, lower=UNEVEN - stop, upper=UNEVEN + WIDE)
    found = problem.standing_pose(UNEVEN)
    np.testing.assert_allclose(heights(found), 0.0, atol=2e-9)
    assert np.abs(found - UNEVEN)[3:].max() < 4e-3
    assert np.all(found >= UNEVEN - stop)


@pytest.mark.long
def test_feet_a_little_apart_on_joints_that_cannot_turn_are_refused():
    problem, base = problem_on(trajopt.Ground()), np.arange(SOLO.n) < 3
    problem.subject_to(trajopt.q, lower=UNEVEN - base, upper=UNEVEN + base)
    with pytest.raises(
        InfeasibleBoundsError, match=r"not on the ground at any pose .* at the nearest, '.._FOOT' -?\d"
    ):
        problem.standing_pose(UNEVEN)


@pytest.mark.long
@pytest.mark.parametrize(
    "surface",
    [
        trajopt.Plane((0.42, 0.0, 0.0), (-1.0, 0.0, 0.0)),
        trajopt.Plane((0.0, 0.0, -0.12), (0.0, 0.0, -1.0), frame="base_link"),
    ],
)
def test_a_hand_on_a_wall_or_on_the_trunk_touches_too(surface):
    """The pose is near the given one, and all of its feet stand."""
    problem = problem_on(trajopt.Ground(), feet=FEET[1:])
    hand = problem.contact(FEET[0], [0], ground=surface)
    found = problem.standing_pose(STANDING)
    pose = dynamics.forward_kinematics(SOLO, found, [FEET[0], "base_link"])
    place = pose.position[0]
    if surface.frame:
        place = pose.rotation[1].T @ (place - pose.position[1])
    assert abs(surface.gap(place)) < 1e-8 and hand.frame == FEET[0]
    np.testing.assert_allclose(heights(found, FEET[1:]), 0.0, atol=1e-8)
    assert np.abs(found - STANDING).max() < 0.6


@pytest.mark.long
def test_a_wall_out_of_reach_is_refused():
    problem = problem_on(trajopt.Ground(), feet=FEET[1:])
    problem.contact(FEET[0], [0], ground=trajopt.Plane((0.0, 0.0, 1.0), (0.0, 0.0, -1.0)))
    with pytest.raises(InfeasibleBoundsError, match=r"'FL_FOOT' .* m above it"):
        problem.standing_pose(STANDING)
