"""The frames of a serial chain in world axes: the input of Safeea's recursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.arguments import number_array
from dynamics.errors import ShapeError, TreeError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.trees.linkage import linkage_of
from dynamics.papers.trees.spatial import hat


@dataclass(frozen=True, eq=False)
class SerialChain:
    """Frames in world axes, and what does not depend on q.

    rotations (..., n, 3, 3), axes (..., n, 3), origins (..., n, 3) m : of the joint frames
    revolute : (n,) bool
    masses : (n,) kg
    centres : (n, 3) m, of mass, in link axes
    spreads : (n, 3, 3) kg m^2, tr(I) 1 / 2 - I = integral of r r' dm about the centre of mass, in link axes;
        half of the L of (16)
    """

    rotations: np.ndarray
    axes: np.ndarray
    origins: np.ndarray
    revolute: np.ndarray
    masses: np.ndarray
    centres: np.ndarray
    spreads: np.ndarray


def serial_chain(model: KinematicTree, q: np.ndarray) -> SerialChain:
    """The chain at q (..., n), by forward kinematics.

    Raises TreeError when the model branches, has exact rotors (they are branches too) or mimic joints;
    ShapeError when q does not fit.
    """
    linkage = linkage_of(model)
    parents = [link.parent for link in linkage.links]
    if parents != list(range(-1, model.n - 1)):
        raise TreeError(
            f"Safeea's recursion needs a serial chain of {model.n} joints, but the parents are {parents}; "
            'use christoffel_symbols for trees, or with_rotors("armature") for a chain with rotors'
        )
    q = number_array(q, "q")
    if q.shape[-1:] != (model.n,):
        raise ShapeError(
            f"q has shape {q.shape} but the model has n = {model.n} joints; give (..., {model.n})"
        )
    displacements = q * np.diag(linkage.reduction) + linkage.offset
    rotation = np.broadcast_to(np.eye(3), (*q.shape[:-1], 3, 3))
    origin = np.zeros(3)
    rotations, axes, origins = [], [], []
    for i, link in enumerate(linkage.links):
        joint, s = link.motion, displacements[..., i, None]
        origin = origin + rotation @ joint.position
        rotation = rotation @ joint.rotation
        axes.append(rotation @ joint.axis)
        if joint.kind == "revolute":
            skew, angle = hat(joint.axis), s[..., None]
            rotation = rotation @ (np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * (skew @ skew))
        else:
            origin = origin + axes[i] * s
        rotations.append(rotation)
        origins.append(origin)
    return SerialChain(
        np.stack(rotations, axis=-3),
        np.stack(axes, axis=-2),
        np.stack(origins, axis=-2),
        np.array([link.motion.kind == "revolute" for link in linkage.links]),
        np.array([link.mass for link in linkage.links]),
        np.array([link.centre_of_mass for link in linkage.links]),
        np.array([np.trace(link.inertia) / 2 * np.eye(3) - link.inertia for link in linkage.links]),
    )
