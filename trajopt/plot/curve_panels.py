"""Panels of curves over time with their limits and marks, of one motion or of phases one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.display.curves import Component, curves_of, problem_of
from trajopt.plot.canvas import GivenAxes, GivenFigure, panels, title
from trajopt.plot.style import as_text, line_of, settings, times
from trajopt.plot.time_axis import (
    arc_names,
    borders_of,
    fit,
    limit_switches,
    mark_borders,
    mark_knots,
    mark_switches,
    mark_via_points,
    name_panel,
    via_points,
)
from trajopt.solution.solution import Answer, SolutionData


@dataclass(frozen=True, eq=False)
class Track:
    """A curve of one part at its times (K,), and the times and values that are prescribed within it."""

    t: Array
    curve: Component
    via: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel: what its vertical axis shows, and its tracks, which are one curve in several parts.

    name : at the top right, empty for none
    legend : whether the tracks are curves of their own, with their names in a legend
    bottom : of the axis, None where the curves decide
    """

    what: str
    tracks: Sequence[Track]
    name: str = ""
    legend: bool = False
    bottom: float | None = None

    def draw(self, axis: Axes) -> None:
        """The curves, their switches, and the widest bounds that a part has."""
        curves = [track.curve for track in self.tracks]
        for number, track in enumerate(self.tracks):
            line = line_of(number * self.legend)
            axis.plot(track.t, track.curve.values, label=as_text(track.curve.name), **line)
            mark_via_points(axis, track.via)
        lower, upper = min(curve.lower for curve in curves), max(curve.upper for curve in curves)
        unit = curves[0].unit
        values = np.concatenate([curve.values for curve in curves])
        fit(axis, values[np.isfinite(values)], lower, upper, unit)
        for track, curve in zip(self.tracks, curves, strict=True):
            mark_switches(axis, limit_switches(track.t, curve.values, curve.lower, curve.upper), curve.upper)
        axis.set_ylim(bottom=self.bottom)
        axis.set_ylabel(as_text(f"{self.what} ({unit})" if unit else self.what))
        if self.name:
            name_panel(axis, self.name)
        if self.legend:
            axis.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)


def tracks_of(
    answer: Answer, quantities: Callable[[SolutionData], Iterable[str]]
) -> dict[str, dict[str, list[Track]]]:
    """Quantity -> name of a component -> its tracks, in the order of the parts that have it.

    quantities : of a part
    """
    found: dict[str, dict[str, list[Track]]] = {}
    for part, start in zip(answer.parts, starts_of(answer), strict=False):
        t, problem = times(part), problem_of(part)
        for quantity, curves in curves_of(part, quantities(part), t).items():
            fixed, by_name = via_points(problem, part, quantity), found.setdefault(quantity, {})
            for i, curve in enumerate(curves):
                via = tuple((start + at, value) for at, k, value in fixed if k == i)
                by_name.setdefault(curve.name, []).append(Track(start + t, curve, via))
    return found


def starts_of(answer: Answer) -> Array:
    """Times at which the parts begin and the last one ends, s, (parts + 1,)."""
    return np.cumsum([0.0, *(part.duration for part in answer.parts)])


def whole_curve(tracks: Sequence[Track]) -> Component:
    """One component in all its parts, one after the other."""
    return replace(tracks[0].curve, values=np.concatenate([track.curve.values for track in tracks]))


def draw_panels(
    answer: Answer,
    contents: Sequence[Panel],
    figure: GivenFigure,
    ax: GivenAxes,
    *,
    each: int = 1,
    note: str = "",
    knots: bool = False,
) -> Figure:
    """The figure of all panels over the time of a motion, with the borders of arcs or phases.

    each : panels that stay side by side, the curves of one joint
    note : of the title of a new figure;   knots : mark the knots of the spline
    Raises OptionError where there is nothing to draw.
    """
    if not contents:
        raise OptionError(f"there is nothing to draw of {answer.name}: name curves that it has")
    columns = columns_for(len(contents) // each, each)
    is_new = figure is None and ax is None
    borders, names = starts_of(answer), [name for name, _ in answer.named_parts]
    at = np.concatenate([start + part.knot_times for start, part in zip(borders, answer.parts, strict=False)])
    if len(names) == 1:
        borders = borders_of(answer.parts[0])
        names = arc_names(borders)
    with settings():
        labels = [f"{panel.what} of {panel.name}" if panel.name else panel.what for panel in contents]
        figure, axes = panels(labels, columns, figure, ax)
        for number, (axis, panel) in enumerate(zip(axes, contents, strict=True)):
            axis.set_xlim(0.0, float(borders[-1]))
            panel.draw(axis)
            mark_borders(axis, borders, names if number == 0 else ())
            if knots:
                mark_knots(axis, at)
        if is_new:
            title(figure, answer, note)
    return figure


def columns_for(count: int, each: int = 1) -> int:
    """Columns for `count` rows of `each` panels: at most three times as many panels in height as in width."""
    return each * ceil(sqrt(count / (3 * each)))
