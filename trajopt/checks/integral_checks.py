"""Checks the integrals of a problem over a motion: enclosed by Taylor models, or by adaptive quadrature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_result import CheckResult
from trajopt.checks.check_times import BORDER_SIDE, Interval, interval_of, node_samples, trajectory_of
from trajopt.checks.peaks import Worst
from trajopt.checks.proofs import term_models
from trajopt.problem.constraints.integrals import IntegralConstraint
from trajopt.problem.units import units_of
from trajopt.solution.solution import SolutionData
from trajopt.splines.adaptive_quadrature import adaptive_integral
from trajopt.splines.curve import Curve
from trajopt.splines.node_sets import ArcNodes, NodeSet
from trajopt.taylor_models.integrals import enclosed_integrals
from trajopt.taylor_models.leaf_pieces import LeafPieces, Model
from trajopt.terms.nonsmooth import exact_of

INTEGRAL_ACCURACY = 1e-2  # of an integral's scale: the tolerance of costs and bounded integrals
OF_ENCLOSURE = 1e-3  # of the tolerance: the error that is sought of an enclosure
OF_QUADRATURE = 1e-2  # of the tolerance: the same of a quadrature
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
    """By how much an integral is beyond its bounds, or off the value that a solution reports.

    value : an upper bound of it where it is within the tolerance, a lower bound where it is not, or from a
        quadrature; NaN where a value is not finite, at the `time`
    least : it is at least that, proved or estimated
    scale : what it is compared with
    resolution : seconds, of a quadrature
    """

    value: float
    least: float
    evidence: Literal["enclosure", "sampled"]
    scale: float
    resolution: float
    time: float

    def result(self, name: str, component: str, unit: str, bounds: tuple[float, float]) -> CheckResult:
        """The same as the result of a check, at the nodes what it is at least."""
        scales, nowhere = (self.scale, self.scale), Worst(-np.inf, self.time)
        least, most = ((nowhere, Worst(value, self.time)) for value in (self.least, self.value))
        return CheckResult(
            name, component, unit, *bounds, scales, least, most, self.evidence, self.resolution
        )


def enclosed_range(
    solution: SolutionData, term: Any, over: NodeSet, least: Array, accuracy: float, together: bool = False
) -> IntegralRange:
    """Ranges that are proved by Taylor models, infinite where the term has none.

    least : scales (width,) that the components have at least
    accuracy : of the scale, the tolerance, which says how small an error is sought
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
        found = enclosed_integrals(pieces, integrand, term.quantity, OF_ENCLOSURE * accuracy, least)
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
    found = adaptive_integral(integrand, edges, (OF_QUADRATURE * accuracy, OF_SIZE), least)
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
    side = BORDER_SIDE * curve.duration  # by which limits are looked at from inside
    first = when.first - side if when.first > 0.0 else 0.0
    last = when.last + side if when.last < curve.duration else curve.duration
    return Interval(first, last)


def integral_checks(solution: SolutionData, accuracy: float, enclose: bool = True) -> Iterator[CheckResult]:
    """Bounded integrals of terms without smoothing, as the motion gives them.

    At nodes they are by the program's own quadrature, where its nodes are known.

    accuracy : relative to the scale, what a violation is compared with
    enclose : whether an enclosure is tried first
    """
    problem, end = solution.problem, solution.duration
    trajectory = trajectory_of(solution) if problem.integrals else None
    for bounded in problem.integrals:
        several = _measured(solution, bounded, accuracy, enclose)
        at_nodes = np.array([found.least for found in several])
        if trajectory is not None:
            T = solution.curve.durations[trajectory.nodes.arc]
            weights = T * bounded.over.cost_weights(trajectory)
            at_nodes = bounded.violation(weights @ solution.value(bounded.term, node_samples(solution).times))
        units = units_of(problem, bounded.term, len(several))
        for i, (found, unit) in enumerate(zip(several, units, strict=True)):
            name, bounds = (
                str(i) if len(several) > 1 else "",
                (float(bounded.lower[i]), float(bounded.upper[i])),
            )
            result = found.result(bounded.name, name, f"{unit} s" if unit else "", bounds)
            miss = Worst(-np.inf, end), Worst(float(at_nodes[i]), end)
            yield replace(result, at_nodes=miss)


def _measured(
    solution: SolutionData, bounded: IntegralConstraint, accuracy: float, enclose: bool
) -> list[MeasuredViolation]:
    """By how much the integral of a term without smoothing oversteps its bounds, for every component.

    The scale is the larger one of the largest finite bound and the integral of the absolute value, of which
    an enclosure gives a lower bound and a quadrature an estimate; 1 where both are zero.

    accuracy : relative to the scale, what a violation is compared with
    enclose : whether an enclosure is tried first
    """
    term = exact_of(bounded.term)
    sides = np.abs([bounded.lower, bounded.upper])
    bound = np.where(np.isfinite(sides), sides, 0.0).max(axis=0)

    def scale(size: Array) -> Array:
        found = np.maximum(bound, size)
        return np.where(found == 0.0, 1.0, found)

    def violations(of: IntegralRange) -> tuple[Array, Array]:
        least = np.maximum(bounded.lower - of.high, of.low - bounded.upper)
        return least, np.maximum(bounded.violation(of.low), bounded.violation(of.high))

    def sampled() -> IntegralRange:
        return sampled_range(solution, term, bounded.over, bound, accuracy)

    proved = IntegralRange.unknown(bound.size)
    if enclose:
        proved = enclosed_range(solution, term, bounded.over, bound, accuracy)
    return decided(proved, sampled, violations, scale, accuracy)
