"""Limits between the nodes: peaks, holes and jumps there fail, at their time and to their size."""

from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses, two_link_minimum_time
from sliding_mass import bump, judged, slide
from tiers import every, fast_first, long_first

import dynamics
import trajopt
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError
from trajopt.checks.peaks_between_nodes import CHECK_DENSITY, sample_times


@pytest.fixture(scope="module")
def plain():
    solution = trajopt.solve(slide())
    assert solution.verify().holds
    return solution


def test_a_peak_between_nodes_is_found_at_its_time_to_its_height(plain):
    nodes = plain.node_times
    at = 0.37 * nodes[9] + 0.63 * nodes[10]
    width = 0.1 * (nodes[10] - nodes[9])
    limit = lambda p: p.subject_to(bump(at, width) + 0.0 * trajopt.q, upper=0.5, name="no bump")  # noqa: E731
    report = judged(plain, limit)
    assert report.holds_at_nodes and not report.holds
    assert report.max_violation_dense == pytest.approx(0.5, abs=1e-4)
    (entry,) = (v for v in report.violations if v.name == "no bump")
    assert entry.dense_time == pytest.approx(at, abs=1e-2 * width)
    low = lambda p: p.subject_to(bump(at, width, 0.5004) + 0.0 * trajopt.q, upper=0.5, name="low")  # noqa: E731
    assert judged(plain, low).holds  # 0.08 % of the limit


def test_a_window_between_two_nodes_is_looked_at(plain):
    """The motion of another mesh may have no node in a window; the grid has times there."""
    t = plain.node_times[9:11]
    window = (float(0.8 * t[0] + 0.2 * t[1]), float(0.2 * t[0] + 0.8 * t[1]))
    own = trajopt.ExpressionTerm(lambda node: 1.0 * node.v, "own speed")
    (entry,) = (
        v
        for v in judged(plain, lambda p: p.subject_to(own, upper=0.1, over=window, name="slow")).violations
        if v.name == "slow"
    )
    assert entry.node_violation == 0.0 and window[0] <= entry.dense_time <= window[1]
    assert entry.dense_violation == pytest.approx(float(plain.v(entry.dense_time)[0]) - 0.1, rel=1e-9)


@pytest.mark.parametrize("first", [True, False])
def test_what_is_not_a_number_between_nodes_fails_with_its_time(plain, first):
    nodes = plain.node_times
    at, width = 0.5 * (nodes[9] + nodes[10]), 0.3 * (nodes[10] - nodes[9])

    @trajopt.term
    def hole(node):
        return (abs(node.t - at) - width) ** 0.5 + 0.0 * node.q

    several = [
        lambda p: p.subject_to(hole, upper=10.0, name="with a hole"),
        lambda p: p.subject_to(trajopt.v, upper=9.0, name="speed"),
    ]
    report = judged(plain, *(several if first else several[::-1]))
    assert not report.holds and "with a hole: not a finite number at t = " in report.reason
    assert abs(float(report.reason.split("t = ")[1].split()[0]) - at) <= width
    assert np.isnan(report.max_violation_dense) and "nan" in report.table
    cost = judged(plain, lambda p: p.minimize(hole, name="cost with a hole"))
    assert "not a finite number" in cost.reason and "cost with a hole" in cost.reason


@fast_first(
    ("lower", "upper"),
    [(-1e-9, 1e-9), (-np.inf, 1e-9), (0.0, 1e-9), (-1e19, 1.0), (-1e30, 1e-3), (-5.9, 5.9)],
    3,
)
def test_limits_of_any_size_are_checked_relative_to_themselves(plain, lower, upper):
    """The force runs from 6 N to -6 N."""
    report = judged(plain, lambda p: p.subject_to(trajopt.tau, lower, upper, name="small"))
    assert not report.holds_at_nodes and report.reason.startswith("small, slider 0: violated by")


@fast_first(
    ("lower", "upper"),
    [(-1e-9, 4e-9), (-1e3, 4e-9), (0.0, None), (None, 4e-9), (-4e-9, 1e12), (None, 0.0)],
    3,
)
def test_small_values_are_checked_by_their_own_size(plain, lower, upper):
    """6e-9 at most: a bound of zero, or one far away on the other side, says nothing of what is small."""

    @trajopt.term
    def small(node):
        return 1e-9 * node.tau

    report = judged(plain, lambda p: p.subject_to(small, lower, upper, name="small"))
    assert report.reason.startswith("small, slider 0: violated by")
    held = judged(plain, lambda p: p.subject_to(1e-9 * trajopt.tau**2, 0.0, None, name="small"))
    assert all(v.dense_relative <= 0.0 for v in held.violations if v.name == "small")


