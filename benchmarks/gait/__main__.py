"""Walks, timed and varied: `python -m benchmarks.gait [run] [sweep] [between] [points] [starts] [casadi]`.

With `--cost thesis` the first five are of the thesis's cost, else of the default one; `casadi` is always of
the thesis's. `score`, `mesh`, `lengths` and `speeds` compare the default walk with people, `predicted`,
`predicted_speeds`, `predicted_lengths` and `slopes` one whose contact is predicted; `impossible` asks for
steps that nobody can walk. Every part (all of them without a name) replaces its own numbers in
docs/gait_benchmark.json; the page docs/gait_benchmark.md with its figures and the scoreboard in docs/gait.md
are then written anew from all numbers (`page` alone: nothing is measured).
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.gait import predicted, score, scoreboard, studies, walkable
from benchmarks.gait.costs import COSTS, name_of
from benchmarks.gait.page import write
from benchmarks.gait.runs import default_run
from benchmarks.shared.timing import machine

NUMBERS = Path(__file__).resolve().parents[2] / "docs" / "gait_benchmark.json"


def casadi() -> dict[str, Any]:
    from benchmarks.gait.casadi_peer import compare

    return compare()


OF_A_COST: dict[str, Callable[[str], Any]] = {
    "run": default_run,
    "sweep": studies.sweep,
    "between": studies.between_nodes,
    "points": studies.control_points,
    "starts": studies.starts,
}
OTHERS: dict[str, Callable[[], Any]] = {
    "casadi": casadi,
    "score": score.scoreboard,
    "mesh": score.meshes,
    "predicted": predicted.predicted,
    "slopes": predicted.slopes,
    "lengths": score.preferred_lengths,
    "speeds": walkable.speeds,
    "predicted_speeds": walkable.predicted_speeds,
    "predicted_lengths": predicted.lengths,
    "impossible": walkable.impossible,
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parts = [*OF_A_COST, *OTHERS]
    arguments.add_argument("parts", nargs="*", metavar="part")
    arguments.add_argument("--cost", choices=COSTS, default=COSTS[0])
    given = arguments.parse_args()
    unknown = [name for name in given.parts if name not in (*parts, "page")]
    if unknown:
        arguments.error(f"no part is called {', '.join(unknown)}: there are {', '.join(parts)}, page")
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {}
    for part in (name for name in given.parts or parts if name != "page"):
        if part in OF_A_COST:
            name, found = name_of(part, given.cost), OF_A_COST[part](given.cost)
        else:
            name, found = part, OTHERS[part]()
        numbers[name] = {"machine": machine(), "load": os.getloadavg()[0], "found": found}
        NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    write(numbers, NUMBERS.with_suffix(".md"))
    scoreboard.fill(NUMBERS.with_name("gait.md"), numbers)


if __name__ == "__main__":
    main()
