"""The files of `trajopt solve` under faults: killed, full, read-only, shared, and of several runs."""

import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from click.testing import CliRunner
from tiers import long_first

import trajopt
from dynamics.kernels.compile import cache_folder
from problems.cli import result_files
from problems.cli.command_line import main
from trajopt.base.files import MANIFEST, manifest, mixture

OWN = """
import problems

class Motor:
    pass

def build(mass=1.0, motor=Motor()):
    return problems.double_integrator.build(mass=mass)
"""


def invoke(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def names(folder):
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def environment(**others):
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | others


def command(*arguments):
    return [sys.executable, "-m", "problems.cli.command_line", *map(str, arguments)]


@pytest.mark.long
def test_all_files_of_a_run_carry_its_identity_and_a_later_run_leaves_none_of_them(tmp_path):
    everything = ("--plot", "--report", "--certify", "1e-4")
    assert invoke("solve", "double_integrator", "--out", tmp_path, *everything).exit_code == 0
    (tmp_path / "notes.txt").write_text("mine")
    run = trajopt.Solution.load(tmp_path / "solution.npz").run.id
    assert set(manifest(tmp_path).files) == names(tmp_path) - {MANIFEST, "notes.txt"}
    for name in names(tmp_path) - {MANIFEST, "notes.txt", "solution.npz"}:
        assert run.encode() in (tmp_path / name).read_bytes(), name
    assert json.loads((tmp_path / "summary.json").read_text())["run"]["versions"]["numpy"] == np.__version__
    assert invoke("solve", "double_integrator", "--out", tmp_path, "--set", "mass=2").exit_code == 0
    assert names(tmp_path) == {"solution.npz", "summary.json", MANIFEST, "notes.txt"}
    assert invoke("plot", tmp_path / "solution.npz", "--format", "svg").exit_code == 0
    answer = invoke("verify", tmp_path / "solution.npz")
    assert answer.exit_code == 0 and "note:" not in answer.output


@pytest.mark.long
def test_verify_tells_a_mixture(tmp_path):
    for folder, mass in (("one", 1), ("two", 2)):
        solved = invoke("solve", "double_integrator", "--out", tmp_path / folder, "--set", f"mass={mass}")
        assert solved.exit_code == 0
    shutil.copy(tmp_path / "two" / "solution.npz", tmp_path / "one" / "solution.npz")
    answer = invoke("verify", tmp_path / "one" / "solution.npz")
    assert "note: the files beside solution.npz are of another run" in answer.output


def test_a_parameter_that_no_file_can_hold_is_refused_before_the_solve(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.setattr(trajopt, "solve", lambda *_, **__: pytest.fail("it was solved"))
    answer = invoke("solve", tmp_path / "own.py", "--out", tmp_path / "out")
    assert answer.exit_code == 2
    assert "parameter 'motor' of own.py is <" in answer.output and "a file cannot hold" in answer.output


def test_a_disk_that_fills_up_during_the_solve_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    solve = trajopt.solve

    def solve_and_fill(*arguments, **options):
        solution = solve(*arguments, **options)

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        return solution

    monkeypatch.setattr(trajopt, "solve", solve_and_fill)
    answer = invoke("solve", "double_integrator", "--out", tmp_path / "out")
    assert answer.exit_code == 2
    kept = re.search(r"it is kept in (\S+\.npz)", answer.output.replace("\n", " "))
    assert trajopt.Solution.load(kept[1]).converged


def test_what_fails_after_the_solve_leaves_the_solution(tmp_path, monkeypatch):
    """A figure that cannot be drawn, say."""

    def broken(*_):
        raise RuntimeError("no font")

    monkeypatch.setattr(result_files, "draw", broken)
    answer = invoke("solve", "double_integrator", "--out", tmp_path, "--plot")
    assert answer.exit_code == 2 and "no font" in answer.output
    assert names(tmp_path) == {"solution.npz", "summary.json", MANIFEST}


@pytest.mark.long
def test_the_same_command_gives_the_same_control_points_bit_for_bit(tmp_path):
    """In new processes; the commands hold no limit of time that a slow machine could reach."""
    points = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        run = command("solve", "two_link_pr", "--set", "intervals=4", "--starts", "2", "--out", folder)
        subprocess.run(run, env=environment(), check=False, capture_output=True)
        with np.load(folder / "solution.npz") as file:
            points.append((file["control_points_0"].tobytes(), file["durations"].tobytes()))
    assert points[0] == points[1] and len(points[0][0]) > 0


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps neither HOME nor these clocks")
@pytest.mark.faults
def test_without_a_home_and_with_a_clock_that_stands_in_1970(tmp_path):
    """Neither decides anything: durations come from the monotonic clock.

    Kernels come from this machine's folder. Those without a home, compiled half a minute long, are the
    subject of test_folders_that_cannot_be_written_are_replaced_by_a_temporary_one.
    """
    code = "import sys, time; time.time = lambda: 0.0; time.time_ns = lambda: 0;"
    code += "from problems.cli.command_line import main; main(sys.argv[1:])"
    missing = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR"), "/nowhere")
    run = subprocess.run(
        [sys.executable, "-c", code, "solve", "double_integrator", "--out", str(tmp_path), "--plot"],
        env=environment(NUMBA_CACHE_DIR=str(cache_folder().parent), **missing),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert {"solution.npz", "torques.png"} <= names(tmp_path)


@pytest.mark.faults
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@long_first(
    "kills, draws", [(3, False), (int(os.environ.get("TRAJOPT_KILLS", "50")), True)], ids=["some", "many"]
)
def test_kills_leave_the_old_result_or_the_new_one_whole(tmp_path, kills, draws):
    """At random moments of a process that solves and writes, with many kills figures too.

    Motions of 1 and 4 kg take 2 and 4 s.

    Many are 50, or as many as the environment variable TRAJOPT_KILLS tells; there are more, later ones, where
    the machine has become so slow that no turn has ended. A process that has imported
    everything forks those that are killed. How long a turn takes is measured, so that moments of all its
    parts are met on a slow machine too.
    """
    code = (
        "import os, signal, sys, time\n"
        "from problems.cli.command_line import main\n"
        "def turn(number):\n"
        "    mass = str(4 - 3 * (number % 2))\n"
        "    main(['solve', 'double_integrator', '--set', 'mass=' + mass, '--out', *sys.argv[1:]],"
        " standalone_mode=False)\n"
        "turn(0)\n"
        "begun = time.monotonic()\n"
        "turn(1)\n"
        "taken = time.monotonic() - begun\n"
        "for kill, wanted in enumerate(sys.stdin):\n"
        "    process = os.fork()\n"
        "    if not process:\n"
        "        for number in range(kill, 1000): turn(number)\n"
        "    time.sleep(float(wanted) * taken)\n"
        "    os.kill(process, signal.SIGKILL)\n"
        "    killed = os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGKILL\n"
        "    print('killed' if killed else 'ended', flush=True)\n"
    )
    rng = random.Random(0)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    command = [sys.executable, "-c", code, str(tmp_path), *["--plot"] * draws]
    found = set()
    with subprocess.Popen(command, env=environment(), **pipes) as run:
        for kill in itertools.count():
            if kill >= kills and found == {1.0, 4.0}:
                break
            assert kill < 4 * kills, found
            run.stdin.write(f"{rng.uniform(0.0, 2.0) * max(1.0, kill - kills)}\n")
            run.stdin.flush()
            while (line := run.stdout.readline()) != "killed\n":
                assert line not in ("", "ended\n"), kill
            found.add(whole_result(tmp_path, kill))


def whole_result(folder, kill):
    """The mass whose solution a folder holds; other files are its own, or told of."""
    solution = trajopt.Solution.load(folder / "solution.npz")
    mass = solution.recipe.parameters["mass"]
    assert solution.duration == pytest.approx(2.0 * np.sqrt(mass), rel=1e-6), kill
    if json.loads((folder / "summary.json").read_text())["run"]["id"] != solution.run.id:
        assert list(mixture(folder, solution.run.id)), kill
    return mass
