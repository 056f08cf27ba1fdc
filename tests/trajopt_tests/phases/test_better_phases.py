"""Phases on finer meshes, from several starts, from a former solution, on one page."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import problems
import trajopt
from trajopt.base.errors import ShapeError

W = 5.0  # rad/s


@trajopt.term
def effort(node):
    return node.u**2


def swing(order=2, intervals=1):
    """An oscillator brought from rest at 0 to rest at 1 in two seconds, in two phases of one second."""
    oscillator = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, -(W**2) * node.x + node.u])
    parts = []
    for name in ("first", "second"):
        mesh = trajopt.Trajectory.collocation(intervals, order, duration=1.0)
        part = trajopt.Problem(oscillator, mesh, name=name)
        part.minimize(effort)
        parts.append(part)
    parts[0].start_at(x=[0.0, 0.0])
    parts[1].end_at(x=[1.0, 0.0])
    both = trajopt.Phases(*parts, name="swing")
    both.link(trajopt.q, parts[0].at("end"), parts[1].at("start"), name="meet")
    return both


def least_effort():
    """b' G^-1 b with the controllability Gramian G of two seconds and b what the free motion misses."""
    s = np.linspace(0.0, 2.0, 200_001)
    response = np.stack([np.sin(W * s) / W, np.cos(W * s)])
    gramian = np.trapezoid(response[:, None] * response[None], s, axis=-1)
    b = np.array([1.0, 0.0])
    return b @ np.linalg.solve(gramian, b)


@pytest.mark.long
def test_refined_phases_reach_the_exact_optimum():
    coarse = trajopt.solve(swing(order=3), refine=None)
    assert abs(coarse.objective / least_effort() - 1.0) > 0.05
    fine = trajopt.solve(swing(order=3), refine=trajopt.Refined(tol=1e-2))
    record = fine.journal.refinement
    assert record is not None and record.reached, record
    assert record.before.error > 5e-2 and record.after.error <= 1e-2
    assert fine.objective == pytest.approx(least_effort(), rel=2e-3)
    assert len(fine.phases) == 2 and fine.verify().holds


@pytest.mark.long
def test_a_refinement_keeps_the_answer_that_it_cannot_better(tmp_path):
    exact = trajopt.solve(swing(order=8, intervals=3), refine=trajopt.Refined(tol=1e-4))
    assert exact.journal.refinement is not None and len(exact.journal.refinement.rounds) == 1
    exact.save(tmp_path / "swing.npz")
    again = trajopt.PhasesSolution.load(tmp_path / "swing.npz", swing(order=8, intervals=3))
    assert str(again.journal.refinement) == str(exact.journal.refinement)
    assert again.verify().holds


def around(side):
    """From (0, 0) past a disc to x = 1 and on to (2, 0); the shorter way is below, side -1."""
    point = trajopt.system(("x", "y"), ("u", "w"), lambda node: [node.u, node.w])

    @trajopt.term
    def length(node):
        return node.u**2 + node.w**2

    @trajopt.term
    def distance(node):
        return (node.x - 0.5) ** 2 + (node.y - 0.1) ** 2

    past = trajopt.Problem(point, trajopt.Trajectory.collocation(6, 2, duration=1.0), name="past")
    on = trajopt.Problem(point, trajopt.Trajectory.collocation(2, 2, duration=1.0), name="on")
    for problem in (past, on):
        problem.minimize(length)
    past.subject_to(distance, lower=0.3**2)
    past.start_at(x=[0.0, 0.0])
    past.end_at(x=[1.0, None])
    on.end_at(x=[2.0, 0.0])
    past.guess([[0.0, 0.0], [0.5, 0.25 * side], [1.0, 0.0]])
    both = trajopt.Phases(past, on, name="around")
    both.link(trajopt.q, past.at("end"), on.at("start"))
    return both


@pytest.mark.long
def test_several_starts_find_the_shorter_way():
    above, below = (trajopt.solve(around(side), refine=None) for side in (1.0, -1.0))
    assert above.converged and below.converged and below.objective < 0.95 * above.objective
    best = trajopt.solve(around(1.0), starts=5, refine=None)
    assert best.objective == pytest.approx(below.objective, rel=1e-6)
    table = best.journal.starts
    assert table is not None and table.chosen > 0
    assert table.starts[0].solves[0].objective == pytest.approx(above.objective, rel=1e-9)
    assert best.iterations == sum(start.solves[0].iterations for start in table.starts)


