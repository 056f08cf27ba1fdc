"""Trajectories as sequences of spline arcs, and the nodes at which terms are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import numbers, shown
from trajopt.errors import OptionError, ShapeError
from trajopt.splines.basis import HIGHEST_DERIVATIVE, SplineBasis
from trajopt.splines.collocation import Collocation
from trajopt.splines.gauss_rules import SPAN_RULES, Rule, RuleName

MOST_NODES_PER_SPAN = 100
SHORTEST_DURATION = 1e-4  # seconds; keeps 1/T^3 finite where the user gives no lower bound
SECONDS = 1e-20, 1e20  # what may be given: sixth powers of T and 1/T are still numbers


@dataclass(frozen=True, eq=False)
class Arc:
    """One spline on normalised time with its own duration T: q(t) = B(t / T) P.

    duration is a number of seconds (fixed) or (shortest, longest) for a free one. Every span carries the
    points of a quadrature `rule`: `nodes_per_span` Gauss-Lobatto points, both ends among them, or
    `nodes_per_span` Gauss points and, without weight, the two ends; or as many Radau points, the right end
    among them, and the left one without weight.

    collocated : whether equations hold at the points of the rule alone, not at ends without weight
    """

    basis: SplineBasis
    duration: float | tuple[float, float] = (SHORTEST_DURATION, np.inf)
    nodes_per_span: int = 4
    rule: RuleName = "lobatto"
    collocated: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.basis, SplineBasis):
            raise ShapeError(f"basis is {shown(self.basis)}: give trajopt.SplineBasis.uniform(20), say")
        shortest, longest = self.duration_bounds
        if not (0.0 < shortest <= longest) or not np.isfinite(shortest):
            raise ShapeError(
                f"duration bounds are ({shortest}, {longest}) s: give 0 < shortest <= longest, or one number"
            )
        if shortest < SECONDS[0] or shortest > SECONDS[1]:
            raise ShapeError(
                f"a duration of {shortest} s is given: give seconds from {SECONDS[0]:g} to {SECONDS[1]:g}"
            )
        count = self.nodes_per_span
        fewest = 1 if self.collocated else 2
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < fewest:
            raise ShapeError(f"nodes_per_span is {shown(count)}: give a whole number of at least {fewest}")
        if count > MOST_NODES_PER_SPAN:
            raise ShapeError(f"nodes_per_span is {shown(count)}: give at most {MOST_NODES_PER_SPAN}")
        if not isinstance(self.rule, str) or self.rule not in SPAN_RULES:
            raise ShapeError(f"rule is {shown(self.rule)}: use {' or '.join(map(repr, SPAN_RULES))}")

    @cached_property
    def unit_rule(self) -> Rule:
        """Points on [0, 1], ends included, and weights of the rule."""
        return SPAN_RULES[self.rule](self.nodes_per_span)

    @property
    def shared_ends(self) -> NDArray[np.bool_]:
        """Which interior breakpoints are one node of both spans: where the acceleration is continuous."""
        return self.basis.degree - self.basis.multiplicities >= 2

    @property
    def mesh(self) -> str:
        """Degree, knots, spans and nodes in words, for messages."""
        repeats = sorted(set(self.basis.multiplicities.tolist()))
        knots = f", interior knots {' or '.join(map(str, repeats))} times" if repeats else ""
        return (
            f"degree {self.basis.degree}{knots}, {self.basis.span_count} spans of {self.nodes_per_span} nodes"
        )

    @property
    def duration_bounds(self) -> tuple[float, float]:
        """Shortest and longest duration in seconds; equal when the duration is fixed."""
        bounds = numbers(self.duration, "duration")
        if bounds.shape not in ((), (2,)):
            raise ShapeError(f"duration is {shown(self.duration)}: give seconds, or (shortest, longest)")
        shortest, longest = np.broadcast_to(bounds, (2,)).tolist()
        return shortest, longest


@dataclass(frozen=True, eq=False)
class Nodes:
    """The K nodes of a trajectory: their places, quadrature weights, and values of the basis functions.

    basis[l] holds d^l B / ds^l of the control points first_control_point + (0 .. width - 1) of the node's
    arc; weight is that of the arc's quadrature rule in normalised time: over arc a the integral is
    T_a sum_k weight_k f_k.
    """

    arc: NDArray[np.int64]
    s: NDArray[np.float64]
    span: NDArray[np.int64]  # counted through all arcs
    first_control_point: NDArray[np.int64]
    weight: NDArray[np.float64]
    basis: NDArray[np.float64]  # (4, K, width)
    limits_only: NDArray[np.bool_]  # nodes that carry limits and no equations

    @property
    def count(self) -> int:
        return self.s.size


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Arcs in sequence; neighbours agree in the derivatives up to `continuity` (0: position, 1: velocity).

    extra_points : per arc, the normalised times of nodes that are added to those of its quadrature rule,
        without weight: constraints hold there too, integrals stay the same
    limit_points : the same for nodes at which limits hold, and never an equation
    scheme : how `collocation` was asked for it; None for other trajectories
    """

    arcs: tuple[Arc, ...]
    continuity: int = 1
    extra_points: tuple[tuple[float, ...], ...] = ()
    scheme: Collocation | None = None
    limit_points: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.arcs, tuple) or not all(isinstance(arc, Arc) for arc in self.arcs):
            raise ShapeError(f"arcs is {shown(self.arcs)}: give a tuple of trajopt.Arc")
        if not self.arcs:
            raise ShapeError(
                "a trajectory needs at least one arc: Trajectory.uniform(intervals=20) makes one"
            )
        if not isinstance(self.continuity, int) or not 0 <= self.continuity <= 2:
            raise ShapeError(
                f"continuity is {shown(self.continuity)}: use 0 (position), 1 (velocity) or 2 (acceleration)"
            )
        for name in ("extra_points", "limit_points"):
            entries = len(getattr(self, name))
            if entries not in (0, len(self.arcs)):
                raise ShapeError(f"{name} has {entries} entries for {len(self.arcs)} arcs")

    @staticmethod
    def uniform(
        intervals: int = 20,
        degree: int = 3,
        duration: float | tuple[float, float] = (SHORTEST_DURATION, np.inf),
        nodes_per_span: int = 4,
    ) -> Trajectory:
        """One arc on evenly spaced knots."""
        return Trajectory((Arc(SplineBasis.uniform(intervals, degree), duration, nodes_per_span),))

    @staticmethod
    def collocation(
        intervals: Any = 20,
        order: int = 3,
        points: RuleName = "radau",
        duration: float | tuple[float, float] = (SHORTEST_DURATION, np.inf),
    ) -> Trajectory:
        """One arc whose curves meet the equations of motion at `order` points of every interval.

        intervals : how many, all alike, or their breakpoints from 0 to 1
        order : points per interval; states of x' = f are polynomials of this degree, continuous
        points : "radau", "gauss" or "lobatto"; see `splines/collocation.py` for their accuracy
        duration : seconds, or (shortest, longest) for a free one
        Degree, multiplicity and nodes match by themselves: those of x' = f here, those of a robot (second
        derivatives) where a `Problem` gets one.
        """
        scheme = Collocation(order, points)
        breakpoints = numbers(intervals, "intervals")
        if breakpoints.ndim == 0:
            breakpoints = SplineBasis.uniform(intervals).breakpoints
        basis = scheme.basis(breakpoints, 1)
        arc = Arc(basis, duration, order, points, collocated=True)
        return Trajectory((arc,), continuity=0, scheme=scheme)

    def with_limit_points(self, points: Sequence[Sequence[float]]) -> Trajectory:
        """With these limit points, one sequence of normalised times per arc, beside those that it has."""
        before = self.limit_points or [()] * len(self.arcs)
        both = tuple(tuple(sorted({*old, *new})) for old, new in zip(before, points, strict=True))
        return replace(self, limit_points=both)

    def with_durations(self, durations: Sequence[float | tuple[float, float]]) -> Trajectory:
        """The trajectory with other durations, or bounds of them, one for every arc; nodes are the same."""
        arcs = tuple(replace(arc, duration=one) for arc, one in zip(self.arcs, durations, strict=True))
        other = replace(self, arcs=arcs)
        other.__dict__["nodes"] = self.nodes  # normalised times: durations have no say in them
        return other

    def for_equations_of_order(self, m: int) -> Trajectory:
        """The collocation mesh for derivatives of order m, 1 or 2; another trajectory as it is.

        A mesh for this order already, one whose knots were refined say, stays as it is.
        """
        if self.scheme is None or self.continuity == m - 1:
            return self
        arcs = tuple(replace(arc, basis=self.scheme.basis(arc.basis.breakpoints, m)) for arc in self.arcs)
        return replace(self, arcs=arcs, continuity=m - 1)

    def __str__(self) -> str:
        """Degree, knots, spans and nodes of its arcs: they decide how many equations it can meet."""
        meshes = [arc.mesh for arc in self.arcs]
        if len(set(meshes)) == 1:
            return f"{len(meshes)} arcs of {meshes[0]} each" if len(meshes) > 1 else meshes[0]
        return "; ".join(f"arc {number}: {mesh}" for number, mesh in enumerate(meshes))

    def border(self, after: int) -> tuple[int, int]:
        """The last node of arc `after` and the first of the next; OptionError where no arc follows."""
        if not 0 <= after < len(self.arcs) - 1:
            raise OptionError(f"no arc follows arc {after}: the {len(self.arcs)} arcs count from 0")
        last = int(np.flatnonzero(self.nodes.arc == after)[-1])
        return last, last + 1

    @cached_property
    def nodes(self) -> Nodes:
        """The points of every span's rule; neighbours share an end where the acceleration has no jump."""
        width = max(arc.basis.degree for arc in self.arcs) + 1
        rows: list[tuple] = []
        bases: list[NDArray] = []
        span_offset = 0
        for index, arc in enumerate(self.arcs):
            extra = np.array(self.extra_points[index] if self.extra_points else ())
            limits = np.array(self.limit_points[index] if self.limit_points else ())
            for span, s, weight, only in _span_nodes(arc, extra, limits):
                padded = np.zeros((HIGHEST_DERIVATIVE + 1, s.size, width))
                padded[:, :, : arc.basis.degree + 1] = arc.basis.local_values(span, s)
                bases.append(padded)
                first = arc.basis.first_control_point[span]
                rows.extend(
                    (index, point, span_offset + span, first, w, limit)
                    for point, w, limit in zip(s, weight, only, strict=True)
                )
            span_offset += arc.basis.span_count
        arcs, s, spans, firsts, weights, only = (np.array(column) for column in zip(*rows, strict=True))
        return Nodes(arcs, s, spans, firsts, weights, np.concatenate(bases, axis=1), only)


def _span_nodes(arc: Arc, extra: NDArray, limits: NDArray):
    """Yield (span, s, weight, limits_only), shared ends merged into the left span.

    Added nodes have no weight, and those for limits nothing else.
    """
    basis, shared = arc.basis, arc.shared_ends
    unit_points, unit_weights = arc.unit_rule
    for span in range(basis.span_count):
        left, right = basis.breakpoints[span], basis.breakpoints[span + 1]
        s = left + (right - left) * unit_points
        weight = (right - left) * unit_weights
        s[-1] = right
        if span > 0 and shared[span - 1]:
            s, weight = s[1:], weight[1:]
        if span + 1 < basis.span_count and shared[span]:
            weight[-1] += (basis.breakpoints[span + 2] - right) * unit_weights[0]
        inside = extra[(extra > left) & (extra < right)]
        s = np.append(s, inside[~np.isin(inside, s)])
        carrying = s.size
        inside = limits[(limits > left) & (limits < right)]
        s = np.append(s, inside[~np.isin(inside, s)])
        order = np.argsort(s, kind="stable")
        weight = np.append(weight, np.zeros(s.size - weight.size))
        yield span, s[order], weight[order], order >= carrying
