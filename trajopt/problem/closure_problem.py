"""`ClosureProblem`: a problem with closed loops of a mechanism: `close_loop`, `closed_pose`.

Joints of a loop are not independent: where a motion starts or ends, values for all of them would be more
conditions than there are degrees of freedom. Those of joints that follow from the others are released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ProblemError, ShapeError
from trajopt.problem.contact_problem import ContactProblem
from trajopt.problem.contacts.closure import Closure, ClosureKind, closure_of
from trajopt.problem.contacts.contact import basis_about
from trajopt.problem.contacts.loop_poses import (
    OPENS,
    LoopPoses,
    keep_independent_periodicities,
    pose_at,
    release_ends,
    with_kept,
)
from trajopt.problem.input_checks import index_of
from trajopt.splines.node_sets import PATH, START, ArcNodes, NodeSet

if TYPE_CHECKING:
    from trajopt.graph.protocols import Term


@dataclass(eq=False, repr=False)
class ClosureProblem(ContactProblem):
    """A problem with closed loops, name -> `Closure`."""

    def close_loop(
        self,
        frame_a: str,
        frame_b: str,
        kind: ClosureKind = "point",
        *,
        axis: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        near: ArrayLike | None = None,
        arcs: Sequence[int] | None = None,
        tolerance: float = 1e-6,
        name: str | None = None,
    ) -> Closure:
        """Hold two frames together, a loop that the tree of the robot's joints leaves open.

        frame_a, frame_b : on two links; one of them may be fixed to the ground
        kind : "point", the origins coincide, as in a ball joint; "pin", the frames turn about one axis only,
            as in a hinge; "weld", they do not turn, as in a grasp
        axis : (3,) of the pin, in axes of frame a
        rotation : (3, 3), axes of frame b in those of a when the loop is closed; left out, the same axes
        near : (n,) joint positions from which a closed pose is searched; left out, where the motion starts
        arcs : in which it is closed, all by default
        tolerance : m and rad, the largest gap that counts as closed, for what rounding in a robot's file
            leaves; between nodes `verify` passes it, and `solve` halves intervals where it is exceeded
        name : in reports, "frame_a-frame_b" by default

        The velocity of the gap vanishes at all collocation points, the gap where the first arc starts. Force
        and moment are unknown curves, and act on both links with opposite signs; in world axes they are the
        terms `force` and `moment` of the result. Rows that repeat others, as those across the plane of a
        planar linkage, are left out with their forces, which no motion determines: `left_out` names them.
        Boundary values of joints that follow from others are released, with a LoopWarning that names those
        that move; at the end a loop is closed to the order of the scheme.
        Raises the dynamics' error for a frame that does not exist, InfeasibleBoundsError with the least gap
        for a loop that cannot close, ProblemError for a pose at which it is singular, OptionError or
        ShapeError for other arguments that fit no loop, with what to give.
        """
        self._needs_collocation("a closed loop")
        self._refuse_shared_points()
        called = arguments.name(f"{frame_a}-{frame_b}" if name is None else name, "the name of a loop")
        if called in self.closures:
            raise OptionError(f"the loop '{called}' is closed already: give the second one a name of its own")
        count, pose = len(self.trajectory.arcs), self._pose_near(near, called)
        where = range(count) if arcs is None else arcs
        stated = closure_of(
            self.dynamics, count, called, (frame_a, frame_b), (kind, axis, rotation), where, pose, tolerance
        )
        closure = self._closed(stated)
        with self._all_or_nothing():
            self.closures[called] = closure
            release_ends(self)
            keep_independent_periodicities(self)
            self._add_forces(closure)
            self._add_rows(closure)
        return closure

    def closed_pose(self, q: ArrayLike, *held: str) -> Array:
        """The closed pose (n,) of all loops nearest a given one, the named joints held.

        Raises InfeasibleBoundsError, with the least gap, where there is none.
        """
        pose, names = self._pose_near(q, "the closed pose"), self.dynamics.joint_names
        keep = np.isin(np.arange(pose.size), [index_of(joint, names) for joint in held])
        return LoopPoses(self, list(self.closures.values())).closed(pose, keep) if self.closures else pose

    def _boundary(self, place: Literal["start", "end"], **given: Any) -> None:
        with self._all_or_nothing():
            super()._boundary(place, **given)
            release_ends(self)

    def subject_to_periodic(
        self,
        term: Term | None = None,
        signs: ArrayLike = 1.0,
        *,
        order: ArrayLike | None = None,
        offset: ArrayLike = 0.0,
        name: str | None = None,
    ) -> None:
        """`ProblemData.subject_to_periodic`; joints that follow from others by loops repeat with these."""
        super().subject_to_periodic(term, signs, order=order, offset=offset, name=name)
        keep_independent_periodicities(self)

    # -- rows and forces ----------------------------------------------------------------------------------

    def _pose_near(self, near: ArrayLike | None, name: str) -> Array:
        n = self.dynamics.n
        if near is None:
            return pose_at(self, START)
        pose = arguments.finite_numbers(near, f"the pose near '{name}'")
        if pose.shape != (n,):
            raise ShapeError(
                f"the pose near '{name}' has shape {pose.shape}: give one number per joint, ({n},)"
            )
        return pose

    def _refuse_shared_points(self) -> None:
        scheme = self.trajectory.scheme
        if scheme is not None and scheme.points == "lobatto":
            raise OptionError(
                "a closed loop needs velocities that every interval determines by itself, but neighbouring "
                "intervals share Lobatto points: use Trajectory.collocation(intervals, order, 'radau')"
            )

    def _closed(self, stated: Closure) -> Closure:
        """The closure with its independent rows, at a closed pose; see `close_loop` for errors."""
        poses = LoopPoses(self, [*self.closures.values(), stated])
        pose = poses.closed(stated.pose)
        normal = poses.normal(stated, pose) if stated.kind != "pin" else None
        if normal is not None and np.count_nonzero(normal) > 1:
            stated = replace(stated, basis=basis_about(normal))
            poses = LoopPoses(self, [*self.closures.values(), stated])
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

    def _add_forces(self, closure: Closure) -> None:
        units = {f"force of {closure.name}": "N", f"moment of {closure.name}": "N m"}
        for curve, directions in closure.curves.items():
            labels = [closure.labels[direction] for direction in directions]
            self._force_curve(curve, labels, closure.arcs, unit=units[curve])
        if closure.link_a is not None:
            self._push_link(closure.link_a, closure.wrench_on_a, f"force of {closure.name}")
        if closure.link_b is not None:
            self._push_link(closure.link_b, closure.wrench_on_b, f"force of {closure.name}")

    def _add_rows(self, closure: Closure) -> None:
        several = len(self.trajectory.arcs) > 1
        for arc in closure.arcs:
            label = f"loop {closure.name}" + f", arc {arc}" * several
            speed = closure.kept_speed
            self._hold_still(speed, arc, f"{label} stays closed")
            if arc - 1 not in closure.arcs:
                self._hold_from_the_start(
                    closure.kept_gap, speed, arc, f"{label} closes", f"{label} starts closed"
                )
            over: NodeSet = ArcNodes(arc, "whole") if several else PATH
            self._hold_between_nodes(closure.misfit, closure.tolerance, over, f"{label} between nodes")

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the problem as it was where an error is raised."""
        before = vars(self.independent_copy())
        try:
            yield
        except Exception:
            vars(self).update(before)
            raise
