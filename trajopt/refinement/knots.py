"""Refinement of knots: where a spline is too coarse, and the same motion on finer ones.

New breakpoints and higher degrees only enlarge the space of splines, so the old motion is in the new space
exactly and the next solve starts where the last one ended. The indicator of a span is what the objective
could gain there, to first order: the multipliers of the limits times the distance of their values from the
bounds at which the multipliers want them (a dual weighted residual). It is large at switches and where a
spline ripples below a limit that matters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.errors import OptionError, ShapeError
from trajopt.problem.problem import Constraint, Problem
from trajopt.solution.violation import path_limits
from trajopt.splines.basis import SplineBasis
from trajopt.splines.trajectory import Arc, Trajectory

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution
    from trajopt.solvers.solver import NLP, Callback, Result, Solver, WarmStart

SAMPLES_PER_SPAN = 16
MARKED = 0.1  # of the largest indicator: spans above it are split


@dataclass(frozen=True)
class Refined:
    """How to refine: `solve(problem, refine=Refined(tol=1e-6))` splits spans until the objective settles.

    tol : relative change of the objective between two rounds at which refinement ends
    rounds : how often spans may be split
    spans : "adaptive", those whose indicator is largest, or "uniform", all of them
    most : spans per arc beyond which no more are added
    """

    tol: float = 1e-6
    rounds: int = 6
    spans: Literal["adaptive", "uniform"] = "adaptive"
    most: int = 400

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tol) and self.tol > 0.0):
            raise OptionError(f"tol is {self.tol!r}: give a positive relative change of the objective")
        if not isinstance(self.rounds, int) or self.rounds < 1:
            raise OptionError(f"rounds is {self.rounds!r}: give a whole number of at least 1")
        if self.spans not in ("adaptive", "uniform"):
            raise OptionError(f"spans is {self.spans!r}: use 'adaptive' or 'uniform'")
        if not isinstance(self.most, int) or self.most < 1:
            raise OptionError(f"most is {self.most!r}: give a whole number of at least 1")

    def refine(self, solution: Solution, solver: Solver, progress: Callback | None = None) -> Solution:
        """The last solution that converged; its knots are where they were needed."""
        from trajopt.refinement.structure_search import solved

        best = solution
        for _ in range(self.rounds):
            if not best.converged or max(a.basis.span_count for a in _arcs(best)) >= self.most:
                break
            finer = solved(self._split(best), Watched(solver, progress))
            if not finer.converged:
                break
            finer = replace(finer, recipe=best.recipe, iterations=best.iterations + finer.iterations)
            change = abs(finer.objective - best.objective) / max(abs(best.objective), 1e-300)
            best = finer
            if change <= self.tol:
                break
        return best

    def _split(self, solution: Solution) -> Problem:
        return doubled(solution) if self.spans == "uniform" else halved_where_it_pays(solution)


@dataclass(frozen=True)
class Watched:
    """A solver whose iterations somebody watches."""

    solver: Solver
    callback: Callback | None

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        return self.solver.solve(nlp, callback or self.callback, start)


def indicator(solution: Solution) -> list[NDArray[np.float64]]:
    """One number per span of every arc, >= 0; equal ones where nothing distinguishes them."""
    curve = solution.curve
    found = []
    for arc, basis in enumerate(curve.bases):
        edges = curve.starts[arc] + basis.breakpoints * curve.durations[arc]
        total = _gain_by_span(solution, edges)
        found.append(total if total.max() > 0.0 else np.ones(basis.span_count))
    return found


def split(trajectory: Trajectory, marks: list[NDArray]) -> Trajectory:
    """The trajectory with every marked span halved; marks holds one boolean per span for every arc."""
    counts = [arc.basis.span_count for arc in trajectory.arcs]
    given = [np.asarray(mark, dtype=bool) for mark in marks]
    if [mark.shape for mark in given] != [(count,) for count in counts]:
        raise ShapeError(
            f"marks have shapes {[mark.shape for mark in given]} but the arcs have {counts} spans: "
            "give one boolean per span and arc"
        )
    bases = []
    for arc, mark in zip(trajectory.arcs, given, strict=True):
        points = arc.basis.breakpoints
        bases.append(with_breakpoints(arc.basis, 0.5 * (points[:-1] + points[1:])[mark]))
    return with_bases(trajectory, bases)


def with_breakpoints(basis: SplineBasis, points: ArrayLike) -> SplineBasis:
    """A basis with further single breakpoints in (0, 1); its space contains the old one."""
    fresh = np.unique(np.asarray(points, dtype=float))
    if fresh.size and not (fresh[0] > 0.0 and fresh[-1] < 1.0):
        raise ShapeError(f"new breakpoints are {fresh}: normalised times lie between 0 and 1")
    known = dict(zip(basis.breakpoints[1:-1].tolist(), basis.multiplicities.tolist(), strict=True))
    every = known | {point: 1 for point in fresh.tolist() if point not in known}
    inner = sorted(every)
    return SplineBasis.clamped([0.0, *inner, 1.0], basis.degree, [every[point] for point in inner])


def with_bases(trajectory: Trajectory, bases: list[SplineBasis]) -> Trajectory:
    """The same arcs on other bases."""
    arcs = tuple(replace(arc, basis=basis) for arc, basis in zip(trajectory.arcs, bases, strict=True))
    return replace(trajectory, arcs=arcs)


def moved(solution: Solution, trajectory: Trajectory) -> Problem:
    """A solution's problem on another trajectory of as many arcs, started from the solution's motion."""
    problem = solution.problem.on(trajectory)
    problem.guess(solution)
    return problem


def halved_where_it_pays(solution: Solution) -> Problem:
    """The problem with the spans halved whose indicators are within a tenth of the largest."""
    marks = [values >= MARKED * values.max() for values in indicator(solution)]
    return moved(solution, split(solution.problem.trajectory, marks))


def doubled(solution: Solution) -> Problem:
    """The problem with every span halved."""
    trajectory = solution.problem.trajectory
    return moved(solution, split(trajectory, [np.ones(a.basis.span_count, bool) for a in trajectory.arcs]))


def _arcs(solution: Solution) -> tuple[Arc, ...]:
    return solution.problem.trajectory.arcs


def _gain_by_span(solution: Solution, edges: NDArray) -> NDArray:
    """What the objective could gain in each span, to first order: integral of |multiplier| * deviation dt.

    The deviation is that of a value from the bound which its multiplier says it should sit at; the
    multiplier's density is its sum over a span and its neighbours by their length. Oversteps of limits that
    hold nothing back count as parts of the objective.
    """
    lengths = np.diff(edges)
    fractions = (np.arange(SAMPLES_PER_SPAN) + 0.5) / SAMPLES_PER_SPAN
    times = edges[:-1, None] + lengths[:, None] * fractions
    total = np.zeros(lengths.size)
    for limit in path_limits(solution):
        values = solution.value(limit.term, times)
        width = limit.upper - limit.lower
        width = np.where(np.isfinite(width), np.maximum(width, 1e-300), 1.0)
        over = np.maximum(limit.lower - values, values - limit.upper) / width
        share = lengths / solution.duration * abs(solution.objective)
        total += share * np.maximum(over, 0.0).mean(axis=1).sum(axis=1)
        density = _density(solution, limit, edges)
        if density is not None:
            bound = np.where(density > 0.0, limit.upper, limit.lower)
            deviation = np.where(density != 0.0, np.abs(values.transpose(1, 0, 2) - bound), 0.0).mean(axis=0)
            total += (np.abs(density) * deviation).sum(axis=1) * lengths
    return total


def _density(solution: Solution, limit: Constraint, edges: NDArray) -> NDArray | None:
    """Multipliers per second, (spans, width), each averaged over three spans; None where there are none."""
    multipliers = solution.multipliers.get(limit.name)
    if multipliers is None or multipliers.shape[0] != solution.node_times.size:
        return None
    span = np.searchsorted(edges, solution.node_times, side="right") - 1
    inside = (solution.node_times >= edges[0]) & (solution.node_times <= edges[-1])
    impulse = np.zeros((edges.size - 1, multipliers.shape[1]))
    np.add.at(impulse, np.clip(span[inside], 0, edges.size - 2), multipliers[inside])
    window, lengths = np.ones(3), np.diff(edges)
    summed = np.stack([np.convolve(column, window, "same") for column in impulse.T], axis=1)
    density = summed / np.convolve(lengths, window, "same")[:, None]
    return np.where(np.abs(density) > 1e-5 * max(np.abs(density).max(), 1e-300), density, 0.0)
