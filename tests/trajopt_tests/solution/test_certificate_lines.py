"""Every statement of a problem has a line in its certificate, and no line says more than was looked at."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import fast_first

import problems
import trajopt
from trajopt.certificates.certificate import Certificate
from trajopt.checks.line import Worst
from trajopt.checks.violations import certificate_lines


def rest_to_rest(n=1, intervals=8, degree=3, **trajectory):
    """One metre, from rest to rest."""
    trajectory.setdefault("duration", (0.1, 10.0))
    problem = trajopt.Problem(
        PointMasses(n, 1.0, 5.0), trajopt.Trajectory.uniform(intervals, degree, **trajectory)
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.duration)
    return problem


def certificate_of(solution, tol=1e-6):
    return Certificate(tol, "none", None, 0, "", motion=solution)


def line_of(solution, name, tol=1e-6):
    """The worst line of a statement."""
    named = [line for line in certificate_lines(solution, tol, tol) if line.name == name]
    return max(named, key=lambda line: line.ratio)


@pytest.mark.long
def test_a_pole_that_is_driven_between_the_nodes_has_no_certificate():
    certificate = certificate_of(trajopt.solve(problems.cart_pole.build(intervals=6), refine=None))
    assert not certificate.holds and certificate.verdict == "DOES NOT HOLD"
    (free,) = [line for line in certificate.lines if line.name == "no motor at pole"]
    assert not free.holds and free.value > 0.1 and free.value / free.scale > 0.01
    assert free.name in certificate.why_not and certificate.why_not in str(certificate)
    assert free.label in certificate.summary()["failing"]


@pytest.mark.long
def test_an_equation_holds_with_the_tolerance_that_was_asked_for_it():
    refine = trajopt.Certified(tol=1e-6, equation_tol=0.5)
    certificate = trajopt.solve(problems.cart_pole.build(intervals=12), refine=refine).certificate
    (free,) = [line for line in certificate.lines if line.name == "no motor at pole"]
    assert free.holds and np.isclose(free.tolerance, 0.5 * free.scale)


def test_limits_of_the_curve_alone_are_proved():
    problem = rest_to_rest()
    problem.subject_to(trajopt.v, -0.6, 0.6, hold="hull", name="speed")
    problem.subject_to(trajopt.a, -2.0, 2.0, name="acceleration")
    problem.subject_to(trajopt.jerk, -20.0, 20.0, name="jerk")
    certificate = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6)).certificate
    assert certificate.verdict == "proved" and "certificate: proved" in str(certificate)
    evidence = {line.name: line.evidence for line in certificate.lines}
    assert {evidence[name] for name in ("speed", "acceleration", "jerk")} <= {"hull", "enclosure"}
    assert evidence["q at the start"] == "identity"


def test_sampled_limits_are_not_proved_and_tell_their_resolution():
    problem = rest_to_rest()
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    certificate = solution.certificate
    assert certificate.verdict == "holds, sampled" and not certificate.proved
    assert 0.0 < certificate.resolution <= solution.duration / 1999
    assert "a shorter one may be missed" in str(certificate) and "for all t" not in str(certificate)


def test_windows_and_arcs_are_looked_at_between_their_nodes():
    @trajopt.term
    def speed(node):
        return 1.0 * node.v

    problem = rest_to_rest(intervals=3)
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)
    t = np.linspace(0.3, 0.6, 5001) * solution.duration
    fastest = solution.v(t).max()
    problem.subject_to(speed, upper=fastest - 1e-3, over=(0.3, 0.6), name="in a window")
    problem.subject_to(speed, upper=fastest - 1e-3, over=trajopt.ArcNodes(0, (0.3, 0.6)), name="in an arc")
    problem.subject_to(speed, upper=fastest - 1e-3, over=(0.9, 1.0), name="where it holds")
    for name in ("in a window", "in an arc"):
        line = line_of(solution, name)
        assert np.isclose(line.value, 1e-3, rtol=1e-4) and not line.holds and line.evidence == "sampled"
    assert line_of(solution, "where it holds").holds


def test_differences_of_neighbours_do_not_speak_of_what_lies_between():
    problem = rest_to_rest()
    problem.subject_to_joint_limits()
    trajopt.library.limit_torque_rate(problem, 60.0)
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    line = line_of(solution, "torque rate rising")
    assert line.evidence == "sampled" and "nothing between two of them" in line.note
    assert "neighbouring nodes" in str(solution.certificate)
    assert line.resolution >= np.diff(solution.node_times).max() * (1.0 - 1e-9)


def test_not_a_number_between_nodes_does_not_hold_and_tells_its_time():
    @trajopt.term
    def root(node):
        """Defined only where |q - 0.5 - 1e-3| is at least 1e-4."""
        return ((node.q - 0.501) ** 2 - 1e-8) ** 0.5

    problem = rest_to_rest()
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)
    problem.subject_to(root, lower=-1.0, name="with a hole")
    certificate = certificate_of(solution)
    line = line_of(solution, "with a hole")
    assert np.isnan(line.value) and not line.holds and abs(solution.q(line.time)[0] - 0.501) < 2e-4
    assert not certificate.holds and "is not finite" in certificate.why_not


def test_a_jump_of_the_acceleration_breaks_every_limit_of_the_jerk():
    problem = rest_to_rest(degree=2)
    problem.subject_to(trajopt.jerk, -50.0, 50.0, name="jerk")
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)
    line = line_of(solution, "jerk")
    assert (
        np.isinf(line.value)
        and "acceleration jumps at 1 times: this is infinite" in line.note
        and not line.holds
    )
    smooth = rest_to_rest(degree=3)
    smooth.subject_to(trajopt.jerk, -50.0, 50.0, name="jerk")
    smooth.subject_to_joint_limits()
    certificate = trajopt.solve(smooth, refine=trajopt.Certified(tol=1e-6)).certificate
    assert certificate.structure is None and "depends on the jerk" in certificate.reason


def test_arcs_between_switches_are_not_tried_where_nodes_mean_others_there():
    problem = rest_to_rest()
    problem.subject_to_joint_limits()
    problem.subject_to(trajopt.v, upper=0.1, over=trajopt.ArcNodes(0, "end"))
    certificate = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6)).certificate
    assert certificate.structure is None and "others on switching arcs" in certificate.reason


def test_a_limit_much_smaller_than_the_tolerance_is_not_loosened_by_it():
    problem = rest_to_rest()
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)

    @trajopt.term
    def small(node):
        return 1e-9 * node.v

    for number, (lower, upper) in enumerate([(None, 1e-10), (-1e3, 1e-10), (None, 0.0), (2e-9, 1e12)]):
        problem.subject_to(small, lower, upper, name=f"small {number}")
        line = line_of(solution, f"small {number}")
        assert line.value > 1e-10 and not line.holds  # far below a tolerance of 1e-6


def test_bounds_of_parameters_curves_periodicity_and_costs_have_lines():
    problem = trajopt.Problem(PointMasses(1, 1.0, 5.0), trajopt.Trajectory.uniform(6, 4, duration=1.0))
    problem.parameter("size", 0.0, 1.0, guess=0.5)
    problem.extra("force", 1, -1.0, 1.0)
    problem.subject_to_periodic(trajopt.v)
    problem.start_at(q=0.0)
    problem.end_at(q=1.0)
    problem.minimize(trajopt.a**2, name="effort")
    solution = trajopt.solve(problem)
    lines = {line.name: line for line in certificate_lines(solution, 1e-6, 1e-6)}
    assert {"bounds of size", "bounds of force", "v periodic", "duration", "cost 'effort'"} <= lines.keys()
    assert lines["bounds of force"].evidence == "hull" and lines["v periodic"].evidence == "identity"
    assert all(line.holds for line in lines.values())
    wrong = replace(solution, cost_terms={"effort": 2.0 * solution.cost_terms["effort"] + 1.0})
    assert not line_of(wrong, "cost 'effort'").holds


def test_an_error_of_the_certification_keeps_the_solve(monkeypatch):
    def broken(*arguments):
        raise ValueError("a sharp pole")

    problem = rest_to_rest()
    problem.subject_to_joint_limits()
    monkeypatch.setattr("trajopt.certified.certified.NodeRefinement.run", broken)
    monkeypatch.setattr("trajopt.certified.certified.StructureSearch.run", broken)
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    assert solution.converged and not solution.certificate.holds
    assert "a sharp pole" in solution.certificate.why_not and "a sharp pole" in str(solution.certificate)


@pytest.mark.long
def test_a_sharp_pole_is_told_by_its_own_limit_and_time():
    """Tightened by 1e12, a limit contradicts the ends of the motion: nobody gave such a limit."""

    @trajopt.term
    def pole(node):
        return -1.0 / ((node.q - 0.37) ** 2 + 1e-12)

    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(6, 4, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    problem.subject_to(pole, lower=-1e9, name="pole")
    certificate = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6, time_limit=3.0)).certificate
    assert not certificate.holds and certificate.why_not.startswith("pole")
    (worst,) = [line for line in certificate.failing if line.name == "pole"]
    assert abs(certificate.motion.q(worst.time)[0] - 0.37) < 1e-3 and worst.value > 1e9


@fast_first("intervals", [1, 2])
def test_a_mesh_of_one_or_two_spans_comes_back_with_a_certificate(intervals):
    solution = trajopt.solve(problems.two_link_rr.build(intervals=intervals), refine=trajopt.Certified())
    assert solution.converged and solution.certificate is not None
    assert solution.certificate.holds or solution.certificate.why_not


def test_a_saved_certificate_is_looked_at_anew(tmp_path):
    """A certificate that was told to hold does not, once the motion in the file is another one."""
    problem = rest_to_rest()
    problem.subject_to_joint_limits()
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    points = tuple(1.1 * each for each in solution.curve.control_points)
    forged = replace(solution, curve=replace(solution.curve, control_points=points))
    forged.save(tmp_path / "forged.npz")
    assert not trajopt.Solution.load(tmp_path / "forged.npz", problem).certificate.holds
    alone = trajopt.Solution.load(tmp_path / "forged.npz").certificate
    assert not alone.holds and "cannot be checked" in alone.why_not and "cannot be checked" in str(alone)


def test_multipliers_tell_what_oversteps_gain():
    gain = trajopt.solve(problems.two_link_rr.build(), refine=trajopt.Certified()).certificate.gain
    assert 0.0 <= gain.of_oversteps < 1e-9 and gain.of_margins == 0.0


def test_a_violation_that_the_search_met_counts_though_the_lines_miss_it():
    solution = trajopt.solve(problems.sliding_mass.build(), refine=trajopt.Certified(tol=1e-6))
    certificate = solution.certificate
    assert certificate.holds
    short = replace(certificate.violations[0], between=(Worst(1e-3, 0.1), Worst(-1.0, 0.0)))
    vars(certificate)["violations"] = (short,)
    assert not certificate.holds and certificate.verdict == "DOES NOT HOLD"
    assert re.search(r"the search met .*: 1.000e-03 at t = 0.100000 s", certificate.why_not)
