"""Labels of the rows and bounds of a program: constraint, component, time and unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trajopt.base.arrays import Array, finite_size
from trajopt.problem.phases import Asked
from trajopt.problem.problem import Problem
from trajopt.transcription.linked_program import LinkedProgram, placed_parts
from trajopt.transcription.nlp import NLP
from trajopt.transcription.unknowns import Label, RowLabel, UnknownLabels


@dataclass(frozen=True)
class LimitPlace:
    """One row or bound of a problem, named."""

    limit: str
    component: str
    time: float | None

    def __str__(self) -> str:
        when = "" if self.time is None else f" at t = {self.time:.4f} s"
        return f"{self.limit}{', ' * bool(self.component)}{self.component}{when}"


class LimitLabels:
    """Names, times and units of the rows and bounds of a program, (m + n,) each.

    Of phases the name of each limit begins with that of its phase; the equations between phases have none.

    keys : (constraint, component)
    units, parts : factors from a scaled violation to one in the limit's unit, and to a part of the limit
    """

    def __init__(self, asked: Asked, program: NLP | LinkedProgram, y: Array) -> None:
        phases, problems, coupled = [""], asked.parts, ()
        if isinstance(program, LinkedProgram):
            phases = [f"{name}: " for name in program.phases.phase_names]
            problems, coupled = program.linked.problems, program.coupling.labels
        rows, bounds = [], []
        for phase, problem, (nlp, place, *_) in zip(phases, problems, placed_parts(program), strict=True):
            lines = _lines(phase, problem, nlp, np.ascontiguousarray(y[place]))
            rows += lines[: nlp.row_count]
            bounds += lines[nlp.row_count :]
        rows += [_Line(f"link of {each}", "", None, f"link of {each}", 1.0, 1.0) for each in coupled]
        self._lines = [*rows, *bounds]
        self.units, self.parts = (np.array([line[k] for line in self._lines]) for k in (-2, -1))
        self.keys = [line[:2] for line in self._lines]

    def name(self, index: int) -> str:
        """A row by its phase, constraint, component and time, an unknown by its phase and its own label."""
        return self._lines[index].name

    def members(self, place: LimitPlace) -> Array:
        """All rows and bounds of a component of a limit, of all components where none is named."""
        asked = (place.limit, place.component)[: 1 + bool(place.component)]
        return np.flatnonzero([key[: len(asked)] == asked for key in self.keys])

    def grouped(self, indices: Iterable[int]) -> dict[tuple[str, str], list[int]]:
        """Rows and bounds by constraint and component, in their order."""
        found: dict[tuple[str, str], list[int]] = {}
        for index in indices:
            found.setdefault(self.keys[index], []).append(index)
        return found

    def place(self, index: int) -> LimitPlace:
        return LimitPlace(*self._lines[index][:3])


class _Line(NamedTuple):
    """One row or bound, in the order of the lists of `LimitLabels`."""

    limit: str
    component: str
    time: float | None
    name: str
    unit: float
    part: float


def _lines(phase: str, problem: Problem, nlp: NLP, y: Array) -> list[_Line]:
    """The rows, then the bounds, of the program of one problem."""
    unknowns, count = UnknownLabels(problem, nlp.unknowns.layout), nlp.row_count
    labels: list[Label] = [*nlp.row_labels]
    labels += [unknowns.label(int(column)) for column in nlp.unknowns.elimination.free]
    times = nlp.unknowns.node_times(y)
    units = np.concatenate([1.0 / nlp.row_scale, np.ones(nlp.variable_count)])
    parts = np.ones(units.size)
    _measure_velocities(problem, nlp, float(np.mean(nlp.unknowns.curve(y).durations)), units, parts)
    for place in nlp.durations:
        known = [b for b in (nlp.lower[place], nlp.upper[place]) if np.isfinite(b) and b > 0.0]
        parts[count + place] = 1.0 / max(known, default=1.0)
    found = []
    for label, unit, part in zip(labels, units, parts, strict=True):
        node = label.node if isinstance(label, RowLabel) else None
        own = LimitPlace(label.constraint, label.component, None if node is None else float(times[node]))
        name = own if isinstance(label, RowLabel) else label
        found.append(_Line(phase + own.limit, own.component, own.time, f"{phase}{name}", unit, part))
    return found


def _measure_velocities(problem: Problem, nlp: NLP, duration: float, units: Array, parts: Array) -> None:
    """Rows of velocity hulls are multiplied by the duration and bounded by zero."""
    limits = {c.name: c for c in problem.constraints if c.hold == "hull" and c.term.quantity == "v"}
    joints = list(problem.dynamics.joint_names)
    for row, label in enumerate(nlp.linear.labels):
        if isinstance(label, RowLabel):
            limit, joint = limits[label.constraint], joints.index(label.component)
            units[row] /= duration
            parts[row] = units[row] / (finite_size([limit.lower[joint], limit.upper[joint]]) or 1.0)
