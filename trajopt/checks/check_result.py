"""Check results: the largest violations that were found of one bounded component of a constraint.

Reports and certificates compare the same results with tolerances of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from trajopt.problem.costs_and_constraints import Constraint

READABLE = 40  # lines of a page; beyond, it has the worst component of each constraint only


Line = TypeVar("Line", bound="OfComponent")


class Interval(NamedTuple):
    """All times from first to last, seconds; one time where they are equal."""

    first: float
    last: float


class Worst(NamedTuple):
    """The largest signed violation of one side of a component, in its unit, and its time in seconds.

    Negative where the side holds with a margin; -inf where it has no bound; NaN where a value is not finite,
    at the first such time.
    """

    value: float
    time: float


Sides = tuple[Worst, Worst]  # of the lower and the upper side
NOWHERE: Sides = Worst(-np.inf, 0.0), Worst(-np.inf, 0.0)  # at no time at all


class OfComponent:
    """A result about one component of a constraint, which names it."""

    name: str
    component: str

    @property
    def label(self) -> str:
        """The constraint, and the component where there are several."""
        return f"{self.name}, {self.component}" if self.component else self.name


def worst_of_each(lines: Sequence[Line], size: Callable[[Line], float]) -> list[Line]:
    """Every line where they are few, else of every constraint the one of the largest size."""
    if len(lines) <= READABLE:
        return list(lines)
    found: dict[str, Line] = {}
    for line in lines:
        if line.name not in found or size(line) > size(found[line.name]):
            found[line.name] = line
    return list(found.values())


class ControlPointBound(NamedTuple):
    """A bound for all times of the violation of a curve's derivative, by its control points.

    value : no violation is larger;  time : seconds, where one comes nearest to it
    hull : the same without any cut of the polynomials
    """

    value: float
    time: float
    hull: float


class IntegralEnds(NamedTuple):
    """The range of an integral, and that of its absolute value; of a quadrature by an estimated error."""

    low: float
    high: float
    size: float


NO_INTEGRAL = IntegralEnds(0.0, 0.0, 0.0)


class Place(NamedTuple):
    """The component of a constraint over an interval of time that a result is about."""

    constraint: Constraint
    component: int
    interval: Interval


@dataclass(frozen=True, eq=False)
class CheckResult(OfComponent):
    """The largest violations of one bounded component that were found on a motion.

    lower, upper : bounds in the `unit`, infinite where there is none; equal of an equation
    scales : what violations of the lower and of the upper side are compared with
    at_nodes : the largest violation of each side at the nodes that carry it
    between : the same at all times that were looked at; None where nothing is stated between nodes
    evidence : "evaluated", stated for single times; "sampled", computed at times `resolution` seconds apart
        and narrowed around their peaks; "enclosure", of an integral that was enclosed
    bound : for all times, where the component is a derivative of a curve over an interval
    size : of an eliminated equation: values of this size have rounding errors; 0 of others
    jumps : seconds, at which the component is infinite because the velocity or the acceleration jumps
    place : the component over an interval of time; None where single times or integrals are meant
    note : what the result does not cover, or why there is none
    integral : of an integral, the range that decided
    """

    name: str
    component: str
    unit: str
    lower: float
    upper: float
    scales: tuple[float, float]
    at_nodes: Sides
    between: Sides | None
    evidence: Literal["evaluated", "sampled", "enclosure"]
    resolution: float = 0.0
    bound: ControlPointBound | None = None
    size: float = 0.0
    jumps: tuple[float, ...] = ()
    place: Place | None = None
    note: str = ""
    integral: IntegralEnds = NO_INTEGRAL

    @property
    def equation(self) -> bool:
        return self.lower == self.upper

    @property
    def over_time(self) -> bool:
        """True if all times of an interval are meant, so that it may be missed between nodes alone."""
        return self.place is not None

    @property
    def scale(self) -> float:
        """The smaller scale of the sides that have a bound."""
        bounded = np.isfinite([self.lower, self.upper])
        return float(np.array(self.scales)[bounded].min(initial=np.inf))

    @property
    def found(self) -> Sides:
        """The largest violation of each side at any time that was looked at."""
        return self.at_nodes if self.between is None else self.between

    @property
    def worst(self) -> Worst:
        """The larger violation of the two sides in its unit; NaN is the largest."""
        lower, upper = self.found
        return self.found[np.argmax([lower.value, upper.value])]

    @property
    def value(self) -> float:
        """The larger violation in its unit; negative where it holds, infinity where it is not finite."""
        return np.inf if np.isnan(self.worst.value) else self.worst.value

    @property
    def time(self) -> float:
        """Seconds, of `value`."""
        return self.worst.time

    @property
    def share(self) -> float:
        """The violation that is larger for its scale, as a part of it; infinity where it is not finite."""
        worst, scale = self.relative(self.found)
        return np.inf if np.isnan(worst.value) else worst.value / scale

    def relative(self, sides: Sides) -> tuple[Worst, float]:
        """The violation that is larger for its scale, and that scale; NaN is the largest."""
        (lower, upper), (scale_below, scale_above) = sides, self.scales
        larger = np.argmax([lower.value / scale_below, upper.value / scale_above])
        return sides[larger], self.scales[larger]
