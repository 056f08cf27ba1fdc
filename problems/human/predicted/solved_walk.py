"""The walk from which the search for a step with predicted contact starts: one that was solved before.

`data/solved_walk.csv` has the joints and the forces of the step of STEP_LENGTH m that
`python -m benchmarks.gait.solved_walk` found from the measured start. It is stretched to other steps: the way
by the step length, the pelvis by the height, times by the duration. Forces are in body weights.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

import trajopt
from problems.human.body.model import ACTIVE, TABLE_HEIGHT
from problems.human.body.tables import Row, one_of, rows, vector
from problems.human.gait.step import Step
from problems.human.predicted.stances import STANCES
from trajopt.base.arguments import list_names
from trajopt.base.errors import ProblemError

FILE = "solved_walk.csv"
SPEED, STEP_LENGTH = 1.2, 0.65  # m/s, m
SAMPLES = 7  # evenly spaced in each arc, from its first to its last time
COLUMNS = ("curve", "unit", "arc", *(f"s{i}" for i in range(SAMPLES)))
TIME = "time"  # the curve that says when samples are, in parts of the step
UNITS = MappingProxyType({"part": 1.0, "deg": np.pi / 180.0, "m": 1.0, "BW": 1.0})
LENGTHS = ("global_tx", "global_ty", "global_tz")

Curves = Mapping[str, np.ndarray]  # name -> values (arcs, SAMPLES)


def guess_solved_walk(problem: trajopt.Problem, step: Step) -> None:
    """Let the search of a predicted step start from the solved walk, stretched to this step."""
    from scipy.interpolate import CubicSpline

    found = solved_curves()
    arcs = found[TIME].shape[0]
    names = [*problem.dynamics.joint_names, *_forces(problem)]
    nothing = np.zeros((arcs, SAMPLES))
    values = np.stack([_stretched(name, found.get(name, nothing), step) for name in names], axis=-1)
    within = np.linspace(0.0, 1.0, SAMPLES)
    pieces = [CubicSpline(within, each) for each in values]

    def curve(s: np.ndarray) -> np.ndarray:
        """All joints and forces at normalised times: every arc has the same share of 0 to 1."""
        along = arcs * np.asarray(s, dtype=float)
        arc = np.clip(along.astype(int), 0, arcs - 1)
        return np.stack([pieces[k](time - k) for k, time in zip(arc, along, strict=True)])

    problem.guess(q=curve, duration=step.duration * np.ptp(found[TIME], axis=1))


@functools.cache
def solved_curves() -> Curves:
    """Joints (rad, m), forces (body weights) and times of the solved walk; forces that are zero are left out.

    Raises ProblemError for a table with a column, word or number that is none.
    """
    return curves_of(rows(FILE, list(COLUMNS)))


def curves_of(table: Sequence[Row]) -> Curves:
    """The curves of the rows of such a table; ProblemError where times or rows of joints are missing."""
    arcs = [str(arc) for arc in range(len(STANCES))]
    found: dict[str, np.ndarray] = {}
    read: set[tuple[str, str]] = set()
    for row in table:
        name, unit = row["curve"], one_of(row, "unit", tuple(UNITS))
        values, place = vector(row, list(COLUMNS[3:])), (name, one_of(row, "arc", tuple(arcs)))
        into = found.setdefault(name, np.zeros((len(arcs), SAMPLES)))
        if unit != "BW" and name not in (TIME, *ACTIVE):
            raise ProblemError(f"{row.where} has '{name}', which is no joint: correct the name")
        if place in read:
            raise ProblemError(f"{row.where} has '{name}' in arc {place[1]} once more: keep one of the rows")
        read.add(place)
        into[int(place[1])] = UNITS[unit] * values
    if TIME not in found:
        raise ProblemError(f"table {FILE} has no row '{TIME}': write when each arc is sampled")
    if absent := {(name, arc) for name in (TIME, *ACTIVE) for arc in arcs} - read:
        names = list_names(f"{name} in arc {arc}" for name, arc in sorted(absent))
        raise ProblemError(f"table {FILE} lacks {names}: write a row for each")
    times = found[TIME]
    if np.any(np.diff(times, axis=1) <= 0.0) or np.any(times[1:, 0] != times[:-1, -1]):
        raise ProblemError(
            f"table {FILE} has times that do not rise from arc to arc: {times.ravel().tolist()}"
        )
    return MappingProxyType(found)


def table_of(solution: trajopt.Solution) -> str:
    """The CSV text of a walk, as `solved_curves` reads it."""
    ends = np.append(0.0, np.cumsum(solution.curve.durations)) / solution.duration
    arcs = ends.size - 1
    even = (np.arange(arcs)[:, None] + np.linspace(0.0, 1.0, SAMPLES).clip(1e-9, 1.0 - 1e-9)) / arcs
    values = np.asarray(solution.curve.at_progress(even))
    names = [*solution.joint_names, *_forces(solution.problem)]
    lines: list[Iterable[object]] = [COLUMNS]
    times = np.linspace(ends[:-1], ends[1:], SAMPLES, axis=1)
    for arc in range(arcs):
        lines.append((TIME, "part", arc, *(f"{part:.5f}" for part in times[arc])))
    for i, name in enumerate(names):
        unit = "BW" if i >= len(solution.joint_names) else "m" if name in LENGTHS else "deg"
        shown = np.rad2deg(values[..., i]) if unit == "deg" else values[..., i]
        for arc in range(arcs):
            if unit != "BW" or np.any(shown[arc]):
                lines.append((name, unit, arc, *(f"{each:.4f}" for each in shown[arc])))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _forces(problem: trajopt.Problem) -> list[str]:
    """Names of the components of all curves behind the joints."""
    return [f"{name} {i}" for name, width in problem.extra_widths.items() for i in range(width)]


def _stretched(name: str, values: np.ndarray, step: Step) -> np.ndarray:
    if name == "global_tx":
        return values * (step.length / STEP_LENGTH)
    return values * (step.height / TABLE_HEIGHT) if name in LENGTHS else values
