"""A solution that reads a table or data beyond their ends says by how much, once, and stays silent inside."""

import warnings

import casadi
import pytest

import trajopt
from trajopt.base.errors import OutsideTableWarning

GRID = [0.0, 1.0, 2.0, 3.0]
SQUARES = casadi.interpolant("squares", "bspline", [GRID], [0.0, 1.0, 4.0, 9.0])
SUMS = casadi.interpolant("sums", "bspline", [GRID, GRID], [float(i + j) for j in range(4) for i in range(4)])


def moved(duration, speed=6.0):
    """x' = u with |u| <= speed from 0."""
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=duration))
    problem.control("u", -speed, speed)
    problem.start_at(x=[0.0])
    return problem


def test_a_table_that_is_left_is_named_once_with_the_distance():
    problem = moved(1.0)
    problem.minimize(trajopt.term(lambda node: -SQUARES(node.x), name="gain"), over="end")
    with pytest.warns(
        OutsideTableWarning, match=r"table 'squares' covers 0 to 3 and is read at 6 .* 3 outsi"
    ) as w:
        trajopt.solve(problem, starts=1, refine=None)
    assert len(w) == 1


def test_the_argument_of_a_table_of_two_is_named():
    problem = moved(1.0)
    gain = trajopt.term(lambda node: -SUMS(casadi.vertcat(1.0 + 0.0 * node.x, node.x)), name="gain")
    problem.minimize(gain, over="end")
    with pytest.warns(OutsideTableWarning, match="table 'sums', argument 2, covers 0 to 3 and is read at 6"):
        trajopt.solve(problem, starts=1, refine=None)


@pytest.mark.parametrize(
    ("times", "clock"), [(GRID, "seconds"), ([0.0, 0.5], "progress"), ([2.0, 6.0], "seconds")]
)
def test_data_that_a_motion_outlasts_are_named(times, clock):
    problem = moved(6.0)
    problem.data("wind", times, [float(t) for t in times], clock=clock)
    problem.minimize(trajopt.term(lambda node: (node.x - node.data("wind")) ** 2 + node.u**2, name="miss"))
    with pytest.warns(OutsideTableWarning, match="data 'wind' covers"):
        trajopt.solve(problem, starts=1, refine=None)


@pytest.mark.long
def test_tables_and_data_are_silent_up_to_their_ends():
    problem = moved(3.0, speed=1.0)
    problem.data("wind", GRID, GRID)
    reached = trajopt.term(lambda node: -SQUARES(node.x) - 0.0 * node.data("wind"), name="gain")
    problem.minimize(reached, over="end")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = trajopt.solve(problem, starts=1, refine=None)
    assert solution.q(3.0)[0] == pytest.approx(3.0, abs=1e-6)


def test_data_that_are_read_at_their_own_times_alone_are_silent():
    """A fit compares a motion of 3 s with samples of its second second."""
    problem = moved(3.0)
    problem.data("measured", [1.0, 1.5, 2.0], [1.0, 1.5, 2.0])
    miss = trajopt.term(lambda node: (node.x - node.data("measured")) ** 2, name="miss")
    problem.minimize(miss, over=[1.0, 1.5, 2.0])
    problem.minimize(trajopt.state("u") ** 2, weight=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trajopt.solve(problem, starts=1, refine=None)
