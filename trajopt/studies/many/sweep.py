"""Parameter sweeps and lists of problems: every point of a grid is solved, neighbours from each other.

`solve_many` solves a list of problems side by side, in processes, on an executor or on a Dask cluster.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from trajopt.base.arguments import check_instance, check_known, short_repr
from trajopt.base.errors import OptionError, UnknownNameError
from trajopt.problem.phases import Phases
from trajopt.problem.problem import Problem
from trajopt.solvers.solver import Solver
from trajopt.studies.many.portable import Source
from trajopt.studies.many.provenance import recorded
from trajopt.studies.many.study import Report, Settings, Study, solve_points
from trajopt.studies.workers.workers import Where

MOST_POINTS = 1_000_000


def sweep(
    build: Callable[..., Problem],
    axes: Mapping[str, Sequence[object]],
    solver: Solver | None = None,
    *,
    warm: bool = True,
    executor: Where | None = None,
    processes: int | None = None,
    folder: str | Path | None = None,
    anew: bool = False,
    progress: Literal["auto", "silent"] | Report = "silent",
    **options: object,
) -> Study:
    """Solve build(**parameters) for all combinations of parameters.

        study = trajopt.sweep(problems.two_link_pr.build, {"u": [0.01, 0.02], "intervals": [20, 40]})
        trajopt.plot.study(study)

    build : `build` of a problem of the library, or your own function of keyword arguments, which returns a
        problem or phases
    axes : parameter -> its values; points are numbered with the last parameter fastest, back and forth, so
        that neighbours are one step of one parameter apart
    warm : the way through the grid is cut into as many pieces as there are workers; within each a point
        starts from the last one that converged, and from its own guess where that fails. False: every point
        from its own guess
    The other arguments are those of `solve_many`. Raises UnknownNameError for a parameter that `build` does
    not have, before anything is solved; what another value raises stands in the row of its point.
    """
    if not callable(build) or isinstance(build, Problem):
        raise OptionError(
            f"build is {short_repr(build)}: give a function of parameters, problems.two_link_pr.build"
        )
    settings, points = Settings(executor, processes, folder, anew, warm, progress), grid(axes)
    _check_first(build, points[0])
    sources = [(point, partial(build, **point)) for point in points]
    return solve_points(sources, solver, options, settings)


def grid(axes: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """All combinations, the last parameter fastest, back and forth so that neighbours are one step apart."""
    if not hasattr(axes, "items") or not axes:
        raise OptionError(
            f"axes is {short_repr(axes)}: give the values of each parameter, {{'mass': [1, 2]}}"
        )
    points: list[dict[str, object]] = [{}]
    for name, given in axes.items():
        check_instance("the name of a parameter", name, str, "one such as 'mass'")
        if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
            raise OptionError(f"the values of {short_repr(name)} are {short_repr(given)}: give a list")
        values = list(given)
        if not values:
            raise OptionError(f"'{name}' has no values: give at least one")
        if len(points) * len(values) > MOST_POINTS:
            raise OptionError(f"the grid has more than {MOST_POINTS} points: give fewer values")
        turns = (values if number % 2 == 0 else values[::-1] for number in range(len(points)))
        points = [point | {name: value} for point, turn in zip(points, turns, strict=True) for value in turn]
    return points


def _check_first(build: Callable[..., object], point: Mapping[str, object]) -> None:
    """UnknownNameError for a parameter that `build` does not have; what one value raises, others may not."""
    try:
        with recorded():
            build(**point)
    except UnknownNameError:
        raise
    except TypeError:
        _refuse_unknown(build, point)
    except Exception:
        return


def _refuse_unknown(build: Callable[..., object], point: Mapping[str, object]) -> None:
    """UnknownNameError for the first name that is no parameter of a function."""
    try:
        parameters = inspect.signature(build).parameters.values()
    except (TypeError, ValueError):  # some functions of compiled modules have none
        return
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    for name in point:
        check_known(f"parameter of {getattr(build, '__name__', 'build')}", name, known)


def solve_many(
    problems: Iterable[Source],
    solver: Solver | None = None,
    *,
    executor: Where | None = None,
    processes: int | None = None,
    folder: str | Path | None = None,
    anew: bool = False,
    progress: Literal["auto", "silent"] | Report = "silent",
    **options: object,
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
    is_mapping, iterable = hasattr(problems, "keys"), hasattr(problems, "__iter__")
    if isinstance(problems, str | bytes | Problem | Phases) or is_mapping or not iterable:
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
