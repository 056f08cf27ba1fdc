"""Curves of several solutions over each other, and a study's objective, duration and iterations.

Curves are positions and torques, or states, where they differ most; a study's are over its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trajopt.base.arguments import check_count, check_known, list_names, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.display.svg_chart import PALETTE
from trajopt.plot.canvas import (
    GivenAxes,
    GivenFigure,
    as_text,
    check_solution,
    legend_above,
    line_of,
    mark_failures,
    panels,
    settings,
)
from trajopt.plot.curve_panels import Track, columns_for, name_panel, starts_of, tracks_of
from trajopt.plot.joint_curves import state_tracks
from trajopt.solution.solution import Answer

GRID = np.linspace(0.0, 1.0, 201)  # parts of the motions at which curves are compared
NAMES = {"q": "position", "tau": "torque or force"}


@dataclass(frozen=True, eq=False)
class ComparedCurve:
    """A quantity of a joint, or a state, of all solutions that have it.

    curves : (number of the solution, parts of its motion (K,), values (K,))
    """

    what: str
    name: str
    unit: str
    curves: tuple[tuple[int, Array, Array], ...]

    @property
    def spread(self) -> float:
        """The largest difference between solutions at the same part of their motions."""
        rows = np.array([np.interp(GRID, s, values) for _, s, values in self.curves])
        return float(np.nanmax(rows.max(axis=0) - rows.min(axis=0), initial=0.0))

    @property
    def size(self) -> float:
        """The largest absolute value of all."""
        return max(float(np.nanmax(np.abs(values), initial=0.0)) for _, _, values in self.curves)


def compared_curves(solutions: Sequence[Answer]) -> list[ComparedCurve]:
    """Positions and torques of joints, or states and controls, that two solutions have in one unit."""
    found: dict[tuple[str, str, str], list[tuple[int, Array, Array]]] = {}
    for number, solution in enumerate(solutions):
        end = float(starts_of(solution)[-1])
        for (what, name), tracks in _tracks(solution).items():
            s = np.concatenate([track.t for track in tracks]) / end
            values = np.concatenate([track.curve.values for track in tracks])
            found.setdefault((what, name, tracks[0].curve.unit), []).append((number, s, values))
    return [ComparedCurve(*key, tuple(curves)) for key, curves in found.items() if len(curves) > 1]


def comparison(
    solutions: Sequence[Answer],
    *,
    labels: Sequence[str] | None = None,
    most: int = 12,
    figure: GivenFigure = None,
) -> Figure:
    """Curves of several solutions over parts of their motions, one panel for each, a line for each solution.

    labels : of the solutions in the legend, their names by default
    most : panels; the curves that differ most for their size are drawn, the title says how many are not
    figure : a matplotlib figure or a part of one to draw on
    Raises OptionError for fewer than two solutions, where they have no curve in common, for labels of another
    number than theirs, and for fewer than one panel.
    """
    check_count("most", most, least=1)
    curves, chosen = _chosen(solutions, most)
    named = [solution.name for solution in solutions] if labels is None else list(map(str, labels))
    if len(named) != len(solutions):
        raise OptionError(f"{len(named)} labels are given for {len(solutions)} solutions: give one for each")
    with settings():
        titles = [f"{NAMES.get(each.what, each.what)} of {each.name}" for each in chosen]
        columns = columns_for(len(chosen))
        figure, axes = panels(titles, columns, figure, x_label="part of the motion (%)")
        lines: dict[int, Line2D] = {}  # of every solution that any panel has
        for axis, each in zip(axes, chosen, strict=True):
            for number, s, values in each.curves:
                label = as_text(named[number])
                (line,) = axis.plot(100.0 * s, values, label=label, **line_of(number))
                lines.setdefault(number, line)
            what = NAMES.get(each.what, each.what)
            axis.set_ylabel(as_text(f"{what} ({each.unit})" if each.unit else what))
            axis.set_xlim(0.0, 100.0)
            name_panel(axis, each.name)
        handles = [lines[number] for number in sorted(lines)]
        legend_above(figure, handles, [line.get_label() for line in handles], columns=min(len(handles), 3))
        if len(curves) > len(chosen):
            figure.suptitle(
                f"{len(curves) - len(chosen)} more curves differ less", x=0.01, horizontalalignment="left"
            )
    return figure


def _chosen(solutions: Sequence[Answer], most: int) -> tuple[list[ComparedCurve], list[ComparedCurve]]:
    """All curves, and those to draw, in the order of the solutions."""
    for solution in solutions:
        check_solution(solution)
    if len(solutions) < 2:
        raise OptionError(f"{len(solutions)} solution is given: a comparison needs two or more")
    curves = compared_curves(solutions)
    if not curves:
        raise OptionError(
            f"{list_names(solution.name for solution in solutions)} have no curve in common: compare motions "
            "of the same joints or states in the same units"
        )
    scales = {what: max(c.size for c in curves if c.what == what) for what in {c.what for c in curves}}
    order = sorted(curves, key=lambda c: c.spread / max(scales[c.what], np.finfo(float).tiny), reverse=True)
    kept = {id(each) for each in order[:most]}
    return curves, [curve for curve in curves if id(curve) in kept]


def _tracks(solution: Answer) -> dict[tuple[str, str], list[Track]]:
    """(quantity, name) -> the curve in all parts of a solution."""
    found = {("", name): tracks for name, tracks in state_tracks(solution).items()}
    if all(part.problem is not None and part.problem.quantities.knows("tau") for part in solution.parts):
        by_quantity = tracks_of(solution, lambda part: ("q", "tau"))
        found |= {(key, name): tracks for key, each in by_quantity.items() for name, tracks in each.items()}
    return found


PANELS = {"objective": "objective", "duration": "duration (s)", "iterations": "iterations"}


class StudiedPoint(Protocol):
    """A point of a study: its number and parameters, and whether it converged."""

    @property
    def number(self) -> int: ...

    @property
    def parameters(self) -> Mapping[str, object]: ...

    @property
    def converged(self) -> bool: ...


class StudiedPoints(Protocol):
    """A study: its points in order, with numbers, parameters and whether they converged."""

    @property
    def points(self) -> Sequence[StudiedPoint]: ...


def study(
    result: StudiedPoints, *, over: str | None = None, figure: GivenFigure = None, ax: GivenAxes = None
) -> Figure:
    """Objective, duration and iterations over a parameter, one curve for each combination of the others.

    over : the parameter on the horizontal axis; by default the one with the most values. A list of problems
        without parameters is drawn over its numbers.
    figure : a matplotlib figure or a part of one to draw on;   ax : three axes, one for each quantity
    Points that did not converge are crosses at their numbers' places below the curves. Raises OptionError for
    a parameter that was not swept.
    """
    if not hasattr(result, "points"):
        raise OptionError(
            f"{short_repr(result)} is no sweep or list of solves: give what trajopt.sweep or "
            "trajopt.solve_many returned"
        )
    points = list(result.points)
    axis = _axis(points, over)
    values = list(dict.fromkeys(_place(point, axis) for point in points))
    numeric = all(isinstance(value, Real) and not isinstance(value, bool) for value in values)
    if numeric:
        values.sort()
    places = {value: value if numeric else number for number, value in enumerate(values)}
    curves = _curves(points, axis)
    with settings():
        is_new = ax is None
        label = "number" if axis is None else as_text(axis)
        figure, axes = panels(list(PANELS), 1, figure, ax, x_label=label)
        for panel, (name, label) in zip(axes, PANELS.items(), strict=True):
            _draw(panel, curves, lambda point: places[_place(point, axis)], name)
            panel.set_ylabel(label)
        # The axis is logarithmic from a factor of 20 between the least and the largest value on
        if numeric and values[0] > 0 and values[-1] >= 20.0 * values[0]:
            axes[-1].set_xscale("log")
            axes[-1].set_xticks(values[:: -(-len(values) // len(PALETTE))])
            axes[-1].xaxis.set_major_formatter("{x:g}")
            axes[-1].xaxis.set_minor_formatter("")
        if not numeric:
            axes[-1].set_xticks(range(len(values)), [as_text(str(value)) for value in values])
        if 1 < len(curves) <= 2 * len(PALETTE):
            legend_above(figure if is_new else axes[0], *axes[0].get_legend_handles_labels())
    return figure


def _draw(
    panel: Axes, curves: Mapping[str, list[StudiedPoint]], at: Callable[[StudiedPoint], float], name: str
) -> None:
    """One quantity of all curves; at : where a point stands on the horizontal axis."""
    for index, (label, points) in enumerate(curves.items()):
        known = sorted((at(point), getattr(point, name)) for point in points if point.converged)
        panel.plot(*np.reshape(known, (-1, 2)).T, marker="o", label=as_text(label), **line_of(index))
    missing = [at(point) for points in curves.values() for point in points if not point.converged]
    mark_failures(panel, missing, "not converged")


def _axis(points: Sequence[StudiedPoint], over: str | None) -> str | None:
    """The parameter on the horizontal axis: the one that was asked for, or the one with the most values."""
    values = _values(points)
    if over is not None:
        check_known("parameter of the sweep", over, values, OptionError)
    return over or max(values, key=lambda name: len(values[name]), default=None)


def _values(points: Sequence[StudiedPoint]) -> dict[str, set[Real | str]]:
    """The values of every parameter."""
    return {name: {_place(point, name) for point in points} for name in points[0].parameters}


def _place(point: StudiedPoint, axis: str | None) -> Any:
    """The value on the axis: a number, or a value of another kind as text."""
    value = point.number if axis is None else point.parameters[axis]
    return value if isinstance(value, Real) else str(value)


def _curves(points: Sequence[StudiedPoint], axis: str | None) -> dict[str, list[StudiedPoint]]:
    """Points by the values of the other parameters that differ."""
    names = [name for name, values in _values(points).items() if name != axis and len(values) > 1]
    found: dict[str, list[StudiedPoint]] = {}
    for point in points:
        label = ", ".join(f"{name} = {point.parameters[name]}" for name in names)
        found.setdefault(label, []).append(point)
    return found