@pytest.mark.long
def test_a_limit_of_the_jerk_fails_where_the_acceleration_jumps():
    """Parabolas under a speed limit: between the knots the jerk is zero, at some it is infinite."""
    own = trajopt.ExpressionTerm(lambda node: 1.0 * node.jerk, "own")
    for term in (trajopt.jerk, own):
        capped = lambda p: p.subject_to(trajopt.v, upper=1.2, name="speed")  # noqa: E731
        limited = lambda p, t=term: p.subject_to(t, -50.0, 50.0, name="jerk limit")  # noqa: E731
        rough = trajopt.solve(slide(capped, limited, degree=2)).verify()
        assert rough.reason.startswith("jerk limit, slider 0: infinite at t = ")
        smooth = trajopt.solve(slide(limited, degree=4)).verify()
        assert smooth.holds, smooth.reason


@pytest.mark.parametrize("quantity", [trajopt.a, trajopt.tau, trajopt.jerk])
def test_a_limit_of_the_acceleration_fails_where_the_velocity_jumps(quantity):
    """A broken line: on both sides of its corner the acceleration is zero, at it infinite."""
    basis = trajopt.SplineBasis.clamped([0.0, 0.5, 1.0], 2, [2])
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory((trajopt.Arc(basis, 1.0),)))
    problem.start_at(q=0.0)
    problem.end_at(q=1.0)

    @trajopt.term
    def miss(node):
        return (node.q - np.maximum(0.0, 2.0 * node.t - 1.0)) ** 2

    problem.minimize(miss)
    problem.subject_to(quantity, -1.0, 1.0, name="gentle")
    solution = trajopt.solve(problem)
    assert solution.converged and np.ptp(solution.v(np.array([0.499, 0.501]))) > 1.9
    reason = solution.verify().reason
    assert reason.startswith("gentle, slider 0: infinite at t = 0.5 s, where the velocity or the")


def test_a_limit_that_holds_passes_whatever_its_size(plain):
    for lower, upper in ((-6.0, 6.0), (-1e19, 1e19), (-1e9, 6.1)):
        assert judged(plain, lambda p, a=lower, b=upper: p.subject_to(trajopt.tau, a, b, name="wide")).holds


@pytest.mark.long
def test_bounds_of_additional_curves_parameters_durations_and_repetitions_are_looked_at():
    def more(problem):
        problem.extra("push", lower=-1.0, upper=1.0, guess=0.5)
        problem.parameter("size", lower=0.0, upper=1.0, guess=0.5)
        problem.minimize(trajopt.Quantity("extra:push") ** 2, name="push")
        problem.minimize(trajopt.Quantity("parameter:size") ** 2, name="size")

    solution = trajopt.solve(slide(more))
    assert solution.verify().holds, solution.verify().reason
    points = solution.curve.control_points[0].copy()
    points[4, 1] = 5.0
    wild = replace(solution, curve=replace(solution.curve, control_points=(points,)))
    assert "bounds of push: violated" in wild.verify().reason
    large = replace(solution, parameters={"size": np.array([1.5])})
    assert "bounds of size: violated" in large.verify().reason
    long = replace(
        solution,
        curve=replace(solution.curve, durations=np.array([1.1])),
        node_times=1.1 * solution.node_times,
    )
    assert "duration" in long.verify().reason
    again = slide(more)
    again.subject_to_periodic(trajopt.q, name="repeats")
    assert "repeats, slider 0: violated by 1 " in replace(solution, known_problem=again).verify().reason


def test_differences_between_nodes_are_checked_at_nodes_and_the_report_says_so(plain):
    report = judged(plain, lambda p: trajopt.library.limit_torque_rate(p, 1.0))
    assert "torque rate" in report.reason and "at a node" in report.reason
    assert "nodes only" in report.table
    wider = judged(plain, lambda p: trajopt.library.limit_torque_rate(p, 13.0))
    assert wider.holds and f"at most {np.diff(plain.node_times).max():.2g} s apart" in str(wider)


