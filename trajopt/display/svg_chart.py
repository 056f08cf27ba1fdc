"""Line charts as SVG text, drawn by matplotlib, for pages and cards; the colours of all figures.

The first chart loads matplotlib: whoever only prints a solution does not wait for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from io import StringIO
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AGREEMENT, NOT_ZERO

WIDTH, HEIGHT = 560, 220  # pixels of a chart
INK = "#777776"  # of axes and letters
OF_THE_PAGE = f"{INK}|#000000"  # drawn in the colour of the text around, on light and on dark pages
#: Settings that charts share with all figures (`plot/canvas.py`); sizes and colours of letters differ.
STYLE = {"axes.spines.right": False, "axes.spines.top": False, "lines.markersize": 4.0}
SETTINGS: dict[Any, Any] = {
    **STYLE,
    "font.size": 12.0,  # of which a telephone and a card show 7.8
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    "axes.formatter.useoffset": False,
    "axes.labelpad": 6.0,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.xmargin": 0.0,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.4,
    "savefig.bbox": "standard",  # the whole chart, also where the user has "tight"
    "svg.fonttype": "none",  # text stays text, in the letters of the page
    "svg.hashsalt": "trajopt",
}
MARGIN = 0.04  # of the range, below and above the curves
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
UNNEEDED = r' id="[^"]+_\d+"|<defs>\s*<style.*?</defs>'  # names of groups, a style sheet for the whole page
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SWATCH = "display: inline-block; width: .7em; height: .7em; margin-right: .3em"

Limits: TypeAlias = Mapping[str, tuple[float, float]]
NO_LIMITS: Limits = MappingProxyType({})


def typeset(unit: str) -> str:
    """A unit with powers as raised digits, rad/s² for rad/s^2."""
    return re.sub(r"\^(-?\d+)", lambda power: power[1].translate(RAISED), unit)


def line_chart(
    x: Array,
    curves: Mapping[str, Array],
    x_label: str,
    y_label: str,
    logarithmic: bool = False,
    limits: Limits = NO_LIMITS,
) -> str:
    """Curves (k,) by name over x (k,), with axes, ticks and a legend; gaps where not finite.

    limits : lower and upper bounds by curve; those near the curves are dashed lines
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    drawn = {name: finite_part(values, logarithmic) for name, values in curves.items()}
    colours = dict(zip(drawn, PALETTE * len(drawn), strict=False))
    text = StringIO()
    with rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72))
        axis = figure.add_axes((0.11, 0.19, 0.87, 0.77), xlabel=x_label)  # parts of the chart
        for name, values in drawn.items():
            there = np.pad(np.isfinite(values), 1)
            alone = np.flatnonzero(there[1:-1] & ~there[:-2] & ~there[2:])
            axis.plot(x, values, color=colours[name], marker="o", markevery=alone.tolist(), clip_on=False)
        if not any(np.isfinite(values).any() for values in drawn.values()):
            nothing = "zero throughout" if logarithmic else "no finite value"
            axis.text(0.5, 0.5, nothing, transform=axis.transAxes, ha="center")
            axis.set_yticks([])
        elif logarithmic:
            axis.set_yscale("log")
        else:
            low, high = range_with(drawn, limits)
            axis.set_ylim(low - MARGIN * (high - low), high + MARGIN * (high - low))
            for name, colour in colours.items():
                for limit in limits.get(name, ()):
                    if low <= limit <= high:
                        axis.axhline(limit, color=colour, linestyle="--", linewidth=1.0)
        figure.savefig(text, format="svg", transparent=True, metadata=NO_METADATA)
    inner = re.sub(UNNEEDED, "", text.getvalue().partition("<svg")[2].partition(">")[2], flags=re.DOTALL)
    legend = "".join(
        f'<span style="margin-left: .9em; display: inline-block"><i style="{SWATCH}; '
        f'background: {colour}"></i>{escape(name)}</span>'
        for name, colour in colours.items()
        if name
    )
    caption = f"<figcaption>{escape(y_label)} {legend}</figcaption>"
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" stroke-linejoin="round" role="img"'
    drawing = f'{head} aria-label="{escape(y_label)}">{inner.replace("xlink:href", "href")}'
    return re.sub(OF_THE_PAGE, "currentColor", f'<figure style="margin: 0">{caption}{drawing}</figure>')


def finite_part(values: Array, logarithmic: bool) -> Array:
    """The values, NaN where they are infinite, or not above zero on a logarithmic axis."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values) & ~(logarithmic & (values <= 0.0)), values, np.nan)


def _range(values: Array) -> tuple[float, float]:
    """Least and largest, with room between them even when all are equal or none is there."""
    if values.size == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if high - low <= AGREEMENT * max(abs(low), abs(high), NOT_ZERO):
        pad = 0.5 * abs(low) or 1.0
        return low - pad, high + pad
    return low, high


def range_with(curves: Mapping[str, Array], limits: Limits) -> tuple[float, float]:
    """Least and largest value of all curves, and of the limits that are near them."""
    finite = [np.asarray(curve)[np.isfinite(curve)] for curve in curves.values()]
    low, high = _range(np.concatenate(finite) if finite else np.zeros(0))
    # Limits farther away than half of the range of all curves would flatten them and are not drawn
    reach = 0.5 * (high - low)
    near = [
        limit for name in curves for limit in limits.get(name, ()) if low - reach <= limit <= high + reach
    ]
    return min([low, *near]), max([high, *near])


#: Okabe and Ito, Color Universal Design (2008); their yellow is left out, as it is too pale for a line.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
