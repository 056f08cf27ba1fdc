"""The command `trajopt move`: the motion of least time through the goals of a task that a file states."""

from __future__ import annotations

from pathlib import Path

import click

from problems.cli.command_errors import explained
from problems.cli.commands.retime import (
    MESSAGES,
    MOTION_FILE,
    OUT_HELP,
    REPAIR_HELP,
    answer_of,
    write_motion,
)
from problems.cli.completion import EXISTING_FILE, VIEW_FILE, NewFile
from problems.cli.exit_status import conclude_motion
from problems.cli.output import Output, output_options


@click.command()
@click.argument("task", metavar="TASK.json", type=EXISTING_FILE)
@click.option("--out", type=MOTION_FILE, default="motion.csv", show_default=True, help=OUT_HELP)
@click.option("--rate", type=float, default=100.0, show_default=True, help="Hz, of the rows of the table.")
@click.option("--ros", type=NewFile(*MESSAGES), help="A JointTrajectory of ROS 2, too.")
@click.option(
    "--view",
    type=VIEW_FILE,
    help="A page in three dimensions, too, or a film that ends in .gif or .mp4.",
)
@click.option(
    "--save", type=NewFile(".npz"), help="The motion with its task, which view, replay and verify read."
)
@click.option("--repair-inertia", is_flag=True, help=REPAIR_HELP)
@output_options("json", "quiet")
@explained
def move(
    task: Path,
    out: Path,
    rate: float,
    ros: Path | None,
    view: Path | None,
    save: Path | None,
    repair_inertia: bool,
    output: Output,
) -> None:
    """Write the motion of least time through the goals of TASK.json, or .yaml.

    Robot, scene, goals, loads and limits stand in the file; problems/moves/tasks/task.schema.json describes
    it. Exit status 1 where no optimum is found or a limit is exceeded.
    """
    from problems.moves.tasks.task_file import task_from_file

    stated, options = task_from_file(task, repair_inertia)
    motion = stated.solve(**options)
    write_motion(motion, out, rate, output)
    if ros is not None:
        motion.to_ros(ros)
    if view is not None:
        motion.view(view)
    if save is not None:
        motion.save(save)
    written = ", ".join(str(each) for each in (out, ros, view, save) if each is not None)
    output.answer(f"{motion}\nwritten: {written}")
    output.values({**answer_of(motion, out), "status": motion.solution.status.value})
    conclude_motion(motion.converged)
