"""All rows from the start, or rows in rounds: `python -m benchmarks.solvers.rounds [names]`.

Problems of the library at their defaults, and a UR5 in minimum time on 160 intervals. Left out are phases,
which are programs of several problems, and walks, which recommend rounds themselves. A row has the outcome of
`Ipopt` with all rows and of `ConstraintGeneration(Ipopt())`, their iterations and processor milliseconds, the
least of two, the relative difference of the objectives, and how many rows the rounds ended with.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import trajopt
from benchmarks.shared.timing import with_seconds
from benchmarks.solvers.intervals import build as ur5
from benchmarks.solvers.problem_rows import WALKS, print_rows
from problems import catalogue

LARGE, INTERVALS = "ur5", 160
LIMIT = 30.0  # s
SOLVERS = (trajopt.Ipopt(time_limit=LIMIT), trajopt.ConstraintGeneration(trajopt.Ipopt(time_limit=LIMIT)))
HEAD = (
    "| problem | unknowns | rows | all rows | iterations | ms | rounds | iterations | ms "
    "| ratio | apart | rows of the rounds |"
)


def row(name: str, problem: trajopt.Problem) -> str:
    nlp = trajopt.transcribe(problem)
    results, seconds = [], []
    for solver in SOLVERS:
        runs = [with_seconds(partial(solver.solve, nlp)) for _ in range(2)]
        results.append(runs[-1][0])
        seconds.append(min(spent for _, spent in runs))
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
    def build(name: str) -> trajopt.Problem | trajopt.Phases:
        return ur5(INTERVALS, locked=False) if name == LARGE else catalogue.build(name, {})

    print_rows(HEAD, names, build, row)


if __name__ == "__main__":
    main(sys.argv[1:] or [*(name for name in catalogue.names() if name not in WALKS), LARGE])
