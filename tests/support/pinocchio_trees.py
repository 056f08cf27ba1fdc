"""Trees of rigid bodies as models of Pinocchio, the independent oracle of the dynamics."""

import numpy as np
import pytest

pinocchio = pytest.importorskip("pinocchio")
PREFIX = {"revolute": "Revolute", "prismatic": "Prismatic"}


def pinocchio_model(model):
    """The same robot in Pinocchio; its joints are numbered from 1, depth first."""
    found = pinocchio.Model()
    found.gravity = pinocchio.Motion(model.gravity, np.zeros(3))
    index = {-1: 0}
    for i in depth_first(model):
        body = model.bodies[i]
        joint = getattr(pinocchio, f"JointModel{PREFIX[body.joint.kind]}Unaligned")(body.joint.axis)
        placement = pinocchio.SE3(body.joint.rotation, body.joint.position)
        index[i] = found.addJoint(index[int(model.parent[i])], joint, placement, body.joint.name)
        inertia = pinocchio.Inertia(body.mass, body.centre_of_mass, body.inertia)
        found.appendBodyToJoint(index[i], inertia, pinocchio.SE3.Identity())
    return found


def depth_first(model, parent=-1):
    for i in np.flatnonzero(model.parent == parent):
        yield int(i)
        yield from depth_first(model, i)
