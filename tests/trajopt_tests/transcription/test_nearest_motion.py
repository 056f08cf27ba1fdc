"""A motion for other boundary values: of all motions with them, the one nearest to the former motion."""

import numpy as np
import pytest

import problems
from trajopt.transcription.leaf_map import nearest_point
from trajopt.transcription.transcribe import structure_of, values_of


def arm(goal):
    return problems.two_link_rr.build(intervals=6, q_end=goal)


def test_no_motion_that_meets_the_equations_is_nearer():
    former, other = arm((1.0, -1.0)), arm((1.3, -0.8))
    structure = structure_of(former)
    before, after = (values_of(structure, each).unknowns for each in (former, other))
    rng = np.random.default_rng(0)
    x = before.elimination.expand(rng.uniform(0.5, 1.0, before.elimination.free.size))
    y = nearest_point(after.elimination, structure.nearest_change, structure.solution.fixed, x)
    s = former.trajectory.nodes.s

    def distance(y):
        """The sum of the docstring, by the curves themselves: in unit time, seconds are normalised times."""
        change = after.elimination.expand(y) - x
        in_unit_time = change.copy()
        in_unit_time[after.layout.durations] = 1.0
        return np.sum(after.layout.curve(in_unit_time)(s, 2) ** 2) + np.sum(change**2)

    least = distance(y)
    for direction in rng.standard_normal((5, y.size)):
        sides = [distance(y + step * direction) for step in (-0.1, 0.1)]
        assert min(sides) > least
        assert sides[0] == pytest.approx(sides[1], rel=1e-9)  # stationary: a parabola about its lowest point


def test_a_motion_that_meets_the_equations_stays():
    problem = arm((1.0, -1.0))
    structure = structure_of(problem)
    unknowns = values_of(structure, problem).unknowns
    y = np.random.default_rng(1).uniform(0.5, 1.0, unknowns.elimination.free.size)
    x, fixed = unknowns.elimination.expand(y), structure.solution.fixed
    assert np.array_equal(nearest_point(unknowns.elimination, structure.nearest_change, fixed, x), y)
