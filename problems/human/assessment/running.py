"""Comparison of a solved run with people's: duty factor, flight, peak of the vertical reaction; its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from problems.human.assessment.criteria import Criterion, table, unmet
from problems.human.assessment.metabolic import metabolic_cost
from problems.human.gait.cycle import UNLOADED, gait_cycle

if TYPE_CHECKING:
    from trajopt import Solution

DUTY_FACTOR, FLIGHT, PEAK = (0.30, 0.40), (0.06, 0.14), (2.2, 2.8)  # docs/running.md: 3 m/s; s, BW
PICTURES = ("angles", "torques", "reactions", "forces", "snapshots")


@dataclass(frozen=True)
class RunEvents:
    """Events of one step from strike to strike: seconds of stance and flight, their parts, the peak in BW."""

    contact: float
    flight: float
    duty_factor: float
    peak: float


def run_events(solution: Solution) -> RunEvents:
    """Read from the ground's reaction on both feet; the peak is the largest value between the nodes, too."""
    cycle = gait_cycle(solution)
    vertical = cycle.reaction("r")[:, 4] / cycle.weight
    contact = float(cycle.time[np.flatnonzero(vertical > UNLOADED)[-1]])
    return RunEvents(contact, 0.5 * cycle.duration - contact, contact / cycle.duration, float(vertical.max()))


def run_criteria(solution: Solution) -> tuple[Criterion, ...]:
    """The three by which a run at 3 m/s is people's."""
    found = run_events(solution)
    return (
        Criterion("duty factor", found.duty_factor, *DUTY_FACTOR),
        Criterion("flight", found.flight, *FLIGHT, "s"),
        Criterion("vertical reaction, peak", found.peak, *PEAK, "BW"),
    )


def draw(solution: Solution, folder: Path, ending: str) -> list[str]:
    """Write figures of the cycle, an animation, exports and the table of criteria; names of the files."""
    from problems.human import plot
    from problems.human.assessment.exports import export

    names = [f"run_{name}.{ending}" for name in PICTURES]
    for picture, name in zip(PICTURES, names, strict=True):
        getattr(plot, picture)(solution).savefig(folder / name)
    plot.animate(solution, folder / "run.gif")
    text = [table(run_criteria(solution)), *remarks(solution)[1:]]
    (folder / "run.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return [*names, "run.gif", "run.md", *export(solution, folder)]


def remarks(solution: Solution) -> list[str]:
    """Lines that the command line prints below the report: criteria that are not met, and metabolic cost."""
    if not solution.converged:
        return []
    cost = f"Metabolic cost {metabolic_cost(solution):.2f} J per kg and m (Minetti and Alexander 1997)."
    return [unmet(run_criteria(solution), "run of people at 3 m/s"), cost]
