"""The command `trajopt` with problems that have phases."""

import csv
import json
from base64 import b64encode
from functools import partial

import pytest
from click.testing import CliRunner

import trajopt
from problems.cli.command_line import main
from problems.cli.problem_file import build_file

OWN_PHASES = """
import trajopt

def build(*, pull=1.0):
    mass = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, pull * node.u])
    halves = []
    for name in ("first", "second"):
        half = trajopt.Problem(mass, trajopt.Trajectory.collocation(2, 3, duration=1.0), name=name)
        half.minimize(trajopt.state("u") ** 2)
        halves.append(half)
    halves[0].start_at(x=[0.0, 0.0])
    halves[1].end_at(x=[1.0, 0.0])
    both = trajopt.Phases(*halves, name="halves")
    both.link(trajopt.q, halves[0].at("end"), halves[1].at("start"))
    return both
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "halves.py").write_text(OWN_PHASES, encoding="utf-8")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.long
def test_phases_are_solved_saved_drawn_and_verified(own):
    done = run("solve", "halves.py", "--set", "pull=2", "--plot", "--out", "results")
    assert done.exit_code == 0, done.output
    assert "PASS: all phases and links hold" in done.output
    summary = json.loads((own / "results" / "summary.json").read_text(encoding="utf-8"))
    assert summary["converged"] and summary["verdict"] == "PASS"
    assert summary["objective"] == pytest.approx(12.0 / 2.0**3 / 4.0, rel=1e-9)  # least effort, rest to rest
    assert set(summary["phases"]) == {"first", "second"}
    assert "states.png" in {path.name for path in (own / "results").iterdir()}
    again = run("verify", "results/solution.npz", "--problem", "halves.py", "--verbose")
    assert again.exit_code == 0 and "phase 'second'" in again.output
    alone = run("verify", "results/solution.npz")
    assert alone.exit_code == 2 and "add --problem halves.py" in alone.output
    assert run("plot", "results/solution.npz", "--problem", "halves.py", "--out", "figures").exit_code == 0


@pytest.mark.long
def test_phases_of_a_file_get_its_own_figures(own):
    draw = """
def draw(solution, folder, ending):
    (folder / f"own.{ending}").write_bytes(b"a picture of %d phases" % len(solution.phases))
    return [f"own.{ending}"]
"""
    (own / "halves.py").write_text(OWN_PHASES + draw, encoding="utf-8")
    done = run("solve", "halves.py", "--plot", "--report", "--out", "results")
    assert done.exit_code == 0, done.output
    assert (own / "results" / "own.png").read_bytes() == b"a picture of 2 phases"
    picture = b64encode(b"a picture of 2 phases").decode("ascii")
    page = (own / "results" / "report.html").read_text(encoding="utf-8")
    ours = b64encode((own / "results" / "states.png").read_bytes()).decode("ascii")
    assert picture in page and ours not in page  # the page draws states itself
    assert run("plot", "results", "--problem", "halves.py", "--format", "svg").exit_code == 0
    assert (own / "results" / "own.svg").is_file()


@pytest.mark.long
def test_a_saved_problem_of_the_library_with_phases_is_built_again(own):
    done = run("solve", "goddard_in_phases", "--out", "results")
    assert done.exit_code == 0, done.output
    solution = trajopt.PhasesSolution.load(own / "results" / "solution.npz")
    assert solution.recipe.problem == "goddard_in_phases" and solution.verify().holds
    assert run("verify", "results/solution.npz").exit_code == 0


@pytest.mark.long
def test_phases_are_certified_and_the_certificate_is_written_and_read(own):
    done = run("solve", "halves.py", "--certify", "1e-6", "--out", "results")
    assert done.exit_code == 0, done.output
    told = (own / "results" / "certificate.txt").read_text(encoding="utf-8")
    assert "certificate: proved" in told
    assert "phase 'second': proved" in told
    again = run("verify", "results/solution.npz", "--problem", "halves.py")
    assert again.exit_code == 0, again.output
    assert "certificate: proved" in again.output


@pytest.mark.long
def test_phases_have_starts_and_a_page(own):
    done = run("solve", "halves.py", "--starts", "3", "--report", "--out", "results")
    assert done.exit_code == 0, done.output
    assert "the best of 3 starts" in done.output
    page = (own / "results" / "report.html").read_text(encoding="utf-8")
    assert "Motion of second" in page and "the best of 3 starts" in page


@pytest.mark.long
def test_a_sweep_of_phases_starts_each_point_from_its_neighbour(own):
    done = run("sweep", "halves.py", "--set", "pull=1,2,4", "--processes", "1", "--out", "table")
    assert done.exit_code == 0, done.output
    with (own / "table" / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [12.0 / 2.0**3 / pull**2 for pull in (1.0, 2.0, 4.0)]
    assert [float(row["objective"]) for row in rows] == pytest.approx(expected, rel=1e-8)
    assert [row["start"] for row in rows] == ["its own guess", "point 0", "point 1"]
    again = run("verify", "table/0002.npz", "--problem", "halves.py")
    assert again.exit_code == 0, again.output
    study = trajopt.sweep(partial(halves_of, own / "halves.py"), {"pull": [1.0, 2.0]}, processes=1)
    assert study.points[1].solution.verify().holds


def halves_of(path, pull):
    return build_file(path, {"pull": pull})


@pytest.mark.long
def test_a_solve_of_phases_that_fails_says_why(own):
    failed = run("solve", "halves.py", "--option", "max_iterations=0", "--out", "results")
    assert failed.exit_code == 1
    assert "not converged: reached the iteration limit" in failed.output
