"""Enclosures of integrals of a problem's terms over a solution's motion, by Taylor models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trajopt.arrays import Array
from trajopt.enclosures.integrals import enclosed_integrals
from trajopt.solution.check_times import SIDE
from trajopt.solution.statements.statement_line import Evidence
from trajopt.solution.statements.statement_times import Interval, interval_of
from trajopt.solution.statements.term_models import term_models
from trajopt.splines.node_sets import ArcNodes, NodeSet

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution
    from trajopt.splines.curve import Curve

OF_TOLERANCE = 1e-3  # the error that is sought, of the tolerance of the integral's line


def integral_enclosure(
    solution: Solution, term: Any, over: NodeSet, tolerance: Array
) -> tuple[Array, Array] | None:
    """(value, error), (width,) each: the integral over a part of the motion is within value +- error.

    tolerance : of the lines of its components, (width,), which says how small an error is sought
    None for a value at one time, and where the term has no models.
    """
    interval = _whole_interval(over, solution.curve)
    models = None if interval is None else term_models(solution, [term], interval)
    if models is None:
        return None
    try:
        return enclosed_integrals(*models, term.quantity, OF_TOLERANCE * tolerance)
    except NotImplementedError:
        return None


def decided(sampled: float, enclosed: tuple[float, float], tolerance: float) -> tuple[float, Evidence]:
    """The violation of an integral's line and its evidence: what the enclosure decides, or what was sampled.

    enclosed : what the violation is at least and at most
    """
    least, most = map(float, enclosed)
    if most <= tolerance:
        return most, "enclosure"
    if least > tolerance:
        return least, "enclosure"
    return sampled, "sampled"


def _whole_interval(over: NodeSet, curve: Curve) -> Interval | None:
    """The interval of an integral, its ends included; None for a single time."""
    when = interval_of(over, curve)
    if when.is_time:
        return None
    if isinstance(over, ArcNodes) and not isinstance(over.part, tuple):
        first, last = curve.starts[over.arc : over.arc + 2]
        return Interval(float(first), float(last))
    side = SIDE * curve.duration  # by which limits are looked at from inside
    first = when.first - side if when.first > 0.0 else 0.0
    last = when.last + side if when.last < curve.duration else curve.duration
    return Interval(first, last)
