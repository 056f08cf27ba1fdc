"""Obstacles to a solution, and the least that mends them."""

from dataclasses import replace

import casadi
import numpy as np
import pytest
from hand_written import PointMasses, two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.solvers.solver import WarmStart
from trajopt.transcription.transcribe import structure_of
from trajopt.verification.diagnosis import Elastic, cancelling_rows, diagnose, repeated_equations


def mass_in_time(longest, speed=np.inf):
    """2 kg over 1 m with 50 N: possible from 0.4 s on, or later under a speed limit."""
    dynamics = PointMasses(1, 2.0, 50.0)
    dynamics.limits.velocity = np.array([speed])
    problem = trajopt.Problem(dynamics, trajopt.Trajectory.uniform(20, duration=(0.1, longest)))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


@pytest.mark.long
def test_a_motion_too_short_needs_as_much_time_as_the_fastest_one():
    diagnosis = diagnose(mass_in_time(0.3))
    fastest = trajopt.solve(mass_in_time(1.0)).duration
    by_name = {change.limit: change for change in diagnosis.changes}
    assert not diagnosis.feasible
    assert np.isclose(by_name["duration of arc 0"].absolute, fastest - 0.3, rtol=1e-4)
    assert np.isclose(by_name["duration of arc 0"].relative, (fastest - 0.3) / 0.3, rtol=1e-4)


def test_or_as_much_force_as_that_time_asks_for():
    """Force goes with 1 / T^2: the limit that suffices is that of the fastest motion, scaled."""
    diagnosis = diagnose(mass_in_time(0.3))
    fastest = trajopt.solve(mass_in_time(1.0)).duration
    force = next(change for change in diagnosis.changes if change.limit == "torque limits")
    assert np.isclose(force.absolute, 50.0 * (fastest / 0.3) ** 2 - 50.0, rtol=1e-3)
    assert diagnosis.changes[0].relative == min(change.relative for change in diagnosis.changes)


def test_the_worst_constraints_are_named_with_joint_and_time():
    page = str(diagnose(mass_in_time(0.3)))
    assert "torque limits, slider 0 at t = " in page and "probably infeasible" in page
    assert "smallest change of one limit that restores feasibility" in page


@pytest.mark.long
def test_speeds_are_told_in_their_own_unit():
    diagnosis = diagnose(mass_in_time(0.3, speed=2.0))
    assert any(conflict.place.limit == "velocity limits" for conflict in diagnosis.worst)
    assert diagnosis.changes == () or all(np.isfinite(change.absolute) for change in diagnosis.changes)


@pytest.mark.long
def test_where_no_single_limit_helps_the_diagnosis_says_so():
    problem = mass_in_time(1.0)
    for window in ((0.2, 0.3), (0.6, 0.7)):  # two contradictions, and no limit is part of both
        problem.subject_to(trajopt.q, lower=0.6, over=window, name=f"beyond at {window[0]}")
        problem.subject_to(trajopt.q, upper=0.5, over=window, name=f"before at {window[0]}")
    diagnosis = diagnose(problem)
    assert not diagnosis.feasible and diagnosis.changes == ()
    assert "no change of a single limit restores feasibility" in str(diagnosis)


def test_a_feasible_problem_is_called_so():
    diagnosis = diagnose(two_link_minimum_time(8))
    assert diagnosis.feasible and diagnosis.conflicts == () and "can be met together" in str(diagnosis)


def test_a_solution_already_at_hand_is_not_solved_again():
    problem = mass_in_time(0.3)
    stuck = trajopt.solve(problem, trajopt.Ipopt(max_iterations=3))
    diagnosis = stuck.diagnose()
    assert diagnosis.status == stuck.status.value and not diagnosis.feasible


@pytest.mark.long
def test_an_answer_on_finer_knots_than_its_problem_can_be_diagnosed():
    coarse, fine = two_link_minimum_time(6), trajopt.solve(two_link_minimum_time(12))
    diagnosis = diagnose(coarse, solution=fine)
    assert diagnosis.feasible and diagnosis.status == "converged" and diagnosis.worst == ()


def test_bad_scaling_is_warned_of_with_the_names_of_the_extremes():
    @trajopt.term
    def tiny(node):
        return 1e-9 * node.v + 1e-3

    problem = mass_in_time(1.0)
    problem.subject_to(tiny, upper=1.0)
    diagnosis = diagnose(problem)
    assert any("gradients by row differ" in warning and "tiny" in warning for warning in diagnosis.warnings)


@trajopt.term
def curved(node):
    return node.q * node.q


MIDWAY = (0.5, 0.5 + 1e-9)


