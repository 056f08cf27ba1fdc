"""Costs that are zero pass, relative to the size of what cancels in them; costs that only claim it do not."""

from dataclasses import replace

import numpy as np
import pytest
from tiers import fast_first

import dynamics
import trajopt
from trajopt.base.tolerances import BETWEEN
from trajopt.checks.integral_checks import cost_checks, size_of_parts_and_rounding
from trajopt.checks.violations import violations

MASS, SECONDS = 2.0, 0.5
RESONANT = MASS * (np.pi / SECONDS) ** 2  # N/m
COST = "motor_torque squared"


def swing(intervals=6, order=6):
    """A mass between two places, by a motor and a spring of unknown stiffness: in resonance by the spring."""
    joint = dynamics.Joint("slide", "prismatic")
    cart = dynamics.RigidBodyModel([dynamics.Body("cart", joint, mass=MASS)], gravity=(0.0, 0.0, 0.0))
    mesh = trajopt.Trajectory.collocation(intervals, order, duration=SECONDS)
    problem = trajopt.Problem(cart, mesh)
    problem.design("slide.stiffness", problem.parameter("stiffness", lower=1.0, upper=200.0, guess=20.0))
    problem.start_at(q=-1.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.Quantity("motor_torque") ** 2)
    return problem


def oscillator():
    """The same as a system, whose cost has no parts that cancel: the control itself is zero."""
    rates = lambda node: [node.v, node.u - node.parameter("k") * node.x]  # noqa: E731
    system = trajopt.system(("x", "v"), ("u",), rates)
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 5, duration=np.pi))
    problem.parameter("k", lower=0.1, upper=10.0, guess=3.0)
    problem.start_at(x=[-1.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    return problem


@pytest.fixture(scope="module")
def resonant():
    return trajopt.solve(swing())


@fast_first(("intervals", "order"), [(6, 6), (6, 4), (10, 8)], 2)
def test_a_motor_that_does_nothing_passes(intervals, order):
    solution = trajopt.solve(swing(intervals, order))
    assert solution.objective < 1e-12
    report = solution.verify()
    assert report.holds, report.reason


@pytest.mark.long
def test_a_control_that_is_zero_passes():
    solution = trajopt.solve(oscillator())
    assert solution.objective < 1e-18 and solution.parameters["k"][0] == pytest.approx(1.0, abs=1e-8)
    report = solution.verify()
    assert report.holds, report.reason


def test_the_parts_of_a_square_that_is_zero_are_those_of_its_root(resonant):
    """(m |a| + k |q|)^2."""
    t = np.linspace(0.0, SECONDS, 2001)
    q, a = resonant.q(t)[:, 0], resonant.a(t)[:, 0]
    parts = (MASS * np.abs(a) + RESONANT * np.abs(q)) ** 2
    assert size_of_parts_and_rounding(resonant)[0] == pytest.approx(np.mean(parts) * SECONDS, rel=1e-3)


@pytest.mark.parametrize("planted", [1e-9, 1e-3, 1.0])
def test_a_planted_cost_is_refused_where_the_true_one_is_zero(resonant, planted):
    told = replace(resonant, cost_terms={COST: planted}, objective=planted)
    assert "whose cost must have changed" in told.verify().reason


@pytest.mark.parametrize("factor", [1.0 + 1e-5, 1.01])
def test_a_zero_is_refused_where_the_motion_costs_something(resonant, factor):
    """Another stiffness than that of the motion: the motor gives the difference."""
    told = replace(resonant, parameters={"stiffness": factor * resonant.parameters["stiffness"]})
    assert resonant.objective < 1e-12 and "whose cost must have changed" in told.verify().reason


@fast_first(("intervals", "order"), [(2, 3), (3, 3)])
def test_a_cost_that_is_small_at_the_nodes_of_a_coarse_mesh_alone_is_refused(intervals, order):
    report = trajopt.solve(swing(intervals, order)).verify()
    assert report.holds_at_nodes and "at the nodes, but its integral is" in report.reason


@fast_first("offset", [0.0, 1e3])
def test_a_cost_that_is_zero_at_the_nodes_alone_is_refused(offset):
    """The nodes lie on the sine that x should follow, the parabolas between them do not.

    A large offset that cancels is no part of what x does.
    """
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 2, duration=2.0))

    problem.parameter("offset", lower=offset, upper=offset)

    @trajopt.term
    def miss(node):
        return (node.x - node.parameter("offset") - np.sin(node.t)) ** 2

    problem.start_at(x=[offset])
    problem.minimize(miss)
    solution = trajopt.solve(problem, refine=None)
    assert solution.objective < 1e-16
    assert "at the nodes, but its integral is 4.4" in solution.verify().reason


