"""A planar four-bar linkage in closed form: circles that intersect, and Newton-Euler of every link.

Crank a and coupler b from the origin, rocker c from (d, 0), uniform rods in the vertical plane x-y.
"""

import numpy as np

import dynamics

LENGTHS, MASSES, GROUND, GRAVITY = (0.2, 0.6, 0.5), (1.0, 2.0, 1.5), 0.5, 9.81


def robot():
    """The open chains crank and coupler, and rocker, with frames at the ends that meet."""

    def rod(name, length, mass, parent, at):
        joint = dynamics.Joint(f"{name}_joint", position=np.array(at))
        return dynamics.Body(
            name, joint, parent, mass, (length / 2, 0, 0), mass * length**2 / 12 * np.diag([0.0, 1.0, 1.0])
        )

    a, b, c = LENGTHS
    bodies = [
        rod("crank", a, MASSES[0], None, (0.0, 0.0, 0.0)),
        rod("coupler", b, MASSES[1], "crank", (a, 0.0, 0.0)),
        rod("rocker", c, MASSES[2], None, (GROUND, 0.0, 0.0)),
    ]
    frames = [
        dynamics.Frame("coupler_end", "coupler", position=np.array([b, 0.0, 0.0])),
        dynamics.Frame("rocker_end", "rocker", position=np.array([c, 0.0, 0.0])),
        dynamics.Frame("pivot", None, position=np.array([GROUND, 0.0, 0.0])),
    ]
    return dynamics.RigidBodyModel(bodies, (0.0, -GRAVITY, 0.0), "four_bar", frames=frames)


def along(angle):
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def across(angle):
    return np.stack([-np.sin(angle), np.cos(angle)], axis=-1)


def angles(crank):
    """Angles of coupler and rocker from the horizontal, (k,) each, with the coupler's end above."""
    a, b, c = LENGTHS
    apart = np.array([GROUND, 0.0]) - a * along(crank)
    distance = np.linalg.norm(apart, axis=-1)
    turned = np.arccos((b**2 + distance**2 - c**2) / (2.0 * b * distance))
    coupler = np.arctan2(apart[:, 1], apart[:, 0]) + turned
    end = a * along(crank) + b * along(coupler)
    return coupler, np.arctan2(end[:, 1], end[:, 0] - GROUND)


def pose(crank):
    """Joint coordinates (k, 3) of the closed linkage."""
    coupler, rocker = angles(crank)
    return np.stack([crank, coupler - crank, rocker], axis=-1)


def motion(crank, speed):
    """Angles, angular velocities and accelerations of all links, (k, 3) each, at a constant speed."""
    a, b, c = LENGTHS
    coupler, rocker = angles(crank)
    both = np.stack([b * across(coupler), -c * across(rocker)], axis=-1)
    w = np.linalg.solve(both, -(a * speed * across(crank))[..., None])[..., 0]
    centripetal = a * speed**2 * along(crank) + b * w[:, :1] ** 2 * along(coupler)
    centripetal -= c * w[:, 1:] ** 2 * along(rocker)
    alpha = np.linalg.solve(both, centripetal[..., None])[..., 0]
    first = np.full((crank.size, 1), float(speed))
    return np.stack([crank, coupler, rocker], axis=-1), np.hstack([first, w]), np.hstack([0.0 * first, alpha])


def forces(angle, w, alpha):
    """Forces of all pins, and the torque of the motor, (k, 9).

    Newton-Euler of the three links in the plane, nine equations each time: forces of ground on crank, crank
    on coupler, coupler on rocker, ground on rocker, and the torque on the crank.
    """
    L = LENGTHS
    accelerations = [
        across(angle[:, i]) * alpha[:, [i]] - along(angle[:, i]) * w[:, [i]] ** 2 for i in range(3)
    ]
    of_centres = [
        L[0] / 2 * accelerations[0],
        L[0] * accelerations[0] + L[1] / 2 * accelerations[1],
        L[2] / 2 * accelerations[2],
    ]
    found = []
    for k in range(len(angle)):
        A, b = np.zeros((9, 9)), np.zeros(9)
        half = [L[i] / 2 * along(angle[k, i]) for i in range(3)]
        for link, column, sign, arm in (
            (0, 0, 1, -half[0]),
            (0, 2, -1, half[0]),
            (1, 2, 1, -half[1]),
            (1, 4, -1, half[1]),
            (2, 4, 1, half[2]),
            (2, 6, 1, -half[2]),
        ):
            row = 3 * link
            A[row, column] += sign
            A[row + 1, column + 1] += sign
            A[row + 2, column : column + 2] += sign * np.array([-arm[1], arm[0]])
        A[2, 8] = 1.0
        for i in range(3):
            b[3 * i : 3 * i + 2] = MASSES[i] * (of_centres[i][k] + np.array([0.0, GRAVITY]))
            b[3 * i + 2] = MASSES[i] * L[i] ** 2 / 12.0 * alpha[k, i]
        found.append(np.linalg.solve(A, b))
    return np.array(found)
