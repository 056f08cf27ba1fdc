"""What the limits of a program are called: constraint, component, time and unit of every row and bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.problem import ProblemData
from trajopt.transcription.nlp import NLP
from trajopt.transcription.unknowns import Label, RowLabel, UnknownLabels


@dataclass(frozen=True)
class Place:
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
        unknowns = UnknownLabels.of(problem, layout)
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
        for place in nlp.unknowns.durations:
            bounds = [b for b in (nlp.lower[place], nlp.upper[place]) if np.isfinite(b) and b > 0.0]
            self.parts[nlp.row_count + place] = 1.0 / max(bounds, default=1.0)

    def name(self, index: int) -> str:
        """A row by its constraint, component and time, an unknown by its own label."""
        label = self.labels[index]
        return str(self.place(index) if isinstance(label, RowLabel) else label)

    def members(self, place: Place) -> NDArray:
        """All rows and bounds of a component of a limit, of all components where none is named."""
        if not place.component:
            return np.flatnonzero([limit == place.limit for limit in self.limits])
        key = (place.limit, place.component)
        return np.flatnonzero([other == key for other in self.keys])

    def place(self, index: int) -> Place:
        return Place(self.limits[index], self.components[index], self.times[index])