def test_an_equation_said_twice_is_named_with_its_time_and_joint():
    problem = mass_in_time(1.0)
    for name in ("midway", "midway again"):
        problem.subject_to(curved, equals=0.25, over=MIDWAY, name=name)
    (warning,) = diagnose(problem).warnings
    assert warning.startswith("1 of 2 equations depend on others; midway again, slider 0 at t = 0.2")
    assert "follows from midway, slider 0 at t = 0.2" in warning and warning.endswith("s: drop one")


def test_equations_that_contradict_each_other_are_told_apart_from_those_that_repeat():
    problem = mass_in_time(1.0)
    problem.subject_to(curved, equals=0.25, over=MIDWAY, name="midway")
    problem.subject_to(curved, equals=0.5, over=MIDWAY, name="elsewhere")
    solution = trajopt.solve(problem, starts=1)
    assert not solution.converged
    (sentence,) = repeated_equations(solution)
    assert "elsewhere, slider 0 at t = " in sentence and "contradicts midway, slider 0 at t = " in sentence


def curves_that_touch(highest):
    """Two curves that touch at y = 0, or cross at y = highest, and more of y is worth something."""
    problem = mass_in_time(1.0)
    for name, at in (("x", 0.7), ("y", 0.8)):
        problem.parameter(name, -3.0, 3.0, guess=at)
    for side, name in ((1.0, "left curve"), (-1.0, "right curve")):
        curve = trajopt.term(
            lambda node, side=side: node.parameter("x") + side * node.parameter("y") ** 6, name=name
        )
        problem.subject_to(curve, equals=0.0 if highest is None else side * highest**6, over="start")
    problem.minimize(trajopt.term(lambda node: -node.parameter("y"), name="up"))
    return problem


@pytest.mark.long
def test_rows_that_only_the_optimum_makes_dependent_are_named_by_the_verdict():
    """Gradients are parallel at y = 0 alone: multipliers rise as 1 / (12 y^5), to no end."""
    solution = trajopt.solve(curves_that_touch(None), starts=1, refine=None)
    reason = replace(solution, status=trajopt.Status.ACCEPTABLE).verify().reason
    assert "2 rows and limits depend on each other where the solve ended" in reason
    assert "left curve at t = 0.0000 s" in reason and "right curve at t = 0.0000 s" in reason
    across = trajopt.solve(curves_that_touch(0.5), starts=1, refine=None)
    assert across.converged and not replace(across, status=trajopt.Status.ACCEPTABLE).verify().dependent


def test_multipliers_that_cancel_are_told_by_their_sizes():
    class Rows:
        """Three rows of two unknowns, the first two nearly parallel, as a program has them."""

        row_count, variable_count = 3, 2
        jacobian_rows, jacobian_columns = np.repeat([0, 1, 2], 2), np.tile([0, 1], 3)

        def jacobian(self, y):
            return np.array([1.0, 1e-10, 2.0, -2e-10, 1.0, 1.0])

    def found(rows, lower=(0.0, 0.0), upper=(0.0, 0.0)):
        multipliers = (np.array(each, float) for each in (rows, lower, upper))
        return cancelling_rows(Rows(), WarmStart(np.zeros(2), *multipliers)).tolist()

    assert found([-2e10, 1e10, 1.0]) == [0, 1]
    assert found([-2e10, 0.9e10, 1.0]) == []  # they do not cancel
    assert found([1e10, 0.0, 0.0], lower=[1e10, 0.0]) == [0, 3]  # a row and the bound of the first unknown
    assert found([np.nan, 1.0, 1.0]) == found([0.0, 0.0, 0.0]) == []


def test_a_pose_of_the_tool_beside_joints_that_fix_it_is_left_out_or_refused():
    def reach(x):
        problem = two_link_minimum_time(6)
        problem.subject_to(trajopt.ExpressionTerm(tip, "tool"), equals=x, over="end")
        return trajopt.transcribe(problem)

    def tip(node):
        return 0.4 * casadi.cos(node.q[0]) + 0.4 * casadi.cos(node.q[0] + node.q[1])

    reached = 0.4 * np.cos(1.0) + 0.4
    problem = two_link_minimum_time(6)
    problem.subject_to(trajopt.ExpressionTerm(tip, "tool"), equals=reached, over="end")
    constant = structure_of(problem).constant
    assert [group.count for group in constant.groups] == [1]
    assert not any("tau" in block.outputs for block in constant.graph.blocks)  # no dynamics for a pose
    assert constant.leaf_map.nodes < problem.trajectory.nodes.count
    assert reach(reached).row_count == trajopt.transcribe(two_link_minimum_time(6)).row_count
    with pytest.raises(
        errors.InfeasibleBoundsError, match=r"'tool' is 0.6161\d* at t = .* whatever the motion"
    ):
        reach(reached + 0.1)


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_row_that_is_fixed_at_nan_is_refused():
    def root(node):
        return casadi.sqrt(node.q[0] - 0.5)

    problem = two_link_minimum_time(6)
    problem.guess(np.ones((2, 2)))  # finite here, but the boundary value of q[0] is 0
    problem.subject_to(trajopt.ExpressionTerm(root, "root"), lower=0.0, over="start")
    with pytest.raises(errors.InfeasibleBoundsError, match="'root' is nan at t = 0 s"):
        trajopt.transcribe(problem)


