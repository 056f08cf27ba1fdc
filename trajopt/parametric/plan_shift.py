"""A plan some seconds later, as the start of the next step: constant maps, made once for every shift.

The motion moves along: control points of the curve through the values that the plan has at the Greville
abscissae, later by the time that went by. Multipliers go by contact, arc and time, by whole intervals of one
arc.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AGREEMENT
from trajopt.solvers.matrices import matrix_of_parts, product
from trajopt.solvers.solver import WarmStart
from trajopt.splines.basis import Curve
from trajopt.transcription.nlp import NLP, ProgramStructure
from trajopt.transcription.unknowns import Layout

ARC = re.compile(r"arc \d+")
SAME_PLACE = AGREEMENT  # of an interval: shifts that are whole numbers of them
MOST_MAPS = 64  # that are kept: of two stances of a trot at 50 Hz there are 48

K = TypeVar("K", bound=Hashable)
M = TypeVar("M")


@dataclass(frozen=True)
class Later:
    """Places of a plan, by arc and normalised time of it, in the plan before.

    gone : arcs that are over; those behind the last one repeat the first ones, as in a gait
    intervals, ahead : of a uniform mesh of one arc, whole intervals that are over, and their normalised time
    """

    gone: int
    intervals: int
    ahead: float
    arcs: int

    @staticmethod
    def of(layout: Layout, durations: Array, elapsed: float) -> Later:
        arcs, widths, ends = len(layout.bases), np.diff(layout.bases[0].breakpoints), np.cumsum(durations)
        if arcs > 1:
            return Later(int(np.sum(ends[:-1] <= elapsed + SAME_PLACE * ends[-1])), 0, 0.0, arcs)
        count = 0
        if np.ptp(widths) <= SAME_PLACE:
            count = min(round(elapsed / float(ends[-1] * widths[0])), widths.size - 1)
        return Later(0, count, count * float(widths[0]), arcs)

    def arc(self, arc: int) -> int:
        return (arc + self.gone) % self.arcs


class PlanShifts:
    """The maps from plans to the start of the next step of a program, the last ones of which are kept."""

    def __init__(self, structure: ProgramStructure) -> None:
        self.structure = structure
        self._maps: dict[Hashable, sparse.csr_array] = {}

    def unknowns(self, before: ProgramStructure, x: Array, elapsed: float, durations: Array) -> Array:
        """x of the motion of an x of the structure `before`, later, on arcs of other durations.

        It stays where it ends.
        """
        layout, old = self.structure.spline_map.layout, before.spline_map.layout
        later = product(self.motion(before, elapsed, x[old.durations], durations), x)
        later[layout.durations] = durations
        return later

    def motion(
        self, before: ProgramStructure, elapsed: float, durations_before: Array, durations: Array
    ) -> sparse.csr_array:
        """The matrix of `unknowns` for x on arcs of durations before; zero rows for the durations."""
        key = before, elapsed, durations_before.tobytes(), durations.tobytes()
        layouts = self.structure.spline_map.layout, before.spline_map.layout
        made = partial(_motion, *layouts, durations_before, elapsed, durations)
        return last_kept(self._maps, key, MOST_MAPS, made)

    def multipliers(
        self, nlp: NLP, old: NLP, before: ProgramStructure, point: WarmStart, elapsed: float
    ) -> WarmStart:
        """The start of a program with the multipliers of a point of the program `old`, of structure `before`.

        Rows are the same where their constraints differ in the number of the arc alone; the nearest counts.
        They keep their multipliers by the rows as they are stated, whatever each is scaled by.
        """
        durations = old.unknowns.elimination.expand(point.y)[old.unknowns.layout.durations]
        later = Later.of(old.unknowns.layout, durations, elapsed)
        if self.structure is before and not (later.gone or later.intervals):
            return replace(point, y=nlp.start, hessian=None)
        key = before, later
        rows, bounds = last_kept(self._maps, key, MOST_MAPS, partial(_sources, self.structure, before, later))
        now, then = nlp.scaling, old.scaling
        low, high, factor = point.lower_multipliers, point.upper_multipliers, now.objective / then.objective
        assert point.row_multipliers is not None and low is not None and high is not None
        of_rows = _taken(point.row_multipliers * then.rows, rows) / now.rows
        taken = of_rows, _taken(low, bounds), _taken(high, bounds)
        return WarmStart(nlp.start, *(factor * each for each in taken))


def last_kept(values: dict[K, M], key: K, most: int, make: Callable[[], M]) -> M:
    """The value of a key, made where it is not among the last ones, at most `most` of which are kept."""
    found = values.get(key)
    if found is None:
        for old in list(values)[: max(0, len(values) - most + 1)]:
            values.pop(old, None)  # another thread may have done so
        found = values[key] = make()
    return found


def _motion(
    layout: Layout, old: Layout, durations_before: Array, elapsed: float, durations: Array
) -> sparse.csr_array:
    """The map from control points of all arcs before to those of every arc; parameters stay."""
    starts = np.concatenate([[0.0], np.cumsum(durations)])
    tail = np.arange(layout.durations.stop, layout.size)
    parts = [(tail, tail, np.ones(tail.size))]
    for group, source in zip(layout.groups, old.groups, strict=True):
        counts = [basis.count for basis in source.bases]
        points = np.split(np.eye(sum(counts)), np.cumsum(counts)[:-1])
        unit = Curve(source.bases, tuple(points), durations_before)  # a component for each basis function
        given = np.concatenate(source.control_points(np.arange(old.size)))
        for arc, own in enumerate(group.control_points(np.arange(layout.size))):
            basis = group.bases[arc]
            inside = np.clip(basis.greville, 1e-9, 1.0 - 1e-9)  # one-sided where curves jump
            times = starts[arc] + inside * durations[arc] + elapsed
            sampled = unit(np.minimum(times, unit.duration))
            weights = basis.interpolate(sampled) if basis.degree else sampled
            entries = np.broadcast_arrays(own[:, None], given[None], weights[:, :, None])
            row, column, value = (part.ravel() for part in entries)
            parts.append((row, column, value))
    return matrix_of_parts(parts, (layout.size, old.size))


def _sources(structure: ProgramStructure, before: ProgramStructure, later: Later) -> tuple[Array, Array]:
    """The row before of every row, and the unknown before of every unknown; -1 where there is none."""
    count = structure.linear.kept.size + sum(group.count for group in structure.groups)
    rows, table = np.full(count, -1), _rows_by_name(before)
    for (name, component, arc), (times, own) in _rows_by_name(structure).items():
        at = table.get((name, component, later.arc(arc)))
        if at is not None:
            nearest = np.abs(at[0] - np.minimum(times + later.ahead, 1.0)[:, None]).argmin(axis=1)
            rows[own] = at[1][nearest]
    layout, old = structure.spline_map.layout, before.spline_map.layout
    places, unknowns = np.full(old.size, -1), np.full(layout.size, -1)
    places[before.solution.free] = np.arange(before.solution.free.size)
    for group, source in zip(layout.groups, old.groups, strict=True):
        given = source.control_points(places)
        for arc, points in enumerate(group.control_points(unknowns)):
            own, first = given[later.arc(arc)], group.bases[arc].first_control_point
            step = int(first[1] - first[0]) * later.intervals if first.size > 1 else 0
            points[:] = own[np.minimum(np.arange(len(points)) + step, len(own) - 1)]
    return rows, unknowns[structure.solution.free]


def _rows_by_name(structure: ProgramStructure) -> dict[tuple[str, str, int], tuple[Array, Array]]:
    """(constraint without the number of its arc, component, arc) -> normalised times and numbers of rows."""
    found: dict[tuple[str, str, int], list[tuple[float, int]]] = {}
    nodes, names = structure.spline_map.nodes, structure.component_names
    labels = (label for group in structure.groups for label in group.labels(nodes, names))
    for number, label in enumerate(labels, start=structure.linear.kept.size):
        assert label.s is not None
        key = ARC.sub("arc", label.constraint), label.component, label.arc or 0
        found.setdefault(key, []).append((label.s, number))
    return {
        key: (np.array([s for s, _ in rows]), np.array([number for _, number in rows]))
        for key, rows in found.items()
    }


def _taken(values: Array, source: Array) -> Array:
    """Values (before,) at the places `source`, zero for -1."""
    return np.append(values, 0.0)[source]
