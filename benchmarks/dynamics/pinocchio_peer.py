"""The same robots and functions in Pinocchio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio

import dynamics
from dynamics import RigidBodyModel

NAMED_AXES = {(1.0, 0.0, 0.0): "X", (0.0, 1.0, 0.0): "Y", (0.0, 0.0, 1.0): "Z"}
# what Pinocchio computes in each: sometimes less (computeCoriolisMatrix: C alone; crba: half of M) or more
PEERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "rnea": ("rnea", ("q", "v", "a")),
    "base_wrench": ("rnea", ("q", "v", "a")),
    "joint_wrenches": ("rnea", ("q", "v", "a")),
    "rnea_derivatives": ("computeRNEADerivatives", ("q", "v", "a")),
    "crba": ("crba", ("q",)),
    "aba": ("aba", ("q", "v", "tau")),
    "aba_derivatives": ("computeABADerivatives", ("q", "v", "tau")),
    "coriolis_matrix": ("computeCoriolisMatrix", ("q", "v")),
    "forward_kinematics": ("forwardKinematics", ("q",)),
    "frame_velocity": ("forwardKinematics", ("q", "v")),
    "frame_jacobian": ("computeJointJacobians", ("q",)),
    "centre_of_mass": ("centerOfMass", ("q",)),
    "momentum": ("computeCentroidalMomentum", ("q", "v")),
    "kinetic_energy": ("computeKineticEnergy", ("q", "v")),
    "potential_energy": ("computePotentialEnergy", ("q",)),
}


@dataclass(frozen=True, eq=False)
class Peer:
    """A robot in Pinocchio, whose coordinates are `order` of ours."""

    model: Any
    data: Any
    order: np.ndarray

    def nodes(self, array: np.ndarray) -> list[np.ndarray]:
        """(nodes, n) of ours -> one contiguous vector per node, so that its loop does no indexing."""
        return [np.ascontiguousarray(row) for row in array[:, self.order]]


def peer_of(model: RigidBodyModel) -> Peer:
    """The same robot, joint by joint, with Pinocchio's faster joint types where an axis is x, y or z."""
    found = pinocchio.Model()
    found.gravity = pinocchio.Motion(model.gravity, np.zeros(3))
    index = {-1: 0}
    for i in depth_first(model):
        joint = model.bodies[i].joint
        placement = pinocchio.SE3(joint.rotation, joint.position)
        parent = index[int(model.parent[i])]
        index[i] = found.addJoint(parent, joint_type(joint), placement, joint.name)
        body = model.bodies[i]
        inertia = pinocchio.Inertia(body.mass, body.centre_of_mass, body.inertia)
        found.appendBodyToJoint(index[i], inertia, pinocchio.SE3.Identity())
    names = list(model.joint_names)
    order = np.array([names.index(name) for name in list(found.names)[1:]])
    peer = Peer(found, found.createData(), order)
    check(model, peer)
    return peer


def joint_type(joint: dynamics.Joint) -> Any:
    """Pinocchio's joint of the same kind and axis."""
    letter = "R" if joint.kind == "revolute" else "P"
    axis = NAMED_AXES.get(tuple(joint.axis.tolist()))
    if axis is not None:
        return getattr(pinocchio, f"JointModel{letter}{axis}")()
    kind = "Revolute" if joint.kind == "revolute" else "Prismatic"
    return getattr(pinocchio, f"JointModel{kind}Unaligned")(joint.axis)


def depth_first(model: RigidBodyModel, parent: int = -1) -> Iterator[int]:
    """Indices of the bodies in the order in which Pinocchio numbers them."""
    for i in np.flatnonzero(model.parent == parent):
        yield int(i)
        yield from depth_first(model, i)


def check(model: RigidBodyModel, peer: Peer) -> None:
    """Refuse to compare times of two different robots."""
    q, v, a = np.random.default_rng(1).normal(size=(3, model.n))
    ours = dynamics.rnea(model, q, v, a)[peer.order]
    theirs = pinocchio.rnea(peer.model, peer.data, *(x[peer.order] for x in (q, v, a)))
    if np.abs(ours - theirs).max() > 1e-9 * np.abs(theirs).max():
        raise ValueError(
            f"{model.name}: torques differ from Pinocchio's by {np.abs(ours - theirs).max():.1e}"
        )


def peer_call(name: str, peer: Peer, arrays: dict[str, np.ndarray]) -> Callable[[], object] | None:
    """Pinocchio in a Python loop over the nodes, results left in its data; None where it has no equal."""
    if name not in PEERS:
        return None
    function, keys = getattr(pinocchio, PEERS[name][0]), PEERS[name][1]
    model, data = peer.model, peer.data
    nodes = list(zip(*(peer.nodes(arrays[key]) for key in keys), strict=True))

    def loop() -> None:
        for node in nodes:
            function(model, data, *node)

    return loop
