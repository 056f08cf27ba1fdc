"""Saved solutions that were changed: `verify` recomputes what they tell, and names every difference."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tiers import fast_first

import problems
import trajopt
from benchmarks.certified.cases import drawn_arm
from benchmarks.published.textbook import two_phases
from trajopt.base.errors import SolutionFileError
from trajopt.solution import rebuilt_problem


@pytest.fixture(autouse=True)
def rebuilt_by_this_checkout(monkeypatch):
    """Rebuild problems as the entry point does, also where another checkout is installed."""
    monkeypatch.setattr(
        rebuilt_problem, "built", lambda recipe: problems.catalogue.build(recipe.problem, recipe.parameters)
    )


def saved(folder, q_end=None, **options):
    path, given = folder / "x.npz", {} if q_end is None else {"q_end": q_end}
    trajopt.solve(problems.two_link_rr.build(intervals=12, **given), **options).save(path)
    with np.load(path) as file:
        return path, dict(file)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("plain"))[1]


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("certified"), refine=trajopt.Certified(tol=1e-4))[1]


def report_of(arrays, path, change=None, **others):
    """The report of a file whose header or arrays were changed."""
    header = json.loads(str(arrays["header"]))
    if change is not None:
        change(header)
    changed = arrays | {"header": np.array(json.dumps(header))} | others
    np.savez(path, **{name: array for name, array in changed.items() if array is not None})
    return trajopt.Solution.load(path).verify()


def test_honest_files_pass(plain, certified, tmp_path):
    for arrays in (plain, certified):
        report = report_of(arrays, tmp_path / "x.npz")
        assert report.verdict == "PASS" and report.differences == ()


FORGED = {
    "a lower objective": (lambda h: h.update(objective=0.9 * h["objective"]), {}, "its costs add up to"),
    "lower costs": (
        lambda h: h.update(objective=0.3, cost_terms={"duration": 0.3}),
        {},
        "cost 'duration': 0.3 by the solution",
    ),
    "fewer nodes": (None, {"node_times": np.zeros(1)}, "nodes: 1 times that are not those of the problem's"),
    "other samples": (None, {"q": np.zeros((201, 2))}, "its samples of q differ from its control points"),
    "other multipliers": (None, {"multipliers_0": None}, "multipliers of "),
    "other unknowns": (None, {"point_y": None}, "unknowns differ from the motion's"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_number_that_does_not_follow_from_the_motion_is_named(plain, tmp_path, name):
    change, arrays, told = FORGED[name]
    if name == "other unknowns":
        arrays = {"point_y": plain["point_y"] + 0.1}
    if name == "other multipliers":
        arrays = {"multipliers_0": plain["multipliers_0"] * 1.001}
    report = report_of(plain, tmp_path / "x.npz", change, **arrays)
    assert report.verdict == "FAIL" and told in report.table


def test_a_cost_that_the_problem_does_not_have_is_refused(plain, tmp_path):
    with pytest.raises(trajopt.base.errors.SolutionFileError, match="minimized 'energy', which the problem"):
        report_of(plain, tmp_path / "x.npz", lambda h: h["cost_terms"].update(energy=0.0))


def slower(arrays):
    """Control points of the motion bent in the middle, which is not optimal."""
    points = arrays["control_points_0"].copy()
    points[5:8] += 0.02
    return points


@fast_first("multipliers", ["left out", "kept"])
def test_a_motion_that_is_not_optimal_is_not_believed_whatever_error_the_file_tells(
    plain, tmp_path, multipliers
):
    """A KKT error of a million, or no multipliers, would once have let any motion pass."""

    def change(header):
        header["kkt"]["stationarity"] = 1e6
        if multipliers == "left out":
            header["has_point"] = False

    report = report_of(plain, tmp_path / "x.npz", change, control_points_0=slower(plain))
    assert report.verdict == "FAIL" and report.kkt_recomputed and report.kkt_error > 1e-3


@pytest.mark.long
@fast_first("claimed", [-1.0, 1.0, float("nan")])
def test_limits_that_are_left_are_found_whatever_a_certificate_of_format_1_tells(
    certified, tmp_path, claimed
):
    """These files held the violations, under the key `excesses`; they follow from the motion."""

    def change(header):
        header["version"] = 1
        kept = {"name": "torque limits", "component": "shoulder", "value": claimed, "time": 0.1, "hull": True}
        header["certificate"]["excesses"] = [kept]

    honest = report_of(certified, tmp_path / "x.npz", change)
    assert honest.verdict == "PASS" and not honest.differences
    found = trajopt.Solution.load(tmp_path / "x.npz").certificate
    assert found.holds and abs(found.largest_violation) < 1e-4
    name = "control_points_0"
    report = report_of(certified, tmp_path / "x.npz", **{name: certified[name] * 1.05})
    assert report.verdict == "FAIL"
    assert not trajopt.Solution.load(tmp_path / "x.npz").certificate.holds


@pytest.mark.long
def test_an_invented_structure_is_named(certified, tmp_path):
    def moved(header):
        times = header["certificate"]["structure"]["times"]
        times[1] += 0.01 * times[-1]

    def flipped(header):
        first = header["certificate"]["structure"]["saturated"][0][0]
        first[2] = -first[2]

    report = report_of(certified, tmp_path / "x.npz", moved)
    assert any("switches that are not those of the motion" in each for each in report.differences)
    report = report_of(certified, tmp_path / "x.npz", flipped)
    assert any("is not at its bound" in each for each in report.differences)


@pytest.mark.long
def test_a_wider_tolerance_of_a_certificate_is_capped_by_the_range_of_its_limits(certified, tmp_path):
    def change(header):
        header["certificate"]["tolerance"] = 1e9

    report_of(certified, tmp_path / "x.npz", change, control_points_0=1.3 * certified["control_points_0"])
    assert not trajopt.Solution.load(tmp_path / "x.npz").certificate.holds


FORGED_CERTIFICATES = {
    "tolerance": (lambda c: c.update(tolerance=1e9), "its tolerance is 1e.09, its run asked for 0.0001"),
    "equations": (lambda c: c.update(equation_tolerance=0.9), "its equation_tolerance is 0.9, its run asked"),
    "slowed": (lambda c: c.update(slowed=0.01), "the duration was lengthened by 0.01 of itself, but"),
    "bracket": (
        lambda c: c.update(bracket={"lower": 0.1, "upper": 0.2, "factor": 2.0, "ended": ""}),
        "its bracket, 0.1 to 0.2, is not of",
    ),
}


@fast_first("name", FORGED_CERTIFICATES)
def test_a_forged_certificate_fails_and_does_not_hold(certified, tmp_path, name):
    change, told = FORGED_CERTIFICATES[name]
    report = report_of(certified, tmp_path / "x.npz", lambda header: change(header["certificate"]))
    certificate = trajopt.Solution.load(tmp_path / "x.npz").certificate
    assert report.verdict == "FAIL" and any(re.search(told, each) for each in report.differences)
    assert not certificate.holds and re.search(told, str(certificate))


@pytest.mark.long
def test_a_certificate_of_another_motion_does_not_hold(certified, tmp_path):
    other = saved(tmp_path, refine=trajopt.Certified(tol=1e-4), q_end=(0.9, 0.7))[1]
    foreign = json.loads(str(other["header"]))["certificate"]
    report = report_of(certified, tmp_path / "x.npz", lambda header: header.update(certificate=foreign))
    certificate = trajopt.Solution.load(tmp_path / "x.npz").certificate
    assert report.verdict == "FAIL" and not certificate.holds
    assert "switches" in certificate.why_not


def of_multipliers(arrays, factor):
    return {name: factor * values for name, values in arrays.items() if name.startswith("multipliers")}


@fast_first("factor", [1.5, -1.0, 0.0])
def test_multipliers_of_a_certified_motion_follow_from_the_rows_of_its_arcs(certified, tmp_path, factor):
    """Rows of arcs have names of their own; the multipliers of limits are read back from them."""
    report = report_of(certified, tmp_path / "x.npz", **of_multipliers(certified, factor))
    assert report.verdict == "FAIL" and "multipliers of " in report.differences[0]


@pytest.mark.long
def test_nodes_of_a_certified_motion_are_those_of_its_arcs(certified, tmp_path):
    """They still rise within the motion, with two in every arc."""
    nodes = certified["node_times"].copy()
    nodes[1] += 0.1 * (nodes[2] - nodes[1])
    report = report_of(certified, tmp_path / "x.npz", node_times=nodes)
    certificate = trajopt.Solution.load(tmp_path / "x.npz").certificate
    assert report.verdict == "FAIL" and not certificate.holds
    assert f"nodes: {nodes.size} times that are not those of the motion's {nodes.size}" in str(certificate)


@pytest.mark.long
def test_optimality_of_a_certified_system_is_computed_again(tmp_path):
    """Its mesh is one of collocation; taken for a spline's, its program could not be built."""
    path = tmp_path / "x.npz"
    trajopt.solve(problems.catalogue.build("bryson_denham", {}), refine=trajopt.Certified(tol=1e-4)).save(
        path
    )
    with np.load(path) as file:
        arrays = dict(file)
    honest = report_of(arrays, path)
    assert honest.verdict == "PASS" and honest.kkt_recomputed and honest.differences == ()
    forged = report_of(arrays, path, **of_multipliers(arrays, 1.5))
    assert forged.verdict == "FAIL" and "multipliers of state equations: up to " in forged.differences[0]


