"""The motion of a task: poses of the goals, the problem with an arc to every goal, and its solution."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import trajopt
from problems.moves.obstacles import LEAST_SECONDS, SOLVER, STOPPED, solve_clear
from problems.moves.planning.planned_path import is_clear
from problems.moves.state_limits import AFTER, BEFORE, check_state
from problems.moves.tasks.planned_motion import PlannedMotion
from problems.moves.tasks.pose_sequence import first_guess
from problems.moves.tasks.reaching import pose_errors
from problems.moves.tasks.stated_task import StatedTask
from problems.moves.tasks.task_problem import MARGIN, TaskProblem
from problems.moves.tasks.ways import SHARE, ways_past_obstacles
from trajopt.base.arguments import check_count, numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import NotFiniteError, ShapeError

# Rows of clearances change as pairs enter and leave them. IPOPT's filter then refuses steps that are good (a
# Panda that carries a cup past a post stopped after 300 iterations, this method took 75), and Newton's method
# mostly finds no step from one round of limit nodes to the next, which took a third of the seconds; easy
# tasks, where it finds one, take longer without it.
AMONG_OBSTACLES = trajopt.InteriorPoint(tol=1e-6, max_iterations=300)
COARSE, FINE = 10, 64  # intervals to a goal: the switches of a jerk take many
ROUNDS = 10  # of `solve_clear`: where these do not suffice from any start, the slower way is tried
QUICK, FEW = replace(SOLVER, max_iterations=25), 3  # iterations and rounds from a way that is blocked


def solved(
    task: StatedTask, paths: Sequence[Any] | None, intervals: int | None, time_limit: float | None
) -> PlannedMotion:
    """The best motion from its own guess and those that are given; see `Task.solve`."""
    intervals = _intervals(task) if intervals is None else intervals
    check_count("intervals", intervals, least=4)
    _check_states(task)
    given = [TaskProblem(task, guess, intervals) for guess in _given_paths(task, paths)]
    own = (TaskProblem(task, guess, intervals) for guess in ways_past_obstacles(task, first_guess(task)))
    solve = _clear if len(task.steps) == 1 and not _is_free(task) else _thorough
    found = _motions(own, solve, time_limit)
    for problem in given:
        found += _motions([problem], solve, time_limit)
    return min(found, key=_order)


def _check_states(task: StatedTask) -> None:
    """`check_state` of the start and all goals in motion, on the ways to and from each."""
    for number, goal in enumerate(task.goals):
        if goal.v is None and goal.a is None:
            continue
        free = np.full(task.robot.model.n, np.nan)
        state = goal.joints, free if goal.v is None else goal.v, free if goal.a is None else goal.a
        for way, side in ((number - 1, BEFORE), (number, AFTER)):
            if 0 <= way < len(task.steps):
                model = task.loaded(task.steps[way].payloads)
                check_state(goal.name, model, task.limits, way, state, side)


def _intervals(task: StatedTask) -> int:
    """More where the jerk is limited, to one goal with nothing to touch: seconds there gain some 3 %."""
    has_jerk = bool(np.any(np.isfinite(task.limits.jerk)))
    return FINE if has_jerk and len(task.steps) == 1 and _is_free(task) else COARSE


def _is_free(task: StatedTask) -> bool:
    """True where nothing can touch on the way to the first goal."""
    return task.clearances(task.loaded(task.steps[0].payloads)) is None


def _motions(
    problems: Iterable[TaskProblem], solve: Callable[..., Any], time_limit: float | None
) -> list[PlannedMotion]:
    """Motions of problems, one after the other until one has converged, or until all of their time is used.

    Where `_clear` has found none, the problem that missed its limits least is solved by `_thorough`.
    """
    found, end = [], np.inf if time_limit is None else time.monotonic() + time_limit
    tried: list[TaskProblem] = []

    def has_ended(problem: TaskProblem, solve: Callable[..., Any], first: bool = False) -> bool:
        left = None if time_limit is None else max(end - time.monotonic(), LEAST_SECONDS)
        found.append(PlannedMotion.of(problem, solve(problem, left, first)))
        tried.append(problem)
        return found[-1].converged or found[-1].solution.status in STOPPED

    if any(has_ended(problem, solve, number == 0) for number, problem in enumerate(problems)):
        return found
    if solve is _clear:
        has_ended(tried[int(np.argmin([_order(motion)[1] for motion in found]))], _thorough)
    return found


def _order(motion: PlannedMotion) -> tuple[bool, float]:
    """The converged first, the shortest of them, and of the others the one that misses its limits least."""
    if motion.converged:
        return False, motion.duration
    excess = motion.certificate.excess
    return True, np.inf if np.isnan(excess) else excess


def _clear(problem: TaskProblem, time_limit: float | None, first: bool) -> Any:
    """Solve by `solve_clear`; not for long from the first way where that is blocked."""
    clearances = problem.task.clearances(problem.models[0])
    assert clearances is not None
    blocked = first and not is_clear(clearances, problem.guess[0], SHARE * problem.task.clearance)
    return solve_clear(
        problem.asked,
        clearances,
        problem.task.clearance,
        QUICK if blocked else SOLVER,
        rounds=FEW if blocked else ROUNDS,
        accuracy=MARGIN,
        patient=not blocked,
        time_limit=time_limit,
    )


def _thorough(problem: TaskProblem, time_limit: float | None, first: bool) -> Any:
    """Solve with clearances by `AMONG_OBSTACLES`, then by IPOPT if limits are missed; else by default."""
    asked, refine, begin = problem.asked, trajopt.LimitNodes(accuracy=MARGIN), time.monotonic()
    if all(problem.task.clearances(model) is None for model in problem.models):
        return trajopt.solve(asked, refine=refine, starts=1, time_limit=time_limit)
    refine = replace(refine, newton=False)
    found = trajopt.solve(asked, AMONG_OBSTACLES, refine=refine, starts=1, time_limit=time_limit)
    if found.status is trajopt.Status.INTERRUPTED or (found.converged and not found.warning):
        return found
    if time_limit is not None:
        time_limit -= time.monotonic() - begin
        if time_limit <= 0.0:
            return found
    other = trajopt.solve(asked, refine=refine, starts=1, time_limit=time_limit)
    if found.converged and not (other.converged and other.limit_excess < found.limit_excess):
        return found
    return other


def _given_paths(task: StatedTask, paths: Any) -> list[list[Array]]:
    """The poses of every path from goal to goal: cut where it comes nearest to each, in their order."""
    found = []
    for number, path in enumerate([] if paths is None else paths):
        given = numbers(path, f"path {number}")
        if given.ndim != 2 or given.shape[0] < 2 or given.shape[1] != task.robot.model.n:
            raise ShapeError(
                f"path {number} is {short_repr(path)}: give (k, {task.robot.model.n}) joint positions"
            )
        if not np.all(np.isfinite(given)):
            raise NotFiniteError(f"path {number} holds NaN or infinity: give finite joint positions")
        found.append(_cut(task, given))
    return found


def _cut(task: StatedTask, path: Array) -> list[Array]:
    """A path in pieces, (k, n) each, from goal to goal."""
    first, pieces = 0, []
    for count, step in enumerate(task.steps, 1 - len(task.steps)):
        last = len(path) - 1
        if count < 0:
            rest = path[first + 1 : len(path) + count] if len(path) + count > first + 1 else path[first:]
            error = np.abs(pose_errors(task.robot.model, step.goal, rest)).sum(axis=1)
            error += np.nan_to_num(np.abs(rest - step.goal.joints)).sum(axis=1)
            last = min(first + 1 + int(np.argmin(error)), len(path) - 1)
        pieces.append(path[first : last + 1])
        first = last
    return pieces
