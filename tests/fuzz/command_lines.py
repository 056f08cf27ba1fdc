"""Command lines of `trajopt`, run in this process: words, numbers and options replaced, repeated or left out.

A typed error is exit status 2 with a paragraph, or 1 with the reason. Silently wrong is exit status 0 of a
solve whose parameters are not those on the command line as Python's literals, or whose objective is not the
closed form of the problem for the parameters that `summary.json` tells; of a sweep, the same for every row;
of a verification, where the motion of the file is not that of the closed form.
"""

from __future__ import annotations

import ast
import csv
import itertools
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner, Result

import trajopt
from problems import catalogue
from problems.cli.command_errors import SHOW_TRACEBACK
from problems.cli.command_line import main
from tests.fuzz.closed_forms import check_optimum
from tests.fuzz.mutations import NASTY_NUMBERS, NASTY_TEXTS, mutated_text, pick
from tests.fuzz.verdicts import Mismatch, Told

LIMIT = ["--time-limit", "5"]
ALONE = ["--processes", "1", "--out", "grid"]
SEEDS: tuple[list[str], ...] = (
    ["solve", "minimum_acceleration", "--set", "distance=2", "--set", "duration=0.5", *LIMIT],
    ["solve", "minimum_acceleration", "--set", "intervals=4", "--option", "tol=1e-9", *LIMIT],
    ["solve", "minimum_acceleration", "--solver", "slsqp", "--set", "distance=3*(1+1)/4", *LIMIT],
    ["solve", "double_integrator", "--set", "mass=2.5", "--set", "force=2", "--out", "there", *LIMIT],
    ["solve", "double_integrator", "--set", "intervals=4", "--set", "duration=[0.1, 50]", *LIMIT],
    ["solve", "double_integrator", "--certify", "1e-6", "--set", "distance=0.5", *LIMIT],
    ["solve", "double_integrator", "--checkpoint", "point.ckpt", "--starts", "2", *LIMIT],
    ["solve", "bryson_denham", "--option", "max_iterations=50", *LIMIT],
    ["sweep", "minimum_acceleration", "--set", "distance=1,2", "--set", "duration=0.5,1", *ALONE],
    ["sweep", "double_integrator", "--set", "mass=1,4", "--option", "tol=1e-9", "--cold", *ALONE],
    ["verify", "saved.npz", "--accuracy", "0.01"],
    ["verify", "saved.npz"],
    ["list", "double_integrator"],
    ["list"],
)
WORDS = (
    *("--set", "--option", "--out", "--plot", "--report", "--certify", "--starts", "--time-limit", "--cold"),
    *("--anew", "--cluster"),
    *("--checkpoint", "--processes", "--problem", "--accuracy", "--help", "--version", "--", "-h", "-"),
    *("solve", "sweep", "verify", "list", "double_integrator", "minimum_acceleration", "saved.npz", "own.py"),
    *("slsqp", "ipopt", "ipop", "intervals=3", "degree=2", "distance=1", "force=1e-9", "mass=inf", "tol=1"),
    *("max_iterations=3", "hessian=lbfgs", "print_level=12", "output_file=x.txt", "option_file_name=x"),
)
EXPRESSIONS = ("1/0", "2**9", "[1, 2]", "[[1]]", "(1,)", "pi/4", "-inf", "nan", "true", "null", '"two words"')
EXPRESSIONS += (
    "1e400",
    "9" * 5000,
    "[" * 300,
    "-" * 300 + "1",
    "1+" * 300 + "1",
    "1e9999999",
    "0.1,0.2",
    ",",
)
SECONDS = range(60, 100_001)  # intervals that are a fair question, but one of more than some seconds
OWN = "import problems\n\ndef build(mass=1.0):\n    return problems.double_integrator.build(mass=mass)\n"


