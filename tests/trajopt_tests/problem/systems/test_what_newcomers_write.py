"""Systems and phases as newcomers write them: refused with what to write instead, or right."""

import copy

import numpy as np
import pytest

import trajopt
from trajopt.base.errors import OptionError, ShapeError


def free(node):
    return [node.v, node.u]


def push(rates=free, name="push"):
    """A mass over a metre in a second."""
    mass = trajopt.system(["x", "v"], ["u"], rates)
    problem = trajopt.Problem(mass, trajopt.Trajectory.collocation(4, 2, duration=1.0), name=name)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    return problem


@pytest.mark.parametrize(
    ("rates", "given"),
    [
        (lambda x, u: [x[1], u[0]], r"\(x, u\)"),
        (lambda t, x, u: [x[1], u[0]], r"\(t, x, u\)"),
        (lambda: [0.0, 0.0], r"\(nothing\)"),
    ],
)
def test_rates_of_several_arguments_are_refused_where_the_system_is_made(rates, given):
    with pytest.raises(
        OptionError, match=rf"function of the rates takes {given}, .* one node, def f\(node\)"
    ):
        trajopt.system(("x", "v"), ("u",), rates)
    with pytest.raises(OptionError, match=rf"function of the residuals takes {given}"):
        trajopt.system(("x", "v"), ("u",), residuals=rates)


def test_functions_of_a_node_may_have_further_arguments_with_values():
    def damped(node, damping=0.0, **others):
        return [node.v, node.u - damping * node.v]

    assert trajopt.solve(push(damped)).objective == pytest.approx(12.0, rel=1e-9)


def test_a_term_of_two_nodes_says_what_it_is_called_with():
    @trajopt.term
    def wrong(node, other):
        return node.x - other.x

    with pytest.raises(OptionError, match=r"takes \(node, other\), but is called with one node"):
        push().minimize(wrong)


def test_a_dictionary_of_rates_is_refused_with_the_list_that_is_wanted():
    with pytest.raises(ShapeError, match=r"returned a dictionary \(x, v\): return a list, in the order"):
        trajopt.solve(push(lambda node: {"x": node.v, "v": node.u}))


def test_an_array_of_rates_is_as_good_as_a_list():
    assert trajopt.solve(push(lambda node: np.array([node.v, node.u]))).objective == pytest.approx(12.0)


def two():
    return push(name="first"), push(name="second")


@pytest.mark.parametrize(
    "compared",
    [
        lambda a, b: a.x == b.x,
        lambda a, b: [a.x - b.x, a.v == b.v],
        lambda a, b: a.x <= b.x,
        lambda a, b: a.x != b.x,
    ],
)
def test_a_comparison_is_no_link(compared):
    """Taken for the number that it is, a.x == b.x would be zero where the phases do not meet."""
    first, second = two()
    both = trajopt.Phases(first, second)
    with pytest.raises(OptionError, match="returns a comparison, which is the number 0 or 1: return what is"):
        both.link(compared, first.at("end"), second.at("start"))
    with pytest.raises(OptionError, match="returns a comparison"):
        both.minimize(compared, first.at("end"), second.at("start"))


def test_links_of_another_number_of_nodes_names_and_lists_say_what_to_write():
    first, second = two()
    both = trajopt.Phases(first, second)
    ends = first.at("end"), second.at("start")
    with pytest.raises(OptionError, match=r"takes \(n\), but is called with 2 nodes, one for each instant"):
        both.link(lambda n: n.x, *ends)
    for what in ("x", [trajopt.state("x")]):
        with pytest.raises(OptionError, match=r"give a function of a node per instant, lambda before, after"):
            both.link(what, *ends)
    with pytest.raises(ShapeError, match=r"given as a list: write trajopt\.Phases\(\*problems\)"):
        trajopt.Phases(list(two()))


def test_a_solution_says_how_a_state_is_read_and_can_be_copied():
    solution = trajopt.solve(push())
    for name, near in (("x", ""), ("u", ""), ("t", ""), ("state", " .did you mean 'costate'.*")):
        with pytest.raises(
            AttributeError, match=rf"no '{name}'{near}: solution\.value\(trajopt\.state\('{name}'\), t\)"
        ):
            getattr(solution, name)
    assert not hasattr(solution, "x")
    found = copy.copy(solution).value(trajopt.state("x"), [0.0, 0.5, 1.0])
    assert found.ravel() == pytest.approx([0.0, 0.5, 1.0], abs=1e-2)
