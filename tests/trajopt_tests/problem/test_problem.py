"""Refusals of a problem, and their messages."""

import casadi
import numpy as np
import pytest
from hand_written import PointMasses, TwoLinkArm, two_link_minimum_time
from tiers import every

import trajopt
from trajopt.base import errors
from trajopt.splines.node_sets import END, PATH


def arm(intervals=5, **trajectory):
    return trajopt.Problem(TwoLinkArm(), trajopt.Trajectory.uniform(intervals, **trajectory))


@every(
    "call, error, message",
    [
        (
            lambda p: p.start_at(q=[1.0]),
            errors.ShapeError,
            r"shape \(1,\) are given for the 2 components \(shoulder",
        ),
        (lambda p: p.end_at(v=[0.0, np.nan]), errors.NotFiniteError, "v at the end' has to equal"),
        (
            lambda p: p.subject_to(trajopt.tau, [1, 2, 3], 5),
            errors.ShapeError,
            r"2 components \(shoulder, elbow\) of .tau",
        ),
        (
            lambda p: p.subject_to(trajopt.tau, 2.0, 1.0),
            errors.InfeasibleBoundsError,
            "lower bound 2.0 above upper",
        ),
        (lambda p: p.subject_to(trajopt.tau, np.nan), errors.NotFiniteError, "bound of 'tau' is NaN"),
        (lambda p: p.subject_to(trajopt.q, 0, equals=1), errors.OptionError, "both equals and bounds"),
        (
            lambda p: p.subject_to(trajopt.q, 0, over="middle"),
            errors.OptionError,
            "use 'path', 'start', 'end'",
        ),
        (lambda p: p.subject_to(trajopt.q, 0, over=(0.5, 0.2)), errors.OptionError, "0 <= s0 < s1 <= 1"),
        (
            lambda p: p.subject_to(trajopt.tau, 0, hold="hull"),
            errors.OptionError,
            "hold='hull' bounds control points",
        ),
        (
            lambda p: p.subject_to(trajopt.q, 0, hold="always"),
            errors.OptionError,
            "expected 'nodes' or 'hull'",
        ),
        (
            lambda p: p.minimize(trajopt.Quantity("torqe")),
            errors.UnknownNameError,
            "no quantity is called 'torqe'",
        ),
        (lambda p: p.minimize(trajopt.tau, weight=np.inf), errors.NotFiniteError, "weight of 'tau' is inf"),
        (lambda p: trajopt.tau**3, errors.OptionError, "only 2 is built in"),
        (lambda p: p.guess(np.zeros((4, 3))), errors.ShapeError, r"needs \(samples, 2\)"),
        (
            lambda p: p.guess(np.full((4, 2), np.nan)),
            errors.NotFiniteError,
            "the guess is .*: give finite",
        ),
        (
            lambda p: p.subject_to_periodic(trajopt.q, order=[0, 0]),
            errors.ShapeError,
            r"each of 0 \.\. 1 once",
        ),
        (lambda p: p.subject_to_periodic(trajopt.tau, order=[1, 0]), errors.OptionError, "reorder inside"),
        (lambda p: p.start_at(q=["a", "b"]), errors.ShapeError, "q at the start' is .* give a number"),
        (lambda p: p.minimize(trajopt.tau, weight="x"), errors.ShapeError, "weight of 'tau' is 'x'"),
        (lambda p: p.minimize(trajopt.tau, weight=[1, 2]), errors.ShapeError, "weight of 'tau'"),
        (lambda p: p.minimize("duration"), errors.OptionError, "write trajopt.duration, without quotes"),
        (lambda p: p.minimize("fuel"), errors.OptionError, r"use trajopt.state\('fuel'\)"),
        (lambda p: p.maximize(trajopt.v), AttributeError, r"problem.minimize\(term, weight=-1.0\)"),
        (
            lambda p: p.subject_to_periodic(),
            errors.OptionError,
            r"has no term: name .* subject_to_periodic\(traj",
        ),
        (lambda p: p.subject_to(trajopt.tau), errors.OptionError, "'tau' has no bound: give lower="),
        (lambda p: p.subject_to(trajopt.v, max=1.0), errors.OptionError, "no argument 'max': write upper="),
        (
            lambda p: p.minimize(lambda node: node.tau),
            errors.OptionError,
            "decorate the function with @trajopt",
        ),
        (lambda p: p.extra("f", 1.5), errors.ShapeError, "width of extra 'f' = 1.5"),
        (lambda p: trajopt.solve(p, "ipopt"), errors.OptionError, "solver is 'ipopt': give an instance"),
        (lambda p: trajopt.solve(p, refine="x"), errors.OptionError, "refine is 'x': give an instance"),
        (lambda p: p.guess(duration=-1.0), errors.NotFiniteError, "guessed duration is -1.0"),
        (lambda p: p.parameter("payload", 2.0, 1.0), errors.InfeasibleBoundsError, "'parameter payload' has"),
    ],
)
def test_misuse_is_refused_where_it_is_written(call, error, message):
    with pytest.raises(error, match=message):
        call(arm())


