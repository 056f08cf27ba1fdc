"""Values that are not finite at the guess: phase, term, node, and the guessed value that is the cause."""

import numpy as np
import pytest

import trajopt
from trajopt.base.errors import EvaluationError


def rocket(name="boost", guess=None):
    system = trajopt.system(("h", "m"), ("u",), lambda node: [node.u / node.m, -0.1 * node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 2, duration=1.0), name=name)
    problem.control("u", 0.0, 3.0, guess=1.0)
    problem.start_at(x=[0.0, None])
    problem.minimize(trajopt.state("h"), weight=-1.0, over="end")
    if guess is not None:
        problem.guess(x=guess)
    return problem


def test_a_mass_that_nothing_guesses_is_named():
    with pytest.raises(EvaluationError, match=r"component h is -inf .*\(node 0 of .*component m = 0 there"):
        trajopt.solve(rocket())


def test_a_mass_that_reaches_zero_is_named_with_its_node_and_phase():
    first, second = rocket(guess=[[0.0, 1.0], [1.0, 1.0]]), rocket("coast", [[1.0, 1.0], [2.0, 0.0]])
    phases = trajopt.Phases(first, second)
    phases.link(trajopt.q, first.at("end"), second.at("start"))
    reason = r"phase 'coast': term 'state equations', component h is -inf .* t = 1 s .*component m = 0 there"
    with pytest.raises(EvaluationError, match=reason):
        trajopt.solve(phases)


def test_negative_arguments_are_causes_too():
    problem = rocket(guess=[[-1.0, 1.0], [2.0, 1.0]])
    problem.minimize(trajopt.term(lambda node: np.log(node.h), name="log of height"))
    with pytest.raises(EvaluationError, match=r"'log of height' is nan .*component h = -.*positive"):
        trajopt.solve(problem)


def test_a_slope_that_is_infinite_at_the_guess_is_named():
    problem = rocket(guess=[[0.0, 1.0], [1.0, 1.0]])
    problem.minimize(trajopt.term(lambda node: -np.sqrt(1.0 - node.h), name="room above"))
    with pytest.raises(EvaluationError, match="derivative of term 'room above' by 'q', component h, is inf"):
        trajopt.solve(problem)
