"""The fastest `SmoothSpeed` within bounds of speeds, accelerations, torques and jerks at points of its spans.

    minimize integral of x^(-1/2)   subject to   L + e sqrt(x) <= bound,   of jerks   L sqrt(x) <= bound

with L = f . (x, x', x''), and e of viscous friction. A primal-dual interior-point method: slacks stay
positive, so that every iterate is a motion within the bounds at the points. What is not linear is so about
the current x, its curvature left out, which keeps the Hessian positive definite; three coefficients act on a
span, so that it has two diagonals below its own. Predictor and corrector as in Mehrotra (1992), On the
implementation of a primal-dual interior point method, SIAM Journal on Optimization 2(4). The optimum found is
a local one. Where the first or last coefficients are held, the start may exceed bounds: they are wider by
what is lacking, and each step removes as much of that as it goes of its way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from problems.moves.timing.smooth_speed import SmoothSpeed, quadratics, spans
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError

GAUSS = np.array([0.5 - np.sqrt(3.0) / 6.0, 0.5 + np.sqrt(3.0) / 6.0])  # fractions of a span, weights 1/2
GAP = 1e-4  # of the time: complementarity that is left, and the last change
MOST_STEPS = 200
INSIDE = 0.98  # of the way to the next bound
LEAST_SLACK = 0.01  # of a slack that a step may leave
SHORTER, SHORTEST = 0.7, 1e-8  # factors of a step that leaves the bounds
PROGRESS = 0.5  # of a step: after shorter ones the barrier stays
SLOWER = 0.9  # of x: where a search begins from an answer on other knots
RIDGE = 1e-13  # of the Hessian's diagonal
ROOM = 0.1  # of a bound, by which a start is within it, or within a wider one
SHARE_LACKING = 0.5  # of every slack, below which what is lacking is left out
HOPELESS = 1e8  # multipliers, where bounds of one cannot be met
LEAST_START = 1e-9  # of x where a search between held ends begins
NONE_HELD = 0, 0


@dataclass(frozen=True, eq=False)
class SpeedBounds:
    """Rows at points: parts of the spans, (parts,), those of each span (parts, spans).

    factors : (3, parts, spans, rows) f of x, x' and x''; bound : above zero, (parts, spans, rows)
    friction : e, zero where there is none; jerks : (rows,), which of them are multiplied by sqrt(x)
    """

    parts: Array
    factors: Array
    bound: Array
    friction: Array
    jerks: Array

    def scaled(self, x: float) -> SpeedBounds:
        """The bounds for x in this unit, with bounds of one."""
        factors = self.factors / self.bound * np.where(self.jerks, x**1.5, x)
        friction = self.friction / self.bound * x**0.5
        return SpeedBounds(self.parts, factors, np.ones_like(self.bound), friction, self.jerks)

    @property
    def highest_constant(self) -> float:
        """The largest x below which every constant x is within the bounds, infinite where there is none."""
        f, e = self.factors[0], self.friction
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            divisor = e + np.sqrt(e**2 + 4.0 * f * self.bound)  # NaN: no x meets the bound
            root = np.where(divisor > 0.0, 2.0 * self.bound / divisor, np.inf)
            x = np.where(self.jerks, (self.bound / np.maximum(f, 0.0)) ** (2.0 / 3.0), root**2)
            x = np.where(np.isfinite(self.bound), x, np.inf)
        return float(x.min())


@dataclass(frozen=True, eq=False)
class Iterate:
    """Coefficients y, x and its derivatives at the points, (3, parts, spans), slacks, multipliers, time.

    lacking : by which bounds are wider, as slacks
    """

    y: Array
    x: Array
    slack: Array
    multipliers: Array
    time: float
    lacking: Array

    @property
    def complementarity(self) -> float:
        return float(np.vdot(self.slack, self.multipliers))


@dataclass(frozen=True, eq=False)
class SpeedSearch:
    """The search on given knots, within bounds that were scaled so that x is about one.

    held : coefficients that stay as they are, the first and the last
    """

    knots: Array
    bounds: SpeedBounds
    held: tuple[int, int] = NONE_HELD

    @cached_property
    def basis(self) -> Array:
        """(3 orders, parts, spans, 3) at the points."""
        return np.moveaxis(quadratics(self.knots, self.bounds.parts), 2, 0)

    @cached_property
    def between(self) -> Array:
        """(2, spans, 3), B-splines at the points of Gauss."""
        return quadratics(self.knots, GAUSS)[:, :, 0]

    @cached_property
    def weights(self) -> Array:
        """Weights of the points of Gauss, (spans,)."""
        return 0.5 * np.diff(self.knots)

    @cached_property
    def index(self) -> Array:
        return spans(len(self.knots) - 1)

    @property
    def kept(self) -> list[int]:
        """Numbers of the coefficients that are held."""
        count, (first, last) = len(self.knots) + 1, self.held
        return [*range(first), *range(count - last, count)]

    def optimum(self, y: Array, gap: float = GAP) -> Iterate:
        """The optimum with its multipliers, from the coefficients of a start; `lacking` if none was found."""
        now = self.at(y, np.zeros(0), np.zeros(1))
        if now.slack.min() <= 0.0:
            now = self.at(y, np.zeros(0), np.maximum(ROOM - now.slack, 0.0))
        now = replace(now, multipliers=0.1 * now.time / now.slack.size / now.slack)
        for _ in range(MOST_STEPS):
            following = self.following(now)
            if following is None or following.multipliers.max() > HOPELESS:
                break
            change, now = now.time - following.time, following
            if np.any(now.lacking):
                if np.all(now.lacking < SHARE_LACKING * now.slack):
                    now = self.at(now.y, now.multipliers, np.zeros(1))
            elif now.complementarity <= gap * now.time and abs(change) <= gap * now.time:
                break
        return now

    def at(self, y: Array, multipliers: Array, lacking: Array) -> Iterate:
        """The iterate of coefficients; of a time that is infinite where x is not above zero everywhere."""
        local, bounds = y[self.index], self.bounds
        x, middle = np.einsum("dksj,sj->dks", self.basis, local), np.einsum("ksj,sj->ks", self.between, local)
        if x[0].min() <= 0.0 or middle.min() <= 0.0:
            return Iterate(y, x, -np.ones_like(bounds.bound), multipliers, np.inf, lacking)
        root = np.sqrt(x[0])[..., None]
        slack = bounds.bound - self.loads(x) * np.where(bounds.jerks, root, 1.0) - bounds.friction * root
        time = float((self.weights * middle**-0.5).sum())
        return Iterate(y, x, slack + lacking, multipliers, time, lacking)

    def loads(self, x: Array) -> Array:
        """L of every row."""
        f = self.bounds.factors
        return f[0] * x[0][..., None] + f[1] * x[1][..., None] + f[2] * x[2][..., None]

    def slopes(self, x: Array) -> Array:
        """Derivatives of the slacks by x, x' and x'', (3, parts, spans, rows)."""
        bounds, root = self.bounds, np.sqrt(x[0])[..., None]
        found = -bounds.factors * np.where(bounds.jerks, root, 1.0)
        jerk = (bounds.factors[..., bounds.jerks] * x[..., None]).sum(axis=0)
        found[0, ..., bounds.jerks] -= 0.5 * np.moveaxis(jerk / root, -1, 0)
        found[0] -= 0.5 * bounds.friction / root
        return found

    def following(self, now: Iterate) -> Iterate | None:
        """The next iterate; None where no step stays within the bounds."""
        slopes, mean = self.slopes(now.x), now.complementarity / now.slack.size
        gradient, hessian = self._model(now, slopes)
        for k in self.kept:
            hessian[:, k] = np.array([1.0, 0.0, 0.0])
            for below in range(1, min(k, 2) + 1):
                hessian[below, k - below] = 0.0
        step = _Step(self, now, slopes, gradient, _factor(hessian))
        first = step.towards(np.zeros(1))
        primal, dual = _longest(now.slack, first.slack), _longest(now.multipliers, first.multipliers)
        ahead = np.vdot(now.slack + primal * first.slack, now.multipliers + dual * first.multipliers)
        stays = primal <= PROGRESS or (np.any(now.lacking) and now.complementarity <= GAP * now.time)
        centring = 1.0 if stays else (float(ahead) / now.slack.size / mean) ** 3
        chosen = step.towards(centring * mean - first.slack * first.multipliers)
        primal = INSIDE * _longest(now.slack, chosen.slack)
        dual = INSIDE * _longest(now.multipliers, chosen.multipliers)
        multipliers = now.multipliers + min(dual, 1.0) * chosen.multipliers
        while primal > SHORTEST:
            tried = self.at(now.y + primal * chosen.y, multipliers, (1.0 - primal) * now.lacking)
            if np.all(tried.slack > LEAST_SLACK * now.slack):
                return tried
            primal *= SHORTER
        return None

    def _model(self, now: Iterate, slopes: Array) -> tuple[Array, Array]:
        """Gradient of the time by the coefficients, and the Hessian with the barrier's, lower diagonals."""
        middle = np.einsum("ksj,sj->ks", self.between, now.y[self.index])
        slope, bend = -0.5 * self.weights * middle**-1.5, 0.75 * self.weights * middle**-2.5
        local = np.einsum("ks,ksi,ksj->sij", bend, self.between, self.between, optimize=True)
        weighted = slopes * (now.multipliers / now.slack)
        for a in range(3):
            for b in range(a + 1):
                inner = np.einsum("ksr,ksr->ks", weighted[a], slopes[b])[..., None]
                if a != b:
                    inner = 2.0 * inner  # both of a symmetric pair; the lower triangle is the mean's
                both = np.einsum("ksi,ksj->sij", self.basis[a] * inner, self.basis[b])
                local += 0.5 * (both + np.swapaxes(both, 1, 2))
        count = len(local)
        hessian = np.zeros((3, count + 2))  # the diagonal and two below it
        for j in range(3):
            for i in range(j, 3):
                hessian[i - j, j : j + count] += local[:, i, j]
        return self.summed(np.einsum("ks,ksj->sj", slope, self.between)), hessian

    def summed(self, local: Array) -> Array:
        """Sums over the coefficients of what acts on each span (spans, 3)."""
        found = np.zeros(len(local) + 2)
        for j in range(3):
            found[j : j + len(local)] += local[:, j]
        return found


