"""Panels of curves over time with their limits and marks, of one motion or of phases one after the other.

Annotations of an axis over time are limits, arcs, via points, switches, knots and the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.display.curves import Component, curves_of, problem_of
from trajopt.display.svg_chart import PALETTE, range_with, typeset
from trajopt.plot.canvas import (
    LIMIT_COLOUR,
    MARK,
    NOISE,
    NOTE,
    SMALL_FONT,
    GivenAxes,
    GivenFigure,
    Style,
    as_text,
    legend_above,
    line_of,
    panels,
    settings,
    times,
    title,
)
from trajopt.solution.solution import Answer, Solution
from trajopt.splines.node_sets import Instants
from trajopt.terms.term import components_read

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem


def fit(axis: Axes, values: Array, lower: float, upper: float, unit: str) -> None:
    """Range and limits: the curve fills the axis; limits near it are lines, those far away are printed above.

    values : of all curves of the axis
    """
    shown = np.where(np.abs(values) < NOISE, 0.0, values)
    low, high = range_with({"": shown}, {"": (lower, upper)})
    pad = rcParams["axes.ymargin"] * (high - low)
    axis.set_ylim(low - pad, high + pad)
    far = []
    for limit in (lower, upper):
        if low <= limit <= high:
            axis.axhline(limit, linestyle="--", **MARK)
        elif np.isfinite(limit):
            far.append(limit)
    if far:
        both = len(far) == 2 and -lower == upper
        shown, sign = (far[1:], "\u00b1") if both else (far, "")
        words = [" and ".join(f"{sign}{limit:.{digits}g}" for limit in shown) for digits in (4, 3)]
        bare, many = ", ".join(f"{limit:.3g}" for limit in far), "s" * (len(far) > 1)
        texts = [
            f"limit{many} {each}" for each in (*(f"{word} {typeset(unit)}".rstrip() for word in words), bare)
        ]
        text = as_text(fitting([*texts, bare], width_in_points(axis)))
        axis.set_title(text, loc="left", color=LIMIT_COLOUR)
    bottom, top = axis.get_ylim()
    if bottom < 0.0 < top:
        faint: Style = {**MARK, "color": "#BBBBBB", "zorder": 0}
        axis.axhline(0.0, **faint)


def mark_borders(axis: Axes, borders: Array, names: Sequence[str] = ()) -> None:
    """Vertical lines where arcs or phases meet, and the names of the parts along the bottom.

    borders : ends of all parts, the first at 0, the last that of the motion
    names : of all parts, or none; a number where a part is too short for its name
    """
    if len(borders) <= 2:
        return
    for border in borders[1:-1]:
        axis.axvline(border, linestyle=":", **MARK)
    if names:
        bottom, top = axis.get_ylim()
        axis.set_ylim(bottom - 2.0 * rcParams["axes.ymargin"] * (top - bottom), top)
    for number, ((start, end), name) in enumerate(zip(pairwise(borders), names, strict=False)):
        room = width_in_points(axis) * (end - start) / (borders[-1] - borders[0])
        text = fitting([f" {name} ", f" {number} ", ""], room).strip()
        if text:
            place = {"transform": axis.get_xaxis_transform(), "ha": "center", "va": "bottom", "zorder": 6}
            axis.text(0.5 * (start + end), 0.0, as_text(text), **place, **NOTE)


def width_in_points(axis: Axes) -> float:
    """The width of an axis before it is laid out, which comes close."""
    return float(axis.get_window_extent().width) / float(axis.figure.dpi) * 72.0


def text_width(text: str) -> float:
    """Points that a small text takes."""
    font = FontProperties(size=SMALL_FONT)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def fitting(texts: Sequence[str], room: float) -> str:
    """The first of several texts that fits a width in points, else the last."""
    return next((text for text in texts if text_width(text) <= room), texts[-1])


def name_panel(axis: Axes, name: str) -> None:
    """The name at the top right; what stands at the top left moves up a line where both do not fit."""
    axis.set_title(as_text(name), loc="right")
    left = axis.get_title(loc="left")
    if left and text_width(left + name) > width_in_points(axis):
        axis.set_title(f"{left}\n", loc="left", color=LIMIT_COLOUR)


def borders_of(solution: Solution) -> Array:
    """Start times of the arcs of a motion, and its end, in seconds."""
    return np.unique([*np.asarray(solution.curve.starts, dtype=float), solution.duration])


def via_points(problem: Problem | None, solution: Solution, quantity: str) -> list[tuple[float, int, float]]:
    """Time, component and value of what a problem prescribes of a quantity within the motion, at one instant.

    Boundary values are not among them: they stand where the curves begin and end.
    """
    times = solution.node_times
    if problem is None or times.size != problem.trajectory.nodes.count:
        return []
    width, found = problem.width_of(quantity), []
    for constraint in problem.constraints:
        read, own = components_read(constraint.term, width)
        if read != quantity:
            continue
        at = times[constraint.over.nodes(problem.trajectory)] / solution.duration
        instant = np.ptp(at) <= NOISE and not constraint.over.is_difference
        single = at if isinstance(constraint.over, Instants) else at[: int(instant)]
        for time in (single[(single > NOISE) & (single < 1.0 - NOISE)] * solution.duration).tolist():
            for i in np.flatnonzero(constraint.lower == constraint.upper):
                found.append((time, int(own[i]), float(constraint.lower[i])))
    return found


def limit_switches(t: Array, values: Array, lower: float, upper: float) -> list[float]:
    """Times at which a curve passes from one limit to the other: it crosses their middle."""
    if not (np.isfinite(lower) and np.isfinite(upper) and upper > lower):
        return []
    # A curve counts as being at a limit within a twentieth of the range between both
    margin = 0.05 * (upper - lower)
    side = np.where(values >= upper - margin, 1, np.where(values <= lower + margin, -1, 0))
    touching = np.flatnonzero(side)
    found = []
    for before, after in pairwise(touching):
        # Passages from limit to limit that take more of the duration are no switches
        if side[before] != side[after] and t[after] - t[before] <= 0.15 * (t[-1] - t[0]):
            between = slice(before, after + 1)
            rising = side[after] * values[between]
            found.append(float(np.interp(side[after] * (lower + upper) / 2, rising, t[between])))
    return found


def mark_switches(axis: Axes, switches: list[float], top: float) -> None:
    """Vertical lines at the switches with their times above, with fewer digits or none where they overlap."""
    low, high = axis.get_xlim()
    points = width_in_points(axis) / (high - low)  # of a second
    room = points * min(np.diff(sorted(switches)), default=np.inf)
    longest = fitting([max((f"{time:.4f} s" for time in switches), key=text_width, default=""), ""], room)
    free_from = -np.inf
    for time in switches:
        axis.axvline(time, linestyle=":", **MARK)
        text = f"{time:.4f} s" if longest else f"{time:.3g}"
        half = 0.5 * text_width(text) / points
        if time - half >= free_from:
            free_from = time + half
            cover = {"facecolor": axis.get_facecolor(), "edgecolor": "none", "pad": 0.5}
            place = {"xytext": (0.0, 3.0), "textcoords": "offset points", "ha": "center", "va": "bottom"}
            axis.annotate(text, (time, top), bbox=cover, **place, **NOTE)


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
            for point in track.via:
                axis.plot(*point, "D", color=PALETTE[1], zorder=5)
        lower, upper = min(curve.lower for curve in curves), max(curve.upper for curve in curves)
        unit = curves[0].unit
        values = np.concatenate([curve.values for curve in curves])
        fit(axis, values[np.isfinite(values)], lower, upper, unit)
        for track, curve in zip(self.tracks, curves, strict=True):
            mark_switches(axis, limit_switches(track.t, curve.values, curve.lower, curve.upper), curve.upper)
        axis.set_ylim(bottom=self.bottom)
        axis.set_ylabel(as_text(f"{self.what} ({typeset(unit)})" if unit else self.what))
        if self.name:
            name_panel(axis, self.name)
        if self.legend:
            legend_above(axis)


def tracks_of(
    answer: Answer, quantities: Callable[[Solution], Iterable[str]]
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
        names = [str(number) if number else f"arc {number}" for number in range(len(borders) - 1)]
    with settings():
        labels = [f"{panel.what} of {panel.name}" if panel.name else panel.what for panel in contents]
        figure, axes = panels(labels, columns, figure, ax)
        for number, (axis, panel) in enumerate(zip(axes, contents, strict=True)):
            axis.set_xlim(0.0, float(borders[-1]))
            panel.draw(axis)
            mark_borders(axis, borders, names if number == 0 else ())
            if knots:
                bottom = axis.get_xaxis_transform()
                axis.plot(at, np.zeros_like(at), "|", color=LIMIT_COLOUR, transform=bottom, clip_on=False)
        if is_new:
            title(figure, answer, note)
    return figure


def columns_for(count: int, each: int = 1) -> int:
    """Columns for `count` rows of `each` panels: at most three times as many panels in height as in width."""
    return each * ceil(sqrt(count / (3 * each)))
