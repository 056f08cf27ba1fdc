"""Limits that hold for all t, and optima to the last digits that are known."""

import numpy as np
import pytest
from hand_written import PointMasses, TwoLinkArm, fastest, least_effort, two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.certificates.arc_problem import arc_problem
from trajopt.certificates.switching_structure import Saturation, Structure
from trajopt.certified.switching.structure_detection import detect, fits_ends
from trajopt.certified.switching.structure_search import StructureSearch
from trajopt.checks.violations import certificate_lines, largest_violations
from trajopt.solution.journal import Journal
from trajopt.solvers.solver import Run

TWO_LINK_OPTIMUM = 0.3918545395  # seconds, known to its last digit
TWO_LINK_SWITCHES = [0.045709, 0.195927, 0.235300]


@pytest.fixture(scope="module")
def certified():
    return trajopt.solve(two_link_minimum_time(20), refine=trajopt.Certified(tol=1e-6))


def test_the_two_link_arm_reaches_its_bang_bang_time_and_switches(certified):
    assert certified.converged
    assert abs(certified.duration - TWO_LINK_OPTIMUM) < 1e-9 * TWO_LINK_OPTIMUM
    assert np.allclose(certified.certificate.structure.times[1:-1], TWO_LINK_SWITCHES, atol=1e-6)
    assert certified.certificate.holds and certified.certificate.method == "switching arcs"


def test_no_torque_oversteps_its_limit_on_a_grid_that_the_search_never_saw(certified):
    t = np.random.default_rng(0).uniform(0.0, certified.duration, 50_000)
    assert np.abs(certified.tau(t)).max() <= 10.0 + 1e-6


def test_simulated_torques_reach_the_end(certified):
    report = certified.verify()
    assert report.simulation_error < 1e-9 and report.simulation_error_end_to_end < 1e-8
    assert report.kkt_error < 1e-8


def test_multipliers_have_the_sign_of_the_torques(certified):
    """Pontryagin: a torque sits at the limit towards which the duration would fall."""
    tau = certified.tau(certified.node_times)
    multipliers = certified.multipliers["torque limits"]
    inside = np.concatenate(
        [np.flatnonzero(certified.problem.trajectory.nodes.arc == arc)[1:-1] for arc in range(4)]
    )
    assert multipliers.shape == (inside.size, 2)
    assert np.all(multipliers * np.sign(tau[inside]) > -1e-7)


def test_least_effort_under_a_speed_limit_reaches_its_closed_form():
    """a falls linearly to zero at t1 = 3/2 (1 - 1/V), so J = 8 V^2 / (3 t1)."""
    problem, fastest = least_effort(), 1.45
    problem.subject_to(trajopt.v, upper=fastest, name="speed limit")
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-8))
    first = 1.5 * (1.0 - 1.0 / fastest)
    assert solution.certificate.method == "switching arcs" and solution.certificate.holds
    assert np.allclose(solution.certificate.structure.times[1:-1], [first, 1.0 - first], atol=1e-7)
    assert np.isclose(solution.objective, 8.0 * fastest**2 / (3.0 * first), rtol=1e-9)


@pytest.mark.long
def test_a_limit_that_no_arc_can_hold_is_met_by_added_nodes():
    @trajopt.term
    def speed_and_place(node):
        return node.v + 0.2 * node.q

    problem = least_effort()
    problem.subject_to(speed_and_place, upper=1.5)
    plain = trajopt.solve(problem)
    assert max(v.value for v in largest_violations(plain)) > 1e-5
    refined = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-7))
    assert refined.certificate.method == "added nodes" and refined.certificate.holds
    t = np.linspace(0.0, 1.0, 20_001)
    assert refined.value(speed_and_place, t).max() <= 1.5 + 1e-7
    assert refined.objective > 12.0  # of least effort without a limit
    assert "no switching structure" in str(refined.certificate)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: None, "bounds nothing"),
        (lambda p: p.subject_to(trajopt.v, upper=9.0, over=(0.0, 0.5)), "window of normalised time"),
    ],
)
def test_problems_without_arcs_say_why(change, reason):
    problem = least_effort()
    change(problem)
    if reason != "bounds nothing":
        problem.subject_to(trajopt.a, upper=1e3)
    certificate = trajopt.solve(problem, refine=trajopt.Certified()).certificate
    assert certificate.method == "added nodes" and certificate.holds and reason in certificate.reason


