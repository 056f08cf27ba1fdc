"""Certified searches that end early, at iterations, deadlines or interrupts, and what they then say."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hand_written import TwoLinkArm, fastest, least_effort, two_link_minimum_time

import dynamics
import trajopt
from trajopt.base import errors
from trajopt.certified.added_nodes import NodeRefinement, time_scaled
from trajopt.certified.search_settings import SearchSettings
from trajopt.checks.violations import largest_violations
from trajopt.solution.journal import Journal
from trajopt.solvers.solver import Run


@pytest.mark.long
def test_a_slow_clock_changes_nothing_unless_there_is_a_time_limit(monkeypatch):
    """A machine on which an hour passes between two looks at the clock."""
    problem, settings = two_link_minimum_time(6), SearchSettings(arc_iterations=1, refinements=1)
    limited = trajopt.Certified(settings=settings, time_limit=1000.0)
    free = trajopt.Certified(settings=settings)
    quick = trajopt.solve(problem, refine=free)
    hours = itertools.count(0.0, 3600.0)
    slow = SimpleNamespace(monotonic=lambda: next(hours))
    monkeypatch.setattr("trajopt.solvers.solver.time", slow)
    assert trajopt.solve(problem, refine=free).objective == quick.objective
    hurried = trajopt.solve(problem, refine=limited)
    assert "time limit" in hurried.certificate.reason and hurried.objective > quick.objective


@pytest.mark.long
def test_the_search_ends_at_the_iterations_that_it_is_allowed():
    """Iterations of a program of four times the size `large_program` count eightfold."""
    settings = SearchSettings(arc_iterations=1, refinements=0, bracket_total=1, node_total=1)
    solution = trajopt.solve(two_link_minimum_time(10), refine=None)
    size = solution.n_variables + solution.n_constraints
    few, many = (SearchSettings(large_program=n) for n in (size // 4, size))
    assert few.effort_of(solution) == pytest.approx(8.0 * solution.iterations, rel=0.05)
    assert many.effort_of(solution) == solution.iterations
    certificate = trajopt.solve(
        two_link_minimum_time(10), refine=trajopt.Certified(tol=1e-12, settings=settings)
    ).certificate
    assert certificate.bracket.ended == "1 iterations on local meshes, the most allowed"
    assert "1 iterations with added nodes, the most allowed" in certificate.reason
    assert certificate.holds and certificate.slowed > 0.0


@pytest.mark.long
def test_when_the_time_is_up_the_motion_is_slowed_until_its_limits_hold():
    uniform = trajopt.solve(two_link_minimum_time(10), refine=None)
    hurried = trajopt.solve(two_link_minimum_time(10), refine=trajopt.Certified(tol=1e-9, time_limit=1e-6))
    certificate = hurried.certificate
    assert hurried.converged and certificate.holds and certificate.structure is None
    assert 0.0 < certificate.slowed < 0.02
    assert np.isclose(hurried.duration, uniform.duration * (1.0 + certificate.slowed), rtol=1e-12)
    assert np.isclose(hurried.objective, hurried.duration, rtol=1e-12)
    t = np.random.default_rng(1).uniform(0.0, hurried.duration, 20_000)
    assert np.abs(hurried.tau(t)).max() <= 10.0 + 1e-9
    assert np.abs(uniform.tau(t * uniform.duration / hurried.duration)).max() > 10.0 + 1e-4
    for words in (
        "the time limit was reached",
        "time scaling: the duration was lengthened by",
        "before time scaling",
    ):
        assert words in str(certificate)


@pytest.mark.parametrize("limit", [1e-6, 60.0])
def test_what_does_not_hold_says_what_to_do(limit):
    problem = least_effort()
    problem.subject_to(trajopt.a, upper=4.0)
    problem.subject_to(trajopt.jerk, -1e3, 1e3)  # so that no switching structure is searched for
    refine = trajopt.Certified(tol=1e-12, rounds=1, time_limit=limit)
    certificate = trajopt.solve(problem, refine=refine).certificate
    assert not certificate.holds
    more_time = "to do: give it more time, a larger Certified(time_limit=...)" in str(certificate)
    assert more_time == (limit < 1.0) and ("to do: solve on more intervals" in str(certificate)) != more_time
    assert str(certificate).count("the time limit was reached") <= 1


def test_an_effort_alone_cannot_be_certified_by_going_slower():
    problem = least_effort()
    problem.subject_to(trajopt.a, upper=4.0)
    assert time_scaled(trajopt.solve(problem), 1e-6) is None


def test_an_effort_beside_time_is_that_of_the_slower_motion():
    """With accelerations alone, the integral of a^2 falls with the third power of the duration."""
    problem = fastest(TwoLinkArm(10.0), [0.0, -2.0], [1.0, -1.0], 5)
    problem.minimize(trajopt.a**2, weight=1e-6, name="effort")
    solution = trajopt.solve(problem, refine=None)
    slower = time_scaled(solution, 1e-6)
    factor = slower.duration / solution.duration
    assert factor > 1.0 + 1e-6 and max(each.value for each in largest_violations(slower)) <= 1e-6
    costs, before = slower.cost_terms, solution.cost_terms
    assert costs["effort"] == pytest.approx(before["effort"] / factor**3, rel=1e-12)
    assert slower.objective == pytest.approx(slower.duration + costs["effort"], rel=1e-12)


@pytest.mark.long
def test_nodes_are_added_where_going_slower_does_not_ease_what_gravity_asks_for():
    """A pendulum passes the horizontal, where holding still takes 9.81 N m, at speed and with 9 N m."""
    limits = dynamics.JointLimits.symmetric(torque=9.0, velocity=20.0)
    link = {"a": 1.0, "mass": 1.0, "centre_of_mass": (0.0, 0.0, 0.0), "inertia": np.zeros((3, 3))}
    arm = dynamics.from_dh([link | {"limits": limits}], gravity=(0.0, -9.81, 0.0))
    problem = fastest(arm, [-1.5], [1.5], 10)
    solution = trajopt.solve(problem, refine=None)
    nodes = NodeRefinement(tol=1e-6, rounds=12, settings=trajopt.SearchSettings(most_scaled=0.01))
    assert time_scaled(solution, 1e-6) is None
    certificate = nodes.run(solution, Journal.after(solution, trajopt.Ipopt()), "", 0.01).certificate
    assert certificate.holds and certificate.rounds >= 1


def test_a_limit_that_going_slower_does_not_ease_is_not_met_by_it():
    @trajopt.term
    def place(node):
        return node.q[0]

    problem = fastest(TwoLinkArm(10.0), [0.0, -2.0], [1.0, -1.0], 5)
    solution = trajopt.solve(problem, refine=None)
    problem.subject_to(place, upper=0.5)
    assert time_scaled(solution, 1e-6) is None


@pytest.mark.long
def test_an_interrupt_ends_the_refinement_and_keeps_the_motion():
    import signal

    def press(iteration):
        signal.raise_signal(signal.SIGINT)

    uniform = trajopt.solve(two_link_minimum_time(10))
    kept = trajopt.Certified(tol=1e-9).refine(uniform, trajopt.Ipopt(), press)
    assert np.isclose(kept.duration, uniform.duration * (1.0 + kept.certificate.slowed), rtol=1e-12)
    assert "was interrupted" in str(kept.certificate)


@pytest.mark.long
def test_added_nodes_that_run_out_of_time_say_so():
    class Late(trajopt.Ipopt):
        def solve(self, nlp, start=None, run=None):
            return replace(super().solve(nlp, start, run), status=trajopt.Status.TIME_LIMIT)

    uniform = trajopt.solve(two_link_minimum_time(10))
    nodes = NodeRefinement(tol=1e-9, rounds=2, settings=trajopt.SearchSettings())
    certificate = nodes.run(uniform, Journal.after(uniform, Late(), Run().within(60.0)), "").certificate
    assert certificate.reason == "the time limit was reached"


@pytest.mark.parametrize(("options", "message"), [({"time_limit": -1.0}, "time_limit = -1.0")])
def test_an_impossible_time_limit_is_refused(options, message):
    with pytest.raises(errors.OptionError, match=message):
        trajopt.Certified(**options)
