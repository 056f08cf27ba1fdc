"""Limits by default: what `solve` returns holds them between nodes to a thousandth of their size."""

import time

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import fast_first

import trajopt
from trajopt.base import errors
from trajopt.checks.constraint_checks import limit_peaks

TIMES = np.linspace(0.0, 1.0, 40_001)  # normalised


@trajopt.term
def speed(node):
    """No derivative of a curve, so that control points do not bound it."""
    return node.v[0] + 0.1 * node.q[0]


@trajopt.term
def below_zero(node):
    return node.v[0] + 0.1 * node.q[0] - 1.2


@trajopt.term
def kinked(node):
    return abs(node.v[0]) + 0.2 * node.q[0]


@trajopt.term
def wave(node):
    return node.v[0] + 0.05 * np.sin(60.0 * node.t)


@trajopt.term
def far_from_zero(node):
    return 100.0 + 0.001 * node.v[0] / 1.3


def slide(intervals=6, degree=4, duration=1.0, cost=trajopt.a**2, name="slide"):
    """One metre with the least squared acceleration, 1.5 m/s unless limited, or with another least cost."""
    mesh = trajopt.Trajectory.uniform(intervals, degree, duration=duration)
    problem = trajopt.Problem(PointMasses(1), mesh, name=name)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(cost)
    return problem


def fastest(intervals=12):
    """One metre in minimum time."""
    problem = slide(intervals, 3, (0.05, 5.0), trajopt.duration)
    problem.subject_to(trajopt.tau, -1.0, 1.0, name="force")
    problem.subject_to(speed, upper=0.8, name="speed")
    return problem


def limited(term, lower, upper, **where):
    problem = slide()
    problem.subject_to(term, lower, upper, name="limit", **where)
    return problem


def excess(solution, term, lower, upper, window=(0.0, 1.0)):
    """The largest excess at uniform times, in the limit's unit."""
    first, last = window
    values = solution.value(term, solution.duration * (first + (last - first) * TIMES))
    return max(float((values - upper).max()), float((lower - values).max()))


@pytest.mark.filterwarnings("ignore::trajopt.base.errors.KinkWarning")
@fast_first(
    ("term", "lower", "upper", "size"),
    [
        (speed, -np.inf, 1.2, 1.2),
        (speed, -1e9, 1.2, 3.0),  # not the other bound, where nothing comes near it
        (kinked, -np.inf, 1.2, 1.2),
        (trajopt.v, -1.2, 1.2, 1.2),
        (far_from_zero, 99.999, 100.001, 0.002),  # far from zero the range is smaller
        (speed, -1.2, 1.2, 1.2),  # nor the range, which is twice as much
        (below_zero, -np.inf, 0.0, 1.0),  # bounded by zero alone: the scale that a report prints
        (wave, -np.inf, 1.3, 1.3),
        (trajopt.a, -5.0, 5.0, 5.0),
        (far_from_zero, 99.0, 100.001, 1.001),
    ],
    5,
)
def test_limits_hold_to_a_thousandth_of_their_size(term, lower, upper, size):
    solution = trajopt.solve(limited(term, lower, upper))
    assert solution.converged and not solution.warning
    assert excess(solution, term, lower, upper) <= 1e-3 * size


@pytest.mark.long
def test_windows_arcs_and_phases_hold_their_limits_too():
    window = trajopt.solve(limited(speed, -np.inf, 1.2, over=(0.35, 0.62)))
    assert excess(window, speed, -np.inf, 1.2, (0.35, 0.62)) <= 1.2e-3
    assert any(window.limit_points)
    both = [slide(4, 4, (0.05, 5.0), trajopt.duration, name) for name in ("there", "back")]
    for problem, force in zip(both, (1.0, 2.0), strict=True):
        problem.subject_to(trajopt.tau, -force, force, name="force")
        problem.subject_to(speed, upper=0.7, name="speed")
    phases = trajopt.Phases(*both)
    solution = trajopt.solve(phases)
    assert solution.converged and solution.limit_excess <= 1e-3
    assert any(any(part.limit_points) for part in solution.phases)
    plain = trajopt.solve(phases, refine=None)
    assert plain.limit_excess > 1e-3
    report = str(solution.verify())
    assert report.startswith("PASS") and ": all phases and links hold" in report
    assert "(there:" in report.splitlines()[1] or "(back:" in report.splitlines()[1]


