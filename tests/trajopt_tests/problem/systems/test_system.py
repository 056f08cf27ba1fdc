"""Systems x' = f(x, u): accuracy as the scheme promises, controls with a basis of their own, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from double_integrator import double_integrator, effort, least_effort
from tiers import fast_first

import trajopt
from trajopt.base.errors import (
    OptionError,
    ProblemError,
    ShapeError,
    UnknownNameError,
)


@pytest.mark.parametrize("points", ["radau", "gauss", "lobatto"])
def test_a_polynomial_optimum_within_the_degree_is_exact(points):
    solution = trajopt.solve(least_effort(points=points))
    t = np.linspace(0.0, 1.0, 41)
    assert solution.converged
    assert solution.objective == pytest.approx(12.0, abs=1e-10)
    assert np.allclose(solution.q(t)[:, 0], 3 * t**2 - 2 * t**3, atol=1e-9)
    assert np.allclose(solution.value(trajopt.state("u"), t)[:, 0], 6 - 12 * t, atol=1e-7)


def initial_value_error(intervals, order, points):
    """|x(1) - exp(i w)| of a harmonic oscillator, an initial value problem without any freedom but u = 0."""
    w = 4.0
    oscillator = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, -(w**2) * node.x + node.u])
    mesh = trajopt.Trajectory.collocation(intervals, order, points, duration=1.0)
    problem = trajopt.Problem(oscillator, mesh)
    problem.start_at(x=[1.0, 0.0])
    problem.minimize(effort)
    end = trajopt.solve(problem, refine=None).q(1.0)
    return np.abs(end - [np.cos(w), -w * np.sin(w)]).max()


@fast_first(
    ("order", "points", "promised"),
    [
        (2, "radau", 3),
        (2, "gauss", 4),
        (3, "lobatto", 4),
        (3, "radau", 5),
        (3, "gauss", 6),
        (4, "lobatto", 6),
    ],
    3,
)
def test_the_error_at_the_end_falls_with_the_order_that_the_points_promise(order, points, promised):
    coarse, fine = (initial_value_error(count, order, points) for count in (4, 8))
    assert np.log2(coarse / fine) == pytest.approx(promised, abs=0.35)


@pytest.mark.parametrize(("degree", "continuous"), [(0, False), (1, False), (1, True), (2, True), (2, False)])
def test_each_control_has_the_coefficients_of_its_own_basis(degree, continuous):
    intervals, problem = 5, least_effort()
    problem.control("u", degree=degree, continuous=continuous)
    coefficients = intervals * degree + 1 if continuous else intervals * (degree + 1)
    states = 2 * (3 * intervals + 1) - 4
    assert trajopt.transcribe(problem).variable_count == states + coefficients


def test_a_constant_control_is_constant_on_every_interval():
    problem = least_effort(intervals=8)
    problem.control("u", degree=0)
    solution = trajopt.solve(problem)
    t = (np.arange(8)[:, None] + np.array([0.1, 0.5, 0.9])) / 8
    u = solution.value(trajopt.state("u"), t)[..., 0]
    assert solution.converged
    assert np.ptp(u, axis=1).max() == 0.0
    assert np.all(np.diff(u[:, 0]) < -1.0)


def bang_bang(system=None):
    mesh = trajopt.Trajectory.collocation(2, order=2)
    problem = trajopt.Problem(system or double_integrator(), mesh)
    problem.control("u", lower=-1.0, upper=1.0, degree=0)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.duration)
    return problem


@pytest.mark.long
def test_a_control_may_jump_inside_an_arc():
    solution = trajopt.solve(bang_bang())
    assert solution.converged
    assert solution.duration == pytest.approx(2.0, abs=1e-8)
    assert solution.value(trajopt.state("u"), [0.1, 1.9])[:, 0] == pytest.approx([1.0, -1.0])
    assert solution.verify().holds


def test_an_implicit_form_has_the_same_optimum():
    implicit = trajopt.system(
        ("x", "v"), ("u",), residuals=lambda node: [node.rate("x") - node.v, 2 * node.rate("v") - 2 * node.u]
    )
    assert trajopt.solve(bang_bang(implicit)).duration == pytest.approx(2.0, abs=1e-8)


class Integrators:
    """x' = (x_2, u) in NumPy, with derivatives."""

    inputs, outputs = {"x": 2, "u": 1}, {"rates": 2}

    def value(self, u):
        return {"rates": np.stack([u["x"][:, 1], u["u"][:, 0]], axis=1)}

    def partials(self, u):
        count = len(u["x"])
        return {
            ("rates", "x"): np.tile([[0.0, 1.0], [0.0, 0.0]], (count, 1, 1)),
            ("rates", "u"): np.tile([[0.0], [1.0]], (count, 1, 1)),
        }

    def curvature(self, u, adjoints):
        return {}


@pytest.mark.long
def test_rates_may_be_a_block_of_numpy_with_derivatives():
    solution = trajopt.solve(bang_bang(trajopt.system(("x", "v"), ("u",), Integrators())))
    assert solution.duration == pytest.approx(2.0, abs=1e-8)


