"""Completion: the scripts of the shells, and the names they are answered with, without running any file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiers import every

import problems
from problems.cli.command_line import main
from problems.cli.completion import SHELLS, parameters_in
from problems.recipe import defaults_of

ROOT = Path(__file__).parents[3]


def names(*typed, shell="fish"):
    """Completions after these words, the last of which is not complete."""
    line = " ".join(["trajopt", *typed[:-1]])
    asked = {"_TRAJOPT_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": typed[-1]}
    if shell != "fish":
        asked |= {"COMP_WORDS": f"{line} {typed[-1]}".strip(), "COMP_CWORD": str(len(typed))}
    outcome = CliRunner().invoke(main, prog_name="trajopt", env=asked)
    separated = outcome.stdout.strip().splitlines()  # an empty line where there is nothing
    if shell == "zsh":
        return separated[1::3]
    return [line.partition(",")[2].partition("\t")[0] for line in separated]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script_and_is_answered(shell):
    script = CliRunner().invoke(main, ["completion", shell])
    assert script.exit_code == 0 and f"_TRAJOPT_COMPLETE={shell}_complete" in script.stdout
    assert names("so", shell=shell) == ["solve"]
    assert {"two_link_rr", "two_link_pr"} <= set(names("solve", "two", shell=shell))


def test_problems_parameters_and_options_of_the_solver_are_offered():
    assert set(names("solve", "")) >= {*problems.__all__}
    assert names("solve", "two_link_rr", "--set", "inter") == ["intervals="]
    assert names("sweep", "cart_pole", "--set", "cart") == ["cart_mass="]
    assert "tol=" in names("solve", "two_link_rr", "--option", "t")
    assert "kkt_tol=" in names("solve", "two_link_rr", "--solver", "slsqp", "--option", "kkt")
    assert names("solve", "two_link_rr", "--solver", "") == ["ipopt", "interior", "sqp", "slsqp"]
    assert "--verbose" in names("solve", "two_link_rr", "--verb")
    assert names("solve", "no_such_problem", "--set", "") == []


def test_files_are_offered_where_they_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    for name in ("mine.py", "notes.txt", ".hidden.py", "results/solution.npz", "z1.urdf"):
        (tmp_path / name).write_text("")
    assert names("solve", "mine") == ["mine.py"]
    assert names("verify", "") == ["results/"]
    assert names("verify", "results/") == ["results/solution.npz"]
    assert names("show", "z") == ["z1.urdf"]
    assert names("verify", "nowhere/") == []


def test_a_problem_file_is_read_and_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "open('was_run', 'w')\ndef build(*, mass: float = 2.5, length=1.0):\n    return None\n"
    (tmp_path / "mine.py").write_text(text)
    assert names("solve", "mine.py", "--set", "") == ["mass=", "length="]
    (tmp_path / "mine.py").write_text("def build(:\n")
    assert names("solve", "mine.py", "--set", "") == []
    assert not (tmp_path / "was_run").exists()


@every("name", problems.__all__)
def test_parameters_in_the_source_are_those_of_the_function(name):
    module = getattr(problems, name)
    source = Path(module.__file__).read_text(encoding="utf-8")
    assert list(parameters_in(source)) == list(defaults_of(module.build))


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_the_line_and_adds_no_space_after_an_equals_sign(tmp_path):
    command = tmp_path / "trajopt"
    script = CliRunner().invoke(main, ["completion", "bash"]).stdout
    code = (
        f'{script}\ncompopt() {{ asked="$1 $2"; }}\nCOMP_WORDS=(trajopt solve two_link_rr --set inter)\n'
        'COMP_CWORD=4\n_trajopt_completion trajopt inter --set\necho "${COMPREPLY[@]} $asked"\n'
    )
    command.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -c "from problems.cli.command_line import main; '
        'main(prog_name=\'trajopt\')" "$@"\n'
    )
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "intervals= -o nospace", done.stderr
