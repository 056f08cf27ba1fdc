"""Residuals of rates between nodes: those of a control that jumps pass, those that change the states fail."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiers import fast_first

import trajopt
from trajopt.checks.path_equations import interval_errors, part_sums, path_equations
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.splines.node_sets import PATH


def rocket(intervals):
    """Least time over 10 m; the thrust jumps inside intervals and burns mass by its square."""

    def rates(node):
        return [node.v, (node.u - 0.2 * node.v**2) / node.m, -0.01 * node.u**2]

    system = trajopt.system(("s", "v", "m"), ("u",), rates)
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(intervals, 3))
    problem.control("u", -1.1, 1.1)
    problem.start_at(x=[0.0, 0.0, 1.0])
    problem.end_at(x=[10.0, 0.0, None])
    problem.minimize(trajopt.duration)
    return problem


@pytest.mark.long
@pytest.mark.parametrize("intervals", [20, 80])
def test_a_square_of_a_control_that_jumps_is_judged_by_what_it_changes_of_the_state(intervals):
    """Its residual is 1.2 % of its scale however many intervals there are."""
    solution = trajopt.solve(rocket(intervals), refine=None, starts=1)
    report = solution.verify()
    assert report.holds and solution.objective == pytest.approx(6.5717, rel=2e-3)
    (burnt,) = [v for v in report.violations if v.label == "state equations, m"]
    assert burnt.evidence == "integrated" and burnt.pointwise > 0.01 * burnt.scale > 4 * burnt.dense_violation
    assert "judged by what it changes of the state" in report.table


def forced(force, intervals=4):
    """x' = u + force(t) over 1 s, least squares of u."""
    system = trajopt.system(("x",), ("u",), lambda node: [node.u + force(node.t)])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(intervals, 3, duration=1.0))
    problem.start_at(x=0.0)
    problem.end_at(x=1.0)
    problem.minimize(trajopt.state("u") ** 2)
    return trajopt.solve(problem, refine=None, starts=1)


@fast_first("width", [3e-3, 0.01, 0.03], 1)
def test_a_pulse_between_nodes_fails_whatever_its_width(width):
    nodes = forced(lambda t: 0.0 * t).node_times
    widest = int(np.argmax(np.diff(nodes)))
    at = 0.5 * (nodes[widest] + nodes[widest + 1])
    report = forced(lambda t: np.exp(-(((t - at) / width) ** 2))).verify()
    assert not report.holds and "state equations" in report.reason


@fast_first(("interpolation", "start"), [("linear", 0.0), ("steps", 0.0), ("linear", (1.0, 1.0))])
def test_a_pulse_of_a_table_between_nodes_fails_where_the_duration_is_free(interpolation, start):
    """It pushes by 0.3 m/s within 0.1 ms, where no breakpoint of a mesh stands; a table of zeros passes."""

    def pushed(strength):
        system = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u + node.data("push")])
        problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=(0.5, 2.0)))
        begin = start[0] if isinstance(start, tuple) else start
        times = begin + np.array([0.0, 0.2, 0.21, 0.2101, 0.2102, 2.0])
        problem.start_at(x=[0.0, 0.0], time=start)
        problem.end_at(x=[1.0, 0.0])
        problem.data("push", times, strength * np.eye(6)[3], interpolation=interpolation)
        problem.minimize(trajopt.state("u") ** 2)
        problem.minimize(trajopt.duration, weight=5.0)
        return trajopt.solve(problem, refine=None, starts=1).verify()

    report = pushed(3e3)
    assert not report.holds and "state equations, v" in report.reason
    assert pushed(0.0).holds


@pytest.mark.parametrize(("stiffness", "duration", "angle"), [(16.0, 1.1, 4.0), (9.0, 1.5, 4.0)])
def test_a_pendulum_on_one_interval_fails_for_speed_that_is_missing(stiffness, duration, angle):
    """Push and gravity, whose sum is less than either, would allow a hundredth of both times T."""

    def rates(node):
        return [node.v, node.u - stiffness * np.sin(node.x)]

    system, mesh = trajopt.system(["x", "v"], ["u"], rates), trajopt.Trajectory.collocation
    problem = trajopt.Problem(system, mesh(1, 5, duration=duration))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[angle, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    coarse = trajopt.solve(problem, refine=None)
    report = coarse.verify()
    assert report.simulation_error > 0.02 * np.ptp(coarse.v(coarse.node_times)[:, 0])  # restarted: itself off
    assert not report.holds and "state equations, v: missed" in report.reason
    finer = trajopt.solve(problem).verify()
    assert finer.holds and finer.simulation_error < 1e-2


def errors(residual, intervals=4):
    """The errors of every interval for a residual of x' = f that is given, of scale one, over one second.

    The state travels far, so that what residuals change of it is little.
    """
    motion: Any = SimpleNamespace(
        problem=SimpleNamespace(dynamics=SimpleNamespace(rates_of_states=[("x", "v", 0)])),
        leaves=lambda times, names: {"q": 1e9 * times[:, None]},
        knot_times=np.linspace(0.0, 1.0, intervals + 1),
        duration=1.0,
        value=lambda term, times: residual(times)[:, None],
    )
    rates = Constraint(trajopt.v, np.zeros(1), np.zeros(1), PATH, "rates", of_rates=True)
    times = np.linspace(0.0, 1.0, 401)
    return interval_errors(motion, rates, np.ones(1), times, residual(times)[:, None])[:, 0]


def test_the_mean_over_an_interval_counts_in_full():
    """A force of a fifth that is missing in one interval of four."""
    found = errors(lambda t: 0.2 * ((t > 0.25) & (t < 0.5)))
    assert found[1] == pytest.approx(0.2) and found[[0, 3]].max() < 1e-12


def test_waves_within_intervals_add_up_over_all_of_them():
    """One wave in each of n intervals leaves the motion by 1 / (pi n) of its amplitude and mean duration."""
    for n in (4, 8):
        found = errors(lambda t, n=n: 0.3 * np.sin(2.0 * np.pi * n * t), n)
        assert found.max() == pytest.approx(0.3 / np.pi, rel=1e-2)


def test_what_no_polynomial_follows_counts_at_single_times():
    found = errors(lambda t: 0.5 * np.exp(-(((t - 0.6) / 1e-3) ** 2)))
    assert found.argmax() == 2 and found.max() > 0.3


def test_a_narrow_spike_in_a_state_is_no_smaller_for_its_slope():
    """Slope times state is 90 times the height of 200: the scale was 17818, so that a missed spike passed."""

    def rates(node):
        return [node.v, node.u + 200.0 * np.exp(-(((node.x - 0.2345) / 2e-3) ** 2))]

    system = trajopt.system(("x", "v"), ("u",), rates)
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(8, 3, duration=1.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    missed = trajopt.solve(problem, refine=None, starts=1)
    (equation,) = path_equations(problem)
    (sums,) = part_sums(missed, [equation.term], np.linspace(0.0, 1.0, 20001)).values()
    assert sums.max(axis=0) == pytest.approx([3.0, 212.0], rel=0.05)
    assert not missed.verify().holds
