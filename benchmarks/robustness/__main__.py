"""Shares of solves that end as they should: `python -m benchmarks.robustness [--quick] [--rows FILE]`.

Problems of the library, variants and small ones are solved on several meshes from several starts, random
moves of two arms without the perturbed starts. An answer is judged against the best known one on the same
mesh, over all answers that pass: converged, and every row of the program met to 1e-6 of its scale.
`default` is `trajopt.solve(problem)`, `one start` is `starts=1`, `starts=8` eight; `perturbed` is the
default from the guesses of `trajopt.multistart`. CPU seconds are those of the process, which other work on
the machine changes less than wall seconds.

--rows FILE : every finished pair of problem and mesh is kept here at once; a run that finds the file goes on
    where the last one ended
--before FILE : the record (.json) of an earlier run, whose answers count among the best known
--out FILE : where the record goes; with the full set, docs/robustness.json and .md by default
--minutes M : after which no further problem begins; the tables then hold fewer solves. 0: the tables of what
    FILE holds
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.robustness.runs import FULL, QUICK, SMALLEST, STARTS, cases, run
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.markdown import table
from benchmarks.shared.timing import loaded_machine

HEAD = ("set", "start", "solves", "not converged", "> 1 % above best", "> 0.1 %")
HEAD += ("mean CPU s", "mean s", "largest s")


def best_known(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, int], float]:
    """(case, mesh) -> the lowest objective of an answer that passes."""
    best: dict[tuple[str, int], float] = {}
    for each in rows:
        if each["passes"]:
            key = (each["case"], each["mesh"])
            best[key] = min(best.get(key, np.inf), each["objective"])
    return best


def summary(rows: list[dict[str, Any]], best: dict[tuple[str, int], float]) -> list[tuple[Any, ...]]:
    """One line per set and kind of start, and one per kind over everything."""
    groups = list(dict.fromkeys(each["group"] for each in rows))
    lines = []
    for group in (*groups, "all"):
        for start in (*STARTS, "perturbed"):
            chosen = [each for each in rows if group in (each["group"], "all") and each["start"] == start]
            if chosen and not (start == "perturbed" and group == "all"):  # of the problems alone
                lines.append((group, start, *figures(chosen, best)))
    return lines


def figures(rows: list[dict[str, Any]], best: dict[tuple[str, int], float]) -> tuple[Any, ...]:
    """Number, the part that did not converge or ended above the best known, and seconds."""
    above = []
    for each in rows:
        if each["passes"]:
            lowest = best[each["case"], each["mesh"]]
            above.append((each["objective"] - lowest) / max(abs(lowest), 1e-9))
    failed = sum(not each["passes"] for each in rows)
    seconds = [each["seconds"] for each in rows]
    parts = (failed, sum(gap > 1e-2 for gap in above), sum(gap > 1e-3 for gap in above))
    shares = [f"{100.0 * part / len(rows):.1f} %" for part in parts]
    cpu = statistics.fmean(each.get("cpu", np.nan) for each in rows)
    return (len(rows), *shares, f"{cpu:.2f}", f"{statistics.fmean(seconds):.2f}", f"{max(seconds):.1f}")


def worst(rows: list[dict[str, Any]], best: dict[tuple[str, int], float]) -> list[str]:
    """Default starts and starts=8 that failed or ended more than 1 % above the best known."""
    found = []
    for each in rows:
        lowest = best.get((each["case"], each["mesh"]), np.nan)
        if each["start"] not in ("default", "starts=8"):
            continue
        what = f"{each['case']}, {each['mesh']} intervals, {each['start']}"
        if not each["passes"]:
            found.append(f"{what}: {each['status']}")
        elif each["objective"] - lowest > 1e-2 * max(abs(lowest), 1e-9):
            found.append(f"{what}: {each['objective']:.6g} against {lowest:.6g}")
    return found


def machine(size: str, rows: list[dict[str, Any]], pairs: int) -> str:
    """Origin of the figures: the machine, how much of the set was solved, and by which commit."""
    solved = {(each["case"], each["mesh"]) for each in rows}
    commits = Counter(commit for _, _, commit in {(r["case"], r["mesh"], r["commit"]) for r in rows})
    by_commit = ", ".join(f"{commit} ({count} pairs)" for commit, count in commits.most_common())
    share = f"{len(solved)} of {pairs} pairs of problem and mesh, in a random order"
    return f"{loaded_machine()} at the end; {size} set, {share}, commit {by_commit}"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--rows", type=Path)
    arguments.add_argument("--before", type=Path)
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--processes", type=int, default=2)
    arguments.add_argument("--minutes", type=float, default=55.0)
    given = arguments.parse_args()
    size = "smallest" if given.smallest else "quick" if given.quick else "full"
    jobs = cases({"smallest": SMALLEST, "quick": QUICK, "full": FULL}[size])
    if given.smallest:
        given.processes = 1
    rows = run(jobs, given.processes, given.minutes, given.rows)
    earlier = json.loads(given.before.read_text(encoding="utf-8")) if given.before else {"rows": []}
    solved = {(each["case"], each["mesh"]) for each in rows}  # the comparison is on the same ones
    earlier["rows"] = [each for each in earlier["rows"] if (each["case"], each["mesh"]) in solved]
    best = best_known([*rows, *earlier["rows"]])
    name = machine(size, rows, len(jobs))
    parts = [
        f"# Robustness\n{(__doc__ or '').strip()}",
        f"Machine: {name}.",
        table(HEAD, summary(rows, best)),
    ]
    if earlier["rows"]:
        parts += [f"## Before\n{earlier['machine']}.", table(HEAD, summary(earlier["rows"], best))]
    parts.append("## Above 1 %, or not converged\n" + "\n".join(f"- {line}" for line in worst(rows, best)))
    print("\n\n".join(parts))
    with pages(given.smallest) as docs:
        out = given.out or (None if given.quick else docs / "robustness.json")
        if out is not None:
            lines = ",\n".join(json.dumps(row) for row in rows)
            out.write_text(f'{{"machine": {json.dumps(name)}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")
            out.with_suffix(".md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
