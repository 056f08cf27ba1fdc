"""A spline fitted to measured positions by least squares, whose derivatives are those of the motion.

Differences of samples amplify noise; a filter that runs forwards alone shifts it in time. A spline of degree
five with knots as far apart as the motion's frequencies allow has neither fault: the fit is linear and
symmetric in time, and its derivatives are exact. How many knots there are is chosen by generalized
cross-validation (Golub, Heath and Wahba, Technometrics 21(2), 1979): the product over the joints of

    mean squared residual / (1 - coefficients / samples)^2

is least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import BSpline, make_lsq_spline

from problems.identification.measurements import Measurements
from trajopt.base.arguments import check_positive
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError

DEGREE = 5
LADDER = 1.25  # from one number of intervals to the next
SAMPLES_PER_INTERVAL = 3.0  # at least
WORTH = 1e-3  # by which the score, a logarithm, must fall for more intervals to be taken
DRAWS = 3  # of noise of positions
EDGE = 1.0  # intervals at both ends where derivatives of the fit are poor, left out


@dataclass(frozen=True, eq=False)
class FittedMotion:
    """q, v and a of a measured motion at the samples that are used, with the torques there, (k, n) each.

    t : (k,) s of the samples that are used; spline : q of t
    noise : (draws, 3, k, n) what other noise of positions, as large as this, would add to q, v and a
    residual : (n,) root mean square of measured less fitted positions, rad or m
    normal_matrix : B'B of the basis at all samples, (coefficients, coefficients)
    """

    q: Array
    v: Array
    a: Array
    tau: Array
    noise: Array
    residual: Array
    t: Array
    spline: BSpline
    normal_matrix: Array

    @property
    def bandwidth(self) -> float:
        """Half the number of knots per second, Hz."""
        knots = np.unique(self.spline.t)
        return (len(knots) - 1) / (2.0 * float(knots[-1]))

    @property
    def position_noise(self) -> Array:
        """Standard deviation of a measured position, (n,) rad or m, if what the spline leaves is noise."""
        samples = float(self.normal_matrix.sum())  # the basis sums to one at every sample
        return self.residual / np.sqrt(1.0 - len(self.normal_matrix) / samples)


def fitted_motion(measured: Measurements, bandwidth: float | None = None) -> FittedMotion:
    """The motion of measurements, its first and last interval of knots left out.

    bandwidth : Hz, of the fastest movement that is kept; None: chosen by generalized cross-validation
    Raises OptionError for one that needs more than a knot at every third sample.
    """
    samples = len(measured.q)
    most = int((samples - 1) / SAMPLES_PER_INTERVAL)
    if bandwidth is None:
        spline = _chosen(measured, most)
    else:
        check_positive("bandwidth", bandwidth)
        intervals = max(int(np.ceil(2.0 * bandwidth * measured.duration)), 1)
        if intervals > most:
            raise OptionError(
                f"bandwidth is {bandwidth:g} Hz, but samples at {measured.rate:g} Hz show at most "
                f"{most / (2.0 * measured.duration):.4g} Hz: give a lower one, or measure faster"
            )
        spline = _fit(measured, intervals)
    t = measured.t
    knots = np.unique(spline.t)
    edge = EDGE * (knots[1] - knots[0])
    used = (t >= edge) & (t <= measured.duration - edge)
    at, residual = t[used], np.sqrt(np.mean((measured.q - spline(t)) ** 2, axis=0))
    share = len(spline.c) / samples
    size = residual / np.sqrt(1.0 - share)
    rng = np.random.default_rng(0)
    draws = [replace(measured, q=size * rng.normal(size=measured.q.shape)) for _ in range(DRAWS)]
    by_noise = [_fit(draw, len(knots) - 1) for draw in draws]
    noise = np.array([[curve(at, order) for order in range(3)] for curve in by_noise])
    q, v, a = (spline(at, order) for order in range(3))
    basis = BSpline.design_matrix(t, spline.t, spline.k)
    normal_matrix = (basis.T @ basis).toarray()
    return FittedMotion(q, v, a, measured.tau[used], noise, residual, at, spline, normal_matrix)


def _chosen(measured: Measurements, most: int) -> BSpline:
    """The fit of the least score over numbers of intervals, from few to many."""
    best, least, intervals = None, np.inf, float(DEGREE)
    while best is None or intervals <= most:
        spline = _fit(measured, int(intervals))
        residual = np.mean((measured.q - spline(measured.t)) ** 2, axis=0)
        share = len(spline.c) / len(measured.q)
        # The logarithm of the product over joints that generalized cross-validation makes least
        logarithms = np.log(np.maximum(residual, np.finfo(float).tiny)) - 2.0 * np.log1p(-share)
        score = float(logarithms.sum())
        if best is None or score < least - WORTH:
            best, least = spline, score
        intervals *= LADDER
    return best


def _fit(measured: Measurements, intervals: int) -> BSpline:
    inner = np.linspace(0.0, measured.duration, intervals + 1)
    knots = np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, measured.duration)])
    return make_lsq_spline(measured.t, measured.q, knots, DEGREE)