@pytest.mark.parametrize("key", ["slowed", "equation_tolerance"])
def test_more_than_all_of_a_duration_or_an_equation_is_refused(certified, tmp_path, key):
    with pytest.raises(SolutionFileError, match="more than all of itself"):
        report_of(certified, tmp_path / "x.npz", lambda header: header["certificate"].update({key: 1e9}))


def test_differences_stand_in_summary_and_report(plain, tmp_path):
    nodes = np.linspace(0.0, plain["durations"][0], 5)
    report = report_of(plain, tmp_path / "x.npz", lambda h: h.update(objective=0.1), node_times=nodes)
    assert len(report.differences) == 2 and report.summary()["differences"] == list(report.differences)
    assert report.table.count("inconsistent with the motion: ") == 2


def test_a_solution_in_memory_is_held_against_its_motion_too():
    solution = trajopt.solve(problems.double_integrator.build())
    assert solution.verify().verdict == "PASS"
    assert replace(solution, objective=1.0).verify().verdict == "FAIL"


def planted(change):
    def of_header(header):
        change(header["certificate"]["structure"])

    return of_header


@fast_first(
    ("change", "told"),
    [
        (lambda s: s["saturated"][0].append([99, 0, 1]), "a limit 99, 0 that the problem does not have"),
        (lambda s: s["saturated"][0].append([0, 7, 1]), "a limit 0, 7 that the problem does not have"),
        (lambda s: s["saturated"][0].append([-1, 0, -1]), "a limit -1, 0 that the problem does not have"),
        (lambda s: s["times"].reverse(), "switches that are not those of the motion"),
    ],
)
def test_a_structure_of_limits_that_do_not_exist_is_named_and_its_page_is_printed(
    certified, tmp_path, change, told
):
    report = report_of(certified, tmp_path / "x.npz", planted(change))
    assert any(told in each for each in report.differences)
    assert "certificate: " in str(trajopt.Solution.load(tmp_path / "x.npz").certificate)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["times"].pop(),
        lambda s: s.update(times=[]),
        lambda s: s["saturated"].pop(),
        lambda s: s["times"].__setitem__(0, float("nan")),
        lambda s: s["saturated"][0].append([0, 0, 5]),
    ],
)
def test_a_structure_that_is_none_is_refused(certified, tmp_path, change):
    with pytest.raises(trajopt.base.errors.SolutionFileError, match="certificate"):
        report_of(certified, tmp_path / "x.npz", planted(change))


