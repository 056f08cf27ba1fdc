"""Solves and stores the walk from which predicted steps start: `python -m benchmarks.gait.solved_walk`."""

from __future__ import annotations

from pathlib import Path

import trajopt
from problems import gait
from problems.human.predicted.solved_walk import FILE, SPEED, STEP_LENGTH, table_of

INTERVALS = 4  # coarser than the default: where a search starts need not hold between nodes
FOLDER = Path(__file__).resolve().parents[2] / "problems" / "human" / "data"
STARTS = ("measured", "solved")


def main() -> None:
    """Replace the stored walk by the best one found from the measured start and from itself."""
    asked = {"speed": SPEED, "step_length": STEP_LENGTH, "intervals": INTERVALS}
    problems = [gait.build(contact="predicted", start=start, **asked) for start in STARTS]
    found = [trajopt.solve(problem, refine=None, starts=1) for problem in problems]
    best = min((walk for walk in found if walk.converged), key=lambda walk: walk.objective)
    (FOLDER / FILE).write_text(table_of(best), encoding="utf-8")


if __name__ == "__main__":
    main()