@pytest.mark.parametrize("as_cost", [True, False])
def test_arcs_at_whose_borders_accelerations_jump_are_no_answer_where_the_jerk_counts(as_cost):
    """On the arcs of the sliding mass the jerk is zero, at its switch infinite: no cost of arcs sees that."""
    problem = fastest(PointMasses(1, 2.0, 50.0), 0.0, 1.0)
    if as_cost:
        problem.minimize(trajopt.jerk**2, weight=1e-9, name="smoothness")
    else:
        problem.subject_to(trajopt.integral(trajopt.jerk**2), upper=1e7, name="smoothness")
    certificate = trajopt.solve(problem, refine=trajopt.Certified()).certificate
    assert certificate.method == "added nodes" and certificate.bracket is None
    assert "'smoothness' depends on the jerk" in certificate.reason
    t = np.linspace(0.0, certificate.motion.duration, 2001)
    assert np.abs(np.diff(certificate.motion.a(t)[:, 0])).max() < 5.0  # of 50 m/s^2 from bound to bound


def test_a_path_that_is_prescribed_has_no_arcs():
    trajectory = trajopt.Trajectory.uniform(4, duration=(0.5, 2.0))
    problem = trajopt.Problem(PointMasses(1, 1.0, 5.0), trajectory)
    problem.subject_to(trajopt.q, equals=0.0, over="path")
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    certificate = trajopt.solve(problem, refine=trajopt.Certified()).certificate
    assert certificate.holds and "equality over the whole path" in certificate.reason


def test_limits_that_control_points_hold_have_them_as_evidence():
    problem = trajopt.Problem(
        PointMasses(1, 1.0, 5.0), trajopt.Trajectory.uniform(8, 3, duration=(0.1, 10.0))
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(trajopt.v, -0.6, 0.6, hold="hull")
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem)
    evidence = {line.name: line.evidence for line in certificate_lines(solution, 1e-6, 1e-2)}
    (violation,) = largest_violations(solution)
    assert evidence[violation.name] == "hull" and violation.value == pytest.approx(0.0, abs=1e-8)


