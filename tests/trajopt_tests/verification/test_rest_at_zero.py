"""Motions that rest on a limit of zero pass, of every solver; what is small but real stays as it is."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import trajopt
from trajopt.solution.answers import program_of, rested
from trajopt.solvers.kkt import largest_violation
from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import Status

SOLVERS = {"ipopt": trajopt.Ipopt(), "interior": trajopt.InteriorPoint(), "slsqp": trajopt.Slsqp()}
x, y, u, w = map(trajopt.state, "xyuw")


def point(*costs, rates=lambda node: [node.u], start=0.0):
    """x' = u, or other rates, over a second."""
    problem = trajopt.Problem(
        trajopt.system(["x"], ["u"], rates), trajopt.Trajectory.collocation(6, 3, duration=1.0)
    )
    problem.start_at(x=[start])
    for cost in costs:
        problem.minimize(cost)
    return problem


def beside_a_way(*costs):
    """x' = u from 0 to 1 and y' = w from 0, which rests where it costs."""
    system = trajopt.system(["x", "y"], ["u", "w"], lambda node: [node.u, node.w])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 3, duration=1.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, None])
    for cost in costs:
        problem.minimize(cost)
    return problem


def held_up():
    problem = point(u**2, 1e-3 * x, rates=lambda node: [node.u - 1.0])
    problem.subject_to(x, lower=0.0)
    return problem


def never_pushed():
    problem = point(u + x)
    problem.control("u", 0.0, 5.0)
    return problem


def two_limits_of_one_term():
    problem = point(trajopt.term(lambda node: node.x + node.u + 1, name="cost"))
    problem.subject_to(trajopt.term(lambda node: [node.x, node.u], name="both"), lower=[0.0, 0.0])
    return problem


def rests_beside_a_way():
    problem = beside_a_way(u**2 + y + w**2)
    problem.subject_to(y, lower=0.0)
    return problem


def push_that_costs():
    problem = beside_a_way(u**2 + w + y)
    problem.control("w", 0.0, None)
    return problem


def whole_rest():
    """x'' = u rests at zero, a bound of x: costs vanish with the motion, and their multipliers are noise."""
    mass = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u])
    problem = trajopt.Problem(mass, trajopt.Trajectory.collocation(4, duration=1.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[0.0, 0.0])
    problem.subject_to(trajopt.state("x"), lower=0.0, upper=100.0)
    problem.minimize(trajopt.state("u") ** 2 + trajopt.state("x") ** 2)
    return problem


RESTS = {
    "wholly": (whole_rest, 0.0),
    "held up": (held_up, 1.0),
    "never pushed": (never_pushed, 0.0),
    "two limits of one term": (two_limits_of_one_term, 1.0),
    "beside a way": (rests_beside_a_way, 1.0),
    "a push that costs": (push_that_costs, 1.0),
}


# With a factor of 1e6 of its objective, of 40 starts that differ by 1e-14 SLSQP finds three to its tolerance.
BY_ROUNDING = {("held up", "slsqp")}


@pytest.mark.long
@pytest.mark.parametrize(("name", "solver"), sorted(set(product(RESTS, SOLVERS)) - BY_ROUNDING))
def test_a_motion_that_rests_on_a_limit_of_zero_passes(name, solver):
    problem, optimum = RESTS[name]
    solution = trajopt.solve(problem(), solver=SOLVERS[solver])
    report = solution.verify()

    assert report.holds, report.reason
    assert solution.objective == pytest.approx(optimum, abs=1e-9)


def result_of(problem):
    program = program_of(problem)
    return program, run_solver(trajopt.Ipopt(), program)


def test_what_a_solver_leaves_of_a_rest_is_taken_away_and_no_more():
    program, result = result_of(push_that_costs())
    at_rest = rested(program, result)
    before, after = (program.unknowns.curve(each.y)(np.linspace(0.0, 1.0, 5)) for each in (result, at_rest))

    assert 0.0 < np.abs(before[:, 1]).max() < 1e-8 and not after[:, 1].any()
    assert np.array_equal(before[:, 0], after[:, 0])
    stopped = replace(result, status=Status.ITERATION_LIMIT)
    assert rested(program, stopped) is stopped


def test_a_whole_rest_has_no_multipliers_of_the_barrier():
    program, result = result_of(whole_rest())
    multipliers = np.full(program.row_count, 0.1)  # as the quotient of two numbers near zero may be
    left = replace(result, y=np.where(np.abs(result.y) > 0.5, result.y, 1e-11), row_multipliers=multipliers)
    at_rest = rested(program, replace(left, status=Status.CONVERGED))

    assert not program.unknowns.curve(at_rest.y)(np.linspace(0.0, 1.0, 5)).any()
    assert not at_rest.row_multipliers.any()


def moved_a_little():
    """y has to end at 1e-9."""
    problem = beside_a_way(u**2 + w**2)
    problem.subject_to(trajopt.term(lambda node: node.y, name="end of y"), equals=1e-9, over="end")
    return problem


def gains_a_little():
    """y follows 1e-9 t: a cost of 1/3 where it rests."""
    follow = trajopt.term(lambda node: (1e9 * node.y - node.t) ** 2 + node.w**2, name="follow")
    return beside_a_way(u**2 + follow)


@pytest.mark.parametrize("problem", [moved_a_little, gains_a_little])
def test_a_motion_of_a_billionth_that_is_asked_for_stays(problem):
    program, result = result_of(problem())
    assert result.status is Status.CONVERGED
    assert 1e-10 < np.abs(program.unknowns.curve(result.y)(1.0)[1]) < 1e-8
    assert rested(program, result) is result


def test_a_small_motion_that_is_asked_for_stays_whatever_else_is_violated():
    """y has to end at 1e-12; rows of x are violated by a thousand times that."""
    problem = beside_a_way(u**2 + w**2)
    problem.subject_to(trajopt.term(lambda node: node.y, name="end of y"), equals=1e-12, over="end")
    program, result = result_of(problem)
    worse = replace(result, y=np.where(np.abs(result.y) > 1e-3, (1.0 + 1e-9) * result.y, result.y))

    assert largest_violation(program, worse.y, program.rows(worse.y)) > 1e-10
    assert rested(program, worse) is worse


def test_states_that_rest_beside_a_control_are_not_measured_by_what_is_left_of_them():
    """Rows of the limit were multiplied by 7e7 in the solve with limit nodes."""
    program = program_of(held_up())
    motion = np.where(np.arange(program.variable_count) < 18, 1e-8, 1.0)
    sizes = program.unknowns.sizes(motion, program.lower, program.upper)
    assert sizes is None


def test_states_that_begin_small_are_measured_whatever_their_controls_are():
    problem = point(u**2, start=1e-9)
    program = program_of(problem)
    motion = np.where(np.arange(program.variable_count) < 18, 2e-9, 1.0)
    sizes = program.unknowns.sizes(motion, program.lower, program.upper)
    assert sizes is not None and np.all(sizes[:18] == 2.0**-29) and np.all(sizes[18:] == 1.0)
