"""IPOPT of CasADi's wheels beside cyipopt's: `python -m benchmarks.solvers.ipopt_libraries [names]`.

The library's problems but for those of several phases and the gaits (minutes each), or those named, are
transcribed once and solved from the same start by both. A row has the unknowns, the iterations of both, the
relative difference of their objectives, and the processor time of a solve without transcription, the least
of five in turns.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

import trajopt
from benchmarks.shared.timing import with_seconds
from benchmarks.solvers.problem_rows import WALKS, print_rows
from problems import catalogue
from trajopt.solvers.solver import Program, Result

REPEATS = 5
LIBRARIES = ("casadi", "cyipopt")
HEAD = "| problem | unknowns | iterations | cyipopt's | objectives differ by | ms | cyipopt's | ratio |"


def both(nlp: Program) -> tuple[list[Result], np.ndarray]:
    """Results and least seconds, in the order of LIBRARIES."""
    solvers = [trajopt.Ipopt(library=name) for name in LIBRARIES]
    results = [solver.solve(nlp) for solver in solvers]
    seconds = np.full((REPEATS, len(solvers)), np.inf)
    for turn in seconds:
        for i, solver in enumerate(solvers):
            turn[i] = with_seconds(partial(solver.solve, nlp))[1]
    return results, seconds.min(axis=0)


def row(name: str, problem: trajopt.Problem) -> str:
    nlp = trajopt.transcribe(problem)
    (ours, theirs), (mine, others) = both(nlp)
    gap = (ours.objective - theirs.objective) / max(abs(theirs.objective), 1e-12)
    return (
        f"| {name} | {nlp.variable_count} | {ours.iterations} | {theirs.iterations} | {gap:.0e} | "
        f"{1e3 * mine:.1f} | {1e3 * others:.1f} | {others / mine:.2f} |"
    )


def main(names: Sequence[str]) -> None:
    known = [name for name in catalogue.names() if name not in WALKS]
    print_rows(HEAD, names or known, lambda name: catalogue.build(name, {}), row)


if __name__ == "__main__":
    main(sys.argv[1:])
