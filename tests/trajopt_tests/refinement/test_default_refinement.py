"""Defaults of `solve` between the nodes, and where IPOPT stops short of an optimum."""

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import problems
import trajopt
from benchmarks.published.textbook import two_phases
from trajopt.refinement.error_estimate import estimated_between_nodes
from trajopt.refinement.refinements import RefinedUntilVerified, default_refinement
from trajopt.solvers.solver import Status
from trajopt.splines.knots import split


def hypersensitive(intervals=50):
    """Rao and Mease, Automatica 35 (1999): 1.3308 on a fine mesh, 13 on fifty equal intervals."""
    problem = trajopt.Problem(
        trajopt.system(("x",), ("u",), lambda node: [node.u - node.x**3]),
        trajopt.Trajectory.collocation(intervals, 4, duration=1e4),
    )
    problem.start_at(x=[1.5])
    problem.end_at(x=[1.0])

    @trajopt.term
    def cost(node):
        return 0.5 * (node.x**2 + node.u**2)

    problem.minimize(cost)
    return problem


def rayleigh():
    """Maurer and Augustin (2001), 44.8044; the control jumps where intervals meet."""

    def rates(node):
        return [node.y, -node.x + node.y * (1.4 - 0.14 * node.y**2) + 4.0 * node.u]

    problem = trajopt.Problem(
        trajopt.system(("x", "y"), ("u",), rates), trajopt.Trajectory.collocation(20, 3, duration=4.5)
    )
    problem.start_at(x=[-5.0, -5.0])
    problem.minimize(trajopt.state("u") ** 2 + trajopt.state("x") ** 2)
    problem.subject_to(trajopt.state("u") + trajopt.state("x") * (1.0 / 6.0), upper=0.0, name="mixed")
    return problem


@pytest.mark.long
def test_equations_hold_between_nodes_by_default():
    coarse, found = trajopt.solve(hypersensitive(), refine=None), trajopt.solve(hypersensitive())
    assert coarse.objective > 10.0 and str(coarse.verify().verdict) == "FAIL"
    assert found.objective == pytest.approx(1.3308, rel=1e-3)
    assert str(found.verify().verdict) == "PASS"
    assert found.journal.refinement.rounds[0].spans == 50 < found.journal.refinement.rounds[-1].spans


def weighed_effort(bounded):
    """Least integral of w u^2 with x' = u from 0 to 1, w a peak on one: 1 / integral of 1 / w.

    bounded : whether the integral is bounded by 1.1 and a distance maximized, in place of minimized
    """
    problem = trajopt.Problem(
        trajopt.system(("x",), ("u",), lambda node: [node.u]),
        trajopt.Trajectory.collocation(8, 3, duration=1.0),
    )
    problem.start_at(x=[0.0])

    @trajopt.term
    def effort(node):
        return (1.0 + 30.0 * np.exp(-(((node.t - 0.47) / 0.04) ** 2))) * node.u**2

    if bounded:
        problem.subject_to(trajopt.integral(effort), upper=1.1)
        problem.minimize(-trajopt.state("x"), over="end")
    else:
        problem.end_at(x=[1.0])
        problem.minimize(effort)
    return problem


@pytest.mark.long
@pytest.mark.parametrize("bounded", [False, True])
def test_integrals_that_the_mesh_misses_are_refined_by_default(bounded):
    """Nodes beside a narrow peak make motions pass through it at no cost."""
    t = (np.arange(200_000) + 0.5) / 200_000
    gain = np.mean(1.0 / (1.0 + 30.0 * np.exp(-(((t - 0.47) / 0.04) ** 2))))
    optimum = -np.sqrt(1.1 * gain) if bounded else 1.0 / gain
    problem = weighed_effort(bounded)
    coarse, found = trajopt.solve(problem, refine=None), trajopt.solve(problem)
    assert str(coarse.verify().verdict) == "FAIL"
    report = found.verify()
    assert str(report.verdict) == "PASS"
    assert found.objective == pytest.approx(optimum, abs=report.error_of_optimum)
    assert found.objective == pytest.approx(optimum, rel=0.02)
    spans = np.diff(found.curve.bases[0].breakpoints)
    assert found.journal.refinement.rounds[0].spans == 8 and spans.max() == 0.125  # halved at the peak alone


