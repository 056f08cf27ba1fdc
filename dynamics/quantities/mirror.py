"""Mirrored postures: the coordinates of a robot whose left and right have changed places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dynamics.arguments import list_names, short_repr
from dynamics.errors import ModelError, UnknownNameError
from dynamics.quantities.kinematics import forward_kinematics

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

REFLECTION = np.diag([1.0, -1.0, 1.0])  # in the plane of x and z
SAME_AXIS = 1e-3  # rad, by which axes of a symmetric robot may differ, as in a file of rounded numbers
SAME_PLACE = 1e-3  # of the robot's size, by which places may


def mirrored(model: KinematicTree, pairs: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Signs and order (n,), by which q'_i = signs_i q_order(i) is the mirror image of a posture q.

    In the plane y = 0 of the world, of a robot that is symmetric at q = 0; rates mirror alike.
    pairs : parts of names, left and right: {"FL": "FR", "HL": "HR"}, {"left": "right"}. A joint without
        either is its own image

    A turn about an axis e has a turn about -S e as its image, a slide along e one along S e, with
    S = diag(1, -1, 1). Raises UnknownNameError for a joint without a partner, ModelError where axes or places
    of partners are no mirror images.
    """
    partner = partners(model, pairs)
    poses = forward_kinematics(model, np.zeros(model.n))
    moved = [index for index, joint in enumerate(model.joints) if joint.name in model.joint_names]
    axes = np.array([poses.rotation[index] @ model.joints[index].axis for index in moved])
    turns = np.array([model.joints[index].kind != "prismatic" for index in moved])
    images = axes[partner] @ REFLECTION * np.where(turns, -1.0, 1.0)[:, None]
    signs = np.sign(np.einsum("ij,ij->i", axes, images))
    turned = np.linalg.norm(axes - signs[:, None] * images, axis=1)
    places = poses.position[moved]
    away = np.linalg.norm(places - places[partner] @ REFLECTION, axis=1)
    wrong = (turned > SAME_AXIS) | (away > SAME_PLACE * np.ptp(places, axis=0).max())
    if wrong.any():
        first = int(np.argmax(wrong))
        names = model.joint_names
        raise ModelError(
            f"the joint '{names[first]}' is no mirror image of '{names[partner[first]]}' in the plane y = 0 "
            f"at q = 0: its axis is {axes[first].round(3)}, of the image {images[first].round(3)}, and it is "
            f"{away[first]:.3g} m from the image: name other pairs, or give signs and order yourself"
        )
    return signs, partner


def partners(model: KinematicTree, pairs: Mapping[str, str]) -> np.ndarray:
    """The coordinate of the other side for every coordinate, (n,)."""
    parts = [*pairs, *pairs.values()] if isinstance(pairs, Mapping) else [None]
    if not all(isinstance(part, str) and part for part in parts):
        raise ModelError(f"pairs are {short_repr(pairs)}; give parts of names, {{'left': 'right'}}")
    names, found = list(model.joint_names), []
    both = {**pairs, **{right: left for left, right in pairs.items()}}
    for name in names:
        own = next((part for part in both if part in name), "")
        other = name.replace(own, both[own], 1) if own else name
        if other not in names:
            raise UnknownNameError(
                f"the joint '{name}' has no partner '{other}': the joints are {list_names(names)}"
            )
        found.append(names.index(other))
    return np.array(found)
