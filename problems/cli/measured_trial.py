"""A measured trial at the command line: a model, a motion, forces, and the joint moments that follow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from problems.cli.commands.retime import REPAIR_HELP
from problems.cli.completion import EXISTING_FILE

if TYPE_CHECKING:
    from dynamics import OsimModel
    from problems.human.measured.external_loads import MeasuredForce
    from problems.human.measured.inverse_dynamics import JointMoments


@dataclass(frozen=True)
class MeasuredTrial:
    """The files of a trial, and how they are read; cutoff : Hz, 0 for none; window : s."""

    model: Path
    motion: Path
    forces: Path | None
    table: Path | None
    cutoff: float
    window: tuple[float, float] | None
    repair_inertia: bool

    def read(
        self, muscles: bool = False, as_opensim: bool = False
    ) -> tuple[OsimModel, tuple[MeasuredForce, ...], JointMoments]:
        """The model, with its muscles if asked for, the loads on it, and its joint moments."""
        from dynamics import load_osim
        from problems.human.measured.external_loads import read_external_loads
        from problems.human.measured.inverse_dynamics import joint_moments
        from problems.human.motions.motion_file import read_motion

        loads = () if self.forces is None else read_external_loads(self.forces, self.table)
        osim = load_osim(self.model, repair_inertia=self.repair_inertia, muscles=muscles)
        measured = read_motion(self.motion, osim.robot.joint_names)
        moments = joint_moments(
            osim, measured, loads, cutoff=self.cutoff or None, window=self.window, as_opensim=as_opensim
        )
        return osim, loads, moments


def trial_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the arguments and options of a trial, and passes them on as `trial`."""

    @functools.wraps(command)
    def wrapper(
        *arguments: object,
        model: Path,
        motion: Path,
        forces: Path | None,
        table: Path | None,
        cutoff: float,
        window: tuple[float, float] | None,
        repair_inertia: bool,
        **options: object,
    ) -> object:
        trial = MeasuredTrial(model, motion, forces, table, cutoff, window, repair_inertia)
        return command(*arguments, trial=trial, **options)

    for parameter in reversed(
        (
            click.argument("model", metavar="MODEL.osim", type=EXISTING_FILE),
            click.argument("motion", metavar="MOTION", type=EXISTING_FILE),
            click.argument("forces", metavar="FORCES.xml", type=EXISTING_FILE, required=False),
            click.option(
                "--table", type=EXISTING_FILE, help="Measured forces [default: the table that FORCES names]"
            ),
            click.option(
                "--cutoff", type=float, default=6.0, show_default=True,
                help="Hz, of the filter of coordinates; 0: none.",
            ),
            click.option(
                "--window", type=(float, float), help="s, first and last time of the answer [default: all]"
            ),
            click.option("--repair-inertia", is_flag=True, help=REPAIR_HELP),
        )
    ):  # fmt: skip
        wrapper = parameter(wrapper)
    return wrapper
