"""The distribution: the files of the distribution, its licences, its version and its command."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import trajopt
from problems.cli.versions import versions
from trajopt.solvers.run import SOLVERS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("trajopt", "dynamics", "problems")


def files(*folders):
    """Paths of all files in these folders, from the root; Python's caches left out."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}


def test_the_distribution_holds_every_file_of_the_packages_and_no_other():
    """scripts/check_wheel.py compares the wheel itself; here the lists that it is built from."""
    settings = PROJECT["tool"]["setuptools"]
    told = {package.replace(".", "/") for package in settings["packages"]}
    code = {name for name in files(*PACKAGES) if name.endswith(".py")}
    assert {name.rpartition("/")[0] for name in code} == told
    data = {
        path.relative_to(ROOT).as_posix()
        for package, patterns in settings["package-data"].items()
        for pattern in patterns
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    assert data == files(*PACKAGES) - code


def test_the_name_on_the_index_is_not_that_of_another_project():
    assert PROJECT["project"]["name"] == "trajopt-splines"


def test_one_version_is_told_everywhere():
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "trajopt.base.version.__version__"
    assert re.fullmatch(r"\d+\.\d+\.\d+", trajopt.__version__)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {trajopt.__version__}\n" in citation


def test_the_versions_with_digests_are_of_all_dependencies():
    """`pip install --require-hashes -r constraints.txt` and then trajopt without dependencies is enough."""
    stated = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    for dependency in PROJECT["project"]["dependencies"]:
        name = re.match(r"[\w-]+", dependency)[0]
        assert re.search(rf"^{name}==", stated, re.MULTILINE), name


def test_the_versions_are_those_of_trajopt_and_of_every_solver():
    told = versions()
    assert next(iter(told)) == "trajopt" and told["trajopt"] == trajopt.__version__
    for name in SOLVERS:
        assert re.search(r"\d+\.\d+", told[name]), told[name]
    assert told["python"] == ".".join(map(str, sys.version_info[:3]))


def test_versions_are_the_same_when_they_are_asked_for_again():
    assert versions() == versions()


@pytest.mark.long
@pytest.mark.parametrize("command", [("-m", "problems.cli.command_line"), ("-m", "trajopt")])
def test_the_module_prints_the_versions(command):
    from importlib.metadata import entry_points

    if "trajopt" in command and not entry_points(group="console_scripts", name="trajopt"):
        pytest.skip("not installed: there is no command that the module could run")
    done = subprocess.run([sys.executable, *command, "--version"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"trajopt {trajopt.__version__}\nipopt 3.")


def test_every_robot_and_table_of_others_has_a_licence():
    page = (ROOT / "licenses" / "README.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([\w./]+\.(?:urdf|csv))`", row)}
    robots = {name for name in files("problems", "tests/support") if name.endswith(".urdf")}
    tables = {Path(name).name for name in files("problems/human/data") if name.endswith(".csv")}
    assert named == robots | tables
    for row in rows:
        assert re.search(r"BSD|Apache-2\.0|CC BY 4\.0", row.split("|")[3]), row


def test_links_between_the_pages_of_the_root_and_the_licences_exist():
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "licenses" / "README.md", ROOT / "docs" / "versions.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"
