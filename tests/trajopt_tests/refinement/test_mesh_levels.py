"""Coarse meshes first: nested meshes, the user's own problem at the end, failures that cost nothing."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

import problems
import trajopt
from trajopt.base.errors import OptionError
from trajopt.refinement.mesh_levels import coarse_first, mesh_levels, trajectory_levels
from trajopt.solvers.solver import Status


@dataclass(frozen=True)
class FailsBelow:
    """Ipopt, but every NLP with fewer unknowns ends at the iteration limit."""

    unknowns: int

    def solve(self, nlp, start=None, run=None):
        result = trajopt.Ipopt().solve(nlp, start, run)
        if nlp.variable_count >= self.unknowns:
            return result
        return replace(result, status=Status.ITERATION_LIMIT)


def spans(solution):
    return [level.spans for level in solution.journal.levels]


@pytest.mark.parametrize(("intervals", "expected"), [(10, [10]), (25, [13, 25]), (80, [10, 20, 40, 80])])
def test_every_mesh_contains_the_one_before(intervals, expected):
    trajectory = problems.cart_pole.build(intervals=intervals).trajectory
    levels = trajectory_levels(trajectory)
    assert [level.arcs[0].basis.span_count for level in levels] == expected
    for coarse, fine in itertools.pairwise(levels):
        one, other = coarse.arcs[0].basis, fine.arcs[0].basis
        assert one.degree == other.degree
        assert set(one.knots) <= set(other.knots)
        assert np.all(one.multiplicities == 3)
    assert levels[-1] is trajectory


def test_phases_with_fewer_levels_begin_with_their_coarsest_mesh():
    """Phases of 40, 20 and 6 spans: those of 6 stay as they are, those of 20 halve once."""
    phases = trajopt.Phases(*(problems.cart_pole.build(intervals=count) for count in (40, 20, 6)))
    levels = mesh_levels(phases)
    counts = [[trajectory.arcs[0].basis.span_count for trajectory in mesh] for mesh in levels]
    assert counts == [[10, 10, 6], [20, 10, 6], [40, 20, 6]]
    assert all(one is part.trajectory for one, part in zip(levels[-1], phases.parts, strict=True))


@pytest.mark.long
def test_the_answer_is_one_of_the_own_problem_on_its_own_mesh():
    problem = problems.three_link_arm.build(intervals=40)
    solution = trajopt.solve(problem, refine=None)
    assert solution.problem is problem
    assert spans(solution) == [10, 20, 40]
    assert solution.iterations == sum(level.iterations for level in solution.journal.levels)
    assert solution.seconds == pytest.approx(sum(level.seconds for level in solution.journal.levels))
    assert solution.verify(accuracy=1e-2).holds  # limits between the nodes of the mesh


@pytest.mark.long
def test_three_links_find_the_short_motion_on_fine_meshes():
    coarse, fine = (trajopt.solve(problems.three_link_arm.build(intervals=n)) for n in (20, 40))
    assert fine.converged
    assert fine.duration < coarse.duration < 0.75


@pytest.mark.long
@pytest.mark.parametrize("fails_below", [80, 10_000])
def test_a_failed_coarse_solve_ends_as_the_direct_one_or_better(fails_below):
    problem = problems.two_link_rr.build(intervals=40)
    solver = FailsBelow(fails_below)
    direct = trajopt.solve(problem, solver, coarse_to_fine=False)
    found = trajopt.solve(problem, solver, coarse_to_fine=True)
    assert found.status is direct.status
    assert found.objective <= direct.objective * (1.0 + 1e-6)


def test_meshes_are_not_approached_where_the_user_knows_better():
    problem = problems.two_link_rr.build(intervals=40)
    assert coarse_first(problem, trajopt.Ipopt())
    assert not coarse_first(problem, trajopt.InteriorPoint())  # as fast on the own mesh
    assert not coarse_first(problems.two_link_rr.build(intervals=20), trajopt.Ipopt())
    assert not coarse_first(problems.cart_pole.build(intervals=60), trajopt.Ipopt())  # its duration is fixed
    problem.guess(duration=1.0)
    assert not coarse_first(problem, trajopt.Ipopt())
    assert spans(trajopt.solve(problem)) == [40]


@pytest.mark.long
def test_the_same_input_gives_the_same_answer():
    one, other = (trajopt.solve(problems.two_link_rr.build(intervals=40)) for _ in range(2))
    assert np.array_equal(one.curve.control_points[0], other.curve.control_points[0])
    assert spans(one) == spans(other)


@pytest.mark.long
def test_the_time_limit_holds_for_all_meshes_together():
    problem = problems.six_axis_arm.build(intervals=80)
    trajopt.solve(problem, trajopt.Ipopt(max_iterations=1))  # compiles
    solution = trajopt.solve(problem, time_limit=0.05)
    assert solution.status is Status.TIME_LIMIT
    assert solution.curve.bases[0].span_count == 80


@pytest.mark.parametrize("given", ["yes", 2, None])
def test_other_words_for_coarse_to_fine_are_refused(given):
    with pytest.raises(OptionError, match=r"coarse_to_fine \('auto' or a flag\) = .*: expected True"):
        trajopt.solve(problems.two_link_rr.build(), coarse_to_fine=given)


@pytest.mark.long
def test_the_page_and_the_timings_count_all_meshes():
    solution = trajopt.solve(problems.sliding_mass.build(intervals=40))
    assert sum(solution.timings.values()) <= solution.seconds * 1.01
    assert sum(solution.timings.values()) > solution.journal.levels[-1].seconds
    page = trajopt.report.html(solution)
    assert all(str(level) in page for level in solution.journal.levels)
