"""Solves and stores the walk from which predicted steps start: `python -m benchmarks.gait.solved_walk`."""

from __future__ import annotations

from pathlib import Path

import trajopt
from problems import gait
from problems.human.predicted.solved_walk import FILE, SPEED, STEP_LENGTH, table_of

INTERVALS = 4  # coarser than the default: where a search starts need not hold between nodes
FOLDER = Path(__file__).resolve().parents[2] / "problems" / "human" / "data"
# A smaller first barrier leads along another way to the same walk, in fewer iterations than by default.
SOLVER = trajopt.Ipopt(tol=1e-6, options={"mu_strategy": "monotone", "mu_init": 1e-3})


def main() -> None:
    """Replace the stored walk by one found from the measured start."""
    asked = {"speed": SPEED, "step_length": STEP_LENGTH, "intervals": INTERVALS, "start": "measured"}
    problem = gait.build(contact="predicted", **asked)
    solution = trajopt.solve(problem, SOLVER, refine=None, starts=1)
    (FOLDER / FILE).write_text(table_of(solution), encoding="utf-8")


if __name__ == "__main__":
    main()
