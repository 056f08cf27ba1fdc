"""The command `trajopt solve`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from problems.cli.command_errors import explained
from problems.cli.completion import ProblemName, ResultFolder, settings_option, solver_option
from problems.cli.exit_status import NOT_CONVERGED, conclude
from problems.cli.figures import how_to_open
from problems.cli.output import Output, echo, output_options
from trajopt.solvers.run import DEFAULT, SOLVERS, create

if TYPE_CHECKING:
    from trajopt import Phases, Problem
    from trajopt.solvers.solver import Solver


solver_choice = click.option(
    "--solver",
    type=click.Choice(list(SOLVERS)),
    help=f"[default: what the problem recommends, or {DEFAULT}]",
)


@click.command()
@click.argument("problem", metavar="NAME_OR_FILE.py", type=ProblemName())
@solver_choice
@settings_option("Parameter of the problem; may repeat.")
@solver_option("Option of the solver, such as tol=1e-10; may repeat.")
@click.option("--out", type=ResultFolder(), help="Folder for the results [default: results/PROBLEM]")
@click.option("--plot", is_flag=True, help="Also draw the figures.")
@click.option("--report", "one_page", is_flag=True, help="Also write report.html, the solve on one page.")
@click.option(
    "--certify",
    type=float,
    metavar="TOL",
    help="Make limits hold between nodes too, to TOL in their units; write certificate.txt.",
)
@click.option(
    "--mesh-alone",
    is_flag=True,
    help="Add no nodes and intervals where limits or equations fail between the nodes of the mesh.",
)
@click.option(
    "--starts",
    type=int,
    metavar="N",
    help="Solve from so many starting points [default: 1, several for the free durations of many joints].",
)
@click.option(
    "--time-limit", type=float, metavar="SECONDS", help="For starts, meshes and certification together."
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the best point here every five seconds, and start from it where it exists.",
)
@output_options("json", "quiet", "verbose")
@explained
def solve(
    problem: str,
    solver: str | None,
    assignments: Sequence[str],
    options: Sequence[str],
    out: Path | None,
    plot: bool,
    one_page: bool,
    certify: float | None,
    mesh_alone: bool,
    starts: int | None,
    time_limit: float | None,
    checkpoint: Path | None,
    output: Output,
) -> None:
    """Solve a problem and write solution.npz and summary.json.

    FILE.py is a Python program that runs with your rights: read a stranger's before. --json prints what is in
    summary.json, with the names of the files; --verbose the problem, every iteration and where time went.
    """
    import trajopt
    from problems.cli.literal import assignment, parameters_of
    from problems.cli.problem_file import named
    from problems.cli.result_files import write_results
    from problems.cli.summary import summary
    from trajopt.archive.solution_reader import check_savable
    from trajopt.base.files import RunFolder

    refine: Any = None if mesh_alone else "auto"
    if certify is not None:
        if mesh_alone:
            raise click.UsageError("--certify adds nodes and intervals: leave out --mesh-alone")
        refine = trajopt.Certified(tol=certify)
    source = named(problem)
    question = source.build(**parameters_of(assignments))
    check_savable(question.recipe)
    method = chosen_solver(solver, dict(assignment(text) for text in options), question)
    if checkpoint is not None:
        method = trajopt.Checkpointed(method, checkpoint)
    if output.verbose:
        output.detail(described(question))
    folder = out or Path("results") / Path(problem).stem
    with RunFolder(folder) as results, compiling_beside(question):
        solution = trajopt.solve(
            question,
            method,
            refine=refine,
            starts="auto" if starts is None else starts,
            time_limit=time_limit,
            progress=progress_of(output),
        )
        report, names = write_results(solution, results, plot, one_page, output.progress, source.draw)
    if report is None:
        echo(f"the check was interrupted: see `trajopt verify {folder / 'solution.npz'}`", err=True)
        sys.exit(NOT_CONVERGED)
    if output.verbose:
        output.detail(where_time_went(solution))
    output.verdict(report)
    for line in source.remarks(solution):
        output.answer(f"\n{line}")
    if (starts := solution.journal.starts) is not None:
        output.answer(f"\n{starts}")
    if solution.certificate is not None:
        output.answer(f"\n{solution.certificate}")
    output.answer(f"\nwritten to {folder}: " + ", ".join(names) + how_to_open(folder, names))
    output.values(summary(solution, report) | {"folder": str(folder), "files": names})
    conclude(solution, report, report.holds_at_nodes)


def compiling_beside(problem: Problem | Phases) -> AbstractContextManager[None]:
    """A second process for half of the kernels, where a robot moves and none are kept."""
    from dynamics import RigidBodyModel
    from trajopt import Phases

    parts = problem.problems if isinstance(problem, Phases) else (problem,)
    if not any(isinstance(part.dynamics, RigidBodyModel) for part in parts):
        return nullcontext()
    from dynamics.kernel_warmup import beside_first_solve

    return beside_first_solve()


def chosen_solver(name: str | None, options: dict[str, Any], problem: Problem | Phases) -> Solver:
    """The solver of that name, or the one that the problem recommends, with these options."""
    from trajopt.solvers.run import with_options

    recommended = problem.solver if name is None else None
    return with_options(recommended or create(name or DEFAULT), options)


def progress_of(output: Output) -> Any:
    """The display of iterations: one line that changes, none, or a line for each."""
    if output.quiet:
        return "silent"
    if not output.verbose:
        return "auto"
    from trajopt.solvers.monitor import line, solve_title

    solves = 0

    def detail(iteration: Any) -> None:
        nonlocal solves
        solves += iteration.iteration == 0
        if iteration.iteration == 0 and solves > 1:
            output.detail(solve_title(solves))
        output.detail(line(iteration))

    return detail


def described(problem: Problem | Phases) -> str:
    """A problem before its solve: its summary, or the facts of phases."""
    from trajopt import Problem
    from trajopt.problem.phases import phases_facts

    return str(problem.summary() if isinstance(problem, Problem) else phases_facts(problem))


def where_time_went(solution: Any) -> str:
    """Milliseconds of a solve by part."""
    from trajopt.report.page import time_split

    parts = (f"{name} {1e3 * seconds:.1f}" for name, seconds in time_split(solution).items())
    return f"time in ms: {', '.join(parts)}; all {1e3 * solution.seconds:.1f}"
