"""Interactive pages: what a plot holds, that nothing is loaded from elsewhere, limits, runs, own figures."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import problems
import trajopt
from trajopt.base.errors import OptionError
from trajopt.report import chart as interactive
from trajopt.report.chart import Chart
from trajopt.report.motion_section import limit_rows, motion_curves
from trajopt.report.page import found_rows, given_rows, run_rows

PIXEL = bytes.fromhex("89504e470d0a1a0a")  # how a PNG begins


@pytest.fixture(scope="module")
def solution():
    return trajopt.solve(problems.two_link_rr.build(intervals=10, velocity=9.0))  # pyright: ignore


def plots(page):
    """The plots of a page as its script reads them."""
    return [json.loads(html.unescape(text)) for text in re.findall(r'data-plot="([^"]*)"', page)]


@pytest.fixture(scope="module")
def interactive_file(solution, tmp_path_factory):
    pytest.importorskip("plotly")
    file = tmp_path_factory.mktemp("report") / "report.html"
    trajopt.report.html(solution, file, interactive=True)
    return file


@pytest.fixture(scope="module")
def interactive_page(interactive_file):
    return interactive_file.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def static_page(solution):
    return trajopt.report.html(solution, interactive=False)


def without_library(page):
    """A page without the drawing library, whose text holds addresses of its own."""
    return re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


@pytest.mark.long
def test_a_page_with_plots_holds_its_library_and_loads_nothing(interactive_file, interactive_page):
    page = interactive_page
    assert page.count("<script>") == 2 and "<script src" not in page and "Plotly.newPlot" in page
    rest = without_library(page)
    assert "http" not in rest and "<svg" in rest  # without scripts the charts are there all the same
    assert rest.count("<svg") == len(plots(page))
    assert rest.count("data:image/svg+xml;base64,") == 1  # the robot
    assert 4e6 < interactive_file.stat().st_size < 7e6


@pytest.mark.long
def test_a_plot_holds_the_motion_and_its_limits(solution, interactive_page):
    titled = {each["layout"]["title"]["text"]: each for each in plots(interactive_page)}
    (torques,) = [plot for title, plot in titled.items() if "torques" in title]
    curve = next(trace for trace in torques["data"] if trace["name"] == "elbow")
    t = np.minimum(curve["x"], solution.duration)  # the last one was rounded
    assert np.allclose(curve["y"], solution.tau(t)[:, 1], atol=1e-3)
    limits = {trace["y"][0] for trace in torques["data"] if trace["name"] == "limit of elbow"}
    assert limits == {-10.0, 10.0} and curve["hovertemplate"].startswith("%{y:.6g} N m")
    assert torques["layout"]["yaxis"]["range"][0] < -10.0 and torques["layout"]["yaxis"]["range"][1] > 10.0


@pytest.mark.long
def test_plotly_takes_every_plot(interactive_page):
    """It raises ValueError for a property that it does not know; the script would be silent."""
    objects = pytest.importorskip("plotly.graph_objects")
    pages = plots(interactive_page)
    assert len(pages) == 7
    for plot in pages:
        assert len(objects.Figure(plot).data) == len(plot["data"])


def test_limits_far_away_do_not_flatten_a_plot_and_are_still_there():
    t = np.linspace(0.0, 1.0, 11)
    chart = Chart(t, {"q": t}, "t [s]", "q [rad]", "rad", limits={"q": (-np.inf, 300.0)})
    plot = chart.plot()
    assert plot["layout"]["yaxis"]["range"] == pytest.approx([-0.04, 1.04])
    assert [trace["y"][0] for trace in plot["data"]] == [0.0, 300.0]
    assert "stroke-dasharray" not in chart.html(interactive=False)
    near = replace(chart, limits={"q": (-0.1, 1.2)})
    assert near.html(interactive=False).count("stroke-dasharray") == 2


def test_a_logarithmic_plot_has_gaps_where_there_is_no_logarithm():
    chart = Chart(
        np.arange(3), {"": np.array([1.0, 0.0, np.nan])}, "iteration", "violation", logarithmic=True
    )
    assert chart.plot()["data"][0]["y"] == [1.0, None, None]
    json.dumps(chart.plot(), allow_nan=False)


def test_a_chart_without_points_says_why_instead_of_an_empty_plot():
    violations = Chart(np.arange(3), {"": np.zeros(3)}, "iteration", "violation", logarithmic=True)
    text = violations.html(interactive=True)
    assert "data-plot" not in text and "zero throughout" in text


def test_names_cannot_leave_their_attribute():
    chart = Chart(np.arange(2), {'"><script>alert(1)</script>': np.ones(2)}, "t", "<b>y</b>")
    text = chart.html(interactive=True)
    assert "<script" not in text and "<b>" not in text
    (plot,) = plots(text)
    assert "<script" not in plot["data"][0]["hovertemplate"] and "<b>" not in plot["layout"]["title"]["text"]


@pytest.mark.long
def test_limits_are_told_with_units_and_with_what_was_reached(solution, static_page):
    rows = {row[:2]: row[2:] for row in limit_rows(motion_curves(solution))}
    assert (
        rows["torques and forces", "elbow"][:2] == ("-10", "10")
        and rows["torques and forces", "elbow"][-1] == "N m"
    )
    least, largest = (float(text) for text in rows["velocities", "shoulder"][2:4])
    v = solution.v(np.linspace(0.0, solution.duration, 400))[:, 0]
    assert (least, largest) == pytest.approx((v.min(), v.max()), rel=1e-4)
    assert ("positions", "elbow") not in rows  # has no limit
    assert "Limits" in static_page and "rad/s" in static_page


@pytest.mark.long
def test_the_run_and_its_parameters_are_told(solution, static_page):
    told = dict(run_rows(solution))
    assert told["date"].startswith("20") and f"trajopt {trajopt.__version__}" in told["versions"]
    assert told["solver"].startswith("Ipopt(tol=")
    given = dict(given_rows(solution))
    assert given["intervals"] == "10" and given["q_start"] == "(0, -2)"
    assert told["date"] in static_page and "q_start" in static_page
    assert list(run_rows(replace(solution, run=None))) == []


def test_parameters_that_were_found_are_told_without_a_recipe():
    """A cart of least m/s: the constant unknown speed is the distance over the time."""
    one = trajopt.Trajectory.collocation(4, duration=2.0)
    cart = trajopt.system(states=("x",), rates=lambda node: [node.parameter("speed")])
    problem = trajopt.Problem(cart, one, name="cart")
    problem.parameter("speed", unit="m/s")
    problem.start_at(x=[0.0])
    problem.end_at(x=[3.0])
    solution = trajopt.solve(problem)
    assert list(found_rows(solution)) == [("speed", "1.5 m/s")]


def test_a_value_that_a_link_uses_is_told_with_its_phase_once():
    """The second of two carts starts where the first one ends; the copies for the link name the phase."""

    def cart(name):
        one = trajopt.Trajectory.collocation(2, duration=1.0)
        system = trajopt.system(states=("x",), rates=lambda node: [node.parameter("speed")])
        problem = trajopt.Problem(system, one, name=name)
        problem.parameter("speed")
        return problem

    first, second = cart("first"), cart("second")
    first.start_at(x=[0.0])
    second.end_at(x=[3.0])
    both = trajopt.Phases(first, second)
    both.link(lambda a, b: a.x**2 - b.x**2, first.at("end"), second.at("start"))
    found = dict(rows := list(found_rows(trajopt.solve(both))))
    assert found["speed"] == "1.5" and len(found) == len(rows) > 1
    assert sum("at the end of first" in name for name in found) == 1


@pytest.mark.long
def test_figures_of_a_problem_become_parts_of_its_page(solution):
    page = trajopt.report.html(solution, figures={"gait_angles.png": PIXEL}, interactive=False)
    assert "Figures of the problem" in page and "data:image/png;base64,iVBORw0KGgo=" in page
    with pytest.raises(OptionError, match=r"the figure table.csv is no picture or table of a page: give"):
        trajopt.report.html(solution, figures={"table.csv": b"1,2"}, interactive=False)


@pytest.mark.long
def test_without_the_library_pages_are_static_and_asking_for_it_says_so(solution, monkeypatch):
    monkeypatch.setattr(interactive, "PACKAGE", "a_package_that_nobody_has")
    assert "<script" not in trajopt.report.html(solution)
    with pytest.raises(OptionError, match=r"needs plotly, which is not installed: pip install 'trajopt"):
        trajopt.report.html(solution, interactive=True)


@pytest.mark.long
def test_a_table_in_markdown_becomes_a_table_of_the_page(solution):
    text = "# Criteria\n\n| criterion | value |\n| --- | --- |\n| first peak | 1.1 BW |\n| met | **no** |\n"
    page = trajopt.report.html(solution, figures={"gait.md": text.encode()}, interactive=False)
    assert "<th>criterion</th>" in page and "<td>first peak</td>" in page and "<td>no</td>" in page
    assert "---" not in page


@pytest.mark.long
def test_a_spatial_motion_can_be_turned_and_has_its_obstacles():
    graph = pytest.importorskip("plotly.graph_objects")
    problem = problems.six_axis_arm.build(intervals=4)
    ball = trajopt.library.sphere_clearance("wrist_3_link", (0.3, 0.5, 0.2), 0.1)
    problem.subject_to(ball, lower=0.0, name="ball")
    solution = trajopt.solve(problem, trajopt.Ipopt(max_iterations=2), starts=1)
    motion = plots(trajopt.report.html(solution, interactive=True))[0]
    assert len(graph.Figure(motion).data) == len(motion["data"]) == 9 + 1 + 1  # snapshots, path, ball
    at_start = solution.problem.dynamics.skeleton(solution.q(0.0)[None])[0]  # pyright: ignore
    first = np.array([motion["data"][0][letter][:2] for letter in "xyz"], dtype=float).T
    assert np.allclose(first, at_start[0], atol=1e-5)
    ball = np.array([motion["data"][-1][letter] for letter in "xyz"])
    away = np.linalg.norm(ball - np.array([0.3, 0.5, 0.2])[:, None, None], axis=0)
    assert np.allclose(away, 0.1, atol=1e-4)


@pytest.mark.long
def test_all_iterations_of_all_solves_are_shown():
    solution = trajopt.solve(problems.two_link_rr.build(intervals=10), refine=trajopt.Certified(tol=1e-6))
    assert len(solution.journal.histories) > 1
    (chart,) = [
        each
        for each in plots(trajopt.report.html(solution, interactive=True))
        if each["layout"]["title"]["text"].startswith("objective, ")
    ]
    values = chart["data"][0]["y"]
    assert len([value for value in values if value is not None]) == sum(
        len(each.iterations) for each in solution.journal.histories
    )
    assert values.count(None) == len(solution.journal.histories) - 1  # a gap between one solve and the next
    assert values[-1] == pytest.approx(solution.objective, rel=1e-6)
