"""The commands `trajopt verify` and `trajopt plot`, which read a saved solution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from problems.cli.exit_status import conclude
from problems.cli.figures import draw
from problems.cli.misuse import explained
from problems.cli.result_files import run_of, tell_mixture
from problems.cli.result_folder import ResultFolder
from trajopt.files.run_folder import RunFolder

if TYPE_CHECKING:
    from trajopt.phases.phases_solution import PhasesSolution
    from trajopt.solution.solution import Solution


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--problem", metavar="FILE.py", help="The user's own problem that was solved.")
@click.option(
    "--accuracy",
    type=float,
    help="Allowed between nodes, relative to a limit's range or an equation's scale [default: 0.01]",
)
@explained
def verify(file: Path, problem: str | None, accuracy: float | None) -> None:
    """Check a saved solution by means that the solver never saw; exit 1 where the verdict is FAIL."""
    solution = loaded(file, problem)
    tell_mixture(file, solution)
    report = solution.verify(accuracy)
    click.echo(str(report))
    if solution.certificate is not None:
        click.echo(f"\n{solution.certificate}")
    conclude(solution, report, report.holds)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--problem", metavar="FILE.py", help="The user's own problem that was solved.")
@click.option("--out", type=ResultFolder(), help="Folder for the figures [default: beside FILE]")
@click.option(
    "--format", "ending", type=click.Choice(["png", "pdf", "svg"]), default="png", show_default=True
)
@explained
def plot(file: Path, problem: str | None, out: Path | None, ending: str) -> None:
    """Draw torques, internal joint forces, joint profiles and the motion of a saved solution."""
    solution = loaded(file, problem)
    folder = file.parent if out is None else out
    with RunFolder(folder) as results:
        draw(solution, results.stage, ending)
        click.echo(f"written to {folder}: " + ", ".join(results.add(run_of(solution))))


def loaded(file: Path, problem: str | None) -> Solution | PhasesSolution:
    """A saved solution, or that of phases, with the user's problem built again where its file is named."""
    import trajopt
    from problems.cli.problem_file import build_named, is_problem_file
    from trajopt.errors import SolutionFileError
    from trajopt.phases.archive import is_of_phases

    kind = trajopt.PhasesSolution if is_of_phases(file) else trajopt.Solution
    solution = kind.load(file)
    recipe = solution.recipe
    if problem is not None:
        parameters = {} if recipe is None else recipe.parameters
        return kind.load(file, build_named(problem, parameters))
    if recipe is not None and is_problem_file(recipe.problem):
        raise SolutionFileError(
            f"{file} solves the problem of {recipe.problem}, a file outside this library that is not run "
            f"unasked: add --problem {recipe.problem}"
        )
    return solution
