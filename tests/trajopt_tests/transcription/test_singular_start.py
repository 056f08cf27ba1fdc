"""Starts at which rows have no slope: thrust that may not be off, whose direction nobody guessed."""

import numpy as np
import pytest

import trajopt
from trajopt.transcription.transcribe import transcribe


def magnitude(node):
    return (node.T.T @ node.T) ** 0.5


def square(node):
    return node.T.T @ node.T


def lander(norm, least=5.0, guess=None):
    """A mass over the ground whose engine pulls with at least so many newtons."""
    system = trajopt.system({"r": 2, "v": 2}, {"T": 2}, lambda node: [node.v, node.T - np.array([0.0, 3.7])])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=(2.0, 60.0)))
    problem.control("T", -10.0, 10.0, guess=guess)
    problem.start_at(x={"r": [30.0, 40.0], "v": [1.0, -2.0]})
    problem.end_at(x={"r": 0.0, "v": 0.0})
    problem.subject_to(trajopt.term(norm, name="thrust"), lower=least if norm is magnitude else least**2)
    problem.minimize(trajopt.duration)
    return problem


def start_of(problem):
    nlp = transcribe(problem)
    curve = nlp.unknowns.curve(nlp.start)
    return nlp, curve.at_progress(np.array([0.5]))[0, problem.dynamics.n :]


@pytest.mark.parametrize("norm", [magnitude, square])
def test_controls_start_where_every_row_has_a_slope(norm):
    nlp, thrust = start_of(lander(norm))
    entries = nlp.jacobian(nlp.start)
    assert np.all(np.isfinite(entries))
    assert np.any(thrust != 0.0)


def test_controls_start_where_the_cost_has_a_slope():
    problem = lander(square, least=0.0)
    problem.minimize(trajopt.term(magnitude, name="fuel"))
    nlp, thrust = start_of(problem)
    assert np.all(np.isfinite(nlp.gradient(nlp.start)))
    assert np.any(thrust != 0.0)


def test_a_start_with_slopes_stays_as_it_is():
    _, thrust = start_of(lander(magnitude, guess=[1.0, 2.0]))
    assert thrust == pytest.approx([1.0, 2.0])
    _, thrust = start_of(lander(square, least=0.0))  # nothing is violated
    assert thrust == pytest.approx([0.0, 0.0])


@pytest.mark.long
@pytest.mark.parametrize("norm", [magnitude, square])
def test_a_landing_needs_no_guess(norm):
    assert trajopt.solve(lander(norm)).verify().verdict == "PASS"
    solution, reference = (
        trajopt.solve(lander(norm, guess=guess), refine=None) for guess in (None, [-1.0, 6.0])
    )
    assert solution.objective == pytest.approx(reference.objective, rel=1e-6)
