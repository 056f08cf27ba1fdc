"""Systems, controls and integrals as users write them: what is meant is done, what cannot be is refused."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from trajopt.base.errors import OptionError, ShapeError, TrajoptError


def double_integrator(rates=lambda node: [node.v, node.u]):
    return trajopt.system(("x", "v"), ("u",), rates)


@trajopt.term
def effort(node):
    return node.u**2


def least_effort(system=None):
    """Rest to rest over one metre in one second: u = 6 - 12 t."""
    problem = trajopt.Problem(
        system or double_integrator(), trajopt.Trajectory.collocation(4, 3, duration=1.0)
    )
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(effort)
    return problem


def test_components_of_v_are_rates_also_where_a_state_is_called_v():
    """x' = v, so v[0] is the state v = 6 t - 6 t^2 and v[1] its rate, the control."""
    solution = trajopt.solve(least_effort())
    t = np.linspace(0.0, 1.0, 7)
    assert solution.value(trajopt.v[0], t)[:, 0] == pytest.approx(6 * t - 6 * t**2, abs=1e-9)
    assert solution.value(trajopt.v[1], t)[:, 0] == pytest.approx(6 - 12 * t, abs=1e-8)
    assert solution.value(trajopt.q[1], t) == pytest.approx(solution.value(trajopt.state("v"), t))


@pytest.mark.parametrize(
    "rates",
    [lambda node: [node.v, node.u - 0.1 * node.rate("v")], lambda node: [node.x, node.u - 0.1 * node.a[0]]],
)
def test_rates_that_depend_on_rates_are_pointed_to_the_implicit_form(rates):
    with pytest.raises(OptionError, match=r"depend on rates themselves.*residuals=g"):
        trajopt.solve(least_effort(double_integrator(rates)))


def test_the_implicit_form_takes_what_the_explicit_one_refuses():
    """v' = u - v'/10, so u is 1.1 times as large."""
    implicit = trajopt.system(
        ("x", "v"),
        ("u",),
        residuals=lambda node: [node.rate("x") - node.v, 1.1 * node.rate("v") - node.u],
    )
    assert trajopt.solve(least_effort(implicit)).objective == pytest.approx(12.0 * 1.1**2, rel=1e-9)


def test_boundary_values_that_are_one_number_keep_their_names():
    problem = trajopt.Problem(double_integrator(), trajopt.Trajectory.collocation(4))
    problem.start_at(x=0.0, v=0.0)
    assert [c.name for c in problem.constraints[1:]] == ["x at the start", "v at the start"]


# -- other trajectories --------------------------------------------------------------------------------------


def test_a_system_moves_only_to_a_mesh_that_can_hold_its_equations():
    with pytest.raises(OptionError, match=r"use Trajectory.collocation"):
        least_effort().on(trajopt.Trajectory.uniform(10))


def test_a_control_moves_only_to_nodes_that_determine_it():
    problem = least_effort()
    problem.control("u", degree=2)
    with pytest.raises(OptionError, match="21 coefficients, but only 14 nodes"):
        problem.on(trajopt.Trajectory.collocation(7, 2))


def test_a_control_whose_degree_nobody_gave_has_that_of_the_new_mesh():
    finer = least_effort().on(trajopt.Trajectory.collocation(3, 5, duration=1.0))
    pieces = finer.extras["u"].pieces
    assert pieces is not None and pieces.degree == 4
    assert trajopt.solve(finer).objective == pytest.approx(12.0, abs=1e-9)


def test_a_robot_moves_to_a_collocation_mesh_of_its_own_order():
    """Without the second derivatives' continuity its velocities could jump."""
    import problems

    moved = problems.double_integrator.build().on(trajopt.Trajectory.collocation(5, 3))
    assert moved.trajectory.continuity == 1
    assert moved.trajectory.arcs[0].basis.degree == 4


# -- integrals -----------------------------------------------------------------------------------------------


def test_a_part_of_the_motion_is_given_to_the_integral_alone():
    problem = least_effort()
    with pytest.raises(OptionError, match="says itself what it is over"):
        problem.minimize(trajopt.integral(effort), over=(0.0, 0.5))
    with pytest.raises(OptionError, match="hold='hull' bounds control points"):
        problem.subject_to(trajopt.integral(effort), upper=20.0, hold="hull")


@pytest.mark.parametrize("given", [3, None, "effort", trajopt.integral(trajopt.q)])
def test_an_integral_of_what_is_no_term_is_refused(given):
    with pytest.raises(OptionError, match="is no term"):
        trajopt.integral(given)


@pytest.mark.long
def test_certificate_and_report_measure_an_integral_by_the_same_scale():
    problem = trajopt.Problem(double_integrator(), trajopt.Trajectory.collocation(4, 3))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.integral(effort), lower=0.1, upper=50.0, name="energy")
    problem.subject_to(trajopt.state("u"), -1.0, 1.0)
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-4, time_limit=5.0))
    assert solution.certificate is not None
    (line,) = (line for line in solution.certificate.lines if line.name == "energy")
    (entry,) = (entry for entry in solution.verify().violations if entry.name == "energy")
    assert line.scale == entry.scale == 50.0


# -- arguments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("breakpoints", [[], [0.0], ["a", "b"], [0.0, np.nan, 1.0], "ten", None])
def test_breakpoints_that_are_none_are_refused(breakpoints):
    with pytest.raises(ShapeError, match=r"breakpoints|intervals"):
        trajopt.Trajectory.collocation(breakpoints)


@pytest.mark.parametrize("states", [None, 3, {"x", "y"}, ("x", None), ("class",), ("x", "2y"), []])
def test_names_of_states_that_are_none_are_refused(states):
    with pytest.raises(OptionError, match="states"):
        trajopt.system(states, (), len)


@pytest.mark.parametrize("states", [(name for name in ("x", "v")), np.array(["x", "v"]), ["x", "v"]])
def test_any_sequence_of_names_will_do(states):
    assert trajopt.system(states, ("u",), len).states == {"x": 1, "v": 1}


@pytest.mark.parametrize("function", [3, int, "x"])
def test_equations_that_are_no_function_are_refused(function):
    with pytest.raises(OptionError, match="give a function of a node"):
        trajopt.system(("x",), (), function)
    with pytest.raises(OptionError, match="give a function of a node"):
        trajopt.system(("x",), (), residuals=function)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trajopt.state(3), "the name of a state or control is 3"),
        (lambda: trajopt.library.mechanical_work("1"), "expected a finite number above 0"),
        (lambda: trajopt.library.mechanical_work(np.inf), "expected a finite number above 0"),
        (lambda: trajopt.library.force_norm(3), "the joint of a norm is 3"),
        (lambda: least_effort().control("u", continuous="no"), "expected True or False"),
        (lambda: trajopt.SearchSettings(highest_degree=40), "25 at most"),
        (lambda: trajopt.Certified(degree=True), "a whole number, 4 or more"),
        (lambda: trajopt.solve(least_effort(), starts=np.int64(0)), "expected a whole number, 1 or more"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(call, message):
    with pytest.raises(TrajoptError, match=message):
        call()


def test_whole_numbers_of_numpy_count_as_such():
    assert trajopt.Certified(degree=np.int64(12)).degree == 12
    solution = trajopt.solve(least_effort(), starts=np.int64(2))
    assert solution.objective == pytest.approx(12.0, abs=1e-9)
    assert solution.run is not None and solution.run.arguments["starts"] == "2"
