"""Units of states, controls, extras, parameters, data and terms, as reports, pages and figures print them."""

from __future__ import annotations

import numpy as np
import pytest
from hand_written import two_link_minimum_time

import dynamics
import trajopt
from trajopt.base.errors import OptionError, ShapeError, UnknownNameError
from trajopt.problem.problem_parts import power


def rocket():
    system = trajopt.system(
        ("h", "v", "m"),
        ("thrust",),
        lambda node: [node.v, node.thrust / node.m - 9.81e-3, -node.thrust / 3.0],
        units={"h": "km", "v": "km/s", "m": "t", "thrust": "MN"},
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=40.0), name="rocket")
    problem.control("thrust", 0.0, 2.0)
    problem.start_at(x=[0.0, 0.0, 100.0])
    problem.minimize(-trajopt.state("h"), over="end")
    return problem


def units(problem, term):
    return problem.term_units(term, problem.width_of_term(term))


def test_units_of_states_controls_and_their_rates_are_those_that_were_told():
    problem = rocket()
    assert units(problem, trajopt.q) == ["km", "km/s", "t"]
    assert units(problem, trajopt.v) == ["km/s", "km/s^2", "t/s"]
    assert units(problem, trajopt.a) == ["km/s^2", "km/s^3", "t/s^2"]
    assert units(problem, trajopt.state("thrust")) == ["MN"]
    assert units(problem, trajopt.q[2]) == ["t"]
    assert units(problem, trajopt.duration) == ["s"]


def test_units_of_arithmetic_follow_where_factors_cannot_change_them():
    problem = rocket()
    h, v = trajopt.state("h"), trajopt.state("v")
    for term, expected in (
        (-h, "km"),
        (h - trajopt.q[0], "km"),
        (h + v, ""),  # not alike
        (1000.0 * h, ""),  # metres, perhaps
        (v**2, "(km/s)^2"),
        (h**2, "km^2"),
        (h - 3.0, "km"),
        (h * v, ""),
        (h * trajopt.q[0], "km^2"),
        (trajopt.absolute(h), "km"),
        (trajopt.maximum(h, -h, 3.0), "km"),
        (np.exp(h), "1"),
        (np.sqrt(h), ""),
    ):
        assert units(problem, term) == [expected]
    assert power("1", 2) == "1" and power("", 2) == ""


def test_units_of_a_robots_quantities_follow_its_joints():
    rows = [dynamics.DhRow(name="turn", kind="revolute", mass=1.0, a=0.3), dynamics.DhRow("slide", mass=1.0)]
    rows[1] = dynamics.DhRow(name="slide", kind="prismatic", mass=1.0)
    problem = trajopt.Problem(dynamics.from_dh(rows))
    assert units(problem, trajopt.q) == ["rad", "m"]
    assert units(problem, trajopt.tau) == ["N m", "N"]
    assert units(problem, trajopt.tau**2) == ["(N m)^2", "N^2"]
    assert units(problem, trajopt.wrench("turn")) == ["N m"] * 3 + ["N"] * 3
    assert units(problem, trajopt.v[1]) == ["m/s"]


def test_what_a_problem_defines_has_the_unit_that_it_is_given():
    problem = two_link_minimum_time(4)
    load = problem.parameter("load", 0.0, 5.0, unit="kg")
    force = problem.extra("force", 2, unit="N")
    voltage = problem.control("voltage", continuous=True, unit="V")
    measured = problem.data("measured", [0.0, 1.0], [[1.0], [2.0]], unit="mm")
    assert [units(problem, each) for each in (load, force, voltage, measured)] == [
        ["kg"],
        ["N", "N"],
        ["V"],
        ["mm"],
    ]

    @trajopt.term(components=["far", "turned"], unit=["m", "rad"])
    def miss(node):
        return [node.q[0], node.q[1]]

    assert units(problem, miss) == ["m", "rad"]


@pytest.mark.long
def test_components_of_additional_curves_have_names():
    problem = two_link_minimum_time(4)
    force = problem.extra("force", components=("x", "y"), lower=-1.0, upper=1.0, unit="N")
    problem.extra("pair", 2, lower=-1.0, upper=1.0)
    problem.extra("alone", lower=-1.0, upper=1.0)
    assert (
        problem.component_names(force.quantity, 2) == ["x", "y"] == problem.component_names("rate:force", 2)
    )
    assert [
        problem.figure_labels(f"extra:{name}", n) for name, n in (("force", 2), ("pair", 2), ("alone", 1))
    ] == [
        ["force x", "force y"],
        ["pair 0", "pair 1"],
        ["alone"],
    ]
    problem.minimize(force**2)
    solution = trajopt.solve(problem)
    assert {"force x", "force y", "pair 0", "alone"} < set(solution.sample(100.0).columns)
    drawn = trajopt.plot.states(solution).axes
    assert [axis.get_ylabel() for axis in drawn[:2]] == ["force x (N)", "force y (N)"]
    assert "force x" in trajopt.report.html(solution, interactive=False)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (dict(components=("x", "y", "z"), upper=[1.0, 2.0]), ShapeError, "bounds and guess of shapes"),
        (dict(components=("x",), width=2), ShapeError, "has 2 components but 1 names"),
        (dict(components="xy"), OptionError, "give a list of names"),
        (dict(components=(1, 2)), OptionError, "give a list of names"),
    ],
)
def test_names_of_additional_curves_that_do_not_fit_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        two_link_minimum_time(4).extra("force", **given)


