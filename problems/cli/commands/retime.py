"""The command `trajopt retime`: the fastest motion of a robot through waypoints of its joints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from problems.cli.command_errors import explained
from problems.cli.completion import EXISTING_FILE, NewFile
from problems.cli.exit_status import conclude_motion
from problems.cli.literal import literal, parameters_of
from problems.cli.output import Output, output_options

if TYPE_CHECKING:
    from problems.moves import Motion, MotionCertificate

MESSAGES = ".json", ".yaml", ".yml"  # of ROS 2
HEADER = ".h"  # of C
MOTION_FILE = NewFile(".csv", *MESSAGES, HEADER)
REPAIR_HELP = "Replace inertias that no body can have by the nearest that one can."
OUT_HELP = "A table, .csv; a JointTrajectory of ROS 2, .json or .yaml; or a C header, .h."


@click.command()
@click.argument("robot", metavar="ROBOT.urdf", type=EXISTING_FILE)
@click.argument("waypoints", metavar="WAYPOINTS", type=EXISTING_FILE)
@click.option("--velocity", help="rad/s or m/s: a number or a list, one per joint [default: the robot's]")
@click.option("--acceleration", help="rad/s^2 or m/s^2: a number or a list [default: not limited]")
@click.option("--torque", help="N m or N: a number or a list [default: the robot's]")
@click.option("--jerk", help="rad/s^3 or m/s^3: a number or a list [default: not limited]")
@click.option("--tube", help="rad or m: how far a joint may leave the path, a number or a list [default: 0]")
@click.option(
    "--tool-tube",
    "tool_tubes",
    multiple=True,
    metavar="FRAME=METRES",
    help="How far a frame may, with --tube.",
)
@click.option("--repair-inertia", is_flag=True, help=REPAIR_HELP)
@click.option("--intervals", type=int, default=2000, show_default=True, help="About how many segments.")
@click.option("--out", type=MOTION_FILE, default="motion.csv", show_default=True, help=OUT_HELP)
@click.option("--rate", type=float, default=100.0, show_default=True, help="Hz, of the rows of the table.")
@output_options("json", "quiet")
@explained
def retime(
    robot: Path,
    waypoints: Path,
    velocity: str | None,
    acceleration: str | None,
    torque: str | None,
    jerk: str | None,
    tube: str | None,
    tool_tubes: tuple[str, ...],
    repair_inertia: bool,
    intervals: int,
    out: Path,
    rate: float,
    output: Output,
) -> None:
    """Write the motion of least time through WAYPOINTS, rows of a .csv or .json file, as a table.

    The joints follow a cubic spline through the waypoints, from rest to rest, within the limits. The first
    line of a .csv file may name the joints. Exit status 1 where a limit is exceeded.
    """
    from dynamics import load_urdf
    from problems import moves
    from problems.moves.waypoint_file import read_waypoints

    model = load_urdf(robot, repair_inertia=repair_inertia)
    limits = {
        "velocity": velocity,
        "acceleration": acceleration,
        "torque": torque,
        "jerk": jerk,
        "tube": tube,
    }
    given: Any = {name: literal(text) for name, text in limits.items() if text is not None}
    if tool_tubes:
        given["tool_tube"] = parameters_of(tool_tubes)
    motion = moves.retime(model, read_waypoints(waypoints, model.joint_names), intervals=intervals, **given)
    output.answer(str(motion))
    write_motion(motion, out, rate, output)
    output.answer(f"written: {out}")
    output.values({**answer_of(motion, out), "segments": len(motion.breakpoints) - 1})
    conclude_motion(motion.converged)


def write_motion(motion: Motion, out: Path, rate: float, output: Output) -> None:
    """Write a motion as its name ends: points for a controller, which are printed, or a table."""
    ending = out.suffix.lower()
    if ending not in (*MESSAGES, HEADER):
        motion.to_csv(out, rate)
        return
    from problems.moves import hand_over

    points = hand_over(motion)
    if ending == HEADER:
        points.to_c_header(out, re.sub(r"\W|^(?=\d)", "_", out.stem, flags=re.ASCII))
    else:
        points.to_ros(out)
    output.answer(str(points))


def answer_of(motion: Motion, out: Path, limits: MotionCertificate | None = None) -> dict[str, Any]:
    """The answer for programs."""
    return {
        "converged": motion.converged,
        "duration": motion.duration,
        "limits": [
            {"name": line.name, "evidence": line.evidence, "excess": line.excess, "joint": line.joint}
            for line in (limits or motion.certificate).lines
        ],
        "file": str(out),
    }
