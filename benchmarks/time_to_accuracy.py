"""Time to accuracy on the two-link minimum-time problem: `python -m benchmarks.time_to_accuracy`.

Ours on 10 to 160 intervals and certified, CasADi, and Drake and OpenSim Moco where installed, then least
effort in a given time beside Crocoddyl: one run on one machine, each the median of several solves after a
warm-up. `--peer-python PATH` names another interpreter in which peers may be. Writes
docs/time_to_accuracy.{json,md} and its figure.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import problems
import trajopt
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.peer_process import asked, home_of
from benchmarks.solvers import effort
from problems.two_link_rr import EXACT_DURATION
from trajopt.display.svg_chart import PALETTE

NAMES = {
    "casadi": "CasADi multiple shooting, IPOPT",
    "drake": "Drake direct collocation, SNOPT",
    "moco": "OpenSim Moco, CasADi solver, IPOPT",
}
IMPORTED_AS = {"casadi": "casadi", "drake": "pydrake", "moco": "opensim"}
PEER_INTERVALS = {"casadi": (50, 100, 200, 400), "drake": (25, 50, 100), "moco": (25, 50, 100)}


@dataclass(frozen=True)
class Size:
    """Solves of each, meshes of ours and of every peer, problems whose certificates are timed."""

    repeats: int = 5
    intervals: Sequence[int] = (10, 20, 40, 80, 160)
    certified: Sequence[int] = (10, 20)
    peers: Mapping[str, Sequence[int]] = field(default_factory=lambda: PEER_INTERVALS)
    certificates: Sequence[str] = ("two_link_rr", "two_link_pr", "three_link_arm", "six_axis_arm")


SMALLEST = Size(1, (10,), (10,), dict.fromkeys(PEER_INTERVALS, (10,)), ("two_link_rr",))


def timed(build: Any, repeats: int, **options: Any) -> tuple[trajopt.Solution, float]:
    """The last of several solves, and the median wall time of building, transcribing and solving."""
    solution, seconds = trajopt.solve(build(), **options), []
    for _ in range(repeats):
        began = time.perf_counter()
        solution = trajopt.solve(build(), **options)
        seconds.append(time.perf_counter() - began)
    return solution, statistics.median(seconds)


def row(
    method: str, intervals: int | None, duration: float, seconds: float, note: str = ""
) -> dict[str, Any]:
    error = abs(duration / EXACT_DURATION - 1.0)
    return {
        "method": method,
        "intervals": intervals,
        "duration": duration,
        "error": error,
        "seconds": seconds,
        "note": note,
    }


def ours(size: Size) -> list[dict[str, Any]]:
    """Plain solves, then certified ones."""
    rows, previous = [], math.nan
    for intervals in size.intervals:
        solution, seconds = timed(partial(problems.two_link_rr.build, intervals=intervals), size.repeats)
        violation = solution.verify().max_violation_dense
        note = f"violation between nodes {violation:.1e} N m"
        found = row("ours, plain", intervals, solution.duration, seconds, note)
        order = math.log2(previous / found["error"]) if previous == previous else math.nan
        found["order"], previous = (None if math.isnan(order) else order), found["error"]
        rows.append(found)
    for intervals in size.certified:
        build, refine = partial(problems.two_link_rr.build, intervals=intervals), trajopt.Certified(tol=1e-6)
        solution, seconds = timed(build, size.repeats, refine=refine)
        certificate = solution.certificate
        assert certificate is not None
        note = f"violation anywhere {certificate.largest_violation:.1e} N m, {certificate.method}"
        rows.append(row("ours, certified", intervals, solution.duration, seconds, note))
    return rows


def peers(interpreters: list[str], size: Size) -> list[dict[str, Any]]:
    """Accuracies that each peer reaches, in the first interpreter that can import it."""
    rows = []
    for name, module in IMPORTED_AS.items():
        home = home_of(module, interpreters)
        if home is None:
            rows.append(row(NAMES[name], None, math.nan, math.nan, "not installed"))
            continue
        for intervals in size.peers[name]:
            answer = asked(home, name, intervals, size.repeats)
            note = f"failed: {answer}" if isinstance(answer, str) else ""
            duration, seconds = (math.nan, math.nan) if isinstance(answer, str) else answer
            rows.append(row(NAMES[name], intervals, duration, seconds, note))
    return rows


def certificates(size: Size) -> list[dict[str, Any]]:
    """The cost of a certificate as a multiple of the plain solve."""
    found = []
    for name in size.certificates:
        build = getattr(problems, name).build
        _, plain = timed(build, size.repeats)
        solution, certified = timed(build, size.repeats, refine=trajopt.Certified(tol=1e-6))
        certificate = solution.certificate
        assert certificate is not None
        found.append(
            {
                "problem": name,
                "plain": plain,
                "certified": certified,
                "multiple": certified / plain,
                "method": certificate.method,
                "holds": certificate.holds,
            }
        )
    return found


def figure(rows: list[dict[str, Any]], path: Path) -> None:
    """Relative error over seconds, both logarithmic; one marker per run."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = drawing.add_subplot()
    styles = zip(("o-", "D", "s--", "^:", "v-."), PALETTE[:5], strict=True)
    methods = list(dict.fromkeys(entry["method"] for entry in rows if math.isfinite(entry["seconds"])))
    for method, (marker, colour) in zip(methods, styles, strict=False):
        mine = [entry for entry in rows if entry["method"] == method and math.isfinite(entry["seconds"])]
        seconds, errors = [e["seconds"] for e in mine], [max(e["error"], 1e-13) for e in mine]
        axes.loglog(seconds, errors, marker, color=colour, label=method, markersize=7)
        for entry, x, y, after in zip(mine, seconds, errors, [*seconds[1:], math.inf], strict=True):
            side, align = (6, "left") if after > 1.3 * x else (-6, "right")  # where the next one has room
            axes.annotate(
                str(entry["intervals"]), (x, y), (side, 4), textcoords="offset points", fontsize=8, ha=align
            )
    axes.margins(x=0.08)
    axes.set_xlabel("seconds per solve (median after warm-up)")
    axes.set_ylabel("relative error of the duration")
    axes.set_title("Two-link minimum time: error against T* = 0.3918545395 s")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    drawing.savefig(path, dpi=160)


