"""A verification says how much of the optimum the mesh leaves open, so that a coarse mesh is seen."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import problems
import trajopt
from benchmarks.published.textbook import complementarity, two_phases
from problems.gallery.classics import brachistochrone
from trajopt.solution.answers import program_of
from trajopt.solvers.solver import WarmStart
from trajopt.verification import optimum_error

LEAST_TIME = 0.39185454  # s, of the two-link arm, certified


@pytest.mark.long
@pytest.mark.parametrize("intervals", [20, 40])
def test_a_pass_on_a_coarse_mesh_says_how_far_off_it_is(intervals):
    """Products of complementary controls: 5.12 on twenty intervals, 1.6563 on many."""
    solution = trajopt.solve(complementarity(intervals))
    report = solution.verify()
    assert report.holds and 3.0 > report.error_of_optimum / (solution.objective - 1.6563) > 1.0
    assert report.summary()["error_of_optimum"] == report.error_of_optimum
    text = str(report)
    assert text.startswith("PASS on a coarse mesh, about ") and " % from the optimum: all constraints" in text
    assert "locally optimal on this mesh; error of the optimum about" in text and "Refined" in text


@pytest.mark.long
def test_the_error_covers_what_is_known_and_falls_with_the_mesh():
    errors = []
    for intervals in (8, 16, 32):
        solution = trajopt.solve(problems.two_link_rr.build(intervals=intervals))
        errors.append(solution.verify().error_of_optimum)
        assert errors[-1] > solution.objective - LEAST_TIME > 0.0
    assert errors[0] > errors[1] > errors[2] and errors[2] < 0.01 * LEAST_TIME


@pytest.fixture(scope="module")
def smooth():
    return trajopt.solve(brachistochrone.build())


def test_the_error_of_a_smooth_optimum_is_small(smooth):
    report = smooth.verify()
    assert 0.0 < report.error_of_optimum < 1e-6 and "Refined" not in report.optimum


@pytest.mark.parametrize(
    ("limit", "reason"),
    [("FURTHER", "did not converge in 1 iteration"), ("LARGEST", "more than 1 unknowns")],
)
def test_without_an_estimate_the_report_says_why(smooth, monkeypatch, limit, reason):
    monkeypatch.setattr(optimum_error, limit, 1)
    report = smooth.verify()
    assert report.holds and report.error_of_optimum is None
    assert "no estimate of the error of the optimum" in report.optimum and reason in report.optimum


def least_fuel(intervals, points, duration=2.0, limit=2.2, over="path"):
    """Least integral of |u| with x'' = u and |u| at most a limit: full thrust, none, full thrust."""
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(intervals, 3, points, duration))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.control("u", lower=-limit, upper=limit)
    problem.minimize(trajopt.absolute(trajopt.state("u")), over=over)
    optimum = limit * (duration - np.sqrt(duration**2 - 4.0 / limit))
    return trajopt.solve(problem), optimum


@pytest.mark.long
@pytest.mark.parametrize(("intervals", "points"), [(4, "lobatto"), (7, "radau"), (7, "gauss")])
def test_a_control_that_switches_at_a_kink_within_a_span_is_seen(intervals, points):
    """Thrust falls to zero along a whole span; its bounds are met at the ends alone."""
    solution, optimum = least_fuel(intervals, points)
    report = solution.verify()
    true = solution.objective - optimum
    assert report.holds and 1e-3 * optimum < true < report.error_of_optimum < 3.0 * true


@pytest.mark.long
def test_phases_have_one_together():
    solution = trajopt.solve(two_phases(16))
    report = solution.verify()
    assert 3.0 > report.error_of_optimum / (solution.objective - 1.04168615) > 1.0
    assert "error of the optimum" in str(report)


@pytest.mark.long
def test_it_is_not_said_where_it_is_not_known():
    answer = trajopt.solve(problems.two_link_rr.build(), refine=trajopt.Certified())
    report = answer.verify()
    assert report.error_of_optimum is None and report.optimum == ""
    failing = replace(answer, certificate=replace(answer.certificate, tolerance=1e-30))
    assert not failing.certificate.holds and 0.0 < failing.verify().error_of_optimum < 1e-6
    failed = trajopt.solve(problems.two_link_rr.build(), solver=trajopt.Ipopt(max_iterations=1)).verify()
    assert failed.verdict == "FAIL" and failed.error_of_optimum is None and np.isfinite(failed.objective)


COARSE = {
    "arm": lambda: problems.two_link_rr.build(intervals=8),
    "walker": problems.planar_walker.build,
    "phases": lambda: two_phases(16),
    "jumps": lambda: complementarity(20),
    "arcs on a bound": problems.betts_robot_arm.build,
}


@pytest.mark.long
@pytest.mark.parametrize("name", COARSE)
def test_the_change_is_that_of_the_solve_to_its_end(name, monkeypatch):
    """The solve on halved intervals ends when the change is known to a tenth, before it converges."""
    answer, iterates = trajopt.solve(COARSE[name]()), []
    look = optimum_error.UntilKnown.__call__

    def counted(self, *seen):
        iterates.append(seen)
        look(self, *seen)

    monkeypatch.setattr(optimum_error.UntilKnown, "__call__", counted)
    error = answer.verify().error_of_optimum
    early = len(iterates)
    monkeypatch.setattr(optimum_error, "KNOWN", 0.0)
    assert error == pytest.approx(answer.verify().error_of_optimum, rel=0.1)
    assert early < len(iterates) - early


ONE_LIMIT = SimpleNamespace(  # minimize y, y >= 0
    variable_count=1,
    row_count=0,
    row_lower=np.zeros(0),
    row_upper=np.zeros(0),
    lower=np.zeros(1),
    upper=np.full(1, np.inf),
)


def iterate(y, multiplier):
    """The iterate y, (1,), as a solver shows it, with the multiplier of its lower limit."""
    point = WarmStart(np.array([y]), np.zeros(0), np.array([multiplier]), np.zeros(1))
    return ONE_LIMIT, point, np.zeros(0), y


@pytest.mark.parametrize(
    ("second", "step"),
    [
        (iterate(0.30, 1e-9), 0.2),  # creeps: a twentieth of Newton's step
        (iterate(0.15, 1e-9), 0.16),  # a whole step that moves the objective by a fifth of the change
        (iterate(0.30, 1.0), 0.01),  # away from a limit that has a multiplier
    ],
)
def test_iterates_that_say_little_end_no_solve(second, step):
    known = optimum_error.UntilKnown(1.0, 1e-9)
    known(*iterate(0.31, 1e-9), 0.5)
    known(*second, step)
    known(*iterate(1e-6, 1.0), 100.0)
    with pytest.raises(optimum_error.Known) as found:
        known(*iterate(1e-7, 1.0), 1e-6)
    assert found.value.change == pytest.approx(1.0, abs=1e-5)


def test_iterates_that_multipliers_alone_move_end_no_solve():
    """Limits that cannot be met have multipliers without end: objectives stay, and Lagrangians agree."""
    known = optimum_error.UntilKnown(1.0, 1e-9)
    known(*iterate(-0.3, 1e9), 0.1)
    known(*iterate(-0.3 + 1e-5, 1e9), 1e-5)
    known(*iterate(-2e-6, 1.0), 0.3)  # beyond the tolerance of an answer
    known(*iterate(-2e-6 + 1e-7, 1.0), 1e-7)


@pytest.mark.long
@pytest.mark.parametrize(("intervals", "height", "width"), [(5, 2.0, 0.02), (6, 0.9, 0.05), (4, 0.9, 0.1)])
def test_there_is_no_estimate_where_nodes_between_cannot_meet_limits(intervals, height, width):
    """A path over an obstacle that the nodes of the mesh pass, and no force leads over on twice as many."""

    @trajopt.term
    def clearance(node):
        return node.x - height * np.exp(-(((node.t - 0.94) / width) ** 2))

    system = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    mesh = trajopt.Trajectory.collocation(intervals, 3, "radau", duration=2.0)
    problem = trajopt.Problem(system, mesh, name="over an obstacle")
    problem.control("u", -2.0, 2.0, degree=0)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    problem.subject_to(clearance, -0.05, np.inf, name="clearance")
    answer = trajopt.solve(problem)
    assert answer.converged
    value, reason = optimum_error.error_of_optimum(answer)
    assert value is None and "on halved intervals the solve did not converge" in reason


def test_iterates_are_read_by_the_scale_of_their_own_program():
    """A solve whose objective falls far goes on with a larger factor of it."""
    known = optimum_error.UntilKnown(1.0, 1e-9)
    scaled = SimpleNamespace(**vars(ONE_LIMIT), objective_scale=100.0)
    known(scaled, *iterate(0.31, 1e-9)[1:-1], 31.0, 0.5)
    with pytest.raises(optimum_error.Known) as found:
        known(scaled, *iterate(0.30, 1e-9)[1:-1], 30.0, 0.01)
    assert found.value.change == pytest.approx(1.0 - 0.305)


def test_a_motion_read_from_a_file_takes_its_controls_to_the_halved_intervals(smooth, tmp_path):
    smooth.save(tmp_path / "smooth.npz")
    read = trajopt.Solution.load(tmp_path / "smooth.npz")
    programs = [program_of(each.on_halved_spans()) for each in (smooth, read)]
    rows = [program.rows(program.start) for program in programs]
    np.testing.assert_allclose(*rows, atol=1e-12)
