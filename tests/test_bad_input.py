"""What users get wrong is named: the term, the time of the node, the joint, and what to do."""

import math

import pytest

import problems
import trajopt
from trajopt import errors


def arm():
    return problems.two_link_rr.build(intervals=8)


def term_named(name, function):
    return trajopt.terms.ExpressionTerm(function, name)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda node: math.sin(node.q[0]), "term 'mine' contains NaN whatever the node: float"),
        (lambda node: node.q + float(node.v[0]), "term 'mine' contains NaN whatever the node"),
        (lambda node: max(node.q[0], node.q[1]), "term 'mine' branches on a value"),
        (lambda node: sum(x**2 for x in node.q), r"a column cannot be looped over: index it, node.q\[i\]"),
        (lambda node: node.position[0], "node.position, which needs a name, node.position"),
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
