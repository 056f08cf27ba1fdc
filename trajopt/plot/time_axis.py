"""Annotations of an axis over time: limits, arcs, via points, switches, knots, the range."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import Normal, Stroke
from matplotlib.transforms import blended_transform_factory

from trajopt.base.arrays import Array
from trajopt.base.palette import PALETTE
from trajopt.base.svg_chart import FARTHEST_LIMIT
from trajopt.plot.style import LIMIT_COLOUR, NOTE_FONT
from trajopt.terms.term import ComponentTerm, Quantity

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

NEAR_LIMIT = 0.05  # of the range between the limits: closer than this a curve counts as being at one
SWITCH_WIDTH = 0.15  # of the duration: slower passages from limit to limit are no switches
ROUNDING = 1e-8  # curves below it are drawn as zero
NAMED = 0.1  # of the range of an axis: room for the names of arcs or phases below the curve
MARGIN = 0.07  # of the range of a curve, above and below it
INSTANT = 1e-6  # of the duration: nodes closer together are one instant
LETTER = 0.58  # of the size of a text: the mean width of a letter
HALO = (Stroke(linewidth=2.0, foreground="white"), Normal())  # around text that may lie over curves


def fit(axis: Axes, values: Array, lower: float, upper: float, unit: str) -> None:
    """Range and limits: the curve fills the axis; limits near it are lines, those far away are printed above.

    values : of all curves of the axis
    """
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    span = high - low
    if max(abs(low), abs(high)) < ROUNDING:
        low, high, span = -1.0, 1.0, 0.0
    elif span < 1e-6 * max(abs(low), abs(high)):
        span = 0.2 * max(abs(low), abs(high))
    near = FARTHEST_LIMIT * span
    drawn = [limit for limit in (lower, upper) if np.isfinite(limit) and low - near <= limit <= high + near]
    pad = MARGIN * span
    axis.set_ylim(min([low, *drawn]) - pad, max([high, *drawn]) + pad)
    for limit in drawn:
        axis.axhline(limit, color=LIMIT_COLOUR, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    far = [limit for limit in (lower, upper) if np.isfinite(limit) and limit not in drawn]
    if far:
        texts = [f"{_limits(far, digits)} {unit}".rstrip() for digits in (4, 3)]
        bare = ", ".join(f"{limit:.3g}" for limit in far)
        texts += [f"limits {bare}" if len(far) > 1 else f"limit {bare}", bare]
        text = next((one for one in texts if text_width(one, NOTE_FONT) <= width_in_points(axis)), texts[-1])
        axis.set_title(text, loc="left", fontsize=NOTE_FONT, color=LIMIT_COLOUR)
    bottom, top = axis.get_ylim()
    if bottom < 0.0 < top:
        axis.axhline(0.0, color="#BBBBBB", linewidth=0.6, zorder=0)


def _limits(far: list[float], digits: int) -> str:
    """Limits beyond the axis in words: "limits \u00b1150", "limit 28"."""
    if len(far) == 2 and far[0] == -far[1]:
        return f"limits \u00b1{far[1]:.{digits}g}"
    return ("limits " if len(far) > 1 else "limit ") + " and ".join(f"{limit:.{digits}g}" for limit in far)


def mark_borders(axis: Axes, borders: Array, names: Sequence[str] = ()) -> None:
    """Vertical lines where arcs or phases meet, and the names of the parts along the bottom.

    borders : ends of all parts, the first at 0, the last that of the motion
    names : of all parts, or none; a number where a part is too short for its name
    """
    if len(borders) <= 2:
        return
    for border in borders[1:-1]:
        axis.axvline(border, color=LIMIT_COLOUR, linewidth=0.6, linestyle=":", zorder=1)
    inside = blended_transform_factory(axis.transData, axis.transAxes)
    if names:
        bottom, top = axis.get_ylim()
        axis.set_ylim(bottom - NAMED * (top - bottom), top)
    for number, (start, end) in enumerate(pairwise(borders)) if names else ():
        room = width_in_points(axis) * (end - start) / (borders[-1] - borders[0])
        name = next(
            (text for text in (names[number], str(number)) if text_width(text, NOTE_FONT) <= room), ""
        )
        if name:
            style: dict[str, Any] = {
                "fontsize": NOTE_FONT,
                "color": LIMIT_COLOUR,
                "ha": "center",
                "va": "bottom",
            }
            style["path_effects"] = HALO
            axis.text(0.5 * (start + end), 0.02, name, transform=inside, zorder=6, **style)


def arc_names(borders: Array) -> list[str]:
    """ "arc 0", "1", "2" for the parts between borders."""
    return [str(number) if number else f"arc {number}" for number in range(len(borders) - 1)]


def width_in_points(axis: Axes) -> float:
    """The width of an axis before it is laid out, which comes close."""
    return float(axis.get_window_extent().width) / float(axis.figure.dpi) * 72.0


def text_width(text: str, size: float) -> float:
    """Points that a text takes, by the mean width of its letters."""
    return LETTER * size * len(text)


def name_panel(axis: Axes, name: str, size: float) -> None:
    """The name at the top right; what stands at the top left moves up a line where both do not fit."""
    axis.set_title(name, loc="right", fontsize=size)
    left = axis.get_title(loc="left")
    if left and text_width(left, NOTE_FONT) + text_width(name, size) > width_in_points(axis):
        axis.set_title(f"{left}\n", loc="left", fontsize=NOTE_FONT, color=LIMIT_COLOUR)


def borders_of(solution: SolutionData) -> Array:
    """Start times of the arcs of a motion, and its end, in seconds."""
    return np.unique([*np.asarray(solution.curve.starts, dtype=float), solution.duration])


def via_points(problem: Any, solution: SolutionData, quantity: str) -> list[tuple[float, int, float]]:
    """Time, component and value of what a problem prescribes of a quantity within the motion, at one instant.

    Boundary values are not among them: they stand where the curves begin and end.
    """
    times = solution.node_times
    if times.size != problem.trajectory.nodes.count:
        return []
    found = []
    for each in problem.constraints:
        term = each.term
        component = term.component if isinstance(term, ComponentTerm) and term.base == quantity else None
        if component is None and not (isinstance(term, Quantity) and term.quantity == quantity):
            continue
        at = times[each.over.nodes(problem.trajectory)]
        instant = np.ptp(at) <= INSTANT * solution.duration and not each.over.is_difference
        if instant and INSTANT < at[0] / solution.duration < 1.0 - INSTANT:
            for i in np.flatnonzero(each.lower == each.upper):
                found.append((float(at[0]), int(i) if component is None else component, float(each.lower[i])))
    return found


def mark_via_points(axis: Axes, points: list[tuple[float, int, float]], component: int) -> None:
    """Diamonds where the value of this component is prescribed."""
    mine = [(time, value) for time, i, value in points if i == component]
    if mine:
        axis.plot(*zip(*mine, strict=True), "D", markersize=4.0, color=PALETTE[1], zorder=5)


def limit_switches(t: Array, values: Array, lower: float, upper: float) -> list[float]:
    """When a curve passes from one limit to the other: the times at which it crosses their middle."""
    if not (np.isfinite(lower) and np.isfinite(upper) and upper > lower):
        return []
    margin = NEAR_LIMIT * (upper - lower)
    side = np.where(values >= upper - margin, 1, np.where(values <= lower + margin, -1, 0))
    touching = np.flatnonzero(side)
    found = []
    for before, after in pairwise(touching):
        if side[before] != side[after] and t[after] - t[before] <= SWITCH_WIDTH * t[-1]:
            between = slice(before, after + 1)
            rising = side[after] * values[between]
            found.append(float(np.interp(side[after] * (lower + upper) / 2, rising, t[between])))
    return found


def mark_switches(axis: Axes, switches: list[float], top: float) -> None:
    """Vertical lines at the switches with their times above, with fewer digits or none where they overlap."""
    low, high = axis.get_xlim()
    points = width_in_points(axis) / (high - low)  # of a second
    apart = [points * (after - before) for before, after in pairwise(sorted(switches))]
    forms = ("{:.4f} s", "{:.4g}", "{:.3g}")
    form, free_from = forms[-1], -np.inf
    for longer in reversed(forms[:-1]):
        widest = max((text_width(longer.format(time), NOTE_FONT) for time in switches), default=0.0)
        form = longer if widest < min(apart, default=np.inf) else form
    for time in switches:
        axis.axvline(time, color=LIMIT_COLOUR, linewidth=0.6, linestyle=":", zorder=1)
        half = 0.5 * text_width(form.format(time), NOTE_FONT) / points
        if time - half < free_from:
            continue
        free_from = time + half
        axis.annotate(
            form.format(time),
            (time, top),
            xytext=(0, 3),
            textcoords="offset points",
            horizontalalignment="center",
            fontsize=NOTE_FONT,
            color=LIMIT_COLOUR,
        )


def mark_knots(axis: Axes, solution: SolutionData) -> None:
    """The knots of the spline along the bottom."""
    at = np.asarray(solution.knot_times)
    axis.plot(
        at,
        np.zeros_like(at),
        linestyle="none",
        marker="|",
        markersize=5.0,
        color=LIMIT_COLOUR,
        transform=axis.get_xaxis_transform(),
        clip_on=False,
    )
