"""The command `trajopt inverse-dynamics`: joint moments of a measured motion with measured forces."""

from __future__ import annotations

from pathlib import Path

import click

from problems.cli.command_errors import explained
from problems.cli.commands.retime import REPAIR_HELP
from problems.cli.completion import EXISTING_FILE, NewFile
from problems.cli.output import Output, output_options


@click.command("inverse-dynamics")
@click.argument("model", metavar="MODEL.osim", type=EXISTING_FILE)
@click.argument("motion", metavar="MOTION", type=EXISTING_FILE)
@click.argument("forces", metavar="FORCES.xml", type=EXISTING_FILE, required=False)
@click.option("--table", type=EXISTING_FILE, help="Measured forces [default: the table that FORCES names]")
@click.option(
    "--cutoff", type=float, default=6.0, show_default=True, help="Hz, of the filter of coordinates; 0: none."
)
@click.option("--window", type=(float, float), help="s, first and last time of the answer [default: all]")
@click.option("--repair-inertia", is_flag=True, help=REPAIR_HELP)
@click.option(
    "--out", type=NewFile(".sto"), default="inverse_dynamics.sto", show_default=True, help="The moments."
)
@output_options("json", "quiet")
@explained
def inverse_dynamics(
    model: Path,
    motion: Path,
    forces: Path | None,
    table: Path | None,
    cutoff: float,
    window: tuple[float, float] | None,
    repair_inertia: bool,
    out: Path,
    output: Output,
) -> None:
    """Joint moments of a measured motion, as OpenSim's tool computes them.

    MOTION has coordinates of the model over time (.mot, .sto, .csv), FORCES is OpenSim's setup of external
    loads. Writes a table with OpenSim's labels and prints every coordinate's rms and largest moment; those
    between ground and pelvis are residuals.
    """
    import numpy as np

    from dynamics import load_osim
    from problems.human.measured.external_loads import read_external_loads
    from problems.human.measured.inverse_dynamics import joint_moments
    from problems.human.motions.motion_file import read_motion

    loads = () if forces is None else read_external_loads(forces, table)
    osim = load_osim(model, repair_inertia=repair_inertia)
    measured = read_motion(motion, osim.robot.joint_names)
    found = joint_moments(osim, measured, loads, cutoff=cutoff or None, window=window)
    found.write(out)
    output.answer(f"{found}\nwritten: {out}")
    rms = np.sqrt(np.mean(found.tau**2, axis=0))
    output.values(
        {
            "rms": dict(zip(found.names, rms.tolist(), strict=True)),
            "residuals": list(found.residuals),
            "assumed": list(found.assumed),
            "samples": len(found.time),
            "files": [str(out)],
        }
    )
