"""Feasibility is restored where the filter takes no step, and rows in conflict are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_nlps import INF, infeasible, quadratic_with_rows, violated
from tiers import fast_first

import trajopt
from problems import catalogue
from trajopt.solution.answers import program_of
from trajopt.solvers.interior import interior_point
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.run import Fallback
from trajopt.solvers.solver import Result, Run, Status, WarmStart

ALONE = trajopt.InteriorPoint().alone


@pytest.mark.long
def test_what_needs_a_restoration_ends_at_ipopts_optimum():
    result = ALONE.solve(program_of(catalogue.build("one_legged_hopper", {})))
    assert result.converged and result.objective == pytest.approx(7.75956485, rel=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_ipopt_goes_on_where_steps_end_at_a_derivative_that_is_not_finite(seed):
    """From starts that differ by rounding, steps of a rocket in phases end where its air has no density."""
    program = program_of(catalogue.build("goddard_in_phases", {}))
    moved = 1.0 + 1e-14 * np.random.default_rng(seed).uniform(-1.0, 1.0, program.variable_count)
    result = trajopt.InteriorPoint().solve(program, WarmStart(program.start * moved))
    assert result.converged and -1.01283693 < result.objective < -1.0


def conflicting(kind: str, by: float):
    """Rows 0 and 1, or row 0 and the bounds of two unknowns, that exclude each other by so much."""
    matrix = [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]]
    lower, upper = [1.0, -INF, 0.5], [INF, 1.0 - by, 0.7]
    if kind == "equations":
        lower[1], upper[0] = 1.0 - by, 1.0
    if kind == "bounds":
        lower[0], upper[1] = 2.0 + by, INF
    bounds = {"lower": np.full(4, -1.0), "upper": np.full(4, 1.0)} if kind == "bounds" else {}
    return quadratic_with_rows(np.eye(4), np.ones(4), matrix, lower, upper, **bounds)


@pytest.mark.parametrize("by", [1.0, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize(
    ("kind", "names"),
    [("rows", "row 0, row 1"), ("equations", "row 0, row 1"), ("bounds", "row 0, unknown 0, unknown 1")],
)
def test_limits_in_conflict_are_named(kind, names, by):
    result = ALONE.solve(conflicting(kind, by))
    assert result.status is Status.INFEASIBLE
    conflict, _, named = result.detail.partition(": ")
    assert float(conflict.rpartition(" ")[2]) == pytest.approx(by, rel=5e-3) and named == names


def test_what_curves_apart_is_in_conflict_by_its_least_violation():
    """y1 + y2 >= 3 is off by 3 - sqrt 2 on the circle y'y = 1, outside of which y'y grows faster."""
    result = ALONE.solve(infeasible())
    assert result.status is Status.INFEASIBLE and result.detail == "in conflict by 1.59: row 0, row 1"


def test_a_violation_is_not_the_least_where_an_iterate_before_met_the_rows():
    nlp = quadratic_with_rows(np.eye(1), [0.0], [[1.0]], [1.0], [INF])
    monitor = Monitor(nlp, None, None, feasibility=1e-6)
    for number, y in enumerate(np.array([[2.0], [0.5]])):
        monitor.iterate(number, WarmStart(y), nlp.rows(y), nlp.objective(y), 0.0, 0.0)
    result = monitor.result(Status.INFEASIBLE, None, 1, "in conflict by 0.5: row 0")
    assert result.status is Status.STEP_TOO_SMALL and result.detail == "" and result.y == 2.0


def test_a_conflict_is_not_told_of_a_point_that_ipopt_found_to_meet_the_rows(monkeypatch):
    met = replace(ALONE.solve(infeasible()), status=Status.STEP_TOO_SMALL, infeasibility=0.0, detail="")
    monkeypatch.setattr(interior_point, "continued", lambda *_: met)
    detail = trajopt.InteriorPoint().solve(infeasible()).detail
    assert detail.startswith("by IPOPT after") and "conflict" not in detail


@pytest.mark.parametrize(
    ("violation", "status", "is_point"),
    [
        (0.0, Status.STEP_TOO_SMALL, True),
        (0.03, Status.STEP_TOO_SMALL, False),
        (0.03, Status.INFEASIBLE, False),
        (0.0, Status.EVALUATION_ERROR, False),
    ],
)
def test_ipopt_goes_on_from_a_point_that_meets_the_rows_alone(monkeypatch, violation, status, is_point):
    """Phases of a rocket that were stuck 0.03 off took it over 1000 iterations, and 23 from the start."""
    nlp, starts = infeasible(), []
    found = replace(ALONE.solve(nlp), status=status, infeasibility=violation)
    monkeypatch.setattr(interior_point.InteriorSteps, "solve", lambda *_: found)
    monkeypatch.setattr(interior_point, "continued", lambda *given: starts.append(given[3]) or replace(found))
    trajopt.InteriorPoint()._solved(nlp, None, Run())
    assert (starts[0] is not None) is is_point and (not is_point or starts[0].y is found.y)


def test_another_solver_goes_on_where_the_violation_is_least_nearby_alone():
    """sin y + y / 10 is at most 1.16 near y = 1.67, and 1.3 from y = 6.93 on, the least y that is allowed."""
    nlp = violated(
        lambda y: np.sin(y) + 0.1 * y,
        lambda y: np.cos(y) + 0.1,
        lambda y, multipliers: -multipliers[0] * np.sin(y[0]),
        (1.3, INF),
        [8.0],
    )
    near = WarmStart(np.array([1.6]), np.zeros(1), np.zeros(1), np.zeros(1))
    assert ALONE.solve(nlp, near).status is Status.INFEASIBLE
    result = Fallback(ALONE, trajopt.Ipopt(), lambda nlp: near).solve(nlp)
    assert result.converged and result.y == pytest.approx(6.93485469)


class Ends:
    """A solver that ends at a point, with a status."""

    def __init__(self, status, violation):
        self.result = Result(
            status, np.array([violation]), *np.zeros((3, 1)), violation, violation, 3, 0.1, detail="why"
        )

    def suits(self, nlp, start, run):
        return True

    def solve(self, nlp, start=None, run=None):
        return self.result


@pytest.mark.parametrize(
    ("first", "status", "then", "kept"),
    [
        (0.1, Status.RESTORATION_FAILED, 7.0, 0.1),
        (0.1, Status.ITERATION_LIMIT, 7.0, 0.1),
        (7.0, Status.RESTORATION_FAILED, 0.1, 0.1),
        (7.0, Status.INFEASIBLE, 0.1, 0.1),
        (0.1, Status.STEP_FAILED, np.nan, 0.1),
        (0.1, Status.TIME_LIMIT, 7.0, 7.0),  # stopped, not failed: the point where it stopped
        (0.1, Status.CONVERGED, 0.2, 0.2),
    ],
)
def test_where_both_solvers_fail_the_less_infeasible_point_is_kept(first, status, then, kept):
    nlp = quadratic_with_rows(np.eye(1), np.ones(1), [[1.0]], [0.0], [INF])
    found = Fallback(Ends(Status.STEP_TOO_SMALL, first), Ends(status, then)).solve(nlp)
    assert found.status is status and found.detail == "why" and found.iterations == 7
    assert found.y[0] == found.infeasibility == kept


@pytest.mark.parametrize(("far", "goes_on"), [(3.0, True), (1e9, False)])
def test_ipopt_begins_anew_where_one_unknown_ran_away(far, goes_on, monkeypatch):
    nlp = quadratic_with_rows(np.eye(2), np.ones(2), [[1.0, 1.0]], [0.0], [INF])
    first, starts = Ends(Status.STEP_TOO_SMALL, 0.0), []
    first.result = ended = replace(first.result, y=np.array([far, 0.0]))
    monkeypatch.setattr(trajopt.InteriorPoint, "alone", first)
    monkeypatch.setattr(trajopt.Ipopt, "solve", lambda _, nlp, start, run: starts.append(start) or ended)
    trajopt.InteriorPoint().solve(nlp)
    (start,) = starts
    assert (start is not None and start.y is ended.y) == goes_on


def test_a_point_that_meets_the_rows_is_not_called_infeasible_for_where_another_solver_ended():
    nlp = quadratic_with_rows(np.eye(1), np.ones(1), [[1.0]], [0.0], [INF])
    found = Fallback(Ends(Status.STEP_TOO_SMALL, 1e-9), Ends(Status.INFEASIBLE, 7.0)).solve(nlp)
    assert found.status is Status.STEP_TOO_SMALL and found.y[0] == 1e-9 and found.iterations == 7


@fast_first("excess", [1e-3, 1e-6])
def test_a_motion_that_is_too_far_names_what_holds_it(excess):
    """A mass of 1 kg goes 1/4 m in 1 s, from rest to rest, with 1 N."""
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 2, duration=1.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[0.25 + excess, 0.0])
    problem.subject_to(trajopt.term(lambda node: node.u, name="force"), lower=-1.0, upper=1.0)
    problem.minimize(trajopt.term(lambda node: node.u**2, name="effort"))
    result = ALONE.solve(program_of(problem))
    assert result.status is Status.INFEASIBLE
    assert "force" in result.detail and "state equations" in result.detail
    last = trajopt.InteriorPoint().solve(program_of(problem))
    assert not last.converged and last.detail.endswith(result.detail)
