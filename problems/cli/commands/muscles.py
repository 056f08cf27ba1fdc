"""The command `trajopt muscles`: the muscle forces behind a measured motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from problems.cli.command_errors import explained
from problems.cli.completion import EXISTING_FILE, ResultFolder
from problems.cli.exit_status import conclude_motion
from problems.cli.measured_trial import MeasuredTrial, trial_options
from problems.cli.output import Output, output_options

if TYPE_CHECKING:
    from problems.human.muscles.contact_forces import ContactForces
    from problems.human.muscles.electromyography import Electromyography
    from problems.human.muscles.muscle_use import MuscleUse


@click.command()
@trial_options
@click.option("--tendon", type=click.Choice(["rigid", "compliant"]), default="rigid", show_default=True)
@click.option(
    "--reserves", type=float, default=1.0, show_default=True, help="N m or N, of ideal motors beside muscles."
)
@click.option(
    "--width", type=float, default=1.0, show_default=True, help="Of active force over fibre length."
)
@click.option("--passive/--no-passive", default=True, show_default=True, help="Whether resting fibres pull.")
@click.option(
    "--joint-load",
    type=(str, float),
    multiple=True,
    metavar="JOINT WEIGHT",
    help="Adds this weight times the integral of the joint's squared contact force, in body weights.",
)
@click.option(
    "--track", is_flag=True, help="Lets the motion give way to its muscles, near what was measured."
)
@click.option(
    "--track-weight",
    type=float,
    help="Of the mean squared distance to the measured coordinates, in 2 degrees and 0.02 m [default: 10].",
)
@click.option("--intervals", type=int, help="Of the mesh [default: 50 per second].")
@click.option("--emg", type=EXISTING_FILE, help="Electromyography beside the activations, .sto or .mot.")
@click.option("--side", type=click.Choice(["r", "l"]), default="r", show_default=True, help="Leg of --emg.")
@click.option(
    "--out", type=ResultFolder(), default="muscles", show_default=True, help="Folder for the results."
)
@output_options("json", "quiet")
@explained
def muscles(
    trial: MeasuredTrial,
    tendon: Literal["rigid", "compliant"],
    reserves: float,
    width: float,
    passive: bool,
    joint_load: tuple[tuple[str, float], ...],
    track: bool,
    track_weight: float | None,
    intervals: int | None,
    emg: Path | None,
    side: str,
    out: Path,
    output: Output,
) -> None:
    """The muscle forces behind a measured motion, with the least squared excitations.

    MOTION has coordinates of the model over time (.mot, .sto, .csv), FORCES is OpenSim's setup of external
    loads. Writes states and controls as Moco does (muscles.sto), forces and fibre lengths (forces.sto),
    contact forces of all joints (joint_forces.sto), with --track the motion (coordinates.sto), and figures.
    Names coordinates that were not measured, large residual forces, joints that the muscles cannot drive and
    fibres beyond their curves.
    """
    from problems.human.muscles.contact_forces import contact_forces, joint_force
    from problems.human.muscles.electromyography import read_electromyography
    from problems.human.muscles.given_motion import muscles_of_motion
    from problems.human.muscles.muscle_use import solve_muscles
    from problems.human.muscles.tracked_motion import WEIGHT, muscles_track, solve_tracking
    from trajopt.base.arguments import check_positive
    from trajopt.base.errors import OptionError

    if track_weight is not None and not track:
        raise OptionError("--track-weight is of a motion that gives way: give --track, too")
    if track and joint_load:
        raise OptionError("--joint-load is of muscles along the measured motion: leave it or --track out")
    for joint, weight in joint_load:
        check_positive(f"the weight of {joint}", weight)
    osim, loads, moments = trial.read(muscles=True)
    problem = muscles_of_motion(
        osim, moments, tendon=tendon, reserves=reserves, width_scale=width, passive=passive,
        intervals=intervals,
    )  # fmt: skip
    for joint, weight in joint_load:
        load = joint_force(osim, problem, joint, loads)
        problem.problem.minimize(weight * load**2, name=f"squared contact force in {joint}")
    recorded = None if emg is None else read_electromyography(emg, problem.fibres.names, side)
    output.progress(f"{problem.block.m} muscles on {len(problem.coordinates)} coordinates")
    lines, more, tracked = list(moments.problems), {}, None
    if track:
        weight = WEIGHT if track_weight is None else track_weight
        tracked = solve_tracking(muscles_track(problem, loads, weight=weight))
        use, moved = tracked.use, tracked.moments
        lines.append(str(tracked))
        more = {"deviation": dict(zip(moved.names, tracked.deviation.tolist(), strict=True))}
    else:
        use, moved = solve_muscles(problem), moments
        lines.append(str(use))
    contacts = contact_forces(osim, moved, use, loads)
    files = write_use(use, contacts, recorded, out)
    if tracked is not None:
        from problems.human.plot.muscle_curves import tracked_motion

        tracked.write_motion(out / "coordinates.sto")
        tracked_motion(tracked).savefig(out / "coordinates.png")
        files += [out / "coordinates.sto", out / "coordinates.png"]
    answer = answer_of(use, contacts, recorded, files) | more
    if recorded is not None:
        agreements = (f"{name} {r:.2f}" for name, r in answer["correlation"].items())
        lines.append(f"correlation of activations with recorded activity: {', '.join(agreements)}")
    output.answer("\n".join([*lines, str(contacts), f"written: {', '.join(map(str, files))}"]))
    output.values(answer | {"problems": [*moments.problems, *use.problems]})
    conclude_motion(use.solution.converged)


def write_use(
    use: MuscleUse, contacts: ContactForces, recorded: Electromyography | None, folder: Path
) -> list[Path]:
    """Write the tables and figures of muscles into a folder, and give their paths."""
    from problems.human.plot import muscle_curves as figures

    folder.mkdir(parents=True, exist_ok=True)
    tables = [folder / f"{name}.sto" for name in ("muscles", "forces", "joint_forces")]
    for write, path in zip((use.write, use.write_forces, contacts.write), tables, strict=True):
        write(path)
    drawn = {
        "activations.png": figures.activations(use, recorded=recorded),
        "forces.png": figures.forces(use),
        "joint_forces.png": figures.contact_forces(contacts),
        "fibre_lengths.png": figures.fibre_lengths(use),
        "reserves.png": figures.reserves(use),
    }
    for name, figure in drawn.items():
        figure.savefig(folder / name)
    return [*tables, *(folder / name for name in drawn)]


def answer_of(
    use: MuscleUse, contacts: ContactForces, recorded: Electromyography | None, files: list[Path]
) -> dict[str, Any]:
    """The answer for programs."""
    import numpy as np

    from problems.human.muscles.electromyography import correlations

    largest = [dict(zip(names, np.abs(x).max(axis=0).tolist(), strict=True)) for names, x in (
        (use.names, use.activation), (use.names, use.force), (use.coordinates, use.reserve),
    )]  # fmt: skip
    power = np.trapezoid(use.metabolic_power(), use.time, axis=0) / (use.time[-1] - use.time[0])
    return {
        "status": use.solution.status.value,
        "objective": use.solution.objective,
        "iterations": use.solution.iterations,
        "largest_activation": largest[0],
        "largest_force": largest[1],
        "largest_reserve": largest[2],
        "largest_joint_force": {name: float(contacts.force(name).max()) for name in contacts.joints},
        "mean_metabolic_power": dict(zip(use.names, power.tolist(), strict=True)),
        "correlation": {} if recorded is None else correlations(use, recorded),
        "files": [str(file) for file in files],
    }
