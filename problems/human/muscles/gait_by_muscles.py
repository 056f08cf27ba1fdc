"""The walk of `gait` with `muscles=True`: its parameters, and what the command line writes and says of it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
import trajopt
from problems.human.assessment.measured import TRIAL
from problems.human.assessment.score import mean_correlation, scores_of
from problems.human.gait.formulation import PREDICTED_CONTACT
from problems.human.motions.motion_file import TRANSLATIONS
from problems.human.muscles.muscle_use import Columns, write_states
from problems.human.muscles.walk import (
    FINE,
    LEGS,
    MOVING,
    TRUNK,
    Intervals,
    muscle_cycle,
    staged_walk,
    walk_curves,
)
from problems.human.opensim.setups import MOTION
from problems.human.opensim.storage import Storage, write_storage
from trajopt.base.arguments import check_count, short_repr
from trajopt.base.errors import OptionError

OPTIONS = (
    "model", "speed", "step_length", "intervals", "friction", "steadiness", "force_rate", "smoothness"
)  # fmt: skip


def gait_by_muscles(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> trajopt.Problem:
    """The problem of `staged_walk` for the parameters of `gait`, with further coordinates held.

    given, defaults : every parameter of `gait`
    Raises OptionError without a model, for a parameter that such a walk does not have, for intervals that
    are no whole number, and what `dynamics.load_osim` and `muscle_walk` raise.
    """
    for name, value in given.items():
        same = value == defaults[name] or (name == "contact" and value == PREDICTED_CONTACT)
        if not (same or name == "muscles" or name in OPTIONS):
            raise OptionError(
                f"{name} is {short_repr(value)}, but with muscles=True the walk is sagittal, with predicted "
                f"contact, and has no such choice: leave it out. It takes {', '.join(OPTIONS)}"
            )
    if not given["model"]:
        raise OptionError(
            "muscles=True needs the muscles of a model: give model=..., a sagittal .osim such as OpenSim's "
            "gait10dof18musc.osim"
        )
    weights = {name: given[name] for name in OPTIONS[-3:] if given[name] is not None}
    return staged_walk(
        sagittal_model(given["model"]),
        speed=given["speed"],
        step_length=given["step_length"],
        intervals=intervals_of(given["intervals"]),
        friction=given["friction"],
        **weights,
    )


def sagittal_model(path: str) -> dynamics.OsimModel:
    """The model of a file with its muscles, all coordinates held that a sagittal walk does not move."""
    with warnings.catch_warnings():  # the second reading says the same
        warnings.simplefilter("ignore")
        names = dynamics.load_osim(path).robot.joint_names
    return dynamics.load_osim(path, hold=[name for name in names if name not in MOVING], muscles=True)


def intervals_of(longest: int | None) -> Intervals:
    """Intervals of the four arcs; longest : of the third arc, None for 8."""
    if longest is None:
        return FINE
    check_count("intervals", longest, 1)
    first, second, third, fourth = (max(1, round(int(longest) * each / FINE[2])) for each in FINE)
    return first, second, third, fourth


def draw(solution: trajopt.Solution, folder: Path, ending: str) -> list[str]:
    """Write the motion and the muscles of a cycle, and figures of both; names of the files."""
    from problems.human.plot.muscle_walk import activations, beside_trial

    cycle = muscle_cycle(solution)
    columns = {
        name: x if name.endswith(TRANSLATIONS) else np.rad2deg(x)
        for name, x in zip(cycle.names, cycle.q.T, strict=True)
    }
    write_storage(folder / MOTION, Storage("Coordinates", cycle.time, columns, in_degrees=True))
    states = Columns(cycle.muscles, cycle.activation), Columns(cycle.muscles, cycle.excitation)
    write_states(folder / "muscles.sto", cycle.time, *states, Columns(cycle.motors, cycle.reserve))
    names = [f"gait_{name}.{ending}" for name in ("curves", "muscles")]
    for figure, name in zip((beside_trial(solution), activations(solution)), names, strict=True):
        figure.savefig(folder / name)
    return [*names, MOTION, "muscles.sto"]


def remarks(solution: trajopt.Solution) -> list[str]:
    """Lines below the report of a solved walk: correlations with a measured one, and the largest reserve."""
    if not solution.converged:
        return []
    scores, cycle = scores_of(*walk_curves(solution), TRIAL), muscle_cycle(solution)
    each = ", ".join(f"{score.quantity} {score.correlation:.2f}" for score in scores)
    most = {name: np.abs(x).max() for name, x in zip(cycle.motors, cycle.reserve.T, strict=True)}
    leg, trunk = max(LEGS, key=lambda name: most[name]), most[TRUNK]
    return [
        f"correlation with {TRIAL}: {each}; mean {mean_correlation(scores):.2f}",
        f"reserves: {most[leg]:.2g} N m at most at {leg}; the trunk's motor gives {trunk:.2g} N m",
    ]
