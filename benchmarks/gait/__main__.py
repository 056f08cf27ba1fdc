"""Walks, timed and varied: `python -m benchmarks.gait [run] [casadi] [sweep] [between] [points] [starts]`.

`score`, `mesh`, `lengths` and `speeds` compare the walk of sourced terms with people, `impossible` asks for
steps that nobody can walk. Every part (all of them without a
name) replaces its own numbers in docs/gait_benchmark.json; the page docs/gait_benchmark.md with its figures
and the scoreboard in docs/gait.md are then written anew from all numbers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.gait import score, scoreboard, studies, walkable
from benchmarks.gait.page import write
from benchmarks.gait.runs import default_run
from benchmarks.papers.timing import machine

NUMBERS = Path(__file__).resolve().parents[2] / "docs" / "gait_benchmark.json"


def casadi() -> dict[str, Any]:
    from benchmarks.gait.casadi_peer import compare

    return compare()


PARTS: dict[str, Callable[[], Any]] = {
    "run": default_run,
    "casadi": casadi,
    "sweep": studies.sweep,
    "between": studies.between_nodes,
    "points": studies.control_points,
    "starts": studies.starts,
    "score": score.scoreboard,
    "mesh": score.meshes,
    "lengths": score.preferred_lengths,
    "speeds": walkable.speeds,
    "impossible": walkable.impossible,
}


def main() -> None:
    chosen = sys.argv[1:] or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS and name != "page"]
    if unknown:
        raise SystemExit(f"no part is called {', '.join(unknown)}: there are {', '.join(PARTS)}")
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {}
    for name in (name for name in chosen if name in PARTS):
        found = PARTS[name]()
        about = {"machine": machine(), "load": os.getloadavg()[0]}
        numbers[name] = {**about, "found": found}
        NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    write(numbers, NUMBERS.with_suffix(".md"))
    scoreboard.fill(NUMBERS.with_name("gait.md"), numbers)


if __name__ == "__main__":
    main()
