"""Forces and rows of closed loops of a mechanism in a problem.

Joints of a loop are not independent: where a motion starts or ends, values for all of them would be more
conditions than there are degrees of freedom. Those of joints that follow from the others are released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ProblemError, ShapeError
from trajopt.problem.contacts.closure import Closure, closure_of
from trajopt.problem.contacts.contact import basis_about
from trajopt.problem.contacts.loop_poses import (
    OPENS,
    LoopPoses,
    keep_independent_periodicities,
    pose_at,
    release_ends,
    with_kept,
)
from trajopt.problem.held_frames import (
    add_force_curve,
    hold_at_zero,
    hold_between_nodes,
    hold_from_the_start,
    push_link,
    refuse_other_meshes,
)
from trajopt.problem.input_checks import index_of
from trajopt.problem.problem_parts import all_or_nothing
from trajopt.splines.node_sets import PATH, START, ArcNodes, NodeSet

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem


def add_closure(
    problem: Problem,
    frames: tuple[str, str],
    kind: tuple[Any, ...],
    near: ArrayLike | None,
    arcs: Sequence[int] | None,
    tolerance: float,
    name: str | None,
) -> Closure:
    """See `Problem.close_loop`; kind : that of the closure, its axis and rotation."""
    refuse_other_meshes(problem, "a closed loop")
    scheme = problem.trajectory.scheme
    if scheme is not None and scheme.points == "lobatto":
        raise OptionError(
            "a closed loop needs velocities that every interval determines by itself, but neighbouring "
            "intervals share Lobatto points: use Trajectory.collocation(intervals, order, 'radau')"
        )
    called = arguments.name("{}-{}".format(*frames) if name is None else name, "the name of a loop")
    if called in problem.closures:
        raise OptionError(f"the loop '{called}' is closed already: give the second one a name of its own")
    count, pose = len(problem.trajectory.arcs), _pose_near(problem, near, called)
    where = range(count) if arcs is None else arcs
    stated = closure_of(problem.dynamics, count, called, frames, kind, where, pose, tolerance)
    closure = _closed(problem, stated)
    with all_or_nothing(problem):
        problem.closures[called] = closure
        release_ends(problem)
        keep_independent_periodicities(problem)
        units = {f"force of {closure.name}": "N", f"moment of {closure.name}": "N m"}
        for curve, directions in closure.curves.items():
            labels = [closure.labels[direction] for direction in directions]
            add_force_curve(problem, curve, labels, closure.arcs, unit=units[curve])
        for link, wrench in ((closure.link_a, closure.wrench_on_a), (closure.link_b, closure.wrench_on_b)):
            if link is not None:
                push_link(problem, link, wrench, f"force of {closure.name}")
        several = len(problem.trajectory.arcs) > 1
        for arc in closure.arcs:
            label = f"loop {closure.name}" + f", arc {arc}" * several
            speed = closure.kept_speed
            hold_at_zero(problem, speed, arc, f"{label} stays closed")
            if arc - 1 not in closure.arcs:
                hold_from_the_start(
                    problem, closure.kept_gap, speed, arc, f"{label} closes", f"{label} starts closed"
                )
            over: NodeSet = ArcNodes(arc, "whole") if several else PATH
            hold_between_nodes(problem, closure.misfit, closure.tolerance, over, f"{label} between nodes")
    return closure


def closed_pose(problem: Problem, q: ArrayLike, *held: str) -> Array:
    """See `Problem.closed_pose`."""
    pose, names = _pose_near(problem, q, "the closed pose"), problem.dynamics.joint_names
    keep = np.isin(np.arange(pose.size), [index_of(joint, names) for joint in held])
    several = list(problem.closures.values())
    return LoopPoses(problem, several).closed(pose, keep) if several else pose


def _pose_near(problem: Problem, near: ArrayLike | None, name: str) -> Array:
    n = problem.dynamics.n
    if near is None:
        return pose_at(problem, START)
    pose = arguments.finite_numbers(near, f"the pose near '{name}'")
    if pose.shape != (n,):
        raise ShapeError(f"the pose near '{name}' has shape {pose.shape}: give one number per joint, ({n},)")
    return pose


def _closed(problem: Problem, stated: Closure) -> Closure:
    """The closure with its independent rows, at a closed pose; see `close_loop` for errors."""
    poses = LoopPoses(problem, [*problem.closures.values(), stated])
    pose = poses.closed(stated.pose)
    normal = poses.normal(stated, pose) if stated.kind != "pin" else None
    if normal is not None and np.count_nonzero(normal) > 1:
        stated = replace(stated, basis=basis_about(normal))
        poses = LoopPoses(problem, [*problem.closures.values(), stated])
    kept = poses.independent_rows(stated, pose)
    if not kept:
        raise OptionError(
            f"all rows of the loop '{stated.name}' repeat those of other joints and loops: it is held "
            "already, leave it out"
        )
    closure = with_kept(poses, stated, kept, pose)
    if poses.opening(pose) > OPENS * closure.tolerance:
        raise ProblemError(
            f"the loop '{stated.name}' is singular at its pose: {', '.join(closure.left_out)} repeat "
            "other rows there, but not near it. Give a pose at which links are not in line, near=q"
        )
    return closure
