"""Right answers with zeros in them pass: no scale is made of a value that happens to be zero."""

from dataclasses import replace

import numpy as np
import pytest
from tiers import fast_first

import trajopt

TIMES = np.linspace(0.0, 4.0, 9)
MISFIT = 7.07960e-4  # of the decay moved down by 0.05, with b = 0


def ball(name):
    system = trajopt.system(("h", "v"), (), lambda node: [node.v, -9.81 - 0.1 * node.v])
    return trajopt.Problem(system, trajopt.Trajectory.collocation(6, 3), name=name)


@pytest.mark.long
@pytest.mark.parametrize("apex", [0.0, 1e-12, 1e-3])
def test_phases_may_meet_at_rest(apex):
    """The speed that both phases share was a size of 1e-38, by which the first phase was scaled."""
    up, down = ball("up"), ball("down")
    up.start_at(x=[0.0, None])
    up.end_at(x=[None, apex])
    up.subject_to(trajopt.state("v"), upper=20.0, over="start")
    up.guess(x=[[0.0, 15.0], [10.0, 0.0]], duration=2.0)
    down.end_at(x=[0.0, None])
    down.minimize(trajopt.state("v"), over="end")
    down.guess(x=[[10.0, 0.0], [0.0, -15.0]], duration=2.0)
    both = trajopt.Phases(up, down)
    both.link(trajopt.q, up.at("end"), down.at("start"), name="apex")
    solution = trajopt.solve(both)
    assert solution.objective == pytest.approx(-17.6035, abs=1e-3)
    assert solution.verify().holds


def decay(offset, unit=1.0):
    """x' = -a x + b, fitted to a decay from one that is moved down by an offset; a and b are at least 0."""

    def rates(node):
        return [-node.parameter("a") * node.x + unit * node.parameter("b")]

    mesh = trajopt.Trajectory.collocation(10, 3, duration=4.0)
    problem = trajopt.Problem(trajopt.system(("x",), (), rates), mesh)
    for name in ("a", "b"):
        problem.parameter(name, lower=0.0, guess=0.1)
    problem.data("z", TIMES, unit * (np.exp(-0.5 * TIMES) - offset))
    problem.minimize(trajopt.term(lambda node: (node.x - node.data("z")) ** 2, name="misfit"), over=TIMES)
    return problem


@fast_first(("offset", "at_zero"), [(1.0, "ab"), (0.2, "b"), (0.5, "b")], 2)
def test_fitted_parameters_may_end_at_a_bound_of_zero_and_obey_it(offset, at_zero):
    """With both at zero the state rests, and its equation is a sum of zeros."""
    solution = trajopt.solve(decay(offset), starts=1)
    report = solution.verify()
    assert report.holds, report.reason
    assert all(solution.parameters[name][0] >= 0.0 for name in "ab")
    assert all(solution.parameters[name][0] < 1e-8 for name in at_zero)


def test_a_parameter_below_its_bound_of_zero_fails():
    solution = trajopt.solve(decay(0.2), starts=1)
    below = replace(solution, parameters={**solution.parameters, "b": np.array([-2e-7])})
    assert "bounds of b: violated" in below.verify().reason


@fast_first("unit", [1e-4, 1.0, 1e4], 1)
def test_a_fit_that_starts_at_its_data_does_not_depend_on_their_unit(unit):
    """The misfit of the guess is what rounding leaves; its slope scaled the objective up by 1e8."""
    problem = decay(0.05, unit)
    values = unit * (np.exp(-0.5 * TIMES) - 0.05)
    problem.guess(x=lambda s: np.interp(4.0 * s, TIMES, values)[:, None])
    solution = trajopt.solve(problem, starts=1)
    assert solution.iterations <= 12 and solution.verify().holds
    assert solution.objective / unit**2 == pytest.approx(MISFIT, rel=1e-4)
