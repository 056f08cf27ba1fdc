"""Covariance that noise of measured positions adds to estimated base parameters.

Positions q of a motion are a spline fitted to samples; noise of the samples, of deviation sigma_j at joint j,
changes its coefficients by (B'B)^-1 B' e and with them q, v and a, so that the torques of the estimate change
by d tau = D_q dq + D_v dv + D_a da. Least squares with the weighted regressor W then err by -A d tau with
A = (W'W)^-1 W', whose covariance is, to first order,

    sum_j sigma_j^2 M_j (B'B)^-1 M_j',   M_j = A (D_q,j B + D_v,j B' + D_a,j B'').

What is left of the squared residuals of a joint after the part that this explains is the noise of its torque.
Errors-in-variables, to first order: Fuller, Measurement Error Models, 1987, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import cho_solve, cholesky, qr, solve_triangular

import dynamics
from problems.identification.fitted_curve import FittedMotion
from problems.identification.least_squares import BLOCK, LeastSquaresFit
from problems.moves.path_quantities import spring_torques
from trajopt.base.arrays import Array

LEAST_SHARE = 0.1  # of the variance of residuals, that noise of torques has however much positions explain


def information_with_positions(
    model: dynamics.RigidBodyModel,
    base: dynamics.BaseParameters,
    smoothing: float,
    motions: list[FittedMotion],
    fit: LeastSquaresFit,
) -> tuple[Array, Array]:
    """R and the share of the squared residuals of every joint, (n,), that noise of positions explains.

    R, (count, count), is upper triangular, R'R the inverse covariance of beta under noise of torques and
    positions. The model is a robot whose torques are those of the estimate.
    """
    count = len(fit.R)
    by_noise = np.zeros((model.n, count, count))  # A A' of the torques of each joint
    by_positions = np.zeros((count, count))
    explained, samples = np.zeros(model.n), 0
    stiffness = spring_torques(model, np.ones(model.n)) - spring_torques(model, np.zeros(model.n))
    for motion in motions:
        whiten = cholesky(motion.normal_matrix, lower=True)
        sensitivity = np.zeros((model.n, count, len(whiten)))  # M_j L^-T
        for q, v, a, bases in _blocks(motion):
            U = solve_triangular(whiten, np.moveaxis(bases, 0, 1).reshape(len(whiten), -1), lower=True)
            U = U.reshape(len(whiten), 3, -1)
            partials = dynamics.rnea_derivatives(model, q, v, a)
            by_v = partials.dtau_dv - dynamics.friction(model, v, smoothing).dv
            # Derivatives of the motors' torques by q, v and a
            D = np.array([partials.dtau_dq + np.diag(stiffness), by_v, partials.dtau_da])
            Y = base.regressor(dynamics.regressor(model, q, v, a, smoothing)) / fit.noise[:, None] ** 2
            A = cho_solve((fit.R, False), Y.reshape(-1, count).T).reshape(count, len(q), model.n)
            by_noise += np.einsum("cki,dki->icd", A, A)
            sensitivity += np.einsum("cki,lkij,mlk->jcm", A, D, U, optimize=True)
            gram = np.einsum("mlk,mpk->klp", U, U)
            explained += np.einsum("lkij,klp,pkij,j->i", D, gram, D, motion.position_noise**2, optimize=True)
            samples += len(q)
        for joint, noise in zip(sensitivity, motion.position_noise, strict=True):
            by_positions += noise**2 * joint @ joint.T
    share = np.minimum(explained / (samples * fit.noise**2), 1.0 - LEAST_SHARE)
    covariance = by_positions + np.tensordot((1.0 - share) * fit.noise**2, by_noise, 1)
    size = np.sqrt(np.diag(covariance))
    root = cholesky(covariance / np.outer(size, size), lower=True)
    return qr(solve_triangular(root, np.diag(1.0 / size), lower=True), mode="r")[0], share


def _blocks(motion: FittedMotion) -> Iterator[tuple[Array, Array, Array, Array]]:
    """q, v, a and (3, coefficients, k) the basis and its two derivatives, a block of samples at a time."""
    every = BSpline(motion.spline.t, np.eye(len(motion.spline.c)), motion.spline.k)
    for first in range(0, len(motion.q), BLOCK):
        part = slice(first, first + BLOCK)
        bases = np.array([every(motion.t[part], order).T for order in range(3)])
        yield motion.q[part], motion.v[part], motion.a[part], bases
