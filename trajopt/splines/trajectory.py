"""Trajectories as sequences of spline arcs, and the nodes at which terms are evaluated."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import check_choice, check_count, check_instance, numbers, pluralize, short_repr
from trajopt.base.arrays import Array, cached_if_small, keyed
from trajopt.base.errors import OptionError, ShapeError
from trajopt.splines.basis import HIGHEST_DERIVATIVE, SAME_TIME, SplineBasis
from trajopt.splines.quadrature import SPAN_RULES, Collocation, Rule, RuleName, span_rule

MOST_NODES_PER_SPAN, MOST_ARCS = 100, 1000
SHORTEST_ARC = 1e-4  # of a motion: lower bound of the duration of an arc between two switches
SHORTEST_DURATION = 1e-4  # seconds; keeps 1/T^3 finite where the user gives no lower bound
ADDED_NODES = ("extra_points", "limit_points", "sample_points")  # normalised times for every arc
BESIDE_END = 10.0 * SAME_TIME  # of an arc: where a node stands for its end, or for one side of a breakpoint
LARGEST_DURATION = 1e20  # seconds; its inverse is the least that may be given: sixth powers are numbers


@dataclass(frozen=True, eq=False)
class Arc:
    """One spline on normalised time with its own duration T: q(t) = B(t / T) P.

    duration is a number of seconds (fixed) or (shortest, longest) for a free one. Every span carries the
    points of a quadrature `rule`: `nodes_per_span` Gauss-Lobatto points, both ends among them, or
    `nodes_per_span` Gauss points and, without weight, the two ends; or as many Radau points, the right end
    among them, and the left one without weight.

    collocated : whether equations hold at the points of the rule alone, not at ends without weight
    divided_at : breakpoints by which a problem divided intervals of the mesh that it was given
    """

    basis: SplineBasis
    duration: float | tuple[float, float] = (SHORTEST_DURATION, np.inf)
    nodes_per_span: int = 4
    rule: RuleName = "lobatto"
    collocated: bool = False
    divided_at: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_instance("basis", self.basis, SplineBasis, "trajopt.SplineBasis.uniform(20)", ShapeError)
        shortest, longest = self.duration_bounds
        if not (0.0 < shortest <= longest) or not np.isfinite(shortest):
            raise ShapeError(
                f"duration bounds are ({shortest}, {longest}) s: give 0 < shortest <= longest, or one number"
            )
        if not 1.0 / LARGEST_DURATION <= shortest <= LARGEST_DURATION:
            raise ShapeError(
                f"a duration of {shortest} s is given: give seconds from {1.0 / LARGEST_DURATION:g} to "
                f"{LARGEST_DURATION:g}"
            )
        fewest = 1 if self.collocated else 2
        check_count("nodes_per_span", self.nodes_per_span, fewest, MOST_NODES_PER_SPAN, ShapeError)
        check_choice("rule", self.rule, SPAN_RULES, ShapeError)

    @cached_property
    def unit_rule(self) -> Rule:
        """Points on [0, 1], ends included, and weights of the rule."""
        return span_rule(self.rule, int(self.nodes_per_span))

    @property
    def shared_ends(self) -> NDArray[np.bool_]:
        """Mask of the interior breakpoints that both spans share as a node: continuous accelerations."""
        return self.basis.degree - self.basis.multiplicities >= 2

    @property
    def mesh(self) -> str:
        """Degree, knots, spans and nodes in words, for messages."""
        repeats = sorted(set(self.basis.multiplicities.tolist()))
        knots = f", interior knots {' or '.join(map(str, repeats))} times" if repeats else ""
        spans = pluralize(self.basis.span_count, "span")
        return f"degree {self.basis.degree}{knots}, {spans} of {self.nodes_per_span} nodes"

    @cached_property
    def duration_bounds(self) -> tuple[float, float]:
        """Shortest and longest duration in seconds; equal when the duration is fixed."""
        bounds = numbers(self.duration, "duration")
        if bounds.shape not in ((), (2,)):
            raise ShapeError(f"duration is {short_repr(self.duration)}: give seconds, or (shortest, longest)")
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
    samples_only: NDArray[np.bool_]  # nodes that carry what is stated at their time alone
    collocated: NDArray[np.bool_]  # nodes of arcs that hold equations at the points of their rule alone

    @property
    def count(self) -> int:
        return self.s.size


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Arcs in sequence; neighbours agree in the derivatives up to `continuity` (0: position, 1: velocity).

    extra_points : per arc, the normalised times of nodes that are added to those of its quadrature rule,
        without weight: constraints hold there too, integrals stay the same
    limit_points : the same for nodes at which limits hold, and never an equation
    sample_points : the same for nodes at single times that a problem names, which nothing else holds at
    scheme : how `collocation` was asked for it; None for other trajectories
    """

    arcs: tuple[Arc, ...]
    continuity: int = 1
    extra_points: tuple[tuple[float, ...], ...] = ()
    scheme: Collocation | None = None
    limit_points: tuple[tuple[float, ...], ...] = ()
    sample_points: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.arcs, tuple) or not all(isinstance(arc, Arc) for arc in self.arcs):
            raise ShapeError(f"arcs is {short_repr(self.arcs)}: give a tuple of trajopt.Arc")
        if not self.arcs:
            raise ShapeError(
                "a trajectory needs at least one arc: Trajectory.uniform(intervals=20) makes one"
            )
        check_count("continuity (0: position, 1: velocity)", self.continuity, 0, 2, ShapeError)
        for name in ADDED_NODES:
            entries = len(getattr(self, name))
            if entries not in (0, len(self.arcs)):
                raise ShapeError(
                    f"{name} has {entries} entries for {len(self.arcs)} arcs: give the normalised times of "
                    "each arc, for example (0.25, 0.5), or () for an arc that gets none"
                )

    @staticmethod
    def uniform(
        intervals: int = 20,
        degree: int = 3,
        duration: float | tuple[float, float] = (SHORTEST_DURATION, np.inf),
        nodes_per_span: int = 4,
        arcs: int = 1,
        continuity: int = 1,
    ) -> Trajectory:
        """One arc on evenly spaced knots, or several such arcs, each with a duration of its own.

        intervals, duration : of each arc: two arcs of duration=1.0 take 2 s
        arcs : how many such arcs follow each other
        continuity : of their borders: 0 (positions), 1 (velocities, so that accelerations may jump) or 2
            (accelerations: jerk is finite)
        Where arcs meet, at `ArcNodes(0, "end")`, a value can be prescribed: a via point.
        """
        check_count("arcs", arcs, 1, MOST_ARCS)
        arc = Arc(SplineBasis.uniform(intervals, degree), duration, nodes_per_span)
        return Trajectory((arc,) * arcs, continuity)

    @staticmethod
    def collocation(
        intervals: Any = 20,
        order: int = 3,
        points: RuleName = "radau",
        duration: float | tuple[float, float] = (SHORTEST_DURATION, np.inf),
        arcs: int = 1,
    ) -> Trajectory:
        """One or several arcs whose curves meet the equations of motion at `order` points of every interval.

        intervals : how many, all alike, or their breakpoints from 0 to 1
        order : points per interval; states of x' = f are polynomials of this degree, continuous
        points : "radau", "gauss" or "lobatto"; see `splines/quadrature.py` for their accuracy
        duration : seconds, or (shortest, longest) for a free one, of every arc
        arcs : how many such arcs follow each other, each with a duration of its own
        Degree, multiplicity and nodes match by themselves: those of x' = f here, those of a robot (second
        derivatives) where a `Problem` gets one.
        """
        scheme = Collocation(order, points)
        check_count("arcs", arcs, 1, MOST_ARCS)
        breakpoints = numbers(intervals, "intervals")
        if breakpoints.ndim == 0:
            breakpoints = SplineBasis.uniform(intervals).breakpoints
        basis = scheme.basis(breakpoints, 1)
        arc = Arc(basis, duration, order, points, collocated=True)
        return Trajectory((arc,) * arcs, continuity=0, scheme=scheme)

    def with_limit_points(self, points: Sequence[Sequence[float]]) -> Trajectory:
        """A trajectory with more limit points, one sequence of normalised times per arc."""
        return replace(self, limit_points=_both(self.limit_points, points))

    def with_limit_nodes(self, arc: NDArray[np.int64], s: NDArray[np.float64]) -> Trajectory:
        """A trajectory with more nodes for limits, at normalised times s (k,) of arcs (k,)."""
        points: list[list[float]] = []
        for number, own in enumerate(self.arcs):
            new = s[arc == number]
            if own.collocated:  # its ends without weight carry no limits of own terms
                new = _beside_breakpoints(np.clip(new, BESIDE_END, 1.0 - BESIDE_END), own.basis)
            points.append(self._that_are_no_nodes(number, new[(new > 0.0) & (new < 1.0)]))
        return self.with_limit_points(points)

    def with_sample_points(self, points: Sequence[Sequence[float]]) -> Trajectory:
        """A trajectory with more nodes, at these normalised times, as in `with_limit_points`."""
        new = [self._that_are_no_nodes(arc, np.array(times)) for arc, times in enumerate(points)]
        return replace(self, sample_points=_both(self.sample_points, new)) if any(new) else self

    def _that_are_no_nodes(self, arc: int, s: NDArray[np.float64]) -> list[float]:
        """The normalised times (k,) of an arc that are not times of its nodes."""
        known = self.nodes.s[self.nodes.arc == arc]
        return s[np.abs(s[:, None] - known).min(axis=1, initial=np.inf) > SAME_TIME].tolist()

    def with_bases(self, bases: Sequence[SplineBasis]) -> Trajectory:
        """The trajectory with its arcs on other spline bases, one per arc."""
        each = zip(self.arcs, bases, strict=True)
        return replace(self, arcs=tuple(replace(arc, basis=basis) for arc, basis in each))

    def with_durations(self, durations: Sequence[float | tuple[float, float]]) -> Trajectory:
        """The trajectory with other durations, or bounds of them, one for every arc; nodes are the same."""
        arcs = tuple(replace(arc, duration=one) for arc, one in zip(self.arcs, durations, strict=True))
        other = replace(self, arcs=arcs)
        other.__dict__["nodes"] = self.nodes  # normalised times: they do not depend on durations
        return other

    def for_equations_of_order(self, m: int) -> Trajectory:
        """The collocation mesh for derivatives of order m, 1 or 2; another trajectory as it is.

        A mesh for this order already, one with refined knots for example, stays as it is.
        """
        if self.scheme is None or self.continuity == m - 1:
            return self
        bases = [self.scheme.basis(arc.basis.breakpoints, m) for arc in self.arcs]
        return replace(self.with_bases(bases), continuity=m - 1)

    def __str__(self) -> str:
        """Degree, knots, spans and nodes of its arcs, on which it depends how many equations it can meet."""
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
    def duration_bounds(self) -> NDArray[np.float64]:
        """Shortest and longest duration of every arc, (2, arcs), seconds; equal where it is fixed."""
        return np.transpose([arc.duration_bounds for arc in self.arcs])

    @property
    def has_free_duration(self) -> bool:
        """True if the duration of an arc is free."""
        shortest, longest = self.duration_bounds
        return bool(np.any(shortest < longest))

    @cached_property
    def nodes(self) -> Nodes:
        """The points of every span's rule; neighbours share an end where the acceleration has no jump."""
        spans = sum(arc.basis.span_count for arc in self.arcs)
        by_arc = ((arc.basis, int(arc.nodes_per_span), arc.rule, arc.collocated) for arc in self.arcs)
        added = (tuple(tuple(map(float, each)) for each in getattr(self, name)) for name in ADDED_NODES)
        return _nodes(spans, keyed(self, *by_arc, *added))


