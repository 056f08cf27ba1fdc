"""One motion on ever finer meshes: `python -m benchmarks.solvers.intervals [counts]`.

A UR5 between two poses (`urdf_arm`), free and with its last joint locked over the whole path, by `Ipopt` and
by `InteriorPoint`. A row has the unknowns and rows, seconds of a processor for transcription, the least of
three, for the solve, and for one of its iterations, with what they are per interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import dynamics
import trajopt
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine, with_seconds
from problems import urdf_arm

COUNTS, SMALLEST = (250, 500, 1000, 2000), (4,)
SOLVERS = (trajopt.Ipopt(), trajopt.InteriorPoint())
HEAD = (
    "| intervals | joint | solver | unknowns | rows | transcription, s | per interval, ms | iterations "
    "| status | solve, s | iteration, s | per interval, ms | objective |"
)


def build(intervals: int, locked: bool) -> trajopt.Problem:
    arm = dynamics.load_urdf(urdf_arm.source("ur5"))
    first, last = (pose.tolist() for pose in urdf_arm.poses(arm))
    if not locked:
        return urdf_arm.build(intervals=intervals, q_start=first, q_end=last)
    last[-1] = first[-1]
    problem = urdf_arm.build(intervals=intervals, q_start=first, q_end=last)
    problem.lock(arm.joint_names[-1], at=first[-1])
    return problem


def rows(intervals: int, locked: bool) -> Iterator[str]:
    runs = [with_seconds(partial(trajopt.transcribe, build(intervals, locked))) for _ in range(3)]
    nlp, transcription = runs[-1][0], min(spent for _, spent in runs)
    for solver in SOLVERS:
        result, seconds = with_seconds(partial(solver.solve, nlp))
        each = seconds / max(result.iterations, 1)
        yield (
            f"| {intervals} | {'locked' if locked else 'free'} | {type(solver).__name__} | "
            f"{nlp.variable_count} | {nlp.row_count} | "
            f"{transcription:.2f} | {1e3 * transcription / intervals:.2f} | {result.iterations} | "
            f"{result.status.name.lower()} | {seconds:.1f} | {each:.3f} | {1e3 * each / intervals:.2f} | "
            f"{result.objective:.9f} |"
        )


def main(counts: Sequence[int]) -> None:
    for solver in SOLVERS:
        solver.solve(trajopt.transcribe(build(20, locked=False)))  # compiles the kernels
    print(HEAD)
    print("|" + " --- |" * (HEAD.count("|") - 1))
    for locked in (False, True):
        for intervals in counts:
            for row in rows(intervals, locked):
                print(row, flush=True)
    print(loaded_machine())


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("counts", nargs="*", type=int)
    given = arguments.parse_args()
    main(SMALLEST if given.smallest else given.counts or COUNTS)
