"""A command that a page names: what it writes, and how its smallest size is run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600.0  # of the wall, after which a smallest run counts as hanging


class MissingColumnsError(AssertionError):
    """A command did not end with status zero, or no line of its output holds the columns of its table."""


@dataclass(frozen=True)
class Command:
    """`python CALL`, with `-m benchmarks.` or `scripts/` before it.

    name : `solvers.interior`, `gait score`: module and arguments without `--write`, or a script's file
    smallest : its arguments at smallest size, in place of those of the name, places of `PLACES` in braces;
        None where there is no smaller size than the full one
    columns : in a line of the output at smallest size, in this order
    writes : files of docs, `page.md#name` for what stands between marks of that name
    full : arguments of the name at full size that the name leaves out
    needs : modules, and places, without which there is no run
    """

    name: str
    smallest: str | None = "--smallest"
    columns: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    full: str = ""
    needs: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """`-m benchmarks.solvers.interior` or `scripts/site.py`."""
        first = self.name.split()[0]
        return f"scripts/{first}" if first.endswith(".py") else f"-m benchmarks.{first}"

    @property
    def text(self) -> str:
        """The command as a page writes it."""
        return " ".join(["python", self.program, *self.name.split()[1:], *self.full.split()])

    def missing(self) -> str:
        """The reason why it cannot run here; empty where it can."""
        if self.smallest is None:
            return "has no smaller size"
        absent = [each for each in self.needs if each not in PLACES and find_spec(each) is None]
        if absent:
            return f"{', '.join(absent)} not installed"
        return next((why for name, (_, why) in PLACES.items() if self._misses(name)), "")

    def _misses(self, place: str) -> bool:
        needed = place in self.needs or f"{{{place}}}" in (self.smallest or "")
        return needed and PLACES[place][0]() is None

    def run_smallest(self, folder: Path) -> str:
        """Text that the smallest size prints, run from `folder`; MissingColumnsError."""
        given = self.smallest or ""
        for name, (find, _) in PLACES.items():
            given = given.replace(f"{{{name}}}", str(find()))
        program = self.program.replace("scripts/", f"{ROOT}/scripts/").split()
        command = [sys.executable, *program, *given.split()]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        if done.returncode:
            raise MissingColumnsError(f"{self.text}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
        if not any(in_order(self.columns, line) for line in done.stdout.splitlines() or [""]):
            raise MissingColumnsError(f"{self.text}: no line has the columns {self.columns}:\n{done.stdout}")
        return done.stdout


def in_order(columns: Sequence[str], line: str) -> bool:
    """True where the columns stand in a line, one after the other."""
    at = 0
    for column in columns:
        found = line.find(column, at)
        if found < 0:
            return False
        at = found + len(column)
    return True


def example_robots() -> Path | None:
    """The folder of the robots of the package example-robot-data."""
    try:
        stored = files("example-robot-data") or []
    except PackageNotFoundError:
        return None
    ends = "ur_description/urdf/ur5_robot.urdf"
    found = next((each for each in stored if str(each).endswith(ends)), None)
    return None if found is None else Path(str(found.locate())).parents[2]


def peer_python() -> str | None:
    """An interpreter with Crocoddyl: that of the variable PEER_PYTHON, or this one."""
    if "PEER_PYTHON" in os.environ:
        return os.environ["PEER_PYTHON"]
    return None if find_spec("crocoddyl") is None else sys.executable


#: Place -> where it is (None: nowhere), and why that is, in words.
PLACES: Mapping[str, tuple[Callable[[], object], str]] = {
    "robots": (example_robots, "example-robot-data not installed"),
    "peer python": (peer_python, "crocoddyl not installed, and no interpreter in PEER_PYTHON"),
    "measured runs": (lambda: os.environ.get("OSIM_MODELS"), "no folder of measured runs in OSIM_MODELS"),
    "own robots": (lambda: ROOT / "problems" / "robots", ""),
}
