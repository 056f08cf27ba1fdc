"""Benchmarks of robots on legs: the replay in MuJoCo, other starts, and the robot of Pinocchio."""

from dataclasses import replace

import numpy as np
import pytest
from library_solutions import solved_at_defaults

import problems
import trajopt
from problems.gallery.legged.solo import solo

pytestmark = pytest.mark.long


def test_the_trot_stays_on_its_plan_on_the_ground_of_mujoco():
    """Nothing holds its base; weight less than planned makes it leave the plan."""
    pytest.importorskip("mujoco")
    from benchmarks.legged.replay import replayed

    place, turn, joint = replayed(solved_at_defaults("quadruped_trot"))
    assert 0.0 < place < 2e-3 and turn < 0.5 and joint < 2e-2


def test_starts_are_moved_within_what_is_said_and_repeat():
    from benchmarks.legged.__main__ import other_start

    plain, moved, again = (problems.quadruped_jump.build(), *(other_start("quadruped_jump", 3) for _ in "12"))
    s = np.linspace(0.0, 1.0, 4)
    q, start = moved.guessed_curve(s), plain.guessed_curve(s)
    np.testing.assert_array_equal(q, again.guessed_curve(s))
    away = np.abs(q - start).max(axis=0)
    assert (away[:3] < 0.1).all() and (away[3:6] < 0.3).all() and (away[6:] < 0.2).all()
    assert (away > 0.0).all()
    factors = moved.guessed_durations / plain.guessed_durations
    assert (factors >= 0.5 - 1e-12).all() and (factors <= 2.0).all() and np.ptp(factors) > 0.0


def test_the_floating_robots_that_are_timed_are_those_of_pinocchio():
    """The comparison refuses another robot."""
    pytest.importorskip("pinocchio")
    from benchmarks.dynamics import floating

    model, peer = floating.both("solo12")
    floating.check(model, peer)
    with pytest.raises(ValueError, match="forces differ from Pinocchio's"):
        floating.check(model.with_properties({"FL_LOWER_LEG.mass": np.array([1.0])}), peer)


def test_feet_inside_of_what_they_touch_are_seen_in_mujoco():
    """A step 2 mm high where the plan has none, and its own dynamics without a planned force."""
    pytest.importorskip("mujoco")
    from benchmarks.legged.replay import gone_through

    solution = trajopt.solve(problems.quadruped_trot.build(), progress="silent")
    found = gone_through(solution, count=100)
    assert found.depth < 1e-5 and found.base < 5e-3 and found.torque < 1e-5
    contacts = solution.asked.contacts
    for frame, contact in list(contacts.items()):
        contacts[frame] = replace(contact, obstacles=(trajopt.Box((9.0, 9.0, 1.0), (0.0, 0.0, -0.498)),))
    assert gone_through(solution, count=100).depth == pytest.approx(2e-3, abs=1e-5)


def test_surfaces_of_mujoco_are_smaller_by_the_radius_of_feet():
    pytest.importorskip("mujoco")
    from benchmarks.legged.replay import surfaces

    box = trajopt.Box((0.4, 0.6, 0.2), (1.0, 0.0, 0.1))
    problem = trajopt.Problem(solo(), trajopt.Schedule.standing(("FL",), 0.2).trajectory(2))
    grounds = {"FL_FOOT": trajopt.Ground(0.02), "FR_FOOT": box.face("+z")}
    for foot, ground in grounds.items():
        problem.contact(foot, [0], ground=ground, obstacles=[box])
    geoms = [dict(geom) for _, geom in surfaces(problem.contacts, 0.02)]
    (plane,) = (geom for geom in geoms if geom["type"] == "plane")
    assert plane["pos"].split()[2] == "0.0"
    ends = []
    for geom in geoms:
        if geom["type"] == "box":
            size, place = (np.array(geom[name].split(), dtype=float) for name in ("size", "pos"))
            ends.append(place[2] + size[2])
            np.testing.assert_allclose(sorted(size[:2]), [0.18, 0.28], atol=1e-12)
    np.testing.assert_allclose(ends, [0.18, 0.18], atol=1e-12)
