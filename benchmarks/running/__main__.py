"""Runs beside people: `OSIM_MODELS=FOLDER python -m benchmarks.running [runs] [crossing]`.

`runs`: at 3 and 4 m/s, events, peaks and curves beside the measured trial, whose files lie in FOLDER.
`crossing`: what a walk and a run cost per metre from 1.5 to 3 m/s. Each writes its table in docs/running.md.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

import trajopt
from benchmarks.running.trial import SPEED, trial
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.markdown import table
from benchmarks.shared.page_rows import put_between_marks
from benchmarks.shared.timing import machine
from problems import gait, running
from problems.human import plot
from problems.human.assessment.criteria import agreement
from problems.human.assessment.metabolic import metabolic_cost
from problems.human.assessment.running import run_events
from problems.human.assessment.score import predicted_curves
from problems.human.assessment.whole_body import whole_body
from problems.human.gait.cycle import gait_cycle
from problems.human.gait.step import UntestedSpeedWarning

PICTURES = ("snapshots", "reactions")
SPEEDS = (1.5, 2.0, 2.5, 3.0)  # m/s, of both gaits
# Step lengths of people who walk on a treadmill, m at m/s (van der Zee et al.), and the line through both.
WALKED = ((1.2, 0.59), (1.6, 0.70))


def runs(docs: Path, smallest: bool) -> str:
    """Runs at 3 m/s and at the speed and step length of the trial, and the trial itself."""
    people = trial()
    asked = {"3 m/s": {"speed": 3.0}, "4 m/s": {"speed": SPEED, "step_length": people.step_length}}
    refine = None if smallest else "auto"
    found = {name: solved(running.build(**parameters), refine) for name, parameters in asked.items()}
    draw(found["3 m/s"][0], docs / "figures")
    columns = [events_of(*each) for each in found.values()]
    columns.append([people.duty_factor, people.flight, people.peak, None, None, None, None])
    names = ["duty factor", "flight (s)", "peak of the vertical reaction (BW)", "ends", "`verify`",
             "iterations", "CPU s"]  # fmt: skip
    rows = [[name, *map(cell, values)] for name, *values in zip(names, *columns, strict=True)]
    scored = [curves_of(solution, people.curves) for solution, _ in found.values()]
    for name in people.curves:
        rows.append([f"{name}: r, RMS", *("{:.2f}, {:.2g}".format(*each[name]) for each in scored), ""])
    means = [float(np.mean([r for r, _ in each.values()])) for each in scored]
    rows.append(["mean correlation", *(f"**{mean:.3f}**" for mean in means), ""])
    return table(["", *found, "the trial, 4 m/s"], rows)


def draw(solution: trajopt.Solution, folder: Path) -> None:
    """The pictures of the page."""
    for name in PICTURES:
        getattr(plot, name)(solution).savefig(folder / f"run_{name}.png", dpi=130)


def crossing(docs: Path, smallest: bool) -> str:
    """Cost per metre of both gaits: the objective, which both minimize, and metabolic cost."""
    rows = []
    speeds: Sequence[float] = SPEEDS[-1:] if smallest else SPEEDS
    for speed in speeds:
        walk, run = (each[0] for each in (solved(walk_at(speed)), solved(running.build(speed=speed))))
        costs = [cell(f(each)) for f in (per_metre, metabolic_cost) for each in (walk, run)]
        ends = ", ".join(each.status.name.lower() for each in (walk, run))
        rows.append([f"{speed:g} m/s", *costs, cell(run_events(run).flight), ends])
        print(rows[-1], flush=True)
    columns = ["walk: objective", "run: objective", "walk: J/kg/m", "run: J/kg/m", "run: flight (s)", "ends"]
    return table(["", *columns], rows)


def walked_step(speed: float) -> float:
    """Step length of a walk on the line through WALKED, m."""
    (slow, short), (fast, long) = WALKED
    return short + (long - short) * (speed - slow) / (fast - slow)


def walk_at(speed: float) -> trajopt.Problem:
    """A walk with the cost of the run, at the step length of `walked_step`."""
    of_run = running.build().recipe.parameters
    same = {name: of_run[name] for name in ("power", "steadiness", "force_rate", "smoothness", "tendons")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntestedSpeedWarning)
        return gait.build(speed=speed, step_length=walked_step(speed), **same)


def solved(problem: trajopt.Problem, refine: Literal["auto"] | None = None) -> tuple[trajopt.Solution, float]:
    """One solve, on the mesh of the problem unless refined, and its processor time in s."""
    began = time.process_time()
    solution = trajopt.solve(problem, refine=refine, starts=1, progress="silent")
    return solution, time.process_time() - began


def events_of(solution: trajopt.Solution, seconds: float) -> list[Any]:
    """The first column of a run: events, how it ended, its verdict, iterations, seconds."""
    found = run_events(solution)
    iterations = sum(len(each.iterations) - 1 for each in solution.journal.histories)
    outcome = [solution.status.name.lower(), solution.verify().verdict, iterations, seconds]
    return [found.duty_factor, found.flight, found.peak, *outcome]


def curves_of(solution: trajopt.Solution, people: dict[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    """Correlation and root mean square difference of every measured curve."""
    body = whole_body(gait_cycle(solution))
    own, percent = predicted_curves(body), np.linspace(0.0, 100.0, next(iter(people.values())).size)
    return {
        name: agreement(own[name], np.interp(body.cycle.percent, percent, values))
        for name, values in people.items()
    }


def per_metre(solution: trajopt.Solution) -> float:
    """Objective over the way."""
    return solution.objective / gait_cycle(solution).step_length


def cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.3g}"


PARTS = {"runs": runs, "crossing": crossing}


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("parts", nargs="*", metavar="part", choices=[*PARTS, []])
    given = arguments.parse_args()
    with pages(given.smallest) as docs:
        for part in given.parts or PARTS:
            about = f"*`python -m benchmarks.running {part}`, {machine()}.*"
            found = PARTS[part](docs, given.smallest)
            put_between_marks(docs / "running.md", part, f"{found}\n\n{about}")
            print(found)


if __name__ == "__main__":
    main()
