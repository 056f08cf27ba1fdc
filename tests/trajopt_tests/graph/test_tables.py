"""Tables that CasADi interpolates by B-splines are the same on their grid and their tangent beyond it."""

import casadi
import numpy as np
import pytest

import trajopt
from trajopt.graph.any_arithmetic import continued_tables
from trajopt.graph.trace import trace

GRID, HEIGHTS = np.linspace(-1.0, 2.0, 7), np.linspace(0.0, 3.0, 6)
CURVE = casadi.interpolant("curve", "bspline", [GRID], np.sin(GRID))
SURFACE = casadi.interpolant(
    "surface", "bspline", [GRID, HEIGHTS], np.add.outer(np.sin(GRID), HEIGHTS**2).ravel("F")
)
OUTSIDE = (-1e-17, -1e-9, -0.5)  # heights


def value_of(function, x):
    block = trace(function, "term:own", {"x": np.shape(x)[-1]}.__getitem__)
    return block.value({"x": np.atleast_2d(np.asarray(x, float))})["term:own"], block


def test_casadi_itself_gives_zero_beyond_the_grid_by_a_rounding():
    assert float(CURVE(np.nextafter(2.0, 3.0))) == 0.0 and float(CURVE(2.0)) == pytest.approx(np.sin(2.0))


def test_on_the_grid_a_table_is_what_casadi_interpolates():
    points = np.random.default_rng(0).uniform([-1.0, 0.0], [2.0, 3.0], (50, 2))
    points = np.concatenate([points, [[-1.0, 0.0], [2.0, 3.0]]])
    found, _ = value_of(lambda n: 2.0 * SURFACE(n.x) + n.x[0], points)
    wanted = [2.0 * float(SURFACE(point)) + point[0] for point in points]
    assert found[:, 0] == pytest.approx(np.array(wanted), rel=1e-14)


@pytest.mark.parametrize("below", OUTSIDE)
def test_beyond_an_edge_a_table_is_its_tangent(below):
    found, block = value_of(lambda n: SURFACE(n.x), [0.3, below])
    edge, step = float(SURFACE([0.3, 0.0])), 1e-6
    slope = (float(SURFACE([0.3, step])) - edge) / step
    assert found[0, 0] == pytest.approx(edge + below * slope, abs=1e-5)
    slopes = block.partials({"x": np.array([[0.3, below]])})["term:own", "x"]
    assert slopes[0, 0, 1] == pytest.approx(slope, abs=1e-5)


def test_tables_of_tables_are_continued_and_other_functions_are_left():
    x, step = casadi.SX.sym("x", 2), casadi.interpolant("step", "linear", [GRID], GRID**2)
    nested = continued_tables(casadi.vertcat(CURVE(4.0 + SURFACE(x)), step(x[0])))
    value = casadi.Function("value", [x], [nested])([0.3, -0.2])
    assert value[0] != 0.0 and value[1] == pytest.approx(float(step(0.3)))


def falling():
    """A weight that may not go below height 0, the first one of the table of its drag."""
    drag = casadi.interpolant("drag", "bspline", [HEIGHTS], 0.2 + 0.1 * HEIGHTS)
    system = trajopt.system(
        ("height", "speed"), ("push",), lambda n: [n.speed, n.push - drag(n.height) * n.speed]
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(10, 3, duration=2.0))
    problem.control("push", -2.0, 2.0)
    problem.start_at(x=[1.0, 0.0])
    problem.subject_to(trajopt.state("height"), lower=0.0)
    problem.minimize(trajopt.state("height"))
    problem.minimize(1e-3 * trajopt.state("push") ** 2)
    return problem


@pytest.mark.long
def test_a_limit_at_the_edge_of_a_table_is_kept_and_the_optimum_found():
    solution = trajopt.solve(falling())  # an edge is no kink to warn of: warnings are errors
    assert solution.converged and solution.verify().holds
    heights = solution.values([trajopt.state("height")], solution.node_times)
    assert next(iter(heights.values())).min() == pytest.approx(0.0, abs=1e-6)  # it rolls on the ground
