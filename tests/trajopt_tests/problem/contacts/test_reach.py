"""Feet that stand at an end of the motion: accepted where a pose has them on the ground, else refused."""

from pathlib import Path

import numpy as np
import pytest

import dynamics
import trajopt
from problems.gallery.legged.solo import STANDING
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.checks.path_equations import part_sums
from trajopt.problem.contacts.contact_checks import refuse_out_of_reach

ROBOTS = Path(__file__).parents[3] / "support" / "robots"
SOLO = dynamics.load_urdf(ROBOTS / "solo12.urdf", floating_base="free")
BASE = [float(value) for value in STANDING[:6]]
JOINTS = [None] * (SOLO.n - 6)


def standing(start=0.0, end=0.0, ground=0.0):
    """On four feet for 0.3 s, the base higher by some metres than in the pose that stands."""
    problem = trajopt.Problem(SOLO, trajopt.Trajectory.collocation(4, 3, duration=0.3))
    for leg in ("FL", "FR", "HL", "HR"):
        problem.contact(f"{leg}_FOOT", [0], ground=trajopt.Ground(height=ground))
    problem.passive_base()
    problem.start_at(q=[*BASE[:2], BASE[2] + start, *BASE[3:], *JOINTS], v=0)
    problem.end_at(q=[*BASE[:2], BASE[2] + end, *BASE[3:], *JOINTS])
    problem.minimize(trajopt.tau**2)
    problem.guess(np.array([STANDING, STANDING]))
    return problem


def reach():
    """m, from the base to the ground with straight legs, at most: the abduction that has feet lowest."""
    straight = np.where(np.arange(SOLO.n) < 6, STANDING, 0.0)
    outwards = np.linspace(-0.5, 0.5, 2001)
    q = np.tile(straight, (outwards.size, 1))
    q[:, SOLO.joint_names.index("FL_HAA")] = outwards
    heights = SOLO.block(("position:FL_FOOT",)).value({"q": q})["position:FL_FOOT"][:, 2]
    return float(straight[2] - heights.min())


@pytest.mark.long
def test_the_border_is_where_legs_are_straight():
    refuse_out_of_reach(standing(end=reach() - 0.001 - BASE[2]))
    with pytest.raises(InfeasibleBoundsError, match=r"end of the motion .* 'HR_FOOT' 0\.01 m above it"):
        refuse_out_of_reach(standing(end=reach() + 0.01 - BASE[2]))


@pytest.mark.long
def test_what_is_out_of_reach_is_refused_before_a_solve():
    with pytest.raises(InfeasibleBoundsError, match=r"start of the motion .* Fix other values, of the base"):
        trajopt.solve(standing(start=0.5), progress="silent")
    with pytest.raises(InfeasibleBoundsError, match=r"'FL_FOOT' -4\.4"):
        trajopt.solve(standing(ground=5.0), progress="silent")


@pytest.mark.long
@pytest.mark.parametrize(("height", "reached"), [(0.1, True), (2.0, False)])
def test_grounds_that_no_pose_joins_are_refused_in_any_arc(height, reached):
    """Two feet on the ground and two on a step of 2 m: IPOPT had looked for a quarter of an hour."""
    feet = ("FL", "FR", "HL", "HR")
    steps = trajopt.Schedule([(feet, 0.2), (("FL", "HR"), 0.2), (feet, 0.2), (("FR", "HL"), 0.2)])
    problem = trajopt.Problem(SOLO, steps.trajectory(2))
    flat, step = trajopt.Ground(), trajopt.Ground(height=height)
    for foot in feet:
        later = step if foot in ("FR", "HL") else flat
        ground = {0: flat, 1: flat, 2: later, 3: later}
        problem.contact(f"{foot}_FOOT", steps.arcs(foot), ground=ground)
    problem.passive_base()
    if reached:
        refuse_out_of_reach(problem)
    else:
        with pytest.raises(InfeasibleBoundsError, match=r"stand in arc 2 are not on .* pose found: at the"):
            refuse_out_of_reach(problem)


@pytest.mark.long
def test_limits_of_joints_count_where_they_are_stated():
    low, high = standing(start=-0.1), standing(start=-0.1)
    refuse_out_of_reach(low)
    bent = np.where(np.arange(SOLO.n) < 6, np.inf, 0.1)
    high.subject_to(trajopt.q, lower=-bent, upper=bent)
    with pytest.raises(InfeasibleBoundsError, match="at the nearest"):
        refuse_out_of_reach(high)


def test_locked_joints_keep_their_value():
    locked = standing(start=-0.1)
    joints = np.where(np.arange(SOLO.n) % 3 == 0, 0.0, np.inf)
    joints[:6] = np.inf
    locked.subject_to(trajopt.q, lower=-joints, upper=joints)
    refuse_out_of_reach(locked)


@pytest.mark.long
def test_a_robot_that_stands_still_passes_its_verification():
    problem = standing()
    problem.minimize(1e3 * trajopt.v**2)
    found = trajopt.solve(problem, starts=1, progress="silent")
    assert found.converged and np.ptp(found.q(np.linspace(0.0, 0.3, 50)), axis=0).max() < 1e-6
    assert found.verify().holds, str(found.verify())[:300]


@pytest.mark.long
@pytest.mark.parametrize("travel", [1e-1, 1e-3, 1e-4])
def test_a_small_motion_is_measured_by_itself(travel):
    """The scale of a foot's velocity falls with the motion down to 1e-5 of the coordinates, not before."""
    problem = trajopt.Problem(SOLO, trajopt.Trajectory.collocation(4, 3, duration=0.3))
    problem.start_at(q=STANDING, v=0)
    turned = np.where(np.arange(SOLO.n) == SOLO.joint_names.index("FL_HFE"), travel, 0.0)
    problem.end_at(q=STANDING + turned, v=0)
    problem.minimize(trajopt.a**2)
    found = trajopt.solve(problem, refine=None, starts=1, progress="silent")
    foot = trajopt.Quantity("velocity:FL_FOOT")
    scale = part_sums(found, [foot], np.linspace(0.0, 0.3, 101))["velocity:FL_FOOT"].max()
    assert scale == pytest.approx(1.5 * travel / 0.3, rel=0.2)  # the largest speed of the cubic, rad/s
