"""The finite limits of a dynamics as constraints: see `Problem.subject_to_joint_limits`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import check_flag
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.problem.systems.robot_on_path import RobotOnPath
from trajopt.terms import term as terms

Limit = tuple[terms.Quantity, NDArray, NDArray, Literal["nodes", "hull"], str]


def joint_limits(dynamics: Any, name: str, position: bool, velocity: bool, torque: bool) -> Iterator[Limit]:
    """(term, lower, upper, hold, label) of every wanted kind that has a finite limit.

    name : of the problem, for messages
    Of a robot on a path the joints' limits hold at the nodes, the range of the path for all t.
    Raises InfeasibleBoundsError where all limits of a kind are zero, OptionError for what is no flag.
    """
    q, v, hold, limits = terms.q, terms.v, "hull", dynamics.limits
    if isinstance(dynamics, RobotOnPath):
        q, v, hold = terms.Quantity("joint_position"), terms.Quantity("joint_velocity"), "nodes"
        limits = dynamics.robot.limits
    kinds: tuple[tuple[bool, str, Limit], ...] = (
        (position, "position", (q, limits.q_lower, limits.q_upper, hold, "position limits")),
        (velocity, "velocity", (v, -limits.velocity, limits.velocity, hold, "velocity limits")),
        (torque, "torque", (terms.tau, limits.torque_lower, limits.torque_upper, "nodes", "torque limits")),
    )
    for wanted, kind, (_, lower, upper, _, _) in kinds:
        check_flag(kind, wanted)
        if wanted and not (np.any(lower) or np.any(upper)):
            effort = ' (effort="0" in a URDF file)' if kind == "torque" else ""
            raise InfeasibleBoundsError(
                f"all {kind} limits of the robot of '{name}' are zero{effort}, which allows no motion: give "
                f"its joints limits, or call subject_to_joint_limits({kind}=False)"
            )
    if isinstance(dynamics, RobotOnPath):
        yield terms.q, dynamics.limits.q_lower, dynamics.limits.q_upper, "hull", "range of the path"
    for wanted, _, limit in kinds:
        if wanted and (np.any(np.isfinite(limit[1])) or np.any(np.isfinite(limit[2]))):
            yield limit
