"""The wheel, built and tried where nothing else is installed.

    python scripts/check_wheel.py      0 where it holds every file of the packages, no other, and works

"Works" includes README's first command, with the wheel in place of the checkout.

Builds from a copy, as building leaves folders behind. The index of packages is needed, for setuptools and
the dependencies.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("trajopt", "dynamics", "problems")
OTHERS = ("pyproject.toml", "README.md", "LICENSE")
CACHES = ("__pycache__",)
RESULTS = "results/two_link_rr"  # where README says that its first command writes

TRIAL = """\
import time
began = time.perf_counter()
import trajopt
print(f"import trajopt: {time.perf_counter() - began:.3f} s")
import problems
from problems import catalogue
built = [catalogue.build(name, {}) for name in catalogue.names()]
solution = trajopt.solve(problems.two_link_rr.build(), progress="silent")
assert solution.verify().holds, solution.verify()
print(f"{len(built)} problems built, one solved and verified, by {trajopt.__file__}")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        source = copied(place / "source")
        files = {
            path.relative_to(source).as_posix()
            for package in PACKAGES
            for path in (source / package).rglob("*")
            if path.is_file()
        }
        programs = place / "bare" / ("Scripts" if os.name == "nt" else "bin")
        venv.create(place / "bare", with_pip=True)
        wheel = built(source, place / "wheel", programs)
        compare(wheel, files)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e3:.0f} kB")
        trial(wheel, place, programs)


def copied(target: Path) -> Path:
    """A copy of what the wheel is built from."""
    for folder in (*PACKAGES, "licenses"):
        shutil.copytree(ROOT / folder, target / folder, ignore=shutil.ignore_patterns(*CACHES))
    for name in OTHERS:
        shutil.copy2(ROOT / name, target / name)
    return target


def built(source: Path, target: Path, programs: Path) -> Path:
    command = [str(programs / "python"), "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*command, str(target), str(source)], check=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def compare(wheel: Path, expected: set[str]) -> None:
    """End with a message unless the wheel holds the expected files and its own records, and no others."""
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    for what, names in (("lacks", expected - held), ("holds beside the packages", held - expected)):
        if names:
            sys.exit(f"the wheel {what}: {', '.join(sorted(names))}")


def readme_command() -> list[str]:
    """Command that README shows first after the installation."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (line,) = (each for each in lines if each.startswith("python3 -m venv") and each.endswith(RESULTS))
    return shlex.split(line.rpartition("&&")[2].replace(".venv/bin/", ""))


def trial(wheel: Path, place: Path, programs: Path) -> None:
    """Install the wheel alone in a fresh environment, and use it away from the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: str) -> None:
        subprocess.run([str(programs / command[0]), *command[1:]], check=True, cwd=place, env=environment)

    run("python", "-m", "pip", "install", "--quiet", str(wheel))
    run("python", "-c", TRIAL)
    run(*readme_command())
    missing = {"solution.npz", "summary.json"} - {path.name for path in (place / RESULTS).iterdir()}
    if missing or not list((place / RESULTS).glob("*.png")):
        sys.exit(f"README's first command wrote no {', '.join(sorted(missing)) or 'figure'}")
    run("trajopt", "--version")
    run("python", "-m", "trajopt", "list")


if __name__ == "__main__":
    main()
