"""Coarse meshes first: a problem is solved on few spans, then on twice as many, each from the last solution.

Minimum-time motions have more local optima on fine meshes than on coarse ones, and a solve from a near
start takes few iterations. The last solve is that of the user's own problem on its own mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trajopt.base.errors import TrajoptError
from trajopt.problem.guess import Motion
from trajopt.problem.problem import ProblemData
from trajopt.refinement.knots import with_bases
from trajopt.solution.solution import SolutionData
from trajopt.solution.solve_once import solve_once
from trajopt.solution.solve_table import MeshSolve
from trajopt.solvers.run import TimedSolver, without_checkpoints
from trajopt.solvers.solver import Solver, Status
from trajopt.splines.basis import SplineBasis
from trajopt.splines.trajectory import Trajectory

FEWEST_SPANS = 10  # of the coarsest mesh, in the arc with the most
FINE = 20  # spans of an arc above which a mesh is approached through coarser ones by default


def solved_on_mesh(
    problem: ProblemData, timed: TimedSolver, motion: Motion | None = None, last: bool = True
) -> SolutionData:
    """Solve on the problem's mesh in what is left of the time, from a motion or the problem's guess.

    Behind the deadline the solver still returns its start, as a solution that says so.

    last : whether this is the problem whose checkpoints the solver may write
    """
    solver = timed.solver if last else without_checkpoints(timed.solver)
    return solve_once(problem, solver, timed.run, motion)


def worth_levels(problem: ProblemData, solver: Solver) -> bool:
    """Whether coarse meshes first are the default: free durations, no guess of the user, a fine mesh."""
    arcs = problem.trajectory.arcs
    guessed = problem.guessed_curve is not None or problem.guessed_durations is not None
    free = any(shortest < longest for shortest, longest in (arc.duration_bounds for arc in arcs))
    resumed = without_checkpoints(solver) is not solver
    return free and not guessed and not resumed and max(arc.basis.span_count for arc in arcs) > FINE


def mesh_levels(trajectory: Trajectory, fewest: int = FEWEST_SPANS) -> tuple[Trajectory, ...]:
    """Trajectories from the coarsest to the given one, each with every second breakpoint of the next.

    The spaces are nested, so that a motion is carried on exactly. Degrees, multiplicities and durations stay;
    added nodes belong to the given mesh alone.
    """
    levels = [trajectory]
    while max(arc.basis.span_count for arc in levels[0].arcs) >= 2 * fewest:
        bases = [halved(arc.basis) for arc in levels[0].arcs]
        levels.insert(0, with_bases(replace(levels[0], extra_points=(), limit_points=()), bases))
    return tuple(levels)


def halved(basis: SplineBasis) -> SplineBasis:
    """The basis with every second breakpoint; an odd last span stays as it is."""
    kept = np.arange(0, basis.span_count + 1, 2)
    if kept[-1] != basis.span_count:
        kept = np.append(kept, basis.span_count)
    repeats = basis.multiplicities[kept[1:-1] - 1]
    return SplineBasis.of_any_degree(basis.breakpoints[kept], basis.degree, repeats)


def solve_direct(problem: ProblemData, timed: TimedSolver) -> SolutionData:
    """One solve on the problem's own mesh."""
    solution = solved_on_mesh(problem, timed)
    return replace(solution, levels=(solve_of(solution),))


def solve_on_levels(problem: ProblemData, timed: TimedSolver) -> SolutionData:
    """Solve on coarser meshes first; where that fails, from the problem's own guess as well.

    Iterations and seconds are those of all solves. Raises what a direct solve raises.
    """
    levels = mesh_levels(problem.trajectory)
    coarse = coarsest_solution(problem, levels[0], timed) if len(levels) > 1 else None
    if coarse is None:
        return solve_direct(problem, timed)
    found = carried_on(problem, coarse, levels[1:], timed)
    if found.converged or found.status is Status.INTERRUPTED or timed.run.expired:
        return found
    direct = solve_direct(problem, timed)
    return summed(direct if direct.converged else _better(direct, found), found, direct)


def coarsest_solution(
    problem: ProblemData, trajectory: Trajectory, timed: TimedSolver
) -> SolutionData | None:
    """The solution on a coarse trajectory from the problem's own guess; None where it cannot be solved."""
    try:
        solution = solved_on_mesh(on_coarse(problem, trajectory), timed, last=False)
    except TrajoptError:
        return None
    return replace(solution, levels=(solve_of(solution),))


def on_coarse(problem: ProblemData, trajectory: Trajectory) -> ProblemData:
    """The problem on another trajectory with its own guess."""
    other = problem.on(trajectory)
    other.guessed_curve, other.guessed_durations = problem.guessed_curve, problem.guessed_durations
    return other


def carried_on(
    problem: ProblemData, coarse: SolutionData, levels: Sequence[Trajectory], timed: TimedSolver
) -> SolutionData:
    """Solve on finer and finer trajectories, the problem's own the last, each from the one before.

    After a level that fails the next solve is on the problem's own mesh at once.
    """
    current, spent = coarse, [coarse]
    for trajectory in levels[:-1]:
        if not current.converged or timed.run.expired:
            break
        try:
            finer = solved_on_mesh(problem.on(trajectory), timed, current, last=False)
        except TrajoptError:
            break
        spent.append(replace(finer, levels=(solve_of(finer),)))
        if not finer.converged:
            break
        current = finer
    interrupted = spent[-1].status is Status.INTERRUPTED
    ending = timed.asking(deadline=0.0) if interrupted else timed
    final = solved_on_mesh(problem, ending, current)
    if interrupted:
        final = replace(final, status=Status.INTERRUPTED)
    final = replace(final, levels=(solve_of(final),))
    return summed(final, *spent, final)


def solve_of(solution: SolutionData) -> MeshSolve:
    """The line of a solution in a table of solves."""
    spans = sum(basis.span_count for basis in solution.curve.bases)
    return MeshSolve(
        spans,
        str(solution.status.value),
        solution.converged,
        float(solution.objective),
        int(solution.iterations),
        float(solution.seconds),
    )


def summed(chosen: SolutionData, *solutions: SolutionData) -> SolutionData:
    """A solution with the levels of several in sequence, and the sums of iterations, seconds and timings."""
    timings: dict[str, float] = {}
    for each in solutions:
        for name, seconds in each.timings.items():
            timings[name] = timings.get(name, 0.0) + seconds
    levels = tuple(level for each in solutions for level in each.levels)
    return replace(
        chosen,
        levels=levels,
        iterations=sum(level.iterations for level in levels),
        seconds=sum(level.seconds for level in levels),
        timings=timings,
    )


def _better(one: SolutionData, other: SolutionData) -> SolutionData:
    """Of two that did not converge the one that violates less, the first where they are alike."""
    return other if other.kkt.primal < one.kkt.primal else one
