"""Surroundings of a command: terminals that obey control characters, closed pipes, environment variables."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import problems
import trajopt
from problems.cli.command_line import main

CLEARING, SPELLED = "arm\x1b[2J", r"arm\x1b[2J"
COMMAND = [sys.executable, "-m", "problems.cli.command_line"]


def run(*arguments, **variables):
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("saved") / "solution.npz"
    trajopt.solve(problems.sliding_mass.build()).save(file)
    return file


@pytest.mark.parametrize("command", ["show", "verify", pytest.param("plot", marks=pytest.mark.long)])
def test_escape_codes_of_a_file_do_not_reach_the_terminal(command, saved, tmp_path):
    arrays = dict(np.load(saved))
    header = json.loads(str(arrays["header"]))
    arrays["header"] = np.array(json.dumps(header | {"name": CLEARING}))
    np.savez(tmp_path / "solution.npz", **arrays)
    verbose = ["--verbose"] if command == "verify" else []
    answer = CliRunner().invoke(main, [command, str(tmp_path / "solution.npz"), *verbose])
    assert answer.exit_code == 0, answer.output
    assert "\x1b" not in answer.output
    assert SPELLED in answer.output or command == "plot"
    missing = CliRunner().invoke(main, [command, str(tmp_path / f"{CLEARING}.npz")])
    assert missing.exit_code == 2 and SPELLED in missing.output and "\x1b" not in missing.output


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
def test_a_reader_that_leaves_ends_a_command_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        path = os.pathsep.join(filter(None, sys.path))
        answer = subprocess.run(
            [*COMMAND, "list"],
            env=os.environ | {"PYTHONPATH": path},
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (answer.returncode, answer.stderr) == (141, "")


@pytest.mark.long
def test_settings_of_other_libraries_that_prevent_a_command_are_named(saved):
    answer = run("plot", saved, MPLBACKEND="no_backend")
    assert answer.returncode == 2
    assert "MPLBACKEND is 'no_backend', which is no backend of matplotlib" in answer.stderr
    answer = run("solve", "two_link_rr", "--out", saved.parent / "out", NUMBA_DISABLE_JIT="1")
    assert answer.returncode == 2 and "NUMBA_DISABLE_JIT is 1" in answer.stderr