def test_parameters_may_enter_the_rates():
    growing = trajopt.system(("x",), (), lambda node: [node.parameter("rate") * node.x])
    problem = trajopt.Problem(growing, trajopt.Trajectory.collocation(4, 4, "gauss", duration=1.0))
    problem.parameter("rate", 0.1, 2.0)
    problem.start_at(x=[1.0])
    problem.end_at(x=[2.0])
    solution = trajopt.solve(problem)
    assert solution.parameters["rate"] == pytest.approx(np.log(2.0), abs=1e-9)


def test_boundary_values_that_are_none_stay_free():
    problem = trajopt.Problem(
        double_integrator(), trajopt.Trajectory.collocation(4, duration=1.0), name="free end"
    )
    problem.start_at(x=[0.0, None])
    problem.end_at(x=[1.0, None])
    problem.minimize(effort)
    solution = trajopt.solve(problem)
    assert solution.objective == pytest.approx(0.0, abs=1e-12)
    assert solution.v(0.5)[0] == pytest.approx(1.0)


@pytest.mark.long
def test_bounds_and_costs_of_a_state_by_its_name():
    problem = trajopt.Problem(double_integrator(), trajopt.Trajectory.collocation(4, duration=2.0))
    problem.control("u", -1.0, 1.0)
    problem.subject_to(trajopt.state("v"), upper=1.5)
    problem.start_at(x=[0.0, 0.0])
    problem.minimize(-trajopt.state("x"), over="end")
    solution = trajopt.solve(problem)
    # full force until 1.5 m/s are reached, at 1.5 s, which an interval ends at
    assert solution.objective == pytest.approx(-(1.5**2 / 2 + 1.5 * 0.5), abs=1e-7)


def test_a_saved_solution_has_its_controls(tmp_path):
    problem = least_effort()
    problem.control("u", degree=1, continuous=True)
    solution = trajopt.solve(problem)
    solution.save(tmp_path / "x.npz")
    loaded = trajopt.Solution.load(tmp_path / "x.npz", problem)
    t = np.linspace(0.0, 1.0, 11)
    assert np.array_equal(loaded.curve(t), solution.curve(t))
    assert loaded.verify().holds


def test_a_control_of_a_robot_drives_it():
    import dynamics

    slide = dynamics.from_dh(
        [dynamics.DhRow(name="slide", kind="prismatic", mass=2.0)], gravity=(0.0, 0.0, 0.0)
    )
    problem = trajopt.Problem(slide, trajopt.Trajectory.collocation(2, order=1))
    problem.control("force", lower=-2.0, upper=2.0, degree=0)

    @trajopt.term
    def motor(node):
        return node.tau - node.extra("force")

    problem.subject_to(motor, equals=0.0)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.duration)
    assert trajopt.solve(problem).duration == pytest.approx(2.0, abs=1e-8)


# -- bad input ----------------------------------------------------------------------------------------------


def test_rates_that_return_nothing_are_named():
    problem = trajopt.Problem(trajopt.system(("x", "v"), ("u",), lambda node: None))
    problem.start_at(x=[0.0, 0.0])
    with pytest.raises(ShapeError, match=r"the rates of the system are None: return a list"):
        trajopt.solve(problem)


def test_rates_of_the_wrong_number_are_refused_with_the_states():
    wrong = trajopt.system(("x", "v"), ("u",), lambda node: [node.u])
    with pytest.raises(ShapeError, match=r"1 components but there are 2 states \(x, v\)"):
        trajopt.solve(least_effort(system=wrong))


def test_a_control_that_enters_nothing_is_refused():
    idle = trajopt.system(("x",), ("u", "w"), lambda node: [node.u])
    problem = trajopt.Problem(idle, trajopt.Trajectory.collocation(4, duration=1.0))
    problem.start_at(x=[0.0])
    problem.minimize(effort)
    with pytest.raises(ProblemError, match="control 'w' enters no equation"):
        trajopt.solve(problem)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((("x", "x"), (), len), "name of two states"),
        ((("t",), (), len), "which a node has already"),
        ((("1x",), (), len), "use letters"),
        (("xv", (), len), "give a tuple of names"),
        (((), (), len), "needs a state"),
        ((("x",), ()), "needs one form"),
    ],
)
def test_names_and_forms_that_cannot_be_meant_are_refused(arguments, message):
    with pytest.raises(OptionError, match=message):
        trajopt.system(*arguments)


def test_an_unknown_control_is_refused_with_the_near_one():
    problem = trajopt.Problem(
        trajopt.system(("x",), ("thrust",), lambda node: [node.thrust]), trajopt.Trajectory.collocation(4)
    )
    with pytest.raises(
        UnknownNameError, match=r"no control of the system is called 'thrst'.*did you mean 'thrust'"
    ):
        problem.control("thrst", 0.0, 1.0)