@pytest.mark.long
@pytest.mark.parametrize("at", [0.1533, 0.4628])
def test_a_pulse_between_samples_of_which_these_see_little_is_refined_by_default(at):
    """Samples below 1 % beside a pulse of 5 %, two of them as high at times: the pulse is looked for."""
    problem = trajopt.Problem(
        trajopt.system(("x",), ("u", "w"), lambda node: [node.u]),
        trajopt.Trajectory.collocation(20, 3, duration=1.0),
    )
    problem.start_at(x=[0.0])
    problem.end_at(x=[1.0])
    problem.minimize(trajopt.state("u") ** 2)

    @trajopt.term
    def pulse(node):
        return node.w - 1.0 - 0.05 * np.exp(-(((node.t - at) / 1e-4) ** 2))

    problem.subject_to(pulse, 0.0, 0.0)
    assert str(trajopt.solve(problem, refine=None).verify().verdict) == "FAIL"
    found = trajopt.solve(problem)
    assert str(found.verify().verdict) == "PASS"
    assert np.diff(found.curve.bases[0].breakpoints).min() < 1e-3


@pytest.mark.long
def test_a_mesh_that_is_fine_enough_stays():
    problem = rayleigh()
    fine = trajopt.solve(problem.on(trajopt.Trajectory.collocation(80, 3, duration=4.5)))
    assert fine.journal.refinement is None
    assert [basis.span_count for basis in fine.curve.bases] == [80]


@pytest.mark.long
def test_a_jump_whose_residual_no_mesh_reduces_is_refined_once():
    """A thrust that burns mass by its square jumps inside an interval: 12 % of the rate, 1e-7 of the cost."""

    def rates(node):
        return [node.v, (node.u - 0.2 * node.v**2) / node.m, -0.01 * node.u**2]

    system = trajopt.system(("s", "v", "m"), ("u",), rates)
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(40, 3))
    problem.control("u", -1.1, 1.1)
    problem.start_at(x=[0.0, 0.0, 1.0])
    problem.end_at(x=[10.0, 0.0, None])
    problem.minimize(trajopt.duration)
    found = trajopt.solve(problem)
    assert estimated_between_nodes(found).at_single_times > 0.1
    assert len(found.journal.refinement.rounds) == 2 and found.verify().holds
    coarse, fine = (each.objective for each in found.journal.refinement.rounds)
    assert fine == pytest.approx(coarse, rel=1e-3)


@pytest.mark.long
def test_residuals_at_single_times_are_refined_where_that_changes_the_objective():
    """At a corner residuals of 4 % change states by 1e-4, and halved spans the objective by 5 %."""
    found = trajopt.solve(two_phases(10))
    assert found.objective == pytest.approx(1.04168615, rel=1e-5)  # of 160 intervals


@pytest.mark.long
def test_limits_hold_on_both_sides_of_a_jump_of_the_control():
    found = trajopt.solve(rayleigh())
    assert not found.warning
    assert str(found.verify().verdict) == "PASS"
    breakpoints = found.curve.knot_times[1:-1]
    for side in (-1e-9, 1e-9):
        u, x = (found.value(trajopt.state(name), breakpoints + side) for name in ("u", "x"))
        assert np.max(u + x / 6.0) <= 1.1e-3


def test_recommended_refinements_come_first():
    problem = rayleigh()
    assert isinstance(default_refinement(problem), RefinedUntilVerified)
    own = trajopt.LimitNodes(accuracy=0.5)
    problem.recommend(trajopt.Ipopt(), refine=own)
    assert default_refinement(problem) is own


