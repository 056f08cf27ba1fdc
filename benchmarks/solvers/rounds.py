"""All rows from the start, or rows in rounds: `python -m benchmarks.solvers.rounds [names]`.

Problems of the library at their defaults, and a UR5 in minimum time on 160 intervals. Left out are phases,
which are programs of several problems, and walks, which recommend rounds themselves. A row has the outcome of
`Ipopt` with all rows and of `RowsInRounds(Ipopt())`, their iterations and processor milliseconds, the least
of two, the relative difference of the objectives, and how many rows the rounds ended with.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Sequence

import numpy as np

import trajopt
from benchmarks.solvers.intervals import build as ur5
from problems import catalogue

WALKS = ("gait", "gait_stride")
LARGE, INTERVALS = "ur5", 160
LIMIT = 30.0  # s
SOLVERS = (trajopt.Ipopt(time_limit=LIMIT), trajopt.RowsInRounds(trajopt.Ipopt(time_limit=LIMIT)))
HEAD = (
    "| problem | unknowns | rows | all rows | iterations | ms | rounds | iterations | ms "
    "| ratio | apart | rows of the rounds |"
)


def row(name: str, problem: trajopt.Problem) -> str:
    nlp = trajopt.transcribe(problem)
    results, seconds = [], []
    for solver in SOLVERS:
        least = np.inf
        for _ in range(2):
            began = time.process_time()
            result = solver.solve(nlp)
            least = min(least, time.process_time() - began)
        results.append(result)
        seconds.append(least)
    cells = [
        f"{result.status.name.lower()} | {result.iterations} | {1e3 * spent:.0f}"
        for result, spent in zip(results, seconds, strict=True)
    ]
    whole, rounds = (result.objective for result in results)
    apart = abs(rounds - whole) / max(abs(whole), 1e-12)
    kept = results[1].detail.rpartition("; ")[2]
    return (
        f"| {name} | {nlp.variable_count} | {nlp.row_count} | {cells[0]} | {cells[1]} | "
        f"{seconds[1] / seconds[0]:.2f} | {apart:.0e} | {kept} |"
    )


def main(names: Sequence[str]) -> None:
    print(HEAD)
    print("|" + " --- |" * (HEAD.count("|") - 1))
    for name in names:
        problem = ur5(INTERVALS, locked=False) if name == LARGE else catalogue.build(name, {})
        if isinstance(problem, trajopt.Problem):
            print(row(name, problem), flush=True)
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(sys.argv[1:] or [*(name for name in catalogue.names() if name not in WALKS), LARGE])
