"""The robot of bodies that can exist whose base parameters are nearest to an estimate, in its covariance.

A body exists whose mass, centre and inertia these are where its pseudo-inertia

    P = [[S, h], [h', m]],   S = tr(J) / 2 1 - J,   h = m c,   J about the origin of the frame

is positive definite (Wensing, Kim and Slotine, RA-L 3(1), 2018, theorem 2). P = U U' with

    U = e^alpha [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

is so for all ten log-Cholesky parameters (Rucker and Wensing, RA-L 7(2), 2022, eq. 12). Over them, and over
friction and rotor inertia that are not negative,

    |R (beta - C pi(theta))|^2 + |(theta - theta_0) / spread|^2

is minimized by the Gauss-Newton method with bounds of SciPy, R'R being the inverse covariance of beta. The
second sum decides what torques do not show: there the robot stays near the one that it began as.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import least_squares

from dynamics.model.properties import UPPER, symmetric
from dynamics.regressors.dynamic_parameters import PER_LINK
from trajopt.base.arrays import Array

SPREAD = 3.0  # of log-Cholesky parameters that are logarithms: a factor of 20
LEAST_MASS, RADIUS = 1e-3, 0.05  # kg and m of a body that has no mass, or no extent in some direction
MOST_STEPS = 500
NEARLY_FLAT = 1e-6  # of the trace of P, added to a P that is only positive semidefinite
SLOTS = {  # place in theta, after alpha -> entry of U
    1: (0, 0), 2: (1, 1), 3: (2, 2), 4: (0, 1), 5: (1, 2), 6: (0, 2), 7: (0, 3), 8: (1, 3), 9: (2, 3),
}  # fmt: skip
LOGARITHMS = [1, 2, 3]  # places in theta of those of the diagonal of U


def pseudo_inertia(ten: Array) -> Array:
    """P, (4, 4), of mass, first moments and inertia, (10,)."""
    J = symmetric(ten[4:])
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J
    P[:3, 3] = P[3, :3] = ten[1:4]
    P[3, 3] = ten[0]
    return P


def ten_of(P: Array) -> Array:
    """The inverse of `pseudo_inertia`, linear in P."""
    J = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.concatenate([[P[3, 3]], P[:3, 3], J[UPPER]])


def factor(theta: Array) -> Array:
    """U, (4, 4), of the log-Cholesky parameters, (10,)."""
    U = np.zeros((4, 4))
    for slot, place in SLOTS.items():
        U[place] = theta[slot]
    U[np.arange(3), np.arange(3)] = np.exp(theta[LOGARITHMS])
    U[3, 3] = 1.0
    return np.exp(theta[0]) * U


def inertial_parameters(theta: Array) -> Array:
    """(10,) mass, first moments and inertia of log-Cholesky parameters: any (10,) numbers."""
    U = factor(theta)
    return ten_of(U @ U.T)


def inertial_derivatives(theta: Array) -> Array:
    """d pi / d theta, (10, 10)."""
    U, columns = factor(theta), []
    for slot in range(10):
        D = np.zeros((4, 4))
        if slot == 0:
            D = U
        else:
            place = SLOTS[slot]
            D[place] = U[place] if slot in LOGARITHMS else np.exp(theta[0])
        half = D @ U.T
        columns.append(ten_of(half + half.T))
    return np.array(columns).T


def log_cholesky(ten: Array) -> Array:
    """(10,) log-Cholesky parameters of a body; one without extent is given a little."""
    P = pseudo_inertia(ten)
    if P[3, 3] <= 0.0:
        P = np.diag([LEAST_MASS * RADIUS**2] * 3 + [LEAST_MASS])
    least = np.linalg.eigvalsh(P)[0]
    if least < NEARLY_FLAT * np.trace(P):
        P = P + (NEARLY_FLAT * np.trace(P) - min(least, 0.0)) * np.eye(4)
    U = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]
    theta = np.empty(10)
    theta[0] = np.log(U[3, 3])
    U = U / U[3, 3]
    for slot, place in SLOTS.items():
        theta[slot] = np.log(U[place]) if slot in LOGARITHMS else U[place]
    return theta


def spreads(theta: Array) -> Array:
    """Possible error of each of (10,) parameters: factors for logarithms, the body's extent for lengths."""
    extent = np.exp(theta[LOGARITHMS])
    rows = np.array([SLOTS[slot][0] for slot in range(4, 10)])
    return SPREAD * np.concatenate([np.ones(4), extent[rows]])


@dataclass(frozen=True, eq=False)
class ConsistentRobot:
    """Parameters of a robot that can exist.

    pi : (parameters,); distance : |R (beta - C pi)|, of the order of the root of their number where the
    estimate could be one of a robot that exists
    """

    pi: Array
    distance: float


def consistent_robot(
    beta: Array, R: Array, combinations: Array, prior: Array, links: int, joint_spreads: Array
) -> ConsistentRobot:
    """The robot nearest to beta (count,).

    R : (count, count), R'R the inverse covariance of beta; combinations : C, (count, parameters)
    prior : (parameters,) of the robot that it began as; joint_spreads : how far those of joints may be off
    """
    inner = PER_LINK * links
    starts = np.array([log_cholesky(prior[i : i + PER_LINK]) for i in range(0, inner, PER_LINK)])
    theta_0 = np.concatenate([starts.ravel(), np.maximum(prior[inner:], 0.0)])
    spread = np.concatenate([*map(spreads, starts), joint_spreads])
    by_beta = R @ combinations

    def pi_of(theta: Array) -> Array:
        own = [inertial_parameters(theta[i : i + PER_LINK]) for i in range(0, inner, PER_LINK)]
        return np.concatenate([*own, theta[inner:]])

    def residuals(theta: Array) -> Array:
        return np.concatenate([R @ beta - by_beta @ pi_of(theta), (theta - theta_0) / spread])

    def jacobian(theta: Array) -> Array:
        own = [inertial_derivatives(theta[i : i + PER_LINK]) for i in range(0, inner, PER_LINK)]
        by_theta = block_diag(*own, np.eye(len(theta) - inner))
        return np.concatenate([-by_beta @ by_theta, np.diag(1.0 / spread)])

    lower = np.concatenate([np.full(inner, -np.inf), np.zeros(len(theta_0) - inner)])
    inside = np.maximum(theta_0, lower + 1e-3 * np.where(np.isfinite(lower), spread, 0.0))
    options = {"x_scale": spread, "xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-10, "max_nfev": MOST_STEPS}
    found = least_squares(residuals, inside, jacobian, bounds=(lower, np.inf), **options)
    pi = pi_of(found.x)
    return ConsistentRobot(pi, float(np.linalg.norm(R @ beta - by_beta @ pi)))