@pytest.mark.long
def test_the_accuracy_between_nodes_is_the_users():
    solution = trajopt.solve(two_link_minimum_time(10))
    default = solution.verify()
    assert default.holds and default.accuracy == 0.01
    assert 1e-4 < default.max_violation_dense / 20.0 < 0.01
    strict = solution.verify(accuracy=1e-4)
    assert not strict.holds and "torque limits" in strict.reason and strict.holds_at_nodes
    for wrong in (0.0, -1.0, np.nan, np.inf, "1"):
        with pytest.raises((OptionError, ShapeError, NotFiniteError), match="the accuracy is"):
            solution.verify(accuracy=wrong)


@long_first("count", [20, 60])
def test_random_peaks_wider_than_the_samples_are_never_passed(count):
    """Peaks anywhere, of any width from the resolution on, on limits of any size, against the accuracy."""
    generator = np.random.default_rng(12)
    solutions = [trajopt.solve(slide(intervals=n, degree=d)) for n, d in ((3, 5), (8, 4), (15, 3))]
    steps = [solution.verify().resolution for solution in solutions]
    missed, refused = [], []
    for case in range(count):
        solution, step = solutions[case % 3], steps[case % 3]
        at, width = generator.uniform(0.0, 1.0), step * 10 ** generator.uniform(0.0, 1.5)
        size, excess = 10 ** generator.uniform(-9, 9), 10 ** generator.uniform(-1.9, 1.0)
        for height in (1.0 + excess, 1.0 / (1.0 + excess)):
            peak = bump(at, width, size * height) + 0.0 * trajopt.q
            report = replace(
                solution,
                known_problem=slide(
                    lambda p, peak=peak, size=size: p.subject_to(peak, upper=size, name="planted")
                ),
            ).verify()
            if height > 1.0 and report.holds:
                missed.append((case, at, width / step, size, height))
            if height < 1.0 and not report.holds:
                refused.append((case, report.reason))
    assert not missed and not refused


def turned_arm():
    """Two links under gravity, turned in one second with the least squared acceleration."""
    rows = [{"a": 0.5, "mass": 2.0, "centre_of_mass": [-0.2, 0.0, 0.0]} for _ in range(2)]
    robot = dynamics.from_dh(rows, gravity=(0.0, -9.81, 0.0))
    problem = trajopt.Problem(robot, trajopt.Trajectory.uniform(6, 4, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[1.0, -0.7], v=0.0)
    problem.minimize(trajopt.a**2)
    return trajopt.solve(problem)


def test_what_samples_do_not_refute_is_proved_where_enclosures_are_known():
    solution = turned_arm()
    largest = solution.tau(np.linspace(0.0, 1.0, 20_001)).max(axis=0)
    solution.problem.subject_to(trajopt.tau, upper=largest + 1e-3, name="torques")
    solution.problem.subject_to(trajopt.position("joint2"), upper=3.0, over=(0.2, 0.7), name="place")
    report = solution.verify()
    evidence = {v.name: v.evidence for v in report.violations}
    assert evidence["torques"] == evidence["place"] == "proved"
    assert evidence["q at the start"] == "evaluated"
    text = " ".join(report.table.split())
    assert report.verdict == "PASS" and "proved for all times: " in text and " proved N m" in text


def test_a_spike_between_all_samples_fails_where_an_enclosure_meets_it():
    solution = turned_arm()

    @trajopt.term
    def spike(node):
        return 1.0 / (1.0 + ((node.t - 0.31415926) / 1e-6) ** 2)

    solution.problem.subject_to(spike, upper=0.5, name="spike")
    report = solution.verify()
    assert report.verdict == "FAIL" and "spike" in report.reason
    (found,) = (v for v in report.violations if v.name == "spike")
    assert abs(found.dense_time - 0.31415926) < 3e-6 and found.dense_relative > 1e-2


def test_samples_that_grids_share_stand_once():
    """The two-link arm on ten intervals: half of the first one is a node's grid and an even grid at once."""
    solution = trajopt.solve(two_link_minimum_time(10), refine=None)
    times = sample_times(solution, CHECK_DENSITY)
    assert times[0] == 0.0 and times[-1] == solution.duration
    assert np.diff(times).min() > 1e-13 * solution.duration
    inner = solution.knot_times[1:-1, None]  # there curves have the value of one side alone
    assert np.all(np.sum(np.abs(times - inner) < 2e-12 * solution.duration, axis=1) == 2)
    assert np.abs(times - inner).min() > 1e-13 * solution.duration


@pytest.mark.parametrize("others", [[0.0, 1.0, 0.0, -2.0], [0.0, -2.0, 0.0, 1.0]])
@pytest.mark.parametrize("size", [1.0, 1e9])
def test_a_pulse_of_a_table_is_seen_beside_larger_ones(others, size):
    """Larger ones are on the other side, or of another column, between the same two samples."""
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=(1.0, 2.0)))
    problem.start_at(x=[0.0])
    problem.end_at(x=[1.0])
    values = np.zeros((7, 2))
    values[1:5, 0], values[2, 1] = others, size
    problem.data(
        "push", np.concatenate([[0.0], 0.2 + 1e-4 * np.arange(5), [2.0]]), values, interpolation="linear"
    )

    @trajopt.term
    def pushed(node):
        return 1e-3 * node.u + node.data("push")[0]

    problem.minimize(trajopt.state("u") ** 2)
    solution = trajopt.solve(problem, refine=None, starts=1)
    solution.problem.subject_to(pushed, upper=0.5, name="push")
    report = solution.verify()
    assert solution.converged and not report.holds and report.reason.startswith("push: violated by 0.50")