def test_a_misspelt_quantity_gets_a_suggestion():
    with pytest.raises(errors.UnknownNameError, match="did you mean 'position'"):
        arm().subject_to(trajopt.Quantity("postion"), 0.0)


def test_something_that_is_no_problem_is_refused():
    with pytest.raises(errors.ShapeError, match=r"the problem is \{\}: give a trajopt\.Problem"):
        trajopt.solve({})


def test_boundary_values_outside_the_limits_name_the_joint():
    problem = two_link_minimum_time(5)
    problem.subject_to(trajopt.q, [-1.0, -1.5], [2.0, 2.0], hold="hull")
    with pytest.raises(
        errors.InfeasibleBoundsError,
        match=r"of elbow in arc 0 .near s = 0, by 'q'. is fixed at -2 .* limits are \[-1\.5",
    ):
        trajopt.solve(problem)


def test_too_few_control_points_for_the_boundary_conditions_are_refused():
    problem = arm(1, duration=1.0)
    for place in (problem.start_at, problem.end_at):
        place(q=0.3, v=0.0, a=[1.0, 2.0])
    problem.minimize(trajopt.tau**2)
    with pytest.raises(
        errors.DegreesOfFreedomError, match=r"v at the end, shoulder' contradicts .*'q at the start, should"
    ):
        trajopt.solve(problem)


def test_a_guess_of_the_wrong_shape_or_value_is_refused():
    problem = two_link_minimum_time(5)
    problem.guess(lambda s: np.zeros((s.size, 3)))
    with pytest.raises(errors.ShapeError, match="guessed curve returned shape"):
        trajopt.solve(problem)
    problem.guess(lambda s: np.full((s.size, 2), np.inf))
    with pytest.raises(errors.NotFiniteError, match="guessed curve contains NaN or infinity"):
        trajopt.solve(problem)


def test_a_guess_by_samples_is_where_the_solver_starts():
    problem = two_link_minimum_time(5)
    line = np.linspace([0.0, -2.0], [1.0, -1.0], 7) + 0.0
    line += 0.2 * np.sin(np.pi * np.linspace(0.0, 1.0, 7))[:, None]
    problem.guess(line, duration=0.7)
    nlp = trajopt.transcribe(problem)
    start = nlp.unknowns.curve(nlp.start)
    assert start.duration == 0.7
    middle = start.at_progress(0.5)
    assert np.allclose(middle, line[3], atol=0.1) and not np.allclose(middle, [0.5, -1.5], atol=0.05)


def test_a_term_that_branches_on_a_value_is_refused():
    @trajopt.term
    def clipped(node):
        return node.q if node.q[0] > 0 else -node.q

    with pytest.raises(errors.OptionError, match="branches on a value"):
        arm().minimize(clipped)


def test_a_term_that_returns_a_matrix_is_refused():
    @trajopt.term
    def square(node):
        return node.q @ node.q.T

    with pytest.raises(errors.ShapeError, match=r"term 'square' returned shape \(2, 2\)"):
        arm().minimize(square)


def test_an_expression_term_equals_the_built_in_one():
    @trajopt.term
    def effort(node):
        return casadi.sumsqr(node.tau)

    costs = []
    for term in (effort, trajopt.tau**2):
        problem = arm(6, duration=0.8)
        problem.start_at(q=[0.0, -2.0], v=0.0)
        problem.end_at(q=[1.0, -1.0], v=0.0)
        problem.minimize(term, weight=0.5)
        costs.append(trajopt.solve(problem).objective)
    assert np.isclose(*costs, rtol=1e-9)


