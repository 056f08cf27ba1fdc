"""The command `trajopt`: list problems, solve one, verify and plot what was saved.

Exit status 0: converged. 1: not converged, everything written all the same. 2: misuse, explained in one
paragraph on standard error. Results go to standard output, progress and complaints to standard error.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trajopt.solvers import registry

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution
    from trajopt.solvers.solver import Solver
    from trajopt.verification.verify import Report

CONVERGED, NOT_CONVERGED, MISUSE = 0, 1, 2
FIGURES = ("torques", "joint_forces", "joints", "motion")
SHOW_TRACEBACK = "TRAJOPT_TRACEBACK"  # environment variable: set to see where an error comes from


class Complaint(click.ClickException):
    """Misuse, as one paragraph and exit status 2."""

    exit_code = MISUSE


class Folder(click.ParamType):
    """A folder to write into; an empty one, from a variable that was not set, is refused."""

    name = "directory"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        if not str(value).strip():
            self.fail("the name of the folder is empty: name one, or leave the option out", param, ctx)
        return Path(value)


def explained(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn every exception of a command into a paragraph that says what to do."""

    @functools.wraps(command)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if os.environ.get(SHOW_TRACEBACK):
                raise
            raise Complaint(explanation(error)) from None

    return wrapper


def explanation(error: Exception) -> str:
    """The message of an error of ours; for any other also its kind and the line that it comes from."""
    from dynamics.errors import DynamicsError
    from trajopt.errors import ProblemError, TrajoptError

    hint = f" (set {SHOW_TRACEBACK}=1 to see the whole way)"
    if isinstance(error, TrajoptError | DynamicsError):
        foreign = error.__cause__ is not None and isinstance(error, ProblemError)
        return str(error) + hint * foreign
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{error.filename}, line {error.lineno}: "
    return f"{where}{type(error).__name__}: {error}{hint}"


solver_choice = click.option(
    "--solver",
    type=click.Choice(list(registry.SOLVERS)),
    help=f"[default: what the problem recommends, or {registry.DEFAULT}]",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trajopt")
def main() -> None:
    """Solve trajectory optimization problems, check the answers and draw them."""
    # IPOPT factorises small dense fronts, where a second BLAS thread costs more than it gives. The library
    # reads this when NumPy is first imported, which the commands do, not this file.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@main.command(name="list")
@click.argument("name", required=False)
@explained
def list_problems(name: str | None) -> None:
    """Show all problems, or the parameters and defaults of one, or of a FILE.py."""
    from problems import catalogue

    if name is None:
        width = max(len(known) for known in catalogue.names())
        for known, description in catalogue.descriptions().items():
            click.echo(f"{known:<{width}}  {description}")
        return
    from problems.cli.problem_file import imported, is_problem_file
    from problems.recipe import defaults_of

    module = imported(Path(name)) if is_problem_file(name) else catalogue.module(name)
    if not callable(getattr(module, "build", None)):
        raise Complaint(f"{name} has no function build: see problems/pendulum_swing_up.py")
    for text in (module.__doc__, module.build.__doc__):
        if text:
            click.echo(text)
    click.echo("\nDefaults:")
    for parameter, default in defaults_of(module.build).items():
        click.echo(f"  {parameter}={spelled(default)}")


@main.command()
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
@click.option("--out", type=Folder(), help="Folder for the results [default: results/PROBLEM]")
@click.option("--plot", is_flag=True, help="Also draw the figures.")
@click.option("--report", "one_page", is_flag=True, help="Also write report.html, the solve on one page.")
@click.option(
    "--certify",
    type=float,
    metavar="TOL",
    help="Make limits hold for all t to TOL, in their own units, and write certificate.txt.",
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
    checkpoint: Path | None,
) -> None:
    """Solve a problem and write solution.npz and summary.json."""
    import trajopt
    from problems.cli.literal import assignment
    from problems.cli.problem_file import build_named
    from problems.cli.summary import summary, write_json, write_text

    refine = None if certify is None else trajopt.Certified(tol=certify)
    question = build_named(problem, dict(assignment(text) for text in assignments))
    method = chosen_solver(solver, dict(assignment(text) for text in options), question)
    if checkpoint is not None:
        method = trajopt.Checkpointed(method, checkpoint)
    folder = out or Path("results") / Path(problem).stem
    folder.mkdir(parents=True, exist_ok=True)

    solution = trajopt.solve(question, method, refine=refine, progress="auto")
    solution.save(folder / "solution.npz")
    try:
        report = solution.verify()
    except KeyboardInterrupt:
        write_json(folder / "summary.json", summary(solution, None))
        click.echo(f"the check was interrupted: see `trajopt verify {folder / 'solution.npz'}`", err=True)
        sys.exit(NOT_CONVERGED)
    write_json(folder / "summary.json", summary(solution, report))
    drawn = draw(solution, folder, "png") if plot else []
    if one_page:
        trajopt.report.html(solution, folder / "report.html")
        drawn.append("report.html")
    click.echo(str(report))
    if solution.certificate is not None:
        certificate = str(solution.certificate)
        write_text(folder / "certificate.txt", certificate + "\n")
        drawn.append("certificate.txt")
        click.echo(f"\n{certificate}")
    click.echo(f"\nwritten to {folder}: " + ", ".join(["solution.npz", "summary.json", *drawn]))
    conclude(solution, report)


@main.command()
@click.argument("problem", metavar="NAME_OR_FILE.py")
@solver_choice
@click.option(
    "--set",
    "assignments",
    multiple=True,
    required=True,
    metavar="KEY=VALUE,VALUE,...",
    help="Values of a parameter; may repeat, all combinations are solved.",
)
@click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE", help="Option of the solver; may repeat."
)
@click.option("--out", type=Folder(), help="Folder for the results [default: results/PROBLEM_sweep]")
@click.option("--processes", type=int, default=1, show_default=True, help="How many solve at a time.")
@click.option("--cold", is_flag=True, help="Start every point from the problem's own guess.")
@explained
def sweep(
    problem: str,
    solver: str | None,
    assignments: Sequence[str],
    options: Sequence[str],
    out: Path | None,
    processes: int,
    cold: bool,
) -> None:
    """Solve a problem for all combinations of parameters and write table.csv and one solution for each."""
    from problems.cli import sweep as grid
    from problems.cli.literal import assignment
    from problems.cli.problem_file import build_named

    axes = grid.axes_of(assignments)
    settings = dict(assignment(text) for text in options)
    method = None  # what every point recommends
    if solver or settings:
        method = chosen_solver(solver, settings, build_named(problem, grid.grid(axes)[0]))
    folder = out or Path("results") / f"{Path(problem).stem}_sweep"
    points = []
    for point in grid.sweep(problem, axes, folder, method, processes, warm=not cold):
        points.append(point)
        click.echo(str(point))
    converged = sum(point.converged for point in points)
    click.echo(f"\n{converged} of {len(points)} converged; written to {folder}: table.csv and the solutions")
    sys.exit(CONVERGED if converged == len(points) else NOT_CONVERGED)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--problem", metavar="FILE.py", help="The user's own problem that was solved.")
