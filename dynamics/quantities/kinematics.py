"""Forward kinematics, frame Jacobians, centre of mass, momentum and energies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import names_of
from dynamics.kernels.rotation_vectors.serial_motion import computed_frame, computed_motion
from dynamics.kernels.transposition import nodes_first
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.quantities.frames import frame_requests, frame_values
from dynamics.quantities.momentum import CENTRE_ROW, KINETIC_ROW, MOMENTUM_ROW, POTENTIAL_ROW, mass_values
from dynamics.quantities.poses import pose_values


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of m frames, x_world = rotation x_frame + position.

    rotation : (..., m, 3, 3), its columns the axes of the frames in world axes; position : (..., m, 3) m
    """

    rotation: np.ndarray
    position: np.ndarray


def forward_kinematics(
    model: KinematicTree, q: ArrayLike, frames: str | Iterable[str] | None = None
) -> Poses:
    """Poses of frames in the world: x_world = rotation x_frame + position.

    q : (..., n) rad or m; frames : None = the link frames in order, or names of links and frames
    The arrays are strided views, node axis last in memory.
    Raises ShapeError when q does not fit the model, UnknownNameError for a frame it does not have.
    """
    tree, nodes, motion = computed_motion(model, 1, q=q)
    wanted = None if frames is None else names_of(frames, "frames")
    if wanted is None and motion is not None:
        wanted = model.link_names
    chosen = None if wanted is None else [computed_frame(model, name) for name in wanted]
    both = nodes.spread(pose_values(tree, nodes, chosen))
    return Poses(both[..., :9].reshape(*both.shape[:-1], 3, 3), both[..., 9:])


def frame_jacobian(model: KinematicTree, q: ArrayLike, frame: str) -> np.ndarray:
    """Geometric Jacobian J(q), (..., 6, n): [angular velocity; velocity of the frame's origin] = J v.

    World axes, rad/s and m/s per rate of the coordinate. q : (..., n); frame : a link or a frame
    Raises ShapeError when q does not fit the model, UnknownNameError for a frame it does not have.
    """
    tree, nodes, motion = computed_motion(model, 1, q=q)
    requests = frame_requests(tree, [(computed_frame(model, frame), "velocity")])
    _, derivatives = frame_values(tree, nodes.at_rest(), requests, derivatives=True)
    if motion is None:
        return nodes.spread(derivatives[:, 1])
    return nodes.unfold(motion.columns(nodes_first(derivatives)[:, :, 1]), 6, model.n)


def frame_velocity(model: KinematicTree, q: ArrayLike, v: ArrayLike, frame: str) -> np.ndarray:
    """[angular velocity; velocity of the frame's origin] = J(q) v, (..., 6) rad/s and m/s, world axes.

    q, v : (..., n); frame : a link or a frame. Errors as in `frame_jacobian`.
    """
    tree, nodes, _ = computed_motion(model, 1, q=q, v=v)
    values, _ = frame_values(tree, nodes, frame_requests(tree, [(computed_frame(model, frame), "velocity")]))
    return nodes.unfold(values, 6)


def centre_of_mass(model: KinematicTree, q: ArrayLike) -> np.ndarray:
    """Centre of mass of the robot, sum m_b c_b / sum m_b, (..., 3) m, world axes.

    q : (..., n) rad or m. Rotors as `model.rotors` says. Raises ShapeError when q does not fit the model.
    """
    tree, nodes, _ = computed_motion(model, 1, q=q)
    model.check_mass("the centre of mass")
    return nodes.unfold(mass_values(tree, nodes.at_rest())[0][:, CENTRE_ROW : CENTRE_ROW + 3], 3)


def momentum(model: KinematicTree, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """[angular momentum; linear momentum] about the world origin, (..., 6) N m s and N s, world axes.

    Its rate is base wrench + weight + external wrenches. q, v : (..., n). Raises ShapeError.
    """
    tree, nodes, _ = computed_motion(model, 1, q=q, v=v)
    model.check_mass("the momentum")
    return nodes.unfold(mass_values(tree, nodes)[0][:, MOMENTUM_ROW : MOMENTUM_ROW + 6], 6)


def kinetic_energy(model: KinematicTree, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Kinetic energy v' M(q) v / 2, (...) J. q, v : (..., n). Raises ShapeError."""
    tree, nodes, _ = computed_motion(model, 1, q=q, v=v)
    model.check_mass("the kinetic energy")
    return nodes.unfold(mass_values(tree, nodes)[0][:, KINETIC_ROW])


def potential_energy(model: KinematicTree, q: ArrayLike) -> np.ndarray:
    """Potential energy of gravity, -total mass * gravity . centre of mass, (...) J.

    Zero with the centre of mass at the world origin. q : (..., n). Raises ShapeError.
    """
    tree, nodes, _ = computed_motion(model, 1, q=q)
    model.check_mass("the potential energy")
    return nodes.unfold(mass_values(tree, nodes.at_rest())[0][:, POTENTIAL_ROW])


def skeleton(model: KinematicTree, q: ArrayLike) -> np.ndarray:
    """Line segments that draw the robot, (..., segments, 2, 3) m, world axes.

    From every link's origin to the origins of the links it carries and to the frames fixed to it; a link
    that carries nothing ends at its centre of mass. The coordinates of a floating base, sliding joints behind
    links without mass, are no links and are not drawn.
    """
    poses = forward_kinematics(model, q)
    segments: list[np.ndarray] = []
    for link, end in skeleton_ends(model):
        start = poses.position[..., link, :]
        stop = (
            poses.position[..., end, :]
            if isinstance(end, int)
            else start + np.einsum("...ij,j->...i", poses.rotation[..., link, :, :], end)
        )
        segments.append(np.stack([start, stop], axis=-2))
    return np.stack(segments, axis=-3)


def skeleton_ends(model: KinematicTree) -> list[tuple[int, np.ndarray | int]]:
    """The segments of `skeleton`, each from a link's origin to a link that it carries, or to (3,) m on it."""
    ends: list[tuple[int, np.ndarray | int]] = []
    massless: list[bool] = []  # of every link, whether the first mass of the robot comes after it
    for link, body in enumerate(model.bodies):
        parent = int(model.parent[link])
        before = parent < 0 or massless[parent]
        massless.append(body.mass == 0.0 and before and not model.has_no_mass)
        children: list[int] = np.flatnonzero(model.parent == link).tolist()
        tips: list[np.ndarray] = [frame.position for frame in model.frames if frame.body == body.name]
        carried: list[int | np.ndarray] = [*children, *tips] or [body.centre_of_mass]
        if massless[link]:
            carried = [end for end in carried if not (isinstance(end, int) and is_slide(model, end))]
        ends += [(link, end) for end in carried]
    return ends


def is_slide(model: KinematicTree, link: int) -> bool:
    """True if a link slides on the one that carries it."""
    return model.bodies[link].joint.kind == "prismatic"
