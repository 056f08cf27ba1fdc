"""Systems that say how they look: segments, refusals, saved pictures."""

import casadi
import numpy as np
import pytest

import dynamics
import trajopt
from trajopt.base.errors import OptionError, ShapeError


def crane(draw):
    system = trajopt.system(
        ("x", "swing"), ("push",), lambda node: [node.swing, node.push - node.swing], draw=draw
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(3, 3, duration=1.0))
    problem.control("push")
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.state("push") ** 2)
    return problem


def rope(node):
    return [
        [(-1.0, 0.0), (2.0, 0.0)],
        [(node.x, 0.0), (node.x + np.sin(node.swing), -np.cos(node.swing)), (node.x, -2.0)],
        [(node.x, 0.5, 1.0)],
    ]


def test_lines_become_segments_in_space_and_a_point_one_without_length():
    skeleton = crane(rope).dynamics.skeleton
    x, swing = q = np.array([0.3, 0.2])
    load = [x + np.sin(swing), 0.0, -np.cos(swing)]
    expected = [
        [[-1.0, 0.0, 0.0], [2.0, 0.0, 0.0]],
        [[x, 0.0, 0.0], load],
        [load, [x, 0.0, -2.0]],
        [[x, 0.5, 1.0], [x, 0.5, 1.0]],
    ]
    assert skeleton(q) == pytest.approx(np.array(expected), abs=1e-15)
    assert skeleton(np.zeros((4, 5, 2))).shape == (4, 5, 4, 2, 3)


def test_pictures_of_a_solution_and_of_its_file_are_the_same(tmp_path):
    solution = trajopt.solve(crane(rope))
    solution.save(tmp_path / "crane.npz")
    loaded = trajopt.Solution.load(tmp_path / "crane.npz")
    q = solution.q(np.linspace(0.0, 1.0, 7))
    assert np.array_equal(loaded.problem.dynamics.skeleton(q), solution.problem.dynamics.skeleton(q))
    axis = trajopt.plot.motion(loaded, snapshots=3).axes[0]
    rail = [line for line in axis.lines if np.array_equal(line.get_xdata(), [-1.0, 2.0])]
    assert len(rail) == 1  # it stands still, and is drawn once
    assert all(line.get_marker() != "s" for line in axis.lines)  # the square of a robot's base


def test_a_file_holds_a_problem_without_a_picture_that_reads_a_table(tmp_path):
    places = np.linspace(-3.0, 3.0, 20)
    hill = casadi.interpolant("hill", "bspline", [places], np.cos(places))
    problem = crane(lambda node: [(node.x, hill(node.x)), (node.swing, 0.0)])
    solution = trajopt.solve(problem, starts=1, refine=None)
    solution.save(tmp_path / "hill.npz")
    system = trajopt.Solution.load(tmp_path / "hill.npz").problem.dynamics
    assert system.states == problem.dynamics.states and not hasattr(system, "skeleton")


@pytest.mark.long
def test_a_report_shows_a_planar_picture(tmp_path):
    solution = trajopt.solve(crane(lambda node: rope(node)[:2]))
    assert 'alt="the robot in snapshots"' in trajopt.report.html(solution, tmp_path / "page.html")


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda node: [(node.push, 0.0)], OptionError, "draw uses push: .* of the states alone, x, swing"),
        (lambda node: node.x, ShapeError, r"expected a list of points \(x, z\) or \(x, y, z\) in m"),
        (lambda node: [(node.x,)], ShapeError, "expected a list of points"),
        (lambda node: [], ShapeError, "expected a list of points"),
        (lambda node: None, ShapeError, "expected a list of points"),
    ],
)
def test_pictures_that_cannot_be_drawn_are_refused(draw, error, message):
    with pytest.raises(error, match=message):
        crane(draw).dynamics.skeleton(np.zeros(2))


def test_a_picture_of_a_robot_or_by_no_function_is_refused():
    robot = dynamics.from_dh([dynamics.DhRow(name="slide", kind="prismatic", mass=2.0)])
    with pytest.raises(OptionError, match="the robot is drawn already: leave it out"):
        trajopt.system(("i",), (), lambda node: [-node.i], dynamics=robot, draw=rope)
    with pytest.raises(OptionError, match="draw"):
        trajopt.system(("x",), (), lambda node: [node.x], draw="crane")
