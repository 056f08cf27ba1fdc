"""`solve_many`: a list of problems solved side by side, in processes, on an executor or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from trajopt.api.problem import Problem
from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError
from trajopt.problem.links.phases import Phases
from trajopt.solvers.solver import Solver
from trajopt.studies.many.portable import Source
from trajopt.studies.many.progress import Report
from trajopt.studies.many.study import Settings, Study, solve_points
from trajopt.studies.workers.workers import Where


def solve_many(
    problems: Iterable[Source],
    solver: Solver | None = None,
    *,
    executor: Where | None = None,
    processes: int | None = None,
    folder: str | Path | None = None,
    anew: bool = False,
    progress: Literal["auto", "silent"] | Report = "silent",
    **options: Any,
) -> Study:
    """Solve every problem of a list; the points come in its order, `study.solutions[0]` is that of the first.

    problems : problems, `Phases`, recipes (`problem.recipe`), or functions without arguments that build one,
        such as `functools.partial(problems.two_link_rr.build, intervals=40)`. What holds compiled CasADi
        functions, locks or files cannot be sent to another process: its recipe, or a function, can
    solver, **options : what `trajopt.solve` takes, `refine`, `starts`, `coarse_to_fine`, `time_limit`
    executor, processes : where the solves are made. By default in a process per core of this machine; 1 is
        this process. Or any executor of `concurrent.futures`, which stays open; or a Dask cluster, as
        "tcp://host:8786" or a `distributed.Client`, whose workers must have the same versions
    folder : every solution is written there when it is done, with a row of table.csv. Begun again in the same
        folder, what was done is not solved again; `anew` begins from nothing. A row holds digests of its
        problem, the user's modules that build it (recursively, by content), solver and options; data files
        that a function reads and modules imported by a computed name are not covered: begin anew
    progress : "auto" for lines with the time left, or a function called with every `StudyProgress`, whose
        `point` was just done: points come in the order of completion

    A process or worker that dies costs the point that it worked on one of three tries; then, and where a
    problem raises, the point is one of the study with `error` and without solution. Ctrl-C ends the study at
    once: what was done is in it, all other points are "interrupted". In a thread of a ThreadPoolExecutor
    every problem is a copy, but a solve that runs is waited for.

    Raises OptionError for what cannot be sent, ClusterError for a cluster that does not answer or has other
    versions, ResultFolderError for a folder of another study, all before anything is solved.
    """
    if isinstance(problems, str | bytes | Mapping | Problem | Phases) or not isinstance(problems, Iterable):
        raise OptionError(f"problems is {short_repr(problems)}: give a list of problems")
    try:
        given = list(problems)
    except Exception as error:  # iterating over a foreign object may raise anything
        raise OptionError(f"problems is {short_repr(problems)}: give a list of problems") from error
    if not given:
        raise OptionError("there are no problems: give at least one")
    at_hand = {number: source for number, source in enumerate(given) if isinstance(source, Problem | Phases)}
    settings = Settings(executor, processes, folder, anew, progress=progress)
    return solve_points([({}, source) for source in given], solver, options, settings, at_hand)