def test_the_sliding_mass_is_certified_to_its_closed_form():
    problem = trajopt.Problem(
        PointMasses(1, 2.0, 50.0), trajopt.Trajectory.uniform(9, 3, duration=(0.01, 10.0))
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    assert solution.certificate.method == "switching arcs" and solution.certificate.holds
    assert np.isclose(solution.duration, 0.4, rtol=1e-9)
    assert np.allclose(solution.certificate.structure.times, [0.0, 0.2, 0.4], atol=1e-8)


def test_a_mass_cruises_at_its_speed_limit():
    """Force to speed to force: T = distance / speed + speed / acceleration."""
    problem = fastest(PointMasses(1, 2.0, 50.0), 0.0, 1.0, velocity=3.0)
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    assert solution.certificate.method == "switching arcs" and solution.certificate.holds
    assert np.isclose(solution.duration, 1.0 / 3.0 + 3.0 / 25.0, rtol=1e-8)
    assert np.allclose(solution.certificate.structure.times[1:-1], [0.12, 1.0 / 3.0], atol=1e-7)
    assert "v of slider 0 = +3" in str(solution.certificate)


@pytest.mark.long
def test_velocity_limits_of_the_arm_are_reached_left_and_touched():
    """The elbow touches its lower speed limit for five milliseconds: only a violated limit shows that arc."""
    problem = fastest(TwoLinkArm(), [0.0, -2.0], [1.0, -1.0], velocity=4.0)
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    certificate = solution.certificate
    assert certificate.method == "switching arcs" and certificate.holds
    assert certificate.structure.arc_count == 7 and certificate.signs.wrong < 1e-4
    t = np.linspace(0.0, solution.duration, 20_001)
    assert np.abs(solution.v(t)).max() <= 4.0 + 1e-6 and np.abs(solution.tau(t)).max() <= 10.0 + 1e-6
    assert solution.duration < trajopt.solve(problem).duration


@pytest.mark.long
def test_joints_that_the_optimum_leaves_free_move_with_least_effort():
    problem = fastest(PointMasses(2, 2.0, 50.0), 0.0, [1.0, 0.5])
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    certificate = solution.certificate
    assert np.isclose(solution.duration, 0.4, rtol=1e-9) and certificate.holds
    assert np.isclose(certificate.signs.free, 0.4) and "one motion among many" in str(certificate)
    assert np.abs(solution.tau(np.linspace(0.0, solution.duration, 999))[:, 1]).max() < 40.0


@pytest.mark.long
def test_a_perturbed_structure_still_finds_the_optimum():
    """The equalities fix the motion: durations wrong by tens of percent are corrected in a few iterations."""
    uniform = trajopt.solve(two_link_minimum_time(10))
    structure = detect(uniform)
    rng = np.random.default_rng(1)
    wrong = structure.with_times(structure.durations * rng.uniform(0.8, 1.25, structure.arc_count))
    solution = trajopt.solve(arc_problem(uniform.problem, wrong, uniform, 10))
    assert solution.converged and np.isclose(solution.duration, TWO_LINK_OPTIMUM, rtol=1e-9)


def attempt_from(structure_of, intervals=20):
    """An attempt on the two-link arm that starts from a spoilt structure."""
    uniform = trajopt.solve(two_link_minimum_time(intervals))
    journal = Journal.after(uniform, trajopt.Ipopt(), Run().within(100.0))
    search = StructureSearch(uniform, journal, tol=1e-6, degree=12, rounds=12)
    reason = search.attempt(uniform, structure_of(detect(uniform)), regular=False)
    return search, reason


@pytest.mark.long
@pytest.mark.parametrize(
    "window",
    [
        (0.10, 0.12),
        (0.12, 0.14),
        (0.07, 0.09),
    ],
)
def test_an_arc_too_many_is_found_by_its_multipliers_or_collapses(window):
    """Or the solve ends half-way, and rounding decides which arc looks collapsed there: often a wrong one."""

    def with_a_needless_arc(structure):
        state = structure.saturated[1]
        flipped = frozenset(s.flipped if s.component == 1 else s for s in state)
        return structure.replaced(1, *window, flipped)

    search, reason = attempt_from(with_a_needless_arc)
    assert not reason and search.arcs.count > 1
    assert search.found.certificate.structure.arc_count == 4
    assert np.isclose(search.found.duration, TWO_LINK_OPTIMUM, rtol=1e-8)


def test_no_arc_at_rest_holds_a_speed_limit():
    problem = two_link_minimum_time(20)
    problem.subject_to(trajopt.v, -4.0, 4.0, name="speed limits")
    speed = next(k for k, limit in enumerate(problem.path_limits()) if limit.name == "speed limits")
    solution = trajopt.solve(problem, refine=None)
    fast, bang = frozenset({Saturation(speed, 0, 1)}), frozenset({Saturation(0, 0, 1)})
    times = (0.0, 0.1, solution.duration)
    assert fits_ends(solution, Structure(times, (bang, bang)), 5e-3)
    assert not fits_ends(solution, Structure(times, (fast, bang)), 5e-3)
    assert not fits_ends(solution, Structure(times, (bang, fast)), 5e-3)


@pytest.mark.long
def test_a_structure_that_cannot_be_right_is_refused():
    search, reason = attempt_from(lambda structure: structure.without(3).without(2))
    assert search.found is None and reason


def test_the_page_says_everything_that_a_reviewer_asks_for(certified):
    page = str(certified.certificate)
    for line in (
        "certificate: proved",
        "largest violation",
        "tau of elbow = -10",
        "KKT residuals",
        "Pontryagin",
    ):
        assert line in page
    assert "end to end" in page and certified.certificate.simulation.end_to_end < 1e-8
    assert certified.certificate.summary()["switches"] == 3


def test_a_collapsed_arc_is_dropped_and_equal_neighbours_merge():
    up, down = frozenset({Saturation(0, 0, 1)}), frozenset({Saturation(0, 0, -1)})
    structure = Structure((0.0, 1.0, 1.001, 2.0, 3.0), (up, down, up, down))
    assert structure.without(1) == Structure((0.0, 2.0, 3.0), (up, down))
    assert structure.without(0).arc_count == 3 and structure.without(3).times[-1] == 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol = 0.0: expected a finite number above 0"),
        ({"degree": 30}, "= 30: expected a whole number, 18 at most"),
        ({"rounds": 0}, "rounds = 0: expected a whole number, 1 or more"),
    ],
)
def test_impossible_refinements_are_refused(options, message):
    with pytest.raises(errors.OptionError, match=message):
        trajopt.Certified(**options)


@pytest.mark.long
def test_seconds_of_a_certified_solution_count_its_refinement(certified):
    assert certified.seconds > sum(certified.timings.values())
    assert "solves before the last, and checks" in trajopt.report.html(certified, interactive=False)


@pytest.mark.long
def test_a_budget_over_a_window_is_not_put_on_switching_arcs():
    problem = two_link_minimum_time(20)
    problem.subject_to(trajopt.integral(trajopt.v, over=(0.0, 0.5)), upper=10.0, name="half")
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-3))
    assert "a window of normalised time" in str(solution.certificate)
