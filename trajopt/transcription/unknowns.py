"""The unknowns of a nonlinear program, from a motion to the vector that a solver changes and back; labels.

All unknowns together are x: the control points of every arc, point by point and curve by curve (joints first,
then additional curves), those of curves with a basis of their own, the duration of every arc, the
parameters. Linear equalities leave the entries y of it free, x = N y + c, and y is what a solver sees.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from trajopt.base.arrays import Array
from trajopt.problem.problem import Problem
from trajopt.solvers.solver import ROUNDING
from trajopt.splines.basis import Curve, CurveGroup, SplineBasis
from trajopt.splines.trajectory import Nodes
from trajopt.transcription.elimination import Elimination

GOLDEN = 0.6180339887498949  # multiples of it differ most from each other, without their whole parts
LARGE = 1e3  # sizes of unknowns above which, and below its inverse, a program is divided by them


@dataclass(frozen=True, eq=False)
class CurvePlaces:
    """Places in x of the control points of curves with a common basis.

    bases : the spline basis of every arc
    first_curve, curve_count : which of all curves these are
    offsets : (arcs,) where each arc's control points start
    """

    bases: tuple[SplineBasis, ...]
    first_curve: int
    curve_count: int
    offsets: Array

    @property
    def stop(self) -> int:
        """Behind the last control point."""
        return int(self.offsets[-1]) + self.bases[-1].count * self.curve_count

    def column(self, arc: int, point: int, curve: int) -> int:
        """Index in x of a control point of the curve-th of these curves."""
        return int(self.offsets[arc]) + point * self.curve_count + curve

    def control_points(self, x: Array) -> tuple[Array, ...]:
        """The control points of every arc, (count, curve_count) each: views of x, or of bounds on it."""
        return tuple(
            x[offset : offset + basis.count * self.curve_count].reshape(basis.count, self.curve_count)
            for offset, basis in zip(self.offsets, self.bases, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Layout:
    """Layout of x: places of control points, durations and parameters, and the motion that an x describes.

    groups : curves with a common basis: joints and additional curves, then those with a basis of their own
    parameters : parameter name -> its entries of x
    """

    groups: tuple[CurvePlaces, ...]
    control_point_count: int  # over all arcs and curves
    durations: slice
    parameters: Mapping[str, slice]
    size: int

    @property
    def key(self) -> Hashable:
        """The same for layouts on the same bases with the same curves and parameters."""
        groups = tuple((group.bases, group.first_curve, group.curve_count) for group in self.groups)
        return groups, tuple((name, place.start, place.stop) for name, place in self.parameters.items())

    @cached_property
    def curve_numbers(self) -> Array:
        """The number of the curve of every entry of x; durations and parameters count on, one by one."""
        numbers = np.arange(self.size) + self.curves - self.control_point_count
        for group in self.groups:
            for points in group.control_points(numbers):
                points[:] = group.first_curve + np.arange(group.curve_count)
        return numbers

    @property
    def bases(self) -> tuple[SplineBasis, ...]:
        """The joints' spline basis of every arc."""
        return self.groups[0].bases

    @property
    def curve_count(self) -> int:
        """The number of curves with the joints' basis."""
        return self.groups[0].curve_count

    @property
    def curves(self) -> int:
        """The number of all curves."""
        return self.groups[-1].first_curve + self.groups[-1].curve_count

    def curve(self, x: Array) -> Curve:
        """The joint and additional curves of x."""
        joints, *apart = (CurveGroup(group.bases, group.control_points(x)) for group in self.groups)
        return Curve(joints.bases, joints.control_points, x[self.durations], tuple(apart))

    def vector(self, curve: Curve, parameters: Mapping[str, Array]) -> Array:
        """The x of a motion on these bases: the inverse of `curve`."""
        points = [points.ravel() for group in curve.groups for points in group.control_points]
        return np.concatenate([*points, curve.durations, *(np.ravel(parameters[p]) for p in self.parameters)])


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Maps a motion (curves, durations, parameters) to the unknowns y of a program, and y to its motion."""

    layout: Layout
    elimination: Elimination
    nodes: Nodes

    def curve(self, y: Array) -> Curve:
        """The motion at y: joint and additional curves, and the durations of the arcs."""
        return self.layout.curve(self.elimination.expand(y))

    def parameters(self, y: Array) -> dict[str, Array]:
        """Parameter name -> its value at y, (width,)."""
        x = self.elimination.expand(y)
        return {name: x[place] for name, place in self.layout.parameters.items()}

    def of(self, curve: Curve, parameters: Mapping[str, Array]) -> Array:
        """The y of a motion that `fits`; entries that linear equalities fix follow from the others."""
        return self.elimination.reduce(self.layout.vector(curve, parameters))

    def fits(self, curve: Curve, parameters: Mapping[str, Array]) -> bool:
        """True if a motion has the knots, the number of curves and the parameters of these unknowns."""
        layout = self.layout
        if [group.n for group in curve.groups] != [group.curve_count for group in layout.groups]:
            return False
        if parameters.keys() != layout.parameters.keys():
            return False
        same_knots = len(curve.bases) == len(layout.bases) and all(
            np.array_equal(one.knots, other.knots)
            for own, theirs in zip(layout.groups, curve.groups, strict=True)
            for one, other in zip(own.bases, theirs.bases, strict=True)
        )
        return same_knots and all(
            np.size(parameters[name]) == place.stop - place.start for name, place in layout.parameters.items()
        )

    def node_times(self, y: Array) -> Array:
        """Seconds from the start of the motion to every node at y, (K,)."""
        return self.curve(y).times_at(self.nodes.arc, self.nodes.s)

    def sizes(self, y: Array, lower: Array, upper: Array) -> Array | None:
        """The size of every unknown at y, (n,), where one is above LARGE or below 1 / LARGE; else None.

        The size of a control point is the largest of its curve. One that is neither large nor small counts
        as 1; small is what its bounds (n,) keep so, and joints and states that all begin so, and controls
        beside these, unless they are only what a solver leaves of zero: where controls are not small and
        states have no fixed value but zero.
        Zero has no size, nor has what rounding leaves of it, nor do bounds that hold an unknown at its
        value. Sizes are powers of two, so that dividing by them rounds nothing.
        """
        free, least = self.elimination.free, 1.0 / LARGE
        sizes, bounds = np.abs(self.elimination.expand(y)), np.zeros(self.layout.size)
        bounds[free] = np.where(lower < upper, np.maximum(np.abs(lower), np.abs(upper)), np.inf)
        states = slice(0, self.layout.groups[0].stop)
        if sizes.max() <= LARGE and bounds[free].min(initial=np.inf) >= least <= sizes[states].max():
            return None
        sizes, bounds = (self.largest_of_curves(each)[self.layout.curve_numbers] for each in (sizes, bounds))
        kept_small = (bounds > 0.0) & (bounds < least)
        sizes[kept_small] = np.maximum(sizes, bounds)[kept_small]
        controls = sizes[states.stop : self.layout.control_point_count]
        if self.elimination.c[states].any() or not controls.max(initial=0.0) >= least:
            kept_small[: self.layout.control_point_count] |= sizes[states].max() < least
        known = (sizes > ROUNDING) | ((bounds > 0.0) & (bounds < least))
        far = (sizes > LARGE) | (kept_small & (sizes < least) & known)
        if not far[free].any():
            return None
        return nearest_powers(np.where(far, sizes, 1.0)[free])

    def largest_of_curves(self, x: Array) -> Array:
        """The largest entry of x, none negative, of every curve, then those of durations and parameters."""
        largest = np.zeros(self.layout.curves + self.layout.size - self.layout.control_point_count)
        np.maximum.at(largest, self.layout.curve_numbers, x)
        return largest

    def smooth_changes(self) -> Array:
        """The part 4 s (1 - s) of every unknown, (n,), in a change of a curve that keeps values at the ends.

        One for durations and parameters.
        """
        parts = np.ones(self.layout.size)
        for group in self.layout.groups:
            arcs = len(group.bases)
            for arc, (basis, along) in enumerate(zip(group.bases, group.control_points(parts), strict=True)):
                s = (arc + basis.greville[:, None]) / arcs
                along[:] = 4.0 * s * (1.0 - s)
        return parts[self.elimination.free]

    def steps_aside(self, sizes: Array | None) -> Array:
        """Parts of the sizes of curves and parameters, (x,): of each another one, at least a half."""
        steps, layout = np.zeros(self.layout.size), self.layout
        steps[self.elimination.free] = 1.0 if sizes is None else sizes
        parameters = 0.5 + np.arange(layout.size - layout.durations.stop)
        multiples = np.concatenate([np.arange(layout.curves), np.zeros(len(layout.bases)), parameters])
        part = 0.5 + 0.5 * (GOLDEN * multiples % 1.0)
        steps = (part * self.largest_of_curves(steps))[self.layout.curve_numbers]
        steps[layout.durations] = 0.0
        return steps

    @property
    def durations(self) -> Array:
        """Mask of the entries of y that are durations."""
        free, place = self.elimination.free, self.layout.durations
        return np.flatnonzero((free >= place.start) & (free < place.stop))


def nearest_powers(sizes: Array) -> Array:
    """The powers of two that are nearest to sizes above LARGE, or below its inverse; 1 of others."""
    far = (sizes > LARGE) | (sizes < 1.0 / LARGE)
    return 2.0 ** np.round(np.log2(np.where(far, sizes, 1.0)))


def layout_of(problem: Problem) -> Layout:
    """Lay out the control points, durations and parameters of a problem."""
    arcs = problem.trajectory.arcs
    bases, apart, shared = tuple([arc.basis for arc in arcs]), [], problem.dynamics.n
    for extra in problem.extras.values():
        if extra.pieces is None:
            shared += extra.lower.size
        else:
            apart.append((tuple([extra.pieces.on(arc) for arc in arcs]), extra.lower.size))
    groups: list[CurvePlaces] = []
    first = control_points = 0
    for own, curves in ((bases, shared), *apart):
        ends = control_points + np.cumsum([0, *[basis.count * curves for basis in own]]).astype(int)
        groups.append(CurvePlaces(own, first, curves, ends[:-1]))
        first, control_points = first + curves, int(ends[-1])
    cursor = control_points + len(bases)
    places = {}
    for name, parameter in problem.parameters.items():
        places[name] = slice(cursor, cursor + parameter.lower.size)
        cursor += parameter.lower.size
    durations = slice(control_points, control_points + len(bases))
    return Layout(tuple(groups), control_points, durations, places, cursor)


FIXED_DURATION = "the fixed duration"


@dataclass(frozen=True)
class RowLabel:
    """One row: the constraint that states it, which component, where, and which side where each has its own.

    component : joint, axis or number; "" for a scalar
    node, s : the node it holds at and its normalised time in its arc; None where it belongs to no node, or
        where the constraint's name says where
    arc : where there are several
    control_point : that of the velocity, for limits on the hull
    """

    constraint: str
    component: str = ""
    node: int | None = None
    s: float | None = None
    arc: int | None = None
    control_point: int | None = None
    side: Literal["lower", "upper"] | None = None

    def __str__(self) -> str:
        parts = [self.constraint, self.component]
        if self.control_point is not None:
            parts.append(f"control point {self.control_point}")
        of = "" if self.arc is None else f" of arc {self.arc}"
        when = of if self.node is None else f" at s = {self.s:.4g}{of} (node {self.node})"
        return ", ".join(part for part in parts if part) + when


@dataclass(frozen=True)
class UnknownLabel:
    """One entry of x, and the limits that bound it.

    name : the joint, additional curve or parameter; "" for a duration
    control_point, s : number and Greville abscissa of a control point, where it matters most
    limits : names of the constraints that bound it, beside bounds of its own
    """

    kind: Literal["control point", "duration", "parameter"]
    name: str = ""
    arc: int = 0
    control_point: int = 0
    s: float = 0.0
    limits: tuple[str, ...] = ()

    @property
    def constraint(self) -> str:
        """The name of its bounds: a constraint, or its own."""
        if self.kind == "control point":
            return self.limits[0] if self.limits else f"bounds of {self.name}"
        return str(self)

    @property
    def component(self) -> str:
        """The component of that constraint."""
        return self.name if self.limits else ""

    def __str__(self) -> str:
        if self.kind == "duration":
            return f"duration of arc {self.arc}"
        if self.kind == "parameter":
            return f"parameter {self.name}"
        by = f", by '{' and '.join(self.limits)}'" if self.limits else ""
        return (
            f"control point {self.control_point} of {self.name} in arc {self.arc} (near s = {self.s:.3g}{by})"
        )


Label = RowLabel | UnknownLabel


def continuity_name(quantity: str) -> str:
    """The name of the condition that arcs agree in a quantity where they meet."""
    return f"continuity of {quantity}"


@dataclass(frozen=True, eq=False)
class UnknownLabels:
    """The labels of the entries of a problem's x, made when they are asked for."""

    problem: Problem
    layout: Layout

    def label(self, column: int) -> UnknownLabel:
        """The label of an entry of x."""
        layout = self.layout
        if column < layout.control_point_count:
            group = next(group for group in layout.groups if column < group.stop)
            arc = int(np.searchsorted(group.offsets, column, side="right")) - 1
            point, place = divmod(column - int(group.offsets[arc]), group.curve_count)
            curve, s = group.first_curve + place, float(group.bases[arc].greville[point])
            joints, extras = self.problem.dynamics.joint_names, self.problem.extras.items()
            curves = [*joints, *(f"{name} {i}" for name, each in extras for i in range(each.lower.size))]
            hulls = [c.name for c in self.problem.constraints if c.hold == "hull" and c.term.quantity == "q"]
            limits = tuple(hulls) if curve < len(joints) else ()
            return UnknownLabel("control point", curves[curve], arc, point, s, limits)
        if column < layout.durations.stop:
            return UnknownLabel("duration", arc=column - layout.durations.start)
        name = next(name for name, place in layout.parameters.items() if column < place.stop)
        return UnknownLabel("parameter", name)


def arc_where_several(layout: Layout, arc: int) -> int | None:
    """An arc by its number, None where it is the only one."""
    return arc if len(layout.bases) > 1 else None
