"""Several starts of phases: perturbed guesses on their own meshes, of which the lowest objective wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trajopt.base.errors import TrajoptError
from trajopt.problem.links.phases import Phases
from trajopt.refinement.starts.perturbed_guess import perturbed_guess
from trajopt.refinement.starts.several_starts import EQUAL, NEAR, WIDE
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.solve_once import solve_once
from trajopt.solution.solve_table import MeshSolve, StartSolves, StartTable
from trajopt.solvers.run import TimedSolver
from trajopt.solvers.solver import Status
from trajopt.transcription.links.linked_program import linked_program


def best_start_of_phases(phases: Phases, timed: TimedSolver, count: int) -> PhasesSolutionData:
    """The best solution of `count` starts, with the table of all where there are several.

    Iterations and seconds are those of all.

    Start 0 is the phases' own guess; every other one moves the guess of every phase by smooth waves, narrow
    and wide in turn, and its duration by a factor from a half to two, seeded by its number. A limit of time
    or Ctrl-C ends them.
    """
    found: list[PhasesSolutionData | None] = [solve_once(phases, timed.solver, timed.run)]
    if count == 1 and found[0] is not None:
        return found[0]
    rows = [_row(0, found)]
    while len(found) < count and not _stopped(found[-1]):
        number = len(found)
        try:
            spread = NEAR if number % 2 else WIDE
            moved = perturbed(phases, [0, number], spread)
            found.append(solve_once(moved, timed.solver, timed.run))
            rows.append(_row(number, found))
        except TrajoptError as error:  # a guess at which a term is not finite
            found.append(None)
            rows.append(StartSolves(number, (MeshSolve(0, str(error), False, np.nan, 0, 0.0),)))
    values = [_value(each) for each in found]
    chosen = next((i for i, value in enumerate(values) if _equal(value, min(values))), 0)
    best = found[chosen]
    assert best is not None  # start 0 has a solution, converged or not
    solved = [each for each in found if each is not None]
    return replace(
        best,
        starts=StartTable(tuple(rows), chosen),
        iterations=sum(each.iterations for each in solved),
        seconds=sum(each.seconds for each in solved),
    )


def perturbed(phases: Phases, seed: Sequence[int], spread: float) -> Phases:
    """A copy of phases whose guesses are moved by smooth random waves, those of phase k seeded by (*seed, k).

    spread : size of the waves, as a part of each coordinate's travel
    """
    program = linked_program(phases)
    other = phases.on(*(problem.trajectory for problem in phases.problems))
    parts = zip(other.problems, program.programs, program.parts(program.start), strict=True)
    for k, (problem, own, y) in enumerate(parts):
        rng = np.random.default_rng([*seed, k])
        problem.guess(*perturbed_guess(own.unknowns.curve(y), problem.dynamics.n, rng, spread))
    return other


def _stopped(last: PhasesSolutionData | None) -> bool:
    return last is not None and last.status in (Status.INTERRUPTED, Status.TIME_LIMIT)


def _row(number: int, found: Sequence[PhasesSolutionData | None]) -> StartSolves:
    last = found[number]
    assert last is not None
    spans = sum(basis.span_count for part in last.phases for basis in part.curve.bases)
    figures = (float(last.objective), int(last.iterations), float(last.seconds))
    solve = MeshSolve(spans, str(last.status.value), last.converged, *figures)
    same = (i for i in range(number) if _equal(_value(found[i]), _value(last)))
    return StartSolves(number, (solve,), next(same, None), finished=True)


def _value(solution: PhasesSolutionData | None) -> float:
    return solution.objective if solution is not None and solution.converged else np.inf


def _equal(one: float, other: float) -> bool:
    return bool(np.isfinite(one) and abs(one - other) <= EQUAL * max(abs(one), 1e-300))