def test_a_program_in_large_units_is_given_limit_nodes_too():
    def built(unit):
        system = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
        problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=2.0))
        problem.start_at(x=[0.0, 0.0])
        problem.end_at(x=[unit, 0.0])
        problem.control("u", guess=unit)
        problem.guess([[0.0, 0.0], [unit, 0.0]])
        problem.subject_to(trajopt.state("v"), upper=0.6 * unit, name="speed")

        @trajopt.term
        def effort(node):
            return (node.u / unit) ** 2

        problem.minimize(effort)
        return problem

    small, large = (trajopt.solve(built(unit)) for unit in (1.0, 2.0**20))
    assert len(small.node_times) > 12  # four intervals of three nodes, and some for the speed
    assert not large.warning
    assert large.objective == pytest.approx(small.objective, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("starts", [1, 2])
def test_other_ways_follow_a_default_solve_that_stops_short(monkeypatch, starts):
    solve, by_ipopt = trajopt.Ipopt.solve, []

    def stopped(self, nlp, start=None, run=None):
        found = solve(self, nlp, start, run)
        by_ipopt.append(found.iterations)
        return replace(found, status=Status.ITERATION_LIMIT)

    monkeypatch.setattr(trajopt.Ipopt, "solve", stopped)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = trajopt.solve(rayleigh(), refine=None, starts=starts)
    assert found.converged and (found.journal.starts is None) is (starts == 1)
    if found.journal.starts is not None:
        last = found.journal.starts.starts[-1]
        assert found.journal.starts.chosen == last.number == starts and last.finished
        assert [solve.converged for solve in last.solves] == [False, True]
    assert [level.status.partition(" (")[2] for level in found.journal.levels] == [
        "",
        "barrier never monotone)",
        "SLSQP from there)",
    ]
    assert found.iterations == sum(by_ipopt) + found.journal.levels[-1].iterations


def test_no_other_way_follows_a_solver_of_the_users_choice():
    found = trajopt.solve(rayleigh(), trajopt.Ipopt(max_iterations=3), refine=None)
    assert found.status is Status.ITERATION_LIMIT
    assert len(found.journal.levels) == 1


@dataclass(frozen=True)
class Halved:
    """A refinement that leaves limits to limit nodes, halves all spans, and notes how many it was given."""

    given: list = field(default_factory=list)
    most: int = 2
    holds_limits = False

    def refine(self, solution, solver, progress=None):
        spans = solution.curve.bases[0].span_count
        self.given.append((spans, solution.problem.trajectory.nodes.s.size))
        if len(self.given) > self.most:
            return solution
        finer = solution.asked_on(split(solution.problem.trajectory, [np.ones(spans, bool)]))
        found = trajopt.solve(finer, solver, refine=None)
        return replace(found, iterations=solution.iterations + found.iterations)


@pytest.mark.long
def test_a_second_refinement_is_noted_behind_the_first():
    one = trajopt.solve(rayleigh(), refine=trajopt.Refined(tol=1e-3))
    finer = trajopt.Refined(tol=1e-6, rounds=1).refine(one, trajopt.Ipopt())
    earlier, rounds = one.journal.refinement.rounds, finer.journal.refinement.rounds
    assert rounds[: len(earlier)] == earlier and len(rounds) == len(earlier) + 1 > 2
    assert finer.journal.refinement.tolerance == 1e-6


@pytest.mark.long
def test_equations_are_looked_at_again_after_limit_nodes_that_moved_the_motion():
    """They are missed by more where limits got nodes: a limp had passed .01 by a thousandth."""
    moved, still = Halved(), Halved()
    arm = problems.two_link_rr.build(intervals=10)
    found = trajopt.solve(arm, refine=moved, starts=1)
    assert [spans for spans, _ in moved.given] == [10, 20]
    assert moved.given[1][1] > 2 * moved.given[0][1]  # with the nodes for limits
    assert found.curve.bases[0].span_count == 40 and found.verify().holds
    trajopt.solve(problems.minimum_acceleration.build(intervals=4), refine=still, starts=1)
    assert len(still.given) == 1  # no limit was exceeded


def pushed_shortly(strength, width, time=0.54321):
    """A body that goes 1 m within 1 s at least cost of u^2, while a short push acts on it."""

    def rates(node):
        push = strength / width * np.exp(-(((node.t - time) / width) ** 2))
        return [node.v, node.u + push]

    problem = trajopt.Problem(
        trajopt.system(("x", "v"), ("u",), rates), trajopt.Trajectory.collocation(8, 3, "radau", 1.0)
    )
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    return problem


def test_the_errors_of_equations_are_those_of_a_report_where_few_samples_see_none():
    answer = trajopt.solve(pushed_shortly(0.05, 1e-3), refine=None, starts=1)
    missed = max(line.dense_relative for line in answer.verify().violations if line.equation)
    assert missed > 1.0
    assert estimated_between_nodes(answer).of_equations == pytest.approx(missed, rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize(("strength", "width"), [(1.0, 1e-3), (0.05, 3e-4)])
def test_short_pushes_between_samples_are_refined_until_they_pass(strength, width):
    report = trajopt.solve(pushed_shortly(strength, width), starts=1).verify()
    assert report.holds, report.reason