@cached_if_small
def _nodes(trajectory: Trajectory) -> Nodes:
    """The nodes of all arcs."""
    width = max(arc.basis.degree for arc in trajectory.arcs) + 1
    parts: list[tuple[Array, ...]] = []
    first_span = 0
    for index, arc in enumerate(trajectory.arcs):
        added = [getattr(trajectory, name)[index : index + 1] or [()] for name in ADDED_NODES]
        span, s, weight, kind = _arc_nodes(arc, [np.array(points, dtype=float) for (points,) in added])
        basis = np.zeros((HIGHEST_DERIVATIVE + 1, s.size, width))
        basis[:, :, : arc.basis.degree + 1] = arc.basis.local_values(span, s)
        first = arc.basis.first_control_point[span]
        held = np.full(s.size, arc.collocated)
        parts.append((np.full(s.size, index), s, first_span + span, first, weight, kind, held, basis))
        first_span += arc.basis.span_count
    arcs, s, spans, firsts, weights, kinds, held, bases = map(list, zip(*parts, strict=True))
    return Nodes(
        *map(np.concatenate, (arcs, s, spans, firsts, weights)),
        basis=np.concatenate(bases, axis=1),
        limits_only=np.concatenate(kinds) >= ADDED_NODES.index("limit_points"),
        samples_only=np.concatenate(kinds) == ADDED_NODES.index("sample_points"),
        collocated=np.concatenate(held),
    )


