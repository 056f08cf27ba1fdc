"""The walks and runs from which the search for a step starts: some solved before.

The files of WALKS, `data/solved_walk.csv` for one, have the joints and the forces of the steps with
predicted contact that `python -m benchmarks.gait.solved_walk` found, those of IMPOSED the joints and the
smooth reaction of its steps with imposed contact, and those of RUNS, with stretches of tendons, the steps of
`python -m benchmarks.running.solved_run`: polynomials of degree SAMPLES - 1 on every interval of their
mesh, by their values, so that accelerations and forces are those that were found. The walk whose speed and
step length are nearest is stretched to the step that is asked for: the way by the step length, the pelvis by
the height, times by the duration. Forces are in body weights.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

import numpy as np

import trajopt
from problems.human.body.model import ACTIVE, TABLE_HEIGHT, other_side, step_symmetry
from problems.human.body.tables import Row, one_of, rows, vector
from problems.human.gait.step import Step
from problems.human.predicted.tendons import STRETCH
from trajopt.base.arguments import list_names
from trajopt.base.errors import ProblemError

FILE = "solved_walk.csv"
# File -> speed, m/s, and step length, m: near those of people, and none that a table of `docs/gait.md` has.
WALKS = MappingProxyType({
    "solved_walk_slow.csv": (0.7, 0.45), "solved_walk_easy.csv": (1.05, 0.55), FILE: (1.2, 0.62),
    "solved_walk_brisk.csv": (1.35, 0.70), "solved_walk_short.csv": (1.45, 0.62),
    "solved_walk_fast.csv": (1.7, 0.73),
})  # fmt: skip
# The same of walks with imposed contact and the sourced cost, from which `gait` starts by default.
IMPOSED = MappingProxyType({
    "imposed_walk_slow.csv": (0.7, 0.45), "imposed_walk_easy.csv": (1.05, 0.55),
    "imposed_walk.csv": (1.2, 0.62), "imposed_walk_brisk.csv": (1.35, 0.70),
    "imposed_walk_short.csv": (1.45, 0.62), "imposed_walk_fast.csv": (1.7, 0.73),
})  # fmt: skip
# The same of runs, from which `running` starts.
RUNS = MappingProxyType({"solved_run.csv": (3.0, 1.08), "solved_run_fast.csv": (4.0, 1.38)})
LENGTH_OF_SPEED = 0.28  # m for 1 m/s: how much longer people's steps are
DIGITS = 9  # with 6, rounding in intervals of 3 ms is 1 N m of a hip's moment
SAMPLES = 6  # evenly spaced in each interval, from its first to its last time
COLUMNS = ("curve", "unit", "interval", *(f"s{i}" for i in range(SAMPLES)))  # interval: "arc.number"
TIME = "time"  # the curve that says when samples are, in parts of the step
UNITS = MappingProxyType({"part": 1.0, "deg": np.pi / 180.0, "m": 1.0, "BW": 1.0})
ARC = "arc"  # the number of the arc of every interval
MIRRORED_EDGES = MappingProxyType({"0": "1", "1": "0"})
LENGTHS = ("global_tx", "global_ty", "global_tz")

Stored = Mapping[str, tuple[float, float]]
Curves = Mapping[str, np.ndarray]  # name -> values (intervals, SAMPLES); ARC -> (intervals,)


def guess_solved_walk(problem: trajopt.Problem, steps: Sequence[Step], stored: Stored = WALKS) -> None:
    """Let the search of steps start from the nearest one that is stored, stretched, every other mirrored."""
    from scipy.interpolate import PPoly

    file = nearest_walk(steps[0], stored)
    found = solved_curves(file)
    lengths = np.ptp(found[TIME], axis=1)
    durations = np.bincount(found[ARC], lengths)
    widths = lengths / durations[found[ARC]]  # of the intervals, where every arc has the width 1
    names, nothing = problem.dynamics.joint_names, np.zeros_like(found[TIME])
    signs, order, offset = step_symmetry(names, steps[0].length)
    further = steps[0].length / stored[file][1]
    q = np.stack([_stretched(name, found[name], steps[0], further) for name in names], axis=-1)
    halves, forces = [], _forces(problem)
    for _ in steps:
        halves.append(np.concatenate([q, *(found.get(name, nothing)[..., None] for name in forces)], axis=-1))
        q, forces = signs * q[..., order] + offset, [_mirrored_force(name) for name in forces]
    values, widths, durations = (
        np.concatenate(halves),
        *(np.tile(each, len(steps)) for each in (widths, durations)),
    )
    powers = np.linalg.inv(np.vander(np.linspace(0.0, 1.0, SAMPLES)))
    falling = widths[:, None] ** -np.arange(SAMPLES - 1.0, -1.0, -1.0)
    coefficients = np.einsum("ps,isn,ip->pin", powers, values, falling)
    pieces = PPoly(coefficients, np.append(0.0, np.cumsum(widths)))
    problem.guess(q=lambda s: pieces(durations.size * np.asarray(s)), duration=steps[0].duration * durations)


def nearest_walk(step: Step, stored: Stored = WALKS) -> str:
    """The file of the stored step whose speed and step length are nearest, those of the height of the table.

    Speeds are compared as sqrt(g height), lengths as the height.
    """
    tall = step.height / TABLE_HEIGHT
    speed, length = step.length / step.duration / np.sqrt(tall), step.length / tall
    return min(
        stored, key=lambda f: np.hypot(stored[f][0] - speed, (stored[f][1] - length) / LENGTH_OF_SPEED)
    )


@functools.cache
def solved_curves(file: str = FILE) -> Curves:
    """Joints (rad, m), forces (body weights) and times of a solved walk; forces that are zero are left out.

    Raises ProblemError for a table with a column, word or number that is none.
    """
    return curves_of(rows(file, list(COLUMNS)))


def curves_of(table: Sequence[Row]) -> Curves:
    """The curves of the rows of such a table; ProblemError where times or rows of joints are missing."""
    intervals = tuple(row["interval"] for row in table if row["curve"] == TIME)
    if not intervals:
        raise ProblemError(f"table {FILE} has no row '{TIME}': write when each interval is sampled")
    found: dict[str, np.ndarray] = {}
    read: set[tuple[str, str]] = set()
    for row in table:
        name, unit = row["curve"], one_of(row, "unit", tuple(UNITS))
        values, place = vector(row, list(COLUMNS[3:])), (name, one_of(row, "interval", intervals))
        into = found.setdefault(name, np.zeros((len(intervals), SAMPLES)))
        if unit != "BW" and name not in (TIME, *ACTIVE) and not name.startswith(STRETCH):
            raise ProblemError(f"{row.where} has '{name}', which is no joint: correct the name")
        if place in read:
            again = f"'{name}' in interval {place[1]} once more"
            raise ProblemError(f"{row.where} has {again}: keep one of the rows")
        read.add(place)
        into[intervals.index(place[1])] = UNITS[unit] * values
    if absent := {(name, interval) for name in ACTIVE for interval in intervals} - read:
        names = list_names(f"{name} in interval {interval}" for name, interval in sorted(absent))
        raise ProblemError(f"table {FILE} lacks {names}: write a row for each")
    times = found[TIME]
    joined = np.all(times[1:, 0] == times[:-1, -1]) and np.array_equal(times[[0, -1], [0, -1]], (0.0, 1.0))
    if not joined or np.any(np.diff(times, axis=1) <= 0.0):
        every = times.ravel().tolist()
        raise ProblemError(f"table {FILE} has times that do not rise from 0 to 1, end to end: {every}")
    found[ARC] = np.array([int(interval.partition(".")[0]) for interval in intervals])
    return MappingProxyType(found)


def table_of(solution: trajopt.Solution) -> str:
    """The CSV text of a walk, as `solved_curves` reads it."""
    curve, names = solution.curve, [*solution.joint_names, *_forces(solution.problem)]
    lines: list[Iterable[object]] = [COLUMNS]
    within = np.linspace(0.0, 1.0, SAMPLES)
    inside = within.clip(1e-9, 1.0 - 1e-9)  # forces may jump at breakpoints
    intervals = {
        f"{arc}.{i}": ends
        for arc, points in enumerate(curve.knot_times_of_arcs)
        for i, ends in enumerate(pairwise(points))
    }
    for interval, (begin, end) in intervals.items():
        times = (begin + (end - begin) * within) / solution.duration
        lines.append((TIME, "part", interval, *(f"{part:.{DIGITS}f}" for part in times)))
    found = {key: curve(begin + (end - begin) * inside) for key, (begin, end) in intervals.items()}
    for column, name in enumerate(names):
        unit = _unit(name)
        for interval, values in found.items():
            shown = np.rad2deg(values[:, column]) if unit == "deg" else values[:, column]
            if name in ACTIVE or np.any(shown):
                lines.append((name, unit, interval, *(f"{each:.{DIGITS}f}" for each in shown)))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _unit(name: str) -> str:
    if name in LENGTHS:
        return "m"
    return "deg" if name in ACTIVE or name.startswith(STRETCH) else "BW"


def _forces(problem: trajopt.Problem) -> list[str]:
    """Names of the components of all curves behind the joints."""
    return [f"{name} {i}" for name, width in problem.extra_widths.items() for i in range(width)]


def _mirrored_force(name: str) -> str:
    """The component on the other side; that of a foot pushes along the same edge of the cone, mirrored.

    Edges 0 and 1 push to the right and to the left.
    """
    curve, _, edge = name.rpartition(" ")
    kind, _, point = curve.partition(" ")
    edges = {} if curve.startswith(STRETCH) else MIRRORED_EDGES
    return f"{kind} {other_side(point)} {edges.get(edge, edge)}"


def _stretched(name: str, values: np.ndarray, step: Step, further: float) -> np.ndarray:
    if name == "global_tx":
        return values * further
    return values * (step.height / TABLE_HEIGHT) if name in LENGTHS else values
