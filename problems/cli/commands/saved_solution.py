"""The commands `trajopt verify` and `trajopt plot`, which read a saved solution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from problems.catalogue import names
from problems.cli.command_errors import explained
from problems.cli.commands.retime import answer_of
from problems.cli.completion import ResultFolder, SavedFile, own_problem
from problems.cli.exit_status import conclude, conclude_motion
from problems.cli.figures import draw, how_to_open
from problems.cli.output import Output, output_options
from problems.cli.result_files import run_of, tell_mixture
from problems.cli.summary import statements, summary
from trajopt.base.files import LAST, RunFolder, near_files

if TYPE_CHECKING:
    from problems.cli.problem_file import NamedProblem
    from trajopt import PhasesSolution, Solution


@click.command()
@click.argument("file", type=SavedFile())
@own_problem
@click.option(
    "--accuracy",
    type=float,
    help="Allowed between nodes, relative to a limit's size or an equation's scale [default: 0.001 of "
    "limits, 0.01 of all else]",
)
@output_options("json", "quiet", "verbose")
@explained
def verify(file: Path, problem: str | None, accuracy: float | None, output: Output) -> None:
    """Check a saved solution, or that of a folder, independently of the solver.

    Of a task's motion all limits, goals and clearances are sampled again. Exit status 1 where one fails.
    """
    from problems.moves.tasks.saved_motion import is_of_task, motion_of

    solution = loaded(file, source_of(problem))
    output.detail(repr(solution))
    if is_of_task(solution):
        motion = motion_of(solution)
        limits = motion.verify()
        output.answer(str(limits))
        output.values(answer_of(motion, file, limits))
        conclude_motion(solution.converged and limits.holds)
        return
    tell_mixture(saved_file(file), solution)
    report = solution.verify(accuracy)
    output.verdict(report)
    if solution.certificate is not None:
        output.answer(f"\n{solution.certificate}")
    output.values(summary(solution, report) | {"statements": statements(report)})
    conclude(solution, report, report.holds)


@click.command()
@click.argument("file", type=SavedFile())
@own_problem
@click.option("--out", type=ResultFolder(), help="Folder for the figures [default: beside FILE]")
@click.option(
    "--format", "ending", type=click.Choice(["png", "pdf", "svg"]), default="png", show_default=True
)
@output_options("json", "quiet")
@explained
def plot(file: Path, problem: str | None, out: Path | None, ending: str, output: Output) -> None:
    """Draw torques, internal joint forces, joint profiles and the motion of a saved solution."""
    source = source_of(problem)
    solution = loaded(file, source)
    folder = saved_file(file).parent if out is None else out
    with RunFolder(folder) as results:
        draw(solution, results.stage, ending, output.progress, None if source is None else source.draw)
        names = results.add(run_of(solution))
    output.answer(f"written to {folder}: " + ", ".join(names) + how_to_open(folder, names))
    output.values({"folder": str(folder), "files": names})


def source_of(problem: str | None) -> NamedProblem | None:
    """The user's problem where its file is named."""
    from problems.cli.problem_file import named

    return None if problem is None else named(problem)


def loaded(file: Path, source: NamedProblem | None) -> Solution | PhasesSolution:
    """A saved solution, or that of phases, with the user's problem built again where its file is named."""
    from problems.cli.problem_file import is_problem_file
    from trajopt.base.errors import SolutionFileError

    solution = read(file)
    recipe = solution.recipe
    if source is not None:
        parameters = {} if recipe is None else recipe.parameters
        return type(solution).load(saved_file(file), source.build(**parameters))
    is_stated = getattr(solution, "statement", None) is not None  # phases hold no statement of their links
    if recipe is not None and is_problem_file(recipe.problem) and not is_stated:
        raise SolutionFileError(
            f"{file} solves the problem of {recipe.problem}, a file outside this library that is not run "
            f"unasked: add --problem {recipe.problem}"
        )
    return solution


def loaded_motion(file: Path, source: NamedProblem | None) -> Any:
    """Solution that `loaded` gives; of a task the motion, with its scene, loads and goals."""
    from problems.moves.tasks.saved_motion import is_of_task, motion_of

    solution = loaded(file, source)
    return motion_of(solution) if is_of_task(solution) else solution


def read(file: Path) -> Solution | PhasesSolution:
    """A saved solution, or that of phases, as it is in the file; no problem is built."""
    from trajopt.solution.phases_solution import load_any

    return load_any(saved_file(file))


def saved_file(file: Path) -> Path:
    """The file of a saved solution; that of a folder of results is its solution.npz.

    Raises SolutionFileError for a file that is not there, with those that may be meant.
    """
    from trajopt.base.errors import SolutionFileError

    path = file / LAST if file.is_dir() and (file / LAST).is_file() else file
    if not path.is_file():
        what = f"{file} is a folder without {LAST}" if file.is_dir() else f"{file} does not exist"
        near = near_files(file, (".npz",))
        if str(file) in names():
            near += f" (a problem: solve it first, trajopt solve {file} --out results/{file})"
        raise SolutionFileError(f"{what}{near}: give a file that `trajopt solve` or solution.save wrote")
    return path