def test_a_basis_finer_than_the_nodes_tell_is_refused():
    problem = least_effort(order=2)
    with pytest.raises(OptionError, match="15 coefficients, but only 10 nodes"):
        problem.control("u", degree=2)
    with pytest.raises(OptionError, match="so one number"):
        problem.control("u", degree=0, continuous=True)
    with pytest.raises(OptionError, match=r"control 'u' \(0: constant.* = -1: expected a whole number"):
        problem.control("u", degree=-1)


def test_jumps_where_the_motion_is_smooth_are_refused():
    import problems

    problem = problems.sliding_mass.build()
    with pytest.raises(OptionError, match=r"accelerations .* are continuous there"):
        problem.control("force", degree=1)


def test_a_system_on_a_mesh_that_does_not_match_is_refused():
    with pytest.raises(OptionError, match=r"use Trajectory.collocation"):
        trajopt.Problem(double_integrator(), trajopt.Trajectory.uniform(10))


def test_a_state_whose_rate_enters_no_residual_has_no_equation():
    """w appears, but nothing says how it changes."""
    algebraic = trajopt.system(
        ("x", "w"), ("u",), residuals=lambda node: [node.rate("x") - node.w, node.w - node.u]
    )
    with pytest.raises(ProblemError, match=r"the state 'w' has no equation.*make it a control"):
        trajopt.solve(least_effort_of(algebraic))


def least_effort_of(system):
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, duration=1.0))
    problem.start_at(x=[0.0, None])
    problem.minimize(effort)
    return problem


def test_states_have_no_unit_that_nobody_told():
    assert "rad" not in trajopt.solve(least_effort()).verify().table


def test_a_system_has_no_torques():
    with pytest.raises(UnknownNameError, match="no quantity is called 'tau'"):
        least_effort().minimize(trajopt.tau)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 1, "lobatto"), "number of lobatto points per interval, = 1: .* 2 or more"),
        ((4, 0), "1 or more"),
        ((4, 13), "= 13: expected a whole number, 12 at most"),
        ((4, 3, "newton"), "points = 'newton': expected 'lobatto' or"),
    ],
)
def test_schemes_that_do_not_exist_are_refused(arguments, message):
    with pytest.raises(OptionError, match=message):
        trajopt.Trajectory.collocation(*arguments)


def test_values_for_another_number_of_states_are_refused():
    problem = least_effort()
    with pytest.raises(ShapeError, match=r"2 components \(x, v\) of 'x at the start'"):
        problem.start_at(x=[1.0])
    with pytest.raises(OptionError, match="leaves all of x, v free"):
        problem.start_at(x=[None, None])
    with pytest.raises(OptionError, match="both given"):
        problem.start_at([0.0, 0.0], x=[0.0, 0.0])


def test_more_boundary_values_than_controls_can_meet_say_what_is_free():
    fixed = trajopt.system(("x",), (), lambda node: [node.x])
    problem = trajopt.Problem(fixed, trajopt.Trajectory.collocation(4, duration=1.0))
    problem.start_at(x=[1.0])
    problem.end_at(x=[1.0])
    solution = trajopt.solve(problem)
    assert solution.status is trajopt.Status.NOT_ENOUGH_FREEDOM
    assert "only controls are free (there are none)" in str(solution)


# -- verification ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_states_are_simulated_forward_under_the_controls():
    exact = trajopt.solve(least_effort()).verify()
    assert exact.simulation is not None and exact.simulation.end_to_end < 1e-10
    gaps = []
    for intervals in (4, 8):
        pendulum = trajopt.system(
            ("x", "v"), ("u",), lambda node: [node.v, node.u * np.cos(node.t) - 9.0 * np.sin(node.x)]
        )
        report = trajopt.solve(least_effort(intervals, 3, "gauss", pendulum)).verify()
        assert report.simulation is not None and report.simulation.end_to_end_is_useful
        gaps.append(report.simulation.restarted)
    # an interval's own error falls by one order more than the end's: 2 order + 1
    assert np.log2(gaps[0] / gaps[1]) > 5.5


def test_the_implicit_form_is_not_simulated():
    implicit = trajopt.system(
        ("x", "v"), ("u",), residuals=lambda node: [node.rate("x") - node.v, node.rate("v") - node.u]
    )
    assert trajopt.solve(least_effort(system=implicit)).verify().simulation is None


# -- limits ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_limits_at_collocation_points_give_the_optimum_of_radau_collocation_by_hand():
    from benchmarks.systems import by_hand, rayleigh

    mine, theirs = trajopt.solve(rayleigh(10, 2), refine=None), by_hand(10, 2)
    assert mine.n_variables == theirs.unknowns
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-8)


@pytest.mark.long
def test_a_state_that_is_free_at_the_start_keeps_its_limit_there():
    problem = trajopt.Problem(double_integrator(), trajopt.Trajectory.collocation(3, duration=1.0))
    problem.control("u", -1.0, 1.0)
    problem.subject_to(trajopt.state("x"), lower=-1.0)
    problem.end_at(x=[0.0, 0.5])
    problem.minimize(trajopt.state("x"), over="start")
    assert trajopt.solve(problem).q(0.0)[0] == pytest.approx(-1.0, abs=1e-8)
