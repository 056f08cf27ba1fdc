"""Coarse meshes first: solves on few spans, then on twice as many, each from the last answer.

Minimum-time motions have more local optima on fine meshes than on coarse ones, and a solve from a near
start takes few iterations. The last solve is that of the user's own problem, or phases, on its own mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trajopt.base.errors import TrajoptError
from trajopt.problem.links.phases import Asked
from trajopt.solution.records import MeshSolve
from trajopt.solution.solve_once import solved_on_mesh
from trajopt.solvers.run import TimedSolver
from trajopt.solvers.solver import Status
from trajopt.splines.trajectory import Trajectory

Mesh = tuple[Trajectory, ...]  # of every part

FEWEST_SPANS = 10  # of the coarsest mesh, in the arc with the most
FINE = 2 * FEWEST_SPANS  # spans of an arc: a finer mesh is approached through coarser ones by default


def own_mesh(asked: Asked) -> Mesh:
    """The trajectories of all parts."""
    return tuple(part.trajectory for part in asked.parts)


def mesh_levels(asked: Asked, fewest: int = FEWEST_SPANS) -> tuple[Mesh, ...]:
    """Meshes from the coarsest to the own one; parts with fewer levels begin with their coarsest repeated."""
    each = [trajectory_levels(trajectory, fewest) for trajectory in own_mesh(asked)]
    most = max(map(len, each))
    return tuple(zip(*((own[0],) * (most - len(own)) + own for own in each), strict=True))


def trajectory_levels(trajectory: Trajectory, fewest: int = FEWEST_SPANS) -> tuple[Trajectory, ...]:
    """Trajectories from the coarsest to the given one, each with every second breakpoint of the next.

    The spaces are nested, so that a motion is carried on exactly. Degrees, multiplicities and durations stay;
    added nodes belong to the given mesh alone.
    """
    levels = [trajectory]
    while max(arc.basis.span_count for arc in levels[0].arcs) >= 2 * fewest:
        bases = [arc.basis.halved() for arc in levels[0].arcs]
        levels.insert(0, replace(levels[0], extra_points=(), limit_points=()).with_bases(bases))
    return tuple(levels)


def solve_on_levels(asked: Any, timed: TimedSolver) -> Any:
    """Solve on coarser meshes first; where that fails, from the own guess on the own mesh as well.

    Iterations and seconds are those of all solves. Raises what a direct solve raises.
    """
    levels = mesh_levels(asked)
    if len(levels) == 1:
        return solved_on_mesh(asked, timed)
    try:
        coarse = solved_on_mesh(on_coarse(asked, levels[0]), timed, last=False)
    except TrajoptError:  # the own mesh may still have a motion
        return solved_on_mesh(asked, timed)
    found = carried_on(asked, coarse, levels[1:], timed)
    if found.converged or found.status is Status.INTERRUPTED or timed.run.expired:
        return found
    direct = solved_on_mesh(asked, timed)
    return summed(direct if direct.converged else _better(direct, found), found, direct)


def on_coarse(asked: Any, mesh: Mesh) -> Any:
    """The problem or phases on another mesh with the own guess."""
    other = asked.on(*mesh)
    for own, part in zip(asked.parts, other.parts, strict=True):
        part.guessed_curve, part.guessed_durations = own.guessed_curve, own.guessed_durations
    return other


def carried_on(asked: Any, coarse: Any, levels: Sequence[Mesh], timed: TimedSolver) -> Any:
    """Solve on finer and finer meshes, the own one the last, each from the answer before.

    After a level that fails the next solve is on the own mesh at once.
    """
    current, spent = coarse, [coarse]
    for mesh in levels[:-1]:
        if not current.converged or timed.run.expired:
            break
        try:
            finer = solved_on_mesh(asked.on(*mesh), timed, current, last=False)
        except TrajoptError:
            break
        spent.append(finer)
        if not finer.converged:
            break
        current = finer
    interrupted = spent[-1].status is Status.INTERRUPTED
    ending = timed.asking(deadline=0.0) if interrupted else timed
    final = solved_on_mesh(asked, ending, current)
    if interrupted:
        final = replace(final, status=Status.INTERRUPTED)
        final = replace(final, levels=(MeshSolve.of(final),))
    return summed(final, *spent, final)


def summed(chosen: Any, *answers: Any) -> Any:
    """An answer with the levels of several in sequence, and the sums of iterations, seconds and timings."""
    timings: dict[str, float] = {}
    for each in answers:
        for name, seconds in each.timings.items():
            timings[name] = timings.get(name, 0.0) + seconds
    levels = tuple(level for each in answers for level in each.levels)
    return replace(
        chosen,
        levels=levels,
        iterations=sum(level.iterations for level in levels),
        seconds=sum(level.seconds for level in levels),
        timings=timings,
    )


def _better(one: Any, other: Any) -> Any:
    """Of two that did not converge the one that violates less, the first where they are alike."""
    return other if other.kkt.primal < one.kkt.primal else one
