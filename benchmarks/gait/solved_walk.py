"""Solves and stores the walks from which steps start: `python -m benchmarks.gait.solved_walk`.

The smallest size solves the first walk from itself, and stores it in a folder that is thrown away.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import trajopt
from benchmarks.shared.arguments import parser
from problems import gait
from problems.human.predicted.solved_walk import IMPOSED, WALKS, solved_curves, table_of

FOLDER = Path(__file__).resolve().parents[2] / "problems" / "human" / "data"
STARTS = {
    "predicted": (WALKS, ("measured", "solved")),
    "imposed": (IMPOSED, ("measured", "standing", "solved")),
}


def main() -> None:
    """Replace every stored walk by the best one found from other starts and from itself."""
    if parser(__doc__).parse_args().smallest:
        file, (speed, length) = next(iter(WALKS.items()))
        problem = gait.build(start="solved", speed=speed, step_length=length)
        with tempfile.TemporaryDirectory() as folder:
            store(file, [problem], Path(folder))
        return
    for contact, (stored, starts) in STARTS.items():
        for file, (speed, length) in stored.items():
            asked = {"contact": contact, "speed": speed, "step_length": length}
            store(file, (gait.build(start=start, **asked) for start in starts))


def store(file: str, problems: Iterable[trajopt.Problem], folder: Path = FOLDER) -> None:
    """Write the best of the steps that these problems find on their own meshes; ValueError for none."""
    found = [trajopt.solve(problem, refine=None, starts=1) for problem in problems]
    best = min((step for step in found if step.converged), key=lambda step: step.objective)
    (folder / file).write_text(table_of(best), encoding="utf-8")
    solved_curves.cache_clear()
    print(f"{file}: objective {best.objective:.6f}, {best.iterations} iterations", flush=True)


if __name__ == "__main__":
    main()