@fast_first(
    "solver",
    [
        trajopt.Ipopt(),
        trajopt.Ipopt(hessian="lbfgs"),
        trajopt.InteriorPoint(),
        trajopt.Slsqp(),
        trajopt.ConstraintGeneration(),
    ],
    ids=["ipopt", "lbfgs", "dense", "slsqp", "generation"],
)
def test_every_solver_holds_limits_between_nodes(solver):
    problem = limited(speed, -np.inf, 1.2)
    solution = trajopt.solve(problem, solver)
    assert solution.limit_excess <= 1e-3 and any(solution.limit_points)
    assert solution.objective == pytest.approx(trajopt.solve(problem).objective, rel=1e-6)


def test_newtons_method_from_the_answer_needs_no_further_solve():
    seen = []
    plain = trajopt.solve(fastest(), refine=None)
    solution = trajopt.solve(fastest(), progress=lambda iteration: seen.append(iteration.iteration))
    assert any(solution.limit_points) and "Newton steps" in solution.detail
    assert plain.iterations < solution.iterations <= plain.iterations + 6
    assert [len(solve.iterations) for solve in solution.journal.histories] == [
        plain.iterations + 1,
        solution.iterations - plain.iterations + 1,
    ]
    assert len(seen) == solution.iterations + 2


@pytest.mark.long
def test_without_newtons_method_the_solver_finds_the_same_optimum_on_more_nodes():
    usual = trajopt.solve(fastest())
    solution = trajopt.solve(fastest(), refine=trajopt.LimitNodes(newton=False))
    assert any(solution.limit_points) and "Newton steps" not in solution.detail
    assert solution.iterations > usual.iterations
    assert solution.objective == pytest.approx(usual.objective, rel=1e-6)


def test_the_nodes_of_the_mesh_alone_are_left_where_no_refinement_is_asked():
    plain = trajopt.solve(limited(speed, -np.inf, 1.2), refine=None)
    assert not any(plain.limit_points) and not plain.warning
    assert plain.limit_excess == pytest.approx(excess(plain, speed, -np.inf, 1.2) / 1.2, rel=1e-5)
    report = plain.verify()
    assert report.verdict == "FAIL" and "of its size 1.2; 0.001 of it is allowed" in report.reason
    assert report.reason.endswith("refine=trajopt.LimitNodes() adds nodes there")
    assert plain.verify(accuracy=0.5).verdict == "PASS"


def test_three_lines_are_printed_the_second_with_the_largest_excess_in_percent():
    solution = trajopt.solve(limited(speed, -np.inf, 1.2))
    report = solution.verify()
    percent = 100.0 * report.largest_excess.dense_relative
    verdict, excess, known = str(report).splitlines()
    assert verdict.startswith("PASS on a coarse mesh, ") and ": all constraints hold" in verdict
    assert known.startswith("proved for all times: ")
    assert excess.startswith(f"largest excess over limits between nodes: {percent:.2g} % (limit")
    assert report.table.replace("\n", " ").startswith(f"{verdict} {excess} ")  # wrapped
    assert report.summary()["largest_excess"] == report.largest_excess.dense_relative
    assert 0.0 < percent <= 0.1


def test_an_excess_that_is_left_is_named(tmp_path):
    """One round moves the peak of a coarse mesh, and does not remove it."""
    rounds = trajopt.LimitNodes(accuracy=1e-7, rounds=1)
    solution = trajopt.solve(fastest(), refine=rounds)
    assert solution.converged and solution.limit_excess > 1e-7
    assert "exceeded between nodes by" in solution.warning and solution.warning in str(solution)
    assert solution.warning in repr(solution)
    solution.save(tmp_path / "x.npz")
    assert trajopt.Solution.load(tmp_path / "x.npz", fastest()).warning == solution.warning


