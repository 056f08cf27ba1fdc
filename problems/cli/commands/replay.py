"""The command `trajopt replay`: a saved solution simulated by MuJoCo with the planned torques."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from problems.cli.command_errors import explained
from problems.cli.commands.saved_solution import loaded_motion, saved_file, source_of
from problems.cli.completion import FIGURE_FILE, SavedFile, own_problem
from problems.cli.output import Output, output_options

if TYPE_CHECKING:
    from problems.moves.mujoco_replay import Replay


@click.command()
@click.argument("file", type=SavedFile())
@own_problem
@click.option("--step", type=float, default=1e-3, show_default=True, help="s, of the simulation.")
@click.option("--bandwidth", type=float, default=10.0, show_default=True, help="Hz, of the feedback.")
@click.option("--out", type=FIGURE_FILE, help="The figure [default: replay.png by FILE]")
@output_options("json", "quiet")
@explained
def replay(
    file: Path, problem: str | None, step: float, bandwidth: float, out: Path | None, output: Output
) -> None:
    """Simulate a saved solution in MuJoCo with the planned torques, open loop and with PD.

    Prints how far the joints leave the plan, with Runge-Kutta steps and with Euler's, and draws it.
    """
    from problems import moves
    from problems.moves.plot.deviations import deviations

    motion = loaded_motion(file, source_of(problem))
    found = moves.replay(motion, step, bandwidth)
    figure = saved_file(file).parent / "replay.png" if out is None else out
    deviations(found).savefig(figure)
    output.answer(f"{found}\nwritten: {figure}")
    output.values(answer_of(found, figure))


def answer_of(found: Replay, figure: Path) -> dict[str, Any]:
    """The answer for programs."""
    return {
        "step": found.step,
        "simulations": [
            {
                "integrator": run.integrator,
                "control": run.control,
                "end": run.end_deviation,
                "largest": run.largest_deviation,
            }
            for run in found.runs.values()
        ],
        "file": str(figure),
    }
