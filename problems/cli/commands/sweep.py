"""The command `trajopt sweep`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from problems.cli.command_errors import explained
from problems.cli.commands.solve import chosen_solver, solver_choice
from problems.cli.completion import ProblemName, ResultFolder, settings_option, solver_option
from problems.cli.exit_status import CONVERGED, NOT_CONVERGED
from problems.cli.output import Output, echo, output_options


@click.command()
@click.argument("problem", metavar="NAME_OR_FILE.py", type=ProblemName())
@solver_choice
@settings_option(
    "Values of a parameter; may repeat, all combinations are solved.", "KEY=VALUE,VALUE,...", required=True
)
@solver_option("Option of the solver; may repeat.")
@click.option("--out", type=ResultFolder(), help="Folder for the results [default: results/PROBLEM_sweep]")
@click.option("--processes", type=int, help="How many solve at a time [default: one per core].")
@click.option(
    "--cluster", metavar="ADDRESS", help="Scheduler of a Dask cluster that solves instead, tcp://host:8786."
)
@click.option("--cold", is_flag=True, help="Start every point from the problem's own guess.")
@click.option("--anew", is_flag=True, help="Solve again what the folder holds already.")
@click.option("--plot", is_flag=True, help="Also draw sweep.png.")
@output_options("json", "quiet")
@explained
def sweep(
    problem: str,
    solver: str | None,
    assignments: Sequence[str],
    options: Sequence[str],
    out: Path | None,
    processes: int | None,
    cluster: str | None,
    cold: bool,
    anew: bool,
    plot: bool,
    output: Output,
) -> None:
    """Solve a problem for all combinations of parameters and write table.csv and one solution for each.

    Ended by Ctrl-C or a power cut, the same command goes on where it was. FILE.py is a Python program that
    runs with your rights: read a stranger's before.
    """
    import trajopt
    from problems.cli.literal import assignment, axes_of
    from problems.cli.named_build import NamedBuild
    from problems.cli.summary import plain
    from trajopt.studies.many.point import row_of
    from trajopt.studies.many.sweep import grid

    axes, build = axes_of(assignments), NamedBuild.of(problem)
    settings = dict(assignment(text) for text in options)
    method = None  # what every point recommends
    if solver or settings:
        method = chosen_solver(solver, settings, build(**grid(axes)[0]))
    folder = out or Path("results") / f"{Path(problem).stem}_sweep"
    show = output.progress if output.as_json else output.answer
    study = trajopt.sweep(
        build,
        axes,
        method,
        warm=not cold,
        executor=cluster,
        processes=processes,
        folder=folder,
        anew=anew,
        progress=lambda progress: show(f"{progress.point}  [{progress}]"),
    )
    if plot:
        output.progress("drawing sweep.png")
        trajopt.plot.study(study).savefig(folder / "sweep.png")
    count = len(study.points)
    output.answer(f"\n{study.outcome}; written to {folder}: table.csv and the solutions")
    rows = [{name: plain(value) for name, value in row_of(point).items()} for point in study.points]
    counts = {"converged": study.converged_count, "recalled": study.recalled}
    output.values({"folder": str(folder), **counts, "points": rows})
    if study.interrupted:
        done = sum(bool(point.file or point.error) for point in study.points)
        echo(f"interrupted: {done} of {count} points are in the table", err=True)
    sys.exit(CONVERGED if study.converged_count == count else NOT_CONVERGED)
