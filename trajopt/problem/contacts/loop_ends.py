"""Values at the ends of a motion that a closed loop determines: they are released, with a warning.

A loop leaves fewer degrees of freedom than joints. Where q, v or a of all joints are given at an end, loops
and values would be more conditions than unknowns. So some joints follow from the others: those without a
value first, then those without motors, then the last ones. Values of joints that follow are released.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import LoopWarning, warn_user
from trajopt.base.tolerances import AGREEMENT
from trajopt.problem.contacts.loop_poses import LoopPoses
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.input_checks import middle_of
from trajopt.splines.node_sets import END, START, NodeSet

MOVED = 1e-6  # rad or m, per second or its square: values that are off by less are rounded numbers


def release_ends(problem: Any) -> None:
    """Release values at both ends of joints that follow from others; LoopWarning for those that move.

    Raises InfeasibleBoundsError where the values of the others leave no closed pose.
    """
    last = len(problem.trajectory.arcs) - 1
    for place, arc in ((START, 0), (END, last)):
        closures = [closure for closure in problem.closures.values() if arc in closure.arcs]
        if closures and any(fixed_at(problem, quantity, place)[0].any() for quantity in "qva"):
            _release_at(problem, place, LoopPoses(problem, closures))


def keep_independent_periodicities(problem: Any) -> None:
    """Leave periodicities of q and v only to coordinates that do not follow from others by loops.

    Loops that are closed at both ends make the others repeat, on the branch of the motion.
    """
    last = len(problem.trajectory.arcs) - 1
    quantities = [periodicity.term.quantity for periodicity in problem.periodicities]
    closures = [closure for closure in problem.closures.values() if {0, last} <= set(closure.arcs)]
    if not closures or not {"q", "v"} & set(quantities):
        return
    poses = LoopPoses(problem, closures)
    groups = order_of_following(problem, np.zeros(problem.dynamics.n, dtype=bool))
    kept = np.flatnonzero(~poses.following(poses.stated(poses.nearest(pose_at(problem, START))), groups))
    for number, periodicity in enumerate(problem.periodicities):
        if quantities[number] in ("q", "v"):
            problem.periodicities[number] = replace(periodicity, kept=kept)


def fixed_at(problem: Any, quantity: str, place: NodeSet) -> tuple[Array, Array]:
    """Mask of the coordinates that constraints fix at an end, (n,), and their values, 0 for others."""
    fixed, value = np.zeros(problem.dynamics.n, dtype=bool), np.zeros(problem.dynamics.n)
    for _, each in _boundaries(problem, quantity, place):
        own = each.lower == each.upper
        fixed, value = fixed | own, np.where(own, each.lower, value)
    return fixed, value


def order_of_following(problem: Any, fixed: Array) -> tuple[Array, ...]:
    """Groups of joints, (n,) bool each, in the order in which they follow: free, without motors, driven."""
    driven = ~np.isin(problem.dynamics.joint_names, list(problem.passive_joints))
    return ~fixed, fixed & ~driven, fixed & driven


def pose_at(problem: Any, place: NodeSet) -> Array:
    """(n,) where the motion starts or ends as far as it is known: fixed values, the guess, loops, limits."""
    if problem.guessed_curve is not None:
        s = np.array([0.0 if place == START else 1.0])
        pose = np.asarray(problem.guessed_curve(s), dtype=float)[0, : problem.dynamics.n]
    elif problem.closures:
        pose = next(reversed(problem.closures.values())).pose
    else:
        limits = problem.dynamics.limits
        pose = middle_of(limits.q_lower, limits.q_upper)
    fixed, value = fixed_at(problem, "q", place)
    return np.where(fixed, value, pose)


def _release_at(problem: Any, place: NodeSet, poses: LoopPoses) -> None:
    fixed, _ = fixed_at(problem, "q", place)
    guess = pose_at(problem, place)
    follows = poses.following(poses.stated(poses.nearest(guess)), order_of_following(problem, fixed))
    pose = poses.closed(guess, fixed & ~follows)
    _release(problem, "q", place, fixed & follows, pose)
    v = _release_rates(problem, "v", place, poses, pose, np.zeros(pose.size))
    _release_rates(problem, "a", place, poses, pose, v)


def _release_rates(
    problem: Any, quantity: str, place: NodeSet, poses: LoopPoses, pose: Array, v: Array
) -> Array:
    """J v = 0, or J a + (dJ/dt) v = 0; the values (n,), zero where nothing is known."""
    J, rest = poses.stated_speeds(pose, v, "v"), poses.stated_speeds(pose, v, "q") @ v
    fixed, value = fixed_at(problem, quantity, place)
    follows = poses.following(J, order_of_following(problem, fixed))
    found = np.where(follows, 0.0, value)
    found[follows] = np.linalg.lstsq(J[:, follows], -rest - J @ found, rcond=None)[0]
    _release(problem, quantity, place, fixed & follows, found)
    return found


def _boundaries(problem: Any, quantity: str, place: NodeSet) -> Iterator[tuple[int, Constraint]]:
    for number, constraint in enumerate(problem.constraints):
        if constraint.term.quantity == quantity and constraint.over == place:
            yield number, constraint


def _release(problem: Any, quantity: str, place: NodeSet, released: Array, found: Array) -> None:
    """Let the loops determine some coordinates at an end."""
    _, value = fixed_at(problem, quantity, place)
    moved = released & (np.abs(found - value) > MOVED + AGREEMENT * np.abs(value))
    if moved.any():
        names = np.array(problem.dynamics.joint_names)[moved]
        each = zip(names, value[moved], found[moved], strict=True)
        text = ", ".join(f"{name} from {old:.6g} to {new:.6g}" for name, old, new in each)
        warn_user(
            f"{quantity} at the {place.written} does not fit the closed loops, which move {text}: give "
            "values that fit, or None for joints that follow from others",
            LoopWarning,
        )
    for number, each in list(_boundaries(problem, quantity, place)) if released.any() else ():
        lower, upper = np.where(released, -np.inf, each.lower), np.where(released, np.inf, each.upper)
        problem.constraints[number] = replace(each, lower=lower, upper=upper)
