"""Refusals of loops that are not closed, by name; the problem stays as it was."""

import numpy as np
import pytest
from closed_linkage import NEAR, ROBOT, linkage

import dynamics
import trajopt
from trajopt.base.errors import InfeasibleBoundsError, OptionError, ProblemError, ShapeError


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"frame_a": "coupler_and"}, dynamics.UnknownNameError, "coupler_and"),
        ({"frame_a": "rocker_end"}, OptionError, "both fixed to rocker"),
        ({"kind": "hinge"}, OptionError, "'point', a ball joint"),
        ({"kind": "pin"}, OptionError, "needs the axis"),
        ({"axis": (0, 0, 1)}, OptionError, "has no axis"),
        ({"kind": "pin", "axis": (0, 0, 0)}, ShapeError, "three numbers"),
        ({"kind": "weld", "rotation": 2 * np.eye(3)}, ShapeError, "no rotation matrix"),
        ({"near": [0.0]}, ShapeError, "one number per joint"),
        ({"arcs": [1]}, OptionError, "1 arcs count from 0"),
        ({"arcs": []}, OptionError, "in no arc"),
        ({"tolerance": 0.0}, OptionError, "above 0"),
        pytest.param(
            {"kind": "weld"},
            InfeasibleBoundsError,
            "cannot close.*least gap.*axes off",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_is_no_loop_is_refused_and_leaves_nothing_behind(options, error, message):
    problem = trajopt.Problem(ROBOT, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    given = {"frame_a": "coupler_end", "frame_b": "rocker_end", "near": NEAR, **options}
    with pytest.raises(error, match=message):
        problem.close_loop(given.pop("frame_a"), given.pop("frame_b"), given.pop("kind", "point"), **given)
    assert not (problem.closures or problem.constraints or problem.loads or problem.extras)
    assert problem.close_loop("coupler_end", "rocker_end", near=NEAR).kept == (0, 1)


def test_links_that_are_too_short_are_told_with_the_gap_that_is_left():
    bodies = list(ROBOT.bodies)
    frames = [
        dynamics.Frame("end", "rocker"),
        dynamics.Frame("far", None, position=np.array([1.5, 0.0, 0.0])),
    ]
    robot = dynamics.RigidBodyModel(bodies, (0, -9.81, 0), frames=frames)
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    with pytest.raises(InfeasibleBoundsError, match="'end-far' 1 m apart"):
        problem.close_loop("end", "far")


@pytest.mark.long
def test_a_start_from_which_the_loop_cannot_close_is_refused_and_leaves_the_problem():
    problem, _ = linkage(near=NEAR)
    before = len(problem.constraints)
    with pytest.raises(InfeasibleBoundsError, match="joints that are fixed there"):
        problem.start_at(q=[None, None, np.pi])
    assert len(problem.constraints) == before


def test_a_pose_in_which_links_are_in_line_is_called_singular():
    """The parallelogram that lies flat may go on as one or turn over."""
    lengths = (0.3, 0.5)

    def rod(name, parent, at):
        return dynamics.Body(
            name,
            dynamics.Joint(f"{name}_joint", position=np.array(at)),
            parent,
            1.0,
            inertia=0.01 * np.eye(3),
        )

    bodies = [
        rod("a", None, (0, 0, 0)),
        rod("b", "a", (lengths[0], 0, 0)),
        rod("c", None, (lengths[1], 0, 0)),
    ]
    frames = [
        dynamics.Frame("b end", "b", position=np.array([lengths[1], 0, 0])),
        dynamics.Frame("c end", "c", position=np.array([lengths[0], 0, 0])),
    ]
    robot = dynamics.RigidBodyModel(bodies, (0, -9.81, 0), frames=frames)
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    with pytest.raises(ProblemError, match=r"singular.*near=q"):
        problem.close_loop("b end", "c end", near=[0.0, 0.0, 0.0])
    assert problem.close_loop("b end", "c end", near=[1.0, -1.0, 1.0]).kept == (0, 1)


def test_a_loop_that_is_held_already_or_named_twice_is_refused():
    problem, _ = linkage()
    with pytest.raises(OptionError, match="closed already"):
        problem.close_loop("coupler_end", "rocker_end", near=NEAR)
    with pytest.raises(OptionError, match="held already"):
        problem.close_loop("rocker_end", "coupler_end", near=NEAR)


def test_shared_collocation_points_are_refused():
    with pytest.raises(OptionError, match="radau"):
        linkage(points="lobatto")
    plain = trajopt.Problem(ROBOT, trajopt.Trajectory.uniform(4, duration=1.0))
    with pytest.raises(OptionError, match="collocation"):
        plain.close_loop("coupler_end", "rocker_end", near=NEAR)
