"""Lines of reports and certificates: the largest violations of one bounded component of a constraint.

A check of a motion makes the line; a report or a certificate adds its tolerance and what was proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from trajopt.base.arrays import finite_size
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.taylor_models.suprema import MOST_PIECES, Supremum

RAN_OUT = f"no bound on {MOST_PIECES} pieces"

Named = TypeVar("Named", bound="OfComponent")


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


def worst_of_each(lines: Sequence[Named], size: Callable[[Named], float]) -> list[Named]:
    """Every line where they are few, else of every constraint the one of the largest size."""
    if len(lines) <= 40:  # lines of a page; beyond, it has the worst component of each constraint only
        return list(lines)
    found: dict[str, Named] = {}
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
    """The component of a constraint that a line is about."""

    constraint: Constraint
    component: int


Evidence = Literal["identity", "hull", "enclosure", "proved", "evaluated", "sampled", "integrated"]


@dataclass(frozen=True)
class Line(OfComponent):
    """The largest violations of one bounded component of a constraint, and how they are known.

    lower, upper : bounds in the `unit`, infinite where there is none; equal of an equation
    scales : what violations of the lower and of the upper side are compared with
    at_nodes : the largest violation of each side at the nodes that carry it
    between : the same at all times that were looked at; None where nothing is stated between nodes
    evidence : "evaluated", stated for single times and computed there; "sampled", computed at times
        `resolution` apart and narrowed around their peaks; "integrated", by what residuals of rates change of
        the states. In a report "proved", by a bound no violation exceeds the tolerance at any time; in a
        certificate "identity", an equation that was eliminated and holds to rounding at all times; "hull",
        control points within the bounds; "enclosure", a bound for all times by control points of cut pieces
        or by Taylor models
    resolution : seconds; a violation on an interval as long as that is seen, a shorter one may be missed; of
        an integral: the largest distance of samples; a bump of its integrand that is shorter may be missed
    tolerance : the largest violation for which the line holds, in the `unit`; infinite where none is given
    proof : by Taylor models: no violation is larger at any time, and where one comes nearest to it
    bound : for all times, where the component is a derivative of a curve over an interval
    size : of an eliminated equation: values of this size have rounding errors; 0 of others
    jumps : seconds, at which the component is infinite because the velocity or the acceleration jumps
    stepped : of a limit that is violated: seconds, at which it jumps in an interval; None where it does not
    interval : the times that are all meant, so that it may be missed between nodes alone; None where single
        times or integrals are meant
    note : what the line does not cover, or why it fails, or why there is none
    pointwise : of "integrated" ones the largest residual at a single time
    integral : of an integral, the range that decided
    place : the component over an interval of time, while the problem is at hand
    """

    name: str
    component: str
    unit: str
    lower: float
    upper: float
    scales: tuple[float, float]
    at_nodes: Sides
    between: Sides | None
    evidence: Evidence
    resolution: float = 0.0
    tolerance: float = np.inf
    proof: Worst | None = None
    bound: ControlPointBound | None = None
    size: float = 0.0
    jumps: tuple[float, ...] = ()
    stepped: float | None = None
    interval: Interval | None = None
    note: str = ""
    pointwise: float | None = None
    integral: IntegralEnds = NO_INTEGRAL
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def equation(self) -> bool:
        return self.lower == self.upper

    @property
    def over_time(self) -> bool:
        """True if all times of an interval are meant, so that it may be missed between nodes alone."""
        return self.interval is not None

    @property
    def is_limit_over_time(self) -> bool:
        """True if it is of a limit that is meant for all times of a part of the motion."""
        return self.over_time and not self.equation

    @property
    def nodes_only(self) -> bool:
        """True if it is stated for nodes, so that `dense_violation` is that at the nodes."""
        return self.between is None

    @property
    def limit(self) -> float:
        """The largest finite bound."""
        return float(finite_size([self.lower, self.upper]))

    # -- the signed violation, in the unit ------------------------------------------------------------------

    @property
    def sides(self) -> Sides:
        """The largest violation of each side at any time that was looked at."""
        return self.at_nodes if self.between is None else self.between

    @property
    def worst(self) -> Worst:
        """The larger violation of the two sides that was found; NaN is the largest."""
        lower, upper = self.sides
        return self.sides[np.argmax([lower.value, upper.value])]

    @property
    def known(self) -> Worst:
        """The violation that none exceeds where a bound is known, else `worst`; infinite where it jumps."""
        if self.jumps:
            return Worst(np.inf, self.jumps[0])
        if self.bound is not None:
            return Worst(self.bound.value, self.bound.time)
        return self.worst if self.proof is None else self.proof

    @property
    def value(self) -> float:
        """The violation, |residual| of an equation; negative where a limit holds with a margin.

        NaN where a value is not finite; infinity where a jump makes a derivative infinite.
        """
        return self.known.value

    @property
    def time(self) -> float:
        """Seconds, of `value`."""
        return self.known.time

    @property
    def least_scale(self) -> float:
        """The smaller scale of the sides that have a bound."""
        bounded = np.isfinite([self.lower, self.upper])
        return float(np.array(self.scales)[bounded].min(initial=np.inf))

    @property
    def holds(self) -> bool:
        """True if the violation is within the tolerance; False for NaN."""
        return self.value <= self.tolerance

    @property
    def ratio(self) -> float:
        """The violation in multiples of the tolerance; infinity for NaN."""
        return np.inf if np.isnan(self.value) else self.value / self.tolerance

    # -- at nodes and between them, in the unit and relative to scales; 0 where it holds --------------------

    @property
    def node_violation(self) -> float:
        """The violation at nodes that is largest for its scale."""
        return self._at_nodes[0]

    @property
    def node_time(self) -> float:
        """Seconds, of `node_violation`."""
        return self._at_nodes[1]

    @property
    def node_relative(self) -> float:
        """`node_violation` divided by its scale; NaN where a value is."""
        return self.node_violation / self._at_nodes[2]

    @property
    def dense_violation(self) -> float:
        """The violation at any time that is largest for its scale."""
        return self._at_any_time[0]

    @property
    def dense_time(self) -> float:
        """Seconds, of `dense_violation`."""
        return self._at_any_time[1]

    @property
    def dense_relative(self) -> float:
        """`dense_violation` divided by its `scale`; NaN where a value is."""
        return self.dense_violation / self.scale

    @property
    def scale(self) -> float:
        """The size of the limit or scale of the equation that `dense_violation` is compared with."""
        return self._largest(self.sides)[2]

    @property
    def share(self) -> float:
        """The violation that is larger for its scale, as a part of it; negative where there is a margin."""
        value, _, scale = self._largest(self.sides)
        return value / scale

    @property
    def _at_nodes(self) -> tuple[float, float, float]:
        value, time, scale = self._largest(self.at_nodes)
        return float(np.maximum(value, 0.0)), time, scale

    @property
    def _at_any_time(self) -> tuple[float, float]:
        if self.jumps:
            return np.inf, self.jumps[0]
        value, time, _ = self._largest(self.sides)
        return float(np.maximum(value, 0.0)), time

    def _largest(self, sides: Sides) -> tuple[float, float, float]:
        """Value, time and scale of the violation that is larger for its scale; NaN is the largest."""
        (lower, upper), (scale_below, scale_above) = sides, self.scales
        larger = np.argmax([lower.value / scale_below, upper.value / scale_above])
        value, time = sides[larger]
        return value, time, self.scales[larger]

    # -- lines that know more -------------------------------------------------------------------------------

    def with_supremum(self, supremum: Supremum) -> Line:
        """The line with a bound; with a violation between samples that the search met; or as it was."""
        if supremum.reached > self.tolerance:
            below = np.isfinite(self.lower) and self.scales[0] == self.least_scale
            met, none = Worst(supremum.reached, supremum.time), NOWHERE[0]
            return replace(self, between=(met, none) if below else (none, met))
        if supremum.value <= self.tolerance:
            value = max(supremum.value, self.value)  # samples carry the rounding errors of their evaluation
            proof = Worst(value, supremum.time)
            return replace(self, proof=proof, evidence="enclosure", resolution=0.0)
        return replace(self, note=RAN_OUT)

    def integrated(self, relative: float) -> Line:
        """The line of rates with what its residual changes of the state, where that is less."""
        if not relative < self.dense_relative:
            return self
        changed = NOWHERE[0], Worst(relative * self.scale, self.dense_time)
        known = {"pointwise": self.dense_violation, "evidence": "integrated", "jumps": ()}
        return replace(self, between=changed, **known)

    # -- words ----------------------------------------------------------------------------------------------

    def statement(self) -> dict[str, object]:
        """The line of a report as plain values, for files."""
        return {name: getattr(self, name) for name in STATED}

    @property
    def missed(self) -> str:
        """The line of a certificate as a sentence."""
        violation = "is not finite" if np.isnan(self.value) else f"is missed by {self.value:.3e}"
        relative = f", {self.value / self.least_scale:.1e} of its scale" if self.equation else ""
        note = f" ({self.note})" if self.note else ""
        stated = f"at t = {self.time:.6f} s, tolerance {self.tolerance:.1e}"
        return f"{self.label} {violation}{relative} {stated}{note}"

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"{self.label}: "
            f"{self.node_violation:.3g}{unit} at nodes (t = {self.node_time:.4f} s), "
            f"{self.dense_violation:.3g}{unit} between them (t = {self.dense_time:.4f} s)"
        )


STATED = (
    "name",
    "component",
    "node_violation",
    "node_time",
    "dense_violation",
    "dense_time",
    "limit",
    "scale",
    "unit",
    "node_relative",
    "dense_relative",
    "equation",
    "nodes_only",
    "over_time",
    "evidence",
    "pointwise",
)