@pytest.mark.long
def test_an_arc_that_is_cut_in_parts_is_still_one_of_the_structure(tmp_path):
    problem = drawn_arm(1)
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    assert len(solution.certificate.structure.times) < solution.curve.starts.size
    solution.save(tmp_path / "x.npz")
    assert trajopt.Solution.load(tmp_path / "x.npz", problem=problem).verify().differences == ()


@pytest.mark.long
def test_a_certificate_is_of_one_motion(certified, tmp_path):
    np.savez(tmp_path / "x.npz", **certified)
    solution = trajopt.Solution.load(tmp_path / "x.npz")
    assert solution.certificate.holds
    points = tuple(each * (1.0 + 1e-13) for each in solution.curve.control_points)
    report = replace(solution, curve=replace(solution.curve, control_points=points)).verify()
    assert report.verdict == "FAIL" and "certificate: it is of another motion" in report.reason


OF_NO_MOTION = {
    "shorter": (
        lambda s: {"curve": replace(s.curve, durations=0.99 * s.curve.durations)},
        "do not rise within",
    ),
    "without nodes": (lambda s: {"node_times": s.node_times[:0]}, "nodes: 0 times"),
    "nodes out of order": (lambda s: {"node_times": s.node_times[::-1]}, "do not rise within"),
    "nodes that are no numbers": (lambda s: {"node_times": np.nan * s.node_times}, "do not rise within"),
}