@pytest.mark.long
def test_the_table_of_starts_is_saved(tmp_path):
    solution = trajopt.solve(swing(order=4), starts=3)
    assert solution.journal.starts is not None
    assert [start.same_as for start in solution.journal.starts.starts] == [None, 0, 0]  # a convex problem
    solution.save(tmp_path / "swing.npz")
    again = trajopt.PhasesSolution.load(tmp_path / "swing.npz", swing(order=4))
    assert again.journal.starts == solution.journal.starts


@pytest.mark.long
def test_a_solution_is_the_guess_of_the_same_phases_on_other_meshes():
    known = trajopt.solve(swing(order=4))
    meshes = [trajopt.Trajectory.collocation(count, 4, duration=1.0) for count in (6, 5)]
    finer = swing().on(*meshes)
    finer.guess(known)
    program = finer.problems[0].guessed_curve
    assert program is not None
    assert np.allclose(program(np.array([0.5]))[0, :2], known.phases[0].q(0.5), atol=1e-12)
    assert trajopt.solve(finer).objective == pytest.approx(least_effort(), rel=1e-5)


def test_phases_on_other_meshes_are_independent_of_the_former_ones():
    former = swing()
    other = former.on(*(problem.trajectory for problem in former.problems))
    other.problems[0].subject_to(trajopt.state("u"), upper=0.0)
    assert len(former.problems[0].constraints) == len(other.problems[0].constraints) - 1
    assert [instant.phase for instant in other.links[0].instants] == [0, 1]


# -- the page ----------------------------------------------------------------------------------------------


class _Balance(HTMLParser):
    """Keeps the open elements of a page; those never closed (`<meta ... />` too) are none of them."""

    void = ("meta", "br", "line", "circle", "polyline")

    def __init__(self):
        super().__init__()
        self.open, self.headings, self.heading = [], [], False

    def handle_starttag(self, tag, attributes):
        self.heading = tag == "h2"
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.void:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.heading:
            self.headings.append(data)
            self.heading = False


@pytest.mark.long
def test_the_page_of_phases_has_every_phase_and_the_links(tmp_path):
    solution = trajopt.solve(swing(order=8, intervals=2), starts=2)
    text = trajopt.report.html(solution, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    page = _Balance()
    page.feed(text)
    assert not page.open
    wanted = ["Cost", "Links", "Motion of first", "Motion of second", "Checks", "Convergence", "Time"]
    assert [each for each in page.headings if each in wanted] == wanted
    assert "PASS: all phases and links hold" in text and "meet" in text
    assert f"{solution.multipliers['meet'][0]:.6g}" in text
    assert "the best of 2 starts" in text


@pytest.mark.long
def test_phases_are_solved_on_coarse_meshes_first(tmp_path):
    """Phases of 40 and 6 spans: two coarse solves, then the own phases from the last of them."""
    both = swing(order=3, intervals=40)
    both = both.on(both.parts[0].trajectory, trajopt.Trajectory.collocation(6, 3, duration=1.0))
    direct = trajopt.solve(both)
    found = trajopt.solve(both, coarse_to_fine=True)
    assert [level.spans for level in found.journal.levels] == [16, 26, 46]
    assert found.converged and found.verify().holds and found.known is both
    assert found.objective == pytest.approx(direct.objective, rel=1e-9)
    assert found.iterations == sum(level.iterations for level in found.journal.levels)
    assert str(found.journal.levels[0]) in trajopt.report.html(found)
    found.save(tmp_path / "swing.npz")
    assert trajopt.PhasesSolution.load(tmp_path / "swing.npz", both).journal.levels == found.journal.levels


@pytest.mark.long
def test_links_of_several_phases_hold_on_every_mesh():
    """Two masses that move in minimum time and in equal times."""
    parts = [problems.sliding_mass.build(intervals=20) for _ in range(2)]
    both = trajopt.Phases(*parts)
    ends = [part.at("end") for part in parts]
    both.link(lambda one, other: one.duration - other.duration, *ends, name="equal times")
    direct, found = trajopt.solve(both), trajopt.solve(both, coarse_to_fine=True)
    assert found.converged and [level.spans for level in found.journal.levels] == [20, 40]
    assert found.objective == pytest.approx(direct.objective, rel=1e-9)
    assert found.multipliers.keys() == {"equal times"}


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_what_is_there_for_single_problems_only_says_what_to_do():
    with pytest.raises(ShapeError, match=r"1 trajectories are given for 2 phases \(first, second\)"):
        swing().on(trajopt.Trajectory.collocation(4))
    for given in (3, None, trajopt.solve(swing()).phases[0]):
        with pytest.raises(ShapeError, match="is no solution of 2 phases"):
            swing().guess(given)