def capped(times, caps, duration=1.0, room=None):
    """x' = u over a metre with least u^2, and u below a cap in steps, or a term `room` above zero."""
    system = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(2, 3, duration=duration))
    problem.start_at(x=[0.0])
    problem.end_at(x=[1.0])
    problem.data("cap", times, caps, interpolation="steps")
    room = room or trajopt.term(lambda node: node.data("cap") - node.u, name="room")
    problem.subject_to(room, lower=0.0, name="cap")
    problem.minimize(trajopt.state("u") ** 2)
    return problem


@pytest.mark.long
@every("before, after, at, last", [(0.5, 9.0, 0.4, 1e5), (9.0, 0.5, 0.6, 1.0), (0.5, 9.0, 0.4, 1.0)])
def test_a_control_that_steps_with_its_limit_passes_and_beyond_it_on_one_side_fails(before, after, at, last):
    """At the knot itself the control has the value of one side, and the table that of the other.

    A table that ends late is rounded by more than the sides of knots are apart.
    """
    times = [0.0, at, last]
    solution = trajopt.solve(capped(times, [before, after, after]), refine=None, starts=1)
    low = at if before < after else 1.0 - at
    free = (1.0 - 0.5 * low) / (1.0 - low)
    assert solution.objective == pytest.approx(0.25 * low + free**2 * (1.0 - low), rel=1e-7)
    assert solution.verify().holds
    for cap in ((0.997 * 0.5, 9.0), (9.0, 0.997 * free)):  # below what is used on one side of the step
        first, then = cap if before < after else cap[::-1]
        report = replace(solution, known_problem=capped(times, [first, then, then])).verify()
        assert not report.holds and report.reason.startswith("cap: violated by 0.00")


def test_a_table_that_ends_for_ever_later_leaves_no_time_out(plain):
    """A table to 1e15 s is rounded to 2 s: samples so far from knots were none, and every limit held."""
    problem = plain.problem.independent_copy()
    times = sample_times(replace(plain, known_problem=problem), CHECK_DENSITY)
    problem.data("rest", [0.0, 0.3, 1e15], [1.0, 2.0, 2.0], interpolation="steps")
    late = sample_times(replace(plain, known_problem=problem), CHECK_DENSITY)
    assert late.size >= times.size - plain.knot_times.size
    assert np.diff(late).max() == pytest.approx(np.diff(times).max(), rel=1e-2)


@pytest.mark.long
def test_a_limit_that_steps_inside_an_interval_is_refused_with_the_remedy_that_helps():
    """No mesh meets a step at a known time where the duration is free, nor a comparison."""

    @trajopt.term
    def compared(node):
        return 2.0 - 1.4 * (node.t > 0.2) * (node.t < 0.25) - node.u

    known = trajopt.solve(capped([0.0, 1.0], [2.0, 2.0], (0.5, 1.0)), refine=None, starts=1)
    assert known.verify().holds
    for room in (None, compared):
        stepped = capped([0.0, 0.2, 0.25, 1.0], [2.0, 0.6, 2.0, 2.0], (0.5, 1.0), room)
        reason = replace(known, known_problem=stepped).verify().reason
        assert reason.startswith("cap: violated by 0.4 between nodes"), reason
        assert "the limit jumps inside an interval, t = 0.2" in reason and "trajopt.Phases" in reason, reason
