"""KKT residuals computed again: the factor of the objective is that of the solve, within bounds."""

from dataclasses import replace

import numpy as np
import pytest

import problems
import trajopt
from trajopt.verification.verify import COARSEST, point_and_kkt, rebuilt_program


@pytest.fixture(scope="module")
def of_a_costly_guess():
    """A solve whose tolerance is a loose one, from a guess that costs far more than the answer; and the
    problem with its own guess."""
    problem = problems.cart_pole.build(intervals=20)
    shaken = problems.cart_pole.build(intervals=20)
    s = np.linspace(0.0, 1.0, 41)
    shaken.guess(np.outer(s, [1.0, np.pi]) + np.outer(np.sin(9.0 * np.pi * s), [0.0, 0.04]))
    found = trajopt.solve(shaken, solver=trajopt.Ipopt(tol=1e-3), starts=1)
    return replace(found, known_problem=problem)


def test_the_error_computed_again_is_that_of_the_solve_whatever_guess_its_factors_are_from(of_a_costly_guess):
    found, program = of_a_costly_guess, rebuilt_program(of_a_costly_guess)
    ratio = program.nlp.scaling.objective / found.scaling.objective
    assert 1.2 < ratio < COARSEST and found.kkt.stationarity > 1e-6
    _, again = point_and_kkt(program, found)
    assert again.stationarity == pytest.approx(found.kkt.stationarity, rel=1e-3)


def test_a_factor_told_by_a_file_makes_no_error_a_hundred_times_smaller_or_more(of_a_costly_guess):
    found, program = of_a_costly_guess, rebuilt_program(of_a_costly_guess)
    bent = program._replace(y=program.y + 1e-3)
    own = replace(found, scaling=program.nlp.scaling, point=None)
    forged = replace(own, scaling=replace(program.nlp.scaling, objective=1e-30))
    assert point_and_kkt(bent, forged)[1].error >= point_and_kkt(bent, own)[1].error / COARSEST
