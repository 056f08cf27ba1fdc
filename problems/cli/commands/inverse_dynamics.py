"""The command `trajopt inverse-dynamics`: joint moments of a measured motion with measured forces."""

from __future__ import annotations

from pathlib import Path

import click

from problems.cli.command_errors import explained
from problems.cli.completion import NewFile
from problems.cli.measured_trial import MeasuredTrial, trial_options
from problems.cli.output import Output, output_options


@click.command("inverse-dynamics")
@trial_options
@click.option(
    "--out", type=NewFile(".sto"), default="inverse_dynamics.sto", show_default=True, help="The moments."
)
@click.option(
    "--as-opensim",
    is_flag=True,
    help="Accelerate knees that turn about three axes as OpenSim does.",
)
@output_options("json", "quiet")
@explained
def inverse_dynamics(
    trial: MeasuredTrial,
    out: Path,
    as_opensim: bool,
    output: Output,
) -> None:
    """Joint moments of a measured motion, as OpenSim's tool computes them.

    MOTION has coordinates of the model over time (.mot, .sto, .csv), FORCES is OpenSim's setup of external
    loads. Writes a table with OpenSim's labels and prints every coordinate's rms and largest moment; those
    between ground and pelvis are residuals. OpenSim's table has the force of a dependent coordinate by
    itself, which is part here of that of the coordinate that it follows: compare with their sum.
    """
    import numpy as np

    _, _, moments = trial.read(as_opensim=as_opensim)
    moments.write(out)
    output.answer(f"{moments}\nwritten: {out}")
    rms = np.sqrt(np.mean(moments.tau**2, axis=0))
    output.values(
        {
            "rms": dict(zip(moments.names, rms.tolist(), strict=True)),
            "residuals": list(moments.residuals),
            "assumed": list(moments.assumed),
            "samples": len(moments.time),
            "files": [str(out)],
        }
    )
