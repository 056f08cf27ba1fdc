"""The command `trajopt view`: a saved solution of a robot as a page in three dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from problems.cli.command_errors import explained
from problems.cli.commands.saved_solution import loaded_motion, saved_file, source_of
from problems.cli.completion import EXISTING_FILE, VIEW_FILE, SavedFile, own_problem
from problems.cli.output import Output, output_options

if TYPE_CHECKING:
    from problems.moves.view.view import View


@click.command()
@click.argument("file", type=SavedFile())
@own_problem
@click.option("--urdf", type=EXISTING_FILE, help="The robot's file, whose meshes are shown.")
@click.option(
    "--meshes",
    "folders",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="Where meshes are looked for, beside the folder of the URDF and those above it.",
)
@click.option("--scene", type=EXISTING_FILE, help="Obstacles, as moves.Scene.save writes them.")
@click.option("--tool", "tools", multiple=True, help="A link or frame whose path is drawn.")
@click.option(
    "--out",
    type=VIEW_FILE,
    help="The page, or a film that ends in .gif or .mp4 [default: view.html by FILE]",
)
@click.option("--speed", type=float, default=1.0, show_default=True, help="Of the motion in a film.")
@output_options("json", "quiet")
@explained
def view(
    file: Path,
    problem: str | None,
    urdf: Path | None,
    folders: tuple[Path, ...],
    scene: Path | None,
    tools: tuple[str, ...],
    out: Path | None,
    speed: float,
    output: Output,
) -> None:
    """Write a saved solution as one HTML file in which the robot moves, for any browser, without a network.

    Links are coloured by how close their joint is to its nearest limit of position, speed or torque.
    """
    from problems import moves

    motion = loaded_motion(file, source_of(problem))
    page = saved_file(file).parent / "view.html" if out is None else out
    around = None if scene is None else moves.Scene.load(scene)
    found = moves.view(
        motion, page, scene=around, urdf=urdf, folders=folders, tools=tools or None, speed=speed
    )
    output.answer(f"written: {found}")
    output.values(answer_of(found))


def answer_of(found: View) -> dict[str, Any]:
    """The answer for programs."""
    return {
        "file": str(found.path),
        "bytes": found.size,
        "pictures": found.pictures,
        "drawn": found.drawn,
        "missing": list(found.missing),
    }
