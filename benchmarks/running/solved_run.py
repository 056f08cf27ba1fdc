"""Solves and stores the runs from which others start: `python -m benchmarks.running.solved_run`."""

from __future__ import annotations

from typing import Any

from benchmarks.gait.solved_walk import store
from problems import running
from problems.human.predicted.solved_walk import RUNS

SEARCHES: tuple[dict[str, Any], ...] = ({"start": "drawn", "intervals": 2}, {"intervals": 2}, {})


def main() -> None:
    """Replace every stored run: by one from angles written by hand, that on coarser and finer meshes."""
    for file, (speed, length) in RUNS.items():
        for how in SEARCHES:
            store(file, [running.build(speed=speed, step_length=length, **how)])


if __name__ == "__main__":
    main()