def test_further_states_of_a_robot_have_units_and_rates():
    robot = two_link_minimum_time(4).dynamics
    warm = trajopt.system({"heat": 2}, (), lambda node: node.tau**2, dynamics=robot, units={"heat": "J"})
    problem = trajopt.Problem(warm)
    assert units(problem, trajopt.state("heat")) == ["J", "J"]
    (equations,) = (each for each in problem.constraints if each.name == "state equations")
    assert units(problem, equations.term) == ["J/s", "J/s"]


@pytest.mark.long
def test_reports_pages_and_figures_print_units():
    problem = rocket()
    problem.subject_to(trajopt.integral(trajopt.state("thrust")), upper=60.0, name="impulse")
    solution = trajopt.solve(problem)
    report = {violation.label: violation.unit for violation in solution.verify().violations}
    assert report["state equations, h"] == "km/s" and report["state equations, m"] == "t/s"
    assert report["x at the start, h"] == "km" and report["impulse"] == "MN s"
    page = trajopt.report.html(solution)
    for label in ("states [km]", "states [t]", "thrust, an unknown curve [MN]"):
        assert label in page
    labels = [axis.get_ylabel() for axis in trajopt.plot.states(solution).axes]
    assert labels[:4] == ["h (km)", "v (km/s)", "m (t)", "thrust (MN)"]


def test_slacks_have_the_unit_of_what_they_stand_for():
    problem = rocket()
    problem.minimize(trajopt.absolute(trajopt.state("thrust")))
    (name,) = problem.slacks
    assert units(problem, trajopt.Quantity(f"extra:{name}")) == ["MN"]


# -- figures of states -------------------------------------------------------------------------------------


@pytest.mark.long
def test_states_of_phases_follow_each_other_in_time():
    parts = []
    for name in ("one", "two"):
        system = trajopt.system(("x",) if name == "one" else ("x", "y"), ("u",), _rates(name))
        part = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 2, duration=1.5), name=name)
        part.minimize(trajopt.state("u") ** 2)
        parts.append(part)
    parts[0].start_at(x=[0.0])
    parts[1].end_at(x=[1.0, 1.0])
    both = trajopt.Phases(*parts)
    both.link(lambda a, b: [a.x - b.x, b.y], parts[0].at("end"), parts[1].at("start"))
    solution = trajopt.solve(both)
    figure = trajopt.plot.states(solution)
    x, y, u = figure.axes[:3]
    assert [axis.get_ylabel() for axis in (x, y, u)] == ["x", "y", "u"]
    first, second = (np.asarray(line.get_xdata(), dtype=float) for line in x.get_lines()[:2])
    assert (first.min(), first.max()) == (0.0, 1.5) and (second.min(), second.max()) == (1.5, 3.0)
    assert np.asarray(y.get_lines()[0].get_xdata(), dtype=float).min() == 1.5
    assert len(trajopt.plot.states(solution, names=["y"]).axes) == 1


def _rates(name):
    return (lambda node: [node.u]) if name == "one" else (lambda node: [node.u, node.x + node.u])


@pytest.mark.long
def test_what_is_no_state_is_named():
    solution = trajopt.solve(rocket())
    with pytest.raises(
        UnknownNameError, match=r"no state or control is called 'thrst'.*did you mean 'thrust'"
    ):
        trajopt.plot.states(solution, names=["thrst"])
    with pytest.raises(UnknownNameError, match=r"no states or controls: `plot.joints`"):
        trajopt.plot.states(trajopt.solve(two_link_minimum_time(4)))


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [3, None, "x" * 81, "<b>", "m\ns"])
def test_units_that_are_no_short_text_are_refused(given):
    with pytest.raises(OptionError, match="the unit of 'load' is"):
        rocket().parameter("load", unit=given)


def test_units_of_what_is_not_there_are_refused():
    with pytest.raises(UnknownNameError, match=r"no state or control is called 'mas'.*did you mean 'mass'"):
        trajopt.system(("mass",), ("u",), len, units={"mas": "kg"})
    with pytest.raises(OptionError, match="give a dictionary"):
        trajopt.system(("mass",), ("u",), len, units=["kg"])  # type: ignore[call-overload]

    @trajopt.term(unit=["m", "m", "m"])
    def place(node):
        return node.q

    with pytest.raises(ShapeError, match=r"has 2 components but 3 units \(m, m, m\)"):
        two_link_minimum_time(4).minimize(place)
