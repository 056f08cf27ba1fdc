"""Saved motions of tasks: `load_motion` reads robot, scene, loads, goals and limits again with the motion."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dynamics
from problems.moves.tasks.planned_motion import PlannedMotion
from problems.moves.tasks.task_file import task_of
from problems.moves.tasks.task_problem import RECIPE, TaskProblem
from trajopt.base.arguments import check_count, finite_numbers, is_listed, short_repr
from trajopt.base.errors import ProblemError, ShapeError, SolutionFileError, TrajoptError
from trajopt.solution.phases_solution import load_any

if TYPE_CHECKING:
    from trajopt.solution.solution import Answer


def load_motion(path: str | os.PathLike[str]) -> PlannedMotion:
    """The motion that `PlannedMotion.save` wrote, complete: nothing but this file is needed.

    Raises SolutionFileError for a file that is none, or holds the solution of something else.
    """
    solution = load_any(path)
    if not is_of_task(solution):
        raise SolutionFileError(
            f"{os.fspath(path)} holds the solution '{solution.name}', which is no motion of a task: read it "
            "by trajopt.Solution.load, or give a file that motion.save or `trajopt move --save` wrote"
        )
    return motion_of(solution)


def is_of_task(solution: Answer) -> bool:
    """True if a solution is that of a task."""
    return solution.recipe is not None and solution.recipe.problem == RECIPE


def motion_of(solution: Answer) -> PlannedMotion:
    """The motion of a task's solution; SolutionFileError where the task is not what `statement_of` writes."""
    assert solution.recipe is not None
    try:
        problem = task_problem(**solution.recipe.parameters)
        if sum(part.curve.durations.size for part in solution.parts) != len(problem.task.steps):
            raise ShapeError(f"the motion has not one arc for each of the {len(problem.task.steps)} goals")
        return PlannedMotion.of(problem, solution)
    except (TrajoptError, dynamics.DynamicsError, TypeError) as error:
        raise SolutionFileError(f"the task of '{solution.name}' cannot be read: {error}") from error


def build(**parameters: Any) -> Any:
    """The problem of a saved task, or its phases; ProblemError where it cannot be stated again."""
    try:
        return task_problem(**parameters).asked
    except (TrajoptError, dynamics.DynamicsError, TypeError) as error:
        raise ProblemError(f"the task cannot be stated again: {error}") from error


def task_problem(statement: Any, guess: Any, intervals: Any) -> TaskProblem:
    """The problem from what its recipe holds; see `TaskProblem.recipe`."""
    task = task_of(statement, Path(), "the saved task").stated
    check_count("intervals", intervals, least=4)
    poses = [finite_numbers(each, "guess") for each in (guess if is_listed(guess) else ())]
    n = task.robot.model.n
    if len(poses) != len(task.steps) or any(pose.ndim != 2 or pose.shape[1:] != (n,) for pose in poses):
        raise ShapeError(f"guess is {short_repr(guess)}: poses (k, {n}) to each of the goals are expected")
    return TaskProblem(task, poses, intervals)
