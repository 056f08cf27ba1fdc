"""Starts taken from answers: of the same problem on other knots, of a neighbour, or of a pose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import ShapeError

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem
    from trajopt.solution.solution import Solution


def guess_from(problem: Problem, solution: Solution) -> None:
    """Start from another solution: its motion by normalised time, its durations, its parameters.

    Exact where the problem's knots contain the solution's (knot insertion), interpolating elsewhere. The
    durations carry over arc by arc when there are as many arcs, else in equal parts; parameters by name;
    extra curves where all of them are the same.
    """
    joints = tuple(problem.dynamics.joint_names)
    if solution.joint_names != joints:
        raise ShapeError(
            f"the solution moves {', '.join(solution.joint_names)} but the problem {', '.join(joints)}: "
            "give a guess for these joints"
        )
    arcs = len(problem.trajectory.arcs)
    same = arcs == len(solution.curve.durations)
    durations = solution.curve.durations if same else solution.duration
    carried = solution.curve.n if _same_extras(problem, solution) else problem.dynamics.n
    curve = solution.curve.at_progress
    problem.guess(q=lambda s: curve(s)[..., :carried], duration=durations)
    for name, value in solution.parameters.items():
        if name in problem.parameters and problem.parameters[name].guess.shape == np.shape(value):
            problem.parameters[name] = replace(problem.parameters[name], guess=np.array(value))


def _same_extras(problem: Problem, solution: Solution) -> bool:
    """Whether both have the same extra curves; unknown where the solution's problem is."""
    if solution.known_problem is None:
        return False
    own, others = ({name: e.lower.size for name, e in p.extras.items()} for p in (problem, solution.problem))
    return list(own.items()) == list(others.items())
