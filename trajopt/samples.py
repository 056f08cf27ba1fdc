"""The times at which an answer is checked: its nodes, and a finer grid, each with the arc it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem import Problem
from trajopt.statements import Over
from trajopt.use import WINDOW_TOLERANCE, ArcNodes, Neighbours, progress

if TYPE_CHECKING:
    from trajopt.solution import Solution

REFINEMENT = 10  # dense points per interval between nodes
SIDE = 1e-12  # of the duration: how far before a border its left side is looked at


@dataclass(frozen=True, eq=False)
class Samples:
    """Times (K,) at which constraints are looked at, and the arc that each belongs to.

    At the border of two arcs quantities may jump, so that both sides of it are looked at.
    """

    times: NDArray[np.float64]
    arc: NDArray[np.int64]
    along: NDArray[np.float64]  # normalised time over the whole motion
    inner: NDArray[np.bool_]  # not an end of the arc

    @staticmethod
    def of(solution: Solution, arcs: list[NDArray], along: list[NDArray]) -> Samples:
        starts, duration = solution.curve.starts, solution.duration
        number = np.repeat(np.arange(len(arcs)), [times.size for times in arcs])
        times = np.concatenate(arcs)
        first, last = starts[number], starts[number + 1]
        inner = (times > first) & (times < last)
        left = np.where(number == len(arcs) - 1, last, last - SIDE * duration)
        return Samples(np.clip(times, first, left), number, np.concatenate(along), inner)

    def where(self, over: Over) -> NDArray[np.bool_]:
        """Mask of the times to which a constraint applies."""
        if isinstance(over, ArcNodes):
            mine = self.arc == over.arc
            if over.part == "whole":
                return mine
            if over.part in ("inside", "extra"):
                return mine & self.inner
            place = np.flatnonzero(mine)[0 if over.part == "start" else -1]
            return np.arange(self.times.size) == place
        if over == "path" or isinstance(over, Neighbours):
            return np.ones(self.times.size, dtype=bool)
        if over in ("start", "end"):
            return np.arange(self.times.size) == (0 if over == "start" else self.times.size - 1)
        first, last = over
        return (self.along >= float(first) - WINDOW_TOLERANCE) & (
            self.along <= float(last) + WINDOW_TOLERANCE
        )


def samples(solution: Solution, problem: Problem) -> tuple[Samples, Samples]:
    """The nodes, and a grid with nine evenly spaced times between each two of them."""
    nodes = problem.trajectory.nodes
    whole = progress(problem.trajectory, nodes)
    at, along, grid, between = [], [], [], []
    for arc in range(len(problem.trajectory.arcs)):
        mine = nodes.arc == arc
        at.append(solution.node_times[mine])
        along.append(whole[mine])
        times, places = np.unique(at[-1], return_index=True)
        grid.append(_refined(times))
        between.append(np.interp(grid[-1], times, along[-1][places]))
    return Samples.of(solution, at, along), Samples.of(solution, grid, between)


def _refined(times: NDArray) -> NDArray:
    fractions = np.arange(REFINEMENT) / REFINEMENT
    inner = times[:-1, None] + np.diff(times)[:, None] * fractions
    return np.append(inner.ravel(), times[-1])