class CommandTarget:
    """The commands solve, sweep, verify and list."""

    name, suffix = "commands", ".json"

    def prepare(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "saved.npz"
            trajopt.solve(catalogue.build("double_integrator", {})).save(path)
            self.saved = path.read_bytes()

    def mutant(self, rng: np.random.Generator) -> bytes:
        while True:
            words = list(pick(rng, SEEDS))
            for _ in range(int(rng.integers(1, 3))):
                words = another_value(rng, words) if rng.random() < 0.6 else mutated_words(rng, words)
            if not takes_long(words):
                return json.dumps(words).encode()

    def check(self, data: bytes) -> None:
        words = json.loads(data)
        Path("saved.npz").write_bytes(self.saved)
        Path("own.py").write_text(OWN, encoding="utf-8")
        before = dict(os.environ)
        os.environ[SHOW_TRACEBACK] = "1"
        try:
            outcome = CliRunner().invoke(main, words)
        finally:
            os.environ.clear()
            os.environ.update(before)
        if outcome.exit_code:
            told(outcome, sum(map(len, words)))
        if "written to" in outcome.stdout and words[0] == "solve":
            check_solved(words)
        elif "written to" in outcome.stdout and words[0] == "sweep":
            check_swept()


def mutated_words(rng: np.random.Generator, words: list[str]) -> list[str]:
    """One word replaced, changed, left out, repeated or moved, or the value of an assignment replaced."""
    found = list(words) or ["solve"]
    i, kind = int(rng.integers(len(found))), int(rng.integers(5))
    if kind == 0:
        found[i] = pick(rng, WORDS)
    elif kind == 1:
        found[i] = mutated_text(rng, found[i])
    elif kind == 2:
        del found[i]
    elif kind == 3:
        found.insert(int(rng.integers(len(found) + 1)), found[i])
    else:
        found.insert(i, pick(rng, WORDS))
    return [word.encode("utf-8", "ignore").decode().replace("\0", "") for word in found]


def another_value(rng: np.random.Generator, words: list[str]) -> list[str]:
    """Another value of an assignment or an option: a number, an expression, or what is none."""
    places = [i for i, word in enumerate(words) if "=" in word or (i and words[i - 1].startswith("--"))]
    if not places:
        return mutated_words(rng, words)
    i, kind = pick(rng, places), rng.random()
    name, equals, _ = words[i].partition("=")
    if kind < 0.4:
        value = repr(abs(float(rng.normal())) * 10.0 ** int(rng.integers(-3, 4)))
    elif kind < 0.6:
        value = str(int(rng.integers(-2, 40)))
    else:
        value = pick(rng, (*NASTY_NUMBERS, *NASTY_TEXTS, *EXPRESSIONS))
    if equals and rng.random() < 0.15:
        value = f"{value},{rng.integers(9)}"
    word = f"{name}={value}" if equals else value
    return [*words[:i], word.encode("utf-8", "ignore").decode().replace("\0", ""), *words[i + 1 :]]


def takes_long(words: list[str]) -> bool:
    """True for a fair question that takes longer than a mutant may."""
    for word in words:
        name, _, value = word.partition("=")
        number = python_value(value)
        sized = name.strip() in ("intervals", "order", "degree") and isinstance(number, int | float)
        if sized and SECONDS.start <= number < SECONDS.stop:
            return True
    flags = dict(itertools.pairwise(words))
    starts = python_value(flags.get("--starts", "1"))
    return isinstance(starts, int) and 20 < starts <= 10_000


def python_value(text: str) -> Any:
    """The value of a text that is a literal of Python; None where it is none."""
    try:
        return ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def told(outcome: Result, typed: int) -> None:
    """A failed command says why: exit status 2 or 1, and words, not many more than were typed."""
    error = outcome.exception
    if error is not None and not isinstance(error, SystemExit):
        if isinstance(error, OSError):
            raise Told(f"{str(error.filename)[:200]}: {error.strerror}")  # what the command prints
        raise error
    if outcome.exit_code not in (1, 2):
        raise Mismatch(f"exit status {outcome.exit_code}")
    if not outcome.stderr.strip() and not outcome.stdout.strip():
        raise Mismatch(f"exit status {outcome.exit_code} without a word")
    complaint = "\n".join(line for line in outcome.stderr.splitlines() if not line.startswith("iteration"))
    if len(complaint) > 4000 + typed:
        raise Mismatch(f"{len(complaint)} characters of complaint")
    raise Told(complaint[:300])


def check_solved(words: list[str]) -> None:
    """The results of a solve that succeeded."""
    (path,) = Path().rglob("summary.json")
    summary = json.loads(path.read_text(encoding="utf-8"))
    parameters = summary["parameters"]
    for flag, word in itertools.pairwise(words):
        name, equals, value = word.partition("=")
        given = python_value(value)
        if flag == "--set" and equals and sum(w.partition("=")[0] == name for w in words) == 1:
            known = parameters.get(name.strip())
            if isinstance(given, int | float) and not isinstance(given, bool):
                found = numeric({name: known})[name]
                if found != given and not (isinstance(found, list) and set(found) == {given}):
                    raise Mismatch(f"{name} = {given:.17g} became {known!r}"[:300])
    with np.load(path.parent / "solution.npz") as arrays:
        duration = float(arrays["durations"].sum())
        samples = arrays["t"], arrays["q"][:, 0]
        header = json.loads(str(arrays["header"]))
    if header["objective"] != summary["objective"]:
        raise Mismatch("summary.json and solution.npz have other objectives")
    check_optimum(
        summary["problem"], numeric(parameters), summary["objective"], duration, interpolated(*samples)
    )


def check_swept() -> None:
    """The rows of a sweep that succeeded."""
    (path,) = Path().rglob("table.csv")
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        with np.load(path.parent / row["file"]) as arrays:
            header = json.loads(str(arrays["header"]))
            samples = arrays["t"], arrays["q"][:, 0]
        recipe = header["recipe"]
        for name, value in recipe["parameters"].items():
            if name in row and isinstance(value, float) and float(row[name]) != value:
                raise Mismatch(f"{name} = {row[name]} in the table, {value} in its solution")
        duration, objective = float(row["duration"]), float(row["objective"])
        check_optimum(
            recipe["problem"], numeric(recipe["parameters"]), objective, duration, interpolated(*samples)
        )


def interpolated(t: np.ndarray, q: np.ndarray) -> Any:
    """The samples of a file as a function: 201 of them, parabolas between."""
    return lambda times: np.interp(times, t, q)


def numeric(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters with infinities as numbers again, those left out at their defaults."""
    found = {name: float(value) if value in ("inf", "-inf") else value for name, value in parameters.items()}
    for name, value in found.items():
        if isinstance(value, list):
            found[name] = [float(each) for each in value]
    return found
