"""Errors of a phase begin with its name, and what has no rate is named with what to do."""

import numpy as np
import pytest

import trajopt
from trajopt.base import errors


def two_phases(rates):
    """A phase "first" with x' = u and a phase "second" with these rates."""
    parts = []
    for name, law in (("first", lambda node: [node.u]), ("second", rates)):
        system = trajopt.system(("x",), ("u",), law)
        part = trajopt.Problem(system, trajopt.Trajectory.collocation(3, 2, duration=1.0), name=name)
        part.minimize(trajopt.state("u") ** 2)
        parts.append(part)
    first, second = parts
    first.start_at(x=[0.0])
    second.end_at(x=[1.0])
    both = trajopt.Phases(first, second)
    both.link(trajopt.q, first.at("end"), second.at("start"))
    return both


@pytest.mark.parametrize(
    ("rates", "error"),
    [
        (lambda node: [node.u, node.x], errors.ShapeError),
        (lambda node: [node.u + np.log(node.x - 5.0)], errors.EvaluationError),
        (lambda node: [node.w], errors.UnknownNameError),
    ],
    ids=["two rates of one state", "not a number", "an unknown name"],
)
def test_an_error_of_a_phase_begins_with_its_name(rates, error):
    with np.errstate(all="ignore"), pytest.raises(error, match=r"^phase 'second': "):
        trajopt.solve(two_phases(rates))


def test_a_contradiction_within_a_phase_begins_with_its_name():
    both = two_phases(lambda node: [node.u])
    both.parts[1].subject_to(trajopt.state("x"), equals=3.0, over="end")
    with pytest.raises(errors.DegreesOfFreedomError, match=r"^phase 'second': the condition"):
        trajopt.solve(both)


def test_rates_of_controls_are_refused_with_two_ways_out():
    both = two_phases(lambda node: [node.u])
    with pytest.raises(errors.UnknownNameError, match=r"continuous=True\), or make it a state"):
        both.parts[1].minimize(trajopt.term(lambda node: node.rate("u") ** 2, name="jerk"))


def test_links_may_have_names_of_states_and_limits():
    # x1 goes on from where x0 ends: with x_i' = u_i and integral(u'u) the least is met on lines.
    system = trajopt.system(("x0", "x1"), ("u0", "u1"), lambda node: [node.u0, node.u1])
    part = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 2, duration=1.0))
    part.start_at(x=[1.0, None])
    part.end_at(x=[None, 3.0])
    for control in ("u0", "u1"):
        part.minimize(trajopt.state(control) ** 2)
    part.minimize(trajopt.state("x1"), weight=1e-9)
    part.subject_to(trajopt.state("x1"), lower=0.0)
    alone = trajopt.Phases(part)
    alone.link(lambda here, there: here.x1 - there.x0, part.at("start"), part.at("end"), name="x1")
    solution = trajopt.solve(alone)
    assert [constraint.name for constraint in part.constraints][-1] == "x1"
    assert solution.phases[0].q([0.0, 1.0]) == pytest.approx(np.array([[1.0, 2.0], [2.0, 3.0]]), abs=1e-6)
    assert solution.verify().holds
