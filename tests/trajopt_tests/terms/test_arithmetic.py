"""Sums and multiples of terms."""

import numpy as np
import pytest
from hand_written import two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.graph.trace import trace


@trajopt.term
def power(node):
    return node.tau * node.v


def test_sums_and_multiples_are_those_of_the_values():
    solution = trajopt.solve(two_link_minimum_time(6))
    t = np.linspace(0.0, solution.duration, 9)
    q, v, tau = solution.q(t), solution.v(t), solution.tau(t)
    for term, expected in (
        (2.0 * trajopt.q - trajopt.v / 4.0 + power, 2.0 * q - v / 4.0 + tau * v),
        (-(trajopt.tau * [0.5, 2.0]), -tau * [0.5, 2.0]),
        ((trajopt.q + trajopt.q) ** 2, 4.0 * q**2),
    ):
        assert np.allclose(solution.value(term, t), expected, rtol=1e-13, atol=1e-13)


def test_a_combined_cost_equals_the_sum_of_costs():
    objectives = []
    for combined in (True, False):
        problem = two_link_minimum_time(6)
        if combined:
            problem.minimize(0.01 * trajopt.tau**2 + 0.02 * trajopt.v**2)
        else:
            problem.minimize(trajopt.tau**2, weight=0.01)
            problem.minimize(trajopt.v**2, weight=0.02)
        objectives.append(trajopt.solve(problem).objective)
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-9)


def test_quotients_odd_factors_and_widths_are_refused():
    with pytest.raises(errors.OptionError, match="a term was divided by another: write it inside one"):
        trajopt.q / trajopt.v
    with pytest.raises(errors.OptionError, match="multiplied by nan: give a finite number"):
        np.nan * trajopt.q
    with pytest.raises(errors.OptionError, match="divided by 0"):
        trajopt.q / 0
    with pytest.raises(errors.ShapeError, match="'q' has 2 components but is given 3 numbers"):
        two_link_minimum_time(5).minimize(trajopt.q * [1.0, 2.0, 3.0])
    with pytest.raises(errors.ShapeError, match="different widths were added: 'q' 2, 'duration' 1"):
        two_link_minimum_time(5).minimize(trajopt.q + trajopt.duration)
    with pytest.raises(errors.ShapeError, match="different widths were multiplied: 'q' 2, 'duration' 1"):
        two_link_minimum_time(5).minimize(trajopt.q * trajopt.duration)


@pytest.mark.parametrize("several", [False, True])
def test_traced_terms_refuse_complex_numbers_rather_than_drop_their_imaginary_part(several):
    block = trace(lambda node: node.q * node.v if several else node.q**2, "term:squares", lambda name: 2)
    with pytest.raises(TypeError, match="complex128"):
        block.value(dict.fromkeys(block.inputs, np.full((3, 2), 1.0 + 1.0j)))
