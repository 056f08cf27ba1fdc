"""The command `trajopt solve`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from problems.cli.exit_status import NOT_CONVERGED, conclude
from problems.cli.misuse import explained
from problems.cli.result_folder import ResultFolder
from trajopt.solvers import registry

if TYPE_CHECKING:
    from trajopt.solvers.solver import Solver


solver_choice = click.option(
    "--solver",
    type=click.Choice(list(registry.SOLVERS)),
    help=f"[default: what the problem recommends, or {registry.DEFAULT}]",
)


@click.command()
@click.argument("problem", metavar="NAME_OR_FILE.py")
@solver_choice
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Parameter of the problem; may repeat."
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="Option of the solver, such as tol=1e-10; may repeat.",
)
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
    starts: int | None,
    time_limit: float | None,
    checkpoint: Path | None,
) -> None:
    """Solve a problem and write solution.npz and summary.json.

    FILE.py is a Python program that runs with your rights: read a stranger's before.
    """
    import trajopt
    from problems.cli.literal import assignment
    from problems.cli.problem_file import build_named
    from problems.cli.result_files import write_results
    from trajopt.files.run_folder import RunFolder
    from trajopt.solution.archive import check_savable

    refine = "auto" if certify is None else trajopt.Certified(tol=certify)
    question = build_named(problem, dict(assignment(text) for text in assignments))
    check_savable(question.recipe)
    method = chosen_solver(solver, dict(assignment(text) for text in options), question)
    if checkpoint is not None:
        method = trajopt.Checkpointed(method, checkpoint)
    folder = out or Path("results") / Path(problem).stem
    with RunFolder(folder) as results:
        solution = trajopt.solve(
            question,
            method,
            refine=refine,
            starts="auto" if starts is None else starts,
            time_limit=time_limit,
            progress="auto",
        )
        report, names = write_results(solution, results, plot, one_page)
    if report is None:
        click.echo(f"the check was interrupted: see `trajopt verify {folder / 'solution.npz'}`", err=True)
        sys.exit(NOT_CONVERGED)
    click.echo(str(report))
    if solution.starts is not None:
        click.echo(f"\n{solution.starts}")
    if solution.certificate is not None:
        click.echo(f"\n{solution.certificate}")
    click.echo(f"\nwritten to {folder}: " + ", ".join(names))
    conclude(solution, report, report.holds_at_nodes)


def chosen_solver(name: str | None, options: dict[str, Any], problem: Any) -> Solver:
    """The solver of that name, or the one that the problem recommends, with these options."""
    from trajopt.solve import default_solver
    from trajopt.solvers.capabilities import with_options

    return with_options(default_solver(problem) if name is None else registry.create(name), options)
