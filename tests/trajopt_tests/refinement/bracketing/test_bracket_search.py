"""Brackets by local refinement: they contain optima that are known by other means, and say what they are."""

import re

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import long_first

import problems
import trajopt
from benchmarks.certified.bracket_coverage import coverage
from benchmarks.certified.cases import cases, drawn_arm
from trajopt.certified.bracket import BracketSearch, cut, raised
from trajopt.certified.remaining_gain import RemainingGain, gain_of_control_points
from trajopt.certified.search_settings import SearchSettings
from trajopt.solution.journal import Journal
from trajopt.solvers.solver import Run

TWO_LINKS = 0.39185453951  # s: the optimum by switching arcs, and by shooting
WITHOUT_ARCS = SearchSettings(arc_iterations=1, refinements=0, bracket_width=1e-4)


@pytest.fixture(scope="module")
def bracketed():
    refine = trajopt.Certified(settings=WITHOUT_ARCS, time_limit=120.0)
    return trajopt.solve(problems.two_link_rr.build(), refine=refine)


@pytest.mark.long
def test_every_mesh_brackets_the_exact_optimum_of_two_links():
    settings = SearchSettings(bracket_width=1e-5)
    plain = trajopt.solve(problems.two_link_rr.build())
    search = BracketSearch(plain, Journal.after(plain, trajopt.Ipopt(), Run().within(120.0)), False, settings)
    search.run()
    assert search.why_ended == "the bracket is as narrow as asked for"
    assert all(mesh.lower < TWO_LINKS < mesh.objective for mesh in search.meshes)
    last = search.meshes[-1]
    assert last.objective - last.lower <= 1e-5 * last.objective
    assert last.spans < 100


@pytest.mark.long
def test_a_cubic_spline_brackets_the_optimum_by_itself_where_a_higher_degree_is_too_large():
    plain = trajopt.solve(problems.two_link_rr.build())
    settings = SearchSettings(bracket_total=SearchSettings.bracket_least - 1)
    search = BracketSearch(plain, Journal.after(plain, trajopt.Ipopt()), False, settings, plain)
    search.run()
    assert search.narrowest.lower < TWO_LINKS < search.narrowest.objective == plain.objective
    assert not search.meshes and search.why_ended == "39 iterations on local meshes, the most allowed"


@pytest.mark.long
def test_a_structure_that_is_not_confirmed_leaves_a_bracket_that_calls_itself_an_estimate(bracketed):
    certificate = bracketed.certificate
    assert certificate.holds and certificate.method == "added nodes"
    assert certificate.bracket.lower < TWO_LINKS < certificate.bracket.upper
    assert certificate.bracket.upper == bracketed.objective
    # In place of further nodes, where these hardly help: how much is left by then hangs on last digits.
    assert 0.0 < certificate.slowed <= WITHOUT_ARCS.most_scaled
    assert certificate.slowed < certificate.bracket.width < 1e-3
    assert "estimated bracket of this local optimum's objective" in str(certificate)
    assert "not proved" in str(certificate)
    assert certificate.summary()["bracket"] == [certificate.bracket.lower, certificate.bracket.upper]


@pytest.mark.long
def test_a_bracket_is_saved_with_its_certificate(bracketed, tmp_path):
    bracketed.save(tmp_path / "arm.npz")
    loaded = trajopt.Solution.load(tmp_path / "arm.npz", problem=problems.two_link_rr.build())
    assert loaded.certificate.bracket == bracketed.certificate.bracket


def test_a_confirmed_structure_has_no_bracket():
    certificate = trajopt.solve(problems.sliding_mass.build(), refine=trajopt.Certified()).certificate
    assert certificate.structure is not None and certificate.bracket is None


def test_where_jerk_is_bounded_nothing_is_bracketed():
    problem = problems.sliding_mass.build()
    problem.subject_to(trajopt.jerk, -1e4, 1e4, name="jerk limits")
    certificate = trajopt.solve(problem, refine=trajopt.Certified()).certificate
    assert certificate.bracket is None and "accelerations jump where arcs meet" in certificate.reason


def test_knots_are_placed_around_the_centre_of_the_gain_one_deviation_apart():
    trajectory = raised(trajopt.Trajectory.uniform(3), 6, regular=False)
    fractions = (np.arange(16) + 0.5) / 16
    switch = np.exp(-0.5 * ((fractions - 0.5) / 0.05) ** 2)
    gain = RemainingGain(np.stack([switch, np.ones(16), np.zeros(16)]), 0.0)
    finer = cut(trajectory, gain, np.zeros(3), least=1e-3, most=3)
    basis = finer.arcs[0].basis
    around, even = basis.breakpoints[1:3] * 3.0, basis.breakpoints[4:-2] * 3.0
    np.testing.assert_allclose(around, [0.46875, 0.53125], atol=0.01)
    deviation = np.std(fractions)
    np.testing.assert_allclose(even, [1.5 - 0.5 * deviation, 1.5 + 0.5 * deviation], atol=1e-12)
    assert set(basis.multiplicities.tolist()) == {5}


#: Those of `benchmarks.certified` but the slowest, and half of the drawn arms.
FEW = ["sliding_mass, 3 m/s", "two_link_pr, u = 0.01", "two links drawn, seed 0"]  # in the long tests
COVERED = FEW + [
    name for name in cases() if name not in FEW and not re.search("gravity|axis|seed [23567]", name)
]


@long_first("name", COVERED, len(FEW))
def test_estimates_cover_the_known_optimum_on_every_mesh(name):
    found = coverage(name, cases()[name])
    if found is None:
        pytest.skip("no confirmed optimum to compare with")
    assert found.contained, f"{found.optimum}: {found.meshes}"


@long_first("seed", [8, 2, 3])
def test_one_mesh_that_hardly_narrows_the_bracket_does_not_end_the_search(seed):
    """The brackets of these arms ended at 4e-6, 3e-5 and 8e-7 with one mesh, or with two starts."""
    plain = trajopt.solve(drawn_arm(seed))
    search = BracketSearch(
        plain, Journal.after(plain, trajopt.Ipopt(), Run().within(600.0)), False, SearchSettings()
    )
    search.run()
    assert search.narrowest.width < 1e-7 * search.refined.objective
    assert search.refined.objective == search.narrowest.objective


def test_control_points_of_positions_at_their_limit_leave_a_gain():
    """The curve is below the wall where its control points are at it: eight spans lose 0.033 of 4.48."""
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(8, 3, duration=1.0))
    problem.start_at(q=0.0, v=1.0)
    problem.end_at(q=0.0, v=-1.0)
    problem.minimize(trajopt.a**2)
    problem.subject_to(trajopt.q, upper=0.2, hold="hull", name="wall")
    solution = trajopt.solve(problem)
    gain = gain_of_control_points(solution)[:, 0]
    lost = solution.objective - 4.48
    assert lost > 0.03 and gain.sum() > 0.5 * lost
    assert set(np.flatnonzero(gain > 1e-3 * gain.sum())) <= {3, 4}  # around the touch at 0.5 s


@pytest.mark.thorough("the bracket without a confirmed structure stands for it, and arms with known optima")
def test_an_arm_with_singular_arcs_is_bracketed():
    refine = trajopt.Certified(time_limit=300.0)
    certificate = trajopt.solve(drawn_arm(9), refine=refine).certificate
    assert certificate.holds and certificate.bracket.width < 1e-6
    assert 0.8875 < certificate.bracket.lower < 0.88751
