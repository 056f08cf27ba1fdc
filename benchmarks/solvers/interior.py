"""`InteriorPoint` beside IPOPT: `python -m benchmarks.solvers.interior [--pairs N] [--largest N] [--write]`.

The library's problems and the cases of `benchmarks.robustness` (20 intervals; N random moves of each of two
arms, under torque limits alone and under all limits) of at most so many unknowns and equations are solved by
`Ipopt()` and by `InteriorPoint()`, from the same start. *Same*: objectives that differ by 1e-8 relative
at most; *better* and *worse*: other local optima of ours; *taken over*: IPOPT solved what the other method
gave up, which is part of its time. The ratio is IPOPT's time over ours, geometric mean and range: processor
time of a solve without transcription, the least of three, in turns.

--largest : unknowns and equations together, 1300 if not given
--write : put the table into docs/solving_again.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

import trajopt
from benchmarks.robustness.cases import arm_cases, problem_cases
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.page_rows import put_between_marks
from benchmarks.shared.timing import loaded_machine, with_seconds
from problems import catalogue
from trajopt.solvers.solver import Program, Result, Solver

INTERVALS, REPEATS, SAME, LIMIT = 20, 3, 1e-8, 120.0
LARGEST = 1300  # unknowns and equations
WHOLE_BODIES = ("gait", "gait_stride", "hop", "five_link_walker")

SMALLEST = (("library, defaults", "sliding_mass", partial(catalogue.build, "sliding_mass", {})),)


@dataclass
class Compared:
    """One problem by both solvers."""

    ours: Result
    theirs: Result
    ratio: float

    @property
    def gap(self) -> float:
        return (self.ours.objective - self.theirs.objective) / max(abs(self.theirs.objective), 1e-6)


def programs(pairs: int) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Group, name, and a function that builds the problem."""
    for name in catalogue.names():
        if name not in WHOLE_BODIES:
            yield "library, defaults", name, lambda name=name: catalogue.build(name, {})
    for case in (*problem_cases(), *arm_cases(pairs)):
        group = "library and small ones" if case.group == "problems" else case.group
        yield group, case.name, lambda case=case: case.build(INTERVALS)


def is_within(nlp: Program, largest: int) -> bool:
    return nlp.variable_count + np.count_nonzero(nlp.row_lower == nlp.row_upper) <= largest


def compared(nlp: Program) -> Compared:
    """Both solves, in turns."""
    solvers: tuple[Solver, Solver] = (
        trajopt.InteriorPoint(time_limit=LIMIT),
        trajopt.Ipopt(time_limit=LIMIT),
    )
    seconds, results = [np.inf, np.inf], [solver.solve(nlp) for solver in solvers]
    for _ in range(REPEATS):
        for i, solver in enumerate(solvers):
            seconds[i] = min(seconds[i], with_seconds(partial(solver.solve, nlp))[1])
    ours, theirs = results
    return Compared(ours, theirs, seconds[1] / seconds[0])


def line(group: str, rows: list[Compared]) -> str:
    both = [row for row in rows if row.ours.converged and row.theirs.converged]
    failed = [sum(not getattr(row, side).converged for row in rows) for side in ("ours", "theirs")]
    same = sum(abs(row.gap) <= SAME for row in both)
    better, worse = (sum(sign * row.gap > SAME for row in both) for sign in (-1, 1))
    taken_over = sum("by IPOPT after" in row.ours.detail for row in rows)
    ratios = np.array([row.ratio for row in rows])
    mean = np.exp(np.log(ratios).mean())
    return (
        f"| {group} | {len(rows)} | {failed[0]} | {failed[1]} | {same} | {better} | {worse} | {taken_over} | "
        f"{mean:.1f} ({ratios.min():.1f} to {ratios.max():.1f}) |"
    )


def table(cases: Iterable[tuple[str, str, Callable[[], object]]], largest: int) -> str:
    groups: dict[str, list[Compared]] = {}
    for group, name, build in cases:
        problem = build()
        nlp = trajopt.transcribe(problem) if isinstance(problem, trajopt.Problem) else None
        if nlp is not None and is_within(nlp, largest):
            row = compared(nlp)
            groups.setdefault(group, []).append(row)
            told = (f"{each.status.name} {each.iterations}" for each in (row.ours, row.theirs))
            print(f"{group}: {name}:", *told, f"{row.gap:+.0e}, ratio {row.ratio:.2f}", flush=True)
    head = "| problems | solves | not converged | IPOPT's | same | better | worse | taken over | ratio |"
    lines = [head, "|" + " --- |" * 9, *(line(group, rows) for group, rows in groups.items())]
    return "\n".join(lines)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--pairs", type=int, default=20)
    arguments.add_argument("--largest", type=int, default=LARGEST)
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    found = table(SMALLEST if given.smallest else programs(given.pairs), given.largest)
    print(found)
    print(loaded_machine())
    if given.write:
        with pages(given.smallest) as docs:
            put_between_marks(docs / "solving_again.md", "benchmarks.solvers.interior", found)


if __name__ == "__main__":
    main()
