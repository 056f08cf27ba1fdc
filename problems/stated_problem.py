"""Problems that a script stated, built again from what a saved solution holds of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dynamics
import trajopt
from trajopt.archive.problem_statement import fill, system_in, trajectory_in
from trajopt.base.errors import SolutionFileError


def build(**statement: Any) -> trajopt.Problem:
    """The problem of a statement that a file holds; SolutionFileError where it cannot be stated again."""
    known = statement.get("dynamics")
    if not isinstance(known, Mapping) or not isinstance(statement.get("name"), str):
        raise SolutionFileError("the saved problem has no name, or neither a robot nor a system")
    try:
        robot = known.get("robot")
        mover = system_in(statement) if robot is None else dynamics.RigidBodyModel.from_json(robot)
    except dynamics.DynamicsError as error:
        raise SolutionFileError(f"the saved robot cannot be built: {error}") from error
    problem = trajopt.Problem(mover, trajectory_in(statement), name=statement["name"])
    fill(problem, statement)
    return problem
