"""Reports say what the solution says, in one file that needs nothing else."""

import re
import xml.etree.ElementTree as ElementTree
from base64 import b64decode

import numpy as np
import pytest
from library_solutions import solved_at_defaults

import problems
import trajopt
from problems.gallery.classics import energy_budget
from trajopt.display.svg_chart import line_chart, typeset
from trajopt.report import page as report
from trajopt.report.chart import charts


@pytest.fixture(scope="module")
def solution():
    return trajopt.solve(problems.two_link_pr.build(intervals=10))


@pytest.fixture(scope="module")
def written(solution, tmp_path_factory):
    """The page of the solution and the file that it was written to."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    return report.html(solution, file, interactive=False), file


@pytest.mark.long
def test_a_report_is_one_well_formed_page_that_loads_nothing(written):
    text, file = written
    assert file.read_text(encoding="utf-8") == text
    page = ElementTree.fromstring(text.replace("<!doctype html>", "").replace('<meta charset="utf-8">', ""))
    assert len(list(page.iter("svg"))) >= 6
    assert "<script" not in text and "http" not in text
    for word in ("two_link_pr", "effort", "time", "torque limits", "KKT error", "derivatives", "slide"):
        assert word in text


@pytest.mark.long
def test_a_report_fits_a_telephone(written):
    """Charts are as narrow as the window, and tables scroll."""
    page = str(written[0])
    assert '<body class="report">' in page and ".report table, .report pre" in page  # shadows
    assert '<meta name="viewport" content="width=device-width' in page
    assert not re.search(r"minmax\(\d+px", page)
    widths = re.findall(r"(?<![-\w(])(?:min-)?width:\s*(\d+)px", page)
    assert all(int(width) < 390 for width in widths)
    assert all("viewBox" in svg and 'width="100%"' in svg for svg in re.findall(r"<svg[^>]*>", page))
    robot = b64decode(re.findall(r"data:image/svg.xml;base64,([^\"]*)", page)[0]).decode()
    width = float(re.findall(r'viewBox="0 0 ([0-9.]+) ', robot)[0])
    assert 7.5 * 366.0 / width > 8.5  # pixels of letters of 7.5 points, 366 for the column
    verdict = re.search(r'<pre class="prose">(PASS.*?)</pre>', page, re.DOTALL)
    assert verdict and "proved for all times" in verdict[1]  # sentences are wrapped
    (columns,) = re.findall(r"<pre>(constraint .*?)</pre>", page, re.DOTALL)
    assert "torque limits" in columns
    long = [text for text in re.findall(r"<td>([^<]*)</td>", page) if len(text) > 40]
    assert not long  # their class lets them break
    assert "max-width: 480px) { svg text { font-size: 15px !important" in page  # 15 of 560 units stay legible
    assert "max-width: 700px) { table { display: block; overflow-x: auto }" in page


def test_saturated_torques_are_active_where_their_multipliers_are():
    solution = solved_at_defaults("two_link_rr")
    (first, *_) = active = report.active_constraints(solution)
    assert first.name == "torque limits" and {a.component for a in active} == {"shoulder", "elbow"}
    multipliers = solution.multipliers["torque limits"]
    assert first.largest == np.abs(multipliers).max() and 0.0 < first.share <= 1.0


def test_the_time_split_adds_up_to_the_whole_solve(solution):
    split = report.time_split(solution)
    assert sum(split.values()) == pytest.approx(solution.seconds, rel=1e-6)


@pytest.mark.long
def test_a_solve_without_iterations_or_active_constraints_is_reported_too():
    solution = trajopt.solve(problems.minimum_acceleration.build(intervals=3))
    assert report.active_constraints(solution) == ()
    assert "squared acceleration" in report.html(solution)


def test_speeds_that_hold_for_all_times_are_active_with_the_multipliers_of_their_control_points():
    """T = d / v + m v / f: a little more speed saves d / v^2 - m / f per unit, shared by control points."""
    solution = trajopt.solve(problems.sliding_mass.build(velocity=3.0, intervals=40))
    (speed,) = [a for a in report.active_constraints(solution) if a.name == "velocity limits"]
    saved = 1.0 / 3.0**2 - 2.0 / 50.0
    assert speed.component == "slide" and not speed.equation
    control_points = 2 * 42 * speed.share  # both signs, 40 intervals of degree 3
    assert speed.largest * control_points == pytest.approx(saved, rel=0.1)


@pytest.mark.long
def test_bounds_of_unknown_curves_go_by_their_names():
    names = {active.name for active in report.active_constraints(solved_at_defaults("hop"))}
    assert "bounds of toe 0" in names and "velocity limits" in names


@pytest.mark.long
def test_limits_that_would_change_nothing_are_not_called_active(solution, written):
    assert report.active_constraints(solution) == ()
    assert "None: no limit is active" in written[0]


@pytest.mark.long
def test_a_certified_solve_shows_its_certificate_and_the_multipliers_of_its_arcs():
    solution = trajopt.solve(problems.two_link_rr.build(), refine=trajopt.Certified(tol=1e-6))
    page = report.html(solution)
    assert "certificate: proved" in page and "multipliers of torque limits" in page
    limits = [active for active in report.active_constraints(solution) if not active.equation]
    assert {active.name for active in limits} == {"torque limits"}


@pytest.mark.long
def test_unknown_curves_and_the_robot_are_drawn():
    page = report.html(solved_at_defaults("hop"), interactive=False)
    assert "toe, an unknown curve" in page and 'alt="the robot in snapshots"' in page


def test_units_have_raised_powers():
    assert typeset("kg m^2/s^-3") == "kg m²/s⁻³" and typeset("N m") == "N m"


CURVE = r'<path d="(M[^"]*)"[^>]*stroke: #0072b2; stroke-width: 1.4'
MARK = 'style="fill: #0072b2; stroke: #0072b2"'


def test_charts_have_gaps_and_show_points_that_stand_alone():
    x = np.arange(5.0)
    text = line_chart(x, {"a<b": np.array([1.0, 2.0, np.nan, np.inf, 1.0])}, "x", "y")
    (curve,) = re.findall(CURVE, text)
    assert "a&lt;b" in text and curve.count("L") == 1  # up to the gap
    assert text.count(MARK) == 1  # of the last one
    both = line_chart(x, {"": np.array([1.0, 2.0, np.nan, 2.0, 1.0])}, "x", "y")
    assert re.findall(CURVE, both)[0].count("M") == 2 and MARK not in both
    assert "no finite value" in line_chart(x, {}, "x", "y")
    assert "zero throughout" in line_chart(x, {"": 0.0 * x}, "x", "y", logarithmic=True)


def test_a_logarithmic_chart_has_powers_of_ten_evenly_spaced():
    (curve,) = re.findall(CURVE, line_chart(np.arange(5.0), {"": 10.0 ** -np.arange(5.0)}, "x", "y", True))
    heights = np.array(re.findall(r"[ML] \S+ (\S+)", curve), dtype=float)
    assert (
        np.allclose(np.diff(heights), (heights[-1] - heights[0]) / 4, atol=1e-3) and heights[-1] > heights[0]
    )


def test_letters_and_axes_of_a_chart_have_the_colour_of_the_page_around():
    """On a dark page, too, and a black curve: nothing of a chart is black or white."""
    text = line_chart(np.arange(3.0), {f"q{k}": k * np.arange(3.0) for k in range(7)}, "t [s]", "q [rad]")
    assert text.count("currentColor") > 10 and not re.search("#000|#fff|#777776|black|white", text)
    assert len(re.findall(r"<i style=[^>]*background: (?:#\w+|currentColor)", text)) == 7
    assert "<style" not in text and "http" not in text  # rules of a chart would hold for the whole page


@pytest.mark.long
def test_the_command_writes_the_report_where_it_is_asked_to(tmp_path):
    from click.testing import CliRunner

    from problems.cli.command_line import main

    arguments = ["solve", "double_integrator", "--report", "--out", str(tmp_path)]
    answer = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert answer.exit_code == 0 and "report.html" in answer.output
    assert "torque limits" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_an_energy_budget_is_listed_as_a_limit():
    solution = trajopt.solve(energy_budget.build())
    (found,) = report.active_constraints(solution)
    assert found.name == "energy" and not found.equation


def test_charts_of_many_curves_are_counted_in_captions_that_stand_alone():
    t = np.linspace(0.0, 1.0, 5)
    parts = list(charts(t, {f"q{k}": k * t for k in range(16)}, "positions [rad]"))
    assert [part.y_label for part in parts] == [f"positions [rad], {k} of {len(parts)}" for k in (1, 2, 3)]
    assert [name for part in parts for name in part.curves] == [f"q{k}" for k in range(16)]