def test_more_equations_than_unknowns_are_named():
    problem = mass_in_time(1.0)
    problem.subject_to(curved, equals=0.25, over=(0.1, 0.9))
    answers = repeated_equations(trajopt.solve(problem))
    assert 0 < len(answers) <= 8 and "equations depend on others" in answers[0]
    assert all("curved, slider 0 at t = " in answer for answer in answers)


def test_parameters_may_overstep_their_bounds_and_only_durations_stay_positive():
    problem = mass_in_time(1.0)
    problem.minimize(problem.parameter("gain", lower=-2.0, upper=2.0, guess=-1.0) ** 2)
    nlp = trajopt.transcribe(problem)
    lower = Elastic(nlp).lower[: nlp.variable_count]
    assert np.flatnonzero(np.isfinite(lower)).tolist() == nlp.unknowns.durations.tolist()


def test_derivatives_of_the_elastic_problem_are_those_of_its_functions():
    elastic = Elastic(trajopt.transcribe(two_link_minimum_time(5)))
    rng = np.random.default_rng(0)
    y = elastic.start + 0.01 * rng.standard_normal(elastic.variable_count)
    step, direction = 1e-6, rng.standard_normal(elastic.variable_count)
    weights = rng.standard_normal(elastic.row_count)

    def slope(function):
        return (function(y + step * direction) - function(y - step * direction)) / (2.0 * step)

    jacobian = np.zeros((elastic.row_count, elastic.variable_count))
    np.add.at(jacobian, (elastic.jacobian_rows, elastic.jacobian_columns), elastic.jacobian(y))
    assert np.allclose(jacobian @ direction, slope(elastic.rows), atol=1e-6)
    assert np.isclose(elastic.gradient(y) @ direction, slope(elastic.objective), rtol=1e-6)

    def lagrangian_gradient(at):
        matrix = np.zeros_like(jacobian)
        np.add.at(matrix, (elastic.jacobian_rows, elastic.jacobian_columns), elastic.jacobian(at))
        return elastic.gradient(at) + matrix.T @ weights

    hessian = np.zeros((elastic.variable_count, elastic.variable_count))
    np.add.at(hessian, (elastic.hessian_rows, elastic.hessian_columns), elastic.hessian(y, weights, 1.0))
    hessian = hessian + np.tril(hessian, -1).T
    assert np.allclose(hessian @ direction, slope(lagrangian_gradient), rtol=1e-4, atol=1e-5)


def greatest_area(limit=None):
    """The largest area under a curve of length pi / 3 between 0 and 1: an arc of a circle of radius 1."""
    system = trajopt.system(["x"], ["u"], lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(12, 3, duration=1.0))
    problem.start_at(x=[0.0])
    problem.end_at(x=[0.0])
    length = trajopt.term(lambda node: (1.0 + node.u**2) ** 0.5, name="length")
    problem.subject_to(trajopt.integral(length), upper=np.pi / 3.0)
    problem.minimize(-1 * trajopt.state("x"))
    if limit is not None:
        problem.control("u", -limit, limit)
    return problem


@pytest.mark.long
def test_controls_that_a_constraint_limits_are_not_named():
    for over, named in ((None, False), ("end", True)):
        problem = greatest_area()
        problem.subject_to(trajopt.state("u"), -10.0, 10.0, **({} if over is None else {"over": over}))
        stopped = trajopt.solve(problem, trajopt.Ipopt(max_iterations=3), starts=1)
        assert not stopped.converged and ("without bounds of their own" in str(stopped.diagnose())) is named


@pytest.mark.long
def test_controls_without_bounds_are_named_where_a_feasible_solve_ends_without_an_optimum():
    stopped = trajopt.solve(greatest_area(), trajopt.Ipopt(max_iterations=100), starts=1)
    told = str(stopped.diagnose())

    assert not stopped.converged
    assert "can be met together" in told and "problem.control('u', lower, upper)" in told

    solution = trajopt.solve(greatest_area(limit=10.0), starts=1)
    assert solution.objective == pytest.approx(-(np.pi / 6.0 - np.sqrt(3.0) / 4.0), rel=1e-6)
    assert solution.verify().holds
    assert "without bounds" not in str(solution.diagnose())
