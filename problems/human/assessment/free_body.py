"""Newton and Euler for every segment by itself, and energy, from second derivatives of poses alone.

A pose (R, p) is carried from the ground outward as a Taylor polynomial of degree two in time, with no angular
velocity or acceleration anywhere. With c the centre of mass, J = tr(I) / 2 - I the second moments of mass
about it, subscripts t for derivatives in time and a prime for the transpose,

    force = m c_tt,    moment about c = axial(R_tt J R'),    axial(A)_i = sum_jk eps_ijk A_kj,
    energy = m |c_t|^2 / 2 + tr(R_t J R_t') / 2 - m g . c,

which is what the wrenches of joints, weight and ground must add up to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dynamics

Series = tuple[np.ndarray, np.ndarray, np.ndarray]  # value, first and second derivative in time


@dataclass(frozen=True, eq=False)
class Motion:
    """Taylor polynomials of rotation (K, N, 3, 3), origin and centre of mass (K, N, 3) of every link."""

    rotation: Series
    origin: Series
    centre: Series


def motion(model: dynamics.RigidBodyModel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Motion:
    """Poses of all links and their first and second derivatives in time, at K states (K, n)."""
    rotations: list[Series] = []
    origins: list[Series] = []
    for body, parent, column in zip(model.bodies, model.parent, model.coordinate, strict=True):
        joint = body.joint
        along = [joint.ratio * x[:, column] for x in (q, v, a)]
        along[0] = along[0] + joint.offset
        turn, shift = _joint_series(joint, along)
        if parent < 0:
            rotations.append(turn)
            origins.append(shift)
            continue
        rotations.append(_product(rotations[parent], turn, "kij,kjl->kil"))
        moved = _product(rotations[parent], shift, "kij,kj->ki")
        origins.append(tuple(x + y for x, y in zip(origins[parent], moved, strict=True)))  # type: ignore[arg-type]
    rotation = _stacked(rotations)
    origin = _stacked(origins)
    levers = np.array([body.centre_of_mass for body in model.bodies])
    centre = tuple(p + np.einsum("knij,nj->kni", R, levers) for R, p in zip(rotation, origin, strict=True))
    return Motion(rotation, origin, centre)  # type: ignore[arg-type]


def imbalance(
    model: dynamics.RigidBodyModel, moving: Motion, wrenches: np.ndarray, loads: np.ndarray
) -> np.ndarray:
    """Residual of each link's balance, (K, N, 6) [moment about its centre of mass; force], world axes.

    wrenches : (K, N, 6) of joints on their links, about the joint in link axes; loads : (K, N, 6) about the
    world origin in world axes.
    """
    R, c = moving.rotation[0], moving.centre[0]
    force = np.einsum("knij,knj->kni", R, wrenches[..., 3:])
    moment = np.einsum("knij,knj->kni", R, wrenches[..., :3]) + np.cross(moving.origin[0], force)
    received = np.concatenate([moment, force], axis=-1) + loads  # about the world origin
    for link, parent in enumerate(model.parent):
        if parent >= 0:
            received[:, parent] -= np.concatenate([moment[:, link], force[:, link]], axis=-1)
    mass = np.array([body.mass for body in model.bodies])[:, None]
    received[..., 3:] += mass * model.gravity
    received[..., :3] += np.cross(c, mass * model.gravity)
    received[..., :3] -= np.cross(c, received[..., 3:])
    needed = mass * moving.centre[2]
    turned = _axial(np.einsum("knij,njl,knml->knim", moving.rotation[2], _second_moments(model), R))
    return received - np.concatenate([turned, needed], axis=-1)


def energy(model: dynamics.RigidBodyModel, moving: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic plus potential energy (K,) in J, and its rate in W."""
    mass = np.array([body.mass for body in model.bodies])
    second = _second_moments(model)
    c, dc, ddc = moving.centre
    _, dR, ddR = moving.rotation
    turning = 0.5 * np.einsum("knij,njl,knil->k", dR, second, dR)
    total = (
        turning
        + 0.5 * np.einsum("n,kni,kni->k", mass, dc, dc)
        - np.einsum("n,kni,i->k", mass, c, model.gravity)
    )
    rate = np.einsum("knij,njl,knil->k", ddR, second, dR) + np.einsum("n,kni,kni->k", mass, dc, ddc)
    return total, rate - np.einsum("n,kni,i->k", mass, dc, model.gravity)


def power_of_loads(moving: Motion, loads: np.ndarray) -> np.ndarray:
    """Power of [moment; force] loads (K, N, 6) about the world origin on the moving links, (K,) W."""
    R, dR = moving.rotation[:2]
    turning = 0.5 * _axial(np.einsum("knij,knlj->knil", dR, R))
    at_origin = moving.origin[1] - np.cross(turning, moving.origin[0])
    return np.einsum("kni,kni->k", loads[..., :3], turning) + np.einsum(
        "kni,kni->k", loads[..., 3:], at_origin
    )


def _joint_series(joint: dynamics.Joint, along: list[np.ndarray]) -> tuple[Series, Series]:
    """A joint's rotation and shift in the axes of the parent link, as polynomials in time."""
    s, ds, dds = along
    place = joint.rotation @ joint.axis
    rest = np.broadcast_to(joint.rotation, (s.size, 3, 3))
    if joint.kind == "prismatic":
        shift = (joint.position + s[:, None] * place, ds[:, None] * place, dds[:, None] * place)
        return (rest, np.zeros_like(rest), np.zeros_like(rest)), shift
    x, y, z = joint.axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, cosine = np.sin(s)[:, None, None], np.cos(s)[:, None, None]
    slope = cosine * K + sine * (K @ K)  # d/ds of 1 + sin K + (1 - cos) K K, Rodrigues
    bend = -sine * K + cosine * (K @ K)
    ds, dds = ds[:, None, None], dds[:, None, None]
    value = np.eye(3) + sine * K + (1.0 - cosine) * (K @ K)
    turn = tuple(joint.rotation @ x for x in (value, slope * ds, bend * ds**2 + slope * dds))
    still = np.zeros((s.size, 3))
    return turn, (joint.position + still, still, still)  # type: ignore[return-value]


def _product(left: Series, right: Series, indices: str) -> Series:
    """The product of two polynomials: (fg)'' = f''g + 2 f'g' + fg''."""

    def times(i: int, j: int) -> np.ndarray:
        return np.einsum(indices, left[i], right[j])

    return times(0, 0), times(1, 0) + times(0, 1), times(2, 0) + 2.0 * times(1, 1) + times(0, 2)


def _stacked(links: list[Series]) -> Series:
    return tuple(np.stack([link[order] for link in links], axis=1) for order in range(3))  # type: ignore[return-value]


def _second_moments(model: dynamics.RigidBodyModel) -> np.ndarray:
    inertia = np.array([body.inertia for body in model.bodies])
    return 0.5 * np.trace(inertia, axis1=1, axis2=2)[:, None, None] * np.eye(3) - inertia


def _axial(A: np.ndarray) -> np.ndarray:
    """(A_32 - A_23, A_13 - A_31, A_21 - A_12)."""
    return np.stack(
        [A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], axis=-1
    )
