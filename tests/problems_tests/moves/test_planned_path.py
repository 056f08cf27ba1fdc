"""Paths past obstacles by two trees of poses: clear where they are checked, the same for the same seed."""

import itertools

import numpy as np
import pytest
from tiers import fast_first

import dynamics
from problems import moves
from problems.moves.planning.planned_path import RESOLUTION, is_clear, planned_path, shortened
from problems.moves.tasks.ways import ways_past_obstacles
from trajopt.base.errors import InfeasibleBoundsError, NotFiniteError, OptionError, ShapeError

START, GOAL, CLEARANCE = np.array([0.0, 0.0]), np.array([1.2, 0.0]), 0.005


def table(*obstacles):
    """A ball of 10 cm on two slides among obstacles."""
    bodies, parent = [], None
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0))):
        limits = dynamics.JointLimits.symmetric(q=2.0, velocity=2.0, torque=20.0)
        joint = dynamics.Joint(f"slide {name}", "prismatic", axis, limits=limits)
        bodies.append(dynamics.Body(name, joint, parent, mass=1.0))
        parent = name
    ball = dynamics.sphere(0.1, carrier="y")
    model = dynamics.RigidBodyModel(bodies, gravity=(0, 0, 0)).with_shapes([ball])
    return dynamics.Clearances(model, moves.Scene(obstacles))


WALL = moves.box((0.1, 2.0, 1.0), (0.6, -0.5, 0.0), name="wall")  # up to y = 0.5


def checked(path):
    """Poses of a path at a tenth of the planner's resolution."""
    parts = [
        np.linspace(a, b, 10 * int(np.ceil(np.abs(b - a).max() / RESOLUTION)) + 1)
        for a, b in itertools.pairwise(path)
    ]
    return np.concatenate(parts)


@fast_first("seed", range(5), 2)
def test_a_path_goes_around_a_wall(seed):
    clearances = table(WALL)
    path = planned_path(clearances, START, GOAL, CLEARANCE, seed=seed)
    np.testing.assert_array_equal(path[[0, -1]], [START, GOAL])
    assert clearances.distances(path).min() >= CLEARANCE
    # Between two poses a ball moves by less than twice the resolution, half of it before the nearer one.
    assert clearances.distances(checked(path)).min() >= CLEARANCE - RESOLUTION
    assert checked(path)[:, 1].max() >= 0.6  # over the end of the wall


def test_the_straight_line_is_taken_where_it_is_clear():
    path = planned_path(table(), START, GOAL, CLEARANCE)
    np.testing.assert_array_equal(path[:, 1], 0.0)
    assert path[0, 0] == START[0] and path[-1, 0] == GOAL[0] and np.all(np.diff(path[:, 0]) > 0.0)


def test_a_seed_gives_the_same_path_and_another_one_another():
    paths = [planned_path(table(WALL), START, GOAL, CLEARANCE, seed=seed) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(paths[0], paths[1])
    assert paths[0].shape != paths[2].shape or np.abs(paths[0] - paths[2]).max() > 1e-6


def test_corners_are_cut_and_never_through_the_wall():
    detour = np.array([START, [0.0, 1.5], [1.2, 1.5], GOAL])
    clearances = table(WALL)
    path = shortened(clearances, detour, CLEARANCE, np.random.default_rng(0))
    lengths = [np.linalg.norm(np.diff(each, axis=0), axis=1).sum() for each in (path, detour)]
    least = (
        np.hypot(0.45, 0.6) * 2.0 + 0.3
    )  # around the corners of the wall, moved by the radius, by the inside
    assert least - 0.2 < lengths[0] < 0.75 * lengths[1]
    assert clearances.distances(checked(path)).min() >= CLEARANCE - RESOLUTION


def test_a_goal_behind_a_wall_without_an_end_is_not_found():
    assert planned_path(table(moves.box((0.1, 9.0, 9.0), (0.6, 0.0, 0.0))), START, GOAL, most=200) is None


def test_ends_that_touch_leave_the_range_or_have_another_shape_are_refused():
    clearances = table(WALL)
    with pytest.raises(
        InfeasibleBoundsError, match=r"y and wall are -.* mm apart at the goal, where 5 mm are"
    ):
        planned_path(clearances, START, [0.6, 0.0], CLEARANCE)
    with pytest.raises(
        InfeasibleBoundsError, match=r"joint 'slide x' is at 3 at the start, outside its limits"
    ):
        planned_path(clearances, [3.0, 0.0], GOAL)
    with pytest.raises(ShapeError, match=r"the goal has shape \(3,\): expected \(2,\)"):
        planned_path(clearances, START, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"clearance": np.nan}, OptionError, "clearance = nan: expected a finite number, 0 or more"),
        ({"clearance": -0.1}, OptionError, "clearance = -0.1"),
        ({"clearance": True}, OptionError, "clearance = True"),
        ({"seed": -1}, OptionError, "seed = -1: expected a whole number"),
        ({"start": [np.nan, 0.0]}, NotFiniteError, "the start is .*give finite numbers"),
    ],
)
def test_a_wall_is_not_passed_for_a_clearance_that_is_no_number(changed, error, words):
    """Nothing is less than NaN: the straight line through the wall had been called clear."""
    asked = {"start": START, "goal": GOAL, "clearance": CLEARANCE} | changed
    with pytest.raises(error, match=words):
        planned_path(table(WALL), **asked)


def slides_task(*obstacles):
    """The ball from START to GOAL in least time."""
    task = moves.Task(moves.robot(table().model), moves.Scene(obstacles))
    task.start(q=START)
    task.to(q=GOAL)
    task.limits(acceleration=15.0, jerk=500.0)
    return task


def test_a_task_goes_on_with_planned_ways_where_the_straight_one_is_blocked():
    straight = [np.array([START, GOAL])]
    first, *planned = ways_past_obstacles(slides_task(WALL).stated, straight)
    assert first is straight and len(planned) > 1
    for (way,) in planned:
        np.testing.assert_array_equal(way[[0, -1]], straight[0])
        assert table(WALL).distances(checked(way)).min() >= 1e-3 - RESOLUTION
    assert not is_clear(table(WALL), straight[0], 1e-3) and is_clear(table(), straight[0], 1e-3)
    assert list(ways_past_obstacles(slides_task().stated, straight)) == [straight]


@pytest.mark.long
def test_a_task_finds_its_own_way_around_a_wall():
    motion = slides_task(WALL).solve()
    assert motion.converged, motion
    assert motion.slowed == 0.0 and motion.solution.verify().verdict == "PASS"
    assert motion.q(np.linspace(0.0, motion.duration, 500))[:, 1].max() > 0.59  # over the end of the wall
