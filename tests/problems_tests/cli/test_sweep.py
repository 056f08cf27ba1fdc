"""A grid of parameters, its table, and neighbours that start from each other."""

import csv
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner
from interrupts import hears_ctrl_c

import problems
import trajopt
from problems.cli.command_line import main
from problems.cli.literal import axes_of, values_of
from problems.cli.named_build import NamedBuild
from trajopt import sweep
from trajopt.base.errors import OptionError, UnknownNameError
from trajopt.studies.many import point as point_table
from trajopt.studies.many.sweep import grid


def run(*arguments):
    return CliRunner().invoke(main, ["sweep", *map(str, arguments)])


def rows(folder):
    with open(folder / "table.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_neighbours_in_a_grid_differ_in_one_step_of_one_parameter():
    points = grid({"a": [1, 2, 3], "b": [10, 20], "c": ["x", "y", "z"]})
    assert len(points) == 18 and len({tuple(point.values()) for point in points}) == 18
    places = {"a": [1, 2, 3], "b": [10, 20], "c": ["x", "y", "z"]}
    at = np.array([[places[name].index(value) for name, value in point.items()] for point in points])
    assert np.all(np.abs(np.diff(at, axis=0)).sum(axis=1) == 1)


def test_commas_inside_brackets_belong_to_a_value():
    assert values_of("q_end=[1, -1],[2, pi/2],3") == ("q_end", [[1, -1], [2, pytest.approx(np.pi / 2)], 3])
    assert values_of("start=measured,standing") == ("start", ["measured", "standing"])
    for text in ("mass", "mass=", "mass=1,,2", "=1,2", "my mass=1"):
        with pytest.raises(OptionError, match="is no list of values: write NAME=VALUE,VALUE"):
            values_of(text)


def test_commas_inside_quotes_belong_to_a_value():
    assert values_of("without='posture, heel strike',push") == ("without", ["posture, heel strike", "push"])


def test_a_parameter_that_is_set_twice_is_refused():
    assert axes_of(["u=1,2", "mass=3"]) == {"u": [1, 2], "mass": [3]}
    with pytest.raises(OptionError, match="'u' is set twice: give all its values at once"):
        axes_of(["u=1", "u=2"])


@pytest.mark.long
def test_a_sweep_writes_a_table_and_a_solution_of_every_point(tmp_path):
    command = ("double_integrator", "--set", "mass=1,4", "--set", "force=1,2", "--processes", 1)
    answer = run(*command, "--out", tmp_path, "--plot")
    assert answer.exit_code == 0, answer.output
    assert "4 of 4 converged" in answer.output and "[4 of 4]" in answer.output
    assert (tmp_path / "sweep.png").stat().st_size > 1000
    for row in rows(tmp_path):
        mass, force = float(row["mass"]), float(row["force"])
        assert float(row["duration"]) == pytest.approx(2.0 * np.sqrt(mass / force), rel=1e-6)
        solution = trajopt.Solution.load(tmp_path / row["file"])
        assert solution.recipe.parameters["mass"] == mass and solution.converged
    starts = [row["start"] for row in rows(tmp_path)]
    assert starts == ["its own guess", "point 0", "point 1", "point 2"]


@pytest.mark.long
def test_points_start_cold_on_request(tmp_path):
    axes = {"distance": [1.0, 2.0]}
    study = sweep(problems.minimum_acceleration.build, axes, warm=False, processes=1, folder=tmp_path)
    assert [point.start for point in study.points] == ["its own guess"] * 2


def test_failures_stand_in_the_table(tmp_path):
    command = ("two_link_pr", "--set", "u=2,0.02", "--set", "intervals=6", "--processes", 1)
    answer = run(*command, "--out", tmp_path)
    assert answer.exit_code == 1 and "1 of 2 converged" in answer.output
    failed, fine = rows(tmp_path)
    assert failed["status"] == "failed" and "expected a weight between 0" in failed["error"]
    assert fine["status"] == "converged" and failed["file"] == ""


def test_a_point_behind_a_failure_starts_from_the_one_before_it():
    study = sweep(failing_at_two, {"mass": [1.0, 2.0, 3.0, 4.0]}, processes=1)
    assert [point.start for point in study.points] == ["its own guess", "", "point 0", "point 2"]
    assert study.points[1].error == "ProblemError: not this one" and study.converged_count == 3


def failing_at_two(mass=1.0):
    if mass == 2.0:
        raise trajopt.base.errors.ProblemError("not this one")
    problem = problems.double_integrator.build(mass=mass)
    problem.guess(lambda s: np.zeros((*np.shape(s), 1)), duration=2.0)  # plain pickle refuses it
    return problem


@pytest.mark.long
def test_processes_take_parts_of_the_grid_and_find_the_same(forked_workers):
    axes, build = {"mass": [1.0, 2.0, 3.0, 4.0]}, problems.sliding_mass.build
    alone = sweep(build, axes, processes=1)
    shared = sweep(build, axes, processes=2)
    for one, two in zip(alone.points, shared.points, strict=True):
        assert one.objective == pytest.approx(two.objective, rel=1e-7)
    assert [point.start for point in shared.points] == [
        "its own guess",
        "point 0",
        "its own guess",
        "point 2",
    ]


def test_what_cannot_be_swept_is_refused_before_anything_is_solved(tmp_path):
    build = problems.double_integrator.build
    with pytest.raises(UnknownNameError, match="no parameter of double_integrator is called 'weight'"):
        sweep(build, {"weight": [1]}, folder=tmp_path)

    def own(mass=1.0, *, force=2.0):
        return build(mass=mass, force=force)

    with pytest.raises(UnknownNameError, match=r"no parameter of own is called 'mas' \(did you mean 'mass'"):
        sweep(own, {"mas": [1.0]}, folder=tmp_path)
    with pytest.raises(
        UnknownNameError, match="no parameter of own is called 'weight': there are mass, force"
    ):
        sweep(own, {"weight": [1.0]}, folder=tmp_path)
    for axes, message in [
        ({}, "give the values of each parameter"),
        ({"mass": []}, "'mass' has no values"),
        ({"mass": "12"}, "the values of 'mass' are '12': give a list"),
        ({"mass": range(2000), "force": range(2000)}, "more than 1000000 points"),
    ]:
        with pytest.raises(OptionError, match=message):
            sweep(build, axes, folder=tmp_path)
    with pytest.raises(OptionError, match="processes = 0: expected a whole number"):
        sweep(build, {"mass": [1.0]}, processes=0)
    assert not list(tmp_path.iterdir())
    assert run("double_integrator").exit_code == 2 and run("nothing", "--set", "a=1").exit_code == 2


def test_an_interrupted_point_ends_the_sweep(tmp_path, monkeypatch):
    from dataclasses import replace

    from trajopt.studies.many import point

    def interrupted(problem, solver=None, **options):
        return replace(trajopt.solve(problem, solver), status=trajopt.Status.INTERRUPTED)

    monkeypatch.setattr(point, "solve", interrupted)
    build = problems.minimum_acceleration.build
    study = sweep(build, {"distance": [1.0, 2.0]}, processes=1, folder=tmp_path)
    assert study.interrupted and [each.status for each in study.points] == ["interrupted"] * 2
    assert [row["number"] for row in rows(tmp_path)] == ["0"], "the second was never begun"


@pytest.mark.long
def test_ctrl_c_while_a_row_is_written_loses_no_row_and_the_sweep_goes_on_where_it_was(tmp_path, monkeypatch):
    """Once the message counted the lines on the screen, and a row could be left out."""
    command = [
        "sweep",
        "double_integrator",
        "--set",
        "mass=1,2,3",
        "--out",
        str(tmp_path),
        "--processes",
        "1",
    ]
    append, numbers = point_table.append, []

    def interrupted_at_the_second(path, row):
        numbers.append(row["number"])
        if len(numbers) == 2:
            signal.raise_signal(signal.SIGINT)
        append(path, row)

    monkeypatch.setattr(point_table, "append", interrupted_at_the_second)
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 1 and "2 of 3 converged" in told.output
    assert "interrupted: 2 of 3 points are in the table" in told.output
    assert [row["mass"] for row in rows(tmp_path)] == ["1", "2"]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert numbers == [0, 1, 2], "what was done is not solved again"
    assert [row["mass"] for row in rows(tmp_path)] == ["1", "2", "3"]


@pytest.mark.long
def test_a_problem_file_is_sent_where_it_is_not(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "import problems\ndef build(mass=1.0):\n    return problems.double_integrator.build(mass=mass)"
    )
    build = NamedBuild.of(str(file))
    file.unlink()
    assert build(mass=2.0).recipe.parameters == {"mass": 2.0}
    file.write_text("a file of another machine")
    assert build(mass=2.0).recipe.problem == "own.py"


@pytest.mark.long
def test_the_command_does_not_resume_after_a_module_beside_the_file_has_changed(tmp_path, monkeypatch):
    beside, file = tmp_path / "masses_beside.py", tmp_path / "own.py"
    beside.write_text("def scaled(mass):\n    return mass\n")
    file.write_text(
        "import problems\nfrom masses_beside import scaled\n"
        "def build(mass=1.0):\n    return problems.double_integrator.build(mass=scaled(mass))\n"
    )
    command = (file, "--set", "mass=1,4", "--processes", 1, "--out", tmp_path / "results")
    for _ in range(2):
        assert run(*command).exit_code == 0
        monkeypatch.delitem(sys.modules, "masses_beside")  # as in a new process
    beside.write_text("def scaled(mass):\n    return 4.0 * mass\n")
    answer = run(*command)
    assert answer.exit_code == 2 and "the code of its problem has changed" in " ".join(answer.stderr.split())
    monkeypatch.delitem(sys.modules, "masses_beside")
    assert run(*command, "--anew").exit_code == 0
    assert [float(row["duration"]) for row in rows(tmp_path / "results")] == pytest.approx(
        [4.0, 8.0], rel=1e-6
    )
    monkeypatch.delitem(sys.modules, "masses_beside")


@pytest.mark.long
def test_a_problem_file_may_have_another_encoding_than_utf_8(tmp_path):
    file = tmp_path / "own.py"
    file.write_bytes(
        "# -*- coding: latin-1 -*-\nimport problems\nWORD = 'Bewegungsl\xe4nge'\n"
        "def build(mass=1.0):\n    assert len(WORD) == 14\n"
        "    return problems.double_integrator.build(mass=mass)\n".encode("latin-1")
    )
    build = NamedBuild.of(str(file))
    assert build(mass=2.0).recipe.parameters == {"mass": 2.0}
    file.unlink()
    assert build(mass=2.0).recipe.parameters == {"mass": 2.0}


DYING = """
import os, pathlib, signal
import problems

def build(mass=1.0, place="."):
    tried = pathlib.Path(place) / f"tried-{mass}"
    before = len(tried.read_text()) if tried.exists() else 0
    tried.write_text("x" * (before + 1))
    if before < {2.0: 1, 3.0: 9}.get(mass, 0) and os.getpid() != PARENT:
        os.kill(os.getpid(), signal.SIGKILL)
    return problems.double_integrator.build(mass=mass)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_process_that_dies_costs_its_own_point_which_is_tried_again(tmp_path, forked_workers):
    """As when the machine runs out of memory: the system kills the process, none of its code runs."""
    file, place = tmp_path / "dying.py", str(tmp_path)
    file.write_text(f"PARENT = {os.getpid()}{DYING}")
    axes = {"place": [place], "mass": [1.0, 2.0, 3.0, 4.0]}
    study = sweep(NamedBuild.of(str(file)), axes, processes=2, warm=False, folder=tmp_path / "out")
    assert [point.number for point in study.points] == [0, 1, 2, 3]
    assert [point.converged for point in study.points] == [True, True, False, True]
    assert [point.tries for point in study.points] == [1, 2, 3, 1]
    assert [len((tmp_path / f"tried-{mass}").read_text()) for mass in (2.0, 3.0)] == [2, 3]
    assert study.points[2].error.startswith("WorkerDiedError: the worker that solved it died 3")
    assert not any(study.points[place].error for place in (0, 1, 3))
    assert [row["number"] for row in rows(tmp_path / "out")] == ["0", "1", "2", "3"]


SLOW = """
import time
import problems

def build(mass=1.0):
    time.sleep(3600.0 * (mass > 2.0))
    return problems.double_integrator.build(mass=mass)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.long
def test_ctrl_c_ends_a_sweep_in_processes_at_once_and_keeps_what_is_done(tmp_path):
    """The points of 3 and 4 kg would take an hour."""
    (tmp_path / "slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "problems.cli.command_line", "sweep", "slow.py", "--out", "out"]
    command += ["--set", "mass=1,3,2,4", "--processes", "2"]
    path = os.pathsep.join(filter(None, sys.path))
    run = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hears_ctrl_c,
    )
    wanted = 2
    table = tmp_path / "out" / "table.csv"
    deadline = time.monotonic() + 600.0
    while time.monotonic() < deadline and not (table.exists() and len(rows(table.parent)) == wanted):
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=600.0) == 1
    assert "interrupted: 2 of 4 points are in the table" in run.stderr.read()
    run.stderr.close()
    check_two_are_kept(table.parent)


def check_two_are_kept(folder):
    assert {row["status"] for row in rows(folder)} == {"converged"}
    kept = {path.name for path in folder.iterdir()} - {".trajopt.lock"}
    assert len(kept) == 3, "the table and two solutions, no parts of files"


PRESSED = """
import signal, time
import problems

def build(mass=1.0):
    if mass > 2.0:
        signal.raise_signal(signal.SIGINT)
        time.sleep(3600.0)
    return problems.double_integrator.build(mass=mass)
"""


@pytest.mark.long
def test_ctrl_c_ends_a_sweep_in_one_process_at_once_and_keeps_what_is_done(tmp_path):
    """Pressed while the point of 3 kg is built, which would take an hour."""
    (tmp_path / "pressed.py").write_text(PRESSED)
    told = run(tmp_path / "pressed.py", "--set", "mass=1,2,3,4", "--processes", 1, "--out", tmp_path / "out")
    assert told.exit_code == 1 and "interrupted: 2 of 4 points are in the table" in told.stderr
    check_two_are_kept(tmp_path / "out")