@explained
def verify(file: Path, problem: str | None) -> None:
    """Check a saved solution by means that the solver never saw, and print the report."""
    solution = loaded(file, problem)
    report = solution.verify()
    click.echo(str(report))
    if solution.certificate is not None:
        click.echo(f"\n{solution.certificate}")
    conclude(solution, report)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--problem", metavar="FILE.py", help="The user's own problem that was solved.")
@click.option("--out", type=Folder(), help="Folder for the figures [default: beside FILE]")
@click.option(
    "--format", "ending", type=click.Choice(["png", "pdf", "svg"]), default="png", show_default=True
)
@explained
def plot(file: Path, problem: str | None, out: Path | None, ending: str) -> None:
    """Draw torques, internal joint forces, joint profiles and the motion of a saved solution."""
    solution = loaded(file, problem)
    folder = file.parent if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    click.echo(f"written to {folder}: " + ", ".join(draw(solution, folder, ending)))


def chosen_solver(name: str | None, options: dict[str, Any], problem: Any) -> Solver:
    """The solver of that name, or the one that the problem recommends, with these options."""
    from trajopt.solve import default_solver
    from trajopt.solvers.capabilities import with_options

    return with_options(default_solver(problem) if name is None else registry.create(name), options)


def loaded(file: Path, problem: str | None) -> Solution:
    """A saved solution, with the user's problem built again where its file is named."""
    import trajopt
    from problems.cli.problem_file import build_named, is_problem_file
    from trajopt.errors import SolutionFileError

    solution = trajopt.Solution.load(file)
    recipe = solution.recipe
    if problem is not None:
        parameters = {} if recipe is None else recipe.parameters
        return trajopt.Solution.load(file, problem=build_named(problem, parameters))
    if recipe is not None and is_problem_file(recipe.problem):
        raise SolutionFileError(
            f"{file} solves the problem of {recipe.problem}, a file outside this library that is not run "
            f"unasked: add --problem {recipe.problem}"
        )
    return solution


def draw(solution: Solution, folder: Path, ending: str) -> list[str]:
    """Write every figure that the dynamics has the data for; the names of the files."""
    from trajopt import plot as figures

    wanted = FIGURES if hasattr(solution.problem.dynamics, "skeleton") else FIGURES[:-1]
    for name in wanted:
        getattr(figures, name)(solution).savefig(folder / f"{name}.{ending}")
    return [f"{name}.{ending}" for name in wanted] + draw_more(solution, folder, ending)


def draw_more(solution: Solution, folder: Path, ending: str) -> list[str]:
    """What a problem of the library writes beyond that, by a function `draw` of its module."""
    from problems import catalogue

    if solution.recipe is None or solution.recipe.problem not in catalogue.names():
        return []
    more = getattr(catalogue.module(solution.recipe.problem), "draw", None)
    return [] if more is None else more(solution, folder, ending)


def conclude(solution: Solution, report: Report) -> None:
    """Exit 1 with the reason and the worst constraints unless the solve converged."""
    certified = solution.certificate is None or solution.certificate.holds
    if solution.converged and report.holds and certified:
        return
    reason = "the answer does not meet its own conditions" if solution.converged else solution.status.value
    if solution.converged and report.holds:
        reason = "the certificate does not hold"
    lines = [f"not converged: {reason}"]
    if solution.detail:
        lines.append(f"message of the solver: {solution.detail}")
    worst = report.worst()
    if worst:
        lines += ["violated most:", *(f"  {violation}" for violation in worst)]
    else:
        lines.append("no constraint is violated at the nodes, but the point is not proven optimal")
    if not solution.converged and solution.certificate is None:
        from trajopt.verification.diagnosis import repeated_equations

        lines += repeated_equations(solution)
    click.echo("\n".join(lines), err=True)
    sys.exit(NOT_CONVERGED)


def spelled(value: Any) -> str:
    """A default as `--set` reads it."""
    import json

    return json.dumps(value).replace("Infinity", "inf")


if __name__ == "__main__":
    main()