@pytest.mark.parametrize("name", OF_NO_MOTION)
def test_what_cannot_be_looked_at_is_a_failed_verification(plain, certified, tmp_path, name):
    change, told = OF_NO_MOTION[name]
    for arrays in (plain, certified):
        np.savez(tmp_path / "x.npz", **arrays)
        solution = trajopt.Solution.load(tmp_path / "x.npz")
        report = replace(solution, **change(solution)).verify()
        assert report.verdict == "FAIL" and told in report.reason and told in " ".join(report.table.split())


@pytest.mark.parametrize("masses", [-1.0, np.inf])
def test_a_recipe_of_a_robot_that_cannot_exist_fails(certified, tmp_path, masses):
    def change(header):
        header["recipe"]["parameters"]["masses"] = masses

    report = report_of(certified, tmp_path / "x.npz", change)
    assert (
        report.verdict == "FAIL"
        and "the problem of its recipe cannot be built: body 'shoulder'" in report.reason
    )


@fast_first("name", ["multipliers_0", "point_row_multipliers", "point_upper_multipliers"])
@fast_first("value", [np.nan, np.inf])
def test_multipliers_that_are_not_finite_fail(plain, certified, tmp_path, name, value):
    for arrays in (plain, certified):
        changed = arrays[name].copy()
        changed.flat[0] = value
        assert report_of(arrays, tmp_path / "x.npz", **{name: changed}).verdict == "FAIL"


@pytest.mark.long
@fast_first("residual", ["stationarity", "primal", "dual_scale"])
def test_residuals_that_are_not_finite_fail(plain, certified, tmp_path, residual):
    for arrays in (plain, certified):
        report = report_of(
            arrays, tmp_path / "x.npz", lambda header: header["kkt"].update({residual: np.nan})
        )
        assert report.verdict == "FAIL" and "KKT residuals that are not finite" in report.table


REFUSED = {
    "version": (lambda h: h.update(version=-1), "version -1"),
    "iterations": (lambda h: h.update(iterations=-1), "below zero"),
    "seconds": (lambda h: h.update(seconds=np.nan), "below zero"),
    "residual": (lambda h: h["kkt"].update(primal=-1.0), "below zero"),
    "tolerance": (lambda h: h["certificate"].update(tolerance=np.nan), "tolerances that are not positive"),
    "rounds": (lambda h: h["certificate"].update(rounds=-1), "rounds or time scaling below zero"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_numbers_that_no_solve_has_are_refused(certified, tmp_path, name):
    change, told = REFUSED[name]
    with pytest.raises(SolutionFileError, match=told):
        report_of(certified, tmp_path / "x.npz", change)


@pytest.fixture(scope="module")
def of_phases():
    """On a mesh that was refined, as `solve` does by default, and that the phases do not know."""
    solution = replace(trajopt.solve(two_phases(4)), known_phases=two_phases(4))
    assert solution.verify().differences == ()
    return solution


FORGED_PHASES = {
    "dropped": (lambda s: {"phases": s.phases[:1]}, "1 motions and 2 names of 2 phases"),
    "all dropped": (lambda s: {"phases": ()}, "0 motions and 2 names of 2 phases"),
    "reversed": (lambda s: {"phases": s.phases[::-1]}, "link q"),
    "renamed": (lambda s: {"names": s.names[::-1]}, "names of phases: up, along"),
    "unknowns": (lambda s: {"point": replace(s.point, y=s.point.y + 0.1)}, "the solver's unknowns differ"),
    "multipliers": (
        lambda s: {"multipliers": {name: 2.0 * values for name, values in s.multipliers.items()}},
        "multipliers of link q: up to",
    ),
    "no multipliers": (lambda s: {"multipliers": {}}, "multipliers of link q"),
    "multipliers that are no numbers": (
        lambda s: {"multipliers": {name: np.nan * values for name, values in s.multipliers.items()}},
        "multipliers of q: not finite",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", FORGED_PHASES)
def test_what_phases_report_together_follows_from_their_motions(of_phases, name):
    change, told = FORGED_PHASES[name]
    report = replace(of_phases, **change(of_phases)).verify()
    assert report.verdict == "FAIL" and told in report.reason
