"""Weighted least squares for base parameters, block by block of samples, and what a motion does not show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr, solve_triangular

import dynamics
from trajopt.base.arguments import list_names
from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError

NOT_SEEN = 1e-6  # of the largest singular value, columns scaled to one
MOST_NOISE = 0.3  # share of noise in what shows a combination; its square is the bias of the estimate
ROUNDS = 3  # of least squares, each with the noise of the one before
LARGE_SHARE = 0.3  # of the largest entry of a direction; names of those above it are told
BLOCK = 4096  # samples whose regressors are in memory together

Rows = Callable[[Array, slice], Array]  # of a motion and a block of samples: Y_b, (samples, n, count)


class NotExcitingError(TrajoptError):
    """Measured motions do not show all combinations of parameters that torques depend on."""


@dataclass(frozen=True, eq=False)
class LeastSquaresFit:
    """beta, R'R the inverse of its covariance, the noise of torques (n,), and what is left of them (k, n).

    condition : of the weighted regressor, columns scaled to one
    position_noise : largest share that noise of positions has in what shows a combination
    """

    beta: Array
    R: Array
    noise: Array
    residual: Array
    condition: float
    position_noise: float = 0.0


def least_squares_fit(
    model: dynamics.RigidBodyModel,
    base: dynamics.BaseParameters,
    smoothing: float,
    motion: Array,
    position_noise: Array,
    tau: Array,
) -> LeastSquaresFit:
    """beta of tau (k, n) = Y_b beta + noise, every joint weighted by its noise; NotExcitingError.

    Noise of positions makes least squares underestimate what it hides, in proportion to its variance. As much
    noise again, in pairs of opposite signs, shows by how much, and this is taken off: simulation and
    extrapolation (Cook and Stefanski, JASA 89(428), 1994).

    motion : (3, k, n) q, v and a; position_noise : (draws, 3, k, n) what other noise would add to them
    """

    def rows(state: Array, part: slice) -> Array:
        q, v, a = state[:, part]
        return base.regressor(dynamics.regressor(model, q, v, a, smoothing))

    noise = np.ones(model.n)
    for _ in range(ROUNDS - 1):
        noise = _weighted(rows, motion, tau, noise, base.names).noise
    fit = _weighted(rows, motion, tau, noise, base.names)
    share, direction = _noise_of_positions(rows, motion, motion + position_noise[0], fit.noise, fit.R)
    if share > MOST_NOISE:
        told = direction * np.linalg.norm(fit.R, axis=0)
        _check_directions(np.array([True]), told[None], base.names)
    noisier = [motion + sign * each for each in position_noise for sign in (1.0, -1.0)]
    again = [solve_triangular(*_triangular(rows, each, tau, fit.noise, base.count)) for each in noisier]
    return replace(fit, beta=2.0 * fit.beta - np.mean(again, axis=0), position_noise=share)


def _weighted(rows: Rows, motion: Array, tau: Array, noise: Array, names: tuple[str, ...]) -> LeastSquaresFit:
    """The fit with given weights, and the noise that it leaves."""
    (samples, n), count = tau.shape, len(names)
    R, projected = _triangular(rows, motion, tau, noise, count)
    sizes = np.linalg.norm(R, axis=0)
    unseen = np.flatnonzero(sizes <= NOT_SEEN * sizes.max(initial=0.0))
    if unseen.size:
        raise NotExcitingError(_message(unseen.size, [names[i] for i in unseen], len(names)))
    values, directions = np.linalg.svd(R / sizes)[1:]
    _check_directions(values <= NOT_SEEN * values[0], directions, names)
    beta = solve_triangular(R, projected)
    residual = np.concatenate([tau[part] - rows(motion, part) @ beta for part in _blocks(samples)])
    left = np.sqrt(np.sum(residual**2, axis=0) / max(samples - count / n, 1.0))
    left = np.maximum(left, np.finfo(float).eps * np.abs(tau).max())
    return LeastSquaresFit(beta, R, left, residual, float(values[0] / values[-1]))


def _blocks(samples: int) -> Iterator[slice]:
    return (slice(first, first + BLOCK) for first in range(0, samples, BLOCK))


def _triangular(rows: Rows, motion: Array, tau: Array, noise: Array, count: int) -> tuple[Array, Array]:
    """R and Q'tau of the QR factorization of the weighted regressor, a block of samples at a time."""
    factor = np.zeros((0, count + 1))
    for part in _blocks(len(tau)):
        W = (rows(motion, part) / noise[:, None]).reshape(-1, count)
        block = np.column_stack([W, (tau[part] / noise).ravel()])
        factor = qr(np.concatenate([factor, block]), mode="r")[0][: count + 1]
    return factor[:count, :count], factor[:count, count]


def _noise_of_positions(
    rows: Rows, motion: Array, disturbed: Array, noise: Array, R: Array
) -> tuple[float, Array]:
    """The largest |E d| / |W d| with its d; E is the change of W, weighted, by noise of positions."""
    squares = np.zeros_like(R)
    for part in _blocks(motion.shape[1]):
        E = ((rows(disturbed, part) - rows(motion, part)) / noise[:, None]).reshape(-1, len(R))
        by_R = solve_triangular(R, E.T, trans=1)
        squares += by_R @ by_R.T
    values, vectors = np.linalg.eigh(squares)
    return float(np.sqrt(max(values[-1], 0.0))), solve_triangular(R, vectors[:, -1])


def _check_directions(unseen: Array, directions: Array, names: tuple[str, ...]) -> None:
    """NotExcitingError naming the parameters of directions (rows) that are not seen."""
    if np.any(unseen):
        shares = np.abs(directions[unseen]).max(axis=0)
        told = [names[i] for i in np.flatnonzero(shares > LARGE_SHARE * shares.max())]
        raise NotExcitingError(_message(int(np.sum(unseen)), told, len(names)))


def _message(count: int, told: list[str], every: int) -> str:
    return (
        f"the motion does not show {count} of {every} combinations of parameters, or no better than noise of "
        f"positions would; they are among {list_names(told)}: measure a motion of identification.excite, or "
        "several motions"
    )
