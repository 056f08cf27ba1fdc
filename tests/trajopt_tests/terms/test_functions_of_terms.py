"""NumPy's functions and operators on terms: their values, or an error that says what to write."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from hand_written import two_link_minimum_time
from taylor_slopes import slope_and_difference_of_rows
from tiers import every

import trajopt
from trajopt.base import errors
from trajopt.terms.arithmetic import FUNCTIONS


@pytest.fixture(scope="module")
def solution():
    return trajopt.solve(two_link_minimum_time(6))


@every("name", FUNCTIONS)
def test_a_function_of_a_term_has_the_functions_values(solution, name):
    """On a range where every one of them is defined: cosines of angles, moved above 1 for arccosh."""
    function, t = getattr(np, name), np.linspace(0.0, solution.duration, 9)
    argument = 1.0 * trajopt.q if name != "arccosh" else np.exp(np.square(trajopt.q))
    if name in ("arcsin", "arccos", "arctanh"):
        argument = 0.5 * np.sin(trajopt.q)
    if name in ("log", "log10", "log1p", "sqrt"):
        argument = np.exp(trajopt.q)
    u = solution.value(argument, t)
    assert np.allclose(solution.value(function(argument), t), function(u), rtol=1e-12, atol=1e-14)


def test_derivatives_of_functions_are_exact():
    """A slope test of the program: first derivatives against differences of the rows."""
    problem = two_link_minimum_time(5)
    problem.subject_to(np.sin(2.0 * trajopt.q) - np.tanh(trajopt.v), lower=-9.0, upper=9.0)
    problem.subject_to(trajopt.tau * (trajopt.v - [0.3, 0.1]), lower=-99.0, upper=99.0)
    slope, difference = slope_and_difference_of_rows(trajopt.transcribe(problem))
    assert np.allclose(slope, difference, rtol=1e-6, atol=1e-7)


def test_operators_of_numpy_are_those_of_terms(solution):
    t = np.linspace(0.0, solution.duration, 5)
    q = solution.q(t)
    for term, expected in (
        (np.array([2.0, 3.0]) * trajopt.q, [2.0, 3.0] * q),
        (np.float64(2.0) * trajopt.q, 2.0 * q),
        (np.subtract(trajopt.v, trajopt.q), solution.v(t) - q),
        (np.negative(trajopt.q), -q),
        (np.divide(trajopt.q, 4.0), q / 4.0),
        (np.power(trajopt.q, 2), q**2),
        (sum([trajopt.q, trajopt.v]), q + solution.v(t)),
        (+trajopt.q, q),
        (trajopt.q * trajopt.v, q * solution.v(t)),
        (trajopt.q * trajopt.q, q**2),
        ((trajopt.q - 1.0) * np.sin(trajopt.v) * 2.0, 2.0 * (q - 1.0) * np.sin(solution.v(t))),
        (3.0 + trajopt.q, 3.0 + q),
        (3.0 - trajopt.q, 3.0 - q),
        (np.array([1.0, 2.0]) - 2.0 * trajopt.q, [1.0, 2.0] - 2.0 * q),
        (trajopt.q - np.array([1.0, 2.0]), q - [1.0, 2.0]),
        (2.0 * (trajopt.q - 1.0) - (trajopt.v + 3.0), 2.0 * (q - 1.0) - (solution.v(t) + 3.0)),
        ((trajopt.q - [1.0, 2.0]) ** 2, (q - [1.0, 2.0]) ** 2),
        (np.sin(trajopt.q - 1.0), np.sin(q - 1.0)),
        (trajopt.absolute(trajopt.q - 1.0) + 2.0, np.abs(q - 1.0) + 2.0),
        (trajopt.maximum(trajopt.q + 1.0, 0.5) - 1.0, np.maximum(q + 1.0, 0.5) - 1.0),
    ):
        assert np.allclose(solution.value(term, t), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.long
def test_a_distance_from_numbers_is_that_of_a_term_written_by_hand():
    """As a cost and, by pieces, as bounds: |v - m| <= r is m - r <= v <= m + r."""

    @trajopt.term
    def error(node):
        return [node.q[0] - 0.2, node.q[1] + 1.1]

    middle, reach = np.array([1.0, 0.5]), np.array([1.0, 0.6])
    free, by_hand, shifted = (two_link_minimum_time(6) for _ in range(3))
    for each in (free, by_hand):
        each.minimize(error**2, weight=0.3)
    by_hand.subject_to(trajopt.v, middle - reach, middle + reach)
    shifted.minimize((trajopt.q - [0.2, -1.1]) ** 2, weight=0.3)
    shifted.subject_to(trajopt.absolute(trajopt.v - middle) - reach, upper=0.0)
    solutions = [trajopt.solve(each, starts=1, progress="silent") for each in (free, by_hand, shifted)]
    assert all(each.converged and each.verify().verdict == "PASS" for each in solutions)
    best, one, other = (each.objective for each in solutions)
    assert other == pytest.approx(one, rel=1e-7) and one > 1.01 * best


@every(
    "call, message",
    [
        (lambda: math.sin(trajopt.state("u")), "NumPy's functions take terms, np.sin"),
        (lambda: np.floor(trajopt.state("u")), "np.floor was called with a term: write it inside one"),
        (lambda: np.sin(trajopt.q, where=[True]), "np.sin was called with a term"),
        (lambda: (trajopt.q + trajopt.v)[1], "has no entry 1"),
        (lambda: 1.0 / trajopt.state("u"), "1.0 was divided by a term: write it inside one @trajopt.term"),
        (lambda: np.array([1.0, 2.0]) / trajopt.q, "was divided by a term"),
        (lambda: 2.0**trajopt.q, "2.0 was raised to the power of a term"),
        (lambda: np.power(2.0, trajopt.q), "2.0 was raised to the power of a term"),
        (lambda: np.nan + trajopt.q, "a term was added to nan: give a finite number, or one per component"),
        (lambda: np.ones((2, 2)) + trajopt.q, "a term was added to .* one per component"),
        (lambda: trajopt.q - "x", "a term was added to 'x': give a number, or one per component"),
        (lambda: trajopt.q + None, "a term was added to None"),
        (lambda: trajopt.q * "x", "a term was multiplied by 'x'"),
    ],
)
def test_what_terms_do_not_have_says_what_to_write(call, message):
    with pytest.raises(errors.OptionError, match=message):
        call()


@every("compare", [operator.lt, operator.le, operator.gt, operator.ge])
@every("bound", [1.0, np.ones(2), trajopt.v])
def test_a_comparison_is_pointed_to_bounds(compare, bound):
    with pytest.raises(errors.OptionError, match=r"problem\.subject_to"):
        compare(trajopt.q, bound)
