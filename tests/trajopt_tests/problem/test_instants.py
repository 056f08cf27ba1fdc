"""Costs summed over single times, and constraints that hold at them: nodes, values, checks, files."""

from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses

import trajopt
from trajopt.base.errors import OptionError
from trajopt.splines.node_sets import Instants, node_set

TIMES = [0.0, 0.3, 0.5, 0.9, 1.0]
VALUES = np.array([1.1, 0.8, 0.55, 0.45, 0.35])


def decay(mesh=None, times=TIMES, values=VALUES, power=2):
    """x' = -k x from a free x(0), fitted to samples."""
    system = trajopt.system(("x",), (), lambda node: [-node.parameter("k") * node.x])
    problem = trajopt.Problem(
        system, mesh or trajopt.Trajectory.collocation(7, 4, duration=1.0), name="decay"
    )
    problem.parameter("k", guess=0.5)
    residual = trajopt.state("x") - problem.data("measured", times, values)
    cost = residual**2 if power == 2 else trajopt.absolute(residual)
    problem.minimize(cost, over=list(times), name="misfit")
    problem.guess(x=[[1.0], [1.0]])
    return problem


def best_decay(times, values):
    """Fitted by SciPy, k and x(0)."""
    from scipy.optimize import least_squares

    t = np.array(times)
    return least_squares(lambda p: p[1] * np.exp(-p[0] * t) - values, [0.5, 1.0], xtol=1e-14, gtol=1e-14)


def test_a_sum_over_samples_is_fitted_as_by_the_solution_of_the_equation():
    solution, best = trajopt.solve(decay()), best_decay(TIMES, VALUES)
    assert solution.converged and solution.verify().holds
    assert solution.objective == pytest.approx(2.0 * best.cost, abs=1e-9)
    assert solution.parameters["k"][0] == pytest.approx(best.x[0], abs=1e-6)
    at_times = solution.value(trajopt.state("x"), TIMES)[:, 0]
    assert solution.cost_terms["misfit"] == pytest.approx(np.sum((at_times - VALUES) ** 2), rel=1e-12)


def test_times_that_are_no_nodes_become_nodes_that_carry_nothing_else():
    bare = trajopt.Trajectory.collocation(7, 4, duration=1.0)
    problem = decay(bare)
    nodes, over = problem.trajectory.nodes, problem.costs[0].over
    assert problem.trajectory.sample_points == ((0.3, 0.5, 0.9),) and bare.sample_points == ()
    assert nodes.count == bare.nodes.count + 3 and nodes.samples_only.sum() == 3
    assert np.allclose(nodes.s[over.nodes(problem.trajectory)], TIMES)
    plain = trajopt.transcribe(problem.on(bare)).row_count
    assert plain == 7 * 4 == trajopt.transcribe(problem).row_count
    limited = decay(bare)
    limited.subject_to(trajopt.state("x") ** 2, upper=2.0, name="limit")
    held = next(c for c in limited.constraints if c.name == "limit").held_at(limited.trajectory)
    assert not held[nodes.samples_only].any() and held.sum() > 7 * 4 - 1


def test_a_window_that_holds_samples_alone_holds_no_node():
    problem = decay()
    problem.subject_to(trajopt.state("x"), upper=2.0, over=(0.3 - 1e-6, 0.3 + 1e-6))
    with pytest.raises(OptionError, match="no node lies in the window"):
        trajopt.transcribe(problem)
    assert trajopt.ArcNodes(0, "extra").nodes(problem.trajectory).size == 6  # left ends of Radau spans


@pytest.mark.long
def test_limit_nodes_and_certificates_keep_the_samples():
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(6, 4, (0.5, 5.0)))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(trajopt.tau, -2.0, 2.0, name="force")
    problem.subject_to(trajopt.q, equals=0.3, over=Instants([0.37], "progress"), name="point")
    problem.minimize(trajopt.duration)
    for refinement in (trajopt.LimitNodes(1e-3), trajopt.Certified(tol=1e-3)):
        solution = trajopt.solve(problem, refine=refinement)
        assert solution.q(0.37 * solution.duration)[0] == pytest.approx(0.3, abs=1e-9)
        assert solution.verify().holds


def test_a_mesh_with_other_knots_gets_nodes_at_the_same_seconds():
    problem = decay()
    other = problem.on(trajopt.Trajectory.collocation(4, 3, "gauss", 0.5, arcs=2))
    nodes = other.trajectory.nodes
    assert np.allclose(0.5 * (nodes.arc + nodes.s)[problem.costs[0].over.nodes(other.trajectory)], TIMES)
    assert trajopt.solve(other).objective == pytest.approx(trajopt.solve(problem).objective, rel=1e-4)


@pytest.mark.long
def test_refinement_keeps_the_samples():
    solution = trajopt.solve(
        decay(trajopt.Trajectory.collocation(2, 2, duration=1.0)), refine=trajopt.Refined()
    )
    assert solution.objective == pytest.approx(2.0 * best_decay(TIMES, VALUES).cost, rel=1e-4)
    assert solution.verify().holds


