"""Certificates in files: parts kept, parts computed again, and the signs on arcs that hold a speed."""

from dataclasses import replace

import numpy as np
import pytest
from hand_written import PointMasses, two_link_minimum_time

import problems
import trajopt
from trajopt.certificates.arc_problem import arc_problem
from trajopt.certificates.switching_structure import ArcSettings, Saturation, Structure
from trajopt.certified.switching.boundary_arcs import boundary_sign_check
from trajopt.solution.journal import Attempt, Journal
from trajopt.solvers.kkt import kkt_of_fit, least_squares_multipliers
from trajopt.verification.verify import point_and_kkt, rebuilt_program


@pytest.mark.long
@pytest.mark.parametrize(
    "build",
    [
        lambda: problems.two_link_pr.build(u=0.001),
        lambda: problems.two_link_pr.build(u=0.0),
        lambda: problems.two_link_rr.build(velocity=4.0),
    ],
)
def test_a_certificate_survives_saving_and_its_optimum_is_computed_again(tmp_path, build):
    solution = trajopt.solve(build(), refine=trajopt.Certified(tol=1e-6))
    solution.save(tmp_path / "x.npz")
    again = trajopt.Solution.load(tmp_path / "x.npz")
    page = str(again.certificate).replace("as saved with the structure", "of the solve")
    page = page.replace(", as saved", "").replace(" (as saved)", "")
    assert page == str(solution.certificate)
    assert again.certificate.structure == solution.certificate.structure
    assert again.certificate.settings == solution.certificate.settings
    # The program built again has other factors; the number is the same.
    _, kkt = point_and_kkt(rebuilt_program(again), again)
    assert kkt.error < 1e-9 + 10.0 * solution.kkt.error
    assert again.verify().kkt_recomputed and again.verify().holds


@pytest.mark.long
def test_added_nodes_are_kept_and_the_optimum_on_them_is_computed_again(tmp_path):
    @trajopt.term
    def speed_and_place(node):
        return node.v + 0.2 * node.q

    def build():
        problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(5, 4, duration=1.0))
        problem.start_at(q=0.0, v=0.0)
        problem.end_at(q=1.0, v=0.0)
        problem.minimize(trajopt.a**2)
        problem.subject_to(speed_and_place, upper=1.5)
        return problem

    without_finer_knots = trajopt.SearchSettings(bracket_rounds=0)
    solution = trajopt.solve(build(), refine=trajopt.Certified(tol=1e-7, settings=without_finer_knots))
    assert solution.certificate.structure is None and any(solution.limit_points)
    solution.save(tmp_path / "x.npz")
    again = trajopt.Solution.load(tmp_path / "x.npz", problem=build())
    assert again.limit_points == solution.limit_points
    _, kkt = point_and_kkt(rebuilt_program(again), again)
    assert kkt.error < 1e-9 + 10.0 * solution.kkt.error


def test_a_slowed_motion_is_told_with_the_residuals_of_its_solve(tmp_path):
    problem = problems.two_link_rr.build(intervals=10)
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-9, time_limit=1e-6))
    assert solution.certificate.slowed > 0.0 and rebuilt_program(solution) is None
    solution.save(tmp_path / "x.npz")
    report = trajopt.Solution.load(tmp_path / "x.npz").verify()
    assert not report.kkt_recomputed and "not recomputed" in report.table


def test_least_squares_multipliers_prove_an_optimum_and_disprove_a_point_beside_it():
    nlp = trajopt.transcribe(two_link_minimum_time(10))
    y = trajopt.Ipopt(tol=1e-10).solve(nlp).y
    fitted = least_squares_multipliers(nlp, y, 1e-7, signed=False)
    assert kkt_of_fit(nlp, fitted, 1e-7).stationarity < 1e-4
    beside = y + 1e-3 * np.random.default_rng(0).normal(size=y.size)
    assert kkt_of_fit(nlp, least_squares_multipliers(nlp, beside, signed=False)).error > 1e-3


def cruising():
    """The sliding mass at its speed limit for a third of its way, on its three arcs."""
    problem = problems.sliding_mass.build(velocity=3.0)
    up, still, down = Saturation(1, 0, 1), Saturation(0, 0, 1), Saturation(1, 0, -1)
    structure = Structure((0.0, 0.12, 1.0 / 3.0, 0.4533333), tuple(frozenset([s]) for s in (up, still, down)))
    on_arcs = arc_problem(problem, structure, trajopt.solve(problem), 8)
    trial = Journal(on_arcs, trajopt.Ipopt()).answer(Attempt(on_arcs))
    return trial, problem, structure.with_times(trial.curve.durations)


def test_a_speed_limit_that_pays_has_multipliers_that_fall_to_zero():
    checked, wrong = boundary_sign_check(*cruising())
    assert checked == 1 and (not wrong or wrong[0].impulse < 1e-9)


def test_a_held_speed_that_costs_is_found_by_its_multipliers():
    trial, problem, structure = cruising()
    turned = replace(trial, multipliers={name: -values for name, values in trial.multipliers.items()})
    _, wrong = boundary_sign_check(turned, problem, structure)
    assert wrong[0].impulse > 0.9 and wrong[0].saturation == Saturation(0, 0, 1)


def test_held_speeds_without_rows_are_counted_as_unchecked():
    trial, problem, structure = cruising()
    assert boundary_sign_check(replace(trial, multipliers={}), problem, structure) == (0, ())


@pytest.mark.long
def test_every_saturated_arc_of_a_certified_motion_is_checked():
    signs = trajopt.solve(
        problems.two_link_rr.build(velocity=4.0), refine=trajopt.Certified()
    ).certificate.signs
    assert signs.checked == 14 and signs.unchecked == 0 and signs.wrong < 1e-4


def test_settings_without_margins_take_nothing_off():
    limit = problems.two_link_rr.build().constraints[-1]
    assert not np.any(ArcSettings().margins_of(0, limit))