@dataclass(frozen=True, eq=False)
class _Step:
    """Newton's equations about an iterate, factorized."""

    search: SpeedSearch
    now: Iterate
    slopes: Array
    gradient: Array
    factor: Array

    def towards(self, product: Array) -> Iterate:
        """The step to slack * multiplier = product, to first order; its time is not used."""
        from scipy.linalg import cho_solve_banded

        search, now = self.search, self.now
        force, ratio = product / now.slack, now.multipliers / now.slack
        of_points = np.einsum("dksr,ksr->dks", self.slopes, force + ratio * now.lacking)
        pull = search.summed(np.einsum("dks,dksj->sj", of_points, search.basis)) - self.gradient
        pull[search.kept] = 0.0
        y = cho_solve_banded((self.factor, True), pull, check_finite=False)
        x = np.einsum("dksj,sj->dks", search.basis, y[search.index])
        slack = (self.slopes * x[..., None]).sum(axis=0) - now.lacking
        return Iterate(y, x, slack, force - now.multipliers - ratio * slack, 0.0, -now.lacking)


def _factor(hessian: Array) -> Array:
    from scipy.linalg import cholesky_banded

    hessian[0] *= 1.0 + RIDGE
    return cholesky_banded(hessian, lower=True, check_finite=False)


def _longest(value: Array, change: Array) -> float:
    """The longest step, at most one, that leaves no value below zero."""
    return float(1.0 / max(1.0, (-change / value).max()))


