"""Ranges of integrals of a problem's terms over a solution's motion: enclosed, or by adaptive quadrature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_times import SIDE
from trajopt.checks.lines.statement_line import Evidence
from trajopt.checks.lines.statement_times import Interval, interval_of
from trajopt.checks.lines.term_models import term_models
from trajopt.splines.adaptive_quadrature import adaptive_integral
from trajopt.splines.node_sets import ArcNodes, NodeSet
from trajopt.taylor_models.integrals import enclosed_integrals
from trajopt.taylor_models.leaf_pieces import LeafPieces, Model

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData
    from trajopt.splines.curve import Curve

QUADRATURE = 1e-2  # of an integral's scale: the tolerance of its line
ENCLOSED = 1e-3  # of the tolerance: the error that is sought of an enclosure
ESTIMATED = 1e-2  # of the tolerance: the same of a quadrature
OF_SIZE = 1e-2  # of the integral of the absolute value: the error of itself that is sought of a quadrature


@dataclass(frozen=True, eq=False)
class IntegralRange:
    """Integrals of a term's components over a part of the motion, (width,) each.

    low, high : ends of a range that holds the integral: proved of an enclosure, infinite where there is none;
        of a quadrature its value and the estimate of its error, NaN where a value is not finite
    size : the integral of the absolute value is at least this, by an enclosure or by an estimate
    resolution : seconds between the samples of a quadrature; what happens on a shorter interval may be
        missed; 0 of an enclosure
    time : seconds, the first time at which a value is not finite; 0 where all are
    """

    low: Array
    high: Array
    size: Array
    resolution: float = 0.0
    time: float = 0.0

    @staticmethod
    def unknown(width: int) -> IntegralRange:
        """The ranges of which nothing is known."""
        return IntegralRange(np.full(width, -np.inf), np.full(width, np.inf), np.zeros(width))

    def __add__(self, other: IntegralRange) -> IntegralRange:
        return IntegralRange(
            self.low + other.low,
            self.high + other.high,
            self.size + other.size,
            max(self.resolution, other.resolution),
            self.time or other.time,
        )

    def times(self, factor: float) -> IntegralRange:
        """The ranges of a multiple."""
        if factor == 0.0:
            return IntegralRange(0.0 * self.size, 0.0 * self.size, 0.0 * self.size)
        one, other = factor * self.low, factor * self.high
        low, high = np.minimum(one, other), np.maximum(one, other)
        return IntegralRange(low, high, abs(factor) * self.size, self.resolution, self.time)

    def within(self, proved: IntegralRange) -> IntegralRange:
        """These ranges, ends that are known to be wrong moved into the proved ones."""
        low, high = (np.clip(end, proved.low, proved.high) for end in (self.low, self.high))
        return IntegralRange(low, high, np.maximum(self.size, proved.size), self.resolution, self.time)


@dataclass(frozen=True)
class MeasuredViolation:
    """By how much an integral is beyond its bounds, or off what was told of it.

    value : an upper bound of it where it is within the tolerance, a lower bound where it is not, or from a
        quadrature; NaN where a value is not finite, at the `time`
    least : it is at least that, proved or estimated
    scale : what it is compared with
    resolution : seconds, of a quadrature
    """

    value: float
    least: float
    evidence: Evidence
    scale: float
    resolution: float
    time: float


def enclosed_range(
    solution: SolutionData, term: Any, over: NodeSet, least: Array, accuracy: float, together: bool = False
) -> IntegralRange:
    """Ranges that are proved by Taylor models, infinite where the term has none.

    least : scales (width,) that the lines have at least
    accuracy : of the scale, the tolerance of the lines, which says how small an error is sought
    together : the sum of all components, as one
    """
    models = term_models(solution, [term], _whole_interval(over, solution.curve))
    if models is None:
        return IntegralRange.unknown(least.size)
    pieces, evaluate = models

    def integrand(some: LeafPieces) -> dict[str, Model]:
        found = evaluate(some)[term.quantity]
        return {term.quantity: [sum(found)] if together else found}

    try:
        found = enclosed_integrals(pieces, integrand, term.quantity, ENCLOSED * accuracy, least)
    except NotImplementedError:
        return IntegralRange.unknown(least.size)
    return IntegralRange(found.value - found.error, found.value + found.error, found.least_size)


def sampled_range(
    solution: SolutionData, term: Any, over: NodeSet, least: Array, accuracy: float, together: bool = False
) -> IntegralRange:
    """Ranges by adaptive quadrature, whose errors are estimates; arguments as of `enclosed_range`."""
    interval = _whole_interval(over, solution.curve)
    knots = solution.curve.knot_times
    inside = knots[(knots > interval.first) & (knots < interval.last)]

    def integrand(times: Array) -> Array:
        found = solution.value(term, times)
        return found.sum(axis=1, keepdims=True) if together else found

    edges = np.unique(np.concatenate([[interval.first], inside, [interval.last]]))
    found = adaptive_integral(integrand, edges, (ESTIMATED * accuracy, OF_SIZE), least)
    size = np.nan_to_num(np.maximum(found.size - found.size_error, 0.0))
    time = float(np.nan_to_num(np.fmin.reduce(found.first_bad)))
    return IntegralRange(found.value - found.error, found.value + found.error, size, found.resolution, time)


def decided(
    proved: IntegralRange,
    sampled: Callable[[], IntegralRange],
    violations: Callable[[IntegralRange], tuple[Array, Array]],
    scale: Callable[[Array], Array],
    accuracy: float,
) -> list[MeasuredViolation]:
    """The violations of all components: what the proved range decides, else what a quadrature gives.

    A range decides whose violations are all within the tolerance or all beyond. Of a quadrature the largest
    violation in the range counts, which its estimated error widens.

    violations : what they are at least and at most, (width,) each, anywhere in ranges
    scale : of all components, from the integrals of their absolute values
    accuracy : of the scale: the tolerance
    """
    with np.errstate(invalid="ignore"):  # an infinite end beside a missing bound decides nothing
        (least, most), tolerance = violations(proved), accuracy * scale(proved.size)
    holds, fails = most <= tolerance, least > tolerance
    measured = proved if np.all(holds | fails) else sampled().within(proved)
    low, high = violations(measured)
    decisive = holds | fails
    value = np.where(holds, most, np.where(fails, least, high))
    found: list[MeasuredViolation] = []
    for i, known in enumerate(decisive.tolist()):
        of, evidence = (proved, "enclosure") if known else (measured, "sampled")
        at_least = max(float((least if known else low)[i]), 0.0)
        size = float(scale(of.size)[i])
        found.append(MeasuredViolation(float(value[i]), at_least, evidence, size, of.resolution, of.time))
    return found


def _whole_interval(over: NodeSet, curve: Curve) -> Interval:
    """The interval of an integral, its ends included."""
    when = interval_of(over, curve)
    if isinstance(over, ArcNodes) and not isinstance(over.part, tuple):
        first, last = curve.starts[over.arc : over.arc + 2]
        return Interval(float(first), float(last))
    side = SIDE * curve.duration  # by which limits are looked at from inside
    first = when.first - side if when.first > 0.0 else 0.0
    last = when.last + side if when.last < curve.duration else curve.duration
    return Interval(first, last)