def _arc_nodes(arc: Arc, added: Sequence[Array]) -> tuple[Array, Array, Array, Array]:
    """Span, s, weight and kind of the nodes of an arc, shared ends merged into the left span.

    added : the normalised times of every kind of `ADDED_NODES`, which have no weight; the kind of a node is
        the place of its own there, -1 for those of the rule
    """
    basis, (points, weights) = arc.basis, arc.unit_rule
    lengths = np.diff(basis.breakpoints)[:, None]
    s, weight = basis.breakpoints[:-1, None] + lengths * points, lengths * weights
    s[:, -1] = basis.breakpoints[1:]
    shared = arc.shared_ends
    weight[:-1, -1] += np.where(shared, lengths[1:, 0] * weights[0], 0.0)
    kept = np.ones(s.shape, dtype=bool)
    kept[1:, 0] = ~shared
    span = np.broadcast_to(np.arange(basis.span_count)[:, None], s.shape)[kept]
    s, weight = s[kept], weight[kept]
    known, kind = s, np.full(s.size, -1)
    for number, times in enumerate(added):
        inside = times[(times > 0.0) & (times < 1.0)]
        known = np.append(known, inside[~np.isin(inside, np.append(known, basis.breakpoints))])
        kind = np.append(kind, np.full(known.size - kind.size, number))
    if known.size == s.size:
        return span, s, weight, kind
    span = np.append(span, np.searchsorted(basis.breakpoints, known[s.size :]) - 1)
    order = np.lexsort((known, span))
    weight = np.append(weight, np.zeros(known.size - s.size))
    return span[order], known[order], weight[order], kind[order]


def _both(before: Sequence[Sequence[float]], new: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """The times of every arc in both, each once, in order."""
    pairs = zip(before or [()] * len(new), new, strict=True)
    return tuple(tuple(sorted({*old, *more})) for old, more in pairs)


def _beside_breakpoints(s: Array, basis: SplineBasis) -> Array:
    """Points of an arc; one at a breakpoint, where controls may jump, is replaced by one on either side."""
    distance = np.abs(s[:, None] - basis.breakpoints[1:-1]).min(axis=1, initial=np.inf)
    there = s[distance < BESIDE_END]
    return np.unique(np.concatenate([s[distance >= BESIDE_END], there - BESIDE_END, there + BESIDE_END]))
