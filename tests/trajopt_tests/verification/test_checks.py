"""Reports, certificates and refinements read the same checks, whose search finds peaks side by side."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses

import trajopt
from trajopt.checks.constraint_checks import ConstraintChecks, limit_peaks
from trajopt.checks.line import Interval
from trajopt.checks.peaks_between_nodes import CHECK_DENSITY, Density, Peaks, sample_times
from trajopt.checks.violations import certificate_lines, largest_violations, missed_equations, violations


@pytest.fixture(scope="module")
def motion():
    """One metre in a second; constraints are added to its problem afterwards."""
    problem = trajopt.Problem(PointMasses(1, 1e3, 1e3), trajopt.Trajectory.uniform(6, 5, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    return trajopt.solve(problem)


def asked(motion, function, lower=None, upper=None, over="path"):
    """The motion, of a problem that also states a limit on a function of time."""
    problem = motion.problem.on(motion.problem.trajectory)

    @trajopt.term
    def planted(node):
        return function(node.t)

    problem.subject_to(planted, lower, upper, over=over, name="planted")
    return replace(motion, known_problem=problem)


def found(solution):
    (report,) = (each for each in violations(solution, 1e-2) if each.name == "planted")
    (line,) = (each for each in certificate_lines(solution, 1e-6, 1e-6) if each.name == "planted")
    return report, line


def bump(at, width):
    """A bump of height one, of blocks of NumPy that have no enclosure."""
    return lambda t: np.exp(-(((t - at) / width) ** 2))


@pytest.mark.parametrize("at", [0.31234567, 0.5, 0.77777])
@pytest.mark.parametrize("width", [1e-1, 1e-2, 1e-3])
def test_a_peak_between_samples_has_one_height_in_reports_certificates_and_refinements(motion, at, width):
    solution = asked(motion, bump(at, width), upper=0.5)
    report, line = found(solution)
    assert report.dense_violation == pytest.approx(0.5, abs=1e-5)
    assert line.value == pytest.approx(report.dense_violation, rel=1e-12) and line.time == report.dense_time
    assert limit_peaks(solution).largest == pytest.approx(report.dense_relative, rel=1e-12)
    assert max(v.value for v in largest_violations(solution) if v.name == "planted") <= 0.5 + 1e-12


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_what_is_found_does_not_depend_on_the_unit(motion, size):
    report, line = found(asked(motion, lambda t: size * bump(0.4, 1e-2)(t), upper=0.5 * size))
    assert report.dense_relative == pytest.approx(1.0, rel=1e-4) and report.scale == pytest.approx(0.5 * size)
    assert line.value == pytest.approx(0.5 * size, rel=1e-4) and not line.holds


@pytest.mark.parametrize("height", [1e-3, 0.0099, 0.0101, 0.5])
@pytest.mark.parametrize("width", [1e-1, 1e-3])
def test_equations_that_are_missed_by_more_than_asked_are_narrowed_as_in_a_report(motion, height, width):
    """Peaks below the accuracy are left as the samples have them: no peak above it is, on either side."""
    solution = asked(motion, lambda t: 1.0 + height * bump(0.31234567, width)(t), 1.0, 1.0)
    report, _ = found(solution)
    missed = missed_equations(solution, 1e-2)
    assert report.dense_violation == pytest.approx(height, rel=1e-4)
    if report.dense_relative > 1e-2:
        place = np.searchsorted(solution.knot_times, 0.31234567) - 1
        assert missed[place] == pytest.approx(report.dense_relative, rel=1e-12)
        assert np.count_nonzero(missed) == 1
    else:
        assert not missed.any()


@pytest.mark.parametrize(("at", "sign"), [(0.21234, 1.0), (0.4444, -1.0), (0.5678, 1.0), (0.77777, -1.0)])
def test_pulses_of_which_samples_see_the_flank_alone_are_narrowed_however_low_that_is(motion, at, sign):
    """An eighth of the step between samples wide: the highest one is 6 % to a two-millionth of the pulse."""
    solution = asked(motion, lambda t: 1.0 + 0.05 * sign * bump(at, 6e-5)(t), 1.0, 1.0)
    report, _ = found(solution)
    assert report.dense_relative == pytest.approx(0.05, rel=0.01)
    times = sample_times(solution, CHECK_DENSITY, Interval(0.0, 1.0))
    assert 0.05 * bump(at, 6e-5)(times).max() < 5e-3  # what the samples themselves say
    assert missed_equations(solution, 1e-2).max() == pytest.approx(report.dense_relative, rel=1e-12)


@pytest.mark.parametrize(("lower", "upper", "beyond"), [(-0.2, 1.4, 0.1), (0.3, 2.0, 0.3), (-1.0, 2.0, -0.5)])
def test_control_points_bound_how_far_a_curve_leaves_its_limits(motion, lower, upper, beyond):
    """The speed 6 t (1 - t) of least effort is between 0 and 1.5 m/s; inside of its limits it is negative."""
    problem = motion.problem.on(motion.problem.trajectory)
    problem.subject_to(trajopt.v, lower, upper, name="speed")
    checks = ConstraintChecks(replace(motion, known_problem=problem))
    (line,) = (each for each in checks.results(CHECK_DENSITY) if each.name == "speed")
    below, above = line.between
    assert below.value == pytest.approx(lower, abs=1e-9) and line.bound is not None
    assert above.value == pytest.approx(1.5 - upper, abs=1e-9) and above.time == pytest.approx(0.5, abs=1e-6)
    assert line.bound.value == pytest.approx(beyond, abs=1e-9) == line.bound.hull


def test_both_sides_are_searched_by_themselves(motion):
    """The violation that is larger is not the one that is larger for its scale."""

    def function(t):
        return bump(0.3, 1e-2)(t) * 11.0 - 0.5 * bump(0.7, 1e-2)(t)

    solution = asked(motion, function, lower=0.0, upper=10.0)
    (result,) = (r for r in ConstraintChecks(solution).results(CHECK_DENSITY) if r.name == "planted")
    lower, upper = result.between
    assert lower.value == pytest.approx(0.5, abs=1e-4) and lower.time == pytest.approx(0.7, abs=1e-3)
    assert upper.value == pytest.approx(1.0, abs=1e-3) and upper.time == pytest.approx(0.3, abs=1e-3)
    report, line = found(solution)
    assert report.dense_violation == line.value == upper.value


def test_a_limit_with_one_side_says_nothing_of_the_other(motion):
    report, line = found(asked(motion, lambda t: -5.0 + bump(0.4, 1e-2)(t), upper=1.0))
    assert report.dense_violation == 0.0 and line.holds
    report, line = found(asked(motion, lambda t: -5.0 + bump(0.4, 1e-2)(t), lower=-5.5))
    assert report.dense_violation == 0.0 and line.value == pytest.approx(-0.5, abs=1e-2) and line.holds


@pytest.mark.parametrize("function", [np.sqrt, np.log], ids=["nan", "-inf"])
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_finite_between_nodes_is_found_by_all_and_left_out_of_peaks(motion, function):
    def gap(t):
        return np.maximum(np.abs(t - 0.4321) - 1e-3, 0.0 if function is np.log else -1.0)

    solution = asked(motion, lambda t: function(gap(t)), lower=-1e3, upper=1e3)
    report, line = found(solution)
    assert np.isnan(report.dense_relative) and np.isnan(line.value) and not line.holds
    assert report.dense_time == pytest.approx(0.4321, abs=2e-3)
    assert np.all(np.isfinite(limit_peaks(solution).relative))
    assert not np.isnan([each.value for each in largest_violations(solution)]).any()


@pytest.mark.parametrize("window", [(0.1, 0.1 + 1e-6), (0.43, 0.44), (0.2, 0.9)])
def test_windows_are_searched_between_nodes_and_not_beyond_their_ends(motion, window):
    first, last = window
    inside = asked(motion, bump(0.5 * (first + last), 0.1 * (last - first)), upper=0.5, over=window)
    assert all(
        each == pytest.approx(0.5, abs=1e-4)
        for each in (found(inside)[0].dense_violation, found(inside)[1].value)
    )
    beyond = asked(motion, bump(last + 1e-3, 1e-4), upper=0.5, over=window)
    report, line = found(beyond)
    assert report.dense_violation == 0.0 and line.holds


@pytest.mark.parametrize("over", ["path", trajopt.ArcNodes(0, "whole"), trajopt.ArcNodes(0, (0.2, 0.9))])
def test_peaks_on_an_arc_that_is_short_beside_the_other_are_found(over):
    basis = trajopt.SplineBasis.uniform(2)
    arcs = trajopt.Arc(basis, 1e-3), trajopt.Arc(basis, 10.0)
    problem = trajopt.Problem(PointMasses(1, 1e9, 1e9), trajopt.Trajectory(arcs))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    solution = asked(trajopt.solve(problem), bump(4.321e-4, 1e-5), upper=0.5, over=over)
    report, line = found(solution)
    assert report.dense_violation == pytest.approx(0.5, abs=1e-3) and not line.holds
    assert report.dense_time == pytest.approx(4.321e-4, abs=1e-6)


def test_thinned_samples_are_among_all_samples(motion):
    few = sample_times(motion, CHECK_DENSITY.thinned(8))
    assert few.size < 0.2 * sample_times(motion, CHECK_DENSITY).size
    assert sample_times(motion, Density(1)).size < few.size


def test_peaks_of_no_times_violate_nothing(motion):
    peaks = Peaks(motion.problem.constraints[0], motion.curve, np.empty(0), np.empty((0, 1)))
    assert peaks.worst(0)[0].value == -np.inf and peaks.side.size == 0


def test_flat_stretches_that_hold_are_no_peaks_of_limit_nodes(motion):
    """Distances are cut off at their reach: of two the one that is violated once has the only peak."""

    def distances(t):
        return [np.minimum(100.0 * (t - 0.4) ** 2 - 0.1, 0.2), np.full_like(t, 0.2)]

    solution, times = asked(motion, distances, lower=[0.0, 0.0]), np.linspace(0.0, 1.0, 101)
    assert limit_peaks(solution).times == pytest.approx([0.4], abs=1e-6)
    values, limit = np.stack(distances(times), axis=1), solution.problem.constraints[-1]
    assert Peaks(limit, solution.curve, times, values, above=0.0, most=None).side.tolist() == [0]


@pytest.mark.long
def test_peaks_of_many_components_take_memory_of_few(motion):
    """400 waves have some 3000 peaks; 17 times of each with all components at once would take 160 MB."""
    phases = np.linspace(0.0, 6.0, 400)
    solution = asked(motion, lambda t: [np.sin(40.0 * t + phase) for phase in phases], upper=0.5)
    tracemalloc.start()
    peaks = limit_peaks(solution)
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peaks.times.size > 2000 and largest < 8e7
    assert peaks.largest == pytest.approx(1.0, abs=1e-5)
