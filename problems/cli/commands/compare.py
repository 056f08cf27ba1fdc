"""The command `trajopt compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from problems.cli.command_errors import Complaint, explained
from problems.cli.commands.saved_solution import loaded, saved_file
from problems.cli.completion import FIGURE_FILE, SavedFile
from problems.cli.output import Output, output_options


@click.command()
@click.argument("files", nargs=-1, required=True, type=SavedFile())
@click.option("--out", type=FIGURE_FILE, help="Figure to write, .png, .pdf or .svg [default: none]")
@output_options("json", "quiet")
@explained
def compare(files: Sequence[Path], out: Path | None, output: Output) -> None:
    """Print results, costs and differing parameters of saved solutions side by side.

    With --out their positions and torques, or states, are drawn over each other, where they differ most.
    """
    from problems.cli.comparison_table import comparison_rows, written

    if len(files) < 2:
        raise Complaint("one solution is given: name two or more, each a file or a folder of results")
    solutions = [loaded(file, None) for file in files]
    labels = labels_of([saved_file(file) for file in files])
    rows = comparison_rows(solutions)
    output.answer(written(rows, labels))
    if out is not None:
        import trajopt

        trajopt.plot.comparison(solutions, labels=labels).savefig(out)
        output.answer(f"written to {out}")
    output.values({"labels": labels, "rows": rows, "figure": None if out is None else str(out)})


def labels_of(paths: Sequence[Path]) -> list[str]:
    """Names of files for a legend: the stem, or the folder where stems are equal, numbered where both are."""
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [path.resolve().parent.name for path in paths]
    if len(set(names)) < len(names):
        names = [f"{name} {i}" for i, name in enumerate(names, start=1)]
    return names
