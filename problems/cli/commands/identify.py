"""The command `trajopt identify`: a robot's dynamic parameters from measured positions and torques."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from problems.cli.command_errors import explained
from problems.cli.commands.retime import REPAIR_HELP
from problems.cli.completion import EXISTING_FILE, NewFile
from problems.cli.output import Output, output_options

if TYPE_CHECKING:
    from problems.identification import Estimate


@click.command()
@click.argument("robot", metavar="ROBOT.urdf", type=EXISTING_FILE)
@click.argument("tables", metavar="DATA.csv...", type=EXISTING_FILE, nargs=-1, required=True)
@click.option("--rate", type=float, help="Hz, where the tables have no column t.")
@click.option("--bandwidth", type=float, help="Hz, of the fastest movement [default: found]")
@click.option(
    "--friction/--no-friction", default=True, show_default=True, help="Whether friction is estimated."
)
@click.option(
    "--rotors/--no-rotors", default=False, show_default=True, help="Whether rotor inertias are estimated."
)
@click.option("--repair-inertia", is_flag=True, help=REPAIR_HELP)
@click.option(
    "--out",
    type=NewFile(".csv"),
    default="parameters.csv",
    show_default=True,
    help="A table of the base parameters; the robot is written beside it, .json.",
)
@output_options("json", "quiet")
@explained
def identify(
    robot: Path,
    tables: tuple[Path, ...],
    rate: float | None,
    bandwidth: float | None,
    friction: bool,
    rotors: bool,
    repair_inertia: bool,
    out: Path,
    output: Output,
) -> None:
    """Estimate masses, inertias and friction of a robot from measured motions.

    Every table has columns "q JOINT" and "tau JOINT" for all joints, rad, m, N m or N, and "t", s. Prints
    every base parameter with its standard deviation, and what of the robot's parameters is seen.
    """
    from dynamics import load_urdf
    from problems import identification
    from trajopt.base.files import write_text

    model = load_urdf(robot, repair_inertia=repair_inertia).with_rotors("armature" if rotors else "exact")
    data = [identification.read_measurements(table, model.joint_names, rate) for table in tables]
    found = identification.estimate(model, data, bandwidth=bandwidth, friction=friction)
    found.to_csv(out)
    beside = out.with_suffix(".json")
    write_text(beside, found.model.to_json())
    output.answer(f"{found}\nwritten: {out}, {beside}")
    output.values(answer_of(found, out, beside))


def answer_of(found: Estimate, out: Path, beside: Path) -> dict[str, Any]:
    """The answer for programs."""
    each = zip(found.base.names, found.values.tolist(), found.standard_deviations.tolist(), strict=True)
    return {
        "condition": found.condition,
        "samples": found.samples,
        "noise": dict(zip(found.model.joint_names, found.noise.tolist(), strict=True)),
        "base_parameters": [
            {"combination": name, "estimate": value, "standard_deviation": deviation}
            for name, value, deviation in each
        ],
        "files": [str(out), str(beside)],
    }
