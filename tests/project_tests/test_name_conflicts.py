"""A user's own file with the name of one of the packages is named, and told to be renamed."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(folder, *arguments):
    # The folder of a script comes first on the path; the checkout behind it, installed or not.
    start = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]; "
    code = start + "import runpy; runpy.run_path(sys.argv[1], run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def complaint(folder, *lines):
    script = folder / "script.py"
    script.write_text("\n".join(lines))
    done = run(folder, str(script))
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    "first", ["import trajopt", "import problems", "import dynamics, problems", "from problems import kirk"]
)
def test_a_file_dynamics_beside_the_script_is_named(tmp_path, first):
    (tmp_path / "dynamics.py").write_text("mass = 3.0\n")
    told = complaint(tmp_path, first, "import problems", "problems.kirk.build()")
    assert told == (
        f"trajopt.base.errors.ShadowedPackageError: {tmp_path / 'dynamics.py'} has the name of the package "
        "'dynamics' and hides it: rename that file or folder"
    )


def test_a_file_problems_beside_the_script_is_named(tmp_path):
    (tmp_path / "problems.py").write_text("")
    told = complaint(tmp_path, "import problems", "import trajopt")
    assert f"{tmp_path / 'problems.py'} has the name of the package 'problems' and hides it" in told


@pytest.mark.long
def test_folders_of_these_names_without_python_packages_are_left_alone(tmp_path):
    (tmp_path / "problems").mkdir()
    (tmp_path / "problems" / "mine.csv").write_text("")
    script = tmp_path / "script.py"
    script.write_text("import trajopt, problems; print(problems.kirk.__name__)")
    assert run(tmp_path, str(script)).stdout.strip() == "problems.kirk"


def test_a_folder_trajopt_beside_the_script_is_named(tmp_path):
    (tmp_path / "trajopt").mkdir()
    (tmp_path / "trajopt" / "__init__.py").write_text("")
    told = complaint(tmp_path, "import problems")
    place = tmp_path / "trajopt" / "__init__.py"
    assert told.startswith(f"ImportError: {place} has the name of the package 'trajopt' and hides it")


def test_a_module_made_by_hand_is_shown(tmp_path):
    lines = ["import sys, types", "sys.modules['dynamics'] = types.ModuleType('dynamics')", "import problems"]
    assert "<module 'dynamics'> has the name of the package" in complaint(tmp_path, *lines)


@pytest.mark.long
def test_a_file_problems_beside_the_script_is_named_when_a_saved_solution_needs_the_library(tmp_path):
    if not entry_points(group="trajopt.problems"):
        pytest.skip("the packages are not installed, so no library is registered")
    (tmp_path / "problems.py").write_text("")
    told = complaint(
        tmp_path,
        "from trajopt.problem.costs_and_constraints import Recipe",
        "from trajopt.solution.rebuilt_problem import built",
        "built(Recipe('kirk', {}))",
    )
    assert told.startswith("trajopt.base.errors.ShadowedPackageError")
    assert f"{tmp_path / 'problems.py'} has the name of the package 'problems' and hides it" in told


@pytest.mark.long
def test_a_problem_file_beside_a_file_dynamics_is_refused_by_the_command(tmp_path):
    (tmp_path / "dynamics.py").write_text("")
    (tmp_path / "arm.py").write_text("from problems.kirk import build\n")
    code = "from problems.cli.command_line import main; main()"
    arguments = [sys.executable, "-c", code, "solve", str(tmp_path / "arm.py")]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert f"{tmp_path / 'dynamics.py'} has the name of the package 'dynamics'" in done.stderr.replace(
        "\n", ""
    )
