"""Least effort in a given time, beside Crocoddyl: `python -m benchmarks.solvers.effort [--peer-python PATH]`.

    minimize integral_0^0.6 (tau_1^2 + tau_2^2) dt

for the two-link arm from rest to rest, |tau_i| <= 10 N m. Ours by IPOPT and by `InteriorPoint`, from
the statement of the problem to its solution; Crocoddyl, where an interpreter has it, by Box-FDDP with a
penalty on the end, its models made once. Milliseconds are medians of wall time, errors relative to ours on
160 intervals of degree 5. `benchmarks.time_to_accuracy` has the table on its page.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import problems
import trajopt
from benchmarks.shared.arguments import parser
from benchmarks.shared.peer_process import asked, home_of
from benchmarks.shared.peers import GIVEN
from benchmarks.shared.timing import loaded_machine

SOLVERS = {"ours, IPOPT": trajopt.Ipopt(), "ours, InteriorPoint": trajopt.InteriorPoint()}


@dataclass(frozen=True)
class Size:
    """Meshes of ours and of the peer, solves of each, and the mesh of the reference."""

    intervals: Sequence[int] = (10, 20, 40)
    peer_intervals: Sequence[int] = (20, 40, 80, 160)
    repeats: int = 7
    finest: int = 160


SMALLEST = Size((10,), (20,), 1, 20)


def stated(intervals: int, degree: int = 3) -> trajopt.Problem:
    """The arm of `two_link_rr` with another cost and a given duration."""
    arm = problems.two_link_rr.build(intervals=intervals)
    nodes = degree + 1
    problem = trajopt.Problem(arm.dynamics, trajopt.Trajectory.uniform(intervals, degree, GIVEN, nodes))
    problem.start_at(q=(0.0, -2.0), v=(0.0, 0.0))
    problem.end_at(q=(1.0, -1.0), v=(0.0, 0.0))
    problem.minimize(trajopt.tau**2)
    problem.subject_to_joint_limits()
    return problem


def timed(intervals: int, solver: Any, repeats: int) -> tuple[float, float]:
    """Effort and median seconds."""
    solution, seconds = trajopt.solve(stated(intervals), solver, starts=1, coarse_to_fine=False), []
    for _ in range(repeats):
        began = time.perf_counter()
        solution = trajopt.solve(stated(intervals), solver, starts=1, coarse_to_fine=False)
        seconds.append(time.perf_counter() - began)
    assert solution.converged
    return float(solution.objective), statistics.median(seconds)


def rows(interpreters: list[str], size: Size) -> list[str]:
    """Lines of the table: ours, then the peer's."""
    exact = float(trajopt.solve(stated(size.finest, degree=5)).objective)
    found: list[tuple[str, int, tuple[float, float] | str]] = []
    for method, solver in SOLVERS.items():
        found += [(method, intervals, timed(intervals, solver, size.repeats)) for intervals in size.intervals]
    home = home_of("crocoddyl", interpreters)
    if home is not None:
        for intervals in size.peer_intervals:
            answer = asked(home, "crocoddyl", intervals, size.repeats)
            found.append(("Crocoddyl, Box-FDDP", intervals, answer))
    lines = ["| method | intervals | relative error | ms |", "| --- | --- | --- | --- |"]
    for method, intervals, answer in found:
        if isinstance(answer, str):
            lines.append(f"| {method} | {intervals} |  | failed: {answer} |")
        else:
            effort, seconds = answer
            error = abs(effort / exact - 1.0)
            lines.append(f"| {method} | {intervals} | {error:.1e} | {1e3 * seconds:.1f} |")
    return lines


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument(
        "--peer-python", action="append", default=[], help="interpreter that may hold peers"
    )
    given = arguments.parse_args()
    size = SMALLEST if given.smallest else Size()
    print("\n".join(rows([sys.executable, *given.peer_python], size)))
    print(loaded_machine())


if __name__ == "__main__":
    main()