def page(report: dict[str, Any]) -> str:
    """The table as Markdown."""
    lines = [
        "# Time to accuracy",
        "",
        "Two-link arm in minimum time, relative error against T* = 0.3918545395 s, known to ten digits: "
        "errors below 1e-10 say only that all of them agree. "
        f"`python -m benchmarks.time_to_accuracy`, medians of {report['repeats']} solves after a warm-up, "
        f"{report['machine']}, {report['cores']} cores, load {report['load']:.1f} at the start. Ours are for "
        "building, transcribing, solving and certifying, the peers' for a solve, Drake's and Moco's with its "
        "program.",
        "",
        "| method | intervals | relative error | order | seconds | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for entry in report["rows"]:
        order = entry.get("order")
        numbers = (
            (f"{entry['error']:.1e}", f"{order:.2f}" if order else "", f"{entry['seconds']:.3f}")
            if math.isfinite(entry["seconds"])
            else ("", "", "")
        )
        intervals = entry["intervals"] if entry["intervals"] is not None else ""
        lines.append(f"| {entry['method']} | {intervals} | {' | '.join(numbers)} | {entry['note']} |")
    lines += [
        "",
        "![error over seconds](figures/time_to_accuracy.png)",
        "",
        "*The numbers beside the marks are numbers of intervals.*",
        "",
        "## Cost of a certificate",
        "",
    ]
    lines += ["| problem | plain s | certified s | multiple | method |", "| --- | --- | --- | --- | --- |"]
    for entry in report["certificates"]:
        held = entry["method"] if entry["holds"] else f"{entry['method']}, does not hold"
        lines.append(
            f"| {entry['problem']} | {entry['plain']:.3f} | {entry['certified']:.3f} | "
            f"{entry['multiple']:.1f} | {held} |"
        )
    lines += [
        "",
        "## Least effort in a given time",
        "",
        "The same arm from rest to rest in 0.6 s with the least integral of squared torques, which do not "
        "reach their limits: `python -m benchmarks.solvers.effort`. Errors are relative to ours on 160 "
        "intervals of degree 5; ours include construction of the problem and solve, Crocoddyl's are for "
        "a solve, whose end is met by a penalty, within 2e-6.",
        "",
        *report["effort"],
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument(
        "--peer-python", action="append", default=[], help="interpreter that may hold peers"
    )
    given = arguments.parse_args()
    size, load = SMALLEST if given.smallest else Size(), os.getloadavg()[0]
    interpreters = [sys.executable, *given.peer_python]
    rows = ours(size) + peers(interpreters, size)
    report = {
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": load,
        "repeats": size.repeats,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "rows": rows,
        "certificates": certificates(size),
        "effort": effort.rows(interpreters, effort.SMALLEST if given.smallest else effort.Size()),
    }
    with pages(given.smallest) as docs:
        docs.joinpath("time_to_accuracy.json").write_text(json.dumps(report, indent=1) + "\n")
        docs.joinpath("time_to_accuracy.md").write_text(page(report))
        figure(rows, docs / "figures" / "time_to_accuracy.png")
    print(page(report))


if __name__ == "__main__":
    main()
