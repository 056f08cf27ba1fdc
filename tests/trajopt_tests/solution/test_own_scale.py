"""Objectives that fall far from the guess to the answer are solved on at their own scale."""

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import fast_first

import trajopt


def quartic(duration=1.0):
    """A mass is moved by 1 m; the cost of the guess grows with the fourth power of its size."""

    @trajopt.term
    def cost(node):
        return node.a[0] ** 2 + node.a[0] ** 4 + 0.1 * node.q[0] ** 4

    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(12, 5, duration=duration))
    problem.start_at(q=0, v=0)
    problem.end_at(q=1, v=0)
    problem.minimize(cost)
    return problem


def wild(problem, size):
    problem.guess(size * np.random.default_rng(0).standard_normal((9, 1)))
    return problem


@fast_first("size", [1e2, 1e3, 1e4], 1)
def test_a_wild_guess_ends_at_the_same_optimum(size):
    """Scaled at the guess, tolerances are met at 44, 7e4 and 7e8 times the optimum."""
    best = trajopt.solve(quartic(), starts=1)
    found = trajopt.solve(wild(quartic(), size), starts=1)
    assert found.converged and found.objective == pytest.approx(best.objective, rel=1e-9)
    assert found.verify().verdict == "PASS"


def test_an_objective_that_becomes_negative_is_followed():
    """The same cost less 300 at every time: 217 becomes -83."""
    problem = wild(quartic(), 1e3)
    problem.minimize(trajopt.term(name="gain")(lambda node: 0.0 * node.q[0] - 300.0))
    best = trajopt.solve(quartic(), starts=1)
    found = trajopt.solve(problem, starts=1)
    assert found.converged and found.objective == pytest.approx(best.objective - 300.0, rel=1e-9)


@pytest.mark.long
def test_phases_are_scaled_anew_together():
    def linked(size):
        first, second = quartic(), quartic()
        if size:
            wild(first, size)
            wild(second, size)
        first.name, second.name = "first", "second"
        return trajopt.solve(trajopt.Phases(first, second), starts=1)

    assert linked(1e3).objective == pytest.approx(linked(0.0).objective, rel=1e-9)


def test_an_optimum_of_zero_is_not_followed_for_ever():
    """Data that the model meets: the misfit is rounding, and any scale finds more rounding below it."""
    times = np.linspace(0.1, 2.0, 12)
    decay = trajopt.system(("x",), (), lambda node: [-node.x])
    problem = trajopt.Problem(decay, trajopt.Trajectory.collocation(6, 4, duration=2.0))
    problem.data("measured", times, np.exp(-times))
    problem.minimize(trajopt.term(lambda node: (node.x - node.data("measured")) ** 2), over=times, name="fit")
    problem.guess(x=[[1.0], [1.0]])
    found = trajopt.solve(problem, refine=None, starts=1)
    assert found.converged and found.objective < 1e-12 and found.iterations < 150
