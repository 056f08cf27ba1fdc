"""States and controls of several components: columns in terms, vectors as bounds and ends."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

import trajopt
import trajopt.plot
from trajopt.base.errors import ShapeError, UnknownNameError

CELLS = 4


def rod_on_a_cart(**units):
    """A cart in the plane that carries a rod of cells, heated at both ends."""

    def rates(node):
        temperature, left, right = node.T, node.heat[0], node.heat[1]
        around = [left, *(temperature[i] for i in range(CELLS)), right]
        warming = [around[i] - 2.0 * around[i + 1] + around[i + 2] for i in range(CELLS)]
        return [node.v, node.push, *warming]

    return trajopt.system({"x": 2, "v": 2, "T": CELLS}, {"push": 2, "heat": 2}, rates, **units)


@trajopt.term
def effort(node):
    return node.push.T @ node.push + node.heat.T @ node.heat


def rod_problem(name="problem"):
    mesh = trajopt.Trajectory.collocation(3, 3, duration=2.0)
    problem = trajopt.Problem(rod_on_a_cart(units={"x": "m", "push": "N"}), mesh, name=name)
    problem.control("push", -20.0, [20.0, 3.0])
    problem.control("heat", 0.0, 5.0)
    problem.start_at(x={"x": [0.0, 0.0], "v": 0.0, "T": 1.0})
    problem.end_at(x={"x": [1.0, None], "v": 0.0, "T": [2.0, None, None, 2.0]})
    problem.subject_to(trajopt.state("v"), upper=[0.7, 9.0])
    problem.minimize(effort)
    return problem


def scalar_problem():
    """The same with a name for every component."""
    names = ("x0", "x1", "v0", "v1", *(f"T{i}" for i in range(CELLS)))

    def rates(node):
        around = [node.h0, *(getattr(node, f"T{i}") for i in range(CELLS)), node.h1]
        return [node.v0, node.v1, node.p0, node.p1] + [
            around[i] - 2.0 * around[i + 1] + around[i + 2] for i in range(CELLS)
        ]

    system = trajopt.system(names, ("p0", "p1", "h0", "h1"), rates)
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(3, 3, duration=2.0))
    for name, lower, upper in (("p0", -20, 20), ("p1", -20, 3), ("h0", 0, 5), ("h1", 0, 5)):
        problem.control(name, lower, upper)
    problem.start_at(x=[0.0] * 4 + [1.0] * CELLS)
    problem.end_at(x=[1.0, None, 0.0, 0.0, 2.0, None, None, 2.0])
    problem.subject_to(trajopt.state("v0"), upper=0.7)
    problem.subject_to(trajopt.state("v1"), upper=9.0)
    squares = trajopt.term(lambda node: node.p0**2 + node.p1**2 + node.h0**2 + node.h1**2)
    problem.minimize(squares)
    return problem


@pytest.mark.long
def test_a_vector_of_states_has_the_optimum_of_its_components():
    vector, scalar = (trajopt.solve(each, starts=1) for each in (rod_problem(), scalar_problem()))
    assert vector.converged and scalar.converged
    assert abs(vector.objective - scalar.objective) < 1e-6 * scalar.objective
    times = np.linspace(0.0, 2.0, 5)
    assert np.abs(vector.q(times) - scalar.q(times)).max() < 1e-5
    report = vector.verify().table
    assert report.startswith("PASS")
    for name in ("state equations, T 3", "v, v 0", "bounds of heat, 1", "x at the end, x 0"):
        assert name in report
    table = vector.sample(rate=2)
    assert [name for name in table.columns if name.startswith(("x", "T"))] == [
        "x 0",
        "x 1",
        "T 0",
        "T 1",
        "T 2",
        "T 3",
    ]
    assert table.units["x 1"] == "m" and table.units["push 0"] == "N"
    assert vector.costate("T")(1.0).shape == (CELLS,)
    figure = trajopt.plot.states(vector, names=("heat", "T"))
    assert isinstance(figure, Figure) and len(figure.axes) == 2 + CELLS
    with pytest.raises(UnknownNameError, match="no state or control"):
        trajopt.plot.states(vector, names=("temperature",))


def test_all_components_are_read_bounded_and_named():
    problem = rod_problem()
    assert problem.dynamics.n == 4 + CELLS
    assert repr(problem.dynamics).startswith(
        "System x' = f(x, u): states x (2,) [m], v (2,), T (4,); controls"
    )
    by_name = {each.name: each for each in problem.constraints}
    low, high = by_name["v"].lower, by_name["v"].upper
    assert np.all(np.isinf(low)) and high.tolist() == [np.inf, np.inf, 0.7, 9.0] + [np.inf] * CELLS
    assert problem.extras["push"].upper.tolist() == [20.0, 3.0]
    end = by_name["x at the end"]
    assert end.lower.tolist() == [1.0, -np.inf, 0.0, 0.0, 2.0, -np.inf, -np.inf, 2.0]
    assert problem.width_of_term(trajopt.state("T")) == CELLS
    assert problem.width_of_term(trajopt.state("T")[1:3]) == 2
    assert problem.term_units(trajopt.state("x"), 2) == ["m", "m"]


def test_phases_link_vectors_and_one_jumps_as_a_whole():
    first, second = rod_problem("first"), rod_problem("second")
    both = trajopt.Phases(first, second)
    both.link(lambda a, b: [a.x - b.x, a.T - b.T], first.at("end"), second.at("start"), name="meeting")
    assert both.links[0].lower.shape == (2 + CELLS,)
    mesh = trajopt.Trajectory.collocation(2, 3, arcs=2)
    two_arcs = trajopt.Problem(rod_on_a_cart(), mesh)
    two_arcs.continuity("v", -1)
    assert two_arcs.continuity_at_borders.tolist() == [[0, 0, -1, -1] + [0] * CELLS]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"v": [0.0, 0.0, 0.0]}, ShapeError, "has 3 numbers for 'v', which has 2 components"),
        ({"w": 0.0}, UnknownNameError, "state of 'x at the start'"),
        ([0.0, 0.0], ShapeError, r"8 components (x 0, x 1, v 0, v 1, T 0"),
    ],
)
def test_ends_that_do_not_fit_are_refused(given, error, message):
    problem = trajopt.Problem(rod_on_a_cart(), trajopt.Trajectory.collocation(2, 2))
    with pytest.raises(error, match=re.escape(message)):
        problem.start_at(x=given)