def fastest(
    knots: Array,
    bounds: SpeedBounds,
    near: Callable[[Array], Array] | None = None,
    held: tuple[int, int] = NONE_HELD,
    value: float = 1.0,
    lacking: float = 0.0,
) -> SmoothSpeed:
    """The fastest x on knots from [0, 1] within bounds, from a constant one or from one on other knots.

    held : coefficients, the first and the last, that have the value
    lacking : largest part of a bound by which x with them may exceed it. Raises InfeasibleBoundsError where
        none was found.
    """
    if any(held):
        search = SpeedSearch(knots, bounds.scaled(value), held)
        y = np.ones(len(knots) + 1) if near is None else np.maximum(near(centres(knots)) / value, LEAST_START)
        y[search.kept] = 1.0
        best = search.optimum(y)
        if np.any(best.lacking > lacking):
            raise InfeasibleBoundsError(
                "no motion on this path within the limits was found that has these speeds and accelerations "
                "at its ends: give lower ones, higher limits, or a longer way"
            )
        return SmoothSpeed(knots, value * best.y)
    unit = bounds.highest_constant
    search = SpeedSearch(knots, bounds.scaled(unit))
    y = np.full(len(knots) + 1, 0.5)
    if near is not None:
        y = transferred(search, near, y, unit)
    return SmoothSpeed(knots, unit * search.optimum(y).y)


def transferred(search: SpeedSearch, near: Callable[[Array], Array], constant: Array, unit: float) -> Array:
    """Coefficients near those of another spline within the bounds."""
    y = near(centres(search.knots)) / unit
    for _ in range(MOST_STEPS):
        y = SLOWER * y
        if search.at(y, np.zeros(0), np.zeros(1)).slack.min() > 1.0 - SLOWER**0.5:
            return y
    return constant


def centres(knots: Array) -> Array:
    """Means of the knots within the support of every B-spline, (spans + 2,)."""
    return np.concatenate([knots[:1], 0.5 * (knots[1:] + knots[:-1]), knots[-1:]])
