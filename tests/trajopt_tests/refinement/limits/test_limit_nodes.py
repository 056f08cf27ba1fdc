"""Limit nodes: limits hold between the nodes to the accuracy that was asked, and equations stay."""

from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import fast_first

import trajopt
from trajopt.base.errors import OptionError
from trajopt.base.tolerances import LIMIT_ACCURACY
from trajopt.checks.constraint_checks import limit_peaks
from trajopt.refinement.refinements import with_limit_nodes


@trajopt.term(components=["speed", "other way"])
def fastest(node):
    """Speed and a little of the place, so that the limit is no bound of a spline's derivative."""
    return [node.v[0] + 0.1 * node.q[0], -node.v[0]]


def slide(over="path"):
    """One metre in a second with the least squared acceleration, 1.5 m/s unless limited, on four spans."""
    problem = trajopt.Problem(
        PointMasses(1), trajopt.Trajectory.uniform(4, 5, duration=1.0, nodes_per_span=5)
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    problem.subject_to(fastest, upper=[1.2, 0.1], over=over, name="fastest")
    return problem


@fast_first("accuracy", [1e-3, 1e-5])
@fast_first("over", ["path", (0.3, 0.8)])
def test_limits_hold_between_nodes_to_the_accuracy_that_is_asked(over, accuracy):
    plain = trajopt.solve(slide(over), refine=None)
    given = "" if accuracy == LIMIT_ACCURACY else f"accuracy={accuracy:.2g}"
    remedy = f"refine=trajopt.LimitNodes({given}) adds nodes there"
    assert plain.verify(accuracy).reason.endswith(remedy)
    refined = trajopt.solve(slide(over), refine=trajopt.LimitNodes(accuracy))
    assert refined.verify(accuracy).verdict == "PASS"
    t = np.linspace(*(np.array([0.0, 1.0]) if over == "path" else np.array(over)), 20_001)
    assert refined.value(fastest, t)[:, 0].max() <= 1.2 * (1.0 + accuracy)
    assert refined.objective > plain.objective and refined.iterations > plain.iterations
    assert all(s in refined.problem.trajectory.nodes.s for s in refined.limit_points[0])


@pytest.mark.long
def test_a_report_does_not_advise_what_was_tried():
    """One round is too few for an accuracy of 1e-7: more intervals are advised, not the same again."""
    tried = trajopt.solve(slide(), refine=trajopt.LimitNodes(1e-7, rounds=1))
    assert tried.warning
    report = tried.verify(1e-7)
    assert report.verdict == "FAIL" and report.reason.endswith("did not mend it: solve on more intervals")


def test_limits_that_hold_cost_no_further_solve():
    plain = trajopt.solve(slide(), refine=None)
    again = trajopt.LimitNodes(accuracy=1.0).refine(plain, None)
    assert again.curve is plain.curve and not any(again.limit_points)


def test_a_motion_that_did_not_converge_is_returned_as_it_is():
    short = trajopt.solve(slide(), trajopt.Ipopt(max_iterations=1), starts=1, refine=trajopt.LimitNodes(1e-6))
    assert not short.converged and not any(short.limit_points)


def test_limit_points_carry_no_equation_even_where_all_other_nodes_are_added_ones():
    """A window that means one added node goes on to mean that node, however near a limit point is."""
    arc = trajopt.Arc(trajopt.SplineBasis.uniform(2), 1.0)
    counts = []
    for limits in ((), ((0.3 + 1e-7, 0.7),)):
        trajectory = trajopt.Trajectory((arc,), extra_points=((0.3,),), limit_points=limits)
        problem = trajopt.Problem(PointMasses(2), trajectory)
        problem.minimize(trajopt.a**2)

        @trajopt.term
        def both(node):
            return [node.q[0] ** 2, node.v[1] ** 3]

        problem.subject_to(both, [-1.0, 0.1], [1.0, 0.1], over=(0.3 - 1e-6, 0.3 + 1e-6), name="both")
        (group,) = trajopt.transcribe(problem).groups
        counts.append(group.kept.reshape(-1, 2).sum(axis=0).tolist())
    assert counts == [[1, 1], [2, 1]]


def test_a_limit_point_on_a_node_changes_nothing():
    plain = trajopt.Trajectory.uniform(4)
    same = plain.with_limit_points([plain.nodes.s[[2, 5]].tolist()])
    assert same.nodes.count == plain.nodes.count and not same.nodes.limits_only.any()
    more = plain.with_limit_points([[0.111]]).with_limit_points([[0.05, 0.111]])
    assert more.limit_points == ((0.05, 0.111),)
    assert more.nodes.s[more.nodes.limits_only].tolist() == [0.05, 0.111]
    assert np.all(more.nodes.weight[more.nodes.limits_only] == 0.0)


def test_nodes_are_added_at_times_of_several_arcs():
    arcs = (
        trajopt.Arc(trajopt.SplineBasis.uniform(2), 1.0),
        trajopt.Arc(trajopt.SplineBasis.uniform(2), 3.0),
    )
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory(arcs))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    solution = trajopt.solve(problem)
    assert with_limit_nodes(solution, [0.1, 3.4, 4.0]).limit_points == ((0.1,), (pytest.approx(0.8),))


