"""The iterations of all solves that an answer came from, in memory and in files."""

import numpy as np
import pytest

import problems
import trajopt
from trajopt.archive import solution_archive as archive
from trajopt.base.errors import SolutionFileError


@pytest.mark.long
def test_the_iterations_of_all_solves_are_kept(tmp_path):
    solution = trajopt.solve(problems.two_link_rr.build(intervals=8), starts=3)
    solution.save(tmp_path / "arm.npz")
    again = trajopt.Solution.load(tmp_path / "arm.npz")
    assert len(again.journal.histories) == len(solution.journal.histories) > 2
    for one, other in zip(solution.journal.histories, again.journal.histories, strict=True):
        assert np.array_equal(one.iterations, other.iterations)
    assert sum(len(each.iterations) - 1 for each in solution.journal.histories) == solution.iterations


@pytest.mark.long
def test_phases_keep_the_iterations_of_all_their_solves_too(tmp_path):
    solution = trajopt.solve(problems.goddard_in_phases.build(), starts=2)
    solution.save(tmp_path / "rocket.npz")
    again = trajopt.PhasesSolution.load(tmp_path / "rocket.npz")
    assert len(again.journal.histories) == len(solution.journal.histories) == 2
    last = solution.journal.histories[0].iterations[-1]
    assert last[1] == pytest.approx(solution.objective, rel=1e-3)  # of the problem, not scaled


@pytest.mark.long
def test_numbers_of_solves_that_do_not_rise_are_refused(tmp_path):
    solution = trajopt.solve(problems.two_link_rr.build(intervals=6), starts=1)
    arrays = archive.contents(solution)
    arrays["solves"] = arrays["solves"].copy()
    arrays["solves"][0, 0] = 3.0
    with open(tmp_path / "arm.npz", "wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(SolutionFileError, match="the numbers of solves do not rise"):
        trajopt.Solution.load(tmp_path / "arm.npz")


@pytest.mark.long
def test_the_journal_is_saved_and_prints_every_solve(tmp_path):
    solution = trajopt.solve(problems.two_link_rr.build(intervals=6), starts=2)
    solution.save(tmp_path / "arm.npz")
    again = trajopt.Solution.load(tmp_path / "arm.npz").journal
    assert again == solution.journal and len(again.rows) == len(again.histories)
    assert sum(row.iterations for row in again.rows) == solution.iterations
    lines = str(again).splitlines()
    assert all(str(row) in line for row, line in zip(again.rows, lines[1:], strict=False))
    assert lines[-1] == again.starts.known