def test_a_spline_passes_points_at_given_seconds():
    problem = trajopt.Problem(PointMasses(2, 1.0), trajopt.Trajectory.uniform(9, 5, 2.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=0.0, v=0.0)
    problem.subject_to(trajopt.q, equals=[0.3, -0.2], over=[0.37, 1.21], name="points")
    problem.subject_to(trajopt.v, -0.1, 0.1, over=np.array([1.0]), name="slow")
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem)
    assert np.allclose(solution.q([0.37, 1.21]), [[0.3, -0.2]] * 2, atol=1e-12)
    assert np.all(np.abs(solution.v(1.0)) <= 0.1 + 1e-8)
    report = solution.verify()
    assert report.holds and {"points", "slow"} <= {each.name for each in report.violations}
    marks = [line for line in trajopt.plot.joints(solution).axes[0].lines if line.get_marker() == "D"]
    assert [line.get_xdata()[0] for line in marks] == pytest.approx([0.37, 1.21])


def test_verify_evaluates_what_is_stated_at_single_times():
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(9, 5, 2.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem)
    for term, bound in ((trajopt.q, 0.4), (trajopt.tau**2, 0.01)):
        stricter = problem.on(problem.trajectory)
        stricter.subject_to(term, upper=bound, over=[0.2, 1.1], name="missed")
        report = replace(solution, known_problem=stricter).verify()
        missed = next(each for each in report.violations if each.name == "missed")
        values = solution.value(term, [0.2, 1.1])[:, 0]
        assert not report.holds
        assert missed.dense_violation == pytest.approx(values.max() - bound, rel=1e-9)


@pytest.mark.long
def test_a_forged_sum_is_found_and_a_file_keeps_the_true_one(tmp_path):
    solution = trajopt.solve(decay())
    solution.save(tmp_path / "decay.npz")
    read = trajopt.Solution.load(tmp_path / "decay.npz", decay())
    assert read.verify().holds
    forged = replace(read, cost_terms={"misfit": 0.9 * read.objective}, objective=0.9 * read.objective)
    assert not forged.verify().holds


@pytest.mark.long
def test_a_free_duration_takes_normalised_times_in_phases_too():
    def move(over):
        problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(8, 4, (0.2, 5.0)))
        problem.subject_to(trajopt.q, equals=0.2, over=over, name="quarter")
        problem.subject_to(trajopt.tau, -2.0, 2.0)
        problem.minimize(trajopt.duration)
        return problem

    with pytest.raises(OptionError, match="the duration is free, so that seconds are no place"):
        move([0.25])
    parts = [move(Instants([0.31], "progress")), move(Instants([0.31], "progress"))]
    parts[0].start_at(q=0.0, v=0.0)
    parts[1].end_at(q=1.0, v=0.0)
    phases = trajopt.Phases(*parts)
    for term in (trajopt.q, trajopt.v):
        phases.link(term, parts[0].at("end"), parts[1].at("start"))
    solution = trajopt.solve(phases)
    assert solution.converged and solution.verify().holds
    for part in solution.phases:
        assert part.q(0.31 * part.duration)[0] == pytest.approx(0.2, abs=1e-9)


def test_a_compiled_fit_takes_other_samples_and_no_other_duration():
    program = trajopt.compile(decay())
    other = 1.3 * np.exp(-0.7 * np.array(TIMES)) + 0.01
    solution, best = program.solve(measured=other[:, None]), best_decay(TIMES, other)
    assert solution.parameters["k"][0] == pytest.approx(best.x[0], abs=1e-6)
    assert "duration" not in str(program.inputs) and "measured" in str(program.inputs)


@pytest.mark.long
def test_absolute_residuals_are_summed_too():
    """The least sum of absolute values leaves an outlier alone."""
    true = 1.2 * np.exp(-0.8 * np.array(TIMES))
    samples = true + 0.5 * (np.arange(5) == 2)
    solution = trajopt.solve(decay(values=samples, power=1))
    assert solution.parameters["k"][0] == pytest.approx(0.8, abs=1e-5)
    assert solution.objective == pytest.approx(0.5, abs=1e-6) and solution.verify().holds


@pytest.mark.long
def test_where_a_control_jumps_its_value_before_counts():
    problem = trajopt.Problem(
        trajopt.system(("x",), ("u",), lambda node: [node.u]),
        trajopt.Trajectory.collocation(2, 1, duration=1.0),
    )
    problem.control("u", -1.0, 1.0, degree=0)
    problem.start_at(x=[0.0])
    problem.end_at(x=[0.1])
    problem.minimize(trajopt.state("u"), weight=-1.0, over=[0.5], name="first")
    solution = trajopt.solve(problem)
    assert solution.value(trajopt.state("u"), [0.2, 0.8])[:, 0] == pytest.approx([1.0, -0.8], abs=1e-4)
    assert solution.verify().holds


@pytest.mark.parametrize("wrong", [[1.0, 0.5], [0.5, 0.5], [], [np.nan], [[0.1, 0.2]]])
def test_times_rise(wrong):
    with pytest.raises(OptionError, match="single times rise"):
        node_set(wrong)


def test_times_outside_the_motion_and_other_clocks_are_refused():
    with pytest.raises(OptionError, match=r"5 times, 0 to 1.5 s: the motion lasts from 0 to 1 s"):
        decay(times=[0.0, 0.3, 0.5, 0.9, 1.5])
    with pytest.raises(OptionError, match="0 to 1 of normalised time"):
        Instants([1.2], "progress").places(trajopt.Trajectory.uniform())
    with pytest.raises(OptionError, match="expected 'seconds' or 'progress'"):
        Instants([1.2], "minutes")
    assert (
        str(node_set([0.5])) == "0.5 s" and str(Instants([0.1, 0.2], "progress")) == "2 times, 0.1 to 0.2 T"
    )
