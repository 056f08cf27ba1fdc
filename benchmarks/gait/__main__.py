"""Walks, timed and varied: `python -m benchmarks.gait [run] [sweep] [between] [points] [starts] [casadi]`.

With `--cost thesis` the first five are of the thesis's cost, else of the cost with sources and imposed
contact; `casadi` is always of the thesis's. `predicted`, `predicted_speeds`, `predicted_lengths` and `slopes`
compare the default walk, whose contact is predicted, with people; `impossible` asks for
steps that nobody can walk, and `weights` fits the weights of the cost. Every part (all of them without a
name) replaces its own numbers in docs/gait_benchmark.json; the page docs/gait_benchmark.md with its figures
and the scoreboard in docs/gait.md are then written anew from all numbers (`page` alone: nothing is measured).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from benchmarks.gait import predicted, scoreboard, studies, walkable, weights
from benchmarks.gait.costs import COSTS, name_of
from benchmarks.gait.page import write
from benchmarks.gait.runs import default_run
from benchmarks.gait.size import SMALLEST, Size
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.timing import machine


def casadi(size: Size) -> dict[str, Any]:
    from benchmarks.gait.casadi_peer import compare

    return compare(size)


OF_A_COST: dict[str, Callable[[str, Size], Any]] = {
    "run": default_run,
    "sweep": studies.sweep,
    "between": studies.between_nodes,
    "points": studies.control_points,
    "starts": studies.starts,
}
OTHERS: dict[str, Callable[[Size], Any]] = {
    "casadi": casadi,
    "predicted": predicted.predicted,
    "slopes": predicted.slopes,
    "predicted_speeds": walkable.predicted_speeds,
    "predicted_lengths": predicted.lengths,
    "impossible": walkable.impossible,
    "weights": weights.weights,
}


def main() -> None:
    arguments = parser(__doc__)
    parts = [*OF_A_COST, *OTHERS]
    arguments.add_argument("parts", nargs="*", metavar="part")
    arguments.add_argument("--cost", choices=COSTS, default=COSTS[0])
    given = arguments.parse_args()
    unknown = [name for name in given.parts if name not in (*parts, "page")]
    if unknown:
        arguments.error(f"no part is called {', '.join(unknown)}: there are {', '.join(parts)}, page")
    size, written = SMALLEST if given.smallest else Size(), {}
    with pages(given.smallest) as docs:
        path = docs / "gait_benchmark.json"
        numbers = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for part in (name for name in given.parts or parts if name != "page"):
            if part in OF_A_COST:
                name, found = name_of(part, given.cost), OF_A_COST[part](given.cost, size)
            else:
                name, found = part, OTHERS[part](size)
            written[name] = {"machine": machine(), "load": os.getloadavg()[0], "found": found}
            numbers |= written
            path.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
        write(numbers, path.with_suffix(".md"))
        scoreboard.fill(docs / "gait.md", numbers)
        if given.smallest:  # the parts that were measured alone
            write(written, docs / "measured.md")
            print((docs / "measured.md").read_text(encoding="utf-8"), *scoreboard.texts(written).values())


if __name__ == "__main__":
    main()