def at_rest(intervals, order):
    """A turned body that stays where it is: its torques are rounding, and so are their parts."""
    body = dynamics.Body("body", dynamics.Joint("joint"), None, 1.0, np.zeros(3), np.diag([0.2, 0.35, 0.5]))
    robot = dynamics.RigidBodyModel(dynamics.ball_joint(body), np.zeros(3))
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(intervals, order, duration=1.0))
    problem.start_at(q=np.full(3, 0.3), v=np.zeros(3))
    problem.end_at(q=np.full(3, 0.3), v=np.zeros(3))
    problem.minimize(trajopt.tau**2)
    return trajopt.solve(problem)


@pytest.mark.long
@pytest.mark.parametrize(
    ("intervals", "order"),
    [(2, 3), pytest.param(4, 3, marks=pytest.mark.long), pytest.param(4, 4, marks=pytest.mark.long)],
)
def test_a_body_at_rest_passes_and_a_cost_planted_on_it_does_not(intervals, order):
    solution = at_rest(intervals, order)
    assert solution.objective < 1e-20
    report = solution.verify()
    assert report.verdict == "PASS", report.reason
    told = replace(solution, cost_terms={"tau squared": 1e-15}, objective=1e-15)
    assert "whose cost must have changed" in told.verify().reason


def falling(cost, over=None, start=(5.0, 0.0)):
    """A body that falls by itself, or is pushed by u: with no push the costs below are zero."""
    system = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u - 1.0])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 3, duration=1.0))
    problem.control("u", lower=-3.0, upper=3.0)
    problem.start_at(x=list(start))
    problem.minimize(cost, **({} if over is None else {"over": over}))
    return trajopt.solve(problem, refine=None, starts=1)


@pytest.fixture(scope="module")
def not_pushed():
    return falling(trajopt.absolute(trajopt.state("u")))


def test_an_absolute_value_that_is_zero_passes_with_an_error_that_covers_what_the_solve_left(not_pushed):
    report = not_pushed.verify()
    assert report.holds, report.reason
    assert abs(not_pushed.objective) < 1e-8 and report.error_of_optimum >= abs(not_pushed.objective)


X, U = trajopt.state("x"), trajopt.state("u")


@pytest.mark.parametrize(
    ("cost", "over", "start"),
    [
        (1e6 * trajopt.absolute(U) ** 2 + trajopt.maximum(X - 5.0, 0.0), None, (5.0, 0.0)),
        (trajopt.absolute(X - 1e5 + 0.5), "end", (1e5, 0.0)),
        pytest.param(1e-6 * trajopt.norm(U), None, (5.0, 0.0), marks=pytest.mark.long),
        pytest.param(trajopt.maximum(X - 4.5, 0.0), "end", (5.0, 0.0), marks=pytest.mark.long),
    ],
)
def test_costs_with_slacks_whose_optimum_is_zero_pass(cost, over, start):
    report = falling(cost, over, start).verify()
    assert report.holds, report.reason


@pytest.mark.parametrize("planted", [1e-7, -1e-7, 1.0])
def test_a_cost_planted_on_slacks_that_are_zero_is_refused(not_pushed, planted):
    told = replace(not_pushed, cost_terms={"|u|": planted}, objective=planted)
    assert "whose cost must have changed" in told.verify().reason


@pytest.mark.parametrize("push", [1e-7, 1.0])
def test_slacks_of_zero_are_no_cost_of_a_term_that_is_not_zero(not_pushed, push):
    u, slack = not_pushed.curve.apart
    pushed = replace(u, control_points=(np.full_like(u.control_points[0], push),))
    told = replace(not_pushed, curve=replace(not_pushed.curve, apart=(pushed, slack)))
    (check,) = cost_checks(told)
    assert check.relative > BETWEEN and check.integral == pytest.approx(push)


def test_a_limit_that_is_named_like_a_row_of_a_slack_is_checked():
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 2, duration=1.0))
    problem.start_at(x=[0.0])
    problem.minimize(trajopt.absolute(X - 2.0), over="end")
    (slack,) = problem.parameters
    problem.subject_to(X, upper=1.0, name=f"{slack}, 3 of 3")
    checked = [line.name for line in violations(trajopt.solve(problem, refine=None, starts=1))]
    assert [name for name in checked if "slack" in name] == [f"{slack}, 3 of 3"]


def test_an_absolute_value_that_is_zero_at_the_nodes_alone_is_refused():
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 2, duration=2.0))
    problem.start_at(x=[0.0])

    @trajopt.term
    def miss(node):
        return node.x - np.sin(node.t)

    problem.minimize(trajopt.absolute(miss))
    solution = trajopt.solve(problem, refine=None, starts=1)
    assert abs(solution.objective) < 1e-8
    assert "at the nodes, but its exact integral is" in solution.verify().reason