def test_the_deadline_that_has_passed_leaves_limits_looked_at():
    def slow(iteration):
        time.sleep(0.05)

    solution = trajopt.solve(fastest(), progress=slow, time_limit=0.7, starts=1)
    assert not solution.converged or solution.warning or solution.limit_excess <= 1e-3


@pytest.mark.long
def test_what_a_callback_raises_while_nodes_are_added_leaves_the_solve():
    plain = trajopt.solve(fastest(), refine=None)
    seen = []

    def stop(iteration):
        seen.append(iteration)
        if len(seen) > plain.iterations + 2:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        trajopt.solve(fastest(), progress=stop)


@pytest.mark.long
def test_a_refinement_of_knots_is_followed_by_limit_nodes():
    problem = limited(speed, -np.inf, 1.2)
    solution = trajopt.solve(problem, refine=trajopt.Refined(tol=1e-2, rounds=1))
    assert solution.journal.refinement is not None and solution.limit_excess <= 1e-3


@pytest.mark.long
def test_a_compiled_program_keeps_the_nodes_of_its_problem():
    solution = trajopt.solve(limited(speed, -np.inf, 1.2))
    on_mesh = trajopt.compile(limited(speed, -np.inf, 1.2)).solve()
    on_all = trajopt.compile(solution.problem).solve()
    assert on_mesh.limit_excess > 1e-3 >= on_all.limit_excess
    assert on_all.objective == pytest.approx(solution.objective, rel=1e-8)


def test_limits_that_control_points_hold_are_not_looked_at():
    problem = slide()
    problem.subject_to(trajopt.v, -1.2, 1.2, hold="hull", name="speed")
    assert limit_peaks(trajopt.solve(problem)).relative.size == 0


@pytest.mark.long
def test_a_bounded_integral_is_compared_with_its_bound():
    """Its term cancels: the integral of the absolute value is thousands of times the bound."""

    @trajopt.term
    def oscillating(node):
        return node.v[0] ** 2 + 1e5 * np.sin(6283.185307 * node.t)

    problem = slide(6, 4, (0.5, 5.0))
    problem.subject_to(trajopt.integral(oscillating), upper=3.0)
    report = trajopt.solve(problem, starts=1).verify()
    line = next(v for v in report.violations if "integral" in v.label or "oscillating" in v.label)
    assert line.scale == pytest.approx(3.0)


@pytest.mark.long
def test_a_limit_with_a_scale_of_its_own_is_compared_with_it():
    """0.001 of the scale may be missed between nodes: of 1.2 by default, of 6 where that is said."""
    coarse = trajopt.solve(limited(speed, -np.inf, 1.2, scale=6.0), refine=None)
    (line,) = [each for each in coarse.verify().violations if each.name == "limit"]
    assert line.scale == 6.0
    assert coarse.limit_excess == pytest.approx(excess(coarse, speed, -np.inf, 1.2) / 6.0, rel=1e-5)
    assert coarse.limit_excess > 1e-3
    solution = trajopt.solve(limited(speed, -np.inf, 1.2, scale=6.0))
    assert excess(solution, speed, -np.inf, 1.2) < 6e-3
    assert solution.verify().verdict == "PASS"


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, "1 m", [1.0, 2.0]])
def test_a_scale_is_a_number_above_zero(scale):
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(5, duration=1.0))
    with pytest.raises(errors.OptionError, match="the scale of 'speed'"):
        problem.subject_to(speed, upper=1.2, scale=scale)


def test_an_integral_has_no_scale():
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(5, duration=1.0))
    with pytest.raises(errors.OptionError, match="is an integral"):
        problem.subject_to(trajopt.integral(speed), upper=1.2, scale=1.0)


@pytest.mark.long
def test_the_dense_method_starts_on_more_nodes_with_the_multipliers_it_has():
    solution = trajopt.solve(fastest(), trajopt.InteriorPoint(), refine=trajopt.LimitNodes(newton=False))
    assert any(solution.limit_points) and solution.converged and "IPOPT" not in solution.detail
    assert solution.objective == pytest.approx(trajopt.solve(fastest()).objective, rel=1e-6)
