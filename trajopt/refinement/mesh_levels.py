"""Coarse meshes first: solves on few spans, then on twice as many; other solvers where IPOPT stops short.

Before them come the problems from whose answers a user lets this one start.

Minimum-time motions have more local optima on fine meshes than on coarse ones, and a solve from a near
start takes few iterations. The last solve is that of the user's own problem, or phases, on its own mesh.

Other solvers are tried where IPOPT with its defaults stops short of an optimum.

Second derivatives that jump can keep an interior-point method from its tolerance for a thousand iterations.
A barrier parameter that may rise again can help, and quasi-Newton steps use no second derivatives.
Where the interior-point method's first steps led far from a good guess, as with a motion that its start alone
decides, SLSQP begins with that guess again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from trajopt.base.errors import OptionError, TrajoptError
from trajopt.problem.phases import Asked, Phases
from trajopt.problem.problem import Problem
from trajopt.solution.journal import Attempt, Journal, Policy, iterations_on
from trajopt.solution.records import LEVELS, OTHER_SOLVERS
from trajopt.solution.solution import Answer
from trajopt.solvers.interior.interior_point import InteriorSteps
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.run import without_checkpoints
from trajopt.solvers.slsqp import Slsqp
from trajopt.solvers.solver import Run, Solver, Status
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


def levels(journal: Journal, coarse: bool | str) -> Policy[None]:
    """The user's own mesh, after earlier problems and, if asked, coarser meshes, each from the answer before.

    coarse : as `solve` is given `coarse_to_fine`
    """
    earlier = None if isinstance(journal.asked, Phases) else journal.asked.earlier
    if earlier is not None and not may_be_solved_again(journal.asked, journal.solver):
        raise OptionError("checkpoints are of one solve, but the guess is another problem: leave them out")
    asked = yield from after_earlier(journal.asked)
    coarse = coarse_first(asked, journal.solver) if isinstance(coarse, str) else coarse
    yield from through_meshes(journal, asked, mesh_levels(asked) if coarse else (own_mesh(asked),), LEVELS)


def after_earlier(asked: Asked) -> Policy[Asked]:
    """The problem with the answer of the one that it starts from as its guess; itself where there is none."""
    earlier = None if isinstance(asked, Phases) else asked.earlier
    if earlier is None:
        return asked
    entry = yield Attempt((yield from after_earlier(earlier)), solver=earlier.solver, policy=LEVELS)
    other = on_coarse(asked, own_mesh(asked))
    other.guess(entry.answer)
    return other


def through_meshes(
    journal: Journal,
    asked: Asked,
    meshes: Sequence[Mesh],
    policy: str,
    number: int = 0,
    run: Run | None = None,
) -> Policy[None]:
    """A problem or phases on meshes of which the last is the own one, each from the answer before.

    After a mesh that fails the next one is the own one, where the own guess follows what did not converge.
    """
    given: Any = {"run": run or Run(), "policy": policy, "number": number}
    current = None
    for mesh in meshes[:-1]:
        problem = on_coarse(asked, mesh) if current is None else asked.on(*mesh)
        try:
            entry = yield Attempt(problem, current, **given)
        except TrajoptError:  # the own mesh may still have a motion
            break
        if current is None or entry.converged:
            current = entry.answer
        if not entry.converged or journal.stopped:
            break
    if current is not None:
        entry = yield Attempt(asked, current, own_mesh=True, **given)
        if entry.converged:
            return
    yield Attempt(asked, own_mesh=True, **given)


def coarse_first(problem: Asked, solver: Solver) -> bool:
    """True if coarse meshes first are the default: one part, free durations, no guess, a fine mesh.

    Not for the interior-point method, whose number of steps grows little with the mesh.
    """
    return (
        may_be_solved_again(problem, solver)
        and not isinstance(solver, InteriorSteps)
        and not is_guessed(problem)
        and problem.trajectory.has_free_duration
        and is_fine(problem)
    )


def may_be_solved_again(asked: Asked, solver: Solver) -> TypeGuard[Problem]:
    """True of a single problem whose solver writes no checkpoints: defaults add solves to such ones alone."""
    return not isinstance(asked, Phases) and without_checkpoints(solver) is solver


def is_fine(problem: Problem) -> bool:
    """True if an arc has more spans than are solved at once by default where durations are free."""
    return max(arc.basis.span_count for arc in problem.trajectory.arcs) > FINE


def is_guessed(problem: Problem) -> bool:
    """True if the user, who then chooses the optimum, gave a motion or durations to start from."""
    return problem.guessed_curve is not None or problem.guessed_durations is not None


def on_coarse(asked: Asked, mesh: Mesh) -> Any:
    """The problem or phases on another mesh with the own guess."""
    other = asked.on(*mesh)
    for own, part in zip(asked.parts, other.parts, strict=True):
        part.guessed_curve, part.guessed_durations = own.guessed_curve, own.guessed_durations
    return other


STOPPED = frozenset(
    {
        Status.ITERATION_LIMIT,
        Status.ACCEPTABLE,
        Status.RESTORATION_FAILED,
        Status.STEP_FAILED,
        Status.STEP_TOO_SMALL,
    }
)


def other_solvers(journal: Journal) -> Policy[None]:
    """Try other ways until one converges, where IPOPT stopped short; they are one more start."""
    first = journal.best.answer
    if not isinstance(journal.solver, Ipopt) or first.status not in STOPPED:
        return
    number = 1 + max(each.attempt.number for each in journal.entries)
    run = Run(max_iterations=iterations_on())
    for note, solver, start in _ways(journal.solver, first):
        common = {"policy": OTHER_SOLVERS, "number": number, "own_mesh": True}
        try:
            entry = yield Attempt(journal.asked, start, run, solver, note=note, **common)
        except TrajoptError:  # a start at which a term is not finite, for instance
            continue
        if entry.converged:
            return


def _ways(solver: Ipopt, first: Answer) -> Iterator[tuple[str, Solver, Answer | None]]:
    """Name, solver and motion to start from, None for the guess, of every way."""
    rule = {"adaptive_mu_globalization": "never-monotone-mode"}
    if not rule.keys() & solver.options.keys():
        yield "barrier never monotone", replace(solver, options={**solver.options, **rule}), None
    if first.n_variables <= 500:  # unknowns: SLSQP's steps cost their third power
        yield "SLSQP from there", Slsqp(), first
        yield "SLSQP from the guess", Slsqp(), None
