"""The README's promises hold: its code runs, its commands and files exist."""

import itertools
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_python_example_solves_what_it_says(capsys):
    (code,) = blocks("python")
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    solution = names["solution"]
    power = solution.tau(solution.node_times) * solution.v(solution.node_times)
    assert solution.converged and power.max() == pytest.approx(40.0, abs=1e-4)
    # The bound on the power costs time: the arm alone needs 0.3931 s on 20 intervals, less on finer ones.
    assert solution.duration > 0.3931
    assert np.allclose(solution.q(solution.duration), [1.0, -1.0])
    printed = capsys.readouterr().out
    assert printed.startswith("PASS") and "actuator power, joint2" in printed


def test_links_and_pictures_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_named_scripts_and_files_exist():
    for name in re.findall(r"`python (scripts/\w+\.py)`", README):
        assert (ROOT / name).is_file(), name


def test_every_python_file_named_in_readme_and_docs_exists():
    """Paths are from the root, a package or a room; names without folder are those of any file."""
    folders = (path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
    paths = itertools.chain(ROOT.glob("*.py"), *(folder.rglob("*.py") for folder in folders))
    files = [path.relative_to(ROOT).as_posix() for path in paths]
    endings = {"/".join(name.split("/")[i:]) for name in files for i in range(name.count("/") + 1)}
    written_by_users = {"my_arm.py", "my_walk.py", "reach.py"}
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        named = set(re.findall(r"[\w/.-]*\w\.py\b", page.read_text(encoding="utf-8")))
        missing = {name for name in named if name.removeprefix("../") not in endings} - written_by_users
        assert not missing, f"{page.name}: {sorted(missing)}"


def test_the_test_command_is_the_one_that_ci_runs():
    commands = [line for block in blocks("sh") for line in block.splitlines() if "'.[test]'" in line]
    assert len(commands) == 1 and commands[0].endswith(".venv/bin/pytest -n 2")
    checks = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert '"' + "'.[test]'" + '" README.md' in checks
    rest = ".venv/bin/pytest -n 2 -m long"
    assert f"`{rest}` runs the rest" in README and f'stage "{rest}"' in checks


def test_the_commands_shown_are_commands_that_exist():
    from problems.cli.command_line import main

    shown = {
        line.split()[1]
        for block in blocks("sh")
        for line in block.splitlines()
        if line.startswith("trajopt ")
    }
    assert shown == {"list", "new", "show", "solve", "sweep", "verify", "plot", "view", "warmup"}
    assert shown <= set(main.commands)


def test_the_supported_pythons_are_those_of_the_package():
    """The range, the classifiers, the pages, tools, the workflow and .ci/run name the same versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    first, end = (int(n) for n in re.findall(r"3\.(\d+)", project["project"]["requires-python"]))
    named = [name.rpartition(" ")[2] for name in project["project"]["classifiers"] if " 3." in f"{name}."]
    assert named == [f"3.{minor}" for minor in range(first, end)]
    told = f"Python {named[0]} to {named[-1]}"
    for page in ("README.md", "docs/start.md", "docs/security.md", "docs/versions.md", "constraints.txt"):
        assert told in (ROOT / page).read_text(encoding="utf-8"), page
    assert project["tool"]["ruff"]["target-version"] == f"py3{first}"
    assert project["tool"]["pyright"]["pythonVersion"] == named[0]
    assert project["tool"]["pyrefly"]["python-version"] == named[0]
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert f'python: ["{named[0]}", "{named[-1]}"]' in workflow
    everything = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert f"interpreter {named[0]})" in everything and f"interpreter {named[-1]} " in everything
