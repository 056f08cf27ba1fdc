"""Published problems with defaults: `python -m benchmarks.published [NAME ...]`, parts of their names select.

Columns: processor seconds of the problem's construction and solve, iterations, objective, difference to the
reference relative to it (for problems whose reference has another model, to the objective on a finer mesh),
the printed estimate of the error of the optimum relative to the same, status, verdict of `verify`, and
"found": the solve converged, the verdict is PASS and the difference is at most 1e-3 or the estimate.

--write : put the table into docs/published.md, of all problems
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import trajopt
from benchmarks.published import (
    aircraft,
    biology,
    collections,
    descents,
    examples,
    reactors,
    spacecraft,
    textbook,
    vehicles,
)
from benchmarks.published.published_problem import PublishedProblem
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.markdown import table
from benchmarks.shared.page_rows import put_between_marks
from benchmarks.shared.timing import loaded_machine
from trajopt.base import errors

PROBLEMS = (
    *(*textbook.PROBLEMS, *reactors.PROBLEMS, *biology.PROBLEMS, *aircraft.PROBLEMS),
    *(*vehicles.PROBLEMS, *spacecraft.PROBLEMS, *descents.PROBLEMS, *collections.PROBLEMS),
    *examples.PROBLEMS,
)
SECONDS, NEAR = 600.0, 1e-3  # wall seconds, ten times what the longest takes alone
SMALLEST = ("two phases",)
HEADINGS = (
    "problem",
    "CPU s",
    "iterations",
    "objective",
    "difference",
    "estimate",
    "status",
    "verdict",
    "found",
)


def difference(objective: float, reference: float) -> float:
    """(J - J*) / |J*|, or J - J* where the reference is zero."""
    return (objective - reference) / (abs(reference) or 1.0)


def row(problem: PublishedProblem) -> list[Any]:
    """One line of the table; an exception's name stands in place of a status."""
    began = time.process_time()
    try:
        solution = trajopt.solve(problem.build(), time_limit=SECONDS, **problem.options)
        seconds = time.process_time() - began
        report = solution.verify()
        reference = problem.reference
        if problem.finer is not None:
            reference = trajopt.solve(problem.finer(), time_limit=SECONDS).objective
        error = report.error_of_optimum  # None where nothing is known
        estimate = None if error is None else error / (abs(reference) or 1.0)
    except errors.TrajoptError as error:
        print(f"{problem.name}: {error}", file=sys.stderr)
        return [
            problem.name,
            f"{time.process_time() - began:.1f}",
            "",
            "",
            "",
            "",
            type(error).__name__,
            "",
            "no",
        ]
    apart = difference(solution.objective, reference)
    found = solution.converged and report.holds and abs(apart) <= max(NEAR, estimate or 0.0)
    return [
        problem.name,
        f"{seconds:.1f}",
        solution.iterations,
        f"{solution.objective:.7g}",
        f"{apart:+.1e}",
        "" if estimate is None else f"{estimate:.1e}",
        solution.status.value,
        report.verdict,
        "yes" if found else "no",
    ]


def main() -> None:
    """Print the table of the selected problems and how many are found."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME")
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    if given.write and given.names:
        arguments.error("--write writes all problems: leave out their names")
    names = SMALLEST if given.smallest else given.names
    chosen = [each for each in PROBLEMS if not names or any(name in each.name for name in names)]
    rows = []
    for problem in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.append(row(problem))
        print(" | ".join(map(str, rows[-1])), flush=True)
    found = table(HEADINGS, rows)
    print(f"\n{found}")
    if given.write:
        with pages(given.smallest) as docs:
            put_between_marks(docs / "published.md", "benchmarks.published", found)
    print(f"\n{sum(each[-1] == 'yes' for each in rows)} of {len(rows)} found; {loaded_machine()}.")


if __name__ == "__main__":
    main()
