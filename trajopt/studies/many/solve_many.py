"""`solve_many`: a list of problems solved side by side, in processes, on an executor or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from trajopt.api.problem import Problem
from trajopt.base.arguments import check_positive, short_repr
from trajopt.base.errors import OptionError
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.links.phases import Phases
from trajopt.solvers.run import check_solver
from trajopt.solvers.solver import Solver
from trajopt.studies.many.point import Task
from trajopt.studies.many.portable import Source, packed, packed_settings
from trajopt.studies.many.progress import Report, report_of
from trajopt.studies.many.study import Settings, Study, run
from trajopt.studies.workers.worker_versions import versions
from trajopt.studies.workers.workers import Where

NOT_AT_HAND: Mapping[int, Problem | Phases] = MappingProxyType({})


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
    settings = Settings(executor, processes, folder, anew)
    return solve_points([({}, source) for source in given], solver, options, settings, progress, at_hand)


def solve_points(
    points: Iterable[tuple[Mapping[str, Any], Source]],
    solver: Solver | None,
    options: Mapping[str, Any],
    settings: Settings,
    progress: Literal["auto", "silent"] | Report,
    at_hand: Mapping[int, Problem | Phases] = NOT_AT_HAND,
) -> Study:
    """Solve points, each by its parameters and its source, with options of `solve`; see `solve_many`.

    at_hand : problems of this process by number; others are built where a solution is asked for
    """
    check_options(solver, options)
    report = report_of(progress)
    sent, own, archive = packed_settings(solver, options), versions(), settings.folder is not None
    keep = settings.warm or not archive
    tasks = [
        Task(i, parameters, packed(source), sent, keep, archive, own, is_recipe=isinstance(source, Recipe))
        for i, (parameters, source) in enumerate(points)
    ]
    return run(tasks, settings, report, at_hand)


def check_options(solver: Any, options: Mapping[str, Any]) -> None:
    """OptionError for options that `solve` does not take, or that make no sense for many problems."""
    known = ("refine", "starts", "coarse_to_fine", "time_limit")
    for name in options:
        if name not in known:
            raise OptionError(f"there is no option {short_repr(name)}: solve takes {', '.join(known)}")
    check_positive("time_limit", options.get("time_limit"), optional=True)
    if solver is not None:
        check_solver(solver)
