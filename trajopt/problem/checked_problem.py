"""The check that an argument is a problem."""

from __future__ import annotations

from typing import Any

from trajopt.base.arguments import short_repr
from trajopt.base.errors import ShapeError
from trajopt.problem.problem import ProblemData


def checked_problem(problem: Any) -> ProblemData:
    """`problem` itself; ShapeError for another object."""
    if not isinstance(problem, ProblemData):
        raise ShapeError(
            f"the problem is {short_repr(problem)}: give a trajopt.Problem, or call build() first"
        )
    return problem
