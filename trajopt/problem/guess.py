"""Starts taken from answers: of the same problem on other knots, of a neighbour, or of a pose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.block import Dynamics
from trajopt.errors import ShapeError

if TYPE_CHECKING:
    from trajopt.problem import Problem
    from trajopt.solution import Solution


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


def inverse_kinematics(
    dynamics: Dynamics,
    targets: Mapping[str, ArrayLike],
    q: ArrayLike,
    tolerance: float = 1e-10,
    iterations: int = 200,
) -> NDArray[np.float64]:
    """A pose (n,) whose kinematic quantities are nearest the targets, by damped least squares from q.

        minimize sum of |quantity(q) - target|^2   subject to   q_lower <= q <= q_upper

    targets : "position:tool" -> (3,) m, "orientation:tool" -> (9,) row by row, "centre_of_mass" -> (3,), ...
    Out of reach, the nearest pose is returned: compare where it matters. Nakamura and Hanafusa, 1986.
    """
    from scipy.optimize import least_squares

    names = list(targets)
    wanted = np.concatenate([np.ravel(np.asarray(targets[name], dtype=float)) for name in names])
    block = dynamics.block(names)
    start = np.asarray(q, dtype=float)
    if start.shape != (dynamics.n,):
        raise ShapeError(f"q has shape {start.shape} but the dynamics has n = {dynamics.n} joints")
    sizes = sum(block.outputs[name] for name in names)
    if wanted.size != sizes:
        raise ShapeError(f"the targets have {wanted.size} numbers but {', '.join(names)} have {sizes}")

    def at(pose: NDArray) -> dict[str, NDArray]:
        return {"q": pose[None], "v": np.zeros((1, start.size))}

    def residual(pose: NDArray) -> NDArray:
        values = block.value(at(pose))
        return np.concatenate([values[name][0] for name in names]) - wanted

    def slope(pose: NDArray) -> NDArray:
        parts = block.partials(at(pose))
        return np.concatenate([parts[name, "q"][0] for name in names])

    limits = dynamics.limits
    inside = np.clip(start, limits.q_lower, limits.q_upper)
    found = least_squares(
        residual,
        inside,
        jac=slope,  # type: ignore[arg-type]
        bounds=(limits.q_lower, limits.q_upper),
        xtol=tolerance,
        ftol=tolerance,
        gtol=tolerance,
        max_nfev=iterations,
    )
    return found.x
