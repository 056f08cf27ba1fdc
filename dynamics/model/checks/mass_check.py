"""The mass matrix from its definition, in NumPy: checks a model without compiling a kernel.

Rotors and joint motion are written out here a second time, apart from `model/packed_model.py` and
`kernels/joint_motion.py`, on purpose: tests hold the kernels against this matrix as an independent oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dynamics.errors import InertiaError
from dynamics.model.body import Body
from dynamics.model.checks.tree_checks import Robot, coordinate_indices, parent_indices
from dynamics.model.joint import Joint
from dynamics.model.rotation import about_axis

# A point mass on its own axis leaves (1e-16 m)^2; the lightest finger of a large robot has 1e-9 of the
# largest entry.
SINGULAR_DIAGONAL = 1e-18
# On the matrix scaled to unit diagonal; chains of 50 joints stay above 1e-10, rounding leaves 1e-15.
SINGULAR_EIGENVALUE = 1e-13
# Pivot by diagonal entry; chains of 2000 joints stay above 1e-8. Below, the eigenvalues decide.
CLEAR_PIVOT = 1e-10
CONFIGURATIONS = 3  # random ones at which the pivots are looked at


def check_mass_matrix(model: Robot) -> None:
    """InertiaError, naming the joint, when a leaf has no mass or M(q) is singular at three seeded q."""
    inner = set(parent_indices(model.bodies))
    for i, body in enumerate(model.bodies):
        if i not in inner and body.is_massless:
            raise InertiaError(
                f"body {body.name!r} on joint {body.joint.name!r} is a leaf without mass, so nothing "
                "resists its joint; give it mass and inertia, or make it a frame of its parent"
            )
    names = coordinates_without_mass(model)
    if names:
        raise InertiaError(
            f"the mass matrix is singular: joint {names[0]!r} can move without moving mass; "
            "give its links mass or inertia off the axis, or remove the joint"
        )


def coordinates_without_mass(model: Robot) -> tuple[str, ...]:
    """Joints that move no mass at one of three seeded q: the fewest without which M(q) is not singular."""
    names = tuple(body.joint.name for body in model.bodies if body.joint.mimics is None)
    if has_no_mass(model):
        return names
    if all(map(well_conditioned, articulated_inertias(model))):
        return ()
    return moving_no_mass(names, lambda q: mass_matrix(model, q))


def moving_no_mass(names: Sequence[str], matrix: Callable[[np.ndarray], np.ndarray]) -> tuple[str, ...]:
    """The fewest coordinates without which matrix(q), (n, n), is not singular at three seeded q."""
    generator = np.random.default_rng(0)
    found: set[int] = set()
    for _ in range(CONFIGURATIONS):
        M = matrix(generator.uniform(-1.5, 1.5, len(names)))
        kept = [k for k in range(len(names)) if k not in found]
        while kept and (least := singular_joint(M[np.ix_(kept, kept)])) is not None:
            found.add(kept.pop(least))
    return tuple(names[k] for k in sorted(found))


def has_no_mass(model: Robot) -> bool:
    """True if no link and no rotor that counts has mass or inertia."""
    rotors = [] if model.rotors == "none" else [body.joint.rotor for body in model.bodies]
    return all(body.is_massless for body in model.bodies) and all(
        rotor is None or rotor.is_massless for rotor in rotors
    )


def well_conditioned(inertias: tuple[np.ndarray, np.ndarray]) -> bool:
    """True if the pivots of M leave no doubt that it is positive definite; rotors only add to it."""
    articulated, composite = inertias
    largest = composite.max()
    return bool(
        np.all(articulated > CLEAR_PIVOT * composite) and np.all(composite > SINGULAR_DIAGONAL * largest)
    )


def articulated_inertias(model: Robot) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(D, S' I S) of every joint at three seeded q, (links,) each, in O(links): pivots and diagonal of M.

    D = S' I_A S, with I_A the inertia of a link when the joints further out are free and I when they are
    locked (Featherstone 2008, table 7.1). All D > 0 makes M of the tree without coupled joints positive
    definite, and with it that of the model: coupling joints, with ratios that are not zero, and adding
    rotors keeps it.
    """
    parents = parent_indices(model.bodies)
    inertias = [spatial_inertia(body.mass, body.centre_of_mass, body.inertia) for body in model.bodies]
    both = np.tile(np.array(inertias)[:, None], (CONFIGURATIONS, 1, 2, 1, 1))  # articulated, composite
    found = np.zeros(both.shape[:3])
    q = np.random.default_rng(0).uniform(-1.5, 1.5, both.shape[:2])
    transforms = link_transforms(model.bodies, q)
    for i in range(len(parents) - 1, -1, -1):
        joint = model.bodies[i].joint
        S = np.concatenate([joint.motion.turn * joint.axis, joint.motion.slide * joint.axis])
        U = both[:, i] @ S
        found[:, i] = U @ S
        if np.any(found[:, i, 0] <= 0.0):
            break  # not positive: the other entries stay zero, which is in doubt too
        if parents[i] >= 0:
            both[:, i, 0] -= U[:, 0, :, None] * U[:, 0, None] / found[:, i, :1, None]
            X = transforms[:, i, None]
            both[:, parents[i]] += np.swapaxes(X, -1, -2) @ both[:, i] @ X
    yield from zip(found[..., 0], found[..., 1], strict=True)


