"""Knots where they are needed, and motions that do not change when knots are added."""

import numpy as np
import pytest
from hand_written import two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.certified.switching.structure_search import indicator
from trajopt.refinement.refinements import Refined
from trajopt.solution.journal import Attempt, Journal
from trajopt.splines.knots import split, with_breakpoints

OPTIMUM = 0.3918545395


def test_knot_insertion_reproduces_the_curve():
    rng = np.random.default_rng(0)
    coarse = trajopt.SplineBasis.clamped([0.0, 0.3, 0.7, 1.0], 3, [1, 2])
    points = rng.standard_normal((coarse.count, 2))
    s = rng.uniform(0.0, 1.0, 200)
    fine = with_breakpoints(coarse, [0.1, 0.5, 0.7])
    moved = fine.interpolate(coarse.evaluate(points, fine.greville))
    assert np.allclose(fine.evaluate(moved, s), coarse.evaluate(points, s), atol=1e-13)


def test_the_finer_problem_starts_at_the_coarse_answer():
    coarse = trajopt.solve(two_link_minimum_time(10))
    nlp = trajopt.transcribe(coarse.on_halved_spans())
    halved = coarse.on_halved_spans()
    finer = Journal(halved, trajopt.Ipopt(max_iterations=0)).answer(Attempt(halved))
    t = np.linspace(0.0, coarse.duration, 50)
    assert nlp.variable_count > coarse.n_variables
    assert np.allclose(finer.q(t), coarse.q(t), atol=1e-9)


def test_spans_of_the_motion_are_halved_where_its_problem_has_another_mesh(tmp_path):
    """A file that is read with its problem has more spans than this problem where the solve halved them."""
    fine = two_link_minimum_time(10)
    trajopt.solve(fine, trajopt.Ipopt(max_iterations=0), starts=1, refine=None).save(tmp_path / "x.npz")
    motion = trajopt.Solution.load(tmp_path / "x.npz", problem=two_link_minimum_time(4))
    assert motion.problem.trajectory.arcs[0].basis.span_count == 4
    assert motion.on_halved_spans().trajectory.arcs[0].basis.span_count == 20


@pytest.mark.long
def test_the_indicator_points_at_the_switch_that_costs_most():
    """The shoulder's, whose multiplier is the steepest there."""
    solution = trajopt.solve(two_link_minimum_time(20))
    values = indicator(solution)
    edges = solution.knot_times
    assert abs(int(np.searchsorted(edges, 0.195927) - 1) - int(np.argmax(values))) <= 1


@pytest.mark.long
def test_adaptive_knots_beat_as_many_uniform_ones():
    adaptive = trajopt.solve(two_link_minimum_time(10), refine=Refined(tol=1e-9, rounds=4))
    spans = adaptive.knot_times.size - 1
    uniform = trajopt.solve(two_link_minimum_time(spans))
    assert adaptive.converged
    assert abs(adaptive.duration - OPTIMUM) < 0.6 * abs(uniform.duration - OPTIMUM)


@pytest.mark.long
def test_uniform_refinement_ends_when_the_objective_settles():
    settled = trajopt.solve(two_link_minimum_time(5), refine=Refined(tol=1e-2, spans="uniform"))
    plain = trajopt.solve(two_link_minimum_time(5))
    assert settled.converged and settled.knot_times.size in (11, 21, 41)
    assert abs(settled.duration - OPTIMUM) < abs(plain.duration - OPTIMUM)


@pytest.mark.long
def test_refinement_stops_at_the_most_spans():
    solution = trajopt.solve(two_link_minimum_time(8), refine=Refined(tol=1e-12, spans="uniform", most=10))
    assert solution.knot_times.size == 17


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol = 0.0: expected a finite number above 0"),
        ({"rounds": 0}, "rounds = 0: expected a whole number, 1 or more"),
        ({"spans": "some"}, "'adaptive' or 'uniform'"),
        ({"most": 0}, "most = 0: expected a whole number, 1 or more"),
        ({"errors": "some"}, "'both' or 'equations'"),
    ],
)
def test_impossible_refinements_are_refused(options, message):
    with pytest.raises(errors.OptionError, match=message):
        Refined(**options)


def test_marks_and_breakpoints_that_do_not_fit_are_refused():
    trajectory = trajopt.Trajectory.uniform(4)
    with pytest.raises(errors.ShapeError, match="one boolean per span and arc"):
        split(trajectory, [np.ones(3, bool)])
    with pytest.raises(errors.ShapeError, match="between 0 and 1"):
        with_breakpoints(trajectory.arcs[0].basis, [1.5])
