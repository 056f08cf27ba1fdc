"""Figure of a study: objective, duration and iterations of the solves over the parameters that were swept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trajopt.base.arguments import check_known, short_repr
from trajopt.base.errors import OptionError
from trajopt.base.svg_chart import PALETTE
from trajopt.plot.canvas import GivenAxes, GivenFigure, as_text, line_of, mark_failures, panels, settings

PANELS = {"objective": "objective", "duration": "duration (s)", "iterations": "iterations"}
DECADES = 20.0  # between the least and the largest value: beyond, the axis is logarithmic


class StudiedPoints(Protocol):
    """A study: its points in order, with numbers, parameters and whether they converged."""

    @property
    def points(self) -> Sequence[Any]: ...


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
        if numeric and values[0] > 0 and values[-1] >= DECADES * values[0]:
            axes[-1].set_xscale("log")
            axes[-1].set_xticks(values[:: -(-len(values) // len(PALETTE))])
            axes[-1].xaxis.set_major_formatter("{x:g}")
            axes[-1].xaxis.set_minor_formatter("")
        if not numeric:
            axes[-1].set_xticks(range(len(values)), [as_text(str(value)) for value in values])
        if 1 < len(curves) <= 2 * len(PALETTE):
            handles = axes[0].get_legend_handles_labels()
            if is_new:
                figure.legend(*handles, loc="outside upper left", ncols=3)
            else:
                axes[0].legend(*handles)
    return figure


def _draw(panel: Axes, curves: Mapping[str, list[Any]], at: Callable[[Any], float], name: str) -> None:
    """One quantity of all curves; at : where a point stands on the horizontal axis."""
    for index, (label, points) in enumerate(curves.items()):
        known = sorted((at(point), getattr(point, name)) for point in points if point.converged)
        panel.plot(*np.reshape(known, (-1, 2)).T, marker="o", label=as_text(label), **line_of(index))
    missing = [at(point) for points in curves.values() for point in points if not point.converged]
    mark_failures(panel, missing, "not converged")


def _axis(points: Sequence[Any], over: str | None) -> str | None:
    """The parameter on the horizontal axis: the one that was asked for, or the one with the most values."""
    values = _values(points)
    if over is not None:
        check_known("parameter of the sweep", over, values, OptionError)
    return over or max(values, key=lambda name: len(values[name]), default=None)


def _values(points: Sequence[Any]) -> dict[str, set[Any]]:
    """The values of every parameter."""
    return {name: {_place(point, name) for point in points} for name in points[0].parameters}


def _place(point: Any, axis: str | None) -> Any:
    """The value on the axis: a number, or a value of another kind as text."""
    value = point.number if axis is None else point.parameters[axis]
    return value if isinstance(value, Real) else str(value)


def _curves(points: Sequence[Any], axis: str | None) -> dict[str, list[Any]]:
    """Points by the values of the other parameters that differ."""
    names = [name for name, values in _values(points).items() if name != axis and len(values) > 1]
    found: dict[str, list[Any]] = {}
    for point in points:
        label = ", ".join(f"{name} = {point.parameters[name]}" for name in names)
        found.setdefault(label, []).append(point)
    return found
