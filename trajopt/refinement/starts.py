"""Several starts in one process: perturbed guesses on a coarse mesh, the best carried to the fine one.

Start 0 is the solve that one start would have been. Every other one perturbs the guess smoothly, seeded by
its number, and is solved on the coarsest mesh; of the different optima found there the best are carried on to
the problem's own mesh. The lowest objective of a converged solve wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt.errors import TrajoptError
from trajopt.problem.problem import Problem
from trajopt.refinement.mesh_levels import TimedSolver, carried_on, mesh_levels, on_coarse, solve_of, summed
from trajopt.solution.solution import Solution
from trajopt.solution.solve_table import MeshSolve, StartSolves, StartTable
from trajopt.solvers.capabilities import with_max_iterations
from trajopt.solvers.solver import Status
from trajopt.splines.curve import Curve
from trajopt.splines.trajectory import Trajectory
from trajopt.transcription.transcribe import transcribe

HARMONICS = 4
SPREAD = 0.3  # size of perturbations, as a part of each joint's travel
FEWEST_SPANS = 7  # of the mesh that starts are solved on, in the arc with the most
MOST_ITERATIONS = 200  # of a start on the coarse mesh
CARRIED = 3  # different optima of the coarse mesh that are carried on, start 0 included
WITHIN = 0.1  # relative distance to the best one on the coarse mesh beyond which none is carried on
EQUAL = 1e-6  # relative difference of objectives of one and the same optimum


@dataclass
class _Start:
    """A start while the table is filled."""

    number: int
    solution: Solution | None
    error: str = ""
    same_as: int | None = None
    finished: bool = False

    @property
    def value(self) -> float:
        usable = self.solution is not None and self.solution.converged
        return self.solution.objective if usable else np.inf  # type: ignore[union-attr]

    def row(self) -> StartSolves:
        failed = MeshSolve(0, self.error, False, float("nan"), 0, 0.0)
        solves = (failed,) if self.solution is None else self.solution.levels
        return StartSolves(self.number, solves, self.same_as, self.finished)


def best_of_starts(
    problem: Problem, timed: TimedSolver, count: int, first: Callable[[Problem, TimedSolver], Solution]
) -> Solution:
    """The best solution of `count` starts, with the table of all; seconds and iterations are those of all.

    first : solves as without further starts
    """
    default = first(problem, timed)
    starts = [_Start(0, default, finished=True)]
    levels = mesh_levels(problem.trajectory, FEWEST_SPANS)
    if not _stopped(default, timed):
        starts += _coarse_starts(problem, levels[0], timed, count)
        _mark_repeated(starts, [(0, _value_on(levels[0], default))])
        _carry_best(problem, starts, levels, timed)
    finished = [start for start in starts if start.finished]
    lowest = min(start.value for start in finished)
    chosen = next((start for start in finished if _equal(start.value, lowest)), starts[0])
    assert chosen.solution is not None
    table = StartTable(tuple(start.row() for start in starts), chosen.number)
    every = summed(chosen.solution, *(start.solution for start in starts if start.solution is not None))
    return replace(every, levels=chosen.solution.levels, starts=table)


def perturbed_guess(
    base: Curve, joints: int, rng: np.random.Generator, spread: float
) -> tuple[Callable[[Any], np.ndarray], np.ndarray]:
    """A curve moved by sines that vanish at both ends, and durations from half to twice as long.

    spread : size of the perturbation, as a part of each joint's travel (or of 1 rad or m where it has none);
        additional curves behind the joints stay: their sizes say nothing about joints
    """
    travel = np.concatenate([np.ptp(np.concatenate(group.control_points), axis=0) for group in base.groups])
    size = spread * np.where(travel > 1e-9, travel, 1.0)
    size[joints:] = 0.0
    weights = rng.standard_normal((HARMONICS, base.n)) * size / np.arange(1, HARMONICS + 1)[:, None]

    def curve(s: Any) -> np.ndarray:
        along = np.clip(np.asarray(s, dtype=float), 0.0, 1.0)
        waves = np.sin(np.pi * np.arange(1, HARMONICS + 1) * along[..., None])
        return base.at_progress(along) + waves @ weights

    return curve, base.durations * 2.0 ** rng.uniform(-1.0, 1.0)


def _coarse_starts(problem: Problem, trajectory: Trajectory, timed: TimedSolver, count: int) -> list[_Start]:
    """The perturbed starts, solved on the coarse trajectory; fewer where time or the user ends them."""
    guessed = on_coarse(problem, trajectory)
    limited = replace(timed, solver=with_max_iterations(timed.solver, MOST_ITERATIONS))
    try:
        nlp = transcribe(guessed)
    except TrajoptError as error:
        return [_Start(number, None, str(error)) for number in range(1, count)]
    base, found = nlp.unknowns.curve(nlp.start), []
    for number in range(1, count):
        perturbed = problem.on(trajectory)
        rng = np.random.default_rng([0, number])
        perturbed.guess(*perturbed_guess(base, problem.dynamics.n, rng, SPREAD))
        found.append(_solved_start(number, perturbed, limited))
        last = found[-1].solution
        if last is not None and _stopped(last, timed):
            break
    return found


def _solved_start(number: int, problem: Problem, timed: TimedSolver) -> _Start:
    try:
        solution = timed.solve(problem, last=False)
    except TrajoptError as error:
        return _Start(number, None, str(error))
    return _Start(number, replace(solution, levels=(solve_of(solution),)))


def _carry_best(
    problem: Problem, starts: list[_Start], levels: Sequence[Trajectory], timed: TimedSolver
) -> None:
    """Solve the best different optima of the coarse trajectory on the finer ones."""
    if len(levels) == 1:
        for start in starts:
            start.finished = start.solution is not None
        return
    default = _value_on(levels[0], starts[0].solution)
    fresh = sorted((s for s in starts[1:] if np.isfinite(s.value) and s.same_as is None), key=_rank)
    best = min([default, *(start.value for start in fresh)])
    for start in fresh[: CARRIED - int(np.isfinite(default))]:
        if timed.expired or start.value > best + WITHIN * abs(best):
            break
        assert start.solution is not None
        start.solution = carried_on(problem, start.solution, levels[1:], timed)
        start.finished = True
        if start.solution.status is Status.INTERRUPTED:
            break
    finished = [start for start in starts[1:] if start.finished]
    _mark_repeated([starts[0], *finished], [(0, starts[0].value)])


def _mark_repeated(starts: Sequence[_Start], known: list[tuple[int, float]]) -> None:
    """Note of every start but the first which earlier one found the same optimum, if any."""
    for start in starts[1:]:
        start.same_as = next((number for number, value in known if _equal(value, start.value)), None)
        if start.same_as is None:
            known.append((start.number, start.value))


def _value_on(trajectory: Trajectory, default: Solution | None) -> float:
    """The objective of start 0 on the mesh of the other starts; infinity where it was not solved there."""
    if default is None or not default.levels:
        return np.inf
    first = default.levels[0]
    same = first.spans == sum(arc.basis.span_count for arc in trajectory.arcs)
    return first.objective if same and first.converged else np.inf


def _rank(start: _Start) -> tuple[float, int]:
    return start.value, start.number


def _stopped(solution: Solution, timed: TimedSolver) -> bool:
    return timed.expired or solution.status is Status.INTERRUPTED


def _equal(one: float, other: float) -> bool:
    return bool(np.isfinite(one) and abs(one - other) <= EQUAL * max(abs(one), 1e-300))
