"""Mistakes of users are named: the term, the time of the node, the joint, and what to do."""

import math

import numpy as np
import pytest

import problems
import trajopt
from trajopt.base import errors

MASKED = np.ma.masked_array([0.1, 0.2], mask=[False, True])


def arm():
    return problems.two_link_rr.build(intervals=8)


def term_named(name, function):
    return trajopt.ExpressionTerm(function, name)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda node: math.sin(node.q[0]), "term 'mine' contains NaN whatever the node: float"),
        (lambda node: node.q + float(node.v[0]), "term 'mine' contains NaN whatever the node"),
        (lambda node: max(node.q[0], node.q[1]), "term 'mine' branches on a value.*trajopt.maximum"),
        (lambda node: node.tau @ node.tau, "incompatible dimensions.*x.T @ x is the sum of squares"),
        (lambda node: node.q[7], "out of bounds.*components are counted from 0"),
        (lambda node: node.parameter("mass"), "declare it first, problem.parameter.'mass', lower"),
        (lambda node: node.data("wind"), "declare it first, problem.data.'wind', times, values"),
        (lambda node: node.torque, "no quantity is called 'torque' .did you mean 'tau'"),
        (lambda node: sum(x**2 for x in node.q), r"a column cannot be looped over: index it, node.q\[i\]"),
        (lambda node: node.position[0], "node.position, which needs a name, node.position"),
        (
            lambda node: node.q + MASKED,
            "term 'mine' uses a masked array, whose masked entries would be zeros",
        ),
        (lambda node: np.maximum(node.q, MASKED), "term 'mine' uses a masked array"),
        (lambda node: [node.q[0], MASKED[1]], "term 'mine' uses a masked array"),
        (lambda node: np.maximum(node.q, None), "term 'mine' failed while it was traced: TypeError"),
        (lambda node: node.position, r"term 'mine' returned node.position, which needs a name"),
        (
            lambda node: node.q + node.position("elbow"),
            "term 'mine' .* TypeError|RuntimeError: Dimension mismatch",
        ),
    ],
)
def test_a_function_that_cannot_be_traced_is_told_why(function, message):
    with pytest.raises(errors.TrajoptError, match=message):
        arm().minimize(term_named("mine", function))


def test_bounds_in_the_wrong_order_name_the_joint():
    with pytest.raises(
        errors.InfeasibleBoundsError, match=r"lower bound 2.0 above upper bound 1.0 in component elbow"
    ):
        arm().subject_to(trajopt.tau, lower=[1, 2], upper=[5, 1])


@pytest.mark.long
def test_components_of_a_term_are_called_as_its_author_says():
    @trajopt.term(components=["drive", "brake"])
    def margins(node):
        return [5.0 - node.tau[0], 5.0 + node.tau[0]]

    problem = arm()
    problem.subject_to(margins, lower=0.0)
    solution = trajopt.solve(problem)
    assert {v.label for v in solution.verify().violations} >= {"margins, drive", "margins, brake"}
    assert "brake" in {active.component for active in trajopt.report.active_constraints(solution)}
    assert problem.component_names("term:margins", 2) == ["drive", "brake"]


def test_as_many_names_as_components_are_needed():
    @trajopt.term(components=["x", "y", "z"])
    def place(node):
        return node.q

    with pytest.raises(errors.ShapeError, match=r"term 'place' has 2 components but 3 names \(x, y, z\)"):
        arm().minimize(place)


def test_components_without_names_are_joints_where_each_looks_at_one_alone():
    problem = arm()
    power = term_named("power", lambda node: node.tau * node.v)
    mixed = term_named("mixed", lambda node: [node.q[0] + node.q[1], node.q[1]])
    one = term_named("one", lambda node: node.q[0])
    for term, names in ((power, ["shoulder", "elbow"]), (mixed, ["0", "1"]), (one, [""])):
        width = problem.width_of_term(term)
        assert problem.component_names(term.quantity, width) == names
    assert problem.component_names((power**2).quantity, 2) == ["0", "1"]
    problem.minimize(power**2 + 2.0 * trajopt.v**2)
    assert problem.component_names(problem.costs[-1].term.quantity, 2) == ["shoulder", "elbow"]
    assert problem.component_names("position:elbow", 3) == ["x", "y", "z"]
    assert problem.component_names("base_wrench dt", 6)[4] == "force y"