def test_peaks_are_the_largest_violations_in_their_neighbourhood():
    solution = trajopt.solve(slide(), refine=None)
    peaks = limit_peaks(solution)
    t = np.linspace(0.0, 1.0, 100_001)
    violation = solution.value(fastest, t)[:, 0] - 1.2
    assert peaks.largest == pytest.approx(violation.max() / 1.2, rel=1e-6)
    assert np.all(np.diff(peaks.above(0.0)) > 0.0) and peaks.above(1.0).size == 0


def test_limit_nodes_are_saved_and_the_optimum_on_them_is_computed_again(tmp_path):
    refined = trajopt.solve(slide(), refine=trajopt.LimitNodes(accuracy=1e-3))
    refined.save(tmp_path / "x.npz")
    again = trajopt.Solution.load(tmp_path / "x.npz", problem=slide())
    assert again.limit_points == refined.limit_points and any(again.limit_points)
    report = again.verify(accuracy=1e-3)
    assert report.verdict == "PASS" and report.kkt_recomputed


def test_what_a_problem_recommends_is_used_unless_another_refinement_or_none_is_given():
    problem = slide()
    problem.recommend(trajopt.Ipopt(), refine=trajopt.LimitNodes(accuracy=1e-3))
    assert any(trajopt.solve(problem).limit_points)
    assert not any(trajopt.solve(problem, refine=None).limit_points)
    assert not any(trajopt.solve(problem, refine=trajopt.LimitNodes(accuracy=1.0)).limit_points)


@pytest.mark.long
def test_rows_in_rounds_are_solved_again_from_the_motion_that_there_is():
    refined = trajopt.solve(slide(), trajopt.ConstraintGeneration(), refine=trajopt.LimitNodes(accuracy=1e-3))
    same = trajopt.solve(slide(), refine=trajopt.LimitNodes(accuracy=1e-3))
    assert refined.verify(accuracy=1e-3).verdict == "PASS"
    assert refined.objective == pytest.approx(same.objective, rel=1e-3)


@pytest.mark.parametrize("wrong", [{"accuracy": 0.0}, {"accuracy": np.nan}, {"rounds": 0}, {"rounds": 1.5}])
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(OptionError, match=next(iter(wrong))):
        trajopt.LimitNodes(**wrong)


@pytest.mark.parametrize("wrong", [trajopt.LimitNodes, "later", 3])
def test_what_is_no_refinement_is_refused(wrong):
    with pytest.raises(OptionError, match="refine"):
        trajopt.solve(slide(), refine=wrong)
    with pytest.raises(OptionError, match="refinement"):
        slide().recommend(trajopt.Ipopt(), refine=wrong)


def test_a_coarse_first_round_may_be_left_out():
    with pytest.raises(OptionError, match="coarse"):
        trajopt.ConstraintGeneration(coarse=-1.0)
    answer = trajopt.solve(slide(), replace(trajopt.ConstraintGeneration(), coarse=0.0))
    assert answer.converged
