"""What the limits of a program are called: constraint, component, time and unit of every row and bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.links.phases import Asked
from trajopt.problem.problem import ProblemData
from trajopt.transcription.links.linked_program import LinkedProgram
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
    """What the rows and bounds of a program are called, when they hold and in which units, (m + n,) each.

    limits, components, times : the constraint, its component, and the time of the node if there is one
    keys : (constraint, component) together
    units, parts : factors from a scaled violation to one in the limit's unit, and to a part of the limit
    """

    def __init__(self, problem: ProblemData, nlp: NLP, y: NDArray) -> None:
        layout, free = nlp.unknowns.layout, nlp.unknowns.elimination.free
        unknowns = UnknownLabels(problem, layout)
        self.labels: list[Label] = [*nlp.row_labels, *(unknowns.label(int(column)) for column in free)]
        self.limits = [label.constraint for label in self.labels]
        self.components = [label.component for label in self.labels]
        times = nlp.unknowns.node_times(y)
        nodes = [label.node if isinstance(label, RowLabel) else None for label in self.labels]
        self.times = [None if node is None else float(times[node]) for node in nodes]
        self.units = np.concatenate([1.0 / nlp.row_scale, np.ones(nlp.variable_count)])
        self.parts = np.ones(self.units.size)
        self._measure_velocities(problem, nlp, nlp.unknowns.curve(y).durations)
        self._measure_durations(nlp)
        self.keys = list(zip(self.limits, self.components, strict=True))

    def _measure_velocities(self, problem: ProblemData, nlp: NLP, durations: NDArray) -> None:
        """Rows of velocity hulls are multiplied by the duration and bounded by zero."""
        limits = {c.name: c for c in problem.constraints if c.hold == "hull" and c.term.quantity == "v"}
        joints = list(problem.dynamics.joint_names)
        for row, label in enumerate(nlp.linear.labels):
            if isinstance(label, RowLabel):
                limit, joint = limits[label.constraint], joints.index(label.component)
                sizes = np.abs([limit.lower[joint], limit.upper[joint]])
                self.units[row] /= float(np.mean(durations))
                self.parts[row] = self.units[row] / (sizes[np.isfinite(sizes)].max(initial=0.0) or 1.0)

    def _measure_durations(self, nlp: NLP) -> None:
        for place in nlp.durations:
            bounds = [b for b in (nlp.lower[place], nlp.upper[place]) if np.isfinite(b) and b > 0.0]
            self.parts[nlp.row_count + place] = 1.0 / max(bounds, default=1.0)

    def name(self, index: int) -> str:
        """A row by its constraint, component and time, an unknown by its own label."""
        label = self.labels[index]
        return str(self.place(index) if isinstance(label, RowLabel) else label)

    def members(self, place: LimitPlace) -> NDArray:
        """All rows and bounds of a component of a limit, of all components where none is named."""
        if not place.component:
            return np.flatnonzero([limit == place.limit for limit in self.limits])
        key = (place.limit, place.component)
        return np.flatnonzero([other == key for other in self.keys])

    def place(self, index: int) -> LimitPlace:
        return LimitPlace(self.limits[index], self.components[index], self.times[index])


class LinkedLimitLabels(LimitLabels):
    """The same of phases: limits by the names of their phases, and the equations between phases."""

    def __init__(self, program: LinkedProgram, y: NDArray) -> None:
        names, each = program.phases.phase_names, zip(program.programs, program.parts(y), strict=True)
        parts = [LimitLabels(program.linked.problems[k], own, part) for k, (own, part) in enumerate(each)]
        coupled, counts = program.coupling.labels, [own.row_count for own in program.programs]
        rows = [(k, range(count)) for k, count in enumerate(counts)]
        bounds = [(k, range(count, len(parts[k].limits))) for k, count in enumerate(counts)]
        of_rows = [(k, i) for k, indices in rows for i in indices]
        of_bounds = [(k, i) for k, indices in bounds for i in indices]
        own = [*of_rows, *((-1, i) for i in range(len(coupled))), *of_bounds]  # -1: of no phase
        self._own, self._phases, self._parts = own, names, parts
        self.limits = [
            f"link of {coupled[i]}" if k < 0 else f"{names[k]}: {parts[k].limits[i]}" for k, i in own
        ]
        self.components = ["" if k < 0 else parts[k].components[i] for k, i in own]
        self.times = [None if k < 0 else parts[k].times[i] for k, i in own]
        self.units = np.array([1.0 if k < 0 else parts[k].units[i] for k, i in own])
        self.parts = np.array([1.0 if k < 0 else parts[k].parts[i] for k, i in own])
        self.keys = list(zip(self.limits, self.components, strict=True))

    def name(self, index: int) -> str:
        """A row by its phase, constraint, component and time, an unknown by its phase and its own label."""
        k, i = self._own[index]
        return self.limits[index] if k < 0 else f"{self._phases[k]}: {self._parts[k].name(i)}"


def limit_labels(asked: Asked, program: NLP | LinkedProgram, y: NDArray) -> LimitLabels:
    """The names of the limits of a problem's program, or of that of phases, at y."""
    if isinstance(program, LinkedProgram):
        return LinkedLimitLabels(program, y)
    return LimitLabels(asked.parts[0], program, y)
