"""The files that `trajopt solve` writes, and where they are not all of one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from problems.cli.figures import DrawFigures, Notify, draw, own_figures, silent
from problems.cli.output import echo
from problems.cli.summary import summary, write_json
from trajopt.base.files import LAST, RunFolder, mixture, write_text

if TYPE_CHECKING:
    from trajopt import PhasesSolution, Solution
    from trajopt.verification.report import Report


def write_results(
    solution: Solution | PhasesSolution,
    results: RunFolder,
    plot: bool,
    one_page: bool,
    notify: Notify = silent,
    draw_own: DrawFigures = None,
) -> tuple[Report | None, list[str]]:
    """Verify a solution and write its files; the report, None where Ctrl-C ended the check, and the names.

    notify : called with a line before each figure;   draw_own : writes the figures of a user's own problem
    Whatever goes wrong after the solve, the solution and what was written with it are published.
    """
    import trajopt

    stage = results.stage
    solution.save(stage / LAST)
    report = None
    try:
        try:
            report = solution.verify()
        except KeyboardInterrupt:
            write_json(stage / "summary.json", summary(solution, None))
            return None, []
        write_json(stage / "summary.json", summary(solution, report))
        if solution.certificate is not None:
            text = f"{solution.certificate}\n\nrun {run_of(solution)}\n"
            write_text(stage / "certificate.txt", text)
        drawn = draw(solution, stage, "png", notify, draw_own) if plot else []
        if one_page:
            figures = own_figures(solution, drawn, stage, notify, draw_own)
            notify("writing report.html")
            trajopt.report.html(solution, stage / "report.html", figures=figures)
    finally:
        names = results.publish(run_of(solution))
    return report, names


def run_of(solution: Solution | PhasesSolution) -> str:
    """The identity of the run that found a solution; nothing where an earlier version saved it."""
    return "" if solution.run is None else solution.run.id


def tell_mixture(file: Path, solution: Solution | PhasesSolution) -> None:
    """Say on standard error where the files beside a saved solution are not its own."""
    if file.name == LAST:
        for difference in mixture(file.parent, run_of(solution)):
            echo(f"note: {difference}", err=True)
