"""Labels of the rows and unknowns of a program: values, made text only where a message is printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trajopt.problem.problem import Problem
from trajopt.transcription.unknowns import Layout

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
        """What bounds it: a constraint, or its own bounds."""
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
    """The labels of the entries of x, made when they are asked for.

    curves : names of all curves, those of the joints first
    limits : names of the constraints that bound the control points of positions
    """

    layout: Layout
    curves: tuple[str, ...]
    joint_count: int
    limits: tuple[str, ...]

    @staticmethod
    def of(problem: Problem, layout: Layout) -> UnknownLabels:
        """The labels of a problem's unknowns."""
        joints = problem.dynamics.joint_names
        extras = [f"{name} {i}" for name, extra in problem.extras.items() for i in range(extra.lower.size)]
        limits = tuple(c.name for c in problem.constraints if c.hold == "hull" and c.term.quantity == "q")
        return UnknownLabels(layout, (*joints, *extras), len(joints), limits)

    def label(self, column: int) -> UnknownLabel:
        """The label of an entry of x."""
        layout = self.layout
        if column < layout.control_point_count:
            group = next(group for group in layout.groups if column < group.stop)
            arc = int(np.searchsorted(group.offsets, column, side="right")) - 1
            point, place = divmod(column - int(group.offsets[arc]), group.curve_count)
            curve, s = group.first_curve + place, float(group.bases[arc].greville[point])
            limits = self.limits if curve < self.joint_count else ()
            return UnknownLabel("control point", self.curves[curve], arc, point, s, limits)
        if column < layout.durations.stop:
            return UnknownLabel("duration", arc=column - layout.durations.start)
        name = next(name for name, place in layout.parameters.items() if column < place.stop)
        return UnknownLabel("parameter", name)


def arc_where_several(layout: Layout, arc: int) -> int | None:
    """An arc by its number, None where it is the only one."""
    return arc if len(layout.bases) > 1 else None