def spatial_inertia(mass: float, centre: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """(6, 6) about the link frame's origin, for [angular; linear] velocities (Featherstone 2008, 2.63)."""
    C = cross_matrices(centre)
    found = np.empty((6, 6))
    found[:3, :3], found[:3, 3:] = inertia + mass * (C @ C.T), mass * C
    found[3:, :3], found[3:, 3:] = mass * C.T, mass * np.eye(3)
    return found


def link_transforms(bodies: Sequence[Body], displacements: np.ndarray) -> np.ndarray:
    """(..., links, 6, 6) from velocities in the parent link's frame to those in the link's, joints at rest.

    displacements : (..., links) of the joints, rad or m
    """
    joints = [body.joint for body in bodies]
    axis, rotation, position = (
        np.array([getattr(joint, name) for joint in joints]) for name in ("axis", "rotation", "position")
    )
    turns, slides = np.array([(joint.motion.turn, joint.motion.slide) for joint in joints]).T
    turn, slide = (turns * displacements)[..., None, None], (slides * displacements)[..., None]
    hat = cross_matrices(axis)
    turned = np.sin(turn) * hat + (1.0 - np.cos(turn)) * (hat @ hat)
    frame = np.swapaxes(rotation @ (np.eye(3) + turned), -1, -2)
    origin = position + slide * np.einsum("bij,bj->bi", rotation, axis)
    found = np.zeros((*displacements.shape, 6, 6))
    found[..., :3, :3] = found[..., 3:, 3:] = frame
    found[..., 3:, :3] = -frame @ cross_matrices(origin)
    return found


def cross_matrices(p: np.ndarray) -> np.ndarray:
    """(..., 3) -> (..., 3, 3) such that the matrix times x is p x x."""
    found = np.zeros((*p.shape, 3))
    found[..., 2, 1], found[..., 0, 2], found[..., 1, 0] = p[..., 0], p[..., 1], p[..., 2]
    return found - np.swapaxes(found, -1, -2)


def singular_joint(matrix: np.ndarray) -> int | None:
    """The coordinate that moves least mass where M (n, n) is not positive definite; None where it is."""
    diagonal = np.diag(matrix)
    least = int(np.argmin(diagonal))
    if diagonal[least] > SINGULAR_DIAGONAL * diagonal.max():
        scale = np.sqrt(diagonal)
        values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
        if values[0] > SINGULAR_EIGENVALUE:
            return None
        least = int(np.argmax(np.abs(vectors[:, 0])))
    return least


def mass_matrix(model: Robot, q: np.ndarray) -> np.ndarray:
    """M(q) = sum over bodies of m J' J + W' I W, (n, n), rotors as the model treats them.

    J and W are the Jacobians of the body's centre of mass and of its rotation (Savin, lecture).
    """
    n = len(q)
    matrix = np.zeros((n, n))
    ground = (np.eye(3), np.zeros(3), np.zeros((6, n)))
    states: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    indices = zip(parent_indices(model.bodies), coordinate_indices(model.bodies), strict=True)
    for body, (parent, k) in zip(model.bodies, indices, strict=True):
        carrier = ground if parent < 0 else states[parent]
        states.append(moved_state(carrier, body.joint, k, float(q[k])))
        add_body(matrix, states[-1], body.mass, body.centre_of_mass, body.inertia)
        add_rotor(matrix, model.rotors, carrier, body.joint, k, float(q[k]))
    return matrix


def moved_state(carrier, joint: Joint, k: int, q: float):
    """Rotation, origin and Jacobian [angular; linear of the origin] (6, n) of the link on `joint`."""
    rotation, origin, jacobian = (
        carrier[0] @ joint.rotation,
        carrier[1] + carrier[0] @ joint.position,
        carrier[2],
    )
    axis, displacement, motion = rotation @ joint.axis, joint.ratio * q + joint.offset, joint.motion
    origin = origin + motion.slide * displacement * axis
    jacobian = shifted(jacobian, origin - carrier[1])
    jacobian[:3, k] += motion.turn * joint.ratio * axis
    jacobian[3:, k] += motion.slide * joint.ratio * axis
    return rotation @ about_axis(joint.axis, motion.turn * displacement), origin, jacobian


def add_rotor(matrix: np.ndarray, mode: str, carrier, joint: Joint, k: int, q: float) -> None:
    """Add the rotor of `joint`: a body on the carrier, or its mass there and an armature on the diagonal."""
    rotor = joint.rotor
    if rotor is None or rotor.is_massless or mode == "none":
        return
    ratio = rotor.gear_ratio * joint.ratio
    if mode == "armature":
        matrix[k, k] += ratio**2 * rotor.axial_inertia
        add_body(matrix, carrier, rotor.mass, rotor.position + rotor.centre_of_mass, np.zeros((3, 3)))
        return
    offset = rotor.gear_ratio * joint.offset
    spindle = Joint("rotor", axis=rotor.axis, position=rotor.position, ratio=ratio, offset=offset)
    add_body(matrix, moved_state(carrier, spindle, k, q), rotor.mass, rotor.centre_of_mass, rotor.inertia)


def add_body(matrix: np.ndarray, state, mass: float, centre: np.ndarray, inertia: np.ndarray) -> None:
    rotation, _, jacobian = state
    moved = shifted(jacobian, rotation @ centre)
    world_inertia = rotation @ inertia @ rotation.T
    matrix += mass * moved[3:].T @ moved[3:] + moved[:3].T @ world_inertia @ moved[:3]


def shifted(jacobian: np.ndarray, lever: np.ndarray) -> np.ndarray:
    """The Jacobian of the point `lever` away on the same body: v + omega x lever."""
    moved = jacobian.copy()
    moved[3:] += np.cross(jacobian[:3], lever, axis=0)
    return moved