def test_a_parameter_is_an_unknown_that_terms_see():
    """The least peak force that moves unit mass by unit distance in one second at rest is 4 m d / T^2."""
    problem = trajopt.Problem(PointMasses(), trajopt.Trajectory.uniform(2, 2, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    peak = problem.parameter("peak", 0.0, 100.0, 10.0)

    @trajopt.term
    def margins(node):
        return [node.parameter("peak") - node.tau, node.parameter("peak") + node.tau]

    problem.subject_to(margins, lower=0.0)
    problem.minimize(peak)
    solution = trajopt.solve(problem)
    assert solution.converged and np.isclose(solution.objective, 4.0, rtol=1e-7)
    assert np.isclose(solution.parameters["peak"][0], 4.0, rtol=1e-7)


def test_a_term_that_fails_or_returns_nothing_is_named():
    @trajopt.term
    def outside(node):
        return node.q[7]

    @trajopt.term
    def nothing(node):
        node.q  # noqa: B018  the return was forgotten

    with pytest.raises(errors.OptionError, match="term 'outside' failed while it was traced"):
        arm().minimize(outside)
    with pytest.raises(errors.ShapeError, match="term 'nothing' returned None"):
        arm().minimize(nothing)


def test_a_value_fixed_twice_says_so():
    problem = two_link_minimum_time(5)
    problem.start_at(q=[0.1, -2.0])
    with pytest.raises(errors.DegreesOfFreedomError, match="where the same thing is fixed twice"):
        trajopt.solve(problem)


def test_a_motion_without_freedom_is_refused():
    problem = arm(1, duration=1.0)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.tau**2)
    with pytest.raises(errors.DegreesOfFreedomError, match="nothing is left to optimize"):
        trajopt.solve(problem)


def test_constant_terms_are_refused():
    @trajopt.term
    def constant(node):
        return 3.0

    @trajopt.term
    def vanishing(node):
        return 0.0 * node.q

    problem = two_link_minimum_time(5)
    with pytest.raises(errors.OptionError, match="term 'constant' uses no quantity of the node"):
        problem.subject_to(constant, upper=4.0)
    problem.subject_to(vanishing, upper=4.0)
    with pytest.raises(errors.ProblemError, match="'term:vanishing' depends on no unknown"):
        trajopt.solve(problem)


def test_a_second_unknown_of_the_same_name_is_refused():
    problem = arm(4)
    problem.parameter("payload", 0.0, 2.0)
    problem.extra("force")
    problem.data("wind", [0.0, 1.0], [[0.0], [1.0]])
    for kind, again in (
        ("parameter 'payload'", lambda: problem.parameter("payload")),
        ("extra 'force'", lambda: problem.extra("force")),
        ("data 'wind'", lambda: problem.data("wind", [0.0, 1.0], [[0.0], [1.0]])),
    ):
        with pytest.raises(errors.OptionError, match=f"has {kind} already: give the second one another name"):
            again()


@pytest.mark.parametrize(
    "of",
    [
        lambda b: 2.0 * b,
        lambda b: b + trajopt.duration,
        lambda b: np.sin(b) ** 2 - 1.0 * b,
        lambda b: trajopt.maximum(b[0], 0.0),
    ],
)
def test_the_value_of_arithmetic_of_constants_counts_once(of):
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(3, duration=4.0))
    b = problem.parameter("b", 0.5, 2.0)
    problem.minimize(of(b))
    assert problem.costs[0].over == END
    problem.minimize(b * 2.0 + trajopt.q)
    assert problem.costs[1].over == PATH


def test_a_multiple_of_a_parameter_and_its_weight_are_one_cost():
    values = []
    for scaled in (True, False):
        problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(3, duration=4.0))
        b = problem.parameter("b", 0.5, 2.0)
        problem.minimize(2.0 * b) if scaled else problem.minimize(b, weight=2.0)
        problem.start_at(q=0.0)
        nlp = trajopt.transcribe(problem)
        values.append(nlp.objective(nlp.start))
    assert values[0] == pytest.approx(values[1], rel=1e-14)