class Column:
    """A block of one output of q, made of a function of all nodes at once."""

    inputs = {"q": 2}  # noqa: RUF012
    outputs = {"column": 1}  # noqa: RUF012

    def __init__(self, function):
        self.function = function

    def value(self, u):
        return {"column": self.function(u["q"])}

    def partials(self, u):
        return {("column", "q"): np.tile([[[1.0, 0.0]]], (len(u["q"]), 1, 1))}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda q: np.cumsum(q[:, :1], axis=0),
            r"'column' is .* at t = .* s \(node \d+\), but .* in reverse order",
        ),
        (
            lambda q: q[:, :1] - q[:, :1].mean() ** 2,
            "the derivative of term .column. .* of its own values give",
        ),
        (lambda q: q.__imul__(2.0)[:, :1], "term 'column' changes its input 'q' in place: copy it first"),
    ],
)
def test_a_block_that_looks_beyond_its_node_or_changes_it_is_refused(function, message):
    problem = arm()
    problem.subject_to(trajopt.block_term(Column(function)), upper=3.0)
    with pytest.raises(errors.TrajoptError, match=message):
        trajopt.solve(problem)


def test_a_block_that_depends_on_chance_is_refused():
    rng = np.random.default_rng(0)
    problem = arm()
    noisy = Column(lambda q: q[:, :1] + rng.standard_normal((len(q), 1)))
    problem.subject_to(trajopt.block_term(noisy), upper=3.0)
    with pytest.raises(errors.EvaluationError, match="let it depend on its own node alone"):
        trajopt.solve(problem)


def test_a_limit_that_the_boundary_values_break_is_refused_at_once():
    problem = arm()
    problem.subject_to(trajopt.q, lower=-1.0, upper=1.0, name="cage")
    with pytest.raises(
        errors.InfeasibleBoundsError, match=r"'cage', component elbow, is -2 at t = 0 s \(node 0\)"
    ):
        trajopt.solve(problem)


def test_a_limit_that_no_unknown_reaches_is_refused_or_no_row():
    problem = problems.minimum_acceleration.build()
    problem.subject_to(trajopt.duration, upper=2.0)
    assert trajopt.transcribe(problem).row_count == 0 and trajopt.solve(problem).converged
    problem.subject_to(trajopt.t, upper=0.5)
    with pytest.raises(errors.InfeasibleBoundsError, match=r"'t' is 0.5\d* at .* whatever the motion"):
        trajopt.solve(problem)


def test_conditions_fixed_twice_within_the_motion_are_both_named():
    problem = arm()
    for name, elbow in (("via", -2.0), ("via again", -2.1)):
        problem.subject_to(trajopt.q, equals=[0.1, elbow], over=(0.5, 0.5 + 1e-9), name=name)
    with pytest.raises(
        errors.DegreesOfFreedomError,
        match=r"'via again, elbow at s = 0.5 .node 12.' contradicts 'via, elbow at s = 0.5 .node 12.' by 0.1",
    ):
        trajopt.solve(problem)


@pytest.mark.long
def test_a_term_that_turns_nan_on_the_way_is_named_and_nothing_else_is_said(recwarn):
    problem = arm()
    rooted = term_named("rooted", lambda node: (node.q[1] + 2.0001) ** 0.5)
    problem.subject_to(rooted, upper=3.0)
    solution = trajopt.solve(problem)
    assert not solution.converged and not recwarn.list
    assert "term 'rooted'" in solution.detail and "(node " in solution.detail


def test_two_terms_of_one_name_are_refused_unless_they_are_the_same():
    problem = arm()
    first, same, other = (trajopt.ExpressionTerm(lambda node, i=i: node.q[i], "place") for i in (0, 0, 1))
    problem.subject_to(first, upper=1.0)
    problem.subject_to(same, lower=-1.0)
    with pytest.raises(errors.OptionError, match="two different terms are called 'place'"):
        problem.subject_to(other, upper=1.0)
    with pytest.raises(errors.OptionError, match="two different terms are called 'place'"):
        problem.minimize(other**2 + trajopt.v[0] ** 2)


def test_a_term_named_like_a_part_of_another_is_refused():
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 2, duration=1.0))
    problem.minimize(trajopt.state("u") ** 2 + trajopt.state("x") ** 2)
    with pytest.raises(errors.OptionError, match="two different terms are called 'x'"):
        problem.subject_to(trajopt.term(lambda node: node.x - 10.0, name="x"), upper=2.0)


def test_masked_arrays_outside_of_terms_stay_as_they_are():
    with pytest.raises(errors.ShapeError):
        arm().minimize(term_named("mine", lambda node: node.q + MASKED))
    assert not hasattr(np.ma.MaskedArray, "__SX__")


def test_a_component_whose_bound_is_none_is_free():
    problem = arm()
    problem.subject_to(trajopt.v, lower=[None, -1.0], upper=(2.0, None), name="speeds")
    problem.subject_to(trajopt.tau, equals=[None, 0.0], name="second")
    speeds, second = problem.constraints[-2:]
    assert speeds.lower.tolist() == [-np.inf, -1.0] and speeds.upper.tolist() == [2.0, np.inf]
    assert second.lower.tolist() == [-np.inf, 0.0] and second.upper.tolist() == [np.inf, 0.0]
    problem.parameter("p", lower=[0.0, None], upper=[None, 1.0])
    assert problem.parameters["p"].upper.tolist() == [np.inf, 1.0]
