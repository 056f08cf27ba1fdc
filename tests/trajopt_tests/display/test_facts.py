"""Displays of objects: short texts, cards of notebooks, summaries of problems."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from double_integrator import effort, least_effort
from hand_written import two_link_minimum_time

import problems
import trajopt
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.facts import LONGEST_LINE, MOST_LINES, Facts
from trajopt.display.facts import ProblemSummary

CURVE = "stroke-width: 1.4"  # of the curves of a chart alone


@pytest.fixture(scope="module")
def arm():
    return trajopt.solve(two_link_minimum_time(8))


@pytest.fixture(scope="module")
def phases():
    first, second = least_effort(2), least_effort(2)
    both = trajopt.Phases(first, second, name="<twice>")
    both.link(lambda a, b: [a.x - 1.0 - b.x], first.at("end"), second.at("start"), name="handover")
    return both


@pytest.fixture(scope="module")
def several(arm, phases):
    """One of every kind that was once printed as all of its arrays."""
    certified = trajopt.solve(least_effort(3), refine=trajopt.Certified(tol=1e-6))
    stopped = trajopt.solve(two_link_minimum_time(8), trajopt.Ipopt(max_iterations=1))
    linked = trajopt.solve(phases)
    return [
        problems.planar_walker.build(),  # 33 constraints
        arm,
        stopped,
        arm.verify(),
        stopped.verify(),
        certified.certificate,
        phases,
        linked,
        linked.verify(),
        trajopt.solve_many([least_effort(2)], processes=1),
    ]


@pytest.mark.long
def test_no_object_prints_more_than_fifteen_short_lines(several):
    for each in several:
        lines = repr(each).splitlines()
        assert 1 <= len(lines) <= MOST_LINES == 15, type(each)
        assert max(map(len, lines)) <= LONGEST_LINE, type(each)
        assert "array(" not in repr(each)


@pytest.mark.long
def test_cards_are_well_formed_and_escape_names(several):
    shown = [each for each in several if hasattr(each, "_repr_html_")]
    assert len(shown) == len(several) - 1  # a study is a text
    for each in shown:
        ElementTree.fromstring(each._repr_html_())  # raises for a tag that is not closed, or a bare &
    card = phases_of(several)._repr_html_()
    assert "&lt;twice&gt;" in card and "<twice>" not in card


def phases_of(several):
    return next(each for each in several if isinstance(each, trajopt.Phases))


def test_the_card_of_a_solution_draws_every_joint_in_two_plots(arm):
    card = ElementTree.fromstring(arm._repr_html_())
    plots = card.findall(".//svg")
    assert [plot.get("aria-label") for plot in plots] == [
        "positions [rad or m]",
        "torques and forces [N m or N]",
    ]
    for plot in plots:
        curves = [line for line in plot.iter("path") if CURVE in line.get("style", "")]
        assert len(curves) == 2  # shoulder, elbow
        assert all("fill: none" in line.get("style", "") for line in curves)  # needs no style sheet


@pytest.mark.long
def test_a_solution_tells_its_objective_and_how_it_ended(arm, several):
    text = repr(arm)
    assert f"{arm.objective:.7g}" in text and f"{arm.iterations} iterations" in text
    assert "converged" in text and "not converged" not in text
    stopped = several[2]
    assert "not converged (reached the iteration limit)" in repr(stopped)
    assert "#b00020" in stopped._repr_html_() and "#b00020" not in arm._repr_html_()


@pytest.mark.long
def test_a_report_that_fails_tells_its_reason_and_the_worst():
    arm, stricter = trajopt.solve(two_link_minimum_time(8), refine=None), two_link_minimum_time(8)
    stricter.subject_to(trajopt.tau, upper=1.0, name="weak motors")  # they give up to 10 N m
    report = replace(arm, known_problem=stricter).verify()
    lines = repr(report).splitlines()
    assert lines[0] == "Report: FAIL" and report.reason[:60] in lines[1]
    worst = [line.split("weak motors, ")[1] for line in lines if line.split()[0] == "violated"]
    assert [text.split(":")[0] for text in worst] == [v.component for v in report.worst(4)]
    assert len(worst) == 2


def test_a_solution_whose_problem_is_not_at_hand_shows_its_motion(arm, tmp_path):
    arm.save(tmp_path / "arm.npz")
    read = trajopt.Solution.load(tmp_path / "arm.npz")
    assert f"{arm.duration:.7g} s" in repr(read)
    assert read._repr_html_().count(CURVE) == 2


def test_facts_that_are_many_or_long_are_cut():
    text = str(Facts("head", [(f"fact {i}", "x" * 500) for i in range(40)]))
    lines = text.splitlines()
    assert len(lines) == 15 and lines[-1].split() == ["...", "27", "more"]
    assert lines[1].endswith("...") and len(lines[1]) <= LONGEST_LINE


# -- summaries --------------------------------------------------------------------------------------------


def test_a_summary_counts_what_the_solver_will_see():
    problem = two_link_minimum_time(20)
    summary, nlp = problem.summary(), trajopt.transcribe(problem)
    assert (summary.variables, summary.equations + summary.inequalities) == (
        nlp.variable_count,
        nlp.row_count,
    )
    # 23 cubic coefficients of two joints and T, less four boundary vectors: 46 + 1 - 8
    assert (summary.variables, summary.eliminated) == (39, 8)
    assert sum(line.rows for line in summary.constraints) == nlp.row_count
    torque = next(line for line in summary.constraints if line.name == "torque limits")
    assert torque.rows == 2 * problem.trajectory.nodes.count and torque.what == "-10 to 10 N m or N"
    assert summary.jacobian == nlp.jacobian_rows.size and summary.hessian == nlp.hessian_rows.size


def test_a_summary_lists_costs_constraints_and_unknowns():
    problem = least_effort(4)
    load = problem.parameter("load", 1.0, 5.0, guess=2.0, unit="kg")
    problem.minimize(load, weight=0.5)
    problem.subject_to(trajopt.state("x"), upper=[2.0], over=(0.2, 0.6), name="wall")
    problem.subject_to(trajopt.q, lower=[-np.inf, -3.0], name="retreat")
    text = str(problem.summary())
    lines = {line.split("  ")[1].strip(): line for line in text.splitlines() if line.startswith("  ")}
    assert lines["effort"].split()[-2:] == ["integral", "path"]
    assert "0.5 times value" in lines["load"] or "1 to 5 kg" in lines["load"]
    assert "at most 2" in lines["wall"] and "0.2 to 0.6 T" in lines["wall"]
    assert "v at least -3" in lines["retreat"]  # the component that is bounded, and no other
    assert "= [1, 0]" in lines["x at the end"]
    assert "1 to 5 kg" in text and text.splitlines()[-2].startswith(f"{problem.summary().variables} unknowns")


def test_parameters_whose_names_have_spaces_are_listed():
    problem = least_effort(4)
    problem.minimize(problem.parameter("drawn load", 1.0, 5.0, guess=2.0, unit="kg"))
    problem.parameter("two masses", [1.0, 2.0], [3.0, 4.0], guess=[2.0, 2.0])
    every = (" ".join(line.split()) for line in str(problem.summary()).splitlines())
    assert [line for line in every if line.endswith(" parameter")] == [
        "drawn load 1 to 5 kg parameter",
        "two masses (2) [1 to 3, 2 to 4] parameter",
    ]


def test_a_summary_of_a_contradiction_is_the_error_of_the_solve():
    problem = least_effort(4)
    problem.subject_to(effort, lower=2.0)
    problem.subject_to(trajopt.q, upper=[0.5, np.inf])  # it ends at x = 1
    with pytest.raises(InfeasibleBoundsError):
        problem.summary()


def test_a_problem_without_costs_says_what_an_answer_is():
    problem = trajopt.Problem(least_effort().dynamics, trajopt.Trajectory.collocation(2, duration=1.0))
    assert "nothing: any feasible motion is an answer" in repr(problem)
    assert isinstance(problem.summary(), ProblemSummary)


@pytest.mark.long
def test_systems_tables_of_starts_and_pages_show_themselves_in_few_words():
    units = {"x": "m", "u": "N"}
    mass = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u], units=units)
    assert repr(mass) == "System x' = f(x, u): states x [m], v; controls u [N]"
    implicit = trajopt.system(("x",), residuals=lambda node: [node.rate("x") + node.x])
    assert repr(implicit) == "System 0 = g(x', x, u): states x; controls none"
    solution = trajopt.solve(problems.two_link_rr.build(intervals=4), starts=2)
    assert solution.journal.starts is not None and repr(solution.journal.starts) == str(
        solution.journal.starts
    )
    page = trajopt.report.html(solution, interactive=False)
    assert page.startswith("<!doctype html>") and len(repr(page)) < 100
