"""Scripts do what their first lines say."""

import re
import runpy
import subprocess
from pathlib import Path

import pytest

import trajopt

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.mark.long
def test_a_problem_is_solved_kept_and_drawn(tmp_path, capsys):
    names = runpy.run_path(str(SCRIPTS / "solve_problem.py"))
    solution = names["main"]("two_link_pr", tmp_path)
    assert "optimal on this mesh" in capsys.readouterr().out
    assert trajopt.Solution.load(tmp_path / "solution.npz").objective == solution.objective
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {"torques.png", "joint_forces.png", "joints.png", "motion.png"}


def test_the_files_of_a_term_are_those_that_the_map_names(capsys):
    """Steps 5, 6 and 9 build the program, which the script does not count."""
    runpy.run_path(str(SCRIPTS / "files_of_a_term.py"), run_name="__main__")
    listed = capsys.readouterr().out
    page = (SCRIPTS.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    steps = page.partition("the way of a user's term.**")[2].partition("`python scripts")[0].splitlines()
    for step in steps:
        if step[:2] in ("1.", "2.", "3.", "4.", "7.", "8.", "10"):
            assert re.findall(r"`(\S+\.py)`", step)[0] in listed, step
    stated, hessian, together = re.findall(r": (\d+) files", listed)
    counts = (
        f"{stated} where the term is stated, {hessian} in one evaluation of the Hessian, {together} together"
    )
    assert counts in page


@pytest.mark.long
def test_plans_of_a_receding_horizon_steer_to_both_goals():
    names = runpy.run_path(str(SCRIPTS / "receding_horizon.py"))
    found = names["steered"](2.0)
    half = found["error"].size // 2
    assert found["error"][0] == 0.5 and found["error"][half - 1] < 0.05
    assert found["error"][half] > 1.0 and found["error"][-1] < 0.1
    assert found["iterations"].max() < 10  # a plan that starts cold takes more


def test_types_are_checked_in_one_way_everywhere():
    """pyright gets the modules of exported names, or with --full no files, which is everything."""
    names = runpy.run_path(str(SCRIPTS / "check_types.py"))
    (everything, exported), (again, full) = names["commands"](False), names["commands"](True)
    assert everything == again
    assert "pyrefly" in everything
    assert not any(word.endswith(".py") for word in (*everything, *full))
    assert exported[: len(full)] == full
    assert "trajopt/problem/problem.py" in exported
    for place in (
        ".ci/run",
        "noxfile.py",
        ".pre-commit-config.yaml",
        "CONTRIBUTING.md",
        ".github/workflows/tests.yml",
    ):
        assert "scripts/check_types.py" in (SCRIPTS.parent / place).read_text(encoding="utf-8"), place


def test_what_is_no_option_of_the_types_is_refused(capsys):
    assert runpy.run_path(str(SCRIPTS / "check_types.py"))["main"]("--strict") == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("mistake", ["trajopt.Trajectory(1, 2, 3, 4, 5)", "trajopt.Solution.curv"])
def test_mistakes_of_callers_are_found_by_the_first_command(tmp_path, mistake):
    pytest.importorskip("pyrefly")
    command = runpy.run_path(str(SCRIPTS / "check_types.py"))["commands"](False)[0]
    (tmp_path / "wrong.py").write_text(f"import trajopt\n\n{mistake}\n")
    settings = ["--config", str(SCRIPTS.parent / "pyproject.toml")]
    run = subprocess.run(
        [*command, *settings, str(tmp_path / "wrong.py")], capture_output=True, text=True, cwd=SCRIPTS.parent
    )
    assert run.returncode == 1
    assert "wrong.py:3" in run.stdout
