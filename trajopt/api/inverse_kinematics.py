"""Poses that reach given positions and orientations: least squares from a start, within limits of joints."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ReachWarning, ShapeError, warn_user
from trajopt.graph.protocols import Dynamics
from trajopt.graph.quantities import described_joints
from trajopt.problem.contacts.pose_search import nearest_pose
from trajopt.problem.input_checks import check_dynamics
from trajopt.solvers.solver import FEASIBILITY


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
    Joints that no target depends on keep their positions. Out of reach, the nearest pose is returned, with a
    `ReachWarning`. Angles are the nearest to those of q that are the same pose, without turns in between.
    Raises OptionError (no targets), UnknownNameError (of a link or frame), ShapeError. Source: Nakamura and
    Hanafusa, 1986.
    """
    if not isinstance(targets, Mapping) or not targets:
        raise OptionError(f"the targets are {short_repr(targets)}: give a dictionary, quantity -> value")
    check_dynamics(dynamics)
    names = list(targets)
    wanted = np.concatenate([np.ravel(numbers(targets[name], f"the target of {name}")) for name in names])
    block = dynamics.block(names)
    start = numbers(q, "q")
    if start.shape != (dynamics.n,):
        raise ShapeError(f"q has shape {start.shape} but the dynamics has n = {dynamics.n} joints")
    sizes = sum(block.outputs[name] for name in names)
    if wanted.size != sizes:
        raise ShapeError(f"the targets have {wanted.size} numbers but {', '.join(names)} have {sizes}")

    def at(pose: Array) -> dict[str, Array]:
        return {"q": pose[None], "v": np.zeros((1, start.size))}

    def residual(pose: Array) -> Array:
        values = block.value(at(pose))
        return np.concatenate([values[name][0] for name in names]) - wanted

    def slope(pose: Array) -> Array:
        parts = block.partials(at(pose))
        return np.concatenate([parts[name, "q"][0] for name in names])

    limits = dynamics.limits
    inside = np.clip(start, limits.q_lower, limits.q_upper)
    moving = np.zeros(start.size, dtype=bool)
    for (_, source), depends in block.pattern().items():
        if source == "q":
            moving |= np.any(depends, axis=0)
    found = nearest_pose(residual, slope, inside, limits, ~moving, tolerance, iterations)
    _warn_of_misses(residual(found), [name for name in names for _ in range(block.outputs[name])], tolerance)
    return without_turns(found, inside, dynamics)


def _warn_of_misses(missed: Array, owners: list[str], tolerance: float) -> None:
    """A ReachWarning where a target is missed by more than what a search to the tolerance leaves."""
    size = {name: 0.0 for name in owners}
    for name, part in zip(owners, missed, strict=True):
        size[name] = float(np.hypot(size[name], part))
    worst = max(size, key=lambda name: size[name])
    if size[worst] > max(FEASIBILITY, tolerance):
        warn_user(
            f"no pose was found that reaches the target of {worst}: the nearest one misses it by "
            f"{size[worst]:.4g}; move the target, or start from another pose",
            ReachWarning,
        )


def without_turns(q: Array, start: Array, dynamics: Dynamics) -> Array:
    """The same pose by the angles that are nearest to those of the start, as far as limits allow."""
    turning = np.isin(dynamics.joint_names, _turning(dynamics))
    nearest = q - 2.0 * np.pi * np.round((q - start) / (2.0 * np.pi))
    allowed = (dynamics.limits.q_lower <= nearest) & (nearest <= dynamics.limits.q_upper)
    return np.where(turning & allowed, nearest, q)


def _turning(dynamics: Dynamics) -> list[str]:
    """Names of the coordinates that 2 pi brings back to the same pose.

    A joint's displacement is ratio * q + offset, of joints that mimic another with the q of that one: all
    joints of a coordinate must be revolute and their ratios whole.
    """
    returns: dict[str, bool] = {}
    for joint in described_joints(dynamics):
        name = getattr(joint, "mimics", None) or joint.name
        whole = joint.kind == "revolute" and float(getattr(joint, "ratio", 1.0)).is_integer()
        returns[name] = returns.get(name, True) and whole
    return [name for name, same in returns.items() if same]
